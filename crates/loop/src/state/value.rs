//! The state as a value: checkpoints, forks and the hash that replay compares.
//!
//! `from_value(to_value(state)) == state` for every state that [`crate::step()`] can reach.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bridle_sexp::Value;

use super::kept::{Written, text};
use super::{Kept, Next, Pending, Planned, Stage, State, Turn, Waiting};
use crate::decide::Order;
use crate::effect::{Deed, Exchange, Rejection, Ruling};
use crate::event::{Actuator, Signal};
use crate::field::{
    self, Plist, Unreadable, effect_id, element_text, flag, list, name, number, optional_number,
    optional_text, required, session, small_number, time, turn_id,
};
use crate::ids::Seq;
use crate::limits::Limits;

impl State {
    /// The state as a plist; keys that would hold nothing are left out.
    pub fn to_value(&self) -> Value {
        let history = self.history.iter().map(|kept| kept.thing().to_value());
        let decisions = self.decisions.iter().map(|kept| kept.thing().to_value());
        let head = self.head().put_list("history", history).put_list("decisions", decisions);
        self.tail(head).done()
    }

    /// The canonical text of [`State::to_value`], made faster.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Appends [`State::text`], to a buffer that may be used again.
    pub fn write(&self, out: &mut String) {
        out.push_str(&text(&self.head().done()));
        out.pop();
        push_kept(out, " :history", &self.history);
        push_kept(out, " :decisions", &self.decisions);
        match self.tail(Plist::new()).done() {
            Value::Nil => out.push(')'),
            tail => {
                out.push(' ');
                out.push_str(&text(&tail)[1..]);
            }
        }
    }

    /// What comes before the things that are kept.
    fn head(&self) -> Plist {
        let origin = self.origin.as_ref().map(|(session, record)| {
            Plist::new().put("session", session.as_str()).put_number("record", *record).done()
        });
        Plist::new()
            .put("session", self.session.as_str())
            .put_text("owner", self.owner.as_deref())
            .put("limits", self.limits.to_value())
            .put_some("origin", origin)
            .put("now", self.now.0)
            .put_number("seq", self.seq)
            .put_number("turns", self.turns)
            .put_number("effects", self.effects)
            .put_list("actuators", self.actuators.iter().map(Actuator::to_value))
            .put_some("focus", self.focus.as_deref().cloned())
    }

    /// What comes after them.
    fn tail(&self, plist: Plist) -> Plist {
        plist
            .put_list("schedules", self.schedules.iter().map(|(name, plan)| plan.to_value(name)))
            .put_list("acts", self.acts.iter().map(|(id, pending)| pending.to_value(id.0)))
            .put_list("queue", self.queue.iter().map(Waiting::to_value))
            .put_some("turn", self.turn.as_ref().map(Turn::to_value))
    }

    /// Reads what [`State::to_value`] wrote.
    ///
    /// # Errors
    /// When a key is absent or holds something else.
    pub fn from_value(value: &Value) -> Result<Self, Unreadable> {
        let origin = value
            .get("origin")
            .map(|origin| Ok((session(origin, "session")?, number(origin, "record")?)));
        Ok(Self {
            session: session(value, "session")?,
            owner: optional_text(value, "owner")?,
            limits: Limits::from_value(required(value, "limits")?)?,
            origin: origin.transpose()?,
            now: time(value, "now")?,
            seq: number(value, "seq")?,
            turns: number(value, "turns")?,
            effects: number(value, "effects")?,
            actuators: list(value, "actuators", Actuator::from_value)?.into(),
            focus: value.get("focus").cloned().map(Arc::new),
            history: list(value, "history", |value| Exchange::from_value(value).map(Kept::new))?
                .into(),
            decisions: list(value, "decisions", |value| Ruling::from_value(value).map(Kept::new))?
                .into(),
            schedules: BTreeMap::from_iter(list(value, "schedules", Planned::from_value)?),
            acts: BTreeMap::from_iter(list(value, "acts", |act| {
                Ok((effect_id(act, "effect")?, Pending::from_value(act)?))
            })?),
            queue: list(value, "queue", Waiting::from_value)?.into(),
            turn: value.get("turn").map(Turn::from_value).transpose()?,
        })
    }
}

