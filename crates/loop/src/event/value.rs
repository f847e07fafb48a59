//! Events as values: the bodies of their records.
//!
//! `from_value` reads exactly what `to_value` writes; anything else is [`UnreadableValue`], never a
//! guess.
//!
//! long: a match with an arm for each kind.

use std::sync::Arc;

use bridle_sexp::Value;

use super::{
    ActuatorLocation, ActuatorRef, ApprovalAnswer, ApprovalChoice, Draft, Event, ForkPoint,
    Outcome, PrincipalUsage, Proposal, ReflexAdvice, SessionStart, Signal, SignalKind,
    SignalSender, ThinkerFault, TimerTick, WithdrawalReason,
};
use crate::consult::{self, ConsultFinding, ConsultantRef};
use crate::effect::Effect;
use crate::hash::{ActionHash, TextDigest};
use crate::ids::{CallId, EffectId, Seq};
use crate::limits::SessionLimits;
use crate::plist_codec::{
    FieldSink, PlistBuilder, PlistText, UnreadableValue, effect_id, element_name, element_text,
    flag, list, name, number, optional_name, optional_text, printed, required, session, spans,
    text, turn_id, version,
};
use crate::policy::InstalledPolicies;
use crate::privacy::Privacy;
use crate::provenance::Provenance;
use crate::record_kind::RecordKind;
use crate::thought::{DraftStop, ModelRef, OpaqueText, TokenUsage};
use crate::upgrade::SessionUpgrade;
use crate::value_size::weight;

/// Room for what is around a payload, in bytes: about as much as usual.
const USUAL_FRAME_BYTES: usize = 192;

impl Event {
    /// The kind of its record.
    pub fn kind(&self) -> RecordKind {
        match self {
            Event::Began(_) => RecordKind::Began,
            Event::Signal(_) => RecordKind::Signal,
            Event::Registered(_) => RecordKind::Registered,
            Event::ConsultantsChanged(_) => RecordKind::ConsultantsChanged,
            Event::Consulted { .. } => RecordKind::Consulted,
            Event::Drafted { .. } => RecordKind::Drafted,
            Event::Acted { .. } => RecordKind::Acted,
            Event::Answered(_) => RecordKind::Answered,
            Event::PolicyInstalled(_) => RecordKind::PolicyInstalled,
            Event::Counted(_) => RecordKind::Counted,
            Event::Tick(_) => RecordKind::Tick,
            Event::Cancelled { .. } => RecordKind::Cancelled,
            Event::Withdrawn { .. } => RecordKind::Withdrawn,
            Event::Upgraded(_) => RecordKind::Upgraded,
        }
    }

    /// The body of its record.
    pub fn to_value(&self) -> Value {
        let plist = PlistBuilder::new();
        match self {
            Event::Began(began) => began.to_value(),
            Event::Signal(signal) => signal.to_value(),
            Event::Registered(actuators) => plist
                .put("actuators", Value::list(actuators.iter().map(ActuatorRef::to_value)))
                .done(),
            Event::ConsultantsChanged(consultants) => plist
                .put_list("consultants", consultants.iter().map(ConsultantRef::to_value))
                .done(),
            Event::Consulted { effect, advice } => put_consulted(plist, *effect, advice).done(),
            Event::Drafted { effect, draft: Ok(draft) } => {
                draft.put(plist.put_number("effect", effect.0)).done()
            }
            Event::Drafted { effect, draft: Err(fault) } => plist
                .put_number("effect", effect.0)
                .put("fault", &*fault.reason)
                .put_flag("retryable", fault.retryable)
                .done(),
            Event::Acted { effect, outcome } => {
                outcome.put(plist.put_number("effect", effect.0)).done()
            }
            Event::Answered(answered) => answered.to_value(),
            Event::PolicyInstalled(installed) => installed.to_value(),
            Event::Counted(counted) => {
                let spans = counted.spans.iter().flat_map(|(span, count)| [*span, *count]);
                plist
                    .put("asker", &*counted.principal)
                    .put("spans", Value::list(spans.map(Value::int)))
                    .done()
            }
            Event::Tick(tick) => plist.put("tick", Value::keyword(tick.word())).done(),
            Event::Cancelled { turn, reason } => {
                plist.put_number("turn", turn.0).put("reason", &**reason).done()
            }
            Event::Withdrawn { seq, how } => {
                plist.put_number("signal", seq.0).put("how", Value::keyword(how.word())).done()
            }
            Event::Upgraded(upgrade) => upgrade.to_value(),
        }
    }

