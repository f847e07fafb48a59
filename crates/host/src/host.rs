//! One host: its thinker and its actuators, asked by the daemon.
//!
//! [`Host::consult`] is called while a session waits; [`Host::think`] and [`Host::act`] block and
//! are called on worker threads. A host keeps nothing that a session depends on: what it answers is
//! recorded by the daemon, and replay never asks it.

#[cfg(feature = "faults")]
use std::path::PathBuf;
use std::sync::Arc;

use bridle_loop::{
    ActuatorRef, Deed, Draft, KeywordName, Order, Outcome, Proposal, ReflexAdvice, SignalContext,
    SignalKind, ThinkerFault, ThinkerPrompt,
};
use bridle_sexp::Value;

use crate::actuator::{ActContext, Actuator, ActuatorRegistry, CrashOutcome, Readership};
use crate::builtin::{self, BuiltinInput, CommandSpelling, ProseAnswerer};
use crate::cancel::CancelFlag;
use crate::error::HostError;
use crate::facts::DaemonFacts;
use crate::script::{ScriptStimulus, ScriptedThinker};
use crate::stranger_input::{self, StrangerSpelling};
use crate::thinker::{TextDelta, ThinkerChoice};

/// The thinker and the actuators of one daemon.
pub struct Host {
    thinker: ThinkerKind,
    facts: Arc<dyn DaemonFacts>,
    registry: ActuatorRegistry,
}

enum ThinkerKind {
    Builtin,
    Script(ScriptedThinker),
}

impl Host {
    /// Opens the thinker that was chosen.
    ///
    /// # Errors
    /// A script that cannot be read, or is none.
    pub fn new(thinker: &ThinkerChoice, facts: Arc<dyn DaemonFacts>) -> Result<Self, HostError> {
        let thinker = match thinker {
            ThinkerChoice::Builtin => ThinkerKind::Builtin,
            ThinkerChoice::Script(path) => ThinkerKind::Script(ScriptedThinker::open(path)?),
        };
        Ok(Self { thinker, facts, registry: ActuatorRegistry::new() })
    }

    /// With an actuator `tally`, which counts executions in files of `directory`.
    #[cfg(feature = "faults")]
    #[must_use]
    pub fn with_tally(mut self, directory: PathBuf) -> Self {
        self.registry.add_tally(directory);
        self
    }

    /// With one more actuator, which needs what the daemon owns.
    #[must_use]
    pub fn with_actuator(mut self, name: &str, act: Box<dyn Actuator>) -> Self {
        self.registry.add(KeywordName::new(name), act);
        self
    }

    /// What can be said at once. Quick: looks up and prints; after a failed turn the files that it
    /// changed are looked at.
    pub fn consult(&self, context: &SignalContext) -> ReflexAdvice {
        if context.signal.kind == SignalKind::Failed {
            return self.after_failure(context);
        }
        match &self.thinker {
            ThinkerKind::Builtin => builtin::consult(context, &*self.facts),
            ThinkerKind::Script(_) => match BuiltinInput::of(&context.signal.payload) {
                // A person who has lost their way gets help, whatever the script is about.
                BuiltinInput::Word(word, CommandSpelling::With) => {
                    let text = builtin::answer(word, context, &*self.facts, ProseAnswerer::Script);
                    builtin::advice(text)
                }
                _ => ReflexAdvice { think: true, ..ReflexAdvice::default() },
            },
        }
    }

    /// What follows a turn that failed: no thinker has a say in it.
    fn after_failure(&self, context: &SignalContext) -> ReflexAdvice {
        let turn = context.signal.payload.get("turn").and_then(Value::as_i64);
        match turn.and_then(|turn| u64::try_from(turn).ok()) {
            Some(turn) => self.registry.after_failure(context.session.as_str(), turn),
            None => ReflexAdvice::default(),
        }
    }

    /// The payload that answers an event of a peer that nobody knows; `None` for everything but the
    /// built-in words. No thinker is asked, and nothing is looked up.
    pub fn answer_stranger(&self, payload: &Value) -> Option<Value> {
        let spelling = match &self.thinker {
            ThinkerKind::Builtin => StrangerSpelling::Any,
            ThinkerKind::Script(_) => StrangerSpelling::Slash,
        };
        stranger_input::answer(payload, spelling)
    }

    /// A draft, after as long as it takes. `stream` is given pieces of the answer as they come;
    /// `cancel` ends the wait.
    ///
    /// # Errors
    /// The thinker failed, or was canceled.
    pub fn think(
        &self,
        prompt: &ThinkerPrompt,
        stream: &mut dyn FnMut(TextDelta),
        cancel: &CancelFlag,
    ) -> Result<Draft, ThinkerFault> {
        match &self.thinker {
            // It has said at once what it has to say; asked again, it has nothing to add.
            ThinkerKind::Builtin => Ok(Draft { proposals: Vec::new() }),
            ThinkerKind::Script(script) => {
                let result = prompt.results.last().map(|deed| told(deed));
                let stimulus = ScriptStimulus {
                    session: &prompt.context.session,
                    payload: &prompt.context.signal.payload,
                    rejected: prompt.rejected.last().map(|rejection| &*rejection.reason),
                    result: result.as_ref(),
                    depth: prompt.depth,
                };
                script.think(stimulus, stream, cancel)
            }
        }
    }

    /// The actuators that live here.
    pub fn actuators(&self) -> Vec<ActuatorRef> {
        self.registry.list()
    }

    /// Finds out what has to be known about what is proposed to this target, as far as `readers` may see it.
    pub fn prepares(
        &self,
        target: &KeywordName,
        payload: &Value,
        readers: Readership,
    ) -> Option<Value> {
        self.registry.find(target)?.prepare(payload, readers)
    }

    /// Lets actuators find out what has to be known about proposals before they are judged. Blocks
    /// if one of them is for such an actuator.
    pub fn prepare(&self, proposals: &mut [Proposal], readers: Readership) {
        for proposal in proposals {
            let target = proposal.target.as_ref();
            let prepared =
                target.and_then(|target| self.prepares(target, &proposal.payload, readers));
            if let Some(prepared) = prepared {
                proposal.payload = prepared;
            }
        }
    }

    /// What became of an order that was begun before a crash.
    pub fn told(&self, order: &Order, record: u64) -> CrashOutcome {
        self.registry
            .find(order.target())
            .map_or(CrashOutcome::Unknown, |act| act.told(order, record))
    }

    /// Carries out an order for one of [`Host::actuators`].
    pub fn act(&self, order: &Order, around: &mut ActContext<'_>) -> Outcome {
        self.registry.act(order, around)
    }
}

/// A deed as the patterns of a script see it.
fn told(deed: &Deed) -> Value {
    let mut pairs = vec![
        ("target", deed.target.to_value()),
        ("action", deed.action.to_value()),
        ("outcome", Value::keyword(deed.outcome.word())),
    ];
    match &deed.outcome {
        Outcome::Done(value) => pairs.push(("value", value.clone())),
        Outcome::Denied(reason) | Outcome::Failed(reason) => {
            pairs.push(("reason", Value::str(reason.clone())));
        }
        Outcome::Expired | Outcome::Superseded | Outcome::UnknownOutcome => {}
    }
    Value::plist(pairs)
}
