//! Tools: the actions that can be proposed, as a model is offered them, and its calls as proposals.
//!
//! In reading order:
//! - `brief`: the daemon's own actions in few words, so that all of them together stay small
//! - `schema`: arguments of an action as JSON Schema
//! - `arguments`: arguments of a call as a payload; what does not fit goes back with its reason
//! - `value_json`: values as JSON, and back
//! - `text_call`: calls of models without tools, read from their text

mod arguments;
mod brief;
mod schema;
pub(crate) mod text_call;
pub(crate) mod value_json;

use std::collections::BTreeMap;

use bridle_host::OfferedAction;
use bridle_loop::{
    ActionSpec, ActuatorLocation, CallId, KeywordName, MALFORMED, Proposal, RoundCall, TOOL,
};
use bridle_models::{CacheHint, ToolArguments, ToolCall, ToolDefinition};
use bridle_sexp::Value;

use self::brief::BriefTool;

/// Longest name of a tool.
const MAX_NAME_BYTES: usize = 64;

/// Argument that names the action of a tool with several.
const ACTION: &str = "action";

/// Target of a call whose tool is none.
const NO_TARGET: &str = "tools";

/// A tool and the actions behind it.
#[derive(Clone, Debug)]
struct ModelTool {
    name: String,
    target: KeywordName,
    about: String,
    /// One, or several that the argument `action` chooses from.
    specs: Vec<ActionSpec>,
    brief: Option<&'static BriefTool>,
}

/// Tools of one prompt, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolTable {
    tools: Vec<ModelTool>,
}

impl ToolTable {
    /// The tools for these actions, in an order that stays.
    pub(crate) fn of(offered: &[OfferedAction]) -> Self {
        let mut table = Self::default();
        let find = |target: &str, action: &str| {
            let is_it = |it: &&OfferedAction| {
                it.place == ActuatorLocation::Host
                    && it.target.as_str() == target
                    && it.spec.name.as_str() == action
            };
            offered.iter().find(is_it).map(|it| it.spec.clone())
        };
        for brief in brief::TOOLS {
            let specs: Vec<ActionSpec> =
                brief.actions.iter().filter_map(|action| find(brief.target, action)).collect();
            if !specs.is_empty() {
                let (name, target) = (brief.name.to_owned(), KeywordName::new(brief.target));
                let about = brief.about.to_owned();
                table.tools.push(ModelTool { name, target, about, specs, brief: Some(brief) });
            }
        }
        for other in offered {
            let is_own = other.place == ActuatorLocation::Host;
            if is_own && brief::OWN_TARGETS.contains(&other.target.as_str()) {
                continue;
            }
            let name = table.free_name(&plain_name(other));
            table.tools.push(ModelTool {
                name,
                target: other.target.clone(),
                about: other.spec.about.to_string(),
                specs: vec![other.spec.clone()],
                brief: None,
            });
        }
        table
    }

    /// A name that no tool has yet.
    fn free_name(&self, wanted: &str) -> String {
        let is_free = |name: &str| self.tools.iter().all(|tool| tool.name != name);
        if is_free(wanted) {
            return wanted.to_owned();
        }
        let base = &wanted[..wanted.len().min(MAX_NAME_BYTES - 4)];
        let numbered = (2..1000).map(|number| format!("{base}_{number}"));
        numbered.into_iter().find(|name| is_free(name)).unwrap_or_else(|| wanted.to_owned())
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Definitions for a request.
    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        let define = |tool: &ModelTool| ToolDefinition {
            name: tool.name.clone(),
            description: tool.about.clone(),
            parameters: schema::parameters(&tool.specs, tool.brief),
            cache: CacheHint::None,
        };
        self.tools.iter().map(define).collect()
    }

