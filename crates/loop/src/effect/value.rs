//! Effects as values: the bodies of their records, and what the state keeps of them.
//!
//! Contexts and prompts are written by what identifies them: all else is in the state, and replay
//! makes it again. Effects are compared as text and never read back; rulings, rejections, deeds
//! and exchanges are, because they are part of the state.

use std::sync::Arc;

use bridle_sexp::Value;

use super::{
    ApprovalRequest, CheckResult, Decision, DecisionRule, Deed, Effect, PastExchange,
    ProposalAuthor, ProposalRejection, RefusalCode, RememberedRuling, SignalContext, TurnEnd,
    Utterance, Verdict,
};
use crate::decide::ApprovalIntent;
use crate::event::{Outcome, SignalSender};
use crate::ids::{CallId, EffectId, Seq};
use crate::plist_codec::{
    FieldSink, PlistBuilder, PlistText, UnreadableValue, element_text, list, name, optional_name,
    optional_text, required, text, time, turn_id,
};
use crate::privacy::Privacy;
use crate::record_kind::RecordKind;
use crate::thought::{ModelRef, ResultReference};
use crate::value_size::weight;

impl Effect {
    /// The kind of its record.
    pub fn kind(&self) -> RecordKind {
        match self {
            Effect::Consult { .. } => RecordKind::Consult,
            Effect::Think { .. } => RecordKind::Think,
            Effect::Decided(_) => RecordKind::Decided,
            Effect::Act { .. } => RecordKind::Act,
            Effect::Ask { .. } => RecordKind::Ask,
            Effect::Settled { .. } => RecordKind::Settled,
            Effect::Stop { .. } => RecordKind::Stop,
            Effect::Say(_) => RecordKind::Say,
            Effect::Finish { .. } => RecordKind::Finish,
        }
    }

    /// Number that its answer names, if an answer is awaited.
    pub fn id(&self) -> Option<EffectId> {
        match self {
            Effect::Consult { id, .. }
            | Effect::Think { id, .. }
            | Effect::Act { id, .. }
            | Effect::Ask { id, .. } => Some(*id),
            Effect::Decided(_)
            | Effect::Settled { .. }
            | Effect::Stop { .. }
            | Effect::Say(_)
            | Effect::Finish { .. } => None,
        }
    }

    /// Its place in the stream, if it has one.
    pub fn seq(&self) -> Option<Seq> {
        match self {
            Effect::Act { seq, .. } | Effect::Ask { seq, .. } | Effect::Settled { seq, .. } => {
                Some(*seq)
            }
            Effect::Say(utterance) => Some(utterance.seq),
            Effect::Consult { .. }
            | Effect::Think { .. }
            | Effect::Decided(_)
            | Effect::Stop { .. }
            | Effect::Finish { .. } => None,
        }
    }

    /// The body of its record.
    pub fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    /// The text of [`Effect::to_value`], made at once.
    pub fn to_text(&self) -> String {
        self.put(PlistText::with_room(self.room())).done()
    }

    /// Room for its text, in bytes: what varies, and about as much as usual around it.
    fn room(&self) -> usize {
        match self {
            Effect::Consult { .. }
            | Effect::Settled { .. }
            | Effect::Stop { .. }
            | Effect::Finish { .. } => 128,
            Effect::Decided(decision) if decision.proposal.is_some() => 704,
            Effect::Decided(decision) => 704 + weight(&decision.payload),
            Effect::Say(utterance) => 96 + weight(&utterance.payload),
            Effect::Think { .. } | Effect::Act { .. } | Effect::Ask { .. } => 512,
        }
    }

    fn put<F: FieldSink>(&self, fields: F) -> F {
        match self {
            Effect::Consult { id, context, subject } => {
                subject.put(context.put(fields.put_number("effect", id.0)))
            }
            Effect::Think { id, prompt } => prompt
                .context
                .put(fields.put_number("effect", id.0))
                .put_number("depth", prompt.depth)
                .put_number("tries", prompt.tries)
                .put_list("rejected", prompt.rejected.iter().map(|rejection| rejection.to_value()))
                .put_list("results", prompt.results.iter().map(|deed| deed.summary()))
                .put_text("catalog", prompt.catalog.map(|hash| hash.to_string()).as_deref())
                .put_name("thinker", prompt.thinker.as_ref()),
            Effect::Decided(decision) => decision.put(fields),
            Effect::Act { id, turn, order, deadline, .. } => order
                .put(fields.put_number("effect", id.0).put_number("turn", turn.0))
                .put_int("deadline", deadline.0),
            Effect::Ask { id, question, .. } => question.put(fields.put_number("effect", id.0)),
            Effect::Settled { id, outcome, .. } => outcome.put(fields.put_number("effect", id.0)),
            Effect::Stop { id } => fields.put_number("effect", id.0),
            Effect::Say(utterance) => utterance.put(fields),
            Effect::Finish { turn, reason } => {
                fields.put_number("turn", turn.0).put_word("reason", reason.word())
            }
        }
    }
}

