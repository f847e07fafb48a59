//! Recorded thoughts, asked again of somebody else: what would have been decided about another draft, beside what was. Each
//! draft is stepped through on a copy of the session as it was before the thought. Nothing is carried out.

use std::collections::HashMap;

use bridle_loop::{
    ActionSpec, ActuatorRef, Draft, Effect, EffectId, Effects, Event, RecordKind, ReflexAdvice,
    SessionId, SessionState, TextDigest, ThinkerFault, ThinkerPrompt, UnixMillis, Verdict,
};
use bridle_record::Record;

use super::{HistoryError, RecordHistory, RecordSelection, record_body};
use crate::action_specs;
use crate::policy_sets::PolicySetCache;
use crate::record_source::kind_of;
use crate::replay::ReplayRange;
use crate::session_fold::HistoryFold;

/// Consultations of one draft that are passed over: nobody is asked again but the thinker.
const MAX_CONSULTATIONS: usize = 8;

/// Answer of a thinker.
pub type ThoughtAnswer = Result<Draft, ThinkerFault>;

/// Asks somebody what a thought was asked.
pub type AskThinker<'a> =
    dyn FnMut(&ThinkerPrompt, &[(ActuatorRef, ActionSpec)]) -> ThoughtAnswer + 'a;

/// A thought with both drafts.
#[derive(Debug, Clone, PartialEq)]
pub struct RethoughtDraft {
    /// Record of the draft.
    pub record: u64,
    /// Its session.
    pub session: Box<str>,
    /// Draft of the record; `None` for a thought that failed.
    pub recorded: Option<ThoughtOutline>,
    /// The other one, or why there is none.
    pub asked: Result<ThoughtOutline, Box<str>>,
}

/// Outline of a draft: its words, and what was decided about what it proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThoughtOutline {
    /// Its text.
    pub text: Box<str>,
    /// Verdicts in their order, such as `allow query of context`.
    pub verdicts: Vec<String>,
}

impl RethoughtDraft {
    /// Whether the decisions are the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        match (&self.recorded, &self.asked) {
            (Some(recorded), Ok(asked)) => recorded.verdicts == asked.verdicts,
            (None, Err(_)) => true,
            _ => false,
        }
    }
}

impl RecordHistory {
    /// Asks somebody else the thoughts of a range, one after the other; `told` hears of each.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn rethink(
        &self,
        range: &ReplayRange,
        ask: &mut AskThinker<'_>,
        told: &mut dyn FnMut(RethoughtDraft),
    ) -> Result<(), HistoryError> {
        let wanted = RecordSelection { session: range.session.clone(), to: range.to };
        let sets = PolicySetCache::default();
        let past = HistoryFold { reader: &*self.source, sets: &sets };
        let mut states: HashMap<Box<str>, Option<SessionState>> = HashMap::new();
        self.walk(&wanted, |record| {
            let Some(kind) = kind_of(&record).filter(|kind| kind.is_event()) else {
                return Ok(());
            };
            if kind == RecordKind::Began {
                states.remove(&record.session);
            }
            let state = states
                .entry(record.session.clone())
                .or_insert_with(|| SessionId::parse(&record.session).ok().map(SessionState::new));
            let value = record.body.text().map(record_body::value);
            let event = value.and_then(|value| Event::from_value(kind, &value).ok());
            let (Some(before), Some(event)) = (&mut *state, event) else {
                // What is forgotten makes everything behind it unknown.
                *state = None;
                return Ok(());
            };
            if record.number.0 >= range.from
                && let Event::Drafted { effect, draft } = &event
                && let Some(prompt) = asked_by(before, *effect)
            {
                let offered = self.offered(&prompt.context.actuators)?;
                let thought = RecordedThought { past, record: &record, before, effect: *effect };
                told(thought.compare(draft, &prompt, &offered, ask)?);
            }
            past.feed(before, UnixMillis(record.at), event)?;
            Ok(())
        })
    }

    /// Actions that a thinker was offered, each with its actuator, as far as the record has their descriptions.
    fn offered(
        &self,
        actuators: &[ActuatorRef],
    ) -> Result<Vec<(ActuatorRef, ActionSpec)>, HistoryError> {
        let digests: Vec<TextDigest> = actuators.iter().filter_map(|it| it.specs).collect();
        let known: HashMap<_, _> =
            action_specs::find(&*self.source, &digests)?.into_iter().collect();
        let mut offered = Vec::new();
        for actuator in actuators {
            let Some(digest) = actuator.specs else { continue };
            let bare = || actuator.actions.iter().cloned().map(ActionSpec::bare).collect();
            let specs: Vec<ActionSpec> =
                known.get(&digest).map_or_else(bare, |spec| spec.actions.clone());
            offered.extend(specs.into_iter().map(|spec| (actuator.clone(), spec)));
        }
        Ok(offered)
    }
}

/// The prompt of a thought that is open.
fn asked_by(state: &SessionState, effect: EffectId) -> Option<ThinkerPrompt> {
    let found = state.outstanding().into_iter().find(|(id, _)| *id == effect);
    match found {
        Some((_, Effect::Think { prompt, .. })) => Some(prompt),
        _ => None,
    }
}

/// A thought of the record, before its draft.
struct RecordedThought<'t> {
    past: HistoryFold<'t>,
    record: &'t Record,
    before: &'t SessionState,
    effect: EffectId,
}

impl RecordedThought<'_> {
    fn compare(
        &self,
        recorded: &ThoughtAnswer,
        prompt: &ThinkerPrompt,
        offered: &[(ActuatorRef, ActionSpec)],
        ask: &mut AskThinker<'_>,
    ) -> Result<RethoughtDraft, HistoryError> {
        let asked = match ask(prompt, offered) {
            Ok(draft) => Ok(self.outline(&draft)?),
            Err(fault) => Err(fault.reason),
        };
        let recorded = recorded.as_ref().ok().map(|draft| self.outline(draft)).transpose()?;
        let (record, session) = (self.record.number.0, self.record.session.clone());
        Ok(RethoughtDraft { record, session, recorded, asked })
    }

    /// The outline of a draft: its words, and the verdicts on what it proposes.
    fn outline(&self, draft: &Draft) -> Result<ThoughtOutline, HistoryError> {
        let mut state = self.before.clone();
        let at = UnixMillis(self.record.at);
        let event = Event::Drafted { effect: self.effect, draft: Ok(draft.clone()) };
        let mut effects = self.past.feed(&mut state, at, event)?;
        let mut verdicts = Vec::new();
        for _ in 0..MAX_CONSULTATIONS {
            verdicts.extend(effects.iter().filter_map(verdict));
            let Some(effect) = consultation(&effects) else { break };
            let advice = ReflexAdvice::default();
            effects = self.past.feed(&mut state, at, Event::Consulted { effect, advice })?;
        }
        Ok(ThoughtOutline { text: draft.text.clone(), verdicts })
    }
}

fn consultation(effects: &Effects) -> Option<EffectId> {
    effects.iter().find_map(|effect| match effect {
        Effect::Consult { id, .. } => Some(*id),
        _ => None,
    })
}

/// A decision in words.
fn verdict(effect: &Effect) -> Option<String> {
    let Effect::Decided(decision) = effect else { return None };
    let ruling = &decision.ruling;
    let word = |name: &Option<bridle_loop::KeywordName>| {
        name.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string)
    };
    let (action, target) = (word(&ruling.action), word(&ruling.target));
    let verdict = match ruling.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny(_) => "deny",
    };
    Some(format!("{verdict} {action} of {target}"))
}
