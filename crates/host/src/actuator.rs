//! Actuators of the host, by name. Each accepts an [`Order`] and nothing else, and only
//! `decide` makes those: what was not decided cannot be done here.
//!
//! [`Host`](crate::Host) has the registry; the daemon adds those that need what it owns. Shells are
//! actuators too, and in no registry: the daemon sends orders to them.

mod log;
mod system;
#[cfg(feature = "faults")]
mod tally;

#[cfg(feature = "faults")]
use std::path::PathBuf;

use bridle_loop::{ActuatorLocation, ActuatorRef, KeywordName, Order, Outcome, ReflexAdvice};
use bridle_sexp::Value;

use crate::io::{ActIo, HostFuture};

/// Carries out orders to one target.
pub trait Actuator: Send + Sync {
    /// Names of its actions. An actuator without any is not offered to sessions.
    fn actions(&self) -> &'static [&'static str];

    /// Carries an order out. What blocks runs by [`ActIo::run_blocking`]; when `io` is canceled, it stops
    /// what it has begun and says what had happened.
    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome>;

    /// Whether it looks at proposals before they are judged: see `prepare`.
    fn prepares(&self) -> bool {
        false
    }

    /// The payload to judge in the place of one that somebody proposes: with facts that the policies and
    /// the answerer of a question need. The readers can see them, whatever is decided, so nothing is
    /// read that they may not see. `None` leaves the payload as it is. Blocks.
    fn prepare(&self, payload: &Value, around: ProposalPlace<'_>) -> Option<Value> {
        let _ = (payload, around);
        None
    }

    /// Proposals at the end of a turn that changed its stage. Blocks.
    fn advise_at_end(&self, session: &str, turn: u64) -> ReflexAdvice {
        let _ = (session, turn);
        ReflexAdvice::default()
    }

    /// Proposals after a failed turn, such as taking back what it changed. Blocks.
    fn advise_after_failure(&self, session: &str, turn: u64) -> ReflexAdvice {
        let _ = (session, turn);
        ReflexAdvice::default()
    }

    /// The end of an order that was begun before a crash and has no outcome in the record.
    fn crash_outcome(&self, order: &Order, record: u64) -> CrashOutcome {
        let _ = (order, record);
        CrashOutcome::Unknown
    }
}

/// Place of a proposal that nobody has judged yet.
#[derive(Clone, Copy, Debug)]
pub struct ProposalPlace<'p> {
    /// Name of the session.
    pub session: &'p str,
    /// Readers of what is found out.
    pub readers: Readership,
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

/// The end of an order that was begun before a crash.
#[derive(Debug, PartialEq)]
pub enum CrashOutcome {
    /// Ended, with this outcome.
    Ended(Outcome),
    /// Not carried out, or not wholly, and can be now without doing anything twice.
    NotDone,
    /// Unknown to the actuator.
    Unknown,
}

/// The actuators of one host.
pub(crate) struct ActuatorRegistry(Vec<(KeywordName, Box<dyn Actuator>)>);

impl ActuatorRegistry {
    /// Makes the registry that every host begins with.
    pub(crate) fn new() -> Self {
        Self(vec![
            (KeywordName::new("system"), Box::new(system::SystemActuator)),
            (KeywordName::new("log"), Box::new(log::LogActuator)),
        ])
    }

    /// Adds the actuator that counts executions in files of `directory`.
    #[cfg(feature = "faults")]
    pub(crate) fn add_tally(&mut self, directory: PathBuf) {
        self.0.push((KeywordName::new("tally"), Box::new(tally::TallyActuator::new(directory))));
    }

    /// Adds an actuator of the daemon.
    pub(crate) fn add(&mut self, name: KeywordName, actuator: Box<dyn Actuator>) {
        self.0.push((name, actuator));
    }

    /// Finds an actuator by its name.
    pub(crate) fn find(&self, name: &KeywordName) -> Option<&dyn Actuator> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, act)| &**act)
    }

    /// Advice of the first actuator that proposes something after a failed turn.
    pub(crate) fn advise_after_failure(&self, session: &str, turn: u64) -> ReflexAdvice {
        let mut all = self.0.iter().map(|(_, act)| act.advise_after_failure(session, turn));
        all.find(|advice| !advice.proposals.is_empty()).unwrap_or_default()
    }

    /// Advice of the first actuator that proposes something at the end of a turn.
    pub(crate) fn advise_at_end(&self, session: &str, turn: u64) -> ReflexAdvice {
        let mut all = self.0.iter().map(|(_, act)| act.advise_at_end(session, turn));
        all.find(|advice| !advice.proposals.is_empty()).unwrap_or_default()
    }

    /// Lists the actuators that have actions.
    pub(crate) fn list(&self) -> Vec<ActuatorRef> {
        let entry = |(name, act): &(KeywordName, Box<dyn Actuator>)| ActuatorRef {
            name: name.clone(),
            place: ActuatorLocation::Host,
            actions: act.actions().iter().map(|action| KeywordName::new(action)).collect(),
        };
        self.0.iter().filter(|(_, act)| !act.actions().is_empty()).map(entry).collect()
    }

    /// Carries an order out.
    pub(crate) async fn act(&self, order: &Order, io: &ActIo) -> Outcome {
        let known = self.0.iter().find(|(name, _)| name == order.target());
        if let Some((_, actuator)) = known {
            return actuator.act(order, io).await;
        }
        let names: Vec<String> = self.0.iter().map(|(name, _)| format!("`{name}`")).collect();
        let (target, names) = (order.target(), names.join(", "));
        let text = format!("no actuator `{target}` in the host, expected one of {names}");
        Outcome::Failed(text.into())
    }
}

/// The outcome of an order whose action this actuator does not know. `decide` has looked at the
/// list of actions before, so nobody sees it unless the two disagree.
fn refuse_foreign_action(order: &Order, actions: &[&str]) -> Outcome {
    let (target, action) = (order.target(), order.action().name());
    let actions = actions.join("`, `");
    Outcome::Failed(format!("`{target}` got the action `{action}`, expected `{actions}`").into())
}
