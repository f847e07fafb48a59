//! Continuation of a run that waits for approval: its token, and the verdicts that come with it.
//!
//! `to_response` issues tokens, and `exchange` takes them. A token is bound to who
//! asked, where, and to the questions that are open; the engine sees to it that it is used once.
//! Whether an answer counts is not decided here: the session asks the policies.

use bridle_loop::{ActionHash, ApprovalChoice, SessionId};
use bridle_sexp::Value;
use bridle_wire::openharness::feedback::{DecisionMaker, DirectiveOutcome, DirectiveResult};
use bridle_wire::openharness::ids::{ContinuationToken, RequestId, RunId, Timestamp};
use bridle_wire::openharness::request::{RequestContext, RunContinuation};
use bridle_wire::openharness::{ErrorObject, OpenHarnessCode, RequestMessage};

use super::run_location::{RunLocation, run_name};
use super::session_key;
use super::token_sealer::TokenSealer;
use crate::access::principal::Principal;
use crate::engine::ApprovalVerdict;

/// Longest life of a token, in milliseconds: as long as a session knows its messages.
const MAX_TOKEN_LIFE_MS: i64 = 24 * 60 * 60 * 1000;

/// The option that says yes.
pub(super) const ALLOW: &str = "allow_once";

/// The option that says no.
pub(super) const REJECT: &str = "reject_once";

/// A question that a shell was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OfferedQuestion {
    /// The place of its directive in the answer.
    pub(super) index: usize,
    /// The effect that waits.
    pub(super) effect: u64,
    /// Hash of the action that a yes permits.
    pub(super) hash: ActionHash,
    /// End of the question, in milliseconds since 1970.
    pub(super) expires: i64,
}

/// Content of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ContinuationClaims {
    principal: String,
    /// A hash of the tenant, the session and the conversation, as the request named them.
    place: String,
    session: SessionId,
    /// The number of the signal.
    run: u64,
    issued: i64,
    expires: i64,
    asked: Vec<OfferedQuestion>,
}

/// Principal and message that come with a token, and the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenPresenter<'b> {
    pub(super) who: &'b Principal,
    pub(super) message: &'b RequestMessage,
    /// Milliseconds since 1970.
    pub(super) now: i64,
}

/// A step that may be taken.
#[derive(Clone, Debug)]
pub(super) struct AllowedContinuation {
    /// Session of the run.
    pub(super) session: SessionId,
    /// The number of its signal.
    pub(super) run: u64,
    /// The name under which the step is known when it comes again.
    pub(super) id: String,
    /// The request by whose id it is called off: the one that takes it, unless that says another.
    pub(super) named: Option<RequestId>,
    /// All questions that the shell was given.
    pub(super) asked: Vec<OfferedQuestion>,
    /// Verdicts on some of them.
    pub(super) verdicts: Vec<ApprovalVerdict>,
    /// Results of directives, for the record.
    pub(super) results: Vec<Value>,
    /// Whether the time is over: only a repeat is still answered.
    pub(super) is_late: bool,
}

/// Makes the continuation of an answer that asks for something; `None` when there is nothing to ask.
pub(super) fn issue(
    seals: &TokenSealer,
    who: &Principal,
    place: &str,
    run: &RunLocation,
    answered_at: i64,
    asked: &[OfferedQuestion],
) -> Option<RunContinuation> {
    let last = asked.iter().map(|asked| asked.expires).min()?;
    let claims = ContinuationClaims {
        principal: who.to_string(),
        place: place.to_owned(),
        session: run.session.clone(),
        run: run.seq,
        issued: answered_at,
        expires: last.min(answered_at.saturating_add(MAX_TOKEN_LIFE_MS)),
        asked: asked.to_vec(),
    };
    let token = ContinuationToken::new(seals.seal(&claims.to_value().to_string())?).ok()?;
    Some(RunContinuation {
        run_id: RunId::new(run.name()).ok(),
        sop_id: None,
        continuation_token: Some(token),
        expires_at: Some(Timestamp::from_unix_ms(claims.expires)),
    })
}

