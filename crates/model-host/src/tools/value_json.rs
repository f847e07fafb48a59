//! Values as JSON that models read, and JSON of models as values. Not the mapping of `bridle-sexp`, which keeps
//! everything apart: here a keyword is its name, a plist an object and `nil` is `null`, in as few bytes as possible.

use bridle_sexp::Value;
use serde_json::Value as Json;

use crate::citation::link_of;

/// Levels that are written and read as such; what is deeper is written as text and refused when it is read.
const MAX_DEPTH: usize = 32;

/// Keys that say nothing to a model.
const UNTOLD_KEYS: [&str; 7] =
    ["hash", "prepared", "scope", "rank", "status", "privacy", OPEN_ANSWER];

/// Key under which an answer with private parts has the answer without them.
pub const OPEN_ANSWER: &str = "without-private";

/// A value as JSON.
pub(crate) fn to_json(value: &Value) -> String {
    let mut out = String::new();
    write(value, MAX_DEPTH, &mut out);
    out
}

fn write(value: &Value, depth: usize, out: &mut String) {
    if depth == 0 {
        return push_text(&value.to_string(), out);
    }
    match value {
        Value::Nil => out.push_str("null"),
        Value::T => out.push_str("true"),
        Value::Str(text) | Value::Propertized { text, .. } => push_text(text, out),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Keyword(word) => push_text(&word.name(), out),
        Value::Symbol(word) => push_text(&word.name(), out),
        Value::Float(float) => match float.to_f64().filter(|number| number.is_finite()) {
            Some(number) => out.push_str(&number.to_string()),
            None => push_text(float.text(), out),
        },
        Value::List(items) if is_plist(value) => write_object(value, items, depth, out),
        Value::List(items) | Value::Vector(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(item, depth - 1, out);
            }
            out.push(']');
        }
        Value::BigInt(_) | Value::Ratio(_) | Value::Char(_) | Value::Dotted(..) => {
            push_text(&value.to_string(), out);
        }
    }
}

fn is_plist(value: &Value) -> bool {
    value.pairs().is_some()
}

fn write_object(value: &Value, items: &[Value], depth: usize, out: &mut String) {
    out.push('{');
    let mut is_first = true;
    let mut member = |name: &str, out: &mut String| {
        if !std::mem::take(&mut is_first) {
            out.push(',');
        }
        push_text(name, out);
        out.push(':');
    };
    if let Some(link) = link_of(value) {
        member("link", out);
        push_text(&link, out);
    }
    for pair in items.chunks_exact(2) {
        let Value::Keyword(key) = &pair[0] else { continue };
        if UNTOLD_KEYS.iter().any(|untold| key.is(untold)) || pair[1].is_nil() {
            continue;
        }
        member(&key.name(), out);
        write(&pair[1], depth - 1, out);
    }
    out.push('}');
}

fn push_text(text: &str, out: &mut String) {
    // Printing a string cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// JSON as a value: objects become plists, `:word` a keyword.
pub(crate) fn of_json(json: &Json) -> Option<Value> {
    read(json, MAX_DEPTH)
}

fn read(json: &Json, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    Some(match json {
        Json::Null | Json::Bool(false) => Value::Nil,
        Json::Bool(true) => Value::T,
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::int(number),
            None => Value::float(number.as_f64()?),
        },
        Json::String(text) => word(text),
        Json::Array(items) => {
            Value::list(items.iter().map(|item| read(item, depth)).collect::<Option<Vec<_>>>()?)
        }
        Json::Object(members) => {
            let mut items = Vec::with_capacity(members.len() * 2);
            for (name, member) in members {
                items.push(Value::keyword(name.strip_prefix(':').unwrap_or(name)));
                items.push(read(member, depth)?);
            }
            Value::list(items)
        }
    })
}

/// A string, or the keyword that it spells.
fn word(text: &str) -> Value {
    let is_plain = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && name.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    match text.strip_prefix(':').filter(|name| is_plain(name)) {
        Some(name) => Value::keyword(&name.to_ascii_lowercase()),
        None => Value::str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{of_json, to_json};
    use bridle_sexp::read_one;

    #[test]
    fn values_become_json_without_what_says_nothing() {
        for (value, json) in [
            ("(:a 1 :b \"x\\ny\" :c nil :d t :hash \"f0\")", r#"{"a":1,"b":"x\ny","d":true}"#),
            ("(:status :success :list (1 2.5 :word nil))", r#"{"list":[1,2.5,"word",null]}"#),
            ("nil", "null"),
            ("(1 . 2)", r#""(1 . 2)""#),
        ] {
            let value = read_one(value).unwrap().root().to_value();
            assert_eq!(to_json(&value), json);
        }
    }

    #[test]
    fn objects_of_the_memory_have_a_link() {
        let hit = read_one("(:id \"k\" :path \"work.org\" :type :heading :title \"Plan [A]\")");
        let json = to_json(&hit.unwrap().root().to_value());
        assert!(json.starts_with(r#"{"link":"[[file:work.org::*Plan \\[A\\]]]","#), "{json}");
    }

    #[test]
    fn json_becomes_values() {
        let json = serde_json::json!({"sensor": ":user-prompt", "text": "x: y", "n": [1, null]});
        let value = of_json(&json).unwrap();
        assert_eq!(value.get("text").unwrap().as_str(), Some("x: y"));
        assert!(value.get("sensor").unwrap().is_keyword("user-prompt"));
        assert_eq!(value.get("n").unwrap().to_string(), "(1 nil)");
        let mut deep = serde_json::json!(1);
        for _ in 0..40 {
            deep = serde_json::json!([deep]);
        }
        assert_eq!(of_json(&deep), None);
    }
}
