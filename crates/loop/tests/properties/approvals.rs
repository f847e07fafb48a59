//! Properties of questions and answers over crowded lives: few different acts, many answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bridle_loop::{
    ActionHash, ActuatorLocation, ActuatorRef, ApprovalAnswer, ApprovalChoice, ApprovalRequest,
    DecisionRule, Effect, EffectId, Event, KeywordName, Outcome, SessionId, SessionLimits,
    SessionStart, SessionState, Signal, SignalKind, SignalSender, TimerTick, UnixMillis, Verdict,
    step,
};
use bridle_sexp::{Value, read_one};
use proptest::collection::vec;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, TestCaseError, any, prop_assert, prop_assert_eq, prop_oneof,
    proptest,
};

/// How long a question waits, in milliseconds.
const EXPIRES_MS: i64 = 1_000;

#[derive(Clone, Debug)]
enum Moment {
    Asks { code: u8, who: usize, patient: bool },
    Answers { pick: usize, who: usize, allows: bool, seen: u8 },
    Later(i64),
    Looks,
    Done,
    Interrupts,
}

/// Checks what must hold of questions and answers in any life.
pub(crate) fn check<'s>(
    steps: impl Iterator<Item = (UnixMillis, &'s Event, &'s [Effect])>,
) -> Result<usize, TestCaseError> {
    let mut now = UnixMillis(i64::MIN);
    let mut open: BTreeMap<EffectId, Arc<ApprovalRequest>> = BTreeMap::new();
    let mut followed = BTreeSet::new();
    for (at, event, effects) in steps {
        now = now.max(at);
        let approved = effects.iter().filter(|effect| is_approved(effect)).count();
        prop_assert!(approved <= 1, "one answer, one act");
        if approved == 1 {
            let Event::Answered(answered) = event else { panic!("{event:?} approves") };
            prop_assert!(followed.insert(answered.approval), "a second yes is followed");
            let question = open.get(&answered.approval).expect("an open question");
            prop_assert_eq!(answered.answer, ApprovalChoice::Allow);
            prop_assert!(now < question.expires, "a yes after the time");
            let hash = question.intent.hash();
            prop_assert!(answered.hash.is_none_or(|seen| seen == hash), "another hash");
            let acts: Vec<_> = effects.iter().filter_map(order).collect();
            prop_assert!(acts.len() <= 1, "one answer, one act");
            for order in acts {
                prop_assert_eq!(order.payload(), &**question.intent.payload());
                prop_assert_eq!(order.target(), question.intent.target());
                prop_assert_eq!(ActionHash::of(&order.to_value().to_string()), hash);
            }
        }
        let answered = match event {
            Event::Answered(answered) if approved == 1 => Some(answered.approval),
            _ => None,
        };
        answered.map(|approval| open.remove(&approval));
        for effect in effects {
            match effect {
                Effect::Ask { id, question, .. } => {
                    let is_new = |other: &Arc<ApprovalRequest>| {
                        other.intent != question.intent
                            || other.by != question.by
                            || other.asker.principal != question.asker.principal
                            || other.asker.owner != question.asker.owner
                    };
                    prop_assert!(open.values().all(is_new), "the same is asked twice");
                    prop_assert!(open.insert(*id, question.clone()).is_none());
                }
                Effect::Settled { id, .. } => drop(open.remove(id)),
                _ => {}
            }
        }
    }
    Ok(followed.len())
}

fn order(effect: &Effect) -> Option<&bridle_loop::Order> {
    match effect {
        Effect::Act { order, .. } => Some(order),
        _ => None,
    }
}

/// Whether this effect says that somebody's yes was followed.
fn is_approved(effect: &Effect) -> bool {
    let Effect::Decided(decision) = effect else { return false };
    decision.ruling.rule == DecisionRule::Approval && decision.ruling.verdict == Verdict::Allow
}

fn moment() -> impl Strategy<Value = Moment> {
    let asks = (0..3u8, 0..3usize, any::<bool>()).prop_map(|(code, who, patient)| Moment::Asks {
        code,
        who,
        patient,
    });
    let answers = (0..4usize, 0..5usize, any::<bool>(), 0..4u8)
        .prop_map(|(pick, who, allows, seen)| Moment::Answers { pick, who, allows, seen });
    prop_oneof![
        4 => asks,
        8 => answers,
        3 => (0..700i64).prop_map(Moment::Later),
        1 => Just(Moment::Looks),
        3 => Just(Moment::Done),
        1 => Just(Moment::Interrupts),
    ]
}

