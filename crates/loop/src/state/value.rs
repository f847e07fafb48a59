//! The state as a value: checkpoints, forks and the hash that replay compares.
//!
//! `from_value(to_value(state)) == state` for every state that [`crate::step()`] can reach.

use std::collections::BTreeMap;
use std::sync::Arc;

use bridle_sexp::Value;

use super::{
    ApprovalResolution, LazyText, OpenApproval, OutcomeListener, OutcomeReturn, PendingAct,
    QueuedSignal, ResolvedApproval, RunningTurn, SessionState, SharedHistory, StageClosing,
    TurnContinuation, TurnStage,
};
use crate::budget::BudgetCounters;
use crate::consult::{self, ConsultFinding, ConsultStage, ConsultantRef, HeldProposals};
use crate::decide::Order;
use crate::effect::{
    Addressee, ApprovalRequest, Deed, PastExchange, ProposalAuthor, ProposalRejection,
    RememberedRuling,
};
use crate::event::{ActuatorRef, Signal, SignalSender};
use crate::ids::{EffectId, Seq, TurnId};
use crate::limits::SessionLimits;
use crate::parked_turn::ParkedTurn;
use crate::plist_codec::{
    self, FieldSink, PlistBuilder, PlistText, UnreadableValue, effect_id, element_text, flag, list,
    name, number, optional_name, optional_number, optional_text, required, session, small_number,
    time, turn_id,
};
use crate::policy::InstalledPolicies;
use crate::privacy::Privacy;
use crate::schedule::PlannedSchedule;
use crate::summary::ConversationSummary;
use crate::thought::{CallSlot, ThoughtRound};
use crate::turn_budget::TurnBudget;

impl SessionState {
    /// The state as a plist; keys that would hold nothing are left out.
    pub fn to_value(&self) -> Value {
        let head = self.reach(self.counters(self.front(PlistBuilder::new())));
        self.tail(self.past(self.focus(head))).done()
    }

    /// The canonical text of [`SessionState::to_value`], made faster.
    pub fn text(&self) -> String {
        let front = self.front.text(|| self.front(PlistText::new()).done());
        let reach = self.reach.text(|| self.reach(PlistText::new()).done());
        let text = PlistText::with_room(front.len() + reach.len() + self.usual_room());
        let head = self.counters(text.put_rest(front)).put_rest(reach);
        self.tail(self.past(self.focus(head))).done()
    }

    /// The hash that tells this state from every other, in hex digits: of what it is made of, in which
    /// what is kept stands as the sum of its hashes, and each part that seldom changes as its hash.
    pub fn digest(&self) -> String {
        let focus = self.focus.as_deref().map(plist_codec::printed).unwrap_or_default();
        let rest = self.waiting(self.plans(PlistText::new())).done();
        // In one piece: hashing many small ones takes three times as long.
        let mut bytes = Vec::with_capacity(focus.len() + rest.len() + USUAL_DIGEST_INPUT_BYTES);
        bytes.extend_from_slice(self.front.hash(|| self.front(PlistText::new()).done()));
        bytes.extend_from_slice(&self.now.0.to_le_bytes());
        for number in [self.seq, self.turns, self.effects] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(self.reach.hash(|| self.reach(PlistText::new()).done()));
        bytes.extend_from_slice(self.judged.hash(|| self.judged(PlistText::new()).done()));
        push_text(&mut bytes, &focus);
        if !self.summaries.is_empty() {
            bytes.extend_from_slice(self.summed.hash(|| self.summed(PlistText::new()).done()));
        }
        push_past(&mut bytes, &self.history);
        push_past(&mut bytes, &self.decisions);
        push_text(&mut bytes, &rest);
        blake3::hash(&bytes).to_hex().as_str().to_owned()
    }

    /// Room for the text of what varies, in bytes: about as much as usual.
    fn usual_room(&self) -> usize {
        let said = |exchange: &Arc<PastExchange>| exchange.asked.len() + exchange.said.len();
        let history: usize = self.history.iter().map(said).sum();
        history + USUAL_FRAME_BYTES * (1 + self.history.len() + self.decisions.len())
    }

