//! The thinker that calls skills: signals that wake none go to the thinker behind it.
//!
//! A request of a skill becomes a draft with one call; its outcome comes back with the next prompt of the turn. While the
//! call waits its instance is kept; when it is gone, after a restart or because there are too many, the skill runs again
//! from the answers in the drafts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bridle_host::{DaemonFacts, HostFuture, Thinker, ThoughtIo};
use bridle_loop::{
    CallId, Draft, DraftStop, KeywordName, ModelRef, Proposal, ReflexAdvice, SessionId,
    SignalContext, ThinkerFault, ThinkerPrompt, TurnId,
};
use bridle_sexp::Value;
use bridle_skill::{
    LoggedRequest, RunProgress, Skill, SkillAnswer, SkillCall, SkillFault, SkillFaultKind,
    SkillRequest, SkillRun,
};

use crate::caller::RequestAnswers;
use crate::long_result;
use crate::registry::SkillRegistry;
use crate::stimulus::awakened;
use crate::storage::StorageError;
use crate::turn_log;

/// Calls that wait with their instance; of more, the instance is given up and the skill runs again.
const MAX_LIVE_CALLS: usize = 256;

/// Of them, calls whose instance is a process.
const MAX_LIVE_PROCESSES: usize = 16;

/// Prefix of the name under which a skill is a draft's author.
pub(crate) const NAME_PREFIX: &str = "skill:";

/// Calls that wait, by the turn that they belong to.
type LiveCalls = Arc<Mutex<HashMap<(SessionId, TurnId), SkillRun>>>;

/// Calls skills, and asks another thinker where none is woken.
pub struct SkillThinker {
    registry: Arc<SkillRegistry>,
    inner: Box<dyn Thinker>,
    live: LiveCalls,
}

impl SkillThinker {
    /// Puts the skills of a registry before a thinker.
    pub fn new(registry: Arc<SkillRegistry>, inner: Box<dyn Thinker>) -> Self {
        Self { registry, inner, live: Arc::default() }
    }

    /// Whether a turn is a skill's. Its first draft says whose it is; a later prompt goes to the same.
    fn is_skills(&self, prompt: &ThinkerPrompt) -> bool {
        match prompt.rounds.first() {
            Some(round) => {
                round.model.as_ref().is_some_and(|author| author.name.starts_with(NAME_PREFIX))
            }
            None => awakened(&self.registry.table(), &prompt.context).is_some(),
        }
    }
}

impl Thinker for SkillThinker {
    fn consult(&self, context: &SignalContext, facts: &dyn DaemonFacts) -> ReflexAdvice {
        match awakened(&self.registry.table(), context) {
            Some(_) => ReflexAdvice { think: true, ..ReflexAdvice::default() },
            None => self.inner.consult(context, facts),
        }
    }

    fn think<'a>(
        &'a self,
        prompt: &'a ThinkerPrompt,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>> {
        if !self.is_skills(prompt) {
            return self.inner.think(prompt, io);
        }
        let author = prompt.rounds.first().map(|round| round.model.clone().unwrap_or_default());
        let (registry, live) = (Arc::clone(&self.registry), Arc::clone(&self.live));
        let (mut prompt, privacy) = (prompt.clone(), prompt.privacy());
        let hash = author.and_then(|author| author.digest.clone());
        Box::pin(async move {
            // A call that waits has its older answers; one that runs again needs all of them.
            let key = (prompt.context.session.clone(), prompt.context.turn);
            let waits = live.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&key);
            let rounds = if waits { 1 } else { prompt.rounds.len() };
            long_result::read_whole(&mut prompt, rounds, io).await.map_err(fault)?;
            let call = io.run_blocking(move || {
                SkillTurn { registry: &registry, live: &live, prompt: &prompt }
                    .draft(hash.as_deref())
            });
            match call.await {
                Ok(draft) => draft.map(|draft| Draft { privacy, ..draft }),
                Err(_) => Err(fault("the call of a skill broke off")),
            }
        })
    }

    fn is_paid(&self, prompt: &ThinkerPrompt) -> bool {
        !self.is_skills(prompt) && self.inner.is_paid(prompt)
    }

    fn answers_prose(&self) -> bool {
        self.inner.answers_prose()
    }
}

