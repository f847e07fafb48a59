//! What the engine asks a shell to do or to show.

use std::borrow::Cow;

use super::ids::{ActionType, DirectiveId};
use super::json::{Json, JsonObject};
use super::payload::{self, TextFormat};
use super::shape::{ApprovalGate, FlattenedShape as _, StartDeadline, record, words};

words! {
    /// Urgency of a directive; it changes no order.
    pub enum DirectivePriority as "priority" {
        /// Less than usual.
        Low = "low",
        /// As usual.
        Normal = "normal",
        /// More than usual.
        High = "high",
        /// Before all else.
        Critical = "critical",
    } else Normal
}

words! {
    /// Whether a directive waits for the one before it.
    pub enum DirectiveExecution as "execution" {
        /// The directive waits for the one before it.
        Sequential = "sequential",
        /// The directive may run beside its neighbors that may too.
        Parallel = "parallel",
    } else Sequential
}

words! {
    /// Harm that a directive can do.
    pub enum RiskTier as "riskTier" {
        /// None.
        Safe = "safe",
        /// Some: the user should see it.
        Caution = "caution",
        /// Much: the user must agree.
        Dangerous = "dangerous",
    } else Dangerous
}

record! {
    /// Order to a shell, to do or to show something.
    pub struct Directive as "actionDirective" {
        /// Type of the action.
        action_type: ActionType = "action_type",
        /// Urgency.
        priority: Option<DirectivePriority> = "priority",
        /// Whether it waits for the one before it.
        execution: Option<DirectiveExecution> = "execution",
        /// Harm that it can do.
        risk_tier: Option<RiskTier> = "risk_tier",
        /// Whether the user must agree first.
        requires_user_approval: ApprovalGate = "requires_user_approval",
        /// Milliseconds from its arrival after which it may no longer begin.
        deadline_ms: Option<StartDeadline> = "deadline_ms",
        /// Arguments of the type.
        payload: Option<JsonObject> = "payload",
        /// Data of vendors, by reverse domain name.
        extensions: Option<DirectiveExtensions> = "extensions",
    }
}

record! {
    /// Extensions of a directive. Those of others are kept.
    pub struct DirectiveExtensions as "directiveExtensions" {
        /// Fields of bridle beyond version 1.
        bridle: Option<DirectiveBridle> = "dev.bridle",
        ..rest
    }
}

words! {
    /// Whether the engine waits for the result of a directive.
    pub enum ResultWish as "resultWish" {
        /// The run does not go on without it.
        Required = "required",
        /// The engine takes a result and does not wait for it.
        Optional = "optional",
        /// Nobody looks at it.
        None = "none",
    } else Optional
}

words! {
    /// Moment from which a streamed directive may begin.
    pub enum StreamCommit as "commit" {
        /// As soon as it is complete.
        Early = "early",
        /// The whole answer is there and reports success.
        Final = "final",
    } else Final
}

record! {
    /// Fields of bridle in a directive, beyond version 1.
    pub struct DirectiveBridle as "directiveBridle" {
        /// Names the directive, for its result.
        directive_id: Option<DirectiveId> = "directive_id",
        /// Whether the engine waits for the result.
        result: Option<ResultWish> = "result",
        /// Directives that must have been completed first.
        depends_on: Vec<DirectiveId> = "depends_on",
        /// Moment from which it may begin while it is streamed.
        commit: Option<StreamCommit> = "commit",
        ..rest
    }
}

impl Directive {
    /// Makes a directive without further wishes.
    pub fn new(action_type: ActionType, payload: JsonObject) -> Self {
        Directive {
            action_type,
            priority: None,
            execution: None,
            risk_tier: None,
            requires_user_approval: ApprovalGate::Open,
            deadline_ms: None,
            payload: Some(payload),
            extensions: None,
        }
    }

    /// Makes a directive that shows a text.
    pub fn render_message(text: &str, format: TextFormat) -> Self {
        // Every answer has one of these: written out, not read back from the text of the record.
        let payload = [
            ("text", Json::from(text)),
            ("message", Json::from(text)),
            ("format", Json::from(format.as_str())),
        ];
        let payload = payload.map(|(key, value)| (Cow::Borrowed(key), value));
        let mut directive =
            Directive::new(core(payload::RENDER_MESSAGE), JsonObject::checked(payload.into()));
        directive.priority = Some(DirectivePriority::Normal);
        directive.risk_tier = Some(RiskTier::Safe);
        directive
    }

    /// Makes a directive that asks the user for something the engine will do.
    pub fn request_approval(approval: &payload::RequestApproval) -> Self {
        let mut directive = Directive::new(core(payload::REQUEST_APPROVAL), approval.to_object());
        directive.priority = Some(DirectivePriority::High);
        directive.risk_tier = Some(RiskTier::Safe);
        directive
    }

    /// Names the directive and says whether its result is waited for.
    #[must_use]
    pub fn with_id(mut self, id: DirectiveId, result: ResultWish) -> Self {
        let extensions = self
            .extensions
            .get_or_insert_with(|| DirectiveExtensions { bridle: None, rest: JsonObject::new() });
        let bridle = extensions.bridle.get_or_insert_with(|| DirectiveBridle {
            directive_id: None,
            result: None,
            depends_on: Vec::new(),
            commit: None,
            rest: JsonObject::new(),
        });
        bridle.directive_id = Some(id);
        bridle.result = Some(result);
        self
    }

    /// Returns the name of the directive, if the engine gave it one.
    pub fn directive_id(&self) -> Option<&DirectiveId> {
        self.extensions.as_ref()?.bridle.as_ref()?.directive_id.as_ref()
    }

    /// Returns the text that a shell may show: of a message its text, of a type that the shell does
    /// not know what the payload offers instead.
    pub fn text(&self) -> Option<&str> {
        let order: &[&str] = if self.action_type.as_str() == payload::RENDER_MESSAGE {
            &["text", "message", "fallback_message"]
        } else {
            &["fallback_message", "message"]
        };
        let payload = self.payload.as_ref()?;
        order.iter().find_map(|key| payload.get(key)?.as_str())
    }
}

fn core(name: &str) -> ActionType {
    ActionType::new(name).expect("the core types are short")
}
