//! Bearer tokens: whose sessions they open, and what they are not good for.

use bridle_daemon::tokens::{NewToken, TokenOwner, TokenRegistry, TokenScope, TokenSeed};
use bridle_wire::openharness::OpenHarnessCode;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::hang_guard::guard;
use bridle_test_support::http_client::{HttpReply, ask, intent, raw_post, serving};
use bridle_test_support::other_user::python_of_another_user;

/// Makes a token of this user's in the state of a running daemon.
fn token(daemon: &TestDaemon, scope: TokenScope, expires: Option<i64>) -> String {
    let tokens = TokenRegistry::load(&daemon.dir.path().join("state")).unwrap();
    let scopes = [scope].into_iter().collect();
    let new = NewToken { name: "test".into(), owner: TokenOwner::this_user(), scopes, expires };
    let made = tokens.create(new, &TokenSeed::from_system().unwrap(), 1).unwrap();
    made.reveal().to_owned()
}

async fn ask_with(daemon: &TestDaemon, credential: &str, id: &str) -> HttpReply {
    let headers = format!("content-type: application/json\r\nauthorization: {credential}\r\n");
    ask(daemon, &raw_post(daemon, &headers, &intent(id, "private", "help"))).await
}

#[tokio::test]
async fn a_token_of_the_owner_opens_the_owners_sessions() {
    let daemon = serving().await;
    let mut owner = daemon.unix_peer().await;
    let hello = "(:type :EVENT :id 1 :payload (:action :handshake :version \"0.2.0\" :session \
                 \"private\" :client-id \"c\"))";
    owner.ask(hello).await;
    owner.ask("(:type :EVENT :id 2 :payload (:sensor :user-prompt :text \"help\"))").await;
    let credential = format!("Bearer {}", token(&daemon, TokenScope::Talk, None));
    let reply = ask_with(&daemon, &credential, "r1").await;
    assert!(reply.text().contains("This session is `private`"), "{reply:?}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_token_is_good_for_its_scope_alone_and_a_bad_one_for_nothing() {
    let daemon = serving().await;
    let observer = format!("bearer {}", token(&daemon, TokenScope::Observe, None));
    assert_eq!(ask_with(&daemon, &observer, "r1").await.code(), OpenHarnessCode::Forbidden);
    let over = format!("Bearer {}", token(&daemon, TokenScope::Talk, Some(2)));
    let good = token(&daemon, TokenScope::Talk, None);
    let (cut, basic) = (format!("Bearer {}", &good[1..]), format!("Basic {good}"));
    for credential in [&over, &cut, &basic, &good, "Bearer", "Bearer CANARY"] {
        let reply = ask_with(&daemon, credential, "r2").await;
        assert_eq!(reply.code(), OpenHarnessCode::Unauthenticated, "{credential}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        assert!(!reply.body.contains("CANARY") && !reply.body.contains(&good), "{reply:?}");
    }
    daemon.stop().await.unwrap();
}

/// Asks as a client of no library would.
const STRANGER: &str = r#"
import http.client, sys
body = '{"protocol_version":"1.0.0","request_id":"r1","request":{"context":{"user_intent":"help"}}}'
def ask(method, path, body=None):
    link = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    link.request(method, path, body, {"Content-Type": "application/json"})
    return link.getresponse().status
print(ask("POST", "/v1/openharness", body), ask("GET", "/metrics"), ask("GET", "/health"))
"#;

#[tokio::test]
async fn another_user_of_this_machine_needs_a_token() {
    let daemon = serving().await;
    let port = daemon.bound.http.unwrap().port().to_string();
    let mut command = python_of_another_user();
    command.args(["-c", STRANGER, &port]);
    let output = guard(tokio::task::spawn_blocking(move || command.output())).await;
    let output = output.unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "401 401 200", "{output:?}");
    daemon.stop().await.unwrap();
}
