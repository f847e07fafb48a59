//! An answer to a question of the guard by its name, without a run of one's own to go on with.
//!
//! `exchange` calls it for a request that brings results alone and no continuation: a question that was
//! asked in a framed shell is answered here like there, by anybody whom the policies permit. The
//! first answer counts; its repetition gets the same reply.

use std::sync::Arc;

use bridle_loop::{ApprovalChoice, SessionAccess};
use bridle_sexp::Value;
use bridle_wire::openharness::feedback::DirectiveResult;
use bridle_wire::openharness::{ErrorObject, OpenHarnessCode, ResponseMessage};

use super::directive::{RESULT_WISH, directive_id, render};
use super::to_response::AnswerContext;
use super::{HttpService, continuation};
use crate::access::principal::Principal;
use crate::engine::{DaemonQuery, EngineErrorCode};

/// Questions that one request answers.
const MAX_ANSWERS: usize = 32;

/// Tells whether results can be answers: each is for a question by its name, and says something.
pub(super) fn are_answers(results: &[DirectiveResult]) -> bool {
    let says = |result: &DirectiveResult| continuation::answer(result).is_some();
    !results.is_empty() && results.len() <= MAX_ANSWERS && results.iter().all(says)
}

/// Takes the answers to their sessions and says what became of them.
///
/// # Errors
/// `continuation_invalid` when nothing of that name can be seen; `forbidden`; `engine_overloaded`.
pub(super) async fn decide(
    http: &HttpService,
    heard: AnswerContext<'_>,
) -> Result<ResponseMessage, Box<ErrorObject>> {
    let AnswerContext { received, about, who } = heard;
    let results = received.message.context().map_or(&[][..], |context| context.directive_results());
    let mut lines = Vec::new();
    for result in results.iter().take(MAX_ANSWERS) {
        let Some(answer) = continuation::answer(result) else { continue };
        let name = result.directive_id.as_str();
        let told = one(http, who, name, answer).await;
        lines.push(told.map_err(|code| Box::new(ErrorObject::of(code)))?);
    }
    let told = render(&lines.join("\n"), about).with_id(directive_id("answers", 0), RESULT_WISH);
    Ok(ResponseMessage::success(&received.echo, vec![told]))
}

async fn one(
    http: &HttpService,
    who: &Principal,
    name: &str,
    answer: ApprovalChoice,
) -> Result<String, OpenHarnessCode> {
    if !who.permits(SessionAccess::Approve) {
        return Err(OpenHarnessCode::Forbidden);
    }
    let query = DaemonQuery::approve(name, answer).ok_or(OpenHarnessCode::ContinuationInvalid)?;
    let asked =
        crate::engine::ask_daemon(Arc::clone(&http.shared.hub), who.clone(), query, None).await;
    let told = asked.map_err(|failure| match failure.code {
        EngineErrorCode::Overloaded
        | EngineErrorCode::StoreUnavailable
        | EngineErrorCode::ShuttingDown => OpenHarnessCode::EngineOverloaded,
        _ => OpenHarnessCode::ContinuationInvalid,
    })?;
    said(&told, who, answer)
}

/// Words for the result of an answer; the name of a question is no secret of its shell.
fn said(told: &Value, who: &Principal, answer: ApprovalChoice) -> Result<String, OpenHarnessCode> {
    let word = |key| told.get(key).and_then(Value::as_keyword).unwrap_or_default();
    let mine = match answer {
        ApprovalChoice::Allow => "allowed",
        ApprovalChoice::Deny => "denied",
    };
    if word("status").eq_ignore_ascii_case("success") {
        return Ok(format!("The question is {mine}."));
    }
    let how = word("how").to_ascii_lowercase();
    let by = told.get("by").and_then(Value::as_str);
    match &*how {
        how if how == mine && by == Some(&*who.name()) => Ok(format!("The question is {mine}.")),
        "allowed" | "denied" | "superseded" => Ok(format!("The question was {how} before.")),
        "expired" => Err(OpenHarnessCode::ContinuationExpired),
        _ if word("code").eq_ignore_ascii_case("expired") => {
            Err(OpenHarnessCode::ContinuationExpired)
        }
        _ if told.get("approval").is_some() => Err(OpenHarnessCode::ContinuationInvalid),
        _ => Err(OpenHarnessCode::Forbidden),
    }
}
