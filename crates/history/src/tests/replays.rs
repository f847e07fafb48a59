//! Replay gives the record again, and says where it does not.

use std::collections::VecDeque;

use bridle_loop::{
    Effect, Event, ReflexAdvice, SessionId, SessionLimits, SessionStart, SessionState, Signal,
    SignalKind, SignalSender, UnixMillis, step,
};
use bridle_record::{ForgetRequest, NewRecord, RecordAppend, RecordNumber};

use super::super::RecordHistory;
use super::super::replay::{ReplayDifference, ReplayRange, ReplayReport};
use super::{Driven, Fixture, START, prompt};

fn all() -> ReplayRange {
    ReplayRange { from: 1, to: None, session: None }
}

fn replay(fixture: &Fixture, range: &ReplayRange) -> ReplayReport {
    fixture.history().replay(range, &mut |_, _| {}).unwrap()
}

fn difference(fixture: &Fixture) -> ReplayDifference {
    replay(fixture, &all()).difference.unwrap()
}

#[test]
fn what_was_recorded_comes_again() {
    let mut fixture = Fixture::new();
    let mut first = Driven::begin(&mut fixture, "a");
    let mut second = Driven::begin(&mut fixture, "b");
    for text in ["help", "status", "nonsense"] {
        first.prompt(&mut fixture, text);
        second.prompt(&mut fixture, text);
    }
    let done = replay(&fixture, &all());
    assert_eq!(done.difference, None);
    assert_eq!((done.sessions, done.erased, done.events, done.states), (2, 0, 14, 20));
    // Each prompt is consulted about, decided, answered and finished.
    assert_eq!(done.effects, 24);
    let one = replay(&fixture, &ReplayRange { session: Some("a".into()), ..all() });
    assert_eq!((one.sessions, one.events, one.difference), (1, 7, None));
}

#[test]
fn a_question_may_have_a_record_of_its_own() {
    let mut fixture = Fixture::new();
    let mut driven = Driven::begin(&mut fixture, "a");
    for asks_apart in [true, false, true] {
        driven.asks_apart = asks_apart;
        driven.prompt(&mut fixture, "help");
    }
    let done = replay(&fixture, &all());
    assert_eq!((done.difference, done.events, done.effects), (None, 7, 12));
}

#[test]
fn another_question_is_found_in_its_answer() {
    let answer = |turn: u64| format!("(:effect 1 :turn {turn} :seq 1 :history 0 :decisions 0)");
    let recorded = |turn| {
        let mut fixture = Fixture::new();
        Driven::begin(&mut fixture, "a");
        let event = prompt("help").to_value().to_string();
        fixture.write("a", &[("signal", Some(1), &event), ("consulted", None, &answer(turn))]);
        fixture
    };
    let found = difference(&recorded(2));
    assert_eq!(found.expected, format!("consulted no seq {}", answer(2)));
    assert_eq!(found.got, answer(1));
    // What was asked is right; then it is what follows that is not there.
    assert_eq!(difference(&recorded(1)).expected, "nothing more after this event");
    let mut fixture = Fixture::new();
    Driven::begin(&mut fixture, "a");
    fixture.write("a", &[("consulted", None, &answer(1))]);
    assert_eq!(difference(&fixture).got, "nothing that was asked");
}

#[test]
fn progress_ends_at_the_end() {
    let mut fixture = Fixture::new();
    Driven::begin(&mut fixture, "a").prompt(&mut fixture, "help");
    let mut last = (0, 0);
    fixture.history().replay(&all(), &mut |done, of| last = (done, of)).unwrap();
    let head = fixture.store.head().unwrap().number.0;
    assert_eq!(last, (head, head));
}

/// A session with a signal whose effects are recorded as `body` instead of what they were.
fn with_say(body: &str) -> (Fixture, u64) {
    let mut fixture = Fixture::new();
    Driven::begin(&mut fixture, "a");
    let event = prompt("help").to_value().to_string();
    fixture.write("a", &[("signal", Some(1), &event), ("say", Some(2), body)]);
    let number = fixture.store.head().unwrap().number.0;
    (fixture, number)
}

