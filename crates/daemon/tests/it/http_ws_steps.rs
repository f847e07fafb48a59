//! Results and cancellations on a WebSocket: a question is answered in a frame, a run is called off.

use bridle_wire::openharness::payload::REQUEST_APPROVAL;
use bridle_wire::openharness::{JsonShape as _, OpenHarnessCode, ResponseMessage};

use crate::http_approvals::{ASKS, Device, eval, tui};
use crate::http_repeats::scripted;
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::intent;
use bridle_test_support::websocket_client::{WebSocketClient, code};

const RULES: &str = "(rule :when \"save\" :say \"I will save.\" \
                       :propose ((:target :tui :action :eval :code \"(save)\" :then-think t)))\n\
                     (rule :when \"save\" :result (:action :eval :outcome :done) :say \"Saved.\")\n\
                     (rule :when \"brood\" :say \"I will.\" \
                       :propose ((:target :tui :action :eval :code \"(brood)\" :then-think t)))\n\
                     (rule :when \"brood\" :result (:action :eval :outcome :done) \
                       :delay 600000 :say \"At last.\")\n\
                     (rule :when \"wait\" :delay 600000 :say \"at last\")\n\
                     (rule :when \"quick\" :say \"quick\")";

/// A request of a shell that can ask and tell.
fn says(id: &str, text: &str) -> String {
    intent(id, "desk", text).replacen("\"request\":{", &format!("{ASKS}\"request\":{{"), 1)
}

/// A frame of results: what the user says to the question of an answer.
fn results(id: &str, asked: &ResponseMessage, option: &str) -> String {
    let continuation = asked.response.continuation.as_ref().expect("a continuation").to_text();
    let is_question =
        |it: &&bridle_wire::openharness::Directive| it.action_type.as_str() == REQUEST_APPROVAL;
    let directive = asked.response.action_directives.iter().find(is_question).unwrap();
    let (name, outcome) = (
        directive.directive_id().unwrap().as_str(),
        if option == "allow_once" { "completed" } else { "rejected" },
    );
    format!(
        r#"{{"type":"results","request_id":"{id}","continuation":{continuation},"directive_results":[{{"directive_id":"{name}","outcome":"{outcome}","decision":{{"by":"user","option_id":"{option}"}}}}]}}"#
    )
}

