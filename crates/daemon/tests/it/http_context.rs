//! What a session is told of a request: as much of a state as its tier lets through, who asks
//! from where, and which task.

use bridle_history::{RecordBody, RecordHistory, RecordSelection};
use bridle_wire::openharness::OpenHarnessCode;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{ask, post, serving};

/// A request whose context has these members, too.
fn with(id: &str, members: &str) -> String {
    format!(
        r#"{{"protocol_version":"1.0.0","request_id":"{id}","request":{{"context":{{"session_id":"desk","user_intent":"help",{members}}}}}}}"#
    )
}

/// Everything that is recorded, opened.
fn recorded(daemon: &TestDaemon) -> String {
    let history = RecordHistory::open(&daemon.dir.path().join("state")).unwrap();
    let all = history.page(0, &RecordSelection::default(), 512).unwrap();
    let text = |body: &RecordBody| match body {
        RecordBody::Text(text) => text.clone() + "\n",
        RecordBody::Erased => String::new(),
    };
    all.iter().map(|record| text(&record.body)).collect()
}

#[tokio::test]
async fn of_a_state_as_much_is_recorded_as_its_tier_lets_through() {
    let daemon = serving().await;
    let cases = [
        ("r1", r#""privacy_tier":"public","#, ":privacy :public", true, true),
        ("r2", r#""privacy_tier":"restricted","#, ":privacy :restricted", true, false),
        ("r3", "", ":privacy :restricted", true, false),
        ("r4", r#""privacy_tier":null,"#, ":privacy :restricted", true, false),
        ("r5", r#""privacy_tier":"secret","#, ":privacy :secret", false, false),
        ("r6", r#""privacy_tier":"top-secret","#, ":privacy :secret", false, false),
        ("r7", r#""privacy_tier":"Public","#, ":privacy :secret", false, false),
        ("r8", r#""privacy_tier":"","#, ":privacy :secret", false, false),
    ];
    for (id, tier, word, named, rest) in cases {
        let state = format!(
            r#""environment_state":{{{tier}"os":"named-{id}","battery":{{"rest-{id}":"rest-{id}"}}}}"#
        );
        let reply = ask(&daemon, &post(&daemon, &with(id, &state))).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(!reply.body.contains(&format!("named-{id}")), "{reply:?}");
        let all = recorded(&daemon);
        let last = all.lines().rfind(|line| line.contains(":environment")).unwrap();
        assert!(last.contains(word), "{id}: {last}");
        assert_eq!(all.contains(&format!("named-{id}")), named, "{id}: {all}");
        assert_eq!(all.contains(&format!("rest-{id}")), rest, "{id}: {all}");
    }
    let wrong = with("r9", r#""environment_state":{"privacy_tier":["secret"],"os":"named-r9"}"#);
    assert_eq!(ask(&daemon, &post(&daemon, &wrong)).await.code(), OpenHarnessCode::InvalidRequest);
    assert!(!recorded(&daemon).contains("named-r9"));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn who_asks_from_where_is_part_of_the_context_whatever_it_is_called() {
    let daemon = serving().await;
    let shell = r#""shell":{"shell_kind":"command_shell","shell_version":"1","locale":"de-DE","timezone":"Europe/Berlin"}"#;
    let reply = ask(&daemon, &post(&daemon, &with("r1", shell))).await;
    assert!(reply.body.contains("\"format\":\"plain\""), "{reply:?}");
    let all = recorded(&daemon);
    for fact in [":shell :command_shell", ":locale \"de-DE\"", ":time-zone \"Europe/Berlin\""] {
        assert!(all.contains(fact), "{fact}: {all}");
    }
    for (id, shell) in [
        (
            "r2",
            r#""shell":{"shell_kind":"com.example.kiosk/Größe","locale":"zh_CN","timezone":"UTC+8"}"#,
        ),
        ("r3", r#""shell":{"shell_kind":"im_bot","locale":"C","timezone":""}"#),
        ("r4", r#""shell":{}"#),
    ] {
        let reply = ask(&daemon, &post(&daemon, &with(id, shell))).await;
        assert!(reply.body.contains("\"format\":\"markdown\""), "{reply:?}");
    }
    let empty = ask(&daemon, &post(&daemon, &with("r5", r#""shell":{"shell_kind":""}"#))).await;
    assert_eq!(empty.code(), OpenHarnessCode::InvalidRequest);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_procedure_that_nobody_knows_is_said_to_be_one_and_nothing_runs() {
    let daemon = serving().await;
    for (id, sop) in [("r1", "\"sop-1\""), ("r2", "\"\"")] {
        let hint = format!(r#""task_hint":{{"sop_id":{sop},"plugin_id":"p"}}"#);
        let reply = ask(&daemon, &post(&daemon, &with(id, &hint))).await;
        assert_eq!(reply.code(), OpenHarnessCode::InvalidRequest, "{sop}");
        let error = reply.message().response.error.unwrap();
        assert_eq!(error.message.unwrap(), "this engine knows no procedure of that name");
        let field = error.details.unwrap();
        assert_eq!(field.get("field").unwrap().as_str(), Some("context.task_hint.sop_id"));
        assert!(!reply.body.contains("sop-1"), "{reply:?}");
    }
    assert!(!recorded(&daemon).contains(":user-prompt"), "nothing was recorded");
    let known = r#""task_hint":{"sop_id":null,"plugin_id":"mail","business_key":"order-7","x":1}"#;
    assert_eq!(ask(&daemon, &post(&daemon, &with("r3", known))).await.status, 200);
    let wanted = ":task (:plugin \"mail\" :business-key \"order-7\")";
    assert!(recorded(&daemon).contains(wanted));
    let wrong = r#""task_hint":{"business_key":42}"#;
    let reply = ask(&daemon, &post(&daemon, &with("r4", wrong))).await;
    assert_eq!(reply.code(), OpenHarnessCode::InvalidRequest);
    daemon.stop().await.unwrap();
}

/// A request in the middle of a run of another engine, of the shape of the published example.
const ELSEWHERE: &str = r#"{"protocol_version":"1.0.0","request_id":"ID","correlation_id":"trace-7","capabilities":{"openharness.ui.rich_cards":true,"openharness.attachments.upload":true},"request":{"auth":{"tenant_id":"acme","credential_ref":"ref-1"},"context":{"session_id":"chat-17","conversation_id":"topic-3","user_intent":"Go on where we stopped.","task_hint":{"sop_id":"hire","business_key":"order-9"},"continuation":{"run_id":"run-5","continuation_token":"token-of-theirs"},"shell":{"shell_kind":"im_bot_cli","shell_version":"0.1.0","locale":"zh-CN","timezone":"Asia/Shanghai"},"attachments":[{"ref_id":"upload-1","mime_type":"application/pdf","filename":"plan.pdf"}],"environment_state":{"privacy_tier":"restricted","active_window":"Chat"}}}}"#;

#[tokio::test]
async fn a_step_of_another_engine_is_refused_for_each_thing_that_is_not_here() {
    let daemon = serving().await;
    let mut body = ELSEWHERE.to_owned();
    for (id, code, field, without) in [
        (
            "e1",
            OpenHarnessCode::InvalidRequest,
            Some("context.task_hint.sop_id"),
            r#""sop_id":"hire","#,
        ),
        (
            "e2",
            OpenHarnessCode::ContinuationInvalid,
            None,
            r#""continuation":{"run_id":"run-5","continuation_token":"token-of-theirs"},"#,
        ),
        (
            "e3",
            OpenHarnessCode::AttachmentUnresolved,
            Some("context.attachments.0.ref_id"),
            r#""attachments":[{"ref_id":"upload-1","mime_type":"application/pdf","filename":"plan.pdf"}],"#,
        ),
    ] {
        let reply = ask(&daemon, &post(&daemon, &body.replace("ID", id))).await;
        assert_eq!(reply.code(), code, "{id}");
        let message = reply.message();
        assert_eq!(message.correlation_id.unwrap().as_str(), "trace-7");
        let details = message.response.error.unwrap().details;
        let named = details.as_ref().and_then(|it| it.get("field")).and_then(|it| it.as_str());
        assert!(named.unwrap_or_default().starts_with(field.unwrap_or_default()), "{reply:?}");
        assert_eq!(named.is_some(), field.is_some(), "{reply:?}");
        assert!(body.contains(without), "{without}");
        body = body.replacen(without, "", 1);
    }
    assert!(!recorded(&daemon).contains(":user-prompt"), "nothing was recorded");
    let reply = ask(&daemon, &post(&daemon, &body.replace("ID", "e4"))).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let denied: Vec<_> = reply.message().capability_denials;
    assert_eq!(denied[0].capability.as_str(), "openharness.ui.rich_cards");
    daemon.stop().await.unwrap();
}
