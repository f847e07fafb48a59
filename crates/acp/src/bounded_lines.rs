//! Lines of an input that is not trusted: bounded, whatever they hold. Read by the agent's input thread and by
//! the conformance kit.

use std::io::{self, BufRead};

/// Longest line that is taken, in bytes: a prompt of 1 MiB in its longest spelling, and an image beside it.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// One line of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputLine {
    /// The bytes of a line, without its end.
    Line(Vec<u8>),
    /// A line over the limit; it was passed over.
    TooLong,
}

/// Reads the next line; `None` at the end of the input. A last line without an end counts.
///
/// # Errors
///
/// The input cannot be read.
pub fn read_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<InputLine>> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    let mut has_begun = false;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(has_begun.then(|| ended(line, is_too_long)));
        }
        has_begun = true;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        is_too_long |= line.len() + piece.len() > limit;
        if is_too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let used = end.map_or(buffer.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(Some(ended(line, is_too_long)));
        }
    }
}

fn ended(line: Vec<u8>, is_too_long: bool) -> InputLine {
    if is_too_long { InputLine::TooLong } else { InputLine::Line(line) }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{InputLine, read_line};

    fn check(text: &str, expected: &[Option<&str>]) {
        // A buffer of three bytes cuts lines everywhere.
        let mut input = BufReader::with_capacity(3, text.as_bytes());
        let mut lines = Vec::new();
        while let Some(line) = read_line(&mut input, 5).unwrap() {
            lines.push(line);
        }
        let expected: Vec<InputLine> = expected
            .iter()
            .map(|line| line.map_or(InputLine::TooLong, |it| InputLine::Line(it.into())))
            .collect();
        assert_eq!(lines, expected, "{text:?}");
    }

    #[test]
    fn lines_end_at_newlines_and_at_the_end() {
        check("", &[]);
        check("a\n\nbc", &[Some("a"), Some(""), Some("bc")]);
        check("12345\n", &[Some("12345")]);
    }

    #[test]
    fn a_long_line_is_passed_over_and_the_next_is_read() {
        check("123456\nok\n", &[None, Some("ok")]);
        check("1234567890123", &[None]);
    }
}
