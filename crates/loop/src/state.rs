//! What a session remembers: a fold of its events and of nothing else.
//!
//! Owned by whoever runs the session; changed only by [`crate::step()`]. Everything in it is bounded
//! by the session's limits, and all of it is written by `to_value`: two states with the same text
//! behave alike for ever.

mod kept;
mod value;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bridle_sexp::Value;

pub(crate) use self::kept::Kept;
use crate::decide::Order;
use crate::effect::{Context, Deed, Effect, Exchange, Prompt, Rejection, Ruling};
use crate::event::{Actuator, Event, Signal};
use crate::ids::{EffectId, Seq, SessionId, Time, TurnId};
use crate::limits::Limits;
use crate::weight::weight;

/// The state of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub(crate) session: SessionId,
    /// The principal it belongs to; nobody before it began.
    pub(crate) owner: Option<Box<str>>,
    pub(crate) limits: Limits,
    /// The session and record that it was forked from.
    pub(crate) origin: Option<(SessionId, u64)>,
    /// The time of the last event; it never goes back.
    pub(crate) now: Time,
    /// The last number given, of each kind.
    pub(crate) seq: u64,
    pub(crate) turns: u64,
    pub(crate) effects: u64,
    pub(crate) actuators: Arc<[Actuator]>,
    /// Where the user is.
    pub(crate) focus: Option<Arc<Value>>,
    pub(crate) history: VecDeque<Kept<Exchange>>,
    pub(crate) decisions: VecDeque<Kept<Ruling>>,
    pub(crate) schedules: BTreeMap<Box<str>, Planned>,
    /// Acts whose outcome is awaited, those of past turns included.
    pub(crate) acts: BTreeMap<EffectId, Pending>,
    /// Signals that wait for their turn.
    pub(crate) queue: VecDeque<Waiting>,
    pub(crate) turn: Option<Turn>,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    pub(crate) due: Time,
    /// Milliseconds until it is due again; never for one that fires once.
    pub(crate) every: Option<i64>,
    pub(crate) payload: Arc<Value>,
}

/// An act whose outcome is awaited.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pending {
    pub(crate) turn: TurnId,
    pub(crate) seq: Seq,
    pub(crate) order: Order,
    pub(crate) deadline: Time,
    pub(crate) then_think: bool,
}

/// A signal that waits for its turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waiting {
    /// None for a signal that came from time alone.
    pub(crate) seq: Option<Seq>,
    pub(crate) signal: Arc<Signal>,
    /// The weight of its payload, counted once.
    bytes: usize,
}

impl Waiting {
    pub(crate) fn new(seq: Option<Seq>, signal: Arc<Signal>) -> Self {
        let bytes = weight(&signal.payload);
        Self { seq, signal, bytes }
    }

    /// What it counts against the limit of the queue.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The turn that runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn {
    pub(crate) id: TurnId,
    pub(crate) seq: Option<Seq>,
    pub(crate) signal: Arc<Signal>,
    pub(crate) began: Time,
    pub(crate) stage: Stage,
    /// Whether a thinker is to be asked when the acts of this turn have ended.
    pub(crate) next: Next,
    pub(crate) depth: u32,
    pub(crate) tries: u32,
    /// Proposals allowed so far.
    pub(crate) allowed: u32,
    /// What is said to the asker, one part a message.
    pub(crate) said: Vec<Box<str>>,
    pub(crate) rejected: Vec<Arc<Rejection>>,
    pub(crate) results: Vec<Arc<Deed>>,
}

/// What a turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Consulting(EffectId),
    Thinking(EffectId),
    /// The outcomes of its acts.
    Acting,
}

/// What a turn does when its acts have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Answer.
    Answer,
    /// Answer that something was refused.
    Refuse,
    /// Ask a thinker, as the reflexes advised.
    Think,
    /// Ask a thinker what follows from the outcomes.
    ThinkDeeper,
    /// Ask a thinker for something else, because of a veto.
    ThinkAgain,
}

impl Turn {
    pub(crate) fn new(id: TurnId, waiting: Waiting, began: Time) -> Self {
        Self {
            id,
            seq: waiting.seq,
            signal: waiting.signal,
            began,
            stage: Stage::Acting,
            next: Next::Answer,
            depth: 0,
            tries: 0,
            allowed: 0,
            said: Vec::new(),
            rejected: Vec::new(),
            results: Vec::new(),
        }
    }

