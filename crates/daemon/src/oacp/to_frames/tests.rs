//! Tests of the frames that shells see of a session.

use std::sync::Arc;

use bridle_loop::{
    Addressee, Effect, Event, KeywordName, Outcome, Seq, Signal, SignalKind, SignalSender,
};
use bridle_loop::{EffectId, SessionId, Utterance};
use bridle_sexp::Value;
use bridle_wire::oacp;

use super::*;
use crate::engine::{EngineActivity, PieceChannel, SkillReporter};

fn value(text: &str) -> Value {
    bridle_sexp::read_one(text).unwrap().root().to_value()
}

fn event(kind: StreamEventKind, body: &str) -> StreamEvent {
    StreamEvent { seq: 7, record: 9, at: 1000, kind, body: Some(body.into()), origin: None }
}

fn signal(kind: SignalKind, payload: &str) -> StreamEvent {
    let mut from = SignalSender::new("uid:1000");
    from.client = Some("6f1c".into());
    from.shell = Some(KeywordName::new("emacs"));
    let signal = Signal {
        kind,
        from,
        id: Some(Value::int(3)),
        target: (kind == SignalKind::Request).then(|| KeywordName::new("tui")),
        payload: value(payload),
        dropped: vec!["(:approved)".into()],
        patient: true,
    };
    event(StreamEventKind::Signal, &Event::Signal(Arc::new(signal)).to_value().to_string())
}

fn say(answers: Option<u64>, payload: &str) -> StreamEvent {
    let to = answers.map(|_| Addressee { client: Some("6f1c".into()), id: Some(Value::int(3)) });
    let utterance =
        Utterance { seq: Seq(7), answers: answers.map(Seq), to, payload: value(payload) };
    event(StreamEventKind::Say, &Effect::Say(utterance).to_value().to_string())
}

fn act() -> StreamEvent {
    let order = "(:effect 5 :turn 1 :target :emacs :place :shell \
                 :payload (:action :eval :code \"(a)\") :deadline 9000)";
    event(StreamEventKind::Act, order)
}

fn acted(outcome: Outcome) -> StreamEvent {
    let acted = Event::Acted { effect: EffectId(5), outcome };
    event(StreamEventKind::Acted, &acted.to_value().to_string())
}

/// Fails unless the frame of an event is `expect`, and a message of the protocol.
fn check(event: &StreamEvent, view: EventView, expect: &str) {
    let session = SessionId::parse("work").unwrap();
    let reader = FrameReader { session: &session, dialect: Dialect::Lisp };
    let text = reader.event(event, view);
    assert_eq!(text, expect);
    oacp::read(&text, &bridle_sexp::Reader::new()).unwrap();
}

#[test]
fn an_answer_is_a_response_to_its_asker_and_an_event_to_others() {
    let event = say(Some(6), "(:status :success :action :message :text \"hi\")");
    check(
        &event,
        EventView::Own,
        "(:type :RESPONSE :id 3 :meta (:session \"work\" :seq 7 :at 1000 :answers 6) \
         :payload (:status :success :action :message :text \"hi\"))",
    );
    check(
        &event,
        EventView::Other,
        "(:type :EVENT :meta (:session \"work\" :seq 7 :at 1000 :answers 6) \
         :payload (:status :success :action :message :text \"hi\"))",
    );
}

#[test]
fn an_error_that_others_see_is_an_event_as_well() {
    check(
        &say(Some(6), "(:status :error :code :refused :message \"no\" :retryable nil)"),
        EventView::Other,
        "(:type :EVENT :meta (:session \"work\" :seq 7 :at 1000 :answers 6) \
         :payload (:action :answer :status :error :code :refused :message \"no\" :retryable nil))",
    );
}

#[test]
fn what_is_said_unasked_is_an_event_to_everybody() {
    for view in [EventView::Own, EventView::Other] {
        check(
            &say(None, "(:status :success :action :message :text \"hi\")"),
            view,
            "(:type :EVENT :meta (:session \"work\" :seq 7 :at 1000) \
             :payload (:status :success :action :message :text \"hi\"))",
        );
    }
}

