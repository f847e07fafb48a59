//! Thoughts: what a thinker says in one round of a turn, and what became of it.
//!
//! A thinker answers a prompt with a [`Draft`]: text, calls, and what they cost. The round
//! keeps it together with the deed or the rejection of each call, because the next prompt needs all of it:
//! vendors want every call answered by its id, and their own state back as it was.

mod value;

use std::sync::Arc;

use bridle_sexp::Value;

use crate::effect::{Deed, ProposalRejection};
use crate::event::Draft;
use crate::hash::TextDigest;
use crate::ids::{CallId, EffectId, KeywordName, Seq};
use crate::privacy::Privacy;
use crate::value_size::weight;

/// Weight of a result in bytes above which the State keeps its number and hash alone.
pub(crate) const MAX_INLINE_RESULT_BYTES: usize = 2 << 10;

/// Weight of one value of a large result that is kept with its number, in bytes.
const MAX_EXCERPT_VALUE_BYTES: usize = 256;

/// Weight of all that is kept of a large result, in bytes.
const MAX_EXCERPT_BYTES: usize = 1 << 10;

/// Thinker behind a draft: the model, or the skill that thought in its place.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ModelRef {
    /// Name, as the user's files give it.
    pub name: Box<str>,
    /// Tier that was asked for, such as `cognition`.
    pub tier: Option<KeywordName>,
    /// Model that answered, as its server names it.
    pub served: Option<Box<str>>,
    /// Hash of the skill or of the model's settings.
    pub digest: Option<Box<str>>,
}

/// Tokens and money of one thought; `None` is unknown, never nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// Tokens of the prompt, those of the cache included.
    pub input: Option<u64>,
    /// Tokens of the answer, those of reasoning included.
    pub output: Option<u64>,
    /// Tokens of the prompt that came from the provider's cache.
    pub cache_read: Option<u64>,
    /// Tokens of the prompt that the provider put into its cache.
    pub cache_write: Option<u64>,
    /// Tokens of reasoning.
    pub reasoning: Option<u64>,
    /// Price in millionths of a dollar.
    pub cost_microdollars: Option<i64>,
}

/// Reason why a draft ends where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DraftStop {
    /// Said all it had to say.
    #[default]
    End,
    /// Waits for the outcomes of its calls.
    Calls,
    /// Reached the greatest length of an answer.
    Length,
    /// Cut by a filter of the provider.
    Filtered,
    /// Refused by the model.
    Refused,
}

/// The provider's own state behind a draft, such as signed blocks of reasoning. Returned as it came with the
/// next prompt of the turn, and read by nobody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueText(pub Box<str>);

/// One draft of a turn, and what became of its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ThoughtRound {
    /// Number of the thought.
    pub thought: EffectId,
    /// Text of the draft.
    pub text: Box<str>,
    /// State of its provider.
    pub opaque: Option<OpaqueText>,
    /// Thinker.
    pub model: Option<Arc<ModelRef>>,
    /// End of the draft.
    pub stop: DraftStop,
    /// Label of the draft.
    pub privacy: Privacy,
    /// Calls, in the order of the draft.
    pub calls: Vec<RoundCall>,
}

/// Call of a draft.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundCall {
    /// Its id, as the thinker gave it.
    pub call: Option<CallId>,
    /// Target that the draft named.
    pub target: Option<KeywordName>,
    /// Payload of the proposal; nil for a large one that is found by the number of its result.
    pub arguments: Arc<Value>,
    /// End of it.
    pub end: CallEnd,
}

/// End of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallEnd {
    /// Under way, or asked for.
    Open,
    /// Said to the asker: nothing comes back.
    Said,
    /// Carried out, or tried.
    Deed(Arc<Deed>),
    /// Not allowed.
    Rejected(Arc<ProposalRejection>),
}

/// Place of a result in the record, in the State of a session that does not keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultReference {
    /// Number of the outcome in the stream of its session: the body of that record has the whole.
    pub seq: Seq,
    /// Weight, in bytes.
    pub bytes: u64,
    /// Hash of its canonical text.
    pub digest: TextDigest,
}

/// Call of a round: which outcome belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallSlot {
    pub(crate) thought: EffectId,
    pub(crate) place: usize,
}

impl ThoughtRound {
    /// The round of a draft that was just made: all of its calls are open.
    pub(crate) fn of(thought: EffectId, draft: &Draft) -> Self {
        let calls = draft.calls.iter().map(|proposal| RoundCall {
            call: proposal.call.clone(),
            target: proposal.target.clone(),
            arguments: Arc::new(proposal.payload.clone()),
            end: CallEnd::Open,
        });
        Self {
            thought,
            text: draft.text.clone(),
            opaque: draft.opaque.clone(),
            model: draft.model.clone().map(Arc::new),
            stop: draft.stop,
            privacy: draft.privacy,
            calls: calls.collect(),
        }
    }

    /// Weight in the State, in bytes, about.
    pub(crate) fn weight(&self) -> usize {
        let opaque = self.opaque.as_ref().map_or(0, |opaque| opaque.0.len());
        let calls = self.calls.iter().map(|call| {
            weight(&call.arguments)
                + match &call.end {
                    CallEnd::Deed(deed) => weight(&deed.to_value_without_arguments()),
                    CallEnd::Rejected(rejection) => rejection.reason.len(),
                    CallEnd::Open | CallEnd::Said => 0,
                }
        });
        calls.fold(self.text.len().saturating_add(opaque), usize::saturating_add)
    }
}

impl ResultReference {
    /// The place of a result whose record has this number; none for one that is small.
    pub(crate) fn of(seq: Seq, result: &Value, bytes: usize) -> Option<Self> {
        let digest = || TextDigest::of(&crate::plist_codec::printed(result));
        (bytes > MAX_INLINE_RESULT_BYTES).then(|| Self {
            seq,
            bytes: bytes as u64,
            digest: digest(),
        })
    }

    /// Tells whether a value is the result that it stands for.
    pub fn is_of(&self, result: &Value) -> bool {
        TextDigest::of(&crate::plist_codec::printed(result)) == self.digest
    }
}

/// The short values of a large result: enough to say what it was about.
pub(crate) fn excerpt(result: &Value) -> Value {
    let mut kept = Vec::new();
    let mut bytes = 0;
    for (key, value) in result.pairs().into_iter().flatten() {
        let own = weight(value);
        if own <= MAX_EXCERPT_VALUE_BYTES && bytes + own <= MAX_EXCERPT_BYTES {
            bytes += own;
            kept.extend([key.clone(), value.clone()]);
        }
    }
    Value::list(kept)
}
