//! Rust source with everything that is not code blanked out, line ends kept, so that the rules of
//! `rust.rs` neither stumble over a brace inside a string nor see a banned word in a comment. A lexer
//! of one screen, not a parser.

/// `text` with comments, strings and character literals turned into blanks of the same length.
pub(crate) fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = skip(bytes, at);
        if end > at {
            for byte in &mut out[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
            at = end;
        } else if is_word(bytes[at]) {
            // A whole word at once, so that the `r` of `for"` does not start a raw string.
            at += bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
        } else {
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The end of the comment or literal that starts at `at`; `at` itself when none does.
fn skip(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return at + block_comment(rest);
    }
    for prefix in [&b"br"[..], b"cr", b"r"] {
        if let Some(length) = rest.strip_prefix(prefix).and_then(raw_string) {
            return at + prefix.len() + length;
        }
    }
    for prefix in [&b"b\""[..], b"c\"", b"\""] {
        if rest.starts_with(prefix) {
            return at + prefix.len() + until_quote(&rest[prefix.len()..], b'"');
        }
    }
    if rest.starts_with(b"b'") {
        return at + 2 + until_quote(&rest[2..], b'\'');
    }
    if rest[0] == b'\'' { at + character(rest) } else { at }
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// Length of `##"..."##`, the part after the `r`.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = hashes + 1;
    let end = rest[body..].windows(close.len()).position(|window| window == close);
    Some(end.map_or(rest.len(), |end| body + end + close.len()))
}

/// Length up to and with the closing quote, backslashes honored.
fn until_quote(rest: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of a character literal; 0 when the quote starts a lifetime.
fn character(rest: &[u8]) -> usize {
    match rest.get(1) {
        Some(b'\\') => 1 + until_quote(&rest[1..], b'\''),
        Some(first) => {
            let width = match first {
                0xF0.. => 4,
                0xE0.. => 3,
                0xC0.. => 2,
                _ => 1,
            };
            if rest.get(1 + width) == Some(&b'\'') { 2 + width } else { 0 }
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::mask;

    /// `kept` is what stays, blanks left out.
    fn check(text: &str, kept: &str) {
        let masked = mask(text);
        assert_eq!(masked.len(), text.len());
        assert_eq!(masked.lines().count(), text.lines().count());
        assert_eq!(masked.split_whitespace().collect::<Vec<_>>().join(" "), kept);
    }

    #[test]
    fn literals_and_comments_turn_blank() {
        check("a // {\nb", "a b");
        check("a /* /* { */ */ b", "a b");
        check(r#"f("{ \" {") }"#, "f( ) }");
        check("f(r#\"{ \" \"#) }", "f( ) }");
        check("f('{', b'}', '\\'', '\u{e9}') }", "f( , , , ) }");
    }

    #[test]
    fn lifetimes_and_words_stay() {
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        check("for\"x\"", "for");
    }
}
