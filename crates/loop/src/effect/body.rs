//! Bodies of effects as they stand in the record.
//!
//! Read by history and by the engine wherever a recorded effect is looked at: an effect cannot be made from
//! its record, since the state has most of it. Readers are lenient: a key that is missing or has another
//! type is `None`, because a body may be damaged or written by another version. The writer is
//! `effect/value.rs`; what the engine adds to a body afterwards is written here.

use std::borrow::Cow;

use bridle_sexp::Value;

use super::{CheckResult, DecisionRule, RefusalCode};
use crate::plist_codec::view;

/// Text before the hash of the state in the body of a `finish` record.
const STATE_DIGEST: &str = " :digest \"";

/// Text before the rest of a payload in the body of the event that proposed it.
const PROPOSED_PAYLOAD: &str = ":payload (";

/// Text before the rest of the same payload in the body of a `say` record.
const SAID_PAYLOAD: &str = ":payload (:status :success ";

/// Shortest text, in bytes, that is worth the two dozen bytes which name it elsewhere.
const MIN_SHARED_BYTES: usize = 64;

/// Body of a `consult` or `think` record, or of a `consulted` record that has its question in it.
#[derive(Clone, Copy, Debug)]
pub struct PromptBody<'v> {
    /// Number of the effect, which its answer names.
    pub effect: Option<u64>,
    /// Number of the turn; `None` for an answer without its question.
    pub turn: Option<u64>,
    /// Number of the signal in the stream.
    pub seq: Option<u64>,
    /// Whether it was known where the user is.
    pub has_focus: bool,
    value: &'v Value,
}

impl<'v> PromptBody<'v> {
    /// Counts of what the thinkers knew, by key, as far as they are recorded.
    pub const COUNTS: [&'static str; 4] = ["history", "decisions", "depth", "tries"];

    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self {
            effect: view::number(value, "effect"),
            turn: view::number(value, "turn"),
            seq: view::number(value, "seq"),
            has_focus: value.get("focus").is_some_and(|focus| !focus.is_nil()),
            value,
        }
    }

    /// One of [`PromptBody::COUNTS`].
    pub fn count(&self, key: &str) -> Option<u64> {
        view::number(self.value, key)
    }

    /// Vetoed proposals and finished acts of the turn, each with the key that it stands under.
    pub fn rounds(&self) -> impl Iterator<Item = (&'static str, &'v Value)> + use<'v> {
        let value = self.value;
        ["rejected", "results"]
            .into_iter()
            .flat_map(move |key| view::elements(value, key).iter().map(move |one| (key, one)))
    }
}

/// Body of a `decided` record.
#[derive(Clone, Copy, Debug)]
pub struct DecidedBody<'v> {
    /// Number of the turn.
    pub turn: Option<u64>,
    /// The word for its author.
    pub by: Option<&'v str>,
    /// The word for the verdict: `allow`, `ask`, `deny`.
    pub verdict: Option<&'v str>,
    /// The word for the rule that decided.
    pub rule: Option<&'v str>,
    /// Actuator that it goes to.
    pub target: Option<&'v str>,
    /// Action.
    pub action: Option<&'v str>,
    /// Reason, for people.
    pub reason: Option<&'v str>,
    /// Explanation of its author.
    pub explanation: Option<&'v str>,
    /// Payload; `None` where the body names a proposal instead.
    pub payload: Option<&'v Value>,
    /// Place among the proposals of the event that caused it.
    pub proposal: Option<usize>,
    value: &'v Value,
}

impl<'v> DecidedBody<'v> {
    /// Keys that a rehearsal looks at; the rest of a body need not be read for it.
    pub const REHEARSED_KEYS: [&'static str; 7] =
        ["by", "target", "action", "proposal", "payload", "checked", "facts"];

    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self {
            turn: view::number(value, "turn"),
            by: view::word(value, "by"),
            verdict: view::word(value, "verdict"),
            rule: view::word(value, "rule"),
            target: view::word(value, "target"),
            action: view::word(value, "action"),
            reason: view::text(value, "reason"),
            explanation: view::text(value, "explanation"),
            payload: value.get("payload"),
            proposal: view::number(value, "proposal").and_then(|at| usize::try_from(at).ok()),
            value,
        }
    }

    /// Whether it was allowed.
    pub fn is_allowed(&self) -> bool {
        self.has_verdict(CheckResult::Allow)
    }

    /// Whether it came out so.
    pub fn has_verdict(&self, verdict: CheckResult) -> bool {
        self.verdict == Some(verdict.word())
    }

    /// Whether an answer of a person decided it.
    pub fn is_by_approval(&self) -> bool {
        self.rule == Some(DecisionRule::Approval.word())
    }

    /// Rules that were asked and their results, as words.
    pub fn checked(&self) -> impl Iterator<Item = [&'v str; 2]> + use<'v> {
        let word = |value: &'v Value| value.as_keyword().unwrap_or_default();
        let pairs = view::elements(self.value, "checked").chunks_exact(2);
        pairs.map(move |pair| [word(&pair[0]), word(&pair[1])])
    }

    /// Paths of the keys that belong to the engine and were dropped.
    pub fn dropped(&self) -> &'v [Value] {
        view::elements(self.value, "dropped")
    }

    /// Ids of the policies that determined it.
    pub fn policies(&self) -> impl Iterator<Item = &'v str> + use<'v> {
        view::elements(self.value, "policies").iter().filter_map(Value::as_str)
    }