fn cancel(id: &str) -> String {
    format!(r#"{{"type":"cancel","request_id":"{id}"}}"#)
}

async fn connected(daemon: &TestDaemon) -> WebSocketClient {
    let device = Device::usual(daemon);
    WebSocketClient::with(daemon, device.bearer()).await
}

fn text(message: &ResponseMessage) -> &str {
    message.response.action_directives[0].text().unwrap()
}

#[tokio::test]
async fn a_question_is_answered_in_a_frame_and_done_once() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (mut shell, mut tui) = (connected(&daemon).await, tui(&daemon).await);
    shell.request(&says("r1", "save")).await;
    let asked = shell.message().await;
    let yes = results("r1", &asked, "allow_once");
    shell.say(&yes).await;
    let (events, done) = tokio::join!(shell.answer(), eval(&mut tui));
    assert_eq!(done, "(save)");
    assert_eq!(events[0].name(), "open");
    let saved = bridle_test_support::websocket_client::last(&events).clone();
    assert_eq!(text(&saved), "Saved.");
    // The same results again are told the same; what they are of is said with every event.
    shell.say(&yes).await;
    let again = shell.message().await;
    assert_eq!(again.response.action_directives, saved.response.action_directives);
    // Other results with the same continuation come too late.
    shell.say(&results("r1", &asked, "reject_once")).await;
    assert_eq!(code(&shell.message().await), Some(OpenHarnessCode::ContinuationConsumed));
    // A no, in a frame as well.
    shell.request(&says("r2", "save")).await;
    let asked = shell.message().await;
    shell.say(&results("r2", &asked, "reject_once")).await;
    assert_eq!(text(&shell.message().await), "Not done: it was denied.");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn results_of_what_was_asked_elsewhere_are_refused() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (mut shell, _tui) = (connected(&daemon).await, tui(&daemon).await);
    shell.request(&says("r1", "save")).await;
    let asked = shell.message().await;
    // Another connection of another principal, and one of nobody's request.
    let mut other = connected(&daemon).await;
    other.say(&results("r1", &asked, "allow_once")).await;
    assert_eq!(code(&other.message().await), Some(OpenHarnessCode::ContinuationMismatch));
    shell.say(&results("never", &asked, "allow_once")).await;
    assert_eq!(code(&shell.message().await), Some(OpenHarnessCode::ContinuationMismatch));
    shell.say(r#"{"type":"results","request_id":"r1","directive_results":[]}"#).await;
    assert_eq!(code(&shell.message().await), Some(OpenHarnessCode::InvalidRequest));
    shell.say(r#"{"type":"results","request_id":7}"#).await;
    assert_eq!(code(&shell.message().await), Some(OpenHarnessCode::InvalidRequest));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_is_called_off_in_a_frame() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let mut shell = connected(&daemon).await;
    shell.request(&says("r1", "wait")).await;
    assert_eq!(shell.event().await.unwrap().name(), "open");
    // What is not there, or is no cancellation, harms nothing.
    shell.say(&cancel("never")).await;
    assert!(shell.next().await.unwrap().is_none());
    shell.say(r#"{"type":"cancel"}"#).await;
    assert_eq!(code(&shell.message().await), Some(OpenHarnessCode::InvalidRequest));
    shell.say(&cancel("r1")).await;
    let message = shell.next_final().await;
    assert_eq!(code(&message), Some(OpenHarnessCode::Canceled));
    assert_eq!(message.request_id.unwrap().as_str(), "r1");
    shell.request(&says("r2", "quick")).await;
    assert_eq!(text(&shell.next_final().await), "quick");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_goes_on_after_a_yes_is_called_off_by_the_same_name() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (mut shell, mut tui) = (connected(&daemon).await, tui(&daemon).await);
    shell.request(&says("r1", "brood")).await;
    let asked = shell.message().await;
    shell.say(&results("r1", &asked, "allow_once")).await;
    assert_eq!(eval(&mut tui).await, "(brood)");
    shell.say(&cancel("r1")).await;
    let message = shell.next_final().await;
    assert_eq!(code(&message), Some(OpenHarnessCode::Canceled));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn the_same_after_a_restart() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let device = Device::usual(&daemon);
    let mut shell = WebSocketClient::with(&daemon, device.bearer()).await;
    let mut other = tui(&daemon).await;
    shell.request(&says("r1", "brood")).await;
    let asked = shell.message().await;
    let yes = results("r1", &asked, "allow_once");
    shell.say(&yes).await;
    assert_eq!(eval(&mut other).await, "(brood)");
    drop((shell, other));
    let (end, dir) = daemon.begin_stop();
    end.await.unwrap().unwrap();
    let daemon = TestDaemon::again(dir, scripted(RULES)).await;
    let mut shell = WebSocketClient::with(&daemon, device.bearer()).await;
    shell.say(&cancel("r1")).await;
    assert!(shell.next().await.unwrap().is_none());
    // Another connection learns where it was asked by asking again; then it finds the end.
    shell.request(&says("r1", "brood")).await;
    assert_eq!(shell.message().await, asked);
    shell.say(&yes).await;
    assert_eq!(code(&shell.next_final().await), Some(OpenHarnessCode::Canceled));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_question_that_is_called_off_is_no_longer_asked() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let (mut shell, _tui) = (connected(&daemon).await, tui(&daemon).await);
    shell.request(&says("r1", "save")).await;
    let asked = shell.message().await;
    shell.say(&cancel("r1")).await;
    assert!(shell.next().await.unwrap().is_none());
    shell.say(&results("r1", &asked, "allow_once")).await;
    let message = shell.message().await;
    assert!(message.response.continuation.is_none(), "{message:?}");
    assert_ne!(text(&message), "Saved.");
    daemon.stop().await.unwrap();
}
