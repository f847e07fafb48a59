//! JSON text for what is not a form: settings and log lines. Forms have their own mapping in the
//! data language.

use std::fmt::Write as _;

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A JSON object of values that are JSON already.
pub(crate) fn object(pairs: &[(&str, String)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
    format!("{{{}}}", pairs.join(","))
}

/// A JSON array of strings.
pub(crate) fn strings(texts: &[Box<str>]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(","))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_json_reserves_is_escaped() {
        assert_eq!(quoted("a\"b\\c\n\u{1b}é"), r#""a\"b\\c\n\u001bé""#);
    }
}