    /// An outcome is to be thought about. A veto counts as a try in any case.
    pub(crate) fn think_deeper(&mut self) {
        if self.next != Next::ThinkAgain {
            self.next = Next::ThinkDeeper;
        }
    }
}

impl State {
    /// The state of a session to which nothing has happened.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            owner: None,
            limits: Limits::default(),
            origin: None,
            now: Time(0),
            seq: 0,
            turns: 0,
            effects: 0,
            actuators: Arc::new([]),
            focus: None,
            history: VecDeque::new(),
            decisions: VecDeque::new(),
            schedules: BTreeMap::new(),
            acts: BTreeMap::new(),
            queue: VecDeque::new(),
            turn: None,
        }
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The principal that the session belongs to; none before it began.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// Its limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The number that the next event of the stream gets.
    pub fn next_seq(&self) -> Seq {
        Seq(self.seq.saturating_add(1))
    }

    /// The number that this event will get, if it is one of the stream.
    pub fn seq_of(&self, event: &Event) -> Option<Seq> {
        match event {
            Event::Signal(_) => Some(self.next_seq()),
            Event::Acted { effect, .. } if self.acts.contains_key(effect) => Some(self.next_seq()),
            _ => None,
        }
    }

    /// Whether an answer to this effect is still awaited.
    pub fn awaits(&self, effect: EffectId) -> bool {
        let thought = match self.turn.as_ref().map(|turn| turn.stage) {
            Some(Stage::Consulting(id) | Stage::Thinking(id)) => Some(id),
            Some(Stage::Acting) | None => None,
        };
        thought == Some(effect) || self.acts.contains_key(&effect)
    }

    /// The effects whose result is awaited, to be carried out again where that is possible.
    pub fn outstanding(&self) -> Vec<(EffectId, Effect)> {
        let thought = self.turn.as_ref().and_then(|turn| match turn.stage {
            Stage::Consulting(id) => {
                Some((id, Effect::Consult { id, context: self.context(turn) }))
            }
            Stage::Thinking(id) => Some((id, Effect::Think { id, prompt: self.prompt(turn) })),
            Stage::Acting => None,
        });
        let acts = self.acts.iter().map(|(id, pending)| {
            let Pending { turn, seq, order, deadline, .. } = pending.clone();
            (*id, Effect::Act { id: *id, seq, turn, order, deadline })
        });
        acts.chain(thought).collect()
    }

    /// When `Tick::Deadline` is wanted next.
    pub fn next_deadline(&self) -> Option<Time> {
        let turn = self.turn.as_ref().map(|turn| self.turn_deadline(turn));
        let acts = self.acts.values().map(|pending| pending.deadline);
        let schedules = self.schedules.values().map(|planned| planned.due);
        turn.into_iter().chain(acts).chain(schedules).min()
    }

    /// The turn that runs.
    pub fn turn(&self) -> Option<TurnId> {
        self.turn.as_ref().map(|turn| turn.id)
    }

    /// What can be reached.
    pub fn actuators(&self) -> &[Actuator] {
        &self.actuators
    }

    /// Whether nothing runs, waits or is awaited; schedules may still be due one day.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none() && self.queue.is_empty() && self.acts.is_empty()
    }

    pub(crate) fn turn_deadline(&self, turn: &Turn) -> Time {
        turn.began.after(self.limits.turn_deadline_ms)
    }

    pub(crate) fn take_seq(&mut self) -> Seq {
        self.seq = self.seq.saturating_add(1);
        Seq(self.seq)
    }

    pub(crate) fn take_effect(&mut self) -> EffectId {
        self.effects = self.effects.saturating_add(1);
        EffectId(self.effects)
    }

    pub(crate) fn context(&self, turn: &Turn) -> Context {
        Context {
            session: self.session.clone(),
            turn: turn.id,
            seq: turn.seq,
            at: turn.began,
            signal: turn.signal.clone(),
            focus: self.focus.clone(),
            history: self.history.iter().map(Kept::thing).cloned().collect(),
            decisions: self.decisions.iter().map(Kept::thing).cloned().collect(),
            actuators: self.actuators.clone(),
        }
    }

    pub(crate) fn prompt(&self, turn: &Turn) -> Prompt {
        Prompt {
            context: self.context(turn),
            depth: turn.depth,
            tries: turn.tries,
            rejected: turn.rejected.clone(),
            results: turn.results.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