#[test]
fn an_effect_that_was_never_made_is_found() {
    let (fixture, number) = with_say("(:payload (:status :success :text \"forged\"))");
    let found = difference(&fixture);
    assert_eq!((found.record, &*found.session), (number, "a"));
    assert!(found.expected.starts_with("say seq 2 ") && found.expected.contains("forged"));
    assert_eq!(found.got, "nothing");
}

#[test]
fn an_effect_too_many_is_found() {
    let mut fixture = Fixture::new();
    Driven::begin(&mut fixture, "a");
    fixture.write("a", &[("finish", None, "(:turn 1 :reason :answered)")]);
    let found = difference(&fixture);
    assert_eq!(found.got, "nothing");
    assert_eq!(found.expected, "finish no seq (:turn 1 :reason :answered)");
}

#[test]
fn an_effect_too_few_is_found_where_its_event_is() {
    let mut fixture = Fixture::new();
    Driven::begin(&mut fixture, "a");
    let event = prompt("help").to_value().to_string();
    fixture.write("a", &[("signal", Some(1), &event)]);
    let signal = fixture.store.head().unwrap().number.0;
    let found = difference(&fixture);
    assert_eq!((found.record, &*found.expected), (signal, "nothing more after this event"));
    // A range may end anywhere.
    assert_eq!(replay(&fixture, &ReplayRange { to: Some(signal), ..all() }).difference, None);
    fixture.write("a", &[("tick", None, "(:tick :deadline)")]);
    assert_eq!(difference(&fixture).record, signal + 1);
}

#[test]
fn another_state_is_found() {
    for mark in ["(:digest \"00\")", "(:state \"00\")"] {
        let mut fixture = Fixture::new();
        Driven::begin(&mut fixture, "a");
        fixture.write("a", &[("mark", None, mark)]);
        let found = difference(&fixture);
        assert_eq!(found.expected, "state `00`");
        let number = found.record;
        assert_eq!(replay(&fixture, &ReplayRange { from: number + 1, ..all() }).difference, None);
    }
}

#[test]
fn another_state_is_found_at_the_end_of_a_turn() {
    let mut fixture = Fixture::new();
    let mut driven = Driven::begin(&mut fixture, "a");
    driven.prompt(&mut fixture, "help");
    assert_eq!(replay(&fixture, &all()).difference, None);
    driven.is_spoiled = true;
    driven.prompt(&mut fixture, "help");
    let found = difference(&fixture);
    assert_eq!(found.expected, "state `00`");
    assert_eq!(replay(&fixture, &ReplayRange { from: found.record + 1, ..all() }).difference, None);
}

#[test]
fn an_event_that_is_none_is_found() {
    let mut fixture = Fixture::new();
    Driven::begin(&mut fixture, "a");
    fixture.write("a", &[("tick", None, "(:tick :tock)")]);
    assert_eq!(difference(&fixture).expected, "a body of kind `tick`");
}

#[test]
fn an_event_of_another_number_is_found() {
    let mut fixture = Fixture::new();
    Driven::begin(&mut fixture, "a");
    let event = prompt("help").to_value().to_string();
    fixture.write("a", &[("signal", None, &event)]);
    let found = difference(&fixture);
    assert_eq!((&*found.expected, &*found.got), ("no seq", "seq 1"));
}