    /// The text of [`Event::to_value`], without a copy of what was said: a value takes many times the
    /// memory of its text.
    pub fn to_text(&self) -> String {
        match self {
            Event::Signal(signal) => {
                signal.put(PlistText::with_room(USUAL_FRAME_BYTES + weight(&signal.payload))).done()
            }
            Event::Consulted { effect, advice } => {
                put_consulted(room(advice), *effect, advice).done()
            }
            other => printed(&other.to_value()),
        }
    }

    /// Text of the event with the question in it that it answers: what is answered at once is one record, and
    /// [`Event::from_value`] reads the answer. Any other question has a record of its own.
    pub fn to_text_with(&self, question: &Effect) -> String {
        match (self, question) {
            (Event::Consulted { advice, .. }, Effect::Consult { id, context, subject }) => {
                let asked = context.put(room(advice).put_number("effect", id.0));
                put_advice(subject.put(asked), advice).done()
            }
            _ => self.to_text(),
        }
    }

    /// Reads the body of a record of this kind.
    ///
    /// # Errors
    /// When the kind is none of an event, or the body is not what [`Event::to_value`] writes.
    pub fn from_value(kind: RecordKind, value: &Value) -> Result<Self, UnreadableValue> {
        let proposals = |value| list(value, "proposals", Proposal::from_value);
        Ok(match kind {
            RecordKind::Began => Event::Began(SessionStart::from_value(value)?),
            RecordKind::Signal => Event::Signal(Arc::new(Signal::from_value(value)?)),
            RecordKind::Registered => {
                Event::Registered(list(value, "actuators", ActuatorRef::from_value)?)
            }
            RecordKind::ConsultantsChanged => {
                Event::ConsultantsChanged(list(value, "consultants", ConsultantRef::from_value)?)
            }
            RecordKind::Consulted => Event::Consulted {
                effect: effect_id(value, "effect")?,
                advice: ReflexAdvice {
                    proposals: proposals(value)?,
                    think: flag(value, "think")?,
                    standing: flag(value, "standing")?,
                    thinker: consult::thinker(value)?,
                    findings: list(value, "findings", ConsultFinding::from_value)?,
                },
            },
            RecordKind::Drafted => Event::Drafted {
                effect: effect_id(value, "effect")?,
                draft: match optional_text(value, "fault")? {
                    Some(reason) => {
                        Err(ThinkerFault { reason, retryable: flag(value, "retryable")? })
                    }
                    None => Ok(Draft::from_value(value)?),
                },
            },
            RecordKind::Acted => Event::Acted {
                effect: effect_id(value, "effect")?,
                outcome: Outcome::from_value(value)?,
            },
            RecordKind::Answered => Event::Answered(ApprovalAnswer::from_value(value)?),
            RecordKind::PolicyInstalled => {
                Event::PolicyInstalled(InstalledPolicies::from_value(value)?)
            }
            RecordKind::Counted => Event::Counted(PrincipalUsage {
                principal: text(value, "asker")?,
                spans: spans(value, "spans")?,
            }),
            RecordKind::Tick => Event::Tick(TimerTick::from_value(value)?),
            RecordKind::Cancelled => {
                Event::Cancelled { turn: turn_id(value, "turn")?, reason: text(value, "reason")? }
            }
            RecordKind::Withdrawn => Event::Withdrawn {
                seq: Seq(number(value, "signal")?),
                how: WithdrawalReason::from_value(value)?,
            },
            RecordKind::Upgraded => Event::Upgraded(Box::new(SessionUpgrade::from_value(value)?)),
            RecordKind::Consult
            | RecordKind::Think
            | RecordKind::Decided
            | RecordKind::Act
            | RecordKind::Ask
            | RecordKind::Settled
            | RecordKind::Stop
            | RecordKind::Say
            | RecordKind::Finish
            | RecordKind::Started
            | RecordKind::Shown
            | RecordKind::Mark
            | RecordKind::DaemonUp
            | RecordKind::DaemonDown
            | RecordKind::Policy
            | RecordKind::PolicyRefused
            | RecordKind::Refused
            | RecordKind::Catalog
            | RecordKind::Log
            | RecordKind::Forgot
            | RecordKind::Compacted
            | RecordKind::Compaction
            | RecordKind::Repaired => {
                return Err(UnreadableValue::new("kind", "the kind of an event"));
            }
        })
    }
}

/// An empty text, with room for an advice.
fn room(advice: &ReflexAdvice) -> PlistText {
    let each = advice.proposals.iter().map(|one| USUAL_FRAME_BYTES + weight(&one.payload));
    PlistText::with_room(USUAL_FRAME_BYTES + each.sum::<usize>())
}

fn put_consulted<F: FieldSink>(fields: F, effect: EffectId, advice: &ReflexAdvice) -> F {
    put_advice(fields.put_number("effect", effect.0), advice)
}

