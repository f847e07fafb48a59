//! What is said on accept, and what a client's hello changes.

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, HEALTHY, assert_answered, assert_error};

#[tokio::test]
async fn the_daemon_speaks_first_and_says_only_what_works() {
    let daemon = TestDaemon::start().await;
    let hello = daemon.stranger().await.frame().await.unwrap();
    let start = "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" \
                 :capabilities (:parts :attach :stream :grant :attachments) ";
    assert!(hello.starts_with(start), "{hello}");
    assert!(hello.contains(":server \"bridle/"), "{hello}");
    assert!(hello.contains(":max-frame 16777215"), "{hello}");
    for off in [":auth", ":swank", ":org-ast", ":approval"] {
        assert!(!hello.contains(off), "{off} is advertised: {hello}");
    }
}

#[tokio::test]
async fn a_client_hello_is_answered_once() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let hello = "(:type :EVENT :id 7 :payload (:action :handshake :version \"0.3.0\" \
                 :length :chars :dialect :emacs :max-frame 4096))";
    let answer = peer.ask(hello).await;
    assert!(answer.starts_with("(:type :RESPONSE :id 7 :meta (:session \"s"), "{answer}");
    assert!(answer.contains(" :seq 0) :payload (:status :success "), "{answer}");
    for settled in [":action :handshake", ":length :chars", ":dialect :emacs", ":max-frame 4096"] {
        assert!(answer.contains(settled), "{settled} in {answer}");
    }
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}

#[tokio::test]
async fn a_bad_hello_is_refused_with_its_path() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let answer = peer.ask("(:type :EVENT :payload (:action :handshake :length :furlongs))").await;
    assert_error(&answer, "invalid-value");
    assert!(answer.contains(":path (:payload :length)"), "{answer}");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}

#[tokio::test]
async fn the_emacs_dialect_reads_emacs_texts() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let question_mark = "(:type :LOG :payload (:char ?a))";
    peer.ask("(:type :EVENT :payload (:action :handshake :dialect :emacs))").await;
    assert_answered(&peer.ask(question_mark).await, "nil");
}

#[tokio::test]
async fn an_answer_over_the_clients_max_frame_is_replaced_by_an_error() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    peer.ask("(:type :EVENT :payload (:action :handshake :max-frame 1024))").await;
    let answer = peer.ask("(:type :health-check :detail t)").await;
    assert_error(&answer, "frame-too-large");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}