fn fault(reason: impl Into<Box<str>>) -> ThinkerFault {
    ThinkerFault { reason: reason.into(), retryable: false }
}

/// One prompt of a turn that a skill thinks in.
struct SkillTurn<'t> {
    registry: &'t SkillRegistry,
    live: &'t LiveCalls,
    prompt: &'t ThinkerPrompt,
}

impl SkillTurn<'_> {
    fn draft(&self, hash: Option<&str>) -> Result<Draft, ThinkerFault> {
        let (skill, call) = self.skill(hash)?;
        let id = skill.manifest().id.clone();
        let told = |error: &SkillFault| fault(format!("skill {id}: {error}"));
        let rounds = self.prompt.rounds.iter().map(|round| &**round);
        let log =
            turn_log::read(rounds).ok_or_else(|| fault("the log of the skill is unreadable"))?;
        let (mut run, mut progress) = self.resumed(&skill, &call, &log).map_err(|it| told(&it))?;
        let known = run.log().len();
        let mut answers = RequestAnswers::new(self.registry, &skill, self.principal());
        let stored = |error: StorageError| fault(format!("skill {id}: {error}"));
        loop {
            match progress {
                RunProgress::Ends(value) => {
                    answers.keep().map_err(stored)?;
                    return self.last_draft(&skill, &value, &run.log()[known..]);
                }
                RunProgress::Asks(request) => match answers.answer(&request).map_err(stored)? {
                    Some(answer) => progress = run.answer(answer).map_err(|it| told(&it))?,
                    None => {
                        answers.keep().map_err(stored)?;
                        let draft = self.asking_draft(&skill, &request, &run.log()[known..]);
                        self.park(run);
                        return Ok(draft);
                    }
                },
            }
        }
    }

    /// The skill of the turn, on the version that the turn began on.
    fn skill(&self, hash: Option<&str>) -> Result<(Arc<Skill>, SkillCall), ThinkerFault> {
        let table = self.registry.table();
        let found = awakened(&table, &self.prompt.context);
        let Some(hash) = hash else {
            return found.ok_or_else(|| fault("no skill is woken by this any more"));
        };
        let gone = || fault("the version of the skill that this turn began on is gone");
        let skill = self.registry.version(hash).ok_or_else(gone)?;
        // The call follows from the signal and the skill alone.
        let only = crate::registry::SkillTable::of_one(&skill);
        let (_, call) = awakened(&only, &self.prompt.context).ok_or_else(gone)?;
        Ok((skill, call))
    }

    /// The call where it stands: in its live instance, or run again.
    fn resumed(
        &self,
        skill: &Arc<Skill>,
        call: &SkillCall,
        log: &[LoggedRequest],
    ) -> Result<(SkillRun, RunProgress), SkillFault> {
        let waiting = self.live().remove(&self.key());
        if let (Some(mut run), Some((last, before))) = (waiting, log.split_last())
            && self.is_at(&run, before)
            && run.skill().source().hash == skill.source().hash
        {
            let progress = run.answer(last.answer.clone())?;
            return Ok((run, progress));
        }
        if self.prompt.forgotten > 0 {
            let reason = "the turn is too long to be taken up again after a restart: ask once more";
            return Err(SkillFault::new(SkillFaultKind::Limit, reason));
        }
        SkillRun::replay(skill, call, log)
    }

    /// Whether a call that waits has come to where the prompt is: the rounds that are left end with the same requests.
    /// Answers are compared by nobody: the prompt has long ones by their place alone.
    fn is_at(&self, run: &SkillRun, before: &[LoggedRequest]) -> bool {
        let (known, told) = (run.log().len(), before.len());
        let is_whole = self.prompt.forgotten > 0 || known == told;
        let known = &run.log()[known.saturating_sub(told)..];
        let mut both = known.iter().zip(before);
        is_whole && known.len() == told && both.all(|(one, other)| one.request == other.request)
    }

    fn key(&self) -> (SessionId, TurnId) {
        (self.prompt.context.session.clone(), self.prompt.context.turn)
    }

    fn live(&self) -> std::sync::MutexGuard<'_, HashMap<(SessionId, TurnId), SkillRun>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn park(&self, run: SkillRun) {
        let mut live = self.live();
        let is_process = |run: &SkillRun| run.skill().is_process();
        let processes = live.values().filter(|waiting| is_process(waiting)).count();
        let has_room = !is_process(&run) || processes < MAX_LIVE_PROCESSES;
        if live.len() < MAX_LIVE_CALLS && has_room {
            live.insert(self.key(), run);
        }
    }

    fn principal(&self) -> &str {
        &self.prompt.context.signal.from.principal
    }

    /// A draft that asks for an action.
    fn asking_draft(
        &self,
        skill: &Skill,
        request: &SkillRequest,
        answered: &[LoggedRequest],
    ) -> Draft {
        let (target, payload) = match request {
            SkillRequest::Act { target, payload } => (target.as_str(), payload.clone()),
            _ => ("", Value::Nil),
        };
        let number = self.prompt.rounds.len() + 1;
        let call = Proposal {
            target: Some(KeywordName::new(target)),
            payload,
            explanation: Some(format!("skill {}", skill.manifest().id).into()),
            then_think: true,
            call: Some(CallId::new(&format!("skill-{number}"))),
            provenance: None,
        };
        Draft {
            calls: vec![call],
            model: Some(author(skill)),
            stop: DraftStop::Calls,
            opaque: Some(turn_log::written(answered, Some(request))),
            ..Draft::default()
        }
    }

    /// The draft that ends the turn.
    fn last_draft(
        &self,
        skill: &Skill,
        value: &Value,
        answered: &[LoggedRequest],
    ) -> Result<Draft, ThinkerFault> {
        let manifest = skill.manifest();
        let told = |reason: String| fault(format!("skill {}: {reason}", manifest.id));
        let answer = SkillAnswer::read(value).map_err(|it| told(it.to_string()))?;
        let mut calls = Vec::new();
        if !answer.text.is_empty() && !answer.actions.is_empty() {
            calls.push(Proposal::message(&answer.text));
        }
        calls.extend(proposals(skill, &answer).map_err(told)?);
        let text = if calls.is_empty() { answer.text } else { String::new() };
        Ok(Draft {
            text: text.into(),
            calls,
            model: Some(author(skill)),
            opaque: Some(turn_log::written(answered, None)),
            ..Draft::default()
        })
    }
}