    /// Writes the keys that never change.
    fn front<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields
            .put_str("session", self.session.as_str())
            .put_text("owner", self.owner.as_deref())
            .put_fields("limits", |inside| self.limits.put(inside))
            .put_number_unless_zero("version", self.version);
        match &self.origin {
            Some((session, record)) => fields.put_fields("origin", |inside| {
                inside.put_str("session", session.as_str()).put_number("record", *record)
            }),
            None => fields,
        }
    }

    /// Writes the keys that change with every event.
    fn counters<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_int("now", self.now.0)
            .put_number("seq", self.seq)
            .put_number("turns", self.turns)
            .put_number("effects", self.effects)
    }

    /// Writes the actuators.
    fn reach<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_each("actuators", &*self.actuators, |inside, actuator| actuator.put(inside))
            .put_list("consultants", self.consultants.iter().map(ConsultantRef::to_value))
    }

    fn focus<F: FieldSink>(&self, fields: F) -> F {
        match self.focus.as_deref() {
            Some(focus) => fields.put_value("focus", focus),
            None => fields,
        }
    }

    /// Writes the summaries.
    fn summed<F: FieldSink>(&self, fields: F) -> F {
        fields.put_each("summaries", &*self.summaries, |inside, summary| summary.put(inside))
    }

    /// Writes what was said and decided.
    fn past<F: FieldSink>(&self, fields: F) -> F {
        self.summed(fields)
            .put_each("history", self.history.iter(), |inside, exchange| exchange.put(inside))
            .put_each("decisions", self.decisions.iter(), |inside, ruling| ruling.put(inside))
    }

    /// Writes the keys behind the history.
    fn tail<F: FieldSink>(&self, fields: F) -> F {
        self.waiting(self.judged(self.plans(fields)))
    }

    /// Writes what is planned, awaited and counted.
    fn plans<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields
            .put_list("schedules", self.schedules.iter().map(|(name, plan)| plan.to_value(name)))
            .put_list("acts", self.acts.iter().map(|(id, pending)| pending.to_value(id.0)))
            .put_list("questions", self.questions.iter().map(|(id, open)| open.to_value(id.0)))
            .put_list("parked", self.parked.values().map(ParkedTurn::to_value))
            .put_list("resolved", self.resolved.iter().map(ResolvedApproval::to_value));
        self.budget.put(fields, "budget")
    }

    /// Writes the policies.
    fn judged<F: FieldSink>(&self, fields: F) -> F {
        match &self.policy {
            Some(policy) => fields.put_fields("policy", |inside| policy.put(inside)),
            None => fields,
        }
    }

    /// The signals that wait, and the turns.
    fn waiting<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_list("queue", self.queue.iter().map(QueuedSignal::to_value))
            .put_some("turn", self.turn.as_ref().map(RunningTurn::to_value))
            .put_list("side", self.side.values().map(RunningTurn::to_value))
    }

    /// Reads what [`SessionState::to_value`] wrote.
    ///
    /// # Errors
    /// When a key is absent or holds something else.
    pub fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let origin = value
            .get("origin")
            .map(|origin| Ok((session(origin, "session")?, number(origin, "record")?)));
        Ok(Self {
            session: session(value, "session")?,
            owner: optional_text(value, "owner")?,
            limits: SessionLimits::from_value(required(value, "limits")?)?,
            version: plist_codec::version(value)?,
            origin: origin.transpose()?,
            now: time(value, "now")?,
            seq: number(value, "seq")?,
            turns: number(value, "turns")?,
            effects: number(value, "effects")?,
            actuators: list(value, "actuators", ActuatorRef::from_value)?.into(),
            consultants: list(value, "consultants", ConsultantRef::from_value)?.into(),
            focus: value.get("focus").cloned().map(Arc::new),
            history: list(value, "history", PastExchange::from_value)?.into_iter().collect(),
            summaries: list(value, "summaries", ConversationSummary::from_value)?.into(),
            decisions: list(value, "decisions", RememberedRuling::from_value)?
                .into_iter()
                .collect(),
            schedules: BTreeMap::from_iter(list(value, "schedules", PlannedSchedule::from_value)?),
            acts: BTreeMap::from_iter(list(value, "acts", |act| {
                Ok((effect_id(act, "effect")?, PendingAct::from_value(act)?))
            })?),
            questions: BTreeMap::from_iter(list(value, "questions", |open| {
                Ok((effect_id(open, "effect")?, OpenApproval::from_value(open)?))
            })?),
            parked: BTreeMap::from_iter(list(value, "parked", ParkedTurn::from_value)?),
            resolved: list(value, "resolved", ResolvedApproval::from_value)?.into(),
            budget: BudgetCounters::from_value(value, "budget")?,
            policy: value.get("policy").map(InstalledPolicies::from_value).transpose()?,
            queue: list(value, "queue", QueuedSignal::from_value)?.into(),
            turn: value.get("turn").map(RunningTurn::from_value).transpose()?,
            side: BTreeMap::from_iter(list(value, "side", |turn| {
                let turn = RunningTurn::from_value(turn)?;
                Ok((turn.id, RunningTurn { is_beside: true, ..turn }))
            })?),
            front: LazyText::default(),
            reach: LazyText::default(),
            judged: LazyText::default(),
            summed: LazyText::default(),
        })
    }
}

