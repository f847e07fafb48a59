//! Payloads of the core types. Version 1 names the types and leaves their payloads open; these are the
//! ones that bridle writes, published in its discovery document.

use super::directive::RiskTier;
use super::ids::{ActionType, ApprovalId, Name, OptionId, Timestamp};
use super::json::{Json, JsonObject};
use super::schema::{SchemaBook, schema_of};
use super::shape::{JsonShape, ReadMode, record, words};

/// Shows a text.
pub const RENDER_MESSAGE: &str = "render_message";
/// Shows a component of the shell.
pub const RENDER_UI: &str = "render_ui";
/// Acts on the device as the user would.
pub const SIMULATE_ACTION: &str = "simulate_action";
/// Asks the user for something that the engine will do.
pub const REQUEST_APPROVAL: &str = "request_approval";
/// Does nothing.
pub const NOOP: &str = "noop";

words! {
    /// How a text is written.
    pub enum TextFormat as "format" {
        /// As it is.
        Plain = "plain",
        /// With Markdown in it.
        Markdown = "markdown",
    } else Plain
}

record! {
    /// The payload of `render_message`.
    pub struct RenderMessage as "renderMessagePayload" {
        /// The text.
        text: String = "text",
        /// The same text, for shells that look here.
        message: Option<String> = "message",
        /// How it is written.
        format: Option<TextFormat> = "format",
        /// A text for shells that cannot show it.
        fallback_message: Option<String> = "fallback_message",
    }
}

record! {
    /// The payload of `render_ui`.
    pub struct RenderUi as "renderUiPayload" {
        /// The component of the shell.
        component: Name = "component",
        /// What it shows.
        data: Option<Json> = "data",
        /// A text for shells that do not have it.
        fallback_message: Option<String> = "fallback_message",
    }
}

record! {
    /// The payload of `simulate_action`.
    pub struct SimulateAction as "simulateActionPayload" {
        /// The keys to press.
        keys: Option<String> = "macro",
        /// The steps to take.
        steps: Vec<Json> = "steps",
        /// Where.
        target: Option<String> = "target",
        /// What the user is told about it.
        summary: Option<String> = "summary",
        /// A text for shells that cannot do it.
        fallback_message: Option<String> = "fallback_message",
    }
}

record! {
    /// The payload of `noop`.
    pub struct Noop as "noopPayload" {
        /// Why nothing is to be done.
        reason: Option<String> = "reason",
    }
}

words! {
    /// What choosing an option means.
    pub enum OptionKind as "optionKind" {
        /// Yes, this time.
        AllowOnce = "allow_once",
        /// Yes, from now on.
        AllowAlways = "allow_always",
        /// No, this time.
        RejectOnce = "reject_once",
        /// No, from now on.
        RejectAlways = "reject_always",
    } else RejectOnce
}

record! {
    /// An answer that the user may choose.
    pub struct ApprovalOption as "approvalOption" {
        /// Names it in the decision.
        option_id: OptionId = "option_id",
        /// What the user reads.
        label: String = "label",
        /// What choosing it means.
        kind: OptionKind = "kind",
    }
}

record! {
    /// What an approval is about.
    pub struct ApprovalSubject as "approvalSubject" {
        /// The type of what will be done.
        action_type: ActionType = "action_type",
        /// What will be done, in words.
        summary: Option<String> = "summary",
        /// A digest of exactly what will be done.
        payload_digest: Option<String> = "payload_digest",
    }
}

record! {
    /// The payload of `request_approval`.
    pub struct RequestApproval as "requestApprovalPayload" {
        /// Names the question.
        approval_id: ApprovalId = "approval_id",
        /// A heading.
        title: Option<String> = "title",
        /// The question.
        message: String = "message",
        /// A text for shells that cannot ask.
        fallback_message: Option<String> = "fallback_message",
        /// How much harm what is asked for can do.
        risk_tier: Option<RiskTier> = "risk_tier",
        /// The answers to choose from.
        options: Vec<ApprovalOption> = "options",
        /// What it is about.
        subject: Option<ApprovalSubject> = "subject",
        /// What else the answer may hold.
        response_schema: Option<JsonObject> = "response_schema",
        /// When the question ends.
        expires_at: Option<Timestamp> = "expires_at",
    }
}

pub(super) fn schemas(book: &mut SchemaBook) {
    RenderMessage::schema(book);
    RenderUi::schema(book);
    SimulateAction::schema(book);
    Noop::schema(book);
    RequestApproval::schema(book);
}

/// Returns the schema of the payload of a core type; `None` for any other type.
pub fn payload_schema(action_type: &str) -> Option<Json> {
    Some(match action_type {
        RENDER_MESSAGE => schema_of::<RenderMessage>(ReadMode::Strict),
        RENDER_UI => schema_of::<RenderUi>(ReadMode::Strict),
        SIMULATE_ACTION => schema_of::<SimulateAction>(ReadMode::Strict),
        REQUEST_APPROVAL => schema_of::<RequestApproval>(ReadMode::Strict),
        NOOP => schema_of::<Noop>(ReadMode::Strict),
        _ => return None,
    })
}
