//! Plain JSON with plain keys, for `--json`. `docs/cli-json.md` says what each command prints.
//!
//! A property list becomes an object whose keys have no colon, a keyword a string, a list an array.
//! `t` is `true`, and `nil` is `null`, except where the key says more: see [`LIST_KEYS`] and
//! [`FLAG_KEYS`]. The mapping loses what JSON has no word for; `bridle sexp --json` is the one that
//! loses nothing.

use bridle_sexp::{Dialect, Value, print};

/// Keys of the protocol whose value is a list, be it empty or look like a property list.
pub const LIST_KEYS: [&str; 34] = [
    "acts",
    "actuators",
    "approvals",
    "argv",
    "arguments",
    "asked",
    "attachments",
    "capabilities",
    "children",
    "conflicts",
    "duplicates",
    "entries",
    "examples",
    "files",
    "grants",
    "groups",
    "left-out",
    "lines",
    "matches",
    "objects",
    "parts",
    "policies",
    "proposals",
    "protected",
    "questions",
    "results",
    "schedules",
    "scopes",
    "sessions",
    "skills",
    "skipped",
    "snapshots",
    "tags",
    "who",
];

/// Keys of the protocol whose value is true or false.
pub const FLAG_KEYS: [&str; 18] = [
    "changed",
    "checked-p",
    "counted",
    "cut",
    "done",
    "encrypted",
    "expired",
    "forgotten",
    "may-answer",
    "modified",
    "own",
    "owner",
    "private",
    "retryable",
    "scrubbed",
    "truncated",
    "whole",
    "written",
];

/// Lists within lists that are written as JSON; what lies deeper is written as its text. A message
/// has at most so many, see `max-depth` of the protocol.
const MAX_DEPTH: usize = 512;

/// Returns a value as plain JSON, without blanks and on one line.
pub fn plain_json(value: &Value) -> String {
    let mut out = String::new();
    push_value(value, None, 0, &mut out);
    out
}

/// Returns the text as a JSON string, with everything hidden as an escape: a terminal may show it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(text, &mut out);
    out
}

/// Returns JSON text with everything hidden in its strings as an escape. It means the same.
pub fn escape_hidden(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        // Outside of strings JSON has none of these but line breaks, tabs and blanks.
        match letter {
            '\n' | '\t' | '\r' => out.push(letter),
            letter if is_hidden(letter) => push_escape(letter, &mut out),
            letter => out.push(letter),
        }
    }
    out
}

/// Whether a terminal obeys the character, or does not show it.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control() || is_invisible(letter)
}

/// Characters without a picture of their own: marks that change the direction of text, blanks
/// without width, fillers, joiners, selectors, separators that are no newline, annotations, tags.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn push_value(value: &Value, key: Option<&str>, depth: usize, out: &mut String) {
    let is_list = key.is_some_and(|key| LIST_KEYS.contains(&key));
    let is_flag = key.is_some_and(|key| FLAG_KEYS.contains(&key));
    match value {
        Value::Nil if is_list => out.push_str("[]"),
        Value::Nil if is_flag => out.push_str("false"),
        Value::Nil => out.push_str("null"),
        Value::T => out.push_str("true"),
        Value::Str(text) => push_string(text, out),
        Value::Propertized { text, .. } => push_string(text, out),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::BigInt(digits) => out.push_str(digits),
        Value::Float(float) if is_json_number(float.text()) => out.push_str(float.text()),
        Value::Keyword(_) => push_keyword(value, out),
        _ if depth >= MAX_DEPTH => push_text_of(value, out),
        Value::Vector(elements) => push_array(elements, depth, out),
        Value::List(elements) => match is_list {
            true => push_array(elements, depth, out),
            false => push_list(elements, depth, out),
        },
        _ => push_text_of(value, out),
    }
}

fn push_keyword(value: &Value, out: &mut String) {
    match value.as_keyword().unwrap_or_default() {
        word @ ("false" | "null") => out.push_str(word),
        word => push_string(&word.to_ascii_lowercase(), out),
    }
}