#[test]
fn forgotten_sessions_are_skipped_and_not_passed() {
    let mut fixture = Fixture::new();
    Driven::begin(&mut fixture, "a").prompt(&mut fixture, "help");
    let mut kept = Driven::begin(&mut fixture, "b");
    kept.prompt(&mut fixture, "help");
    let by = ForgetRequest { principal: "uid:7".into(), at: START };
    fixture.store.forget_session("a", &by).unwrap();
    let done = replay(&fixture, &all());
    assert_eq!((done.sessions, done.erased, done.difference), (1, 1, None));
    // The name lives on in another session.
    Driven::begin(&mut fixture, "a").prompt(&mut fixture, "help");
    let done = replay(&fixture, &all());
    assert_eq!((done.sessions, done.erased, done.difference), (2, 1, None));
}

#[test]
fn one_forgotten_event_ends_what_can_be_known() {
    let mut fixture = Fixture::new();
    let mut driven = Driven::begin(&mut fixture, "a");
    let signal = fixture.store.head().unwrap().number.0 + 1;
    driven.prompt(&mut fixture, "help");
    driven.prompt(&mut fixture, "status");
    let by = ForgetRequest { principal: "uid:7".into(), at: START };
    fixture.store.forget_record(RecordNumber(signal), None, &by).unwrap();
    let done = replay(&fixture, &all());
    assert_eq!((done.sessions, done.erased, done.difference), (0, 1, None));
}

#[test]
fn the_record_may_grow_meanwhile() {
    let mut fixture = Fixture::new();
    let mut driven = Driven::begin(&mut fixture, "a");
    driven.prompt(&mut fixture, "help");
    let history = RecordHistory::open(fixture.path()).unwrap();
    let append = |n: u64| NewRecord::new("", "log", START, "uid:7", format!("(:n {n})"));
    fixture.commit(RecordAppend {
        drafts: (0..2_000).map(append).collect(),
        ..RecordAppend::default()
    });
    driven.prompt(&mut fixture, "status");
    let done = history.replay(&all(), &mut |_, _| {}).unwrap();
    assert_eq!((done.sessions, done.events, done.difference), (1, 5, None));
}

/// A session whose first event says nothing of a version, as older ones wrote it, and a prompt in it; each record is
/// changed by `spoil` before it is written.
fn older(fixture: &mut Fixture, spoil: fn(&str, String) -> String) -> SessionState {
    fixture.begin("a");
    let mut state = SessionState::new(SessionId::parse("a").unwrap());
    let limits = SessionLimits { side_turns: 0, ..SessionLimits::default() };
    let began = SessionStart { owner: "uid:7".into(), limits, version: 0, fork: None };
    let mut events = VecDeque::from([Event::Began(began), prompt("help")]);
    while let Some(event) = events.pop_front() {
        let seq = state.seq_of(&event).map(|seq| seq.0);
        let body = spoil(event.kind().word(), event.to_text());
        fixture.write("a", &[(event.kind().word(), seq, &body)]);
        for effect in step(&mut state, UnixMillis(START), event) {
            let seq = effect.seq().map(|seq| seq.0);
            let body = spoil(effect.kind().word(), effect.to_text());
            fixture.write("a", &[(effect.kind().word(), seq, &body)]);
            if let Effect::Consult { id, .. } = effect {
                let advice = ReflexAdvice {
                    proposals: vec![bridle_loop::Proposal::message("helped")],
                    ..ReflexAdvice::default()
                };
                events.push_back(Event::Consulted { effect: id, advice });
            }
        }
    }
    state
}

/// Goes on with a session by the version of today.
fn go_on(fixture: &mut Fixture, state: &mut SessionState, is_folded: bool) {
    let limits = SessionLimits::default();
    let event = state.upgrade(UnixMillis(START), &limits, is_folded).expect("an older session");
    fixture.write("a", &[("upgraded", None, &event.to_text())]);
    step(state, UnixMillis(START), event);
    let event = Event::Signal(
        Signal {
            kind: SignalKind::Log,
            from: SignalSender::new("uid:7"),
            id: None,
            target: None,
            payload: bridle_sexp::Value::plist([("text", bridle_sexp::Value::str("noted"))]),
            dropped: vec![],
            patient: true,
        }
        .into(),
    );
    let seq = state.seq_of(&event).map(|seq| seq.0);
    let body = event.to_text();
    let effects = step(state, UnixMillis(START), event);
    let said = effects.iter().map(|effect| (effect.kind().word(), effect.seq(), effect.to_text()));
    let said: Vec<_> = said.collect();
    fixture.write("a", &[("signal", seq, &body)]);
    for (kind, seq, body) in &said {
        fixture.write("a", &[(*kind, seq.map(|seq| seq.0), body)]);
    }
}

