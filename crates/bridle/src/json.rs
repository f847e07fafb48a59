//! JSON text for what is not a form: settings, lists and log lines. Forms become JSON in
//! `bridle_shell::screen`.

pub(crate) use bridle_shell::screen::quoted;

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
