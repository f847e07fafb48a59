//! Descriptions as values: bodies of `catalog` records, and what shells declare.

use bridle_sexp::Value;

use super::{
    ActionSpec, ActuatorSpec, ArgumentShape, ArgumentSpec, InvalidSpec, MAX_ACTION_SPECS,
    MAX_ACTUATOR_SPEC_BYTES, MAX_ARGUMENT_SPECS, MAX_SPEC_TEXT_BYTES, ToolName,
};
use crate::ids::KeywordName;
use crate::plist_codec::{
    FieldSink as _, PlistBuilder, UnreadableValue, element_text, flag, list, name, optional_text,
    required, text,
};

/// Bytes of a name that a shell declares.
const MAX_DECLARED_NAME_BYTES: usize = 64;

impl ActuatorSpec {
    /// The description as a plist.
    pub fn to_value(&self) -> Value {
        PlistBuilder::new()
            .put("name", self.name.to_value())
            .put_list("actions", self.actions.iter().map(ActionSpec::to_value))
            .done()
    }

    /// Reads a description that the record has.
    ///
    /// # Errors
    /// When the value is not what this version writes.
    pub fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let actions = list(value, "actions", ActionSpec::from_value)?;
        Ok(Self { name: name(value, "name")?, actions })
    }
}

impl ActionSpec {
    fn to_value(&self) -> Value {
        let plist = PlistBuilder::new().put("name", self.name.to_value());
        let plist = match &self.tool {
            Some(tool) => plist.put("server", &*tool.server).put("tool", &*tool.tool),
            None => plist,
        };
        plist
            .put_text("about", Some(&*self.about).filter(|about| !about.is_empty()))
            .put_list("arguments", self.arguments.iter().map(ArgumentSpec::to_value))
            .done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let tool = match optional_text(value, "server")? {
            Some(server) => Some(ToolName { server, tool: text(value, "tool")? }),
            None => None,
        };
        Ok(Self {
            name: name(value, "name")?,
            tool,
            about: optional_text(value, "about")?.unwrap_or_default(),
            arguments: list(value, "arguments", ArgumentSpec::from_value)?,
        })
    }
}

impl ArgumentSpec {
    fn to_value(&self) -> Value {
        let plist = PlistBuilder::new()
            .put("name", &*self.name)
            .put("shape", Value::keyword(self.shape.word()));
        match &self.shape {
            ArgumentShape::Choice(all) => plist.put_texts("choices", all.iter().map(|it| &**it)),
            ArgumentShape::Json(schema) => plist.put("schema", &**schema),
            _ => plist,
        }
        .put_flag("required", self.required)
        .put_text("about", Some(&*self.about).filter(|about| !about.is_empty()))
        .done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let shape = match name(value, "shape")?.as_str() {
            "choice" => ArgumentShape::Choice(list(value, "choices", element_text)?),
            "json" => ArgumentShape::Json(text(value, "schema")?),
            word => {
                ArgumentShape::plain(word).ok_or(UnreadableValue::new("shape", "a known word"))?
            }
        };
        Ok(Self {
            name: text(value, "name")?,
            shape,
            required: flag(value, "required")?,
            about: optional_text(value, "about")?.unwrap_or_default(),
        })
    }
}

impl ArgumentShape {
    /// Shapes that their word says all about.
    const PLAIN: [Self; 7] =
        [Self::Text, Self::Integer, Self::Number, Self::Flag, Self::Texts, Self::Plist, Self::Any];

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Flag => "flag",
            Self::Texts => "texts",
            Self::Choice(_) => "choice",
            Self::Plist => "plist",
            Self::Any => "any",
            Self::Json(_) => "json",
        }
    }

    fn plain(word: &str) -> Option<Self> {
        Self::PLAIN.into_iter().find(|shape| shape.word() == word)
    }
}

/// Reads what a shell declares. Every text is bounded, and so is the whole.
pub(super) fn declared(name: KeywordName, actions: &Value) -> Result<ActuatorSpec, InvalidSpec> {
    let all = elements(actions, "actions")?;
    if all.len() > MAX_ACTION_SPECS {
        let text = format!("{} actions, expected at most {MAX_ACTION_SPECS}", all.len());
        return Err(InvalidSpec::new(text));
    }
    let mut spec = ActuatorSpec { name, actions: Vec::with_capacity(all.len()) };
    for action in all {
        let action = declared_action(action)?;
        if spec.actions.iter().any(|known| known.name == action.name) {
            return Err(InvalidSpec::new(format!("`{}` is declared twice", action.name)));
        }
        spec.actions.push(action);
    }
    let bytes = spec.to_value().to_string().len();
    if bytes > MAX_ACTUATOR_SPEC_BYTES {
        let text = format!("{bytes} bytes of actions, expected at most {MAX_ACTUATOR_SPEC_BYTES}");
        return Err(InvalidSpec::new(text));
    }
    Ok(spec)
}