    /// Definitions as lines of text, for a model without tools.
    pub(crate) fn as_text(&self) -> String {
        let lines = self.tools.iter().map(|tool| {
            let arguments = schema::text(&tool.specs, tool.brief);
            format!("(:tool :{}{arguments}) {}", tool.name, tool.about)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The proposal that a call stands for. One that cannot be read says why, and is refused for that.
    pub(crate) fn proposal(&self, call: &ToolCall) -> Proposal {
        let (target, payload) = match self.read(call) {
            Ok((target, payload)) => (target, payload),
            Err((target, action, reason)) => {
                let action = KeywordName::new(&action).to_value();
                let pairs = [(ACTION, action), (MALFORMED, Value::str(reason))];
                (target, Value::plist(pairs))
            }
        };
        Proposal {
            target: Some(target),
            payload,
            explanation: None,
            then_think: true,
            call: Some(CallId::new(&call.id)),
        }
    }

    /// Target and payload of a call; else the target, the action and the reason why there are none.
    fn read(&self, call: &ToolCall) -> Result<(KeywordName, Value), (KeywordName, String, String)> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == call.name) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            let reason = format!("no tool `{}`, expected one of {}", call.name, names.join(", "));
            return Err((KeywordName::new(NO_TARGET), plain(&call.name), reason));
        };
        let flaw = |action: &str, reason: String| (tool.target.clone(), action.to_owned(), reason);
        let first = tool.specs.first().map_or("", |spec| spec.name.as_str());
        let members = match &call.arguments {
            ToolArguments::Valid(json) | ToolArguments::Repaired { json, .. } => {
                arguments::members(json).map_err(|reason| flaw(first, reason))?
            }
            ToolArguments::Invalid { reason, .. } => {
                return Err(flaw(first, format!("the arguments are no JSON object: {reason}")));
            }
        };
        let spec = match &tool.specs[..] {
            [one] => one,
            several => {
                arguments::chosen(several, &members).map_err(|reason| flaw(first, reason))?
            }
        };
        let is_group = tool.specs.len() > 1;
        let payload = arguments::payload(spec, &members, is_group)
            .map_err(|reason| flaw(spec.name.as_str(), reason))?;
        Ok((tool.target.clone(), payload))
    }

    /// The call of an earlier round, as the model made it: its tool and its arguments.
    pub(crate) fn past_call(&self, call: &RoundCall, id: String) -> ToolCall {
        let target = call.target.as_ref().map_or(NO_TARGET, KeywordName::as_str);
        let action = call.arguments.get(ACTION).and_then(Value::as_keyword).unwrap_or_default();
        let named = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        let has = |spec: &ActionSpec| match &spec.tool {
            Some(tool) => {
                action == TOOL && *tool.server == *named("server") && *tool.tool == *named("tool")
            }
            None => spec.name.as_str() == action,
        };
        let is_it =
            |tool: &&ModelTool| tool.target.as_str() == target && tool.specs.iter().any(has);
        let found = self.tools.iter().find(is_it);
        let is_group = found.is_some_and(|tool| tool.specs.len() > 1);
        let fallback = || plain(&format!("{target}_{action}"));
        let name = found.map_or_else(fallback, |tool| tool.name.clone());
        let arguments = arguments::past(&call.arguments, is_group);
        ToolCall { id, name, arguments: ToolArguments::read(&arguments) }
    }
}

/// Name of a tool for an action that others describe.
fn plain_name(offered: &OfferedAction) -> String {
    let name = match &offered.spec.tool {
        Some(tool) => format!("{}_{}", tool.server, tool.tool),
        None => format!("{}_{}", offered.target, offered.spec.name),
    };
    plain(&name)
}

/// A name that every vendor takes.
fn plain(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(fits).take(MAX_NAME_BYTES).collect();
    if name.is_empty() { NO_TARGET.to_owned() } else { name }
}

/// Members of a JSON object.
pub(crate) type JsonMembers = BTreeMap<String, serde_json::Value>;

#[cfg(test)]
pub(crate) mod tests;
