//! One call of a skill: it runs, asks its host, waits, goes on with the answer, ends. The log of requests and answers is
//! all that a second run needs to come to the same place.

use std::sync::Arc;

use bridle_sexp::Value;

use crate::answer::shown;
use crate::fault::{SkillFault, SkillFaultKind};
use crate::part::PartKind;
use crate::program::{ProgramCall, ProgramStep};
use crate::request::SkillRequest;
use crate::skill::{Skill, kind_word};

/// Call of a part of a skill.
#[derive(Debug, Clone, PartialEq)]
pub enum SkillCall {
    /// A signal, to be looked at.
    Perceive {
        /// The signal.
        signal: Value,
    },
    /// A prompt, to be answered.
    Think {
        /// Prompt, and knowledge beside it.
        context: Value,
    },
    /// A proposal, to be judged.
    Decide {
        /// The proposal.
        proposal: Value,
        /// Knowledge beside it.
        context: Value,
    },
    /// A word behind a slash.
    Command {
        /// Its name.
        name: String,
        /// Text behind it.
        text: String,
        /// Knowledge beside it.
        context: Value,
    },
    /// A tool.
    Tool {
        /// Its name.
        name: String,
        /// Property list of its arguments.
        arguments: Value,
    },
    /// An order to an actuator.
    Act {
        /// Name of the actuator.
        actuator: String,
        /// The action.
        action: Value,
        /// Knowledge beside it.
        context: Value,
    },
    /// A request to a model, to be made into one of its server.
    Encode {
        /// The request.
        request: Value,
    },
    /// An answer of a server, to be read.
    Decode {
        /// The answer.
        answer: Value,
    },
}

impl SkillCall {
    /// Kind and name of the part that it is for.
    pub fn part(&self) -> (PartKind, &str) {
        match self {
            Self::Perceive { .. } => (PartKind::Stage, "perceive"),
            Self::Think { .. } => (PartKind::Stage, "think"),
            Self::Decide { .. } => (PartKind::Stage, "decide"),
            Self::Command { name, .. } => (PartKind::Command, name),
            Self::Tool { name, .. } => (PartKind::Tool, name),
            Self::Act { actuator, .. } => (PartKind::Actuator, actuator),
            Self::Encode { .. } => (PartKind::Codec, "encode"),
            Self::Decode { .. } => (PartKind::Codec, "decode"),
        }
    }

    fn arguments(&self) -> Value {
        match self {
            Self::Perceive { signal } => Value::list([signal.clone()]),
            Self::Think { context } => Value::list([context.clone()]),
            Self::Decide { proposal, context } => Value::list([proposal.clone(), context.clone()]),
            Self::Command { text, context, .. } => {
                Value::list([Value::str(text.as_str()), context.clone()])
            }
            Self::Tool { arguments, .. } => Value::list([arguments.clone()]),
            Self::Act { action, context, .. } => Value::list([action.clone(), context.clone()]),
            Self::Encode { request } => Value::list([request.clone()]),
            Self::Decode { answer } => Value::list([answer.clone()]),
        }
    }
}

/// Request of a call and the answer that it got.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedRequest {
    /// The request.
    pub request: SkillRequest,
    /// The answer.
    pub answer: Value,
}

/// Requests and answers of a call, in order.
pub type CallLog = Vec<LoggedRequest>;

/// State of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum RunProgress {
    /// Waits for the answer to this.
    Asks(SkillRequest),
    /// Ended, with this value.
    Ends(Value),
}

/// A call of a skill under way. It holds its skill, so that it ends on the version that it began on.
pub struct SkillRun {
    skill: Arc<Skill>,
    program: Box<dyn ProgramCall>,
    log: CallLog,
    asked: Option<SkillRequest>,
}

impl SkillRun {
    /// Begins a call in a fresh instance.
    ///
    /// # Errors
    /// The skill has no such part, failed, ran into a limit, or asked for something that there is not.
    pub fn start(skill: &Arc<Skill>, call: &SkillCall) -> Result<(Self, RunProgress), SkillFault> {
        let (kind, name) = call.part();
        if !skill.has(kind, name) {
            let reason = format!("{} has no {} `{name}`", skill.manifest().id, kind.name());
            return Err(SkillFault::new(SkillFaultKind::Run, reason));
        }
        let program = skill.call();
        let mut run = Self { skill: Arc::clone(skill), program, log: Vec::new(), asked: None };
        let arguments = [kind_word(kind), Value::str(name), call.arguments()];
        let begun = run.program.begin(arguments);
        let progress = run.progress(begun)?;
        Ok((run, progress))
    }

    /// Runs a call again with the answers that it got before.
    ///
    /// # Errors
    /// As [`Self::start`]; also [`SkillFaultKind::Nondeterministic`] when it asks for something else, or ends early.
    pub fn replay(
        skill: &Arc<Skill>,
        call: &SkillCall,
        log: &[LoggedRequest],
    ) -> Result<(Self, RunProgress), SkillFault> {
        let (mut run, mut progress) = Self::start(skill, call)?;
        for (number, logged) in log.iter().enumerate() {
            match &progress {
                RunProgress::Asks(request) if *request == logged.request => {
                    progress = run.answer(logged.answer.clone())?;
                }
                other => return Err(differs(number, &logged.request, other)),
            }
        }
        Ok((run, progress))
    }

    /// Goes on with the answer to its request.
    ///
    /// # Errors
    /// As [`Self::start`]; also when nothing was asked.
    pub fn answer(&mut self, answer: Value) -> Result<RunProgress, SkillFault> {
        let Some(request) = self.asked.take() else {
            return Err(SkillFault::new(SkillFaultKind::Run, "the call waits for no answer"));
        };
        self.log.push(LoggedRequest { request, answer: answer.clone() });
        if self.log.len() > self.skill.limits().requests {
            let reason = format!("more than {} requests", self.skill.limits().requests);
            return Err(SkillFault::new(SkillFaultKind::Limit, reason));
        }
        let gone_on = self.program.resume(answer);
        self.progress(gone_on)
    }

    /// Requests so far, with their answers.
    pub fn log(&self) -> &[LoggedRequest] {
        &self.log
    }

    /// The skill that runs.
    pub fn skill(&self) -> &Arc<Skill> {
        &self.skill
    }

    /// Takes the text that it printed since the last time.
    pub fn take_output(&mut self) -> String {
        self.program.take_output()
    }

    fn progress(
        &mut self,
        result: Result<ProgramStep, SkillFault>,
    ) -> Result<RunProgress, SkillFault> {
        match result? {
            ProgramStep::Done(value) => Ok(RunProgress::Ends(value)),
            ProgramStep::Waits(value) => {
                let Some(request) = SkillRequest::read(&value) else {
                    let reason = format!("{} can be asked of nobody", shown(&value));
                    return Err(SkillFault::new(SkillFaultKind::Run, reason));
                };
                self.asked = Some(request.clone());
                Ok(RunProgress::Asks(request))
            }
        }
    }
}

fn differs(number: usize, before: &SkillRequest, now: &RunProgress) -> SkillFault {
    let now = match now {
        RunProgress::Asks(request) => shown(&request.to_value()),
        RunProgress::Ends(_) => "the end".to_owned(),
    };
    let before = shown(&before.to_value());
    let reason = format!("request {} was {before}, and is now {now}", number + 1);
    SkillFault::new(SkillFaultKind::Nondeterministic, reason)
}