/// The actions of an answer.
///
/// # Errors
/// The skill may not ask for one of them.
pub(crate) fn proposals(skill: &Skill, answer: &SkillAnswer) -> Result<Vec<Proposal>, String> {
    let manifest = skill.manifest();
    let proposal = |(target, payload): &(Option<String>, Value)| {
        let action = payload.get("action").and_then(Value::as_keyword).unwrap_or_default();
        if let Some(target) = target
            && !manifest.capabilities.allows(target, action)
        {
            return Err(format!("it has no capability {target}/{action}"));
        }
        let target = target.as_deref().map(KeywordName::new);
        let explanation = Some(format!("skill {}", manifest.id).into());
        Ok(Proposal { explanation, ..Proposal::new(target, payload.clone()) })
    };
    answer.actions.iter().map(proposal).collect()
}

/// Text and actions of the draft that ended a turn, as [`SkillAnswer`] has them.
pub(crate) fn answer_parts(draft: &Draft) -> (String, Vec<(Option<String>, Value)>) {
    let (mut text, mut actions) = (draft.text.to_string(), Vec::new());
    for (place, call) in draft.calls.iter().enumerate() {
        let said = call.payload.get("text").and_then(Value::as_str);
        let is_first = place == 0 && draft.text.is_empty() && call.target.is_none();
        // A text before actions is a message of its own.
        let is_text = |said: &&str| is_first && Proposal::message(said).payload == call.payload;
        match said.filter(is_text) {
            Some(said) => text = said.to_owned(),
            None => {
                let target = call.target.as_ref().map(|name| name.as_str().to_owned());
                actions.push((target, call.payload.clone()));
            }
        }
    }
    (text, actions)
}

/// The skill as the author of a draft.
fn author(skill: &Skill) -> ModelRef {
    ModelRef {
        name: format!("{NAME_PREFIX}{}", skill.manifest().id).into(),
        digest: Some(skill.source().hash.as_str().into()),
        ..ModelRef::default()
    }
}