#[test]
fn signals_say_who_spoke_and_what_it_was() {
    check(
        &signal(SignalKind::Event, "(:sensor :user-prompt :text \"hi\")"),
        EventView::Other,
        "(:type :EVENT :meta (:source :emacs :session \"work\" :seq 7 :at 1000 :client \"6f1c\") \
         :payload (:sensor :user-prompt :text \"hi\"))",
    );
    check(
        &signal(SignalKind::Event, "(:sensor :interrupt)"),
        EventView::Own,
        "(:type :EVENT :meta (:source :emacs :session \"work\" :seq 7 :at 1000 :client \"6f1c\" \
         :id 3 :own t) :payload (:sensor :interrupt))",
    );
    check(
        &signal(SignalKind::Request, "(:channel :x :to \"y\" :text \"z\")"),
        EventView::Other,
        "(:type :EVENT :meta (:source :emacs :session \"work\" :seq 7 :at 1000 :type :REQUEST \
         :target :tui :client \"6f1c\") \
         :payload (:action :request :channel :x :to \"y\" :text \"z\"))",
    );
    check(
        &signal(SignalKind::Log, "(:text \"saved\")"),
        EventView::Other,
        "(:type :LOG :meta (:source :emacs :session \"work\" :seq 7 :at 1000 :client \"6f1c\") \
         :payload (:text \"saved\"))",
    );
}

#[test]
fn a_request_goes_to_one_shell_and_is_told_to_the_others() {
    check(
        &act(),
        EventView::Asked,
        "(:type :REQUEST :id \"work-5\" :target :emacs \
         :meta (:session \"work\" :seq 7 :at 1000 :deadline 9000) \
         :payload (:action :eval :code \"(a)\"))",
    );
    check(
        &act(),
        EventView::Other,
        "(:type :EVENT :meta (:session \"work\" :seq 7 :at 1000) :payload (:action :asked \
         :effect \"work-5\" :target :emacs :deadline 9000 \
         :request (:action :eval :code \"(a)\")))",
    );
}

#[test]
fn outcomes_carry_their_result_or_their_reason() {
    check(
        &acted(Outcome::Done(value("(:status :success :result 42)"))),
        EventView::Other,
        "(:type :EVENT :meta (:session \"work\" :seq 7 :at 1000) :payload (:action :outcome \
         :effect \"work-5\" :outcome :done :result (:status :success :result 42)))",
    );
    check(
        &acted(Outcome::Failed("no buffer".into())),
        EventView::Other,
        "(:type :EVENT :meta (:session \"work\" :seq 7 :at 1000) :payload (:action :outcome \
         :effect \"work-5\" :outcome :failed :reason \"no buffer\"))",
    );
    check(
        &acted(Outcome::UnknownOutcome),
        EventView::Own,
        "(:type :EVENT :meta (:session \"work\" :seq 7 :at 1000) :payload (:action :outcome \
         :effect \"work-5\" :outcome :unknown-outcome))",
    );
}

#[test]
fn what_cannot_be_shown_keeps_its_number() {
    let erased = StreamEvent { body: None, ..event(StreamEventKind::Say, "") };
    check(
        &erased,
        EventView::Own,
        "(:type :EVENT :meta (:session \"work\" :seq 7 :at 1000) :payload (:action :erased))",
    );
    check(
        &event(StreamEventKind::Say, "(:answers"),
        EventView::Own,
        "(:type :EVENT :meta (:session \"work\" :seq 7 :at 1000) :payload (:action :unreadable))",
    );
}

