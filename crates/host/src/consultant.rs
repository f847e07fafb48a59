//! Consultants: the trait, the table of those that are asked, and how all of a stage are asked together.
//!
//! A consultant looks at a turn and may propose, veto or narrow. Those of one stage run side by side, each in a
//! task of its own. A guard that fails, takes too long or is not here vetoes; any other is left out then.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bridle_loop::{
    ConsultFinding, ConsultQuestion, ConsultStage, ConsultantRef, KeywordName, MAX_FINDINGS,
    ReflexAdvice, ThinkerFault,
};
use tokio::task::JoinSet;

use crate::io::{HostFuture, ThoughtIo};

/// Time that one consultant has; then it is told to end and counts as failed.
pub const CONSULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Proposals of all consultants of one stage that are taken; the others are dropped.
const MAX_ADVISED_PROPOSALS: usize = 32;

/// Looks at a turn at some of its stages.
pub trait Consultant: Send + Sync {
    /// Name, stages, and whether nothing goes on without its word. The same for as long as it is in a table.
    fn about(&self) -> ConsultantRef;

    /// Advice. Proposals and a thinker count at the first stage alone; objections are taken as its own, whatever
    /// name they carry. When `io` is canceled, nobody waits any more. What blocks runs by
    /// [`ThoughtIo::run_blocking`].
    ///
    /// # Errors
    /// The consultant has no answer: a veto of everything if it is a guard.
    fn consult<'a>(
        &'a self,
        question: &'a ConsultQuestion,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<ReflexAdvice, ThinkerFault>>;
}

/// Advice of the consultants of a stage.
#[derive(Debug, Default)]
pub struct ConsultReport {
    /// Their advice, put together.
    pub advice: ReflexAdvice,
    /// Those that had no answer, and why. A guard among them has vetoed.
    pub faults: Vec<(KeywordName, Box<str>)>,
}

/// Consultants of one host, and the guards that must be there.
#[derive(Default)]
pub struct ConsultantTable {
    consultants: Vec<Arc<dyn Consultant>>,
    /// Guards that must be there.
    required: BTreeSet<KeywordName>,
}

impl ConsultantTable {
    /// A table of these, in the order in which their proposals count.
    pub fn new(consultants: Vec<Arc<dyn Consultant>>) -> Self {
        Self { consultants, required: BTreeSet::new() }
    }

    /// Has everything vetoed while a guard of one of these names is not there.
    #[must_use]
    pub fn requiring(self, guards: impl IntoIterator<Item = KeywordName>) -> Self {
        Self { required: guards.into_iter().collect(), ..self }
    }

    /// The consultants, and the guards that are missing.
    pub(crate) fn list(&self) -> Vec<ConsultantRef> {
        let present = self.consultants.iter().map(|consultant| consultant.about());
        let missing = self.missing().into_iter().map(|name| ConsultantRef {
            name,
            stages: vec![ConsultStage::Judge],
            is_guard: true,
        });
        present.chain(missing).collect()
    }

    fn missing(&self) -> Vec<KeywordName> {
        let is_there = |name: &&KeywordName| {
            self.consultants.iter().any(|consultant| {
                let about = consultant.about();
                about.name == **name && about.is_guard
            })
        };
        self.required.iter().filter(|name| !is_there(name)).cloned().collect()
    }

    fn of_stage(&self, stage: ConsultStage) -> impl Iterator<Item = &Arc<dyn Consultant>> {
        self.consultants.iter().filter(move |one| one.about().stages.contains(&stage))
    }
}

/// The table that is in force; replaced as a whole.
#[derive(Default)]
pub(crate) struct ConsultantRegistry(RwLock<Arc<ConsultantTable>>);

impl ConsultantRegistry {
    /// The table in force. Whoever began with one ends with it.
    pub(crate) fn present(&self) -> Arc<ConsultantTable> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another table in force.
    pub(crate) fn swap(&self, table: ConsultantTable) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    /// Whether somebody is asked at a stage.
    pub(crate) fn is_asked_at(&self, stage: ConsultStage) -> bool {
        self.present().of_stage(stage).next().is_some()
    }
}

/// Asks all consultants of a stage, and puts what they say behind `advice`.
pub(crate) async fn ask_all(
    table: &ConsultantTable,
    question: Arc<ConsultQuestion>,
    io: &ThoughtIo,
    advice: ReflexAdvice,
) -> ConsultReport {
    let mut report = ConsultReport { advice, faults: Vec::new() };
    let stage = question.subject.stage();
    let mut asking = JoinSet::new();
    for (place, consultant) in table.of_stage(stage).enumerate() {
        let (consultant, question) = (Arc::clone(consultant), Arc::clone(&question));
        let io = io.clone();
        asking.spawn(async move { (place, ask_one(consultant, question, &io).await) });
    }
    let mut answers = Vec::new();
    while let Some(answer) = asking.join_next().await {
        // A consultant that breaks off does so in a task of its own.
        answers.extend(answer.ok());
    }
    answers.sort_by_key(|(place, _)| *place);
    for (_, (about, answer)) in answers {
        match answer {
            Ok(more) => add(&mut report.advice, more, stage),
            Err(reason) => {
                if about.is_guard {
                    report.advice.findings.push(ConsultFinding::veto(about.name.clone(), &reason));
                }
                report.faults.push((about.name, reason));
            }
        }
    }
    if stage == ConsultStage::Judge {
        let veto = |name| ConsultFinding::veto(name, "this guard is not here");
        report.advice.findings.extend(table.missing().into_iter().map(veto));
    }
    report
}

/// Asks one consultant.
///
/// # Errors
/// The consultant failed, broke off, or took too long.
async fn ask_one(
    consultant: Arc<dyn Consultant>,
    question: Arc<ConsultQuestion>,
    io: &ThoughtIo,
) -> (ConsultantRef, Result<ReflexAdvice, Box<str>>) {
    let about = consultant.about();
    let own = io.narrowed();
    let cancel = own.cancel().clone();
    let answering = tokio::spawn(async move { consultant.consult(&question, &own).await });
    let abort = answering.abort_handle();
    let answer = tokio::time::timeout(CONSULT_TIMEOUT, answering).await;
    cancel.cancel();
    abort.abort();
    let reason = match answer {
        Ok(Ok(Ok(mut advice))) => {
            advice.standing = false;
            advice.findings.truncate(MAX_FINDINGS + 1);
            advice.findings.iter_mut().for_each(|finding| finding.by = about.name.clone());
            return (about, Ok(advice));
        }
        Ok(Ok(Err(fault))) => format!("it failed: {}", fault.reason),
        Ok(Err(_)) => "it broke off".to_owned(),
        Err(_) => format!("it had no answer in {} s", CONSULT_TIMEOUT.as_secs()),
    };
    (about, Err(reason.into()))
}

/// Puts the advice of a consultant behind that of others.
fn add(advice: &mut ReflexAdvice, more: ReflexAdvice, stage: ConsultStage) {
    advice.findings.extend(more.findings);
    if stage != ConsultStage::Perceive {
        return;
    }
    let room = MAX_ADVISED_PROPOSALS.saturating_sub(advice.proposals.len());
    advice.proposals.extend(more.proposals.into_iter().take(room));
    advice.think |= more.think;
    if advice.thinker.is_none() {
        advice.thinker = more.thinker;
    }
}
