//! Arguments of actions as JSON Schema, and as a line of text.

use bridle_loop::{ActionSpec, ArgumentShape, ArgumentSpec};
use bridle_models::JsonText;
use serde_json::Value as Json;

use super::ACTION;
use super::brief::BriefTool;

/// Longest schema of one argument that is passed on as others made it.
const MAX_JSON_SCHEMA_BYTES: usize = 4 << 10;

/// Schema of the arguments of a tool. With several actions, `action` is one of them, and needed.
pub(super) fn parameters(specs: &[ActionSpec], brief: Option<&BriefTool>) -> JsonText {
    let mut properties = Vec::new();
    let mut required = Vec::new();
    if specs.len() > 1 {
        let names: Vec<Json> = specs.iter().map(|spec| Json::from(spec.name.as_str())).collect();
        properties.push(member(ACTION, &format!(r#"{{"enum":{}}}"#, Json::Array(names))));
        required.push(Json::from(ACTION));
    }
    for (argument, about) in told(specs, brief) {
        properties.push(member(&argument.name, &property(argument, about)));
        let is_needed = |spec: &ActionSpec| {
            spec.arguments.iter().any(|it| it.name == argument.name && it.required)
        };
        if specs.iter().all(is_needed) {
            required.push(Json::from(&*argument.name));
        }
    }
    let mut text = format!(r#"{{"type":"object","properties":{{{}}}"#, properties.join(","));
    if !required.is_empty() {
        text.push_str(&format!(r#","required":{}"#, Json::Array(required)));
    }
    text.push('}');
    JsonText::object(&text).unwrap_or_else(|_| JsonText::empty_object())
}

/// Arguments of a tool as text: ` :path TEXT [:from NUMBER]`.
pub(super) fn text(specs: &[ActionSpec], brief: Option<&BriefTool>) -> String {
    let mut out = String::new();
    if specs.len() > 1 {
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        out.push_str(&format!(" :{ACTION} :{}", names.join("|:")));
    }
    for (argument, _) in told(specs, brief) {
        let shape = match &argument.shape {
            ArgumentShape::Text => "TEXT".to_owned(),
            ArgumentShape::Integer | ArgumentShape::Number => "NUMBER".to_owned(),
            ArgumentShape::Flag => "t".to_owned(),
            ArgumentShape::Texts => "(TEXT ..)".to_owned(),
            ArgumentShape::Choice(words) => format!(":{}", words.join("|:")),
            ArgumentShape::Plist => "(:KEY VALUE ..)".to_owned(),
            ArgumentShape::Any | ArgumentShape::Json(_) => "VALUE".to_owned(),
        };
        let is_needed = specs.len() == 1 && argument.required;
        let name = &argument.name;
        out.push_str(&match is_needed {
            true => format!(" :{name} {shape}"),
            false => format!(" [:{name} {shape}]"),
        });
    }
    out
}

/// Arguments that are told, each once: those of the table, else all of them with their own words.
fn told<'s>(
    specs: &'s [ActionSpec],
    brief: Option<&'s BriefTool>,
) -> Vec<(&'s ArgumentSpec, &'s str)> {
    let all = specs.iter().flat_map(|spec| &spec.arguments);
    let Some(brief) = brief else {
        return all.map(|argument| (argument, &*argument.about)).collect();
    };
    let find = |(name, about): &(&'static str, &'static str)| {
        let found = all.clone().find(|argument| &*argument.name == *name)?;
        Some((found, *about))
    };
    brief.arguments.iter().filter_map(find).collect()
}

fn member(name: &str, schema: &str) -> String {
    format!("{}:{schema}", Json::from(name))
}

fn property(argument: &ArgumentSpec, about: &str) -> String {
    let own = match &argument.shape {
        ArgumentShape::Text => r#""type":"string""#.to_owned(),
        ArgumentShape::Integer => r#""type":"integer""#.to_owned(),
        ArgumentShape::Number => r#""type":"number""#.to_owned(),
        ArgumentShape::Flag => r#""type":"boolean""#.to_owned(),
        ArgumentShape::Texts => r#""type":"array","items":{"type":"string"}"#.to_owned(),
        ArgumentShape::Choice(words) => {
            let words: Vec<Json> = words.iter().map(|word| Json::from(&**word)).collect();
            format!(r#""enum":{}"#, Json::Array(words))
        }
        ArgumentShape::Plist => r#""type":"object""#.to_owned(),
        ArgumentShape::Any => String::new(),
        ArgumentShape::Json(schema) => {
            let is_small = schema.len() <= MAX_JSON_SCHEMA_BYTES;
            let known = JsonText::object(schema).ok().filter(|_| is_small);
            return known.map_or_else(|| "{}".to_owned(), |schema| schema.as_str().to_owned());
        }
    };
    let about = Some(about).filter(|about| !about.is_empty());
    let about = about.map(|about| format!(r#""description":{}"#, Json::from(about)));
    let parts: Vec<String> =
        [Some(own).filter(|own| !own.is_empty()), about].into_iter().flatten().collect();
    format!("{{{}}}", parts.join(","))
}
