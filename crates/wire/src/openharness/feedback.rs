//! What a shell reports about directives, answers to approvals included. Version 1 has no place for
//! it: it travels in `context.extensions`, under the name of bridle.

use super::ids::{CodeText, DirectiveId, OptionId, ReportText};
use super::json::{Json, JsonObject};
use super::shape::{record, words};

words! {
    /// How a directive ended.
    pub enum DirectiveOutcome as "outcome" {
        /// It was carried out.
        Completed = "completed",
        /// It was begun and did not work.
        Failed = "failed",
        /// The user or a rule said no.
        Rejected = "rejected",
        /// Its deadline passed first.
        Expired = "expired",
        /// The shell does not know its type.
        SkippedUnknown = "skipped_unknown",
        /// The shell may not carry it out.
        SkippedDenied = "skipped_denied",
        /// An earlier one ended badly.
        NotAttempted = "not_attempted",
        /// It was called off.
        Canceled = "cancelled",
    } else Failed
}

words! {
    /// Who decided.
    pub enum DecisionMaker as "decider" {
        /// The user.
        User = "user",
        /// A rule of the shell.
        Policy = "policy",
    } else Policy
}

record! {
    /// What became of a directive.
    pub struct DirectiveResult as "directiveResult" {
        /// The directive.
        directive_id: DirectiveId = "directive_id",
        /// How it ended.
        outcome: DirectiveOutcome = "outcome",
        /// What it gave.
        output: Option<Json> = "output",
        /// What went wrong.
        error: Option<ResultError> = "error",
        /// What the user, or a rule, decided.
        decision: Option<UserDecision> = "decision",
        /// When it began, in milliseconds since 1970.
        started_ms: Option<u64> = "started_ms",
        /// When it ended, in milliseconds since 1970.
        finished_ms: Option<u64> = "finished_ms",
    }
}

record! {
    /// What went wrong with a directive.
    pub struct ResultError as "resultError" {
        /// A code that programs compare.
        code: CodeText = "code",
        /// A sentence for people.
        message: Option<ReportText> = "message",
    }
}

record! {
    /// What the user, or a rule, decided about a directive.
    pub struct UserDecision as "decision" {
        /// Who decided.
        by: DecisionMaker = "by",
        /// The option that was chosen.
        option_id: Option<OptionId> = "option_id",
        /// The payload as the user changed it.
        edited_payload: Option<JsonObject> = "edited_payload",
    }
}
