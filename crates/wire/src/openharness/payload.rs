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
    /// Format of a text.
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
        /// Copy of the text, for shells that look here.
        message: Option<String> = "message",
        /// Format of the text.
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
        /// Data to show.
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
        /// Target of the action.
        target: Option<String> = "target",
        /// Summary for the user.
        summary: Option<String> = "summary",
        /// A text for shells that cannot do it.
        fallback_message: Option<String> = "fallback_message",
    }
}

record! {
    /// The payload of `noop`.
    pub struct Noop as "noopPayload" {
        /// Reason for doing nothing.
        reason: Option<String> = "reason",
    }
}

words! {
    /// Meaning of an option.
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
        /// Label that the user reads.
        label: String = "label",
        /// Meaning of the option.
        kind: OptionKind = "kind",
    }
}

record! {
    /// Subject of an approval.
    pub struct ApprovalSubject as "approvalSubject" {
        /// The type of what will be done.
        action_type: ActionType = "action_type",
        /// Summary of what will be done.
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
        /// Harm that the action can do.
        risk_tier: Option<RiskTier> = "risk_tier",
        /// The answers to choose from.
        options: Vec<ApprovalOption> = "options",
        /// Subject of the approval.
        subject: Option<ApprovalSubject> = "subject",
        /// Schema of further answers.
        response_schema: Option<JsonObject> = "response_schema",
        /// End of the question.
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