impl SignalContext {
    /// Writes what identifies it; the rest is in the state.
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields.put_number("turn", self.turn.0);
        put_seq(fields, "seq", self.seq)
            .put_number("history", self.history.len())
            .put_number_unless_zero("summaries", self.summaries.len())
            .put_number("decisions", self.decisions.len())
            .put_flag("focus", self.focus.is_some())
            .put_flag("closing", self.is_closing)
    }
}

impl Decision {
    fn put<F: FieldSink>(&self, fields: F) -> F {
        let checked = self.checked.iter().flat_map(|checked| {
            let words: [&str; 2] = [checked.rule.word(), checked.result.word()];
            words
        });
        let fields = self.ruling.put(fields);
        let fields = match self.proposal {
            Some(place) => fields.put_number("proposal", place),
            None => fields.put_value("payload", &self.payload),
        };
        let fields = fields
            .put_text("explanation", self.explanation.as_deref())
            .put_words("checked", checked)
            .put_texts("dropped", self.dropped.iter().map(|path| &**path));
        match &self.facts {
            Some(facts) => fields.put_fields("facts", |inside| facts.put(inside)),
            None => fields,
        }
    }
}

impl RememberedRuling {
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields.put_number("turn", self.turn.0).put_word("by", self.by.word());
        let fields = ModelRef::put_under(self.model.as_deref(), fields)
            .put_name("target", self.target.as_ref())
            .put_name("action", self.action.as_ref())
            .put_word("rule", self.rule.word())
            .put_texts("policies", self.policies.iter().map(|id| &**id));
        match self.verdict {
            Verdict::Allow => fields.put_word("verdict", "allow"),
            Verdict::Ask => fields.put_word("verdict", "ask"),
            Verdict::Deny(code) => fields.put_word("verdict", "deny").put_word("code", code.word()),
        }
        .put_str("reason", &self.reason)
    }

    pub(crate) fn from_value(value: &Value) -> Result<Arc<Self>, UnreadableValue> {
        Ok(Arc::new(Self {
            turn: turn_id(value, "turn")?,
            by: ProposalAuthor::from_value(value)?,
            model: ModelRef::under(value)?.map(Arc::new),
            target: optional_name(value, "target")?,
            action: optional_name(value, "action")?,
            rule: rule(value)?,
            policies: list(value, "policies", element_text)?,
            verdict: match name(value, "verdict")?.as_str() {
                "allow" => Verdict::Allow,
                "ask" => Verdict::Ask,
                _ => Verdict::Deny(RefusalCode::from_value(value)?),
            },
            reason: text(value, "reason")?,
        }))
    }
}

impl ApprovalRequest {
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields
            .put_number("turn", self.turn.0)
            .put("hash", self.intent.hash().to_string())
            .put_word("by", self.by.word())
            .put_fields("asker", |inside| self.asker.put(inside));
        self.intent
            .put(fields)
            .put_str("question", &self.text)
            .put_word("risk", self.intent.action().risk().word())
            .put_texts("who", self.who.iter().map(|who| &**who))
            .put_int("expires", self.expires.0)
    }

    pub(crate) fn from_value(value: &Value) -> Result<Arc<Self>, UnreadableValue> {
        Ok(Arc::new(Self {
            turn: turn_id(value, "turn")?,
            intent: ApprovalIntent::from_value(value)?,
            by: ProposalAuthor::from_value(value)?,
            asker: SignalSender::from_value(required(value, "asker")?)?,
            text: text(value, "question")?,
            who: list(value, "who", element_text)?,
            expires: time(value, "expires")?,
        }))
    }
}

impl ProposalRejection {
    pub(crate) fn to_value(&self) -> Value {
        PlistBuilder::new()
            .put_name("target", self.target.as_ref())
            .put_name("action", self.action.as_ref())
            .put("code", Value::keyword(self.code.word()))
            .put("reason", &*self.reason)
            .done()
    }

    pub(crate) fn from_value(value: &Value) -> Result<Arc<Self>, UnreadableValue> {
        Ok(Arc::new(Self {
            target: optional_name(value, "target")?,
            action: optional_name(value, "action")?,
            code: RefusalCode::from_value(value)?,
            reason: text(value, "reason")?,
        }))
    }
}