fn put_advice<F: FieldSink>(fields: F, advice: &ReflexAdvice) -> F {
    fields
        .put_flag("think", advice.think)
        .put_flag("standing", advice.standing)
        .put_name("thinker", advice.thinker.as_ref())
        .put_each("proposals", &advice.proposals, |inside, proposal| proposal.put(inside))
        .put_each("findings", &advice.findings, |inside, finding| finding.put(inside))
}

impl SessionStart {
    fn to_value(&self) -> Value {
        let fork = self.fork.as_ref().map(|fork| {
            PlistBuilder::new()
                .put("session", fork.session.as_str())
                .put_number("record", fork.record)
                .put("state", fork.state.clone())
                .done()
        });
        PlistBuilder::new()
            .put("owner", &*self.owner)
            .put("limits", self.limits.to_value())
            .put_number_unless_zero("version", self.version)
            .put_some("fork", fork)
            .done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let fork = value.get("fork").map(|fork| {
            Ok(ForkPoint {
                session: session(fork, "session")?,
                record: number(fork, "record")?,
                state: required(fork, "state")?.clone(),
            })
        });
        Ok(Self {
            owner: text(value, "owner")?,
            limits: SessionLimits::from_value(required(value, "limits")?)?,
            version: version(value)?,
            fork: fork.transpose()?,
        })
    }
}

impl Signal {
    pub(crate) fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields
            .put_word("kind", self.kind.word())
            .put_fields("from", |inside| self.from.put(inside));
        match &self.id {
            Some(id) => fields.put_value("id", id),
            None => fields,
        }
        .put_name("target", self.target.as_ref())
        .put_flag("impatient", !self.patient)
        .put_value("payload", &self.payload)
        .put_texts("dropped", self.dropped.iter().map(|path| &**path))
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let kind = name(value, "kind")?;
        let kind = [SignalKind::Event, SignalKind::Request, SignalKind::Log, SignalKind::Failed]
            .into_iter()
            .find(|known| known.word() == kind.as_str());
        Ok(Self {
            kind: kind.ok_or(UnreadableValue::new("kind", "the kind of a signal"))?,
            from: SignalSender::from_value(required(value, "from")?)?,
            id: value.get("id").cloned(),
            target: optional_name(value, "target")?,
            payload: required(value, "payload")?.clone(),
            dropped: list(value, "dropped", element_text)?,
            patient: !flag(value, "impatient")?,
        })
    }
}

impl SignalKind {
    fn word(self) -> &'static str {
        match self {
            SignalKind::Event => "event",
            SignalKind::Request => "request",
            SignalKind::Log => "log",
            SignalKind::Failed => "failed",
        }
    }
}

impl ApprovalAnswer {
    fn to_value(&self) -> Value {
        PlistBuilder::new()
            .put_number("effect", self.approval.0)
            .put_some("hash", self.hash.map(|hash| hash.to_string()))
            .put("answer", Value::keyword(self.answer.word()))
            .put("from", self.from.to_value())
            .put_some("id", self.id.clone())
            .put_some("always", self.always)
            .done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let always = value.get("always").map(|always| {
            always.as_i64().ok_or(UnreadableValue::new("always", "a number of milliseconds"))
        });
        let hash = value.get("hash").map(|_| ActionHash::from_value(value, "hash"));
        Ok(Self {
            approval: effect_id(value, "effect")?,
            hash: hash.transpose()?,
            answer: match name(value, "answer")?.as_str() {
                "allow" => ApprovalChoice::Allow,
                "deny" => ApprovalChoice::Deny,
                _ => return Err(UnreadableValue::new("answer", "`allow` or `deny`")),
            },
            from: SignalSender::from_value(required(value, "from")?)?,
            id: value.get("id").cloned(),
            always: always.transpose()?,
        })
    }
}

impl SignalSender {
    pub(crate) fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_str("principal", &self.principal)
            .put_flag("owner", self.owner)
            .put_text("client", self.client.as_deref())
            .put_name("shell", self.shell.as_ref())
            .put_text("locale", self.locale.as_deref())
            .put_text("time-zone", self.time_zone.as_deref())
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            principal: text(value, "principal")?,
            owner: flag(value, "owner")?,
            client: optional_text(value, "client")?,
            shell: optional_name(value, "shell")?,
            locale: optional_text(value, "locale")?,
            time_zone: optional_text(value, "time-zone")?,
        })
    }
}

impl ActuatorRef {
    pub(crate) fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_word("name", self.name.as_str())
            .put_word("place", self.place.word())
            .put_words("actions", self.actions.iter().map(crate::ids::KeywordName::as_str))
            .put_text("specs", self.specs.map(|specs| specs.to_string()).as_deref())
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            name: name(value, "name")?,
            place: ActuatorLocation::from_value(value)?,
            actions: list(value, "actions", element_name)?,
            specs: match value.get("specs") {
                Some(_) => Some(TextDigest::from_value(value, "specs")?),
                None => None,
            },
        })
    }
}