/// Room for what is hashed whatever a state holds, in bytes: three hashes, four counters, four lengths,
/// two sums.
const USUAL_DIGEST_INPUT_BYTES: usize = 3 * 32 + (4 + 4) * size_of::<u64>() + 2 * size_of::<u128>();

/// Room for a ruling, for what is around the texts of an exchange, and for the rest, in bytes.
const USUAL_FRAME_BYTES: usize = 192;

/// Adds a text to what is hashed; its length says where it ends.
fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Adds kept things to what is hashed: how many they are, and their sum.
fn push_past<T>(bytes: &mut Vec<u8>, kept: &SharedHistory<T>) {
    bytes.extend_from_slice(&(kept.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&kept.sum().to_le_bytes());
}

impl PendingAct {
    fn to_value(&self, id: u64) -> Value {
        let plist = PlistBuilder::new()
            .put_number("effect", id)
            .put_number("turn", self.turn.0)
            .put_number("seq", self.seq.0);
        let plist =
            plist.put("by", Value::keyword(self.by.word())).put("asker", self.asker.to_value());
        self.order
            .put(plist)
            .put("deadline", self.deadline.0)
            .put_flag("then-think", self.back.then_think)
            .put_list("calls", self.back.slots())
            .put_list("tell", self.tell.iter().map(OutcomeListener::to_value))
            .put_list("also", self.also.iter().map(|turn| number_value(turn.0)))
            .put_flag("stopping", self.is_stopping)
            .done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let asker = value.get("asker").map(SignalSender::from_value);
        Ok(Self {
            turn: turn_id(value, "turn")?,
            seq: Seq(number(value, "seq")?),
            // Both came later: an act from before has none, and its asker is nobody.
            by: value
                .get("by")
                .map_or(Ok(ProposalAuthor::Asker), |_| ProposalAuthor::from_value(value))?,
            asker: asker.transpose()?.unwrap_or_else(|| SignalSender::new("unknown")),
            order: Order::from_value(value)?,
            deadline: time(value, "deadline")?,
            back: OutcomeReturn::from_value(value)?,
            tell: list(value, "tell", OutcomeListener::from_value)?,
            also: list(value, "also", |turn| element_number(turn).map(TurnId))?,
            is_stopping: flag(value, "stopping")?,
        })
    }
}

impl OutcomeReturn {
    fn slots(&self) -> impl Iterator<Item = Value> {
        self.slots.iter().map(|slot| {
            let plist = PlistBuilder::new().put_number("thought", slot.thought.0);
            plist.put_number("place", slot.place).done()
        })
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let slots = list(value, "calls", |slot| {
            let place = small_number(slot, "place")? as usize;
            Ok(CallSlot { thought: effect_id(slot, "thought")?, place })
        });
        Ok(Self { then_think: flag(value, "then-think")?, slots: slots? })
    }
}

impl OutcomeListener {
    fn to_value(&self) -> Value {
        put_addressee(PlistBuilder::new().put_number("approval", self.approval.0), self.to.as_ref())
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self { approval: effect_id(value, "approval")?, to: addressee(value)? })
    }
}

impl OpenApproval {
    fn to_value(&self, id: u64) -> Value {
        let plist = PlistBuilder::new().put_number("effect", id).put_number("seq", self.seq.0);
        let turns = self.turns.iter().map(|turn| number_value(turn.0));
        self.question
            .put(plist)
            .put_list("turns", turns)
            .put_flag("then-think", self.back.then_think)
            .put_list("calls", self.back.slots())
            .put_list(
                "tell",
                self.tell.iter().map(|to| put_addressee(PlistBuilder::new(), to.as_ref())),
            )
            .done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            seq: Seq(number(value, "seq")?),
            question: ApprovalRequest::from_value(value)?,
            turns: list(value, "turns", |turn| element_number(turn).map(TurnId))?,
            back: OutcomeReturn::from_value(value)?,
            tell: list(value, "tell", addressee)?,
        })
    }
}