    /// The body with a payload in the place of the proposal that it names.
    pub fn with_payload(&self, payload: &Value) -> Value {
        let pairs = self.value.elements().unwrap_or_default().chunks_exact(2);
        let pairs = pairs.flat_map(|pair| match pair[0].is_keyword("proposal") {
            true => [Value::keyword("payload"), payload.clone()],
            false => [pair[0].clone(), pair[1].clone()],
        });
        Value::list(pairs)
    }
}

/// Body of an `act` or `ask` record: an order, or a question about one.
#[derive(Clone, Copy, Debug)]
pub struct IntentBody<'v> {
    /// Number of the effect, which its outcome names.
    pub effect: Option<u64>,
    /// Number of the turn.
    pub turn: Option<u64>,
    /// Actuator.
    pub target: Option<&'v str>,
    /// Payload.
    pub payload: Option<&'v Value>,
    /// Question in words; `None` for an order.
    pub question: Option<&'v str>,
}

impl<'v> IntentBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self {
            effect: view::number(value, "effect"),
            turn: view::number(value, "turn"),
            target: view::word(value, "target"),
            payload: value.get("payload"),
            question: view::text(value, "question"),
        }
    }

    /// Action of its payload.
    pub fn action(&self) -> Option<&'v str> {
        self.payload.and_then(|payload| view::word(payload, "action"))
    }
}

/// Body of an `acted` or `settled` record: the end of an act or a question.
#[derive(Clone, Copy, Debug)]
pub struct OutcomeBody<'v> {
    /// Number of the act or question.
    pub effect: Option<u64>,
    /// The word for the outcome, as [`crate::Outcome::word`] gives it.
    pub outcome: Option<&'v str>,
    /// Result of what was carried out.
    pub result: Option<&'v Value>,
    /// Reason why it was not.
    pub reason: Option<&'v str>,
}

impl<'v> OutcomeBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self {
            effect: view::number(value, "effect"),
            outcome: view::word(value, "outcome"),
            result: value.get("result"),
            reason: view::text(value, "reason"),
        }
    }
}

/// Body of a `say` record.
#[derive(Clone, Copy, Debug)]
pub struct SayBody<'v> {
    /// Number of the signal that it answers.
    pub answers: Option<u64>,
    /// Payload of the answer.
    pub payload: Option<&'v Value>,
}

impl<'v> SayBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self { answers: view::number(value, "answers"), payload: value.get("payload") }
    }

    /// Number of the signal that a body answers, without reading the rest: bodies are canonical, and the
    /// codec writes this key first.
    pub fn answers_in(body: &str) -> Option<u64> {
        let rest = body.strip_prefix("(:answers ")?;
        let (digits, _) = rest.split_once([' ', ')'])?;
        digits.parse().ok()
    }

    /// Part of a payload that stands in the event's body and in the body of what was said, word for word;
    /// `None` where they differ or the part is too short to be worth naming.
    pub fn shared_text(event: &str, said: &str) -> Option<SharedText> {
        let at = said.find(SAID_PAYLOAD)? + SAID_PAYLOAD.len();
        let from = event.find(PROPOSED_PAYLOAD)? + PROPOSED_PAYLOAD.len();
        // Without the ends of the payload and of the body.
        let part = said[at..].strip_suffix("))")?;
        let is_shared = part.len() >= MIN_SHARED_BYTES && event[from..].starts_with(part);
        is_shared.then_some(SharedText { in_event: from, in_said: at, bytes: part.len() })
    }
}

/// Text that two bodies have in common. All three are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedText {
    /// Start in the body of the event.
    pub in_event: usize,
    /// Start in the body of what was said.
    pub in_said: usize,
    /// Length.
    pub bytes: usize,
}

/// Body of a `finish` record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishBody<'t> {
    /// Text of the effect as `step` gave it.
    pub effect: Cow<'t, str>,
    /// Hash of the State at the end of the turn; `None` in records of older versions.
    pub state_digest: Option<&'t str>,
}

impl<'t> FinishBody<'t> {
    /// Takes the hash of the State out of a body.
    pub fn split(body: &'t str) -> Self {
        match body.split_once(STATE_DIGEST) {
            Some((effect, digits)) => Self {
                effect: format!("{effect})").into(),
                state_digest: Some(digits.trim_end_matches(['"', ')'])),
            },
            None => Self { effect: body.into(), state_digest: None },
        }
    }

    /// Adds the hash of the State to the text of a `finish` effect.
    pub fn add_state_digest(body: &mut String, digest: &str) {
        // The end of the list, which is written again behind it.
        body.pop();
        body.push_str(STATE_DIGEST);
        // Hex digits: nothing in them needs to be escaped.
        body.push_str(digest);
        body.push_str("\")");
    }

    /// Number of the turn, and the word for its end.
    pub fn turn_end(value: &Value) -> (Option<u64>, Option<&str>) {
        (view::number(value, "turn"), view::word(value, "reason"))
    }
}

impl RefusalCode {
    /// The code of this word, in either case; `None` for a code that the loop does not give.
    pub fn parse(word: &str) -> Option<RefusalCode> {
        Self::ALL.iter().copied().find(|code| code.word().eq_ignore_ascii_case(word))
    }

    /// The code in the payload of an answer that failed.
    pub fn of_payload(payload: &Value) -> Option<RefusalCode> {
        Self::parse(view::word(payload, "code")?)
    }
}