/// A list is an object if all its keys are keywords, or all are strings; else an array.
fn push_list(elements: &[Value], depth: usize, out: &mut String) {
    if let [only] = elements
        && only.is_keyword("object")
    {
        return out.push_str("{}");
    }
    let key_of: fn(&Value) -> Option<&str> = match elements.first() {
        Some(Value::Keyword(_)) => Value::as_keyword,
        Some(Value::Str(_)) => Value::as_str,
        _ => return push_array(elements, depth, out),
    };
    let is_object = elements.len().is_multiple_of(2)
        && elements.iter().step_by(2).all(|key| key_of(key).is_some());
    if !is_object {
        return push_array(elements, depth, out);
    }
    let is_keyword = matches!(elements.first(), Some(Value::Keyword(_)));
    let mut seen: Vec<String> = Vec::with_capacity(elements.len() / 2);
    out.push('{');
    for pair in elements.chunks_exact(2) {
        let key = key_of(&pair[0]).unwrap_or_default();
        let key = if is_keyword { key.to_ascii_lowercase() } else { key.to_owned() };
        // The first of two counts, in a property list; JSON must not have two.
        if seen.contains(&key) {
            continue;
        }
        if !seen.is_empty() {
            out.push(',');
        }
        push_string(&key, out);
        out.push(':');
        push_value(&pair[1], Some(&key), depth + 1, out);
        seen.push(key);
    }
    out.push('}');
}

fn push_array(elements: &[Value], depth: usize, out: &mut String) {
    out.push('[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_value(element, None, depth + 1, out);
    }
    out.push(']');
}

/// Writes a value that JSON has no word for, by its text: symbols, ratios, characters, dotted lists.
fn push_text_of(value: &Value, out: &mut String) {
    let mut text = String::new();
    print(value, Dialect::Lisp, &mut text);
    push_string(&text, out);
}

/// Whether the text of a float is a number of JSON, too.
fn is_json_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let (fraction, exponent) = rest.split_once('e').unwrap_or((rest, "0"));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let has_zero_in_front = whole.len() > 1 && whole.starts_with('0');
    is_number(whole) && is_number(fraction) && is_number(exponent) && !has_zero_in_front
}

fn push_string(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            letter if is_hidden(letter) => push_escape(letter, out),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

fn push_escape(letter: char, out: &mut String) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

#[cfg(test)]
mod tests {
    use bridle_sexp::read_one;

    use super::{escape_hidden, plain_json, quoted};

    #[test]
    fn a_message_is_an_object_with_plain_keys() {
        for (form, json) in [
            (
                "(:type :EVENT :id 7 :payload (:text \"x\"))",
                r#"{"type":"event","id":7,"payload":{"text":"x"}}"#,
            ),
            (
                "(:capabilities (:parts :attach) :tags (\"a\" \"b\"))",
                r#"{"capabilities":["parts","attach"],"tags":["a","b"]}"#,
            ),
            (
                "(:tags nil :private nil :x nil :y t)",
                r#"{"tags":[],"private":false,"x":null,"y":true}"#,
            ),
            ("(:a 1 :A 2)", r#"{"a":1}"#),
            ("(\"Key\" 1.5 \"b\" :null)", r#"{"Key":1.5,"b":null}"#),
            ("(1 2 (3))", "[1,2,[3]]"),
            ("(:a (:object) :b [1 :false])", r#"{"a":{},"b":[1,false]}"#),
            (
                "(:s foo :r 1/2 :d (1 . 2) :big 123456789012345678901234567890)",
                r#"{"s":"foo","r":"1/2","d":"(1 . 2)","big":123456789012345678901234567890}"#,
            ),
        ] {
            assert_eq!(plain_json(&read_one(form).expect("a form").root().to_value()), json);
        }
    }

    #[test]
    fn what_hides_is_escaped_and_means_the_same() {
        let text = "a\"b\\\u{1b}\u{202e}\u{e0041}\u{9b}é\n";
        let json = quoted(text);
        assert_eq!(json, r#""a\"b\\\u001b\u202e\udb40\udc41\u009bé\n""#);
        assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text);
        assert_eq!(escape_hidden("{\"a\":\n\"\u{200b}x\"}"), "{\"a\":\n\"\\u200bx\"}");
    }

    #[test]
    fn depth_ends_in_text() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        let value = read_one(&deep).expect("a form").root().to_value();
        assert_eq!(plain_json(&value), deep);
    }
}
