//! Skills as consultants of a host: `perceive` looks at signals, `decide` at proposals.
//!
//! A guard is a consultant of its own: when it fails, or is not there, nothing goes on. All other skills are one
//! consultant, which asks those alone whose triggers fit, so that they judge nothing but what they were made for.

use std::sync::Arc;

use bridle_host::{Consultant, ConsultantTable, HostFuture, ThoughtIo};
use bridle_loop::{
    ConsultFinding, ConsultObjection, ConsultQuestion, ConsultStage, ConsultSubject, ConsultantRef,
    KeywordName, Proposal, ReflexAdvice, SignalKind, ThinkerFault,
};
use bridle_sexp::Value;
use bridle_skill::{PartKind, Skill, SkillCall, SkillId, SkillJudgment, SkillNotice};

use crate::caller;
use crate::registry::{SkillRegistry, SkillTable};
use crate::stimulus::{SignalStimulus, context_value};
use crate::thinker;

/// Name of the consultant that asks all skills that are no guards.
const SKILLS: &str = "skills";

/// Reason why an action is denied while a skill perceives or decides.
const NO_ACTIONS: &str = "perceive and decide cannot ask for actions: perceive returns them";

/// Consultants of the skills that serve. The guards that the owner enabled must be there.
pub fn skill_consultants(registry: &Arc<SkillRegistry>) -> ConsultantTable {
    let table = registry.table();
    let consultant = |scope: ConsultedSkills, stages: Vec<ConsultStage>| {
        let registry = Arc::clone(registry);
        Arc::new(SkillConsultant { registry, scope, stages }) as Arc<dyn Consultant>
    };
    let mut all = Vec::new();
    for entry in table.skills().filter(|entry| is_guard(&entry.skill)) {
        let scope = ConsultedSkills::Guard(Arc::clone(&entry.skill));
        all.push(consultant(scope, vec![ConsultStage::Judge]));
    }
    let has = |stage: &str| table.skills().any(|entry| is_asked(&entry.skill, stage));
    let stages = [(has("perceive"), ConsultStage::Perceive), (has("decide"), ConsultStage::Judge)];
    let stages = stages.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, stage)| stage);
    let stages: Vec<ConsultStage> = stages.collect();
    if !stages.is_empty() {
        all.push(consultant(ConsultedSkills::Others(Arc::clone(&table)), stages));
    }
    let required = registry.storage().guards();
    ConsultantTable::new(all).requiring(required.iter().map(guard_name))
}

fn is_guard(skill: &Skill) -> bool {
    skill.manifest().is_guard && skill.has(PartKind::Stage, "decide")
}

/// Whether the consultant of all skills that are no guards asks this one.
fn is_asked(skill: &Skill, stage: &str) -> bool {
    skill.has(PartKind::Stage, stage) && !(stage == "decide" && is_guard(skill))
}

fn guard_name(id: &SkillId) -> KeywordName {
    KeywordName::new(&format!("skill-{id}"))
}

/// Skills that a consultant asks.
enum ConsultedSkills {
    /// A guard, about each proposal.
    Guard(Arc<Skill>),
    /// All others, where a trigger fits.
    Others(Arc<SkillTable>),
}

struct SkillConsultant {
    registry: Arc<SkillRegistry>,
    scope: ConsultedSkills,
    stages: Vec<ConsultStage>,
}

impl Consultant for SkillConsultant {
    fn about(&self) -> ConsultantRef {
        let (name, is_guard) = match &self.scope {
            ConsultedSkills::Guard(skill) => (guard_name(&skill.manifest().id), true),
            ConsultedSkills::Others(_) => (KeywordName::new(SKILLS), false),
        };
        ConsultantRef { name, stages: self.stages.clone(), is_guard }
    }

    fn consult<'a>(
        &'a self,
        question: &'a ConsultQuestion,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<ReflexAdvice, ThinkerFault>> {
        let calls = match &self.scope {
            ConsultedSkills::Guard(skill) => {
                let all = proposals(question).enumerate();
                all.map(|(place, one)| judging(skill, question, place, one)).collect()
            }
            ConsultedSkills::Others(table) => calls(table, question),
        };
        if calls.is_empty() {
            return Box::pin(async { Ok(ReflexAdvice::default()) });
        }
        let registry = Arc::clone(&self.registry);
        let principal = question.context.signal.from.principal.clone();
        let is_guard = matches!(self.scope, ConsultedSkills::Guard(_));
        let by = self.about().name;
        Box::pin(async move {
            let asked = io.run_blocking(move || {
                let mut advice = ReflexAdvice::default();
                for call in calls {
                    match call.ask(&registry, &principal) {
                        Ok(answer) => call.take(&answer, &by, &mut advice),
                        Err(reason) if is_guard => return Err(reason),
                        Err(reason) => call.fail(&reason, &by, &mut advice),
                    }
                }
                Ok(advice)
            });
            let advice = asked.await.unwrap_or_else(|_| Err("the call broke off".to_owned()));
            advice.map_err(|reason| ThinkerFault { reason: reason.into(), retryable: false })
        })
    }
}

fn proposals(question: &ConsultQuestion) -> impl Iterator<Item = &Proposal> {
    let all: &[Proposal] = match &question.subject {
        ConsultSubject::Proposals { proposals, .. } => proposals,
        ConsultSubject::Signal | ConsultSubject::Thought(_) => &[],
    };
    all.iter()
}

/// Call of a stage of a skill.
struct StageCall {
    skill: Arc<Skill>,
    call: SkillCall,
    /// Place of the proposal that it judges; `None` for `perceive`.
    place: Option<usize>,
}

