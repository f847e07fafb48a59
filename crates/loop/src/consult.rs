//! Consultants: whoever looks at a turn at one of three points, and what they may say there.
//!
//! Asked by the host when `think` and `act` want it; the answer is an event like every other, so replay asks
//! nobody. At the first stage a consultant may propose. At all of them it may veto or narrow, and nothing it
//! says widens what the policies allow.

mod narrowing;
mod value;

pub(crate) use self::value::thinker;

use std::sync::Arc;

use bridle_sexp::Value;

use crate::act;
use crate::effect::{
    Effect, Effects, ProposalAuthor, ProposalRejection, RefusalCode, SignalContext, ThinkerPrompt,
};
use crate::event::{ActuatorRef, Proposal, ReflexAdvice};
use crate::ids::{EffectId, KeywordName};
use crate::state::{RunningTurn, SessionState, TurnStage};

/// Objections of one advice; with more, the advice is a veto of everything.
pub const MAX_FINDINGS: usize = 128;

/// Bytes of a consultant's reason that are kept.
const MAX_REASON_BYTES: usize = 512;

/// A point of a turn at which consultants are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConsultStage {
    /// A signal got its turn.
    #[default]
    Perceive,
    /// A thinker is about to be asked.
    Think,
    /// Proposals are about to be judged.
    Judge,
}

/// Consultant, as a session knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsultantRef {
    /// Its name.
    pub name: KeywordName,
    /// Stages at which it is asked.
    pub stages: Vec<ConsultStage>,
    /// Whether nothing goes on without its word.
    pub is_guard: bool,
}

/// Subject of a consultation.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ConsultSubject {
    /// The signal of the turn.
    #[default]
    Signal,
    /// The prompt that a thinker is to get.
    Thought(Box<ThinkerPrompt>),
    /// Proposals, by the place that findings name.
    Proposals {
        /// Their author.
        by: ProposalAuthor,
        /// The proposals; the text of a draft is the last one.
        proposals: Arc<[Proposal]>,
    },
}

/// Question to consultants.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsultQuestion {
    /// The turn, and what the session remembers.
    pub context: SignalContext,
    /// Subject of the question.
    pub subject: ConsultSubject,
}

/// An objection of a consultant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsultFinding {
    /// The consultant.
    pub by: KeywordName,
    /// Place of the proposal that it is about; all of them, and the turn at other stages, if absent.
    pub proposal: Option<usize>,
    /// Objection.
    pub objection: ConsultObjection,
    /// Reason, for people and thinkers.
    pub reason: Box<str>,
}

/// Kind of an objection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsultObjection {
    /// Not at all.
    Veto,
    /// Not without somebody's yes. Before there are proposals, a veto.
    Ask,
    /// Not with so much: these bounds in the place of its own, which are larger. Before there are proposals, a veto;
    /// so is anything that is no smaller bound.
    Narrow(Box<Value>),
    /// Nothing for this target in the rest of the turn.
    Withhold(KeywordName),
}

/// Proposals that wait for the word of consultants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldProposals {
    pub(crate) by: ProposalAuthor,
    pub(crate) thought: Option<EffectId>,
    pub(crate) text: Box<str>,
    pub(crate) proposals: Vec<Proposal>,
}

impl ConsultStage {
    /// All of them, in their order.
    pub const ALL: [Self; 3] = [Self::Perceive, Self::Think, Self::Judge];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Perceive => "perceive",
            Self::Think => "think",
            Self::Judge => "judge",
        }
    }

    /// The stage of this word; `None` for every other word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.word() == word)
    }
}

impl ConsultSubject {
    /// The stage that it belongs to.
    pub fn stage(&self) -> ConsultStage {
        match self {
            Self::Signal => ConsultStage::Perceive,
            Self::Thought(_) => ConsultStage::Think,
            Self::Proposals { .. } => ConsultStage::Judge,
        }
    }
}

impl ConsultFinding {
    /// An objection to everything that was asked about.
    pub fn veto(by: KeywordName, reason: &str) -> Self {
        let objection = ConsultObjection::Veto;
        Self { by, proposal: None, objection, reason: act::cut(reason, MAX_REASON_BYTES).into() }
    }

    /// Whether it withholds a target.
    fn withholds(&self, target: &KeywordName) -> bool {
        matches!(&self.objection, ConsultObjection::Withhold(name) if name == target)
    }

    /// Whether it is about the proposal at this place.
    fn is_about(&self, place: usize) -> bool {
        self.proposal.is_none_or(|named| named == place)
    }
}

impl HeldProposals {
    /// The proposals as consultants see them: the text last.
    fn shown(&self) -> Arc<[Proposal]> {
        let text = Some(&*self.text).filter(|text| !text.is_empty()).map(Proposal::message);
        self.proposals.iter().cloned().chain(text).collect()
    }
}

/// Whether somebody is to be asked at a stage.
pub(crate) fn is_wanted(state: &SessionState, stage: ConsultStage) -> bool {
    state.consultants.iter().any(|one| one.stages.contains(&stage))
}

/// Actuators that a turn is offered: all that can be reached, those that are withheld excepted.
pub(crate) fn offered(state: &SessionState, turn: &RunningTurn) -> Arc<[ActuatorRef]> {
    if turn.withheld.is_empty() {
        return state.actuators.clone();
    }
    let is_offered = |actuator: &&ActuatorRef| {
        !turn.withheld.iter().any(|finding| finding.withholds(&actuator.name))
    };
    state.actuators.iter().filter(is_offered).cloned().collect()
}