fn asker(who: usize) -> SignalSender {
    match who {
        0 | 3 | 4 => SignalSender { owner: true, ..SignalSender::new("uid:1") },
        1 => SignalSender::new("uid:2"),
        _ => SignalSender::new("local-tcp"),
    }
}

fn signal(kind: SignalKind, from: SignalSender, patient: bool, payload: &str) -> Event {
    Event::Signal(Arc::new(Signal {
        kind,
        from,
        id: None,
        target: (kind == SignalKind::Request).then(|| KeywordName::new("emacs")),
        payload: read_one(payload).expect("a form").root().to_value(),
        dropped: Vec::new(),
        patient,
    }))
}

impl Moment {
    fn event(
        &self,
        state: &SessionState,
        hashes: &BTreeMap<EffectId, ActionHash>,
    ) -> Option<Event> {
        Some(match self {
            Moment::Asks { code, who, patient } => {
                let payload = format!("(:action :eval :code \"{code}\")");
                signal(SignalKind::Request, asker(*who), *patient, &payload)
            }
            Moment::Answers { pick, who, allows, seen } => Event::Answered(ApprovalAnswer {
                approval: picked(hashes, *pick),
                hash: match seen {
                    0 => Some(ActionHash::of("something else")),
                    1 => hashes.get(&picked(hashes, *pick)).copied(),
                    // That of another question, or of the same one.
                    2 => hashes.values().next().copied(),
                    _ => None,
                },
                answer: if *allows { ApprovalChoice::Allow } else { ApprovalChoice::Deny },
                from: asker(*who),
                id: None,
                always: None,
            }),
            Moment::Later(_) => return None,
            Moment::Looks => Event::Tick(TimerTick::Deadline),
            Moment::Done => {
                let is_act = |effect: &Effect| matches!(effect, Effect::Act { .. });
                let acts = state.outstanding().into_iter();
                let (effect, _) = acts.into_iter().find(|(_, effect)| is_act(effect))?;
                Event::Acted { effect, outcome: Outcome::Done(Value::T) }
            }
            Moment::Interrupts => signal(SignalKind::Event, asker(0), true, "(:sensor :interrupt)"),
        })
    }
}

/// One of the last questions, open or not.
fn picked(hashes: &BTreeMap<EffectId, ActionHash>, pick: usize) -> EffectId {
    hashes.keys().rev().nth(pick).copied().unwrap_or(EffectId(1))
}

/// A life, and how many times a yes was followed in it.
fn live(life: &[Moment]) -> Result<usize, TestCaseError> {
    let mut state = SessionState::new(SessionId::parse("s").expect("a name"));
    let limits =
        SessionLimits { approval_ms: EXPIRES_MS, questions: 3, ..SessionLimits::default() };
    let mut now = UnixMillis(0);
    step(
        &mut state,
        now,
        Event::Began(SessionStart {
            owner: "uid:1".into(),
            limits,
            fork: None,
            version: bridle_loop::LOOP_VERSION,
        }),
    );
    let emacs = ActuatorRef {
        name: KeywordName::new("emacs"),
        place: ActuatorLocation::Shell,
        actions: Vec::new(),
        specs: None,
    };
    step(&mut state, now, Event::Registered(vec![emacs]));
    let mut steps = Vec::new();
    let mut hashes = BTreeMap::new();
    for moment in life {
        if let Moment::Later(ms) = moment {
            now = now.after(*ms);
        }
        let Some(event) = moment.event(&state, &hashes) else { continue };
        let effects = step(&mut state, now, event.clone());
        for effect in &effects {
            if let Effect::Ask { id, question, .. } = effect {
                hashes.insert(*id, question.intent.hash());
            }
        }
        steps.push((now, event, effects));
    }
    check(steps.iter().map(|(at, event, effects)| (*at, event, &effects[..])))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn in_a_crowd_each_yes_is_for_one_act_in_time(life in vec(moment(), 1..60)) {
        live(&life)?;
    }
}

/// The lives above are worth something only if a yes is followed in many of them.
#[test]
fn crowded_lives_have_acts_that_were_approved() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let lives = vec(moment(), 30..60);
    let mut followed = 0;
    for _ in 0..32 {
        let life = lives.new_tree(&mut runner).expect("a life").current();
        followed += live(&life).expect("a life in which all holds");
    }
    assert!(followed >= 16, "{followed} acts were approved in 32 lives");
}
