//! One host: its thinker and its actuators, called by the daemon.
//!
//! [`Host::consult`] is called while a session waits; [`Host::think`] and [`Host::act`] take as long
//! as they take, beside it. A host keeps nothing that a session depends on: what it answers is
//! recorded by the daemon, and replay never asks it.

use std::collections::BTreeMap;
#[cfg(feature = "faults")]
use std::path::PathBuf;
use std::sync::Arc;

use bridle_loop::{
    ConsultQuestion, ConsultStage, ConsultSubject, ConsultantRef, Draft, KeywordName, Order,
    Outcome, Proposal, ReflexAdvice, SignalContext, SignalKind, ThinkerFault, ThinkerPrompt,
};
use bridle_sexp::Value;

use crate::actuator::{
    Actuator, ActuatorConflict, ActuatorGroup, ActuatorRegistry, CrashOutcome, HostCatalog,
    ProposalPlace,
};
use crate::builtin::BuiltinThinker;
use crate::consultant::{self, ConsultReport, ConsultantRegistry, ConsultantTable};
use crate::error::HostError;
use crate::facts::DaemonFacts;
use crate::io::{ActIo, ThoughtIo};
use crate::script::ScriptedThinker;
use crate::stranger_input::{self, StrangerSpelling};
use crate::thinker::{Thinker, ThinkerChoice, ThinkerDirectory};

/// The thinker and the actuators of one daemon.
pub struct Host {
    thinker: Box<dyn Thinker>,
    facts: Arc<dyn DaemonFacts>,
    registry: ActuatorRegistry,
    consultants: ConsultantRegistry,
    /// Thinkers that a consultant may name.
    thinkers: ThinkerDirectory,
}

impl Host {
    /// Opens the thinker that was chosen; of the models, what they stand before.
    ///
    /// # Errors
    /// A script that cannot be read, or is none.
    pub fn new(thinker: &ThinkerChoice, facts: Arc<dyn DaemonFacts>) -> Result<Self, HostError> {
        let thinker: Box<dyn Thinker> = match thinker {
            ThinkerChoice::Models | ThinkerChoice::Builtin => Box::new(BuiltinThinker),
            ThinkerChoice::Script(path) => Box::new(ScriptedThinker::open(path)?),
        };
        Ok(Self::with_thinker(thinker, facts))
    }

    /// A host whose prompts go to this thinker.
    pub fn with_thinker(thinker: Box<dyn Thinker>, facts: Arc<dyn DaemonFacts>) -> Self {
        let (consultants, thinkers) = Default::default();
        Self { thinker, facts, registry: ActuatorRegistry::new(), consultants, thinkers }
    }

    /// Adds an actuator `tally`, which counts executions in files of `directory`.
    #[cfg(feature = "faults")]
    #[must_use]
    pub fn with_tally(mut self, directory: PathBuf) -> Self {
        self.registry.add_tally(directory);
        self
    }

    /// Puts a thinker before the one that there is.
    #[must_use]
    pub fn with_thinker_before(
        mut self,
        before: impl FnOnce(Box<dyn Thinker>) -> Box<dyn Thinker>,
    ) -> Self {
        self.thinker = before(self.thinker);
        self
    }

    /// Adds an actuator.
    #[must_use]
    pub fn with_actuator(mut self, name: &str, actuator: Box<dyn Actuator>) -> Self {
        self.registry.add(KeywordName::new(name), actuator);
        self
    }

    /// Puts other consultants in force. Whoever asks now is still answered by those before.
    pub fn swap_consultants(&self, table: ConsultantTable) {
        self.consultants.swap(table);
    }

    /// Puts other thinkers in force, under the names by which consultants ask for them.
    pub fn swap_thinkers(&self, thinkers: BTreeMap<KeywordName, Arc<dyn Thinker>>) {
        self.thinkers.swap(thinkers);
    }

    /// The consultants in force, and the guards that are missing.
    pub fn consultants(&self) -> Vec<ConsultantRef> {
        self.consultants.present().list()
    }

    /// Whether a question can be answered by [`Host::consult`] while a session waits: nobody but the thinker
    /// is asked, and nothing is read.
    pub fn answers_at_once(&self, context: &SignalContext, subject: &ConsultSubject) -> bool {
        *subject == ConsultSubject::Signal
            && context.signal.kind != SignalKind::Failed
            && !context.is_closing
            && !self.consultants.is_asked_at(ConsultStage::Perceive)
    }

    /// Advice of the thinker and the consultants, after as long as it takes.
    pub async fn ask_consultants(
        self: &Arc<Self>,
        question: Arc<ConsultQuestion>,
        io: &ThoughtIo,
    ) -> ConsultReport {
        let table = self.consultants.present();
        let mut advice = ReflexAdvice::default();
        if question.subject == ConsultSubject::Signal {
            let (host, asked) = (Arc::clone(self), Arc::clone(&question));
            let consulted = io.run_blocking(move || host.consult(&asked.context)).await;
            // Who broke off has said nothing.
            advice = consulted.unwrap_or_default();
            if question.context.signal.kind == SignalKind::Failed {
                return ConsultReport { advice, faults: Vec::new() };
            }
        }
        consultant::ask_all(&table, question, io, advice).await
    }

