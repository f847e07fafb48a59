//! Requests to shells and to the daemon's own actuators, and what becomes of them.

use crate::shell::{Shell, assert_code, at, daemon, number, scripted, text};
use bridle_test_support::daemon::TestDaemon;

const ASK_TUI: &str =
    "(:type :REQUEST :id 1 :target :TUI :payload (:action :message :text \"look\"))";

/// An asker, and a shell that offers `:tui`.
async fn pair(daemon: &TestDaemon) -> (Shell, Shell) {
    let asker = Shell::attach(daemon, ":session \"work\" :client \"a\"").await;
    let tui = Shell::attach(daemon, ":session \"work\" :client \"b\" :shell :tui").await;
    (asker, tui)
}

#[tokio::test]
async fn a_shell_is_asked_and_its_answer_comes_back() {
    let daemon = daemon().await;
    let (mut asker, mut tui) = pair(&daemon).await;
    asker.say(ASK_TUI).await;
    let request = tui.of_type("REQUEST").await;
    let id = text(&request, "id");
    assert!(id.starts_with("work-"), "{request}");
    assert!(at(&request, "target").is_keyword("tui"), "{request}");
    assert_eq!(text(&request, "payload text"), "look");
    assert!(number(&request, "meta deadline") > number(&request, "meta at"), "{request}");
    tui.say(&format!("(:type :RESPONSE :id \"{id}\" :payload (:status :success :result 42))"))
        .await;
    let asked = asker.next().await;
    assert!(at(&asked, "payload action").is_keyword("asked"), "{asked}");
    assert_eq!(text(&asked, "payload effect"), id);
    let outcome = asker.next().await;
    assert!(at(&outcome, "payload outcome").is_keyword("done"), "{outcome}");
    assert_eq!(number(&outcome, "payload result result"), 42, "{outcome}");
    let answer = asker.response(1).await;
    assert!(at(&answer, "payload status").is_keyword("success"), "{answer}");
    // Once answered, it is closed.
    tui.say(&format!("(:type :RESPONSE :id \"{id}\" :payload (:status :success))")).await;
    let refused = tui.of_type("RESPONSE").await;
    assert_code(&refused, "unknown-id");
}

#[tokio::test]
async fn a_shell_may_fail_or_deny() {
    let daemon = daemon().await;
    let (mut asker, mut tui) = pair(&daemon).await;
    for (id, said, code) in [(1, "error", "engine-failed"), (2, "denied", "refused")] {
        asker.say(&ASK_TUI.replace(":id 1", &format!(":id {id}"))).await;
        let request = text(&tui.of_type("REQUEST").await, "id");
        let payload = format!("(:status :{said} :message \"no such window\")");
        tui.say(&format!("(:type :RESPONSE :id \"{request}\" :payload {payload})")).await;
        let answer = asker.response(id).await;
        assert_code(&answer, code);
        assert!(text(&answer, "payload message").contains("no such window"), "{answer}");
    }
}

#[tokio::test]
async fn a_shell_that_comes_back_is_asked_again_under_the_same_id() {
    let daemon = daemon().await;
    let (mut asker, mut tui) = pair(&daemon).await;
    asker.say(ASK_TUI).await;
    let request = tui.of_type("REQUEST").await;
    let (id, seq) = (text(&request, "id"), number(&request, "meta seq"));
    drop(tui);
    let fields = format!(":session \"work\" :client \"b\" :shell :tui :cursor {seq}");
    let mut back = Shell::attach(&daemon, &fields).await;
    let again = back.of_type("REQUEST").await;
    assert_eq!((text(&again, "id"), number(&again, "meta seq")), (id.clone(), seq));
    back.say(&format!("(:type :RESPONSE :id \"{id}\" :payload (:status :success))")).await;
    assert!(at(&asker.response(1).await, "payload status").is_keyword("success"));
}

#[tokio::test]
async fn actuators_are_names_of_any_case_and_unknown_ones_list_the_known() {
    let daemon = daemon().await;
    let mut asker = Shell::attach(&daemon, ":session \"work\"").await;
    let fields = ":session \"work\" :shell :emacs :actuators (:Notify)";
    let mut emacs = Shell::attach(&daemon, fields).await;
    let ask = |target: &str| {
        format!("(:type :REQUEST :id 1 :target {target} :payload (:action :message :text \"x\"))")
    };
    asker.say(&ask(":NOTIFY")).await;
    let request = emacs.of_type("REQUEST").await;
    assert!(at(&request, "target").is_keyword("notify"), "{request}");
    let id = text(&request, "id");
    emacs.say(&format!("(:type :RESPONSE :id \"{id}\" :payload (:status :success))")).await;
    asker.response(1).await;
    asker.say(&ask(":toaster")).await;
    let answer = asker.response(1).await;
    assert_code(&answer, "unknown-target");
    for known in ["emacs", "notify", "system", "log"] {
        assert!(text(&answer, "payload message").contains(known), "{known}: {answer}");
    }
}

#[tokio::test]
async fn what_is_not_for_a_local_program_is_refused_and_asked_of_nobody() {
    let daemon = daemon().await;
    let fields = ":session \"work\" :client \"a\"";
    let mut asker = Shell::greet(daemon.peer().await, fields).await;
    let mut tui = Shell::attach(&daemon, ":session \"work\" :client \"b\" :shell :tui").await;
    asker
        .say("(:type :REQUEST :id 1 :target :tui :payload (:action :eval :code \"(quit)\"))")
        .await;
    assert_code(&asker.response(1).await, "refused");
    // The shell saw that it was wanted and that it was refused, and no request.
    let wanted = tui.next().await;
    assert!(at(&wanted, "meta type").is_keyword("REQUEST"), "{wanted}");
    assert!(at(&wanted, "type").is_keyword("EVENT"), "{wanted}");
    let refused = tui.next().await;
    assert!(at(&refused, "payload status").is_keyword("error"), "{refused}");
    assert!(at(&refused, "payload action").is_keyword("answer"), "{refused}");
}

#[tokio::test]
async fn a_request_over_the_shells_frame_fails_at_once() {
    let daemon = daemon().await;
    let mut asker = Shell::attach(&daemon, ":session \"work\"").await;
    let mut small = Shell::attach(&daemon, ":session \"work\" :shell :tui :max-frame 1024").await;
    let long = "x".repeat(3000);
    asker
        .say(&format!(
            "(:type :REQUEST :id 1 :target :tui :payload (:action :message :text \"{long}\"))"
        ))
        .await;
    assert_code(&asker.response(1).await, "engine-failed");
    for seq in 1..=2 {
        assert_eq!(number(&small.next().await, "meta seq"), seq);
    }
}

#[tokio::test]
async fn a_thinker_asks_a_shell_as_well() {
    let rules = "(rule :when \"tell *\" :propose ((:target :tui :action :message :text \"$1\")))";
    let daemon = scripted(rules).await;
    let (mut asker, mut tui) = pair(&daemon).await;
    asker.say(&crate::shell::prompt(1, "tell them")).await;
    let request = tui.of_type("REQUEST").await;
    assert_eq!(text(&request, "payload text"), "them");
    let id = text(&request, "id");
    tui.say(&format!("(:type :RESPONSE :id \"{id}\" :payload (:status :success))")).await;
    assert!(at(&asker.response(1).await, "payload status").is_keyword("success"));
}
