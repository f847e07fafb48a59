//! Questions of the guard over sockets: who is asked, who may answer, what survives.

use bridle_sexp::Value;

use crate::shell::{Shell, assert_code, at, daemon, number, text, value};
use bridle_test_support::daemon::TestDaemon;

const EVAL: &str = "(:type :REQUEST :id 1 :target :tui :payload (:action :eval :code \"(save)\"))";

/// An asker, and a shell that offers `:tui`; both are the owner's.
async fn pair(daemon: &TestDaemon) -> (Shell, Shell) {
    let asker = Shell::attach(daemon, ":session \"work\" :client \"a\"").await;
    let tui = Shell::attach(daemon, ":session \"work\" :client \"b\" :shell :tui").await;
    (asker, tui)
}

/// Waits for a request of the engine with this action.
async fn request(shell: &mut Shell, action: &str) -> Value {
    loop {
        let frame = shell.of_type("REQUEST").await;
        if at(&frame, "payload action").is_keyword(action) {
            return frame;
        }
    }
}

fn approve(name: &str, verdict: &str) -> String {
    format!(
        "(:type :REQUEST :id 7 :target :system \
         :payload (:action :approve :approval \"{name}\" :verdict :{verdict}))"
    )
}

#[tokio::test]
async fn asked_in_one_shell_answered_in_another_after_a_restart_and_done_once() {
    let first = daemon().await;
    let (mut asker, mut tui) = pair(&first).await;
    asker.say(EVAL).await;
    let question = request(&mut tui, "approve").await;
    let name = text(&question, "id");
    assert!(at(&question, "target").is_keyword("approval"), "{question}");
    assert_eq!(text(&question, "payload approval"), name);
    assert!(at(&question, "payload risk").is_keyword("dangerous"), "{question}");
    assert_eq!(text(&question, "payload wanted code"), "(save)");
    assert!(number(&question, "meta deadline") > number(&question, "meta at"), "{question}");
    assert_eq!(text(&request(&mut asker, "approve").await, "id"), name, "all are asked");
    drop((asker, tui));
    let (end, dir) = first.begin_stop();
    end.await.unwrap().unwrap();

    let second = TestDaemon::again(dir, |config, dir| config.unix = Some(dir.join("socket"))).await;
    let mut tui = Shell::attach(&second, ":session \"work\" :client \"b\" :shell :tui").await;
    assert_eq!(text(&request(&mut tui, "approve").await, "id"), name, "asked again");
    // Somebody else, with no session and no hello.
    let mut other = second.unix_peer().await;
    let told = value(&other.ask(&approve(&name, "allow")).await);
    assert!(at(&told, "payload status").is_keyword("success"), "{told}");
    let act = request(&mut tui, "eval").await;
    let id = text(&act, "id");
    tui.say(&format!("(:type :RESPONSE :id \"{id}\" :payload (:status :success))")).await;
    let late = value(&other.ask(&approve(&name, "deny")).await);
    assert_code(&late, "refused");
    assert!(at(&late, "payload how").is_keyword("allowed"), "{late}");
    let fields = ":session \"work\" :client \"a\" :cursor 0";
    let mut asker = Shell::attach(&second, fields).await;
    let answer = asker.response(1).await;
    assert!(at(&answer, "payload outcome").is_keyword("done"), "{answer}");
    let metric = second.metric("bridle_approvals_answered_total").await;
    assert_eq!(metric, 2);
}

#[tokio::test]
async fn a_client_without_hello_is_told_at_once_and_asks_again() {
    let daemon = daemon().await;
    let mut plain = daemon.unix_peer().await;
    let first = value(&plain.ask("(:type :LOG :id 1 :payload (:text \"x\"))").await);
    let session = text(&first, "meta session");
    let mut tui = Shell::attach(&daemon, &format!(":session \"{session}\" :shell :tui")).await;
    let pending = value(&plain.ask(EVAL).await);
    assert!(at(&pending, "payload status").is_keyword("pending-approval"), "{pending}");
    let name = text(&pending, "payload approval");
    let ask = |action: &str| {
        format!(
            "(:type :REQUEST :id 3 :target :system \
             :payload (:action :{action} :approval \"{name}\"))"
        )
    };
    let open = value(&plain.ask(&ask("approval")).await);
    assert!(at(&open, "payload status").is_keyword("pending-approval"), "{open}");
    let list = value(&plain.ask(&ask("approvals")).await);
    let Value::List(list) = at(&list, "payload approvals") else { panic!("{list}") };
    assert_eq!(list.len(), 1);
    assert_eq!(text(&list[0], "approval"), name);
    let question = request(&mut tui, "approve").await;
    assert_eq!(text(&question, "id"), name);
    tui.say(&format!("(:type :RESPONSE :id \"{name}\" :payload (:verdict :deny))")).await;
    let told = tui.of_type("RESPONSE").await;
    assert_eq!(text(&told, "id"), name);
    assert!(at(&told, "payload answer").is_keyword("deny"), "{told}");
    let over = value(&plain.ask(&ask("approval")).await);
    assert!(at(&over, "payload how").is_keyword("denied"), "{over}");
}

#[tokio::test]
async fn a_local_program_finds_no_question_and_installs_nothing() {
    let daemon = daemon().await;
    let (mut asker, mut tui) = pair(&daemon).await;
    asker.say(EVAL).await;
    let name = text(&request(&mut tui, "approve").await, "id");
    let mut local = daemon.peer().await;
    assert_code(&value(&local.ask(&approve(&name, "allow")).await), "unknown-id");
    let install = "(:type :REQUEST :id 8 :target :system :payload (:action :install-policy))";
    assert_code(&value(&local.ask(install).await), "not-permitted");
    let mut owner = daemon.unix_peer().await;
    let told = value(&owner.ask(install).await);
    assert_eq!(text(&told, "payload hash").len(), 64);
    let health = value(&owner.ask("(:type :health-check :detail t)").await);
    assert_eq!(text(&health, "detail policy"), text(&told, "payload hash"));
    assert_eq!(number(&health, "detail queues approvals"), 1);
}

#[tokio::test]
async fn what_answers_nothing_is_refused() {
    let daemon = daemon().await;
    let mut owner = daemon.unix_peer().await;
    for (payload, code) in [
        ("(:action :approve :approval \"none-1\" :verdict :allow)", "unknown-id"),
        ("(:action :approve :approval \"none\" :verdict :allow)", "invalid-value"),
        ("(:action :approve :approval 7 :verdict :allow)", "invalid-value"),
        ("(:action :approve :approval \"none-1\" :verdict :perhaps)", "invalid-value"),
        ("(:action :approve :approval \"none-1\")", "invalid-value"),
        ("(:action :approve :approval \"none-1\" :verdict :deny :hash \"x\")", "invalid-value"),
        ("(:action :approval :approval \"none-1\")", "unknown-id"),
    ] {
        let ask = format!("(:type :REQUEST :id 1 :target :system :payload {payload})");
        assert_code(&value(&owner.ask(&ask).await), code);
    }
}
