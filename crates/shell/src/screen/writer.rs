//! A stream of data for standard output: exact in a pipe, neutralised on a terminal.

use std::io::{self, BufWriter, Write};

use super::{OutputScreen, neutral_block};

/// Bytes of a line that are kept before they are written without its end.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Returns standard output for data that programs read back.
pub fn data_writer() -> Box<dyn Write> {
    match OutputScreen::of_stdout().is_terminal() {
        true => Box::new(NeutralWriter::new(io::stdout())),
        false => Box::new(BufWriter::new(io::stdout().lock())),
    }
}

/// Neutralises what is written, line by line.
#[derive(Debug)]
pub struct NeutralWriter<W: Write> {
    out: W,
    /// The last line, as far as it came.
    line: Vec<u8>,
}

impl<W: Write> NeutralWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> NeutralWriter<W> {
        NeutralWriter { out, line: Vec::new() }
    }

    /// Writes the first bytes of what is kept.
    fn release(&mut self, count: usize) -> io::Result<()> {
        let rest = self.line.split_off(count);
        let line = std::mem::replace(&mut self.line, rest);
        self.out.write_all(neutral_block(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for NeutralWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        let whole = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            self.release(whole)?;
        }
        if self.line.len() > MAX_LINE_BYTES {
            // Not in the middle of a letter, unless it is none.
            let text = std::str::from_utf8(&self.line);
            let count = text.map_or_else(|error| error.valid_up_to().max(1), str::len);
            self.release(count)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.release(self.line.len())?;
        self.out.flush()
    }
}

impl<W: Write> Drop for NeutralWriter<W> {
    fn drop(&mut self) {
        // As a buffered writer does: who wants to know of a failure flushes.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::NeutralWriter;

    #[test]
    fn pieces_of_letters_and_escapes_come_out_neutral() {
        let mut out = Vec::new();
        let mut writer = NeutralWriter::new(&mut out);
        for byte in "é\u{202e}\n\u{1b}[2J".bytes() {
            writer.write_all(&[byte]).expect("memory takes all");
        }
        drop(writer);
        assert_eq!(String::from_utf8(out).expect("UTF-8"), "é<U+202E>\n␛[2J");
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_for_ever() {
        let mut writer = NeutralWriter::new(Vec::new());
        for _ in 0..100 {
            writer.write_all("日本".repeat(1_000).as_bytes()).expect("memory takes all");
            assert!(writer.line.len() < 80 << 10);
        }
        writer.write_all(&[0xff; 70 << 10]).expect("memory takes all");
        writer.flush().expect("memory takes all");
        assert!(String::from_utf8(writer.out.clone()).expect("UTF-8").contains('\u{fffd}'));
    }
}