impl ParkedTurn {
    fn to_value(&self) -> Value {
        PlistBuilder::new().put("turn", self.turn.to_value()).put("until", self.until.0).done()
    }

    fn from_value(value: &Value) -> Result<(Seq, Self), UnreadableValue> {
        let turn = RunningTurn::from_value(required(value, "turn")?)?;
        let seq = turn.seq.ok_or(UnreadableValue::new("turn", "one that was asked for"))?;
        Ok((seq, Self { turn, until: time(value, "until")? }))
    }
}

impl ResolvedApproval {
    fn to_value(&self) -> Value {
        PlistBuilder::new()
            .put_number("approval", self.approval.0)
            .put("how", Value::keyword(self.how.word()))
            .put_text("by", self.by.as_deref())
            .done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let how = name(value, "how")?;
        let how = ApprovalResolution::ALL.into_iter().find(|one| one.word() == how.as_str());
        Ok(Self {
            approval: effect_id(value, "approval")?,
            how: how.ok_or(UnreadableValue::new("how", "how a question ends"))?,
            by: optional_text(value, "by")?,
        })
    }
}

impl ApprovalResolution {
    const ALL: [Self; 4] = [Self::Allowed, Self::Denied, Self::Expired, Self::Superseded];

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            ApprovalResolution::Allowed => "allowed",
            ApprovalResolution::Denied => "denied",
            ApprovalResolution::Expired => "expired",
            ApprovalResolution::Superseded => "superseded",
        }
    }
}

fn put_addressee(plist: PlistBuilder, to: Option<&Addressee>) -> Value {
    plist
        .put("addressed", to.is_some())
        .put_text("client", to.and_then(|to| to.client.as_deref()))
        .put_some("id", to.and_then(|to| to.id.clone()))
        .done()
}

fn addressee(value: &Value) -> Result<Option<Addressee>, UnreadableValue> {
    if !flag(value, "addressed")? {
        return Ok(None);
    }
    let client = optional_text(value, "client")?;
    Ok(Some(Addressee { client, id: value.get("id").cloned() }))
}

impl QueuedSignal {
    fn to_value(&self) -> Value {
        PlistBuilder::new()
            .put_some("seq", self.seq.map(seq_value))
            .put("signal", self.signal.to_value())
            .done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let signal = Signal::from_value(required(value, "signal")?)?;
        Ok(Self::new(optional_number(value, "seq")?.map(Seq), Arc::new(signal)))
    }
}

