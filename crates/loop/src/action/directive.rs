//! Action of the one who asked: a directive of OpenHarness, beside the text of the answer.
//!
//! Types that only show something do no harm. All others wait for the user of the shell, unless whoever asks for them
//! says that they need not: then the policies are asked as about anything that nobody knows.

use bridle_sexp::Value;

use super::InvalidAction;
use super::argument::text;
use crate::plist_codec::{FieldSink as _, PlistBuilder};

/// Name of the action.
pub(super) const DIRECTIVE: &str = "directive";

/// Types that show something and do nothing.
const SHOWN: [&str; 3] = ["noop", "render_message", "render_ui"];

/// Other types without a name space.
const REGISTERED: [&str; 2] = ["request_approval", "simulate_action"];

/// Longest type, in bytes.
const MAX_TYPE_BYTES: usize = 128;

/// A directive of OpenHarness.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectiveRequest {
    /// Its type: a registered one, or one with a name space such as `com.example.play`.
    pub kind: Box<str>,
    /// Property list of its arguments.
    pub payload: Value,
    /// Urgency: `low`, `normal`, `high` or `critical`.
    pub priority: Option<Box<str>>,
    /// `sequential` or `parallel`.
    pub execution: Option<Box<str>>,
    /// Harm: `safe`, `caution` or `dangerous`.
    pub risk: Option<Box<str>>,
    /// Milliseconds after which it may no longer begin.
    pub deadline: Option<u64>,
    /// Whether the user of the shell must agree first.
    pub approval: bool,
}

impl DirectiveRequest {
    /// Reads `:type` and the fields around it.
    pub(super) fn from_payload(payload: &Value) -> Result<Self, InvalidAction> {
        let kind = text(payload, DIRECTIVE, "type")?;
        let is_named = (1..=MAX_TYPE_BYTES).contains(&kind.len())
            && kind.bytes().all(|byte| byte.is_ascii_graphic());
        let is_known = SHOWN.contains(&&*kind) || REGISTERED.contains(&&*kind);
        if !is_named || !(is_known || kind.contains('.')) {
            let expected = "a registered type, or one with a name space such as `com.example.play`";
            return Err(fault("type", expected));
        }
        let arguments = payload.get("payload").cloned().unwrap_or(Value::Nil);
        if arguments.pairs().is_none() {
            return Err(fault("payload", "a property list"));
        }
        let words = |key, known: &[&str], expected| {
            let Some(value) = payload.get(key).filter(|value| !value.is_nil()) else {
                return Ok(None);
            };
            let word = value.as_keyword().or_else(|| value.as_str());
            let word = word.map(str::to_ascii_lowercase);
            let word = word.filter(|word| known.contains(&word.as_str()));
            word.map(|word| Some(word.into())).ok_or(fault(key, expected))
        };
        let urgencies = ["low", "normal", "high", "critical"];
        let priority = words("priority", &urgencies, "low, normal, high or critical")?;
        let execution = words("execution", &["sequential", "parallel"], "sequential or parallel")?;
        let risks = ["safe", "caution", "dangerous"];
        let risk = words("risk", &risks, "safe, caution or dangerous")?;
        let deadline = match payload.get("deadline").filter(|it| !it.is_nil()) {
            None => None,
            Some(value) => {
                let number = value.as_i64().and_then(|number| u64::try_from(number).ok());
                Some(number.ok_or(fault("deadline", "milliseconds"))?)
            }
        };
        let approval = match payload.get("approval") {
            None => !SHOWN.contains(&&*kind),
            Some(flag) => !(flag.is_nil() || flag.is_keyword("false")),
        };
        Ok(Self { kind, payload: arguments, priority, execution, risk, deadline, approval })
    }

    /// Whether it does nothing without its user, or nothing but show something.
    pub(super) fn is_harmless(&self) -> bool {
        self.approval || SHOWN.contains(&&*self.kind)
    }

    /// The directive as an answer has it.
    pub fn to_value(&self) -> Value {
        let word = |word: &Option<Box<str>>| word.as_deref().map(Value::keyword);
        PlistBuilder::new()
            .put("type", &*self.kind)
            .put_value("payload", &self.payload)
            .put_some("priority", word(&self.priority))
            .put_some("execution", word(&self.execution))
            .put_some("risk", word(&self.risk))
            .put_some("deadline", self.deadline.and_then(|it| i64::try_from(it).ok()))
            .put_flag("approval", self.approval)
            .done()
    }
}

fn fault(key: &'static str, expected: &'static str) -> InvalidAction {
    InvalidAction::Argument { action: DIRECTIVE, key, expected }
}

#[cfg(test)]
mod tests {
    use super::DirectiveRequest;
    use crate::action::{Action, RiskLevel};

    fn read(text: &str) -> Result<DirectiveRequest, super::InvalidAction> {
        let value = bridle_sexp::read_one(text).unwrap().root().to_value();
        match Action::from_payload(&value)? {
            Action::Directive(directive) => Ok(*directive),
            other => panic!("{other:?}"),
        }
    }

    fn risk(text: &str) -> RiskLevel {
        Action::Directive(Box::new(read(text).unwrap())).risk()
    }

    #[test]
    fn types_are_registered_or_have_a_name_space() {
        for good in ["render_ui", "noop", "simulate_action", "com.example.play"] {
            read(&format!("(:action :directive :type \"{good}\")")).unwrap();
        }
        for bad in [
            ":type \"play\"",
            ":type \"\"",
            ":type 5",
            ":type \"a.b c\"",
            ":type \"noop\" :payload (1 2 3)",
            ":type \"noop\" :priority :huge",
            ":type \"noop\" :execution 1",
            ":type \"noop\" :deadline -1",
        ] {
            assert!(read(&format!("(:action :directive {bad})")).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_may_do_something_waits_for_somebody() {
        assert_eq!(risk("(:action :directive :type \"render_ui\")"), RiskLevel::Safe);
        let play = "(:action :directive :type \"com.example.play\")";
        assert!(read(play).unwrap().approval);
        assert_eq!(risk(play), RiskLevel::Safe);
        let free = "(:action :directive :type \"com.example.play\" :approval nil)";
        assert_eq!(risk(free), RiskLevel::Dangerous);
        let all = "(:action :directive :type \"a.b\" :payload (:x 1) :priority :HIGH :execution \"parallel\" \
                    :risk :caution :deadline 500 :approval t)";
        let told = read(all).unwrap().to_value().to_string();
        assert_eq!(
            told,
            "(:type \"a.b\" :payload (:x 1) :priority :high :execution :parallel :risk :caution \
             :deadline 500 :approval t)"
        );
    }
}