    /// Advice that needs no thought. Quick, except after a failed turn: then the files that it changed are
    /// read, and at the end of one that changed its stage.
    pub fn consult(&self, context: &SignalContext) -> ReflexAdvice {
        if context.is_closing {
            return self.registry.advise_at_end(context.session.as_str(), context.turn.0);
        }
        if context.signal.kind == SignalKind::Failed {
            return self.advise_after_failure(context);
        }
        self.thinker.consult(context, &*self.facts)
    }

    /// Advice of the actuators after a turn that failed: no thinker has a say in it.
    fn advise_after_failure(&self, context: &SignalContext) -> ReflexAdvice {
        let turn = context.signal.payload.get("turn").and_then(Value::as_i64);
        match turn.and_then(|turn| u64::try_from(turn).ok()) {
            Some(turn) => self.registry.advise_after_failure(context.session.as_str(), turn),
            None => ReflexAdvice::default(),
        }
    }

    /// The payload that answers an event of an unknown peer; `None` for everything but the built-in words.
    /// No thinker is asked, and nothing is looked up.
    pub fn answer_stranger(&self, payload: &Value) -> Option<Value> {
        let spelling = match self.thinker.answers_prose() {
            false => StrangerSpelling::Any,
            true => StrangerSpelling::Slash,
        };
        stranger_input::answer(payload, spelling)
    }

    /// A draft, after as long as it takes. `io` is given pieces of the answer as they come, and ends
    /// the wait.
    ///
    /// # Errors
    /// The thinker failed, or was canceled.
    pub async fn think(
        &self,
        prompt: &ThinkerPrompt,
        io: &ThoughtIo,
    ) -> Result<Draft, ThinkerFault> {
        let Some(name) = &prompt.thinker else { return self.thinker.think(prompt, io).await };
        let Some(thinker) = self.thinkers.find(name) else {
            let reason = format!("no thinker `{name}` is here").into();
            return Err(ThinkerFault { reason, retryable: false });
        };
        thinker.think(prompt, io).await
    }

    /// Whether a thought costs something.
    pub fn is_paid(&self, prompt: &ThinkerPrompt) -> bool {
        match &prompt.thinker {
            None => self.thinker.is_paid(prompt),
            Some(name) => self.thinkers.find(name).is_some_and(|thinker| thinker.is_paid(prompt)),
        }
    }

    /// The actuators that live here, with the descriptions of their actions.
    pub fn catalog(&self) -> Arc<HostCatalog> {
        self.registry.catalog()
    }

    /// Puts a group of actuators in the place of the one of this name; an empty group takes it away. Orders
    /// under way end with the actuators that they began with.
    ///
    /// # Errors
    /// A name is taken by the daemon or by another group, or a description is too large; nothing changes.
    pub fn replace_actuators(
        &self,
        group: &str,
        actuators: ActuatorGroup,
    ) -> Result<(), ActuatorConflict> {
        self.registry.replace(group, actuators)
    }

    /// Asks all actuators again what they can do.
    pub fn refresh_actuators(&self) {
        self.registry.refresh();
    }

    /// The payload to judge in the place of one that is proposed to this target; `None` leaves it as it is.
    /// Holds nothing that its readers may not see. Blocks.
    pub fn prepare_payload(
        &self,
        target: &KeywordName,
        payload: &Value,
        around: ProposalPlace<'_>,
    ) -> Option<Value> {
        self.registry.find(target)?.prepare(payload, around)
    }

    /// Whether the actuator of this name looks at proposals before they are judged.
    pub fn prepares_for(&self, target: &KeywordName) -> bool {
        self.registry.find(target).is_some_and(|actuator| actuator.prepares())
    }

    /// Lets actuators find out what has to be known about proposals before they are judged. Blocks
    /// if one of them is for such an actuator.
    pub fn prepare(&self, proposals: &mut [Proposal], around: ProposalPlace<'_>) {
        for proposal in proposals {
            let target = proposal.target.as_ref();
            let prepared =
                target.and_then(|target| self.prepare_payload(target, &proposal.payload, around));
            if let Some(prepared) = prepared {
                proposal.payload = prepared;
            }
        }
    }

    /// The end of an order that was begun before a crash, as far as its actuator can tell.
    pub fn crash_outcome(&self, order: &Order, record: u64) -> CrashOutcome {
        let actuator = self.registry.find(order.target());
        actuator.map_or(CrashOutcome::Unknown, |actuator| actuator.crash_outcome(order, record))
    }

    /// Carries out an order for one of the actuators of the host.
    pub async fn act(&self, order: &Order, io: &ActIo) -> Outcome {
        self.registry.act(order, io).await
    }

    /// Whether a proposal is for an actuator that looks at it before it is judged.
    pub fn prepares(&self, proposals: &[Proposal]) -> bool {
        let target = |proposal: &Proposal| self.registry.find(proposal.target.as_ref()?);
        proposals.iter().filter_map(target).any(|actuator| actuator.prepares())
    }
}