#[test]
fn what_an_older_version_wrote_in_other_words_is_counted_by_kind() {
    let mut fixture = Fixture::new();
    let mut state = older(&mut fixture, |kind, body| match kind {
        "consult" => body.replace(":history 0", ":past 0"),
        "finish" => format!("{} :digest \"00\")", body.trim_end_matches(')')),
        "decided" => body.replace(":reason", ":because"),
        _ => body,
    });
    go_on(&mut fixture, &mut state, true);
    let done = replay(&fixture, &all());
    assert_eq!(done.difference, None);
    let differing: Vec<(&str, u64)> = done.differing.into_iter().collect();
    assert_eq!(differing, [("consult", 1), ("decided", 1), ("state", 1)]);
    assert_eq!((done.sessions, done.states), (1, 1), "from the upgrade on it is exact");
}

#[test]
fn another_order_answer_or_verdict_of_an_older_version_is_a_difference() {
    for (kind, from, to) in [
        ("say", "helped", "harmed"),
        ("decided", ":verdict :allow", ":verdict :deny :code :refused"),
        ("decided", ":action :message", ":action :eval"),
    ] {
        let mut fixture = Fixture::new();
        older(
            &mut fixture,
            match kind {
                "say" => |kind, body| match kind {
                    "say" => body.replace("helped", "harmed"),
                    _ => body,
                },
                _ if from.starts_with(":verdict") => |kind, body| match kind {
                    "decided" => body.replace(":verdict :allow", ":verdict :deny :code :refused"),
                    _ => body,
                },
                _ => |kind, body| match kind {
                    "decided" => body.replace(":action :message", ":action :eval"),
                    _ => body,
                },
            },
        );
        let found = difference(&fixture);
        assert!(found.expected.contains(to), "{kind}: {} has no {to}", found.expected);
    }
}

#[test]
fn an_answer_that_an_older_version_did_not_give_is_a_difference() {
    let mut fixture = Fixture::new();
    older(&mut fixture, |_, body| body);
    fixture.write("a", &[("say", Some(3), "(:payload (:status :success :text \"forged\"))")]);
    assert_eq!(difference(&fixture).got, "nothing");
}

#[test]
fn an_upgrade_that_carries_its_state_is_exact_whatever_went_before() {
    let mut fixture = Fixture::new();
    let mut state = older(&mut fixture, |_, body| body);
    go_on(&mut fixture, &mut state, false);
    assert_eq!(replay(&fixture, &all()).difference, None);
    let request = ForgetRequest { at: START, principal: "uid:7".into() };
    let signal = 2;
    fixture.store.forget_record(RecordNumber(signal), None, &request).unwrap();
    let done = replay(&fixture, &all());
    assert_eq!((done.difference, done.sessions, done.erased, done.states), (None, 1, 0, 1));
}

#[test]
fn an_upgrade_to_another_state_is_a_difference() {
    let mut fixture = Fixture::new();
    let mut state = older(&mut fixture, |_, body| body);
    // What the daemon went on from is not what the events give.
    step(&mut state, UnixMillis(START + 1), Event::Tick(bridle_loop::TimerTick::Heartbeat));
    let event = state.upgrade(UnixMillis(START + 1), &SessionLimits::default(), true).unwrap();
    fixture.write("a", &[("upgraded", None, &event.to_text())]);
    assert!(difference(&fixture).expected.starts_with("state `"));
}