/// Adds a list of kept things, left out when it is empty.
fn push_kept<T: Written>(out: &mut String, key: &str, kept: &VecDeque<Kept<T>>) {
    if kept.is_empty() {
        return;
    }
    let bytes: usize = kept.iter().map(|kept| kept.text().len() + 1).sum();
    out.reserve(key.len() + bytes + 2);
    out.push_str(key);
    for (index, kept) in kept.iter().enumerate() {
        out.push_str(if index == 0 { " (" } else { " " });
        out.push_str(kept.text());
    }
    out.push(')');
}

impl Planned {
    fn to_value(&self, name: &str) -> Value {
        Plist::new()
            .put("name", name)
            .put("due", self.due.0)
            .put_some("every", self.every)
            .put("payload", Value::clone(&self.payload))
            .done()
    }

    fn from_value(value: &Value) -> Result<(Box<str>, Self), Unreadable> {
        let every = value.get("every").map(|every| {
            every.as_i64().ok_or(Unreadable::new("every", "a number of milliseconds"))
        });
        let planned = Self {
            due: time(value, "due")?,
            every: every.transpose()?,
            payload: Arc::new(required(value, "payload")?.clone()),
        };
        Ok((field::text(value, "name")?, planned))
    }
}

impl Pending {
    fn to_value(&self, id: u64) -> Value {
        let plist = Plist::new()
            .put_number("effect", id)
            .put_number("turn", self.turn.0)
            .put_number("seq", self.seq.0);
        self.order
            .put(plist)
            .put("deadline", self.deadline.0)
            .put_flag("then-think", self.then_think)
            .done()
    }

    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        Ok(Self {
            turn: turn_id(value, "turn")?,
            seq: Seq(number(value, "seq")?),
            order: Order::from_value(value)?,
            deadline: time(value, "deadline")?,
            then_think: flag(value, "then-think")?,
        })
    }
}

impl Waiting {
    fn to_value(&self) -> Value {
        Plist::new()
            .put_some("seq", self.seq.map(seq_value))
            .put("signal", self.signal.to_value())
            .done()
    }

    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        let signal = Signal::from_value(required(value, "signal")?)?;
        Ok(Self::new(optional_number(value, "seq")?.map(Seq), Arc::new(signal)))
    }
}

impl Turn {
    fn to_value(&self) -> Value {
        let plist = Plist::new()
            .put_number("id", self.id.0)
            .put_some("seq", self.seq.map(seq_value))
            .put("signal", self.signal.to_value())
            .put("began", self.began.0);
        match self.stage {
            Stage::Consulting(id) => plist.put_number("consulting", id.0),
            Stage::Thinking(id) => plist.put_number("thinking", id.0),
            Stage::Acting => plist,
        }
        .put("next", Value::keyword(self.next.word()))
        .put_number("depth", self.depth)
        .put_number("tries", self.tries)
        .put_number("allowed", self.allowed)
        .put_list("said", self.said.iter().map(|part| Value::from(&**part)))
        .put_list("rejected", self.rejected.iter().map(|rejection| rejection.to_value()))
        .put_list("results", self.results.iter().map(|deed| deed.to_value()))
        .done()
    }

    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        let stage = if value.get("consulting").is_some() {
            Stage::Consulting(effect_id(value, "consulting")?)
        } else if value.get("thinking").is_some() {
            Stage::Thinking(effect_id(value, "thinking")?)
        } else {
            Stage::Acting
        };
        let next = name(value, "next")?;
        let next = Next::ALL.into_iter().find(|one| one.word() == next.as_str());
        Ok(Self {
            id: turn_id(value, "id")?,
            seq: optional_number(value, "seq")?.map(Seq),
            signal: Arc::new(Signal::from_value(required(value, "signal")?)?),
            began: time(value, "began")?,
            stage,
            next: next.ok_or(Unreadable::new("next", "what a turn does next"))?,
            depth: small_number(value, "depth")?,
            tries: small_number(value, "tries")?,
            allowed: small_number(value, "allowed")?,
            said: list(value, "said", element_text)?,
            rejected: list(value, "rejected", Rejection::from_value)?,
            results: list(value, "results", Deed::from_value)?,
        })
    }
}

impl Next {
    const ALL: [Self; 5] =
        [Self::Answer, Self::Refuse, Self::Think, Self::ThinkDeeper, Self::ThinkAgain];

    fn word(self) -> &'static str {
        match self {
            Next::Answer => "answer",
            Next::Refuse => "refuse",
            Next::Think => "think",
            Next::ThinkDeeper => "think-deeper",
            Next::ThinkAgain => "think-again",
        }
    }
}

fn seq_value(seq: Seq) -> Value {
    Value::int(seq.0.try_into().unwrap_or(i64::MAX))
}
