//! What a shell reports about directives, answers to approvals included. Version 1 has no place for
//! it: it travels in `context.extensions`, under the name of bridle.

use super::ids::{CodeText, DirectiveId, OptionId, ReportText};
use super::json::{Json, JsonObject};
use super::shape::{record, words};

words! {
    /// End of a directive.
    pub enum DirectiveOutcome as "outcome" {
        /// The directive was carried out.
        Completed = "completed",
        /// The directive was begun and did not work.
        Failed = "failed",
        /// The user or a rule said no.
        Rejected = "rejected",
        /// The deadline passed first.
        Expired = "expired",
        /// The shell does not know its type.
        SkippedUnknown = "skipped_unknown",
        /// The shell may not carry it out.
        SkippedDenied = "skipped_denied",
        /// An earlier one ended badly.
        NotAttempted = "not_attempted",
        /// The directive was called off.
        Canceled = "cancelled",
    } else Failed
}

words! {
    /// Maker of a decision.
    pub enum DecisionMaker as "decider" {
        /// The user.
        User = "user",
        /// A rule of the shell.
        Policy = "policy",
    } else Policy
}

record! {
    /// Result of a directive.
    pub struct DirectiveResult as "directiveResult" {
        /// The directive.
        directive_id: DirectiveId = "directive_id",
        /// End of the directive.
        outcome: DirectiveOutcome = "outcome",
        /// Output of the directive.
        output: Option<Json> = "output",
        /// Error of the directive.
        error: Option<ResultError> = "error",
        /// Decision of the user, or of a rule.
        decision: Option<UserDecision> = "decision",
        /// Time of its start, in milliseconds since 1970.
        started_ms: Option<u64> = "started_ms",
        /// Time of its end, in milliseconds since 1970.
        finished_ms: Option<u64> = "finished_ms",
    }
}

record! {
    /// Error of a directive.
    pub struct ResultError as "resultError" {
        /// A code that programs compare.
        code: CodeText = "code",
        /// A sentence for people.
        message: Option<ReportText> = "message",
    }
}

record! {
    /// Decision of the user, or of a rule, about a directive.
    pub struct UserDecision as "decision" {
        /// Maker of the decision.
        by: DecisionMaker = "by",
        /// The option that was chosen.
        option_id: Option<OptionId> = "option_id",
        /// The payload as the user changed it.
        edited_payload: Option<JsonObject> = "edited_payload",
    }
}
