//! Actuators of the host, by name. Each accepts an [`Order`] and nothing else, and only
//! `decide` makes those: what was not decided cannot be done here.
//!
//! [`Host`](crate::Host) holds the list; the daemon may add some that need what it owns. Shells are
//! actuators too; those are the daemon's.

mod log;
mod system;
#[cfg(feature = "faults")]
mod tally;

#[cfg(feature = "faults")]
use std::path::PathBuf;

use bridle_loop::{
    ActuatorLocation, ActuatorRef, EffectId, KeywordName, Order, Outcome, ReflexAdvice, SessionId,
    TurnId,
};
use bridle_sexp::Value;

/// Carries out orders of one name.
pub trait Actuator: Send + Sync {
    /// The actions that it knows; none: it is not there yet, and nobody is told of it.
    fn actions(&self) -> &'static [&'static str];

    /// Carries an order out. Blocks.
    fn act(&self, order: &Order, around: &mut ActContext<'_>) -> Outcome;

    /// What is to be judged in the place of a payload that somebody proposes: the same, with what has
    /// to be known about it. `readers` can see what is put there, whatever is decided, so nothing is
    /// looked at that they may not see. Blocks; `None` leaves it as it is.
    fn prepare(&self, payload: &Value, readers: Readership) -> Option<Value> {
        let _ = (payload, readers);
        None
    }

    /// What it proposes after a turn that failed, and may have had it change something. Blocks.
    fn after_failure(&self, session: &str, turn: u64) -> ReflexAdvice {
        let _ = (session, turn);
        ReflexAdvice::default()
    }

    /// What became of an order that was begun, and whose end a crash kept from being recorded.
    fn told(&self, order: &Order, record: u64) -> CrashOutcome {
        let _ = (order, record);
        CrashOutcome::Unknown
    }
}

/// Readers of what is put into a payload before it is judged: it is recorded, and comes back with the stream of
/// its session, also when the proposal is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readership {
    /// Owners of the daemon alone.
    Owners,
    /// Others, too.
    Others,
}

/// What is known of an order that was begun.
#[derive(Debug, PartialEq)]
pub enum CrashOutcome {
    /// It ended so.
    Ended(Outcome),
    /// It was not carried out, or not wholly, and can be now without doing anything twice.
    NotDone,
    /// Nobody knows.
    Unknown,
}

/// Where an order is carried out.
pub struct ActContext<'a> {
    /// Whose order it is.
    pub session: &'a SessionId,
    /// Which of its effects it is; never the same for two orders.
    pub effect: EffectId,
    /// The turn in which it was ordered.
    pub turn: TurnId,
    /// The number of the record that has the order; 0 if that is not known.
    pub record: u64,
    /// For whom it is carried out.
    pub principal: &'a str,
    /// The present, in milliseconds since 1970.
    pub at: i64,
    /// Takes the notes of `log`: the daemon writes them where it writes its own.
    pub note: &'a mut dyn FnMut(&str),
}

/// The actuators of one host.
pub(crate) struct ActuatorRegistry(Vec<(KeywordName, Box<dyn Actuator>)>);

impl ActuatorRegistry {
    /// Those that every host has.
    pub(crate) fn new() -> Self {
        Self(vec![
            (KeywordName::new("system"), Box::new(system::SystemActuator)),
            (KeywordName::new("log"), Box::new(log::LogActuator)),
        ])
    }

    /// Adds the one that counts executions in files of `directory`.
    #[cfg(feature = "faults")]
    pub(crate) fn add_tally(&mut self, directory: PathBuf) {
        self.0.push((KeywordName::new("tally"), Box::new(tally::TallyActuator::new(directory))));
    }

    /// Adds one of the daemon's.
    pub(crate) fn add(&mut self, name: KeywordName, act: Box<dyn Actuator>) {
        self.0.push((name, act));
    }

    /// The one of this name.
    pub(crate) fn find(&self, name: &KeywordName) -> Option<&dyn Actuator> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, act)| &**act)
    }

    /// What the first of them that has something to say proposes after a turn that failed.
    pub(crate) fn after_failure(&self, session: &str, turn: u64) -> ReflexAdvice {
        let mut all = self.0.iter().map(|(_, act)| act.after_failure(session, turn));
        all.find(|advice| !advice.proposals.is_empty()).unwrap_or_default()
    }

    /// What can be reached here.
    pub(crate) fn list(&self) -> Vec<ActuatorRef> {
        let entry = |(name, act): &(KeywordName, Box<dyn Actuator>)| ActuatorRef {
            name: name.clone(),
            place: ActuatorLocation::Host,
            actions: act.actions().iter().map(|action| KeywordName::new(action)).collect(),
        };
        self.0.iter().filter(|(_, act)| !act.actions().is_empty()).map(entry).collect()
    }

    /// Carries an order out.
    pub(crate) fn act(&self, order: &Order, around: &mut ActContext<'_>) -> Outcome {
        match self.0.iter().find(|(name, _)| name == order.target()) {
            Some((_, act)) => act.act(order, around),
            None => {
                let names: Vec<String> =
                    self.0.iter().map(|(name, _)| format!("`{name}`")).collect();
                let (target, names) = (order.target(), names.join(", "));
                Outcome::Failed(
                    format!("no actuator `{target}` in the host, expected one of {names}").into(),
                )
            }
        }
    }
}

/// The outcome for an order whose action this actuator does not know. `decide` has looked at the
/// list of actions before, so nobody sees it unless the two disagree.
fn not_mine(order: &Order, actions: &[&str]) -> Outcome {
    let (target, action) = (order.target(), order.action().name());
    let actions = actions.join("`, `");
    Outcome::Failed(format!("`{target}` got the action `{action}`, expected `{actions}`").into())
}