/// Subject of the consultation that a turn waits for.
pub(crate) fn subject(state: &SessionState, turn: &RunningTurn) -> ConsultSubject {
    match (turn.asked_at, &turn.held) {
        (ConsultStage::Perceive, _) => ConsultSubject::Signal,
        (ConsultStage::Judge, Some(held)) => {
            ConsultSubject::Proposals { by: held.by, proposals: held.shown() }
        }
        (ConsultStage::Think | ConsultStage::Judge, _) => {
            ConsultSubject::Thought(Box::new(state.prompt(turn)))
        }
    }
}

/// Asks the consultants of a stage; the turn waits for them.
pub(crate) fn ask(
    state: &mut SessionState,
    mut turn: RunningTurn,
    stage: ConsultStage,
    out: &mut Effects,
) {
    let id = state.take_effect();
    turn.stage = TurnStage::Consulting(id);
    turn.asked_at = stage;
    let subject = subject(state, &turn);
    out.push(Effect::Consult { id, context: state.context(&turn), subject });
    state.put_turn(turn);
}

/// Takes the objections of an advice into the turn.
///
/// # Errors
/// The turn must not go on, for this reason.
pub(crate) fn object(turn: &mut RunningTurn, advice: &ReflexAdvice) -> Result<(), String> {
    withhold(turn, advice);
    let veto = advice.findings.iter().find(|finding| match finding.objection {
        ConsultObjection::Veto | ConsultObjection::Ask | ConsultObjection::Narrow(_) => true,
        ConsultObjection::Withhold(_) => false,
    });
    match veto {
        _ if advice.findings.len() > MAX_FINDINGS => Err(too_many(advice)),
        Some(ConsultFinding { by, reason, .. }) => Err(format!("`{by}` vetoes: {reason}")),
        None => Ok(()),
    }
}

/// Keeps what is withheld for the rest of the turn.
pub(crate) fn withhold(turn: &mut RunningTurn, advice: &ReflexAdvice) {
    for finding in &advice.findings {
        let is_new = matches!(finding.objection, ConsultObjection::Withhold(_))
            && !turn.withheld.iter().any(|known| known.objection == finding.objection);
        if is_new && turn.withheld.len() < MAX_FINDINGS {
            turn.withheld.push(finding.clone());
        }
    }
}

fn too_many(advice: &ReflexAdvice) -> String {
    format!("{} objections, expected at most {MAX_FINDINGS}", advice.findings.len())
}

/// Objections to one proposal: those of the advice about it, and what is withheld from its target.
pub(crate) struct ProposalObjections<'a> {
    pub(crate) findings: &'a [ConsultFinding],
    pub(crate) place: usize,
}

impl ProposalObjections<'_> {
    /// No consultant was asked.
    pub(crate) const NONE: ProposalObjections<'static> =
        ProposalObjections { findings: &[], place: 0 };

    /// The veto, if there is one: of the advice, or because the target is withheld from the turn.
    pub(crate) fn veto(&self, turn: &RunningTurn, target: &KeywordName) -> Option<String> {
        if self.findings.len() > MAX_FINDINGS {
            return Some(format!("more than {MAX_FINDINGS} objections of consultants"));
        }
        let is_veto = |finding: &&ConsultFinding| {
            finding.objection == ConsultObjection::Veto && finding.is_about(self.place)
        };
        if let Some(ConsultFinding { by, reason, .. }) = self.findings.iter().find(is_veto) {
            return Some(format!("`{by}` vetoes: {reason}"));
        }
        let mut withheld = turn.withheld.iter();
        let ConsultFinding { by, reason, .. } = withheld.find(|one| one.withholds(target))?;
        Some(format!("`{by}` withholds `{target}`: {reason}"))
    }

    /// The payload with all smaller bounds, if a consultant wants some.
    ///
    /// # Errors
    /// Something else than a smaller bound was wanted, for this reason.
    pub(crate) fn narrow(&self, payload: &Value) -> Result<Option<Value>, String> {
        let mut narrowed = None;
        for finding in self.findings.iter().filter(|finding| finding.is_about(self.place)) {
            let ConsultObjection::Narrow(bounds) = &finding.objection else { continue };
            let before = narrowed.as_ref().unwrap_or(payload);
            let next = narrowing::narrow(before, bounds);
            let ConsultFinding { by, .. } = finding;
            narrowed = Some(next.map_err(|reason| format!("`{by}` vetoes: {reason}"))?);
        }
        Ok(narrowed)
    }

    /// The reason to ask somebody, if a consultant wants that.
    pub(crate) fn wants_yes(&self) -> Option<String> {
        let asks = |finding: &&ConsultFinding| {
            finding.objection == ConsultObjection::Ask && finding.is_about(self.place)
        };
        let ConsultFinding { by, reason, .. } = self.findings.iter().find(asks)?;
        Some(format!("`{by}` wants a yes: {reason}"))
    }
}

/// The rejection that a turn ends with when consultants do not let it go on.
pub(crate) fn rejection(reason: &str) -> ProposalRejection {
    ProposalRejection {
        target: None,
        action: None,
        code: RefusalCode::Refused,
        reason: reason.into(),
    }
}