/// Reads the step that a request takes; `None` when it takes none.
///
/// # Errors
/// `continuation_invalid`, `continuation_mismatch`; `invalid_request` for an answer that changes what
/// it is about.
pub(super) fn take(
    seals: &TokenSealer,
    bearer: TokenPresenter<'_>,
) -> Result<Option<AllowedContinuation>, Box<ErrorObject>> {
    let of = |code| Box::new(ErrorObject::of(code));
    let Some(context) = bearer.message.context() else { return Ok(None) };
    let Some(continuation) = continuation(context) else { return Ok(None) };
    let token = continuation.continuation_token.as_ref();
    let opened = token.and_then(|token| seals.unseal(token.as_str()));
    let opened = opened.ok_or_else(|| of(OpenHarnessCode::ContinuationInvalid))?;
    let claims = ContinuationClaims::read(&opened.text)
        .ok_or_else(|| of(OpenHarnessCode::ContinuationInvalid))?;
    if !claims.is_of(bearer, continuation) {
        return Err(of(OpenHarnessCode::ContinuationMismatch));
    }
    let results = context.directive_results();
    let verdicts = verdicts(&claims, results)?;
    let ContinuationClaims { session, run, expires, asked, .. } = claims;
    let known = results.iter().filter_map(|result| noted(&session, run, result));
    let results = known.take(MAX_RESULTS).collect();
    let (id, is_late) = (opened.nonce, expires <= bearer.now);
    let named = bearer.message.request_id.clone();
    Ok(Some(AllowedContinuation { session, run, id, named, asked, verdicts, results, is_late }))
}

/// Results of one request that are recorded: as many as an answer has directives, and some.
const MAX_RESULTS: usize = 64;

/// Tells whether a request brings results and nothing else: they belong to no run.
pub(super) fn is_results_alone(message: &RequestMessage) -> bool {
    let Some(context) = message.context() else { return false };
    let has_results = !context.directive_results().is_empty();
    has_results && continuation(context).is_none() && !has_other_work(context)
}

/// The continuation that a request brings; one that says nothing is none.
fn continuation(context: &RequestContext) -> Option<&RunContinuation> {
    let says_something = |it: &&RunContinuation| {
        let RunContinuation { run_id, sop_id, continuation_token, expires_at } = *it;
        run_id.is_some() || sop_id.is_some() || continuation_token.is_some() || expires_at.is_some()
    };
    context.continuation.as_ref().filter(says_something)
}

fn has_other_work(context: &RequestContext) -> bool {
    let says = context.user_intent.as_ref().is_some_and(|text| !text.as_str().trim().is_empty());
    says || context.task_hint.is_some() || !context.attachments.is_empty()
}

/// Reads the verdicts on the questions of a token. A no wins over a yes; only a person says yes.
fn verdicts(
    claims: &ContinuationClaims,
    results: &[DirectiveResult],
) -> Result<Vec<ApprovalVerdict>, Box<ErrorObject>> {
    let mut verdicts: Vec<ApprovalVerdict> = Vec::new();
    for (place, result) in results.iter().enumerate() {
        let named = |asked: &&OfferedQuestion| {
            result.directive_id.as_str() == directive(&claims.session, claims.run, asked.index)
        };
        let Some(asked) = claims.asked.iter().find(named) else { continue };
        let Some(answer) = answer(result) else { continue };
        let is_edited = |result: &DirectiveResult| {
            result.decision.as_ref().is_some_and(|decision| decision.edited_payload.is_some())
        };
        if answer == ApprovalChoice::Allow && is_edited(result) {
            let field = format!(
                "context.extensions.dev.bridle.directive_results.{place}.decision.edited_payload"
            );
            let error = ErrorObject::of(OpenHarnessCode::InvalidRequest)
                .with_message("a yes is for what was asked, unchanged")
                .with_detail("field", field);
            return Err(Box::new(error));
        }
        match verdicts.iter_mut().find(|verdict| verdict.effect == asked.effect) {
            Some(before) if answer == ApprovalChoice::Deny => before.answer = ApprovalChoice::Deny,
            Some(_) => {}
            None => {
                verdicts.push(ApprovalVerdict { effect: asked.effect, answer, hash: asked.hash });
            }
        }
    }
    Ok(verdicts)
}