impl Deed {
    pub(crate) fn to_value(&self) -> Value {
        let plist =
            self.put_outcome(self.named()).put_text("call", self.call.as_ref().map(CallId::as_str));
        match &*self.arguments {
            Value::Nil => plist,
            arguments => plist.put_value("arguments", arguments),
        }
        .done()
    }

    /// The deed in the round that has its call.
    pub(crate) fn to_value_without_arguments(&self) -> Value {
        self.put_outcome(self.named()).done()
    }

    fn put_outcome(&self, plist: PlistBuilder) -> PlistBuilder {
        let plist = self.outcome.put(plist);
        let plist = match &self.stored {
            Some(stored) => plist.put_fields("stored", |inside| stored.put(inside)),
            None => plist,
        };
        self.privacy.put(plist)
    }

    /// Without its result.
    pub(crate) fn summary(&self) -> Value {
        self.named().put("outcome", Value::keyword(self.outcome.word())).done()
    }

    fn named(&self) -> PlistBuilder {
        PlistBuilder::new()
            .put("target", self.target.to_value())
            .put("action", self.action.to_value())
    }

    pub(crate) fn from_value(value: &Value) -> Result<Arc<Self>, UnreadableValue> {
        Ok(Arc::new(Self {
            target: name(value, "target")?,
            action: name(value, "action")?,
            outcome: Outcome::from_value(value)?,
            call: optional_text(value, "call")?.map(|name| CallId::new(&name)),
            arguments: Arc::new(value.get("arguments").cloned().unwrap_or(Value::Nil)),
            stored: value.get("stored").map(ResultReference::from_value).transpose()?,
            privacy: Privacy::from_value(value)?,
        }))
    }
}

impl PastExchange {
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        self.privacy.put(fields.put_str("asked", &self.asked).put_str("said", &self.said))
    }

    pub(crate) fn from_value(value: &Value) -> Result<Arc<Self>, UnreadableValue> {
        let (asked, said) = (text(value, "asked")?, text(value, "said")?);
        Ok(Arc::new(Self { asked, said, privacy: Privacy::from_value(value)? }))
    }
}

impl Utterance {
    fn put<F: FieldSink>(&self, fields: F) -> F {
        let to = self.to.as_ref();
        let fields = put_seq(fields, "answers", self.answers)
            .put_text("client", to.and_then(|to| to.client.as_deref()));
        match to.and_then(|to| to.id.as_ref()) {
            Some(id) => fields.put_value("id", id),
            None => fields,
        }
        .put_value("payload", &self.payload)
    }
}

fn put_seq<F: FieldSink>(fields: F, key: &'static str, seq: Option<Seq>) -> F {
    match seq {
        Some(seq) => fields.put_number(key, seq.0),
        None => fields,
    }
}

/// The rule of a ruling. Before there were policies, three rules were what one policy each is now.
fn rule(value: &Value) -> Result<DecisionRule, UnreadableValue> {
    match name(value, "rule")?.as_str() {
        "safe" | "owner-asks" | "default" => Ok(DecisionRule::Policy),
        _ => word(DecisionRule::ALL, DecisionRule::word, value, "rule"),
    }
}

/// The one of `all` whose word a key holds.
fn word<T: Copy>(
    all: &[T],
    spell: fn(T) -> &'static str,
    value: &Value,
    key: &'static str,
) -> Result<T, UnreadableValue> {
    let written = name(value, key)?;
    let found = all.iter().copied().find(|one| spell(*one) == written.as_str());
    found.ok_or(UnreadableValue::new(key, "a known word"))
}

/// Gives a closed enum its words and the list of its members.
macro_rules! words {
    ($type:ident: $($variant:ident $word:literal),+ $(,)?) => {
        impl $type {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for it.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}

words!(ProposalAuthor: Asker "asker", Reflex "reflex", Thinker "thinker");
words!(CheckResult: Pass "pass", Allow "allow", Ask "ask", Deny "deny");
words!(DecisionRule: WellFormed "well-formed", Size "size", Target "target", Action "action",
    Budget "budget", Consultant "consultant", Policy "policy", Approval "approval");
words!(RefusalCode: InvalidValue "invalid-value", Unsupported "unsupported",
    UnknownTarget "unknown-target", Refused "refused", Cancelled "cancelled", Expired "expired",
    EngineFailed "engine-failed", UnknownOutcome "unknown-outcome", Overloaded "overloaded");
words!(TurnEnd: Answered "answered", Refused "refused", Failed "failed", Cancelled "cancelled",
    Expired "expired", Superseded "superseded", Pending "pending");

impl ProposalAuthor {
    /// Reads the `:by` of a plist.
    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        word(Self::ALL, Self::word, value, "by")
    }
}

impl RefusalCode {
    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        word(Self::ALL, Self::word, value, "code")
    }
}
