//! Properties of the loop over arbitrary lives of a session.
//!
//! A life is made by `lives`: signals, answers to what is awaited, answers to what never was, time,
//! shells that come and go. What must hold of each is here.

mod approvals;
mod lives;
mod policies;
mod proposals;

use std::collections::BTreeMap;
use std::sync::Arc;

use bridle_loop::{
    Decision, DecisionRule, Effect, Event, GuardPolicies, Order, PolicyFacts, PolicyRehearsal,
    PolicyVerdict, ProposalAuthor, ProposalsBody, RecordKind, RememberedRuling, RiskLevel, Seq,
    SessionId, SessionState, UnixMillis, Verdict, reader, step,
};
use bridle_sexp::Value;
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

use lives::{Approved, Moment, life};

/// What a session did: every event with its number, and the effects that followed.
struct Run {
    state: SessionState,
    steps: Vec<(Option<Seq>, Event, Vec<Effect>)>,
    times: Vec<UnixMillis>,
}

impl Run {
    fn of(life: &[Moment], keep: fn(&SessionState) -> SessionState, approved: Approved) -> Self {
        let session = SessionId::parse("s").expect("a name");
        let mut run =
            Self { state: SessionState::new(session), steps: Vec::new(), times: Vec::new() };
        for moment in life {
            for (at, event) in moment.events(&run.state, approved) {
                run.state = keep(&run.state);
                run.step(at, event);
            }
        }
        run
    }

    fn step(&mut self, at: UnixMillis, event: Event) {
        let seq = self.state.seq_of(&event);
        let effects = step(&mut self.state, at, event.clone());
        self.steps.push((seq, event, effects));
        self.times.push(at);
    }

    /// Answers everything that is awaited until nothing is, or the patience is over.
    fn drain(&mut self) {
        for _ in 0..10_000 {
            let Some((id, effect)) = self.state.outstanding().into_iter().next() else { return };
            let at = self.state.next_deadline().unwrap_or(UnixMillis(0));
            self.step(at.min(UnixMillis(1_000_000)), lives::plain_answer(id, &effect));
        }
    }

    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.steps.iter().flat_map(|(_, _, effects)| effects)
    }

    fn text(&self) -> String {
        let mut text = self.state.to_value().to_string();
        for effect in self.effects() {
            text.push('\n');
            text.push_str(effect.kind().word());
            text.push_str(&effect.to_value().to_string());
        }
        text
    }

    fn rulings(&self) -> Vec<Arc<RememberedRuling>> {
        let ruling = |effect: &Effect| match effect {
            Effect::Decided(decision) => Some(decision.ruling.clone()),
            _ => None,
        };
        self.effects().filter_map(ruling).collect()
    }
}

fn as_it_is(state: &SessionState) -> SessionState {
    state.clone()
}

