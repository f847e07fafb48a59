//! Every kind has a word, a class and a body that its codec reads.
//!
//! long: tables with a row for each kind.

use bridle_sexp::Value;

use super::{
    CatalogBody, CompactedBody, MarkBody, PolicyBody, RecordClass, RecordKind, ShownBody,
    StartedBody,
};
use crate::{
    AnsweredBody, CancelledBody, DecidedBody, EffectId, Event, FinishBody, IntentBody, OutcomeBody,
    PolicyHash, PolicySourceBody, PromptBody, ProposalsBody, SayBody, SharedText, SignalBody,
    UnreadableValue, WithdrawnBody,
};

fn value(text: &str) -> Value {
    crate::reader().read_one(text).unwrap().root().to_value()
}

/// Reads `body` as a record of this kind: the parts by which history knows it. A kind that is added does
/// not compile until it has an arm here.
fn read(kind: RecordKind, body: &Value) -> String {
    match kind {
        RecordKind::Began | RecordKind::PolicyInstalled => {
            let it = PolicySourceBody::read(body);
            format!("{:?} {:?}", it.hash, it.fork)
        }
        RecordKind::Signal => format!("{:?}", SignalBody::read(body).payload),
        RecordKind::Consulted | RecordKind::Drafted => {
            let it = ProposalsBody::read(body);
            format!("{:?} {:?} {:?}", it.effect, it.fault, it.payload(0).map(|it| it.to_string()))
        }
        RecordKind::Acted | RecordKind::Settled => {
            let it = OutcomeBody::read(body);
            format!("{:?} {:?} {:?}", it.effect, it.outcome, it.reason)
        }
        RecordKind::Answered => {
            let it = AnsweredBody::read(body);
            format!("{:?} {:?} {} {}", it.effect, it.shell, it.is_yes(), it.counts)
        }
        RecordKind::Cancelled => {
            let it = CancelledBody::read(body);
            format!("{:?} {:?}", it.turn, it.reason)
        }
        RecordKind::Withdrawn => {
            let it = WithdrawnBody::read(body);
            format!("{:?} {:?}", it.signal, it.reason)
        }
        RecordKind::Consult | RecordKind::Think => {
            let it = PromptBody::read(body);
            format!("{:?} {:?} {:?} {:?}", it.effect, it.turn, it.seq, it.count("depth"))
        }
        RecordKind::Decided => {
            let it = DecidedBody::read(body);
            let checked: Vec<_> = it.checked().collect();
            format!("{} {:?} {:?} {checked:?}", it.is_allowed(), it.rule, it.proposal)
        }
        RecordKind::Act | RecordKind::Ask => {
            let it = IntentBody::read(body);
            format!("{:?} {:?} {:?} {:?}", it.effect, it.target, it.action(), it.question)
        }
        RecordKind::Say => format!("{:?}", SayBody::read(body).answers),
        RecordKind::Finish => format!("{:?}", FinishBody::turn_end(body)),
        RecordKind::Started => format!("{:?}", StartedBody::read(body).effect),
        RecordKind::Shown => {
            let shown = ShownBody::read(body);
            format!("{:?} {:?} {:?}", shown.effect, shown.offset, shown.text)
        }
        RecordKind::Mark => format!("{:?}", MarkBody::read(body)),
        RecordKind::Policy => format!("{:?}", PolicyBody::read(body).text),
        RecordKind::Compacted => {
            let it = CompactedBody::read(body);
            format!("{:?} {:?} {:?}", it.from, it.to, it.sessions().collect::<Vec<_>>())
        }
        RecordKind::Catalog => {
            format!("{:?}", CatalogBody::read(body).spec.map(|it| it.actions.len()))
        }
        // Read by nobody but as the value that they are.
        RecordKind::Registered
        | RecordKind::ConsultantsChanged
        | RecordKind::Upgraded
        | RecordKind::Stop
        | RecordKind::Counted
        | RecordKind::Tick
        | RecordKind::DaemonUp
        | RecordKind::DaemonDown
        | RecordKind::PolicyRefused
        | RecordKind::Refused
        | RecordKind::Log
        | RecordKind::Forgot
        | RecordKind::Compaction
        | RecordKind::Repaired => body.to_string(),
    }
}

#[test]
fn words_are_read_back_and_no_two_are_alike() {
    for (at, kind) in RecordKind::ALL.iter().enumerate() {
        assert_eq!(RecordKind::parse(kind.word()), Some(*kind), "{kind}");
        assert!(RecordKind::ALL[..at].iter().all(|other| other.word() != kind.word()), "{kind}");
    }
    for foreign in ["", "Began", "began ", "effect"] {
        assert_eq!(RecordKind::parse(foreign), None, "{foreign}");
    }
}

#[test]
fn events_are_the_kinds_that_the_codec_of_events_knows() {
    let no_event = UnreadableValue::new("kind", "the kind of an event");
    for kind in RecordKind::ALL {
        let is_refused = Event::from_value(*kind, &Value::Nil) == Err(no_event);
        assert_eq!(is_refused, !kind.is_event(), "{kind}");
    }
    let (events, effects) = (RecordClass::Event, RecordClass::Effect);
    assert_eq!(RecordKind::of_class(events).count(), 14);
    assert_eq!(RecordKind::of_class(effects).count(), 9);
}