#[test]
fn what_is_too_large_is_replaced_by_something_short() {
    let session = SessionId::parse(&"w".repeat(64)).unwrap();
    let reader = FrameReader { session: &session, dialect: Dialect::Lisp };
    let text = reader.omitted(&act(), EventView::Asked, 5000, 1024);
    assert!(text.ends_with(":payload (:action :omitted :bytes 5000 :max-frame 1024))"), "{text}");
    let id = Value::str("\"".repeat(oacp::message::MAX_ID_BYTES));
    let to = Some(Addressee { client: None, id: Some(id) });
    let payload = value("(:status :success :text \"...\")");
    let said = Utterance { seq: Seq(7), answers: Some(Seq(6)), to, payload };
    let said = event(StreamEventKind::Say, &Effect::Say(said).to_value().to_string());
    let text = reader.omitted(&said, EventView::Own, 5000, 1024);
    assert!(
        text.contains(":answers 6) :payload (:status :error :code :frame-too-large "),
        "{text}"
    );
    assert!(text.len() <= oacp::hello::MIN_MAX_FRAME, "{} bytes", text.len());
    let cannot = reader.cannot(&act());
    assert_eq!(cannot.id, Some(MessageId::Str(format!("{session}-5").into())));
}

#[test]
fn handles_do_not_leave_but_a_drawer_of_that_name_does() {
    check(
        &signal(SignalKind::Event, "(:sensor :x :socket 5 :b (:STREAM 1 :c 2) :ast (:stream 3))"),
        EventView::Other,
        "(:type :EVENT :meta (:source :emacs :session \"work\" :seq 7 :at 1000 :client \"6f1c\") \
         :payload (:sensor :x :b (:c 2) :ast (:stream 3)))",
    );
}

fn piece(text: &str) -> ShownPiece {
    let channel = PieceChannel::Text;
    ShownPiece { turn: 3, thought: 9, channel, offset: 12, text: text.into() }
}

#[test]
fn an_emacs_shell_gets_the_escapes_of_emacs() {
    let session = SessionId::parse("work").unwrap();
    let reader = FrameReader { session: &session, dialect: Dialect::Emacs };
    let text =
        reader.event(&say(None, "(:action :x :text \"a\nb\" :vector #(1))"), EventView::Other);
    assert!(text.ends_with(":payload (:action :x :text \"a\\nb\" :vector [1]))"), "{text}");
    let piece = reader.delta(&piece("a\n"));
    assert!(piece.ends_with(":text \"a\\n\"))"), "{piece}");
}

#[test]
fn unnumbered_frames_are_messages_too() {
    let session = SessionId::parse("work").unwrap();
    let reader = FrameReader { session: &session, dialect: Dialect::Lisp };
    let status = SessionStatus { doing: EngineActivity::Thinking, turn: Some(3), reporter: None };
    let reports = SessionStatus { reporter: SkillReporter::of_author("skill:scribe"), ..status };
    for (text, expect) in [
        (
            reader.receipt(Some(&Value::int(7)), 13),
            "(:type :STATUS :id 7 :payload (:status :admitted :session \"work\" :seq 13))",
        ),
        (
            reader.receipt(None, 13),
            "(:type :STATUS :payload (:status :admitted :session \"work\" :seq 13))",
        ),
        (
            reader.status(status),
            "(:type :STATUS :meta (:session \"work\") :payload (:status :thinking :turn 3))",
        ),
        (
            reader.status(reports),
            "(:type :STATUS :meta (:session \"work\") :scribe :thinking :payload (:status :thinking :turn 3))",
        ),
        (
            reader.delta(&piece("hel\"lo")),
            "(:type :EVENT :meta (:session \"work\") \
             :payload (:action :delta :turn 3 :thought 9 :channel :text :offset 12 :text \"hel\\\"lo\"))",
        ),
        (
            reader.voided(3, 9),
            "(:type :EVENT :meta (:session \"work\") :payload (:action :voided :turn 3 :thought 9))",
        ),
    ] {
        assert_eq!(text, expect);
        oacp::read(&text, &bridle_sexp::Reader::new()).unwrap();
    }
}