impl ActuatorLocation {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            ActuatorLocation::Shell => "shell",
            ActuatorLocation::Host => "host",
        }
    }

    /// Reads the `:place` of a plist.
    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        match name(value, "place")?.as_str() {
            "shell" => Ok(ActuatorLocation::Shell),
            "host" => Ok(ActuatorLocation::Host),
            _ => Err(UnreadableValue::new("place", "`shell` or `host`")),
        }
    }
}

impl Draft {
    fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields
            .put_text("text", Some(&*self.text).filter(|text| !text.is_empty()))
            .put_each("proposals", &self.calls, |inside, call| call.put(inside));
        let fields = self.stop.put(ModelRef::put_under(self.model.as_ref(), fields));
        let fields = match &self.usage {
            Some(usage) => fields.put_fields("usage", |inside| usage.put(inside)),
            None => fields,
        }
        .put_text("opaque", self.opaque.as_ref().map(|opaque| &*opaque.0));
        let fields = self.privacy.put(fields);
        match &self.manifest {
            Some(manifest) => fields.put_value("manifest", manifest),
            None => fields,
        }
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let usage = value.get("usage").map(TokenUsage::from_value);
        Ok(Self {
            text: optional_text(value, "text")?.unwrap_or_default(),
            calls: list(value, "proposals", Proposal::from_value)?,
            model: ModelRef::under(value)?,
            usage: usage.transpose()?,
            stop: DraftStop::from_value(value)?,
            opaque: optional_text(value, "opaque")?.map(OpaqueText),
            privacy: Privacy::from_value(value)?,
            manifest: value.get("manifest").cloned().map(Arc::new),
        })
    }
}

impl Proposal {
    /// The proposal as a plist.
    pub fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields
            .put_name("target", self.target.as_ref())
            .put_value("payload", &self.payload)
            .put_text("explanation", self.explanation.as_deref())
            .put_flag("then-think", self.then_think)
            .put_text("call", self.call.as_ref().map(CallId::as_str));
        Provenance::put_under(self.provenance.as_ref(), fields)
    }

    /// Reads what [`Proposal::to_value`] wrote.
    ///
    /// # Errors
    /// When a key is missing or has another type.
    pub fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            target: optional_name(value, "target")?,
            payload: required(value, "payload")?.clone(),
            explanation: optional_text(value, "explanation")?,
            then_think: flag(value, "then-think")?,
            call: optional_text(value, "call")?.map(|name| CallId::new(&name)),
            provenance: Provenance::under(value)?,
        })
    }
}

impl Outcome {
    /// Adds the outcome to a plist.
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields.put_word("outcome", self.word());
        match self {
            Outcome::Done(result) => fields.put_value("result", result),
            Outcome::Denied(reason) | Outcome::Failed(reason) => fields.put_str("reason", reason),
            Outcome::Expired | Outcome::Superseded | Outcome::UnknownOutcome => fields,
        }
    }

    /// Reads the outcome that a plist holds.
    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(match name(value, "outcome")?.as_str() {
            "done" => Outcome::Done(required(value, "result")?.clone()),
            "denied" => Outcome::Denied(text(value, "reason")?),
            "failed" => Outcome::Failed(text(value, "reason")?),
            "expired" => Outcome::Expired,
            "superseded" => Outcome::Superseded,
            "unknown-outcome" => Outcome::UnknownOutcome,
            _ => return Err(UnreadableValue::new("outcome", "the word for an outcome")),
        })
    }
}

impl WithdrawalReason {
    fn word(self) -> &'static str {
        match self {
            WithdrawalReason::Cancelled => "cancelled",
            WithdrawalReason::Expired => "expired",
        }
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        match name(value, "how")?.as_str() {
            "cancelled" => Ok(WithdrawalReason::Cancelled),
            "expired" => Ok(WithdrawalReason::Expired),
            _ => Err(UnreadableValue::new("how", "`cancelled` or `expired`")),
        }
    }
}

impl TimerTick {
    fn word(self) -> &'static str {
        match self {
            TimerTick::Deadline => "deadline",
            TimerTick::Heartbeat => "heartbeat",
        }
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        match name(value, "tick")?.as_str() {
            "deadline" => Ok(TimerTick::Deadline),
            "heartbeat" => Ok(TimerTick::Heartbeat),
            _ => Err(UnreadableValue::new("tick", "`deadline` or `heartbeat`")),
        }
    }
}