/// The answer that a result is, if it is one. A rule of the shell may say no, never yes.
pub(super) fn answer(result: &DirectiveResult) -> Option<ApprovalChoice> {
    let decision = result.decision.as_ref()?;
    match decision.option_id.as_ref()?.as_str() {
        ALLOW
            if decision.by == DecisionMaker::User
                && result.outcome == DirectiveOutcome::Completed =>
        {
            Some(ApprovalChoice::Allow)
        }
        REJECT => Some(ApprovalChoice::Deny),
        _ => None,
    }
}

/// A result of a directive of this run, for the record: its place and a word, nothing that the shell
/// wrote.
fn noted(session: &SessionId, run: u64, result: &DirectiveResult) -> Option<Value> {
    let prefix = format!("{}.", run_name(session, run));
    let index: i64 = result.directive_id.as_str().strip_prefix(&prefix)?.parse().ok()?;
    let decided = answer(result).map(|answer| ("answer", Value::keyword(answer.word())));
    let pairs = [
        ("directive", Value::int(index)),
        ("outcome", Value::keyword(&result.outcome.as_str().replace('_', "-"))),
    ];
    Some(Value::plist(pairs.into_iter().chain(decided)))
}

/// The name of a directive within its run.
pub(super) fn directive(session: &SessionId, seq: u64, index: usize) -> String {
    format!("{}.{index}", run_name(session, seq))
}

impl ContinuationClaims {
    fn is_of(&self, bearer: TokenPresenter<'_>, continuation: &RunContinuation) -> bool {
        let name = run_name(&self.session, self.run);
        self.principal == bearer.who.to_string()
            && self.place == session_key::named(bearer.message)
            && continuation.run_id.as_ref().is_none_or(|run| run.as_str() == name)
            && continuation.sop_id.is_none()
    }

    fn to_value(&self) -> Value {
        let number = |number: u64| Value::int(i64::try_from(number).unwrap_or(i64::MAX));
        let asked = self.asked.iter().map(|asked| {
            Value::list([
                number(u64::try_from(asked.index).unwrap_or(u64::MAX)),
                number(asked.effect),
                Value::str(asked.hash.to_string()),
                Value::int(asked.expires),
            ])
        });
        Value::plist([
            ("principal", Value::str(&*self.principal)),
            ("place", Value::str(&*self.place)),
            ("session", Value::str(self.session.as_str())),
            ("run", number(self.run)),
            ("issued", Value::int(self.issued)),
            ("expires", Value::int(self.expires)),
            ("asked", Value::list(asked)),
        ])
    }

    fn read(text: &str) -> Option<ContinuationClaims> {
        let value = bridle_loop::reader().read_one(text).ok()?.root().to_value();
        let text = |key| value.get(key).and_then(Value::as_str);
        let number = |key| value.get(key).and_then(Value::as_i64);
        let asked = value.get("asked")?.elements()?.iter().map(|one| {
            let [index, effect, hash, expires] = one.elements()? else { return None };
            Some(OfferedQuestion {
                index: usize::try_from(index.as_i64()?).ok()?,
                effect: u64::try_from(effect.as_i64()?).ok()?,
                hash: ActionHash::parse(hash.as_str()?)?,
                expires: expires.as_i64()?,
            })
        });
        Some(ContinuationClaims {
            principal: text("principal")?.to_owned(),
            place: text("place")?.to_owned(),
            session: SessionId::parse(text("session")?).ok()?,
            run: u64::try_from(number("run")?).ok()?,
            issued: number("issued")?,
            expires: number("expires")?,
            asked: asked.collect::<Option<Vec<OfferedQuestion>>>()?,
        })
    }
}

#[cfg(test)]
mod tests;
