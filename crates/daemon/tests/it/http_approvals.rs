//! Questions of the guard over HTTP: asked as a directive, answered with a continuation, by its name,
//! or in a framed shell; done once.

use bridle_daemon::tokens::{NewToken, TokenOwner, TokenRegistry, TokenScope, TokenSeed};
use bridle_sexp::Value;
use bridle_wire::openharness::payload::{OptionKind, RequestApproval};
use bridle_wire::openharness::request::RunContinuation;
use bridle_wire::openharness::{
    Directive, Json, JsonShape as _, MessageLimits, OpenHarnessCode, ReadMode, read,
};

use crate::http_repeats::scripted;
use crate::shell::{Shell, at, text};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{HttpReply, ask, raw_post};

const RULES: &str = "(rule :when \"save\" :say \"I will save.\" \
                       :propose ((:target :tui :action :eval :code \"(save)\" :then-think t)))\n\
                     (rule :when \"save\" :result (:action :eval :outcome :done) :say \"Saved.\")\n\
                     (rule :when \"twice\" :propose ((:target :tui :action :eval :code \"(one)\") \
                       (:target :tui :action :eval :code \"(two)\")))\n\
                     (rule :when \"more\" :say \"More.\")";

/// What a shell says that can ask and tell.
pub(crate) const ASKS: &str =
    r#""capabilities":{"openharness.ui.approval":true,"dev.bridle.feedback":{"version":1}},"#;

/// A device with a token, in the session `desk`.
pub(crate) struct Device {
    headers: String,
}

impl Device {
    pub(crate) fn new(daemon: &TestDaemon, scopes: &[TokenScope]) -> Device {
        let tokens = TokenRegistry::load(&daemon.dir.path().join("state")).unwrap();
        let scopes = scopes.iter().copied().collect();
        let new =
            NewToken { name: "test".into(), owner: TokenOwner::this_user(), scopes, expires: None };
        let made = tokens.create(new, &TokenSeed::from_system().unwrap(), 1).unwrap();
        let token = made.reveal();
        let headers =
            format!("content-type: application/json\r\nauthorization: Bearer {token}\r\n");
        Device { headers }
    }

    /// Its headers, for a connection of its own.
    pub(crate) fn bearer(&self) -> &str {
        &self.headers
    }

    /// One that may talk and approve.
    pub(crate) fn usual(daemon: &TestDaemon) -> Device {
        Device::new(daemon, &[TokenScope::Talk, TokenScope::Approve])
    }

    /// A request of it, as bytes.
    pub(crate) fn request(&self, daemon: &TestDaemon, body: &str) -> String {
        raw_post(daemon, &self.headers, body)
    }

    pub(crate) async fn post(&self, daemon: &TestDaemon, body: &str) -> HttpReply {
        ask(daemon, &self.request(daemon, body)).await
    }

    /// The same to a path below.
    pub(crate) async fn post_to(&self, daemon: &TestDaemon, path: &str, body: &str) -> HttpReply {
        let path = format!("/v1/openharness{path} ");
        ask(daemon, &self.request(daemon, body).replacen("/v1/openharness ", &path, 1)).await
    }
}

/// A request with this context in the session `desk`.
fn body(id: &str, context: &str) -> String {
    body_in("desk", id, context)
}

fn body_in(session: &str, id: &str, context: &str) -> String {
    format!(
        r#"{{"protocol_version":"1.0.0","request_id":"{id}",{ASKS}"request":{{"context":{{"session_id":"{session}",{context}}}}}}}"#
    )
}