impl RunningTurn {
    fn to_value(&self) -> Value {
        let plist = self
            .budget
            .put(PlistBuilder::new())
            .put_number("id", self.id.0)
            .put_some("seq", self.seq.map(seq_value))
            .put("signal", self.signal.to_value())
            .put("began", self.began.0);
        let plist = match self.stage {
            TurnStage::Consulting(id) => plist.put_number("consulting", id.0),
            TurnStage::Thinking(id) => plist.put_number("thinking", id.0),
            TurnStage::Asking => plist.put_flag("asking", true),
            TurnStage::Ready => plist.put_flag("ready", true),
            TurnStage::Acting => plist,
        }
        .put_some("resumed", (self.resumed != self.began).then_some(self.resumed.0))
        .put("next", Value::keyword(self.next.word()))
        .put_number("depth", self.depth)
        .put_number("tries", self.tries)
        .put_number("allowed", self.allowed)
        .put_list("pending", self.pending.iter().map(|id| number_value(id.0)))
        .put_list("said", self.said.iter().map(|part| Value::from(&**part)))
        .put_list("directives", self.directives.iter().map(|one| Value::clone(one)))
        .put_list("rejected", self.rejected.iter().map(|rejection| rejection.to_value()))
        .put_list("results", self.results.iter().map(|deed| deed.to_value()))
        .put_list("rounds", self.rounds.iter().map(|round| round.to_value()))
        .put_some("forgotten", (self.forgotten > 0).then(|| number_value(self.forgotten)))
        .put_some("parts", (self.parts > 0).then(|| number_value(self.parts)))
        .put_some("closing", self.closing.word().map(Value::keyword))
        .put_some("asked-at", self.asked_at_word())
        .put_some("held", self.held.as_ref().map(|held| held.to_value()))
        .put_list("withheld", self.withheld.iter().map(ConsultFinding::to_value))
        .put_name("thinker", self.thinker.as_ref());
        self.privacy.put(plist).done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let stage = if value.get("consulting").is_some() {
            TurnStage::Consulting(effect_id(value, "consulting")?)
        } else if value.get("thinking").is_some() {
            TurnStage::Thinking(effect_id(value, "thinking")?)
        } else if flag(value, "asking")? {
            TurnStage::Asking
        } else if flag(value, "ready")? {
            TurnStage::Ready
        } else {
            TurnStage::Acting
        };
        let next = name(value, "next")?;
        let next = TurnContinuation::ALL.into_iter().find(|one| one.word() == next.as_str());
        Ok(Self {
            id: turn_id(value, "id")?,
            seq: optional_number(value, "seq")?.map(Seq),
            signal: Arc::new(Signal::from_value(required(value, "signal")?)?),
            began: time(value, "began")?,
            resumed: time(value, if value.get("resumed").is_some() { "resumed" } else { "began" })?,
            stage,
            is_beside: false,
            next: next.ok_or(UnreadableValue::new("next", "what a turn does next"))?,
            depth: small_number(value, "depth")?,
            tries: small_number(value, "tries")?,
            allowed: small_number(value, "allowed")?,
            pending: list(value, "pending", |id| element_number(id).map(EffectId))?,
            said: list(value, "said", element_text)?,
            directives: list(value, "directives", |one| Ok(Arc::new(one.clone())))?,
            rejected: list(value, "rejected", ProposalRejection::from_value)?,
            results: list(value, "results", Deed::from_value)?,
            rounds: list(value, "rounds", ThoughtRound::from_value)?,
            forgotten: optional_number(value, "forgotten")?.unwrap_or_default(),
            privacy: Privacy::from_value(value)?,
            parts: optional_number(value, "parts")?.unwrap_or_default(),
            closing: StageClosing::from_value(value)?,
            asked_at: match optional_name(value, "asked-at")? {
                None => ConsultStage::Perceive,
                Some(word) => ConsultStage::parse(word.as_str())
                    .ok_or(UnreadableValue::new("asked-at", "a stage of a turn"))?,
            },
            budget: TurnBudget::from_value(value)?,
            held: value.get("held").map(HeldProposals::from_value).transpose()?.map(Arc::new),
            withheld: list(value, "withheld", ConsultFinding::from_value)?,
            thinker: consult::thinker(value)?,
        })
    }

    /// The word for the stage at which consultants were asked last, where it is not the first.
    fn asked_at_word(&self) -> Option<Value> {
        let is_later = self.asked_at != ConsultStage::Perceive;
        is_later.then(|| Value::keyword(self.asked_at.word()))
    }
}

impl StageClosing {
    /// The word for it; none where nothing waits.
    fn word(self) -> Option<&'static str> {
        match self {
            StageClosing::Clear => None,
            StageClosing::Due => Some("due"),
            StageClosing::Asked => Some("asked"),
        }
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        if value.get("closing").is_none() {
            return Ok(StageClosing::Clear);
        }
        let word = name(value, "closing")?;
        let known = [StageClosing::Due, StageClosing::Asked];
        let known = known.into_iter().find(|one| one.word() == Some(word.as_str()));
        known.ok_or(UnreadableValue::new("closing", "what waits on a stage"))
    }
}

impl TurnContinuation {
    const ALL: [Self; 5] =
        [Self::Answer, Self::Refuse, Self::Think, Self::ThinkDeeper, Self::ThinkAgain];

    fn word(self) -> &'static str {
        match self {
            TurnContinuation::Answer => "answer",
            TurnContinuation::Refuse => "refuse",
            TurnContinuation::Think => "think",
            TurnContinuation::ThinkDeeper => "think-deeper",
            TurnContinuation::ThinkAgain => "think-again",
        }
    }
}

fn seq_value(seq: Seq) -> Value {
    number_value(seq.0)
}

fn number_value(number: u64) -> Value {
    Value::int(number.try_into().unwrap_or(i64::MAX))
}

fn element_number(value: &Value) -> Result<u64, UnreadableValue> {
    let number = value.as_i64().and_then(|number| u64::try_from(number).ok());
    number.ok_or(UnreadableValue::new("element", "a number"))
}
