//! What the program of a skill defines: stages, tools, commands, actuators, providers.

use bridle_sexp::Value;

/// Parts of one skill.
pub(crate) const MAX_PARTS: usize = 256;

/// Kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// The skill itself: name and text of `defskill`.
    Skill,
    /// `perceive`, `think` or `decide`.
    Stage,
    /// Function with typed arguments that a thinker may call.
    Tool,
    /// Word behind a slash.
    Command,
    /// Target of actions.
    Actuator,
    /// Provider of a model.
    Provider,
    /// `encode` or `decode` of a provider.
    Codec,
}

impl PartKind {
    /// Name, as in the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Stage => "stage",
            Self::Tool => "tool",
            Self::Command => "command",
            Self::Actuator => "actuator",
            Self::Provider => "provider",
            Self::Codec => "codec",
        }
    }

    fn of(value: &Value) -> Option<Self> {
        let all = [
            Self::Skill,
            Self::Stage,
            Self::Tool,
            Self::Command,
            Self::Actuator,
            Self::Provider,
            Self::Codec,
        ];
        all.into_iter().find(|kind| value.is_keyword(kind.name()))
    }
}

/// Type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentType {
    /// Text.
    String,
    /// Whole number.
    Integer,
    /// Number.
    Number,
    /// Truth.
    Boolean,
    /// Keyword.
    Keyword,
    /// List.
    List,
    /// Anything.
    Any,
}

impl ArgumentType {
    /// Name, as in the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Keyword => "keyword",
            Self::List => "list",
            Self::Any => "any",
        }
    }

    fn of(name: &str) -> Self {
        let all =
            [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Keyword, Self::List];
        all.into_iter().find(|kind| kind.name() == name).unwrap_or(Self::Any)
    }
}

/// Argument of a tool or an action.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentPart {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: ArgumentType,
    /// Text for thinkers and people.
    pub doc: String,
    /// Whether it may be left out.
    pub optional: bool,
    /// Values that it may have; any if empty.
    pub choices: Vec<Value>,
}

/// Action of an actuator.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionPart {
    /// Name.
    pub name: String,
    /// Arguments.
    pub arguments: Vec<ArgumentPart>,
}

/// Part of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillPart {
    /// Kind.
    pub kind: PartKind,
    /// Name, unique among parts of its kind.
    pub name: String,
    /// Text for thinkers and people.
    pub doc: String,
    /// Arguments of a tool.
    pub arguments: Vec<ArgumentPart>,
    /// Actions of an actuator.
    pub actions: Vec<ActionPart>,
}

impl SkillPart {
    /// Reads what the instance tells of a part.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let facts = value.get("facts")?;
        let actions = facts.get("actions").and_then(Value::elements).unwrap_or_default();
        Some(Self {
            kind: PartKind::of(value.get("kind")?)?,
            name: value.get("name")?.as_str()?.to_owned(),
            doc: text(facts, "doc"),
            arguments: arguments(facts),
            actions: actions
                .iter()
                .map(|action| ActionPart {
                    name: text(action, "name"),
                    arguments: arguments(action),
                })
                .collect(),
        })
    }
}

fn text(plist: &Value, key: &str) -> String {
    plist.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn arguments(plist: &Value) -> Vec<ArgumentPart> {
    let all = plist.get("arguments").and_then(Value::elements).unwrap_or_default();
    let argument = |value: &Value| ArgumentPart {
        name: text(value, "name"),
        kind: ArgumentType::of(&text(value, "type")),
        doc: text(value, "doc"),
        optional: value.get("optional").is_some_and(|it| !it.is_nil()),
        choices: value.get("choices").and_then(Value::elements).unwrap_or_default().to_vec(),
    };
    all.iter().map(argument).collect()
}