pub(crate) fn says(id: &str, intent: &str) -> String {
    body(id, &format!(r#""user_intent":"{intent}""#))
}

/// The same answer over: a continuation as it came, with results.
pub(crate) fn goes_on(id: &str, continuation: &RunContinuation, results: &str) -> String {
    body(id, &step(continuation, results))
}

fn step(continuation: &RunContinuation, results: &str) -> String {
    let continuation = continuation.to_text();
    format!(
        r#""continuation":{continuation},"extensions":{{"dev.bridle":{{"directive_results":[{results}]}}}}"#
    )
}

pub(crate) fn decision(directive: &str, option: &str) -> String {
    let outcome = if option == "allow_once" { "completed" } else { "rejected" };
    format!(
        r#"{{"directive_id":"{directive}","outcome":"{outcome}","decision":{{"by":"user","option_id":"{option}"}}}}"#
    )
}

/// The questions of an answer, each with the name of its directive, and how to go on.
pub(crate) fn asked(reply: &HttpReply) -> (Vec<(String, RequestApproval)>, RunContinuation) {
    let message = reply.message();
    assert_eq!(reply.status, 200, "{reply:?}");
    let is_question = |it: &&Directive| it.action_type.as_str() == "request_approval";
    let directives = message.response.action_directives.iter().filter(is_question);
    let questions = directives.map(|directive| {
        let payload = Json::Object(directive.payload.clone().unwrap()).to_text();
        let limits = MessageLimits { mode: ReadMode::Strict, ..MessageLimits::default() };
        let payload = read(payload.as_bytes(), &limits).unwrap();
        (directive.directive_id().unwrap().as_str().to_owned(), payload)
    });
    let continuation = message.response.continuation.clone().expect("a continuation");
    assert_eq!(message.response.continuation().unwrap(), &continuation);
    (questions.collect(), continuation)
}

/// A shell of the owner in the same session, which carries out what `:tui` is asked for.
pub(crate) async fn tui(daemon: &TestDaemon) -> Shell {
    Shell::attach(daemon, ":session \"desk\" :client \"t\" :shell :tui").await
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

/// Carries one `eval` out; returns its code.
pub(crate) async fn eval(shell: &mut Shell) -> String {
    let act = request(shell, "eval").await;
    let id = text(&act, "id");
    shell.say(&format!("(:type :RESPONSE :id \"{id}\" :payload (:status :success))")).await;
    text(&act, "payload code")
}

#[tokio::test]
async fn a_yes_over_http_lets_the_turn_go_on_once() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (device, mut tui) = (Device::usual(&daemon), tui(&daemon).await);
    let first = device.post(&daemon, &says("r1", "save")).await;
    let (questions, continuation) = asked(&first);
    assert_eq!(first.text(), "I will save.");
    let (directive, question) = &questions[0];
    assert!(question.message.contains("(save)"), "{question:?}");
    assert!(question.fallback_message.is_some() && question.expires_at.is_some());
    let kinds: Vec<_> = question.options.iter().map(|option| option.kind).collect();
    assert_eq!(kinds, [OptionKind::AllowOnce, OptionKind::RejectOnce]);
    assert!(question.subject.as_ref().unwrap().payload_digest.is_some());
    // The framed shell sees the same question.
    let seen = request(&mut tui, "approve").await;
    assert_eq!(text(&seen, "id"), question.approval_id.as_str());
    let yes = goes_on("r2", &continuation, &decision(directive, "allow_once"));
    let (last, code) = tokio::join!(device.post(&daemon, &yes), eval(&mut tui));
    assert_eq!((last.text().as_str(), &*code), ("Saved.", "(save)"));
    assert!(last.message().response.continuation.is_none());
    // The same again is told the same; the token under another name is used up.
    let again = device.post(&daemon, &yes).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.body, last.body);
    let other = goes_on("r3", &continuation, &decision(directive, "allow_once"));
    assert_eq!(device.post(&daemon, &other).await.code(), OpenHarnessCode::ContinuationConsumed);
    let (end, dir) = daemon.begin_stop();
    end.await.unwrap().unwrap();
    let daemon = TestDaemon::again(dir, scripted(RULES)).await;
    assert_eq!(device.post(&daemon, &says("r1", "save")).await.body, first.body);
    assert_eq!(device.post(&daemon, &yes).await.body, last.body);
    assert_eq!(device.post(&daemon, &other).await.code(), OpenHarnessCode::ContinuationConsumed);
    assert_eq!(daemon.metric("bridle_messages_admitted_total").await, 0);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_no_is_honored_and_no_error() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (device, _tui) = (Device::usual(&daemon), tui(&daemon).await);
    let (questions, continuation) = asked(&device.post(&daemon, &says("r1", "save")).await);
    let no = goes_on("r2", &continuation, &decision(&questions[0].0, "reject_once"));
    assert_eq!(device.post(&daemon, &no).await.text(), "Not done: it was denied.");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn asked_over_http_answered_in_a_shell_after_a_restart() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let device = Device::usual(&daemon);
    let shell = tui(&daemon).await;
    let (questions, continuation) = asked(&device.post(&daemon, &says("r1", "save")).await);
    drop(shell);
    let (end, dir) = daemon.begin_stop();
    end.await.unwrap().unwrap();
    let daemon = TestDaemon::again(dir, scripted(RULES)).await;
    let mut tui = tui(&daemon).await;
    let seen = text(&request(&mut tui, "approve").await, "id");
    assert_eq!(seen, questions[0].1.approval_id.as_str());
    tui.say(&format!("(:type :RESPONSE :id \"{seen}\" :payload (:verdict :allow))")).await;
    assert_eq!(eval(&mut tui).await, "(save)");
    // The no of the device comes too late: the first answer counts, and the run goes on.
    let no = goes_on("r2", &continuation, &decision(&questions[0].0, "reject_once"));
    assert_eq!(device.post(&daemon, &no).await.text(), "Saved.");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn asked_in_a_shell_answered_over_http_by_its_name() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let device = Device::usual(&daemon);
    let mut tui = tui(&daemon).await;
    tui.say("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"save\"))").await;
    let name = text(&request(&mut tui, "approve").await, "id");
    let results = |name: &str, option: &str| {
        let result = decision(name, option);
        format!(r#""extensions":{{"dev.bridle":{{"directive_results":[{result}]}}}}"#)
    };
    let talker = Device::new(&daemon, &[TokenScope::Talk]);
    let refused = talker.post(&daemon, &body("r0", &results(&name, "allow_once"))).await;
    assert_eq!(refused.code(), OpenHarnessCode::Forbidden);
    let unknown = device.post(&daemon, &body("r1", &results("desk-99", "allow_once"))).await;
    assert_eq!(unknown.code(), OpenHarnessCode::ContinuationInvalid);
    let yes = body("r2", &results(&name, "allow_once"));
    let told = device.post(&daemon, &yes).await;
    assert_eq!(told.text(), "The question is allowed.");
    assert_eq!(eval(&mut tui).await, "(save)");
    assert_eq!(text(&tui.response(1).await, "payload text"), "I will save.\n\nSaved.");
    assert_eq!(device.post(&daemon, &yes).await.text(), "The question is allowed.");
    let no = body("r3", &results(&name, "reject_once"));
    assert_eq!(device.post(&daemon, &no).await.text(), "The question was allowed before.");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_missing_is_asked_again_and_unknown_ids_do_not_matter() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (device, mut tui) = (Device::usual(&daemon), tui(&daemon).await);
    let (questions, continuation) = asked(&device.post(&daemon, &says("r1", "twice")).await);
    assert_eq!(questions.len(), 2);
    let unknown = decision("elsewhere-1.0", "allow_once");
    let some = format!("{},{unknown}", decision(&questions[1].0, "allow_once"));
    let some = goes_on("r2", &continuation, &some);
    let (partial, code) = tokio::join!(device.post(&daemon, &some), eval(&mut tui));
    assert_eq!(code, "(two)");
    let (rest, continuation) = asked(&partial);
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].1.approval_id, questions[0].1.approval_id);
    // Nothing at all is asked again, too.
    let (rest, continuation) =
        asked(&device.post(&daemon, &goes_on("r3", &continuation, "")).await);
    let yes = goes_on("r4", &continuation, &decision(&rest[0].0, "allow_once"));
    let (last, code) = tokio::join!(device.post(&daemon, &yes), eval(&mut tui));
    assert_eq!(code, "(one)");
    assert!(last.text().contains("`eval` of `tui`: done"), "{last:?}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn an_answer_may_come_with_more_to_do() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (device, mut tui) = (Device::usual(&daemon), tui(&daemon).await);
    let (questions, continuation) = asked(&device.post(&daemon, &says("r1", "save")).await);
    let results = step(&continuation, &decision(&questions[0].0, "allow_once"));
    let more = body("r2", &format!(r#"{results},"user_intent":"more""#));
    let (last, _) = tokio::join!(device.post(&daemon, &more), eval(&mut tui));
    assert_eq!(last.text(), "More.");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_token_is_good_for_its_principal_and_its_session_alone() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (device, mut tui) = (Device::usual(&daemon), tui(&daemon).await);
    let (questions, continuation) = asked(&device.post(&daemon, &says("r1", "save")).await);
    let yes = decision(&questions[0].0, "allow_once");
    let another = Device::usual(&daemon);
    let stolen = another.post(&daemon, &goes_on("r2", &continuation, &yes)).await;
    assert_eq!(stolen.code(), OpenHarnessCode::ContinuationMismatch);
    let elsewhere = body_in("sofa", "r3", &step(&continuation, &yes));
    assert_eq!(
        device.post(&daemon, &elsewhere).await.code(),
        OpenHarnessCode::ContinuationMismatch
    );
    let token = continuation.continuation_token.as_ref().unwrap().as_str();
    for at in (0..token.len()).step_by(7) {
        let mut bytes = token.as_bytes().to_vec();
        bytes[at] ^= 1;
        let flipped = goes_on("r4", &continuation, &yes);
        let flipped = flipped.replace(token, std::str::from_utf8(&bytes).unwrap());
        assert_eq!(
            device.post(&daemon, &flipped).await.code(),
            OpenHarnessCode::ContinuationInvalid,
            "{at}"
        );
    }
    // Nothing of this used it up.
    let good = goes_on("r5", &continuation, &yes);
    let (last, _) = tokio::join!(device.post(&daemon, &good), eval(&mut tui));
    assert_eq!(last.text(), "Saved.");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_late_answer_is_told_so() {
    let daemon = TestDaemon::with(|config, dir| {
        scripted(RULES)(config, dir);
        config.engine.approval = std::time::Duration::from_millis(300);
    })
    .await;
    let (device, mut tui) = (Device::usual(&daemon), tui(&daemon).await);
    let (questions, continuation) = asked(&device.post(&daemon, &says("r1", "save")).await);
    loop {
        let frame = tui.next().await;
        if at(&frame, "payload outcome").is_keyword("expired") {
            break;
        }
    }
    let yes = goes_on("r2", &continuation, &decision(&questions[0].0, "allow_once"));
    assert_eq!(device.post(&daemon, &yes).await.code(), OpenHarnessCode::ContinuationExpired);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn who_cannot_ask_or_may_not_answer_is_told_the_name() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (device, _tui) = (Device::usual(&daemon), tui(&daemon).await);
    let mute = says("r1", "save").replacen(ASKS, "", 1);
    let reply = device.post(&daemon, &mute).await;
    let message = reply.message();
    assert!(message.response.continuation.is_none());
    let texts: Vec<_> = message.response.action_directives.iter().map(|it| it.text()).collect();
    assert!(texts[1].unwrap().contains("waits for a yes to question `desk-"), "{texts:?}");
    // Half of what is needed is denied by name.
    let half = says("r2", "save").replacen(r#","dev.bridle.feedback":{"version":1}"#, "", 1);
    let denials = device.post(&daemon, &half).await.message().capability_denials;
    assert_eq!(denials[0].capability.as_str(), "openharness.ui.approval");
    assert_eq!(denials[0].code.as_ref().unwrap().as_str(), "requires_capability");
    // A token that is not for approvals is not asked.
    let talker = Device::new(&daemon, &[TokenScope::Talk]);
    let reply = talker.post(&daemon, &says("r3", "save")).await;
    assert!(reply.message().response.continuation.is_none(), "{reply:?}");
    daemon.stop().await.unwrap();
}
