//! What is kept of exchanges that no longer fit, by label, and what a release changes.

use std::sync::Arc;

use super::{MAX_SUMMARY_BYTES, compact, make_room, release};
use crate::action::{CompactRequest, ReleaseRequest};
use crate::effect::PastExchange;
use crate::event::Outcome;
use crate::ids::SessionId;
use crate::privacy::Privacy;
use crate::state::SessionState;

/// A session of this version that keeps four exchanges.
fn session(version: u32) -> SessionState {
    let mut state = SessionState::new(SessionId::parse("main").expect("a name"));
    state.version = version;
    state.limits.history = 4;
    state
}

fn add(state: &mut SessionState, asked: &str, said: &str, privacy: Privacy) {
    make_room(state);
    let exchange = PastExchange { asked: asked.into(), said: said.into(), privacy };
    state.history.push(Arc::new(exchange), state.limits.history);
}

fn asked(state: &SessionState) -> Vec<&str> {
    state.history().map(|exchange| &*exchange.asked).collect()
}

fn summaries(state: &SessionState) -> Vec<(Privacy, u64, &str)> {
    let all = state.summaries.iter();
    all.map(|summary| (summary.privacy, summary.exchanges, &*summary.text)).collect()
}

#[test]
fn the_older_half_becomes_a_summary_for_each_label() {
    let mut state = session(1);
    add(&mut state, "a\nb", "1", Privacy::Private);
    add(&mut state, "pin", "1234", Privacy::Secret);
    for asked in ["c", "d"] {
        add(&mut state, asked, "2", Privacy::Private);
    }
    assert_eq!(summaries(&state), []);
    add(&mut state, "e", "3", Privacy::Private);
    assert_eq!(asked(&state), ["c", "d", "e"]);
    let expected = [(Privacy::Private, 1, "- a b => 1\n"), (Privacy::Secret, 1, "- pin => 1234\n")];
    assert_eq!(summaries(&state), expected);
    let value = crate::reader().read_one(&state.text()).expect("a form").root().to_value();
    let read = SessionState::from_value(&value).expect("a state");
    assert_eq!((read.digest(), &read), (state.digest(), &state));
    let before = state.digest();
    state.summaries = Arc::new([]);
    state.summed.reset();
    assert_ne!(state.digest(), before, "a summary is part of what a State is told by");
}

#[test]
fn a_session_of_an_older_version_forgets_as_it_did() {
    let mut state = session(0);
    for asked in ["a", "b", "c", "d", "e"] {
        add(&mut state, asked, "x", Privacy::Private);
    }
    assert_eq!(asked(&state), ["b", "c", "d", "e"]);
    assert_eq!(summaries(&state), []);
}

#[test]
fn a_summary_stays_small_and_loses_its_oldest_lines() {
    let mut state = session(1);
    for number in 0..200 {
        add(&mut state, &format!("{number} {}", "ä".repeat(300)), "said", Privacy::Private);
    }
    let (_, count, text) = summaries(&state)[0];
    assert!(text.len() <= MAX_SUMMARY_BYTES && text.starts_with("- "), "{}", text.len());
    assert!(text.contains(&format!("- {} ", count - 1)) && !text.contains("- 0 "), "{text}");
}

#[test]
fn words_take_the_place_of_what_their_author_could_see() {
    let mut state = session(1);
    add(&mut state, "a", "1", Privacy::Private);
    add(&mut state, "pin", "1234", Privacy::Secret);
    add(&mut state, "b", "2", Privacy::Private);
    let request = CompactRequest { text: "We spoke of a pin.".into(), keep: 1 };
    let Outcome::Done(told) = compact(&mut state, &request, Privacy::Secret) else { panic!() };
    assert_eq!(told.to_string(), "(:summarized 2 :kept 1 :privacy :secret)");
    assert_eq!(asked(&state), ["b"]);
    // What is not secret keeps a summary of its own: a model elsewhere is not shown the other one.
    let expected =
        [(Privacy::Private, 1, "- a => 1\n"), (Privacy::Secret, 1, "We spoke of a pin.")];
    assert_eq!(summaries(&state), expected);
    add(&mut state, "c", "3", Privacy::Secret);
    let request = CompactRequest { text: "All.".into(), keep: 0 };
    compact(&mut state, &request, Privacy::Secret);
    assert_eq!(summaries(&state)[1], (Privacy::Secret, 2, "All."));
}

#[test]
fn one_exchange_is_released_by_its_words() {
    let mut state = session(1);
    for said in ["1234", "5678"] {
        add(&mut state, "pin?", said, Privacy::Secret);
    }
    let meant = |said: &str| ReleaseRequest { asked: "pin?".into(), said: said.into() };
    assert!(matches!(release(&mut state, &meant("0000")), Outcome::Failed(_)));
    let Outcome::Done(told) = release(&mut state, &meant("5678")) else { panic!("released") };
    assert_eq!(told.to_string(), "(:exchange 2)");
    let labels: Vec<Privacy> = state.history().map(|exchange| exchange.privacy).collect();
    assert_eq!(labels, [Privacy::Secret, Privacy::Private]);
    assert!(matches!(release(&mut state, &meant("5678")), Outcome::Failed(_)), "once");
}