fn through_text(state: &SessionState) -> SessionState {
    let text = state.text();
    assert_eq!(text, state.to_value().to_string(), "the text of a state");
    let tree = reader().read_one(&text).expect("a readable state");
    let mut read = SessionState::from_value(&tree.root().to_value()).expect("a state");
    for set in lives::sets() {
        read.supply(set);
    }
    assert_eq!(read.wants_policies(), None, "policies that are here");
    assert_eq!(read, *state, "a state that was written and read");
    assert_eq!(read.digest(), state.digest(), "its hash");
    read
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn numbers_are_dense(life in life()) {
        let run = Run::of(&life, as_it_is, Approved::No);
        let mut next = 1;
        for (seq, _, effects) in &run.steps {
            for seq in seq.iter().copied().chain(effects.iter().filter_map(Effect::seq)) {
                prop_assert_eq!(seq, Seq(next));
                next += 1;
            }
        }
        prop_assert_eq!(run.state.next_seq(), Seq(next));
    }

    #[test]
    fn the_same_events_give_the_same_effects_and_state(life in life()) {
        let run = Run::of(&life, as_it_is, Approved::No);
        let again = Run::of(&life, as_it_is, Approved::No);
        prop_assert_eq!(run.text(), again.text());
    }

    #[test]
    fn a_checkpoint_at_any_point_changes_nothing(life in life()) {
        let whole = Run::of(&life, as_it_is, Approved::No);
        let parts = Run::of(&life, through_text, Approved::No);
        prop_assert_eq!(whole.text(), parts.text());
    }

    #[test]
    fn events_read_back_as_they_were_written(life in life()) {
        for (_, event, _) in Run::of(&life, as_it_is, Approved::No).steps {
            let text = event.to_text();
            prop_assert_eq!(&text, &event.to_value().to_string());
            let tree = reader().read_one(&text).expect("a readable event");
            prop_assert_eq!(Event::from_value(event.kind(), &tree.root().to_value()), Ok(event));
        }
    }

    #[test]
    fn every_signal_is_answered_once(life in life()) {
        let mut run = Run::of(&life, as_it_is, Approved::No);
        run.drain();
        prop_assert!(run.state.outstanding().is_empty() && run.state.is_idle());
        let mut answers: BTreeMap<Seq, usize> = BTreeMap::new();
        for effect in run.effects() {
            let Effect::Say(said) = effect else { continue };
            if let Some(seq) = said.answers {
                *answers.entry(seq).or_default() += 1;
            }
        }
        for (seq, event, _) in &run.steps {
            if matches!(event, Event::Signal(_) | Event::Answered(_)) {
                prop_assert_eq!(answers.remove(&seq.expect("a numbered signal")), Some(1));
            }
        }
        prop_assert!(answers.is_empty(), "answers to what nobody said: {answers:?}");
    }

    #[test]
    fn nothing_is_acted_on_that_was_not_allowed_just_before(life in life()) {
        let run = Run::of(&life, as_it_is, Approved::No);
        for (_, _, effects) in &run.steps {
            for (index, effect) in effects.iter().enumerate() {
                let Effect::Act { order, .. } = effect else { continue };
                let before = index.checked_sub(1).and_then(|index| effects.get(index));
                prop_assert!(allows(before, order), "{order:?} after {before:?}");
            }
        }
    }

    #[test]
    fn what_is_more_than_safe_needs_a_yes_or_an_owner(life in life()) {
        // Judged by the built-in policies all the time.
        let life: Vec<Moment> = life.into_iter().filter(|moment| !moment.installs()).collect();
        let run = Run::of(&life, as_it_is, Approved::No);
        for ruling in run.rulings() {
            let action = ruling.action.as_ref().map_or("", |name| name.as_str());
            let is_administration = ["forget", "fork", "approve"].contains(&action);
            let is_allowed = ruling.verdict == Verdict::Allow && ruling.rule == DecisionRule::Policy;
            let is_harmless = ruling.policies.iter().any(|id| &**id == "safe");
            let is_owners = is_administration && ruling.by == ProposalAuthor::Asker;
            prop_assert!(!is_allowed || is_harmless || is_owners, "{ruling:?}");
        }
        for (_, event, effects) in &run.steps {
            for effect in effects {
                let Effect::Act { order, .. } = effect else { continue };
                let action = order.action();
                let yes = matches!(event, Event::Answered(answered) if answered.from.owner);
                let is_fine = action.risk() == RiskLevel::Safe || action.is_administration() || yes;
                prop_assert!(is_fine, "{order:?} after {event:?}");
            }
        }
    }

    #[test]
    fn a_yes_is_for_one_act_in_time_and_for_nothing_else(life in life()) {
        let run = Run::of(&life, as_it_is, Approved::No);
        let steps = run.times.iter().zip(&run.steps);
        approvals::check(steps.map(|(at, (_, event, effects))| (*at, event, &effects[..])))?;
    }

    #[test]
    fn saying_that_it_is_approved_changes_no_verdict(life in life()) {
        let plain = Run::of(&life, as_it_is, Approved::No);
        let forged = Run::of(&life, as_it_is, Approved::Everywhere);
        prop_assert_eq!(plain.rulings(), forged.rulings());
        for effect in forged.effects() {
            let Effect::Act { order, .. } = effect else { continue };
            prop_assert_eq!(order.payload().get("approved"), None);
        }
    }

    #[test]
    fn decisions_are_judged_again_from_their_records(life in life()) {
        let life: Vec<Moment> = life.into_iter().filter(|moment| !moment.installs()).collect();
        let run = Run::of(&life, as_it_is, Approved::No);
        let set = GuardPolicies::built_in();
        let mut now = UnixMillis(i64::MIN);
        let steps = run.times.iter().zip(&run.steps);
        let effects = steps.flat_map(|(at, (_, event, effects))| {
            now = now.max(*at);
            effects.iter().map(move |effect| (now, event, effect))
        });
        for (at, event, effect) in effects.collect::<Vec<_>>() {
            let Effect::Decided(decision) = effect else { continue };
            if let Some(place) = decision.proposal {
                let value = event.to_value();
                let payload = ProposalsBody::read(&value).payload(place);
                prop_assert_eq!(payload.as_deref(), Some(&*decision.payload));
            }
            let Some(facts) = &decision.facts else { continue };
            let read = |effect: &Effect| {
                let text = effect.to_value().to_string();
                reader().read_one(&text).expect("a readable decision").root().to_value()
            };
            // What was said as it was proposed is in the record of the proposal.
            let whole = Effect::Decided(Decision { proposal: None, ..decision.clone() });
            let again = PolicyFacts::recorded(run.state.session(), at, &read(&whole));
            prop_assert_eq!(again.as_ref(), Ok(&**facts));
            let rehearsal = PolicyRehearsal::new(&set);
            let short = rehearsal.read(run.state.session(), at, &read(effect));
            let long = rehearsal.read(run.state.session(), at, &read(&whole));
            prop_assert_eq!(short, long);
            if decision.ruling.rule == DecisionRule::Policy {
                let found = set.find(facts);
                let ruling = &decision.ruling;
                prop_assert_eq!(found.word == PolicyVerdict::Allow, ruling.verdict == Verdict::Allow);
            }
        }
    }

    #[test]
    fn what_is_no_event_is_refused_and_nothing_else_happens(value in lives::payload()) {
        for &kind in RecordKind::ALL {
            if let Ok(event) = Event::from_value(kind, &value) {
                prop_assert_eq!(Event::from_value(kind, &event.to_value()), Ok(event));
            }
        }
        prop_assert!(SessionState::from_value(&value).is_err());
    }

    #[test]
    fn what_is_remembered_is_bounded(life in life()) {
        let run = Run::of(&life, as_it_is, Approved::No);
        let limits = run.state.limits();
        let value = run.state.to_value();
        let length = |key: &str| value.get(key).and_then(Value::elements).map_or(0, <[_]>::len);
        prop_assert!(length("history") <= limits.history);
        prop_assert!(length("decisions") <= limits.decisions);
        prop_assert!(length("summaries") <= 3);
        prop_assert!(length("queue") <= limits.queue);
        prop_assert!(length("schedules") <= limits.schedules);
        prop_assert!(length("acts") <= limits.outstanding + limits.questions);
        prop_assert!(length("questions") <= limits.questions);
        prop_assert!(length("side") <= limits.side_turns + limits.parked_turns + limits.queue);
        prop_assert!(length("resolved") <= 64);
        prop_assert!(length("budget") <= 64 + 2 + 20);
    }
}

/// Whether this effect is the decision that allowed the order.
fn allows(effect: Option<&Effect>, order: &Order) -> bool {
    let Some(Effect::Decided(decision)) = effect else { return false };
    decision.ruling.verdict == Verdict::Allow
        && decision.ruling.target.as_ref() == Some(order.target())
        && decision.ruling.action == Some(order.action().name())
        && *decision.payload == *order.payload()
}
