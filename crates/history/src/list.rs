//! A record as a line of text, in the three forms that `bridle log` prints.

use std::fmt::Write as _;

use bridle_record::{Record, RecordBody};
use bridle_sexp::{Dialect, Value, print};
use bridle_wire::plain::{plain_json, quoted};
use bridle_wire::time::rfc3339;

use super::record_body;

/// Form of a record as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFormat {
    /// One line, whatever its strings hold: the escapes of Emacs.
    Emacs,
    /// The text as it is kept, which Common Lisp reads; line breaks inside strings stay.
    Lisp,
    /// One JSON object, one line.
    Json,
}

/// Appends `record`, without a newline at the end.
pub fn write_record(record: &Record, form: RecordFormat, out: &mut String) {
    match form {
        RecordFormat::Emacs | RecordFormat::Lisp => write_form(record, form, out),
        RecordFormat::Json => write_json(record, out),
    }
}

/// Everything before the body: what never changes, even when the record is forgotten.
pub(super) fn write_start(record: &Record, form: RecordFormat, out: &mut String) {
    let dialect = if form == RecordFormat::Emacs { Dialect::Emacs } else { Dialect::Lisp };
    let text = |text: &str, out: &mut String| print(&Value::str(text), dialect, out);
    // Writing to a string cannot fail.
    let _ = write!(out, "(:number {} :session ", record.number);
    match &*record.session {
        "" => out.push_str("nil"),
        name => text(name, out),
    }
    let number = |number: Option<u64>| number.map_or("nil".to_owned(), |it| it.to_string());
    let (seq, cause) = (number(record.seq), number(record.cause.map(|cause| cause.0)));
    let _ = write!(out, " :seq {seq} :at \"{}\" :cause {cause} :principal ", rfc3339(record.at));
    text(&record.principal, out);
    let _ = write!(out, " :kind :{} :body ", record.kind);
}

fn write_form(record: &Record, form: RecordFormat, out: &mut String) {
    write_start(record, form, out);
    match (&record.body, form) {
        (RecordBody::Erased, _) => out.push_str(":erased"),
        (RecordBody::Text(text), RecordFormat::Emacs) if needs_other_escapes(text) => {
            print(&record_body::value(text), Dialect::Emacs, out);
        }
        (RecordBody::Text(text), _) => out.push_str(text),
    }
    out.push(')');
}

/// Whether canonical text may look different in Emacs. What has none of these bytes is the same.
fn needs_other_escapes(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, 0..=0x1F | 0x7F | b'#' | b'|' | b'\\'))
}

fn write_json(record: &Record, out: &mut String) {
    let text = |text: &str, out: &mut String| out.push_str(&quoted(text));
    let _ = write!(out, "{{\"number\":{},\"session\":", record.number);
    match &*record.session {
        "" => out.push_str("null"),
        name => text(name, out),
    }
    let number = |number: Option<u64>| number.map_or("null".to_owned(), |it| it.to_string());
    let (seq, cause) = (number(record.seq), number(record.cause.map(|cause| cause.0)));
    let at = rfc3339(record.at);
    let _ = write!(out, ",\"seq\":{seq},\"at\":\"{at}\",\"cause\":{cause},\"principal\":");
    text(&record.principal, out);
    out.push_str(",\"kind\":");
    text(&record.kind, out);
    match &record.body {
        RecordBody::Erased => out.push_str(",\"body\":null,\"erased\":true}"),
        RecordBody::Text(text) => {
            out.push_str(",\"body\":");
            out.push_str(&plain_json(&record_body::value(text)));
            out.push('}');
        }
    }
}
