//! Messages as the documentation of the protocol shows them.

use super::{AnswerBody, DaemonNews, EventBody, read};

fn event(frame: &str) -> (super::EventHead, EventBody) {
    match read(frame) {
        Some(DaemonNews::Event(head, body)) => (head, body),
        other => panic!("{frame}: {other:?}"),
    }
}

#[test]
fn numbered_events() {
    let (head, body) = event(
        r#"(:type :EVENT :meta (:source :tui :session "work" :seq 13 :at 1 :client "a1" :id "c-1" :own t) :payload (:sensor :user-prompt :text "status"))"#,
    );
    assert_eq!((head.seq, head.own.as_deref()), (13, Some("c-1")));
    assert_eq!(body, EventBody::Prompt("status".to_owned()));
    let (head, body) = event(
        r#"(:type :RESPONSE :id "c-1" :meta (:session "work" :seq 14 :at 1 :answers 13) :payload (:status :success :action :message :text "hi"))"#,
    );
    assert_eq!((head.answers, head.id.as_deref()), (Some(13), Some("c-1")));
    assert_eq!(body, EventBody::Answer(AnswerBody::Text("hi".to_owned())));
    let (_, body) = event(
        r#"(:type :RESPONSE :id "c-2" :meta (:seq 15 :answers 13) :payload (:status :error :code :cancelled :message "given up" :retryable nil))"#,
    );
    assert!(matches!(body, EventBody::Answer(AnswerBody::Error { retryable: false, .. })));
    let (_, body) = event(
        r#"(:type :REQUEST :id "work-5" :target :emacs :meta (:seq 17) :payload (:action :eval))"#,
    );
    assert_eq!(body, EventBody::Request("work-5".to_owned()));
}

#[test]
fn acts_of_others_have_a_name_and_own_verdicts_no_line() {
    let (_, body) = event(
        r#"(:type :EVENT :meta (:seq 18) :payload (:action :asked :effect "work-6" :target :memory :request (:action :set-state :path "a.org")))"#,
    );
    assert_eq!(body, EventBody::Other("work-6 set-state of memory".to_owned()));
    let (_, body) = event(
        r#"(:type :RESPONSE :id "work-5" :meta (:seq 19 :answers 18) :payload (:status :success :action :approve :approval "work-5" :answer :allow))"#,
    );
    assert_eq!(body, EventBody::Quiet);
}

#[test]
fn questions_have_their_diff_apart() {
    let (_, body) = event(
        r#"(:type :REQUEST :id "work-5" :target :approval :meta (:seq 17 :deadline 9) :payload (:action :approve :approval "work-5" :question "q" :risk :dangerous :hash "9f" :wanted (:action :set-state :path "a.org" :prepared (:diff "-a\n+b")) :options (:allow :deny)))"#,
    );
    let EventBody::Question(question) = body else { panic!("{body:?}") };
    assert_eq!(question.wanted, r#"(:action :set-state :path "a.org")"#);
    assert!(question.diff.contains("+b"));
    assert_eq!(
        super::verdict_form(&question, "allow"),
        r#"(:type :RESPONSE :id "work-5" :payload (:verdict :allow :hash "9f"))"#
    );
}

#[test]
fn unnumbered_messages() {
    let frame = r#"(:type :STATUS :id "c-1" :payload (:status :admitted :session "work" :seq 13))"#;
    assert_eq!(read(frame), Some(DaemonNews::Receipt { id: "c-1".to_owned(), seq: 13 }));
    let frame =
        r#"(:type :EVENT :meta (:session "w") :payload (:action :delta :turn 3 :text "hel"))"#;
    assert!(matches!(read(frame), Some(DaemonNews::Piece { offset: None, .. })));
    let frame = r#"(:type :RESPONSE :id nil :meta (:session "w" :seq 14) :payload (:status :success :action :handshake :state :idle))"#;
    assert_eq!(read(frame), Some(DaemonNews::Hello("idle".to_owned())));
    assert_eq!(read("(:type"), None);
    assert_eq!(read("(:type :LOG)"), Some(DaemonNews::Silence));
}

#[test]
fn forms_are_read_back() {
    let form = super::prompt_form(
        "c-1",
        &super::PromptParts {
            text: "a \"b\" \\",
            files: vec!["/x".to_owned()],
            folder: Some("/tmp"),
            ..super::PromptParts::default()
        },
    );
    assert_eq!(
        form,
        r#"(:type :EVENT :id "c-1" :payload (:sensor :user-prompt :text "a \"b\" \\" :context (:folder "/tmp" :files ("/x"))))"#
    );
}
