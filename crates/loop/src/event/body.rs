//! Bodies of events as they stand in the record, for whoever looks at one without stepping through it.
//!
//! Read by history and by the engine. [`super::Event::from_value`] is strict; these readers are lenient: a
//! key that is missing or has another type is `None`, because a body may be damaged or written by another
//! version. The writer is `event/value.rs`; what the engine adds to a body afterwards is written here.

use std::borrow::Cow;

use bridle_sexp::Value;

use super::{ApprovalChoice, Proposal};
use crate::plist_codec::view;

/// Body of a `signal` record.
#[derive(Clone, Copy, Debug)]
pub struct SignalBody<'v> {
    /// Payload of the message.
    pub payload: Option<&'v Value>,
}

impl<'v> SignalBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self { payload: value.get("payload") }
    }
}

/// Body of a `began` or `policy-installed` record: the two that say which policies a session has.
#[derive(Clone, Copy, Debug)]
pub struct PolicySourceBody<'v> {
    /// Hash of the policies that are installed.
    pub hash: Option<&'v str>,
    /// The session that a fork continues, and the number of the last record that counts.
    pub fork: Option<(&'v str, u64)>,
}

impl<'v> PolicySourceBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        let fork = value.get("fork");
        let fork =
            fork.and_then(|it| Some((view::text(it, "session")?, view::number(it, "record")?)));
        Self { hash: view::text(value, "hash"), fork }
    }
}

/// Body of a `consulted` or `drafted` record.
#[derive(Clone, Copy, Debug)]
pub struct ProposalsBody<'v> {
    /// Number of the effect that it answers.
    pub effect: Option<u64>,
    /// Reason why there is no draft.
    pub fault: Option<&'v str>,
    /// Text of a draft.
    pub text: Option<&'v str>,
    proposals: &'v [Value],
}

impl<'v> ProposalsBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self {
            effect: view::number(value, "effect"),
            fault: view::text(value, "fault"),
            text: view::text(value, "text"),
            proposals: view::elements(value, "proposals"),
        }
    }

    /// Payloads of the proposals, in their order, that of the text behind them.
    pub fn payloads(&self) -> impl Iterator<Item = Option<Cow<'v, Value>>> + use<'v> {
        let body = *self;
        let count = self.proposals.len() + usize::from(self.text.is_some());
        (0..count).map(move |place| body.payload(place))
    }

    /// Payload of one proposal; the place behind the last one is that of the text.
    pub fn payload(&self, at: usize) -> Option<Cow<'v, Value>> {
        match self.proposals.get(at) {
            Some(proposal) => proposal.get("payload").map(Cow::Borrowed),
            None if at == self.proposals.len() => {
                self.text.map(|text| Cow::Owned(Proposal::message(text).payload))
            }
            None => None,
        }
    }
}

/// Body of an `answered` record.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredBody<'v> {
    /// Number of the question.
    pub effect: Option<u64>,
    /// The word for the answer, as [`ApprovalChoice::word`] gives it.
    pub answer: Option<&'v str>,
    /// Kind of the answerer's shell.
    pub shell: Option<&'v str>,
    /// Stable id of the answerer's shell.
    pub client: Option<&'v str>,
    /// Whether it counts; an answer that came too late, or from somebody who may not, does not.
    pub counts: bool,
}

impl<'v> AnsweredBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        let from = |key| {
            let it = value.get("from")?.get(key)?;
            it.as_keyword().or(it.as_str())
        };
        Self {
            effect: view::number(value, "effect"),
            answer: view::word(value, "answer"),
            shell: from("shell"),
            client: from("client"),
            counts: value.get("counted").is_none_or(|it| !it.is_nil()),
        }
    }

    /// Whether it is a yes.
    pub fn is_yes(&self) -> bool {
        self.answer == Some(ApprovalChoice::Allow.word())
    }

    /// The text of a body that counts for nothing: to whoever reads the stream it would look like one that
    /// does.
    pub fn uncounted(body: &str) -> String {
        let open = body.strip_suffix(')').unwrap_or(body);
        format!("{open} :counted nil)")
    }
}

/// Body of a `cancelled` record.
#[derive(Clone, Copy, Debug)]
pub struct CancelledBody<'v> {
    /// Number of the turn.
    pub turn: Option<u64>,
    /// Reason, for people.
    pub reason: Option<&'v str>,
}

impl<'v> CancelledBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self { turn: view::number(value, "turn"), reason: view::text(value, "reason") }
    }
}

/// Body of a `withdrawn` record.
#[derive(Clone, Copy, Debug)]
pub struct WithdrawnBody<'v> {
    /// Number of the signal.
    pub signal: Option<u64>,
    /// The word for the reason.
    pub reason: Option<&'v str>,
}

impl<'v> WithdrawnBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self { signal: view::number(value, "signal"), reason: view::word(value, "how") }
    }
}