/// Calls of the skills whose triggers fit.
fn calls(table: &SkillTable, question: &ConsultQuestion) -> Vec<StageCall> {
    let signal = &question.context.signal;
    let stimulus = SignalStimulus::of(&signal.payload);
    let is_woken = |skill: &Skill| {
        let is_owners = signal.kind == SignalKind::Event && signal.from.owner;
        is_owners && stimulus.as_ref().is_some_and(|stimulus| stimulus.wakes(skill))
    };
    let mut all = Vec::new();
    for entry in table.skills() {
        let skill = &entry.skill;
        match &question.subject {
            ConsultSubject::Signal if skill.has(PartKind::Stage, "perceive") && is_woken(skill) => {
                let call = SkillCall::Perceive { signal: context_value(&question.context) };
                all.push(StageCall { skill: Arc::clone(skill), call, place: None });
            }
            ConsultSubject::Proposals { .. } if is_asked(skill, "decide") => {
                let is_all = is_woken(skill);
                let fits = |proposal: &&Proposal| is_all || fits_action(skill, proposal);
                let fitting = proposals(question).enumerate().filter(|(_, one)| fits(one));
                all.extend(fitting.map(|(place, one)| judging(skill, question, place, one)));
            }
            _ => {}
        }
    }
    all
}

fn fits_action(skill: &Skill, proposal: &Proposal) -> bool {
    let target = proposal.target.as_ref().map_or("", KeywordName::as_str);
    let action = proposal.payload.get("action").and_then(Value::as_keyword).unwrap_or_default();
    skill.manifest().triggers.iter().any(|trigger| trigger.fits_action(target, action))
}

fn judging(
    skill: &Arc<Skill>,
    question: &ConsultQuestion,
    place: usize,
    proposal: &Proposal,
) -> StageCall {
    let by = match &question.subject {
        ConsultSubject::Proposals { by, .. } => by.word(),
        ConsultSubject::Signal | ConsultSubject::Thought(_) => "",
    };
    let context = context_value(&question.context);
    let context = context.elements().unwrap_or_default().iter().cloned();
    let context = Value::list(context.chain([Value::keyword("by"), Value::keyword(by)]));
    let call = SkillCall::Decide { proposal: proposal_value(proposal), context };
    StageCall { skill: Arc::clone(skill), call, place: Some(place) }
}

/// A proposal as `decide` sees it: its payload, with `:target`.
fn proposal_value(proposal: &Proposal) -> Value {
    let target = proposal.target.as_ref().map_or(Value::Nil, |name| Value::keyword(name.as_str()));
    let payload = proposal.payload.elements().filter(|_| proposal.payload.pairs().is_some());
    let payload = payload.unwrap_or_default().iter().cloned();
    Value::list([Value::keyword("target"), target].into_iter().chain(payload))
}

impl StageCall {
    fn ask(&self, registry: &SkillRegistry, principal: &str) -> Result<Value, String> {
        caller::run_without_actions(registry, &self.skill, &self.call, principal, NO_ACTIONS)
            .map_err(|reason| self.told(&reason))
    }

    fn told(&self, reason: &str) -> String {
        format!("skill {}: {reason}", self.skill.manifest().id)
    }

    /// Takes what the skill said.
    fn take(&self, answer: &Value, by: &KeywordName, advice: &mut ReflexAdvice) {
        let taken = match self.place {
            Some(place) => self.judgment(answer, place, by, advice),
            None => self.notice(answer, by, advice),
        };
        if let Err(reason) = taken {
            self.fail(&reason, by, advice);
        }
    }

    /// Notes a skill that failed: what it should have judged is vetoed, what it should have looked at goes on.
    fn fail(&self, reason: &str, by: &KeywordName, advice: &mut ReflexAdvice) {
        let skill = &self.skill.manifest().id;
        tracing::warn!(%skill, %reason, "a skill that was consulted failed");
        if let Some(place) = self.place {
            advice.findings.push(finding(by, place, ConsultObjection::Veto, reason));
        }
    }

    fn judgment(
        &self,
        answer: &Value,
        place: usize,
        by: &KeywordName,
        advice: &mut ReflexAdvice,
    ) -> Result<(), String> {
        let judgment = SkillJudgment::read(answer).map_err(|it| self.told(&it.to_string()))?;
        let (objection, reason) = match judgment {
            SkillJudgment::Pass => return Ok(()),
            SkillJudgment::Veto(reason) => (ConsultObjection::Veto, reason),
            SkillJudgment::Ask(reason) => (ConsultObjection::Ask, reason),
            SkillJudgment::Narrow(payload) => {
                (ConsultObjection::Narrow(payload.into()), "narrowed".to_owned())
            }
        };
        advice.findings.push(finding(by, place, objection, &self.told(&reason)));
        Ok(())
    }

    fn notice(
        &self,
        answer: &Value,
        by: &KeywordName,
        advice: &mut ReflexAdvice,
    ) -> Result<(), String> {
        let notice = SkillNotice::read(answer).map_err(|it| self.told(&it.to_string()))?;
        if let Some(reason) = &notice.veto {
            advice.findings.push(ConsultFinding::veto(by.clone(), &self.told(reason)));
        }
        advice.think |= notice.thinks;
        let actions =
            thinker::proposals(&self.skill, &notice.answer).map_err(|it| self.told(&it))?;
        if !notice.answer.text.is_empty() {
            advice.proposals.push(Proposal::message(&notice.answer.text));
        }
        advice.proposals.extend(actions);
        Ok(())
    }
}

fn finding(
    by: &KeywordName,
    place: usize,
    objection: ConsultObjection,
    reason: &str,
) -> ConsultFinding {
    let proposal = Some(place);
    ConsultFinding { objection, proposal, ..ConsultFinding::veto(by.clone(), reason) }
}
