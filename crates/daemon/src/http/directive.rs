//! Directives of an answer: the texts that it shows, and what it has beside them, as a shell gets them.

use bridle_sexp::Value;
use bridle_wire::openharness::directive::{
    DirectiveExecution, DirectivePriority, ResultWish, RiskTier,
};
use bridle_wire::openharness::ids::{ActionType, DirectiveId};
use bridle_wire::openharness::json::JsonNumber;
use bridle_wire::openharness::payload::TextFormat;
use bridle_wire::openharness::shape::{ApprovalGate, StartDeadline};
use bridle_wire::openharness::{Directive, Json, JsonObject};

use super::shell_description::ShellDescription;
use crate::numbered_names::numbered;

/// Whether the results of directives are waited for, unless they are answers.
pub(super) const RESULT_WISH: ResultWish = ResultWish::None;

/// The name of a directive within its run.
pub(super) fn directive_id(run: &str, index: usize) -> DirectiveId {
    let name = numbered(&[run, "."], u64::try_from(index).unwrap_or(u64::MAX));
    DirectiveId::new(name).expect("a session and two numbers are short")
}

/// A directive that shows a text.
pub(super) fn render(text: &str, about: &ShellDescription) -> Directive {
    let format = if about.is_terminal() { TextFormat::Plain } else { TextFormat::Markdown };
    Directive::render_message(&about.printable(text), format)
}

/// The directives of an answer. A shell that cannot ask its user gets a text in the place of one that waits for them.
pub(super) fn all(payload: &Value, can_ask: bool, about: &ShellDescription) -> Vec<Directive> {
    let recorded = payload.get("directives").and_then(Value::elements).unwrap_or_default();
    let read = |value: &Value| {
        let directive = directive(value)?;
        if directive.requires_user_approval == ApprovalGate::Open || can_ask {
            return Some(directive);
        }
        let kind = directive.action_type.as_str();
        let text = format!("`{kind}` needs approval, and this program cannot ask for it.");
        Some(render(&text, about))
    };
    recorded.iter().filter_map(read).collect()
}

fn directive(value: &Value) -> Option<Directive> {
    let kind = ActionType::new(value.get("type")?.as_str()?).ok()?;
    let word = |key: &str| value.get(key).and_then(Value::as_keyword);
    let mut directive = Directive::new(kind, arguments(value.get("payload")?)?);
    directive.priority = word("priority").map(|word| match word {
        "low" => DirectivePriority::Low,
        "high" => DirectivePriority::High,
        "critical" => DirectivePriority::Critical,
        _ => DirectivePriority::Normal,
    });
    directive.execution = word("execution").map(|word| match word {
        "parallel" => DirectiveExecution::Parallel,
        _ => DirectiveExecution::Sequential,
    });
    directive.risk_tier = word("risk").map(|word| match word {
        "safe" => RiskTier::Safe,
        "caution" => RiskTier::Caution,
        _ => RiskTier::Dangerous,
    });
    if value.get("approval").is_some_and(|flag| !flag.is_nil()) {
        directive.requires_user_approval = ApprovalGate::Approval;
    }
    let deadline = value.get("deadline").and_then(Value::as_i64);
    directive.deadline_ms =
        deadline.and_then(|deadline| u64::try_from(deadline).ok()).map(StartDeadline);
    Some(directive)
}

/// A property list as JSON: keys in small letters, with `_` for `-`.
fn arguments(payload: &Value) -> Option<JsonObject> {
    let mut object = JsonObject::new();
    for (key, value) in payload.pairs()? {
        object.insert(name(key)?, json(value)?);
    }
    Some(object)
}

fn name(key: &Value) -> Option<String> {
    Some(key.as_keyword()?.to_ascii_lowercase().replace('-', "_"))
}

fn json(value: &Value) -> Option<Json> {
    if let Some(text) = value.as_str() {
        return Some(Json::from(text));
    }
    if let Some(word) = value.as_keyword() {
        return Some(match word.to_ascii_lowercase().as_str() {
            "false" => Json::Bool(false),
            "null" => Json::Null,
            word => Json::from(word),
        });
    }
    if *value == Value::T {
        return Some(Json::Bool(true));
    }
    if !value.is_nil() && value.pairs().is_some() {
        return arguments(value).map(Json::Object);
    }
    if let Some(number) = value.as_i64() {
        return number_of(number);
    }
    match (value.elements(), value) {
        (_, Value::Nil) => Some(Json::Null),
        (Some(elements), _) => Some(Json::array(elements.iter().filter_map(json))),
        (None, Value::Float(float)) => JsonNumber::from_f64(float.to_f64()?).map(Json::Number),
        _ => None,
    }
}

fn number_of(number: i64) -> Option<Json> {
    match u64::try_from(number) {
        Ok(number) => Some(Json::from(number)),
        // Of JSON's own numbers: what is exact in a float.
        Err(_) => i32::try_from(number)
            .ok()
            .and_then(|number| JsonNumber::from_f64(number.into()))
            .map(Json::Number),
    }
}
