//! One model: what is said over HTTP and what is said in frames are the same sessions.
//!
//! Generated prompts go in at one side and are looked for at the other.

use bridle_daemon::tokens::TokenScope;
use bridle_sexp::Value;
use bridle_wire::openharness::Json;
use bridle_wire::openharness::payload::RENDER_MESSAGE;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::http_approvals::Device;
use crate::http_repeats::scripted;
use crate::shell::{Shell, at, text};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{ask, intent, post};

/// Prompts that are tried.
const CASES: usize = 48;

const RULES: &str = "(rule :when (:sensor :user-prompt :text *) :say \"heard: $1\")";

/// What a person may say, where, and with what.
#[derive(Clone, Debug)]
struct Prompt {
    intent: String,
    kind: &'static str,
    plugin: Option<String>,
}

fn prompts() -> impl Strategy<Value = Prompt> {
    let kinds = proptest::sample::select(vec!["im_bot", "tv", "command_shell", "org.example.x"]);
    let plugin = proptest::option::of("[a-z]{1,8}");
    ("\\PC{0,40}", kinds, plugin).prop_map(|(tail, kind, plugin)| {
        // A word of one's own, so that none is one of the daemon's.
        Prompt { intent: format!("say {tail}"), kind, plugin }
    })
}

/// Draws prompts that are the same in every run.
fn drawn() -> Vec<Prompt> {
    let mut runner = TestRunner::deterministic();
    let draw = |_| prompts().new_tree(&mut runner).unwrap().current();
    (0..CASES).map(draw).collect()
}

fn request(id: usize, prompt: &Prompt) -> String {
    let intent = Json::from(prompt.intent.as_str()).to_text();
    let task =
        prompt.plugin.as_ref().map(|plugin| format!(r#","task_hint":{{"plugin_id":"{plugin}"}}"#));
    let (kind, task) = (prompt.kind, task.unwrap_or_default());
    format!(
        r#"{{"protocol_version":"1.0.0","request_id":"m{id}","request":{{"context":{{"session_id":"desk","user_intent":{intent},"shell":{{"shell_kind":"{kind}"}}{task}}}}}}}"#
    )
}

/// The next event of the session with this key.
async fn event(shell: &mut Shell, key: &str) -> Value {
    loop {
        let frame = shell.next().await;
        if frame.get("payload").is_some_and(|payload| payload.get(key).is_some()) {
            return frame;
        }
    }
}

#[tokio::test]
async fn a_prompt_over_http_is_a_prompt_in_frames_and_its_answer_the_same() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let device = Device::new(&daemon, &[TokenScope::Talk]);
    let mut shell = Shell::attach(&daemon, ":session \"desk\" :client \"w\"").await;
    for (id, prompt) in drawn().into_iter().enumerate() {
        let reply = device.post(&daemon, &request(id, &prompt)).await;
        let seen = event(&mut shell, "sensor").await;
        assert!(at(&seen, "payload sensor").is_keyword("user-prompt"), "{seen}");
        assert_eq!(text(&seen, "payload text"), prompt.intent, "{prompt:?}");
        assert!(at(&seen, "meta source").is_keyword(prompt.kind), "{seen}");
        let plugin = at(&seen, "payload task");
        let plugin = plugin.get("plugin").and_then(Value::as_str).map(str::to_owned);
        assert_eq!(plugin, prompt.plugin, "{seen}");
        let said = event(&mut shell, "text").await;
        let said_text = text(&said, "payload text");
        assert_eq!(said_text, format!("heard: {}", prompt.intent));
        let message = reply.message();
        let directive = &message.response.action_directives[0];
        assert_eq!(directive.action_type.as_str(), RENDER_MESSAGE);
        assert_eq!(directive.text(), Some(&*said_text), "{prompt:?}");
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_frames_said_is_the_history_of_who_comes_over_http() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let device = Device::new(&daemon, &[TokenScope::Talk]);
    let mut shell = Shell::attach(&daemon, ":session \"desk\" :client \"w\"").await;
    for (id, prompt) in drawn().into_iter().enumerate().take(CASES / 4) {
        let quoted = Value::str(&*prompt.intent);
        let said = format!(":payload (:sensor :user-prompt :text {quoted})");
        let id = i64::try_from(id).unwrap();
        let answer = shell.ask(id, &said).await;
        assert_eq!(text(&answer, "payload text"), format!("heard: {}", prompt.intent));
        // The numbers of both are those of one session.
        let seq = at(&answer, "meta seq").as_i64().unwrap();
        let reply = device.post(&daemon, &intent(&format!("n{id}"), "desk", "say x")).await;
        let name = reply.message().response.action_directives[0].directive_id().cloned();
        assert_eq!(name.unwrap().as_str(), format!("desk-{}.0", seq + 1));
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn the_session_of_another_owner_is_as_if_it_were_not_there() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let mut owner = Shell::attach(&daemon, ":session \"desk\" :client \"w\"").await;
    let mine = owner.ask(1, ":payload (:sensor :user-prompt :text \"say mine\")").await;
    assert_eq!(text(&mine, "payload text"), "heard: say mine");
    // Without a token: a program of this user, which is less than the owner.
    let name_of = |reply: &bridle_test_support::http_client::HttpReply| {
        let message = reply.message();
        let name = message.response.action_directives[0].directive_id().unwrap().clone();
        name.as_str().to_owned()
    };
    let theirs = ask(&daemon, &post(&daemon, &intent("r1", "desk", "say theirs"))).await;
    let unknown = ask(&daemon, &post(&daemon, &intent("r2", "never-was", "say theirs"))).await;
    assert_eq!(theirs.text(), unknown.text());
    assert!(name_of(&theirs).starts_with("oh-"), "{theirs:?}");
    assert!(name_of(&unknown).starts_with("never-was-"), "{unknown:?}");
    // The owner heard nothing of it.
    let next = owner.ask(2, ":payload (:sensor :user-prompt :text \"say more\")").await;
    let seq = |frame: &Value| at(frame, "meta seq").as_i64().unwrap();
    assert_eq!(seq(&next), seq(&mine) + 2);
    daemon.stop().await.unwrap();
}
