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
use std::sync::{Arc, PoisonError, RwLock};

use bridle_loop::{
    ActionSpec, ActuatorLocation, ActuatorRef, ActuatorSpec, KeywordName, MAX_ACTION_SPECS,
    MAX_ACTUATOR_SPEC_BYTES, Order, Outcome, ReflexAdvice,
};
use bridle_sexp::Value;

use crate::io::{ActIo, HostFuture};

pub use system::SYSTEM_ACTIONS;

/// Carries out orders to one target.
pub trait Actuator: Send + Sync {
    /// Names of its actions, where the loop knows and describes them all.
    fn actions(&self) -> &'static [&'static str] {
        &[]
    }

    /// Descriptions of its actions. An actuator without any is not offered to sessions. Asked when the
    /// actuator comes, and again when the host is told that something has changed.
    fn specs(&self) -> Vec<ActionSpec> {
        ActionSpec::known_all(self.actions())
    }

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

/// The actuators of one host: those of the daemon, which stay, and groups that are swapped while it runs.
pub(crate) struct ActuatorRegistry {
    own: ActuatorGroup,
    groups: RwLock<Arc<NamedGroups>>,
    catalog: RwLock<Arc<HostCatalog>>,
}

/// Groups by name, in the order in which they came.
type NamedGroups = Vec<(Box<str>, ActuatorGroup)>;

/// Actuators by name.
pub type ActuatorGroup = Vec<(KeywordName, Arc<dyn Actuator>)>;

/// Actuators of the host that have actions, and the descriptions of those.
#[derive(Debug, Default, PartialEq)]
pub struct HostCatalog {
    /// Actuators, as sessions know them.
    pub actuators: Vec<ActuatorRef>,
    /// Descriptions, in the same order.
    pub specs: Vec<Arc<ActuatorSpec>>,
}

/// Reason why a group of actuators is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActuatorConflict {
    /// An actuator of the daemon, or of another group, has this name.
    #[error("an actuator `{0}` is there already")]
    Taken(KeywordName),
    /// The description is larger than a session may be offered.
    #[error(
        "actuator `{0}` describes more than {MAX_ACTION_SPECS} actions or {MAX_ACTUATOR_SPEC_BYTES} bytes"
    )]
    TooLarge(KeywordName),
}

impl ActuatorRegistry {
    /// Makes the registry that every host begins with.
    pub(crate) fn new() -> Self {
        let registry = Self {
            own: vec![
                (KeywordName::new("system"), Arc::new(system::SystemActuator)),
                (KeywordName::new("log"), Arc::new(log::LogActuator)),
            ],
            groups: RwLock::default(),
            catalog: RwLock::default(),
        };
        registry.refresh();
        registry
    }

    /// Adds the actuator that counts executions in files of `directory`.
    #[cfg(feature = "faults")]
    pub(crate) fn add_tally(&mut self, directory: PathBuf) {
        self.add(KeywordName::new("tally"), Box::new(tally::TallyActuator::new(directory)));
    }

    /// Adds an actuator of the daemon, in the place of one of the same name.
    pub(crate) fn add(&mut self, name: KeywordName, actuator: Box<dyn Actuator>) {
        // One of the same name is in the place of what every host begins with.
        self.own.retain(|(known, _)| *known != name);
        self.own.push((name, actuator.into()));
        self.refresh();
    }

    /// Puts a group in the place of the one of this name; an empty one takes it away. Orders under way
    /// end with the actuators that they began with.
    pub(crate) fn replace(
        &self,
        group: &str,
        actuators: ActuatorGroup,
    ) -> Result<(), ActuatorConflict> {
        for (name, actuator) in &actuators {
            let spec = ActuatorSpec { name: name.clone(), actions: actuator.specs() };
            let bytes = spec.to_value().to_string().len();
            if spec.actions.len() > MAX_ACTION_SPECS || bytes > MAX_ACTUATOR_SPEC_BYTES {
                return Err(ActuatorConflict::TooLarge(name.clone()));
            }
        }
        let mut groups = self.groups.write().unwrap_or_else(PoisonError::into_inner);
        let others = groups.iter().filter(|(known, _)| **known != *group);
        let mut taken: Vec<&KeywordName> = others
            .clone()
            .flat_map(|(_, all)| all)
            .chain(&self.own)
            .map(|(name, _)| name)
            .collect();
        for (name, _) in &actuators {
            if taken.contains(&name) {
                return Err(ActuatorConflict::Taken(name.clone()));
            }
            taken.push(name);
        }
        let mut next: Vec<_> = others.cloned().collect();
        if !actuators.is_empty() {
            next.push((group.into(), actuators));
        }
        next.sort_by(|(one, _), (other, _)| one.cmp(other));
        *groups = Arc::new(next);
        drop(groups);
        self.refresh();
        Ok(())
    }

    /// Asks all actuators again what they can do.
    pub(crate) fn refresh(&self) {
        let describe = |(name, actuator): &(KeywordName, Arc<dyn Actuator>)| {
            let actions = actuator.specs();
            (!actions.is_empty()).then(|| Arc::new(ActuatorSpec { name: name.clone(), actions }))
        };
        let groups = self.groups();
        let all = self.own.iter().chain(groups.iter().flat_map(|(_, group)| group));
        let specs: Vec<Arc<ActuatorSpec>> = all.filter_map(describe).collect();
        let entry = |spec: &Arc<ActuatorSpec>| ActuatorRef {
            name: spec.name.clone(),
            place: ActuatorLocation::Host,
            actions: spec.action_names(),
            specs: Some(spec.digest()),
        };
        let catalog = HostCatalog { actuators: specs.iter().map(entry).collect(), specs };
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalog);
    }

    /// The actuators that have actions.
    pub(crate) fn catalog(&self) -> Arc<HostCatalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn groups(&self) -> Arc<NamedGroups> {
        Arc::clone(&self.groups.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Finds an actuator by its name.
    pub(crate) fn find(&self, name: &KeywordName) -> Option<Arc<dyn Actuator>> {
        let groups = self.groups();
        let mut all = self.own.iter().chain(groups.iter().flat_map(|(_, group)| group));
        all.find(|(known, _)| known == name).map(|(_, actuator)| Arc::clone(actuator))
    }

    /// Advice of the first actuator that proposes something after a failed turn.
    pub(crate) fn advise_after_failure(&self, session: &str, turn: u64) -> ReflexAdvice {
        let mut all = self.own.iter().map(|(_, act)| act.advise_after_failure(session, turn));
        all.find(|advice| !advice.proposals.is_empty()).unwrap_or_default()
    }

    /// Advice of the first actuator that proposes something at the end of a turn.
    pub(crate) fn advise_at_end(&self, session: &str, turn: u64) -> ReflexAdvice {
        let mut all = self.own.iter().map(|(_, act)| act.advise_at_end(session, turn));
        all.find(|advice| !advice.proposals.is_empty()).unwrap_or_default()
    }

    /// Carries an order out.
    pub(crate) async fn act(&self, order: &Order, io: &ActIo) -> Outcome {
        if let Some(actuator) = self.find(order.target()) {
            return actuator.act(order, io).await;
        }
        let text = format!("no actuator `{}` in the host any more", order.target());
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