fn declared_action(value: &Value) -> Result<ActionSpec, InvalidSpec> {
    if let Value::Keyword(_) = value {
        let name = keyword(value)?;
        return Ok(ActionSpec::known(name.as_str()));
    }
    let named = value.get("name").ok_or(InvalidSpec::new("an action without `:name`"))?;
    let name = keyword(named)?;
    let about = short(value, "about")?.unwrap_or_default();
    let arguments = match value.get("arguments") {
        Some(arguments) => elements(arguments, "arguments")?,
        None => &[],
    };
    if arguments.len() > MAX_ARGUMENT_SPECS {
        let text = format!("`{name}` has more than {MAX_ARGUMENT_SPECS} arguments");
        return Err(InvalidSpec::new(text));
    }
    let arguments = arguments.iter().map(declared_argument).collect::<Result<Vec<_>, _>>()?;
    let is_twice = arguments
        .iter()
        .enumerate()
        .any(|(at, one)| arguments[..at].iter().any(|other| other.name == one.name));
    if is_twice || arguments.iter().any(|one| &*one.name == "action") {
        let text = format!("`{name}` has an argument twice, or one that is called `action`");
        return Err(InvalidSpec::new(text));
    }
    Ok(ActionSpec { name, tool: None, about, arguments })
}

fn declared_argument(value: &Value) -> Result<ArgumentSpec, InvalidSpec> {
    let named = value.get("name").ok_or(InvalidSpec::new("an argument without `:name`"))?;
    let name = keyword(named)?.as_str().into();
    let word = match value.get("shape") {
        Some(shape) => keyword(shape)?,
        None => KeywordName::new(ArgumentShape::Text.word()),
    };
    let shape = match word.as_str() {
        "choice" => {
            let choices = value.get("choices").unwrap_or(&Value::Nil);
            let choices = elements(choices, "choices")?.iter();
            let choices: Result<Vec<Box<str>>, InvalidSpec> =
                choices.map(|it| Ok(keyword(it)?.as_str().into())).collect();
            ArgumentShape::Choice(choices?)
        }
        word => ArgumentShape::plain(word).ok_or_else(|| {
            let words = ArgumentShape::PLAIN.map(|shape| format!("`:{}`", shape.word()));
            InvalidSpec::new(format!(
                "no shape `{word}`, expected {} or `:choice`",
                words.join(", ")
            ))
        })?,
    };
    let required = required(value, "required").is_ok_and(|flag| !flag.is_nil());
    Ok(ArgumentSpec { name, shape, required, about: short(value, "about")?.unwrap_or_default() })
}

fn elements<'v>(value: &'v Value, key: &str) -> Result<&'v [Value], InvalidSpec> {
    match value {
        Value::Nil => Ok(&[]),
        list => list.elements().ok_or_else(|| InvalidSpec::new(format!("`:{key}` is no list"))),
    }
}

/// A short name: a keyword.
fn keyword(value: &Value) -> Result<KeywordName, InvalidSpec> {
    let name = KeywordName::of(value).filter(|name| name.as_str().len() <= MAX_DECLARED_NAME_BYTES);
    name.ok_or_else(|| {
        InvalidSpec::new(format!(
            "a name that is no keyword of at most {MAX_DECLARED_NAME_BYTES} bytes"
        ))
    })
}

fn short(value: &Value, key: &'static str) -> Result<Option<Box<str>>, InvalidSpec> {
    match value.get(key).filter(|text| !text.is_nil()) {
        None => Ok(None),
        Some(Value::Str(text)) if text.len() <= MAX_SPEC_TEXT_BYTES => Ok(Some((**text).into())),
        Some(_) => {
            let text = format!("`:{key}` is no string of at most {MAX_SPEC_TEXT_BYTES} bytes");
            Err(InvalidSpec::new(text))
        }
    }
}
