//! Arguments of a call as the payload of a proposal, each of the shape that its description says. What does not fit
//! is not put right by guessing: it goes back to the model with what was expected.

use bridle_loop::{ActionSpec, ArgumentShape, ArgumentSpec, MALFORMED, PREPARED, TOOL};
use bridle_models::JsonText;
use bridle_sexp::Value;
use serde_json::Value as Json;

use super::value_json::{of_json, to_json};
use super::{ACTION, JsonMembers};

/// Members of an object of arguments; those that are `null` are as good as absent.
pub(super) fn members(json: &JsonText) -> Result<JsonMembers, String> {
    let members: JsonMembers =
        serde_json::from_str(json.as_str()).map_err(|error| error.to_string())?;
    Ok(members.into_iter().filter(|(_, value)| !value.is_null()).collect())
}

/// The action that a call of a tool with several names.
pub(super) fn chosen<'s>(
    specs: &'s [ActionSpec],
    members: &JsonMembers,
) -> Result<&'s ActionSpec, String> {
    let named = members.get(ACTION).and_then(Json::as_str).unwrap_or_default();
    let named = named.trim_start_matches(':').replace('_', "-");
    let found = specs.iter().find(|spec| spec.name.as_str() == named);
    found.ok_or_else(|| {
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        format!("argument `{ACTION}` is `{named}`, expected one of {}", names.join(", "))
    })
}

/// The payload of a call.
pub(super) fn payload(
    spec: &ActionSpec,
    members: &JsonMembers,
    is_group: bool,
) -> Result<Value, String> {
    let is_choice = |name: &str| is_group && name == ACTION;
    for name in members.keys().filter(|name| !is_choice(name)) {
        if !spec.arguments.iter().any(|argument| *argument.name == **name) {
            let names: Vec<&str> = spec.arguments.iter().map(|argument| &*argument.name).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(format!("`{}` has no argument `{name}`, expected {names}", spec.name));
        }
    }
    for argument in &spec.arguments {
        if argument.required && !members.contains_key(&*argument.name) {
            return Err(format!("`{}` needs the argument `{}`", spec.name, argument.name));
        }
    }
    if let Some(tool) = &spec.tool {
        let text = serde_json::to_string(members).map_err(|error| error.to_string())?;
        let arguments = bridle_sexp::json::from_json(&text).map_err(|error| error.to_string())?;
        return Ok(Value::plist([
            (ACTION, Value::keyword(TOOL)),
            ("server", Value::str(tool.server.clone())),
            ("tool", Value::str(tool.tool.clone())),
            ("arguments", arguments),
        ]));
    }
    let mut items = vec![Value::keyword(ACTION), spec.name.to_value()];
    for argument in &spec.arguments {
        let Some(json) = members.get(&*argument.name) else { continue };
        let value = shaped(argument, json)?;
        if !value.is_nil() {
            items.extend([Value::keyword(&argument.name), value]);
        }
    }
    Ok(Value::list(items))
}

/// A value of the shape of an argument.
fn shaped(argument: &ArgumentSpec, json: &Json) -> Result<Value, String> {
    let name = &argument.name;
    let wrong = |expected: &str| Err(format!("argument `{name}`: expected {expected}"));
    match &argument.shape {
        ArgumentShape::Text => match json {
            Json::String(text) => Ok(Value::str(text.as_str())),
            Json::Number(number) => Ok(Value::str(number.to_string())),
            _ => wrong("a string"),
        },
        ArgumentShape::Integer => match whole(json) {
            Some(number) => Ok(Value::int(number)),
            None => wrong("a whole number"),
        },
        ArgumentShape::Number => match (whole(json), json.as_f64()) {
            (Some(number), _) => Ok(Value::int(number)),
            (None, Some(number)) => Ok(Value::float(number)),
            (None, None) => wrong("a number"),
        },
        ArgumentShape::Flag => match json {
            Json::Bool(flag) => Ok(Value::bool(*flag)),
            _ => wrong("true or false"),
        },
        ArgumentShape::Texts => match texts(json) {
            Some(texts) => Ok(Value::list(texts)),
            None => wrong("a list of strings"),
        },
        ArgumentShape::Choice(words) => {
            let word = json.as_str().map(|word| word.trim_start_matches(':'));
            match words.iter().find(|known| word == Some(&***known)) {
                Some(word) => Ok(Value::keyword(word)),
                None => wrong(&format!("one of {}", words.join(", "))),
            }
        }
        ArgumentShape::Plist => match json {
            Json::Object(_) => of_json(json).map_or_else(|| wrong("less nesting"), Ok),
            _ => wrong("an object"),
        },
        ArgumentShape::Any | ArgumentShape::Json(_) => {
            of_json(json).map_or_else(|| wrong("less nesting"), Ok)
        }
    }
}

/// A whole number, also one that was written as `3.0` or as a string of digits.
fn whole(json: &Json) -> Option<i64> {
    match json {
        Json::Number(number) => number.as_i64().or_else(|| {
            let number = number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 1e15)?;
            format!("{number:.0}").parse().ok()
        }),
        Json::String(digits) => digits.trim().parse().ok(),
        _ => None,
    }
}

/// Strings of a list; a single string is a list of one.
fn texts(json: &Json) -> Option<Vec<Value>> {
    match json {
        Json::String(one) => Some(vec![Value::str(one.as_str())]),
        Json::Array(items) => items.iter().map(|item| item.as_str().map(Value::from)).collect(),
        _ => None,
    }
}

/// Arguments of a past call as JSON.
pub(super) fn past(payload: &Value, is_group: bool) -> String {
    if payload.get(ACTION).is_some_and(|action| action.is_keyword(TOOL)) {
        let mut out = String::new();
        match payload.get("arguments") {
            Some(arguments) => bridle_sexp::json::to_json(arguments, &mut out),
            None => out.push_str("{}"),
        }
        return out;
    }
    let is_told = |key: &Value| {
        !(key.is_keyword(PREPARED)
            || key.is_keyword(MALFORMED)
            || (!is_group && key.is_keyword(ACTION)))
    };
    let pairs = payload.elements().unwrap_or_default().chunks_exact(2);
    let kept = pairs.filter(|pair| is_told(&pair[0])).flatten().cloned();
    match Value::list(kept) {
        Value::Nil => "{}".to_owned(),
        arguments => to_json(&arguments),
    }
}