#[test]
fn bodies_are_read_as_they_were_written() {
    let hash = PolicyHash::of("x");
    let policy = PolicyBody::write(hash, "permit");
    let started = StartedBody::write(EffectId(7));
    let shown = ShownBody::write(EffectId(7), 12, "so far");
    let actions = crate::ActionSpec::known_all(&["log"]);
    let catalog =
        CatalogBody::write(&crate::ActuatorSpec { name: crate::KeywordName::new("log"), actions });
    let cases = [
        (RecordKind::Began, r#"(:fork (:session "s" :record 3))"#, r#"None Some(("s", 3))"#),
        (RecordKind::PolicyInstalled, r#"(:hash "ab")"#, r#"Some("ab") None"#),
        (RecordKind::Signal, "(:kind :event)", "None"),
        (
            RecordKind::Consulted,
            "(:effect 1 :proposals ((:payload (:a 1))))",
            r#"Some(1) None Some("(:a 1)")"#,
        ),
        (RecordKind::Drafted, r#"(:effect 2 :fault "no")"#, r#"Some(2) Some("no") None"#),
        (
            RecordKind::Acted,
            r#"(:effect 4 :outcome :failed :reason "r")"#,
            r#"Some(4) Some("failed") Some("r")"#,
        ),
        (RecordKind::Settled, "(:effect -4)", "None None None"),
        (
            RecordKind::Answered,
            "(:effect 5 :answer :allow :from (:shell :emacs) :counted nil)",
            r#"Some(5) Some("emacs") true false"#,
        ),
        (RecordKind::Cancelled, r#"(:turn 1 :reason "r")"#, r#"Some(1) Some("r")"#),
        (RecordKind::Withdrawn, "(:signal 2 :how :expired)", r#"Some(2) Some("expired")"#),
        (
            RecordKind::Think,
            "(:effect 1 :turn 2 :seq 3 :depth 4)",
            "Some(1) Some(2) Some(3) Some(4)",
        ),
        (
            RecordKind::Decided,
            "(:verdict :allow :rule :policy :proposal 1 :checked (:size :pass :policy :allow))",
            r#"true Some("policy") Some(1) [["size", "pass"], ["policy", "allow"]]"#,
        ),
        (
            RecordKind::Ask,
            r#"(:effect 1 :target :emacs :payload (:action :eval) :question "Shall I?")"#,
            r#"Some(1) Some("emacs") Some("eval") Some("Shall I?")"#,
        ),
        (RecordKind::Say, "(:answers 9 :payload nil)", "Some(9)"),
        (RecordKind::Finish, "(:turn 1 :reason :answered)", r#"(Some(1), Some("answered"))"#),
        (RecordKind::Started, &started, "Some(EffectId(7))"),
        (RecordKind::Shown, &shown, "Some(EffectId(7)) Some(12) Some(\"so far\")"),
        (RecordKind::Mark, r#"(:state "ab")"#, r#"TextHash("ab")"#),
        (RecordKind::Mark, r#"(:digest "cd")"#, r#"Digest("cd")"#),
        (RecordKind::Policy, &policy, r#"Some("permit")"#),
        (RecordKind::Catalog, &catalog, "Some(1)"),
        (
            RecordKind::Compacted,
            r#"(:from 1 :to 2 :sessions ((:session "s")))"#,
            r#"Some(1) Some(2) ["s"]"#,
        ),
        (RecordKind::Log, r#"(:text "x")"#, r#"(:text "x")"#),
    ];
    for (kind, body, expected) in cases {
        assert_eq!(read(kind, &value(body)), expected, "{kind} {body}");
        // Nothing in a body is taken for granted.
        read(kind, &Value::Nil);
    }
    assert_eq!(started, "(:effect 7)");
    let engine = crate::GuardPolicies::engine();
    assert_eq!(policy, format!(r#"(:hash "{hash}" :engine "{engine}" :text "permit")"#));
    assert_eq!(super::PolicyRefusedBody::write(None, "bad"), r#"(:file nil :reason "bad")"#);
}

#[test]
fn the_engine_adds_to_bodies_byte_for_byte() {
    let mut finish = "(:turn 1 :reason :answered)".to_owned();
    FinishBody::add_state_digest(&mut finish, "00ff");
    assert_eq!(finish, r#"(:turn 1 :reason :answered :digest "00ff")"#);
    let body = FinishBody::split(&finish);
    assert_eq!(body.effect, "(:turn 1 :reason :answered)");
    assert_eq!(body.state_digest, Some("00ff"));
    let old = FinishBody::split("(:turn 1 :reason :answered)");
    assert_eq!((&*old.effect, old.state_digest), ("(:turn 1 :reason :answered)", None));

    let answered = AnsweredBody::uncounted("(:effect 1 :answer :allow)");
    assert_eq!(answered, "(:effect 1 :answer :allow :counted nil)");
    assert!(!AnsweredBody::read(&value(&answered)).counts);
}

#[test]
fn an_answer_is_found_without_reading_the_rest() {
    let cases = [
        ("(:answers 12 :payload (:a 1))", Some(12)),
        ("(:answers 12)", Some(12)),
        ("(:answers 12", None),
        ("(:payload (:answers 12))", None),
        ("(:answers x)", None),
        ("nil", None),
    ];
    for (body, expected) in cases {
        assert_eq!(SayBody::answers_in(body), expected, "{body}");
    }
}

#[test]
fn a_long_text_that_was_said_as_proposed_is_shared() {
    let check = |text: &str, said: &str| {
        let event =
            format!(r#"(:effect 1 :proposals ((:payload (:action :message :text "{text}"))))"#);
        let said =
            format!(r#"(:answers 1 :payload (:status :success :action :message :text "{said}"))"#);
        let shared = SayBody::shared_text(&event, &said)?;
        let SharedText { in_event, in_said, bytes } = shared;
        assert_eq!(event[in_event..in_event + bytes], said[in_said..in_said + bytes]);
        Some(bytes)
    };
    let long = "x".repeat(64);
    assert_eq!(check(&long, &long), Some(64 + r#":action :message :text """#.len()));
    assert_eq!(check("x", "x"), None, "too short");
    assert_eq!(check(&long, &"y".repeat(64)), None, "another text");
}
