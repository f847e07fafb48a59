//! Effects as an editor shows them.

use bridle_sexp::read_one;
use serde_json::{Value, json};

use super::{ended, options, pending, running};
use crate::daemon_event::{GrantOffer, GuardQuestion};

fn question(wanted: &str, options: &[&str]) -> GuardQuestion {
    GuardQuestion {
        approval: "w-1".to_owned(),
        question: "the thinker wants it".to_owned(),
        hash: None,
        target: "memory".to_owned(),
        wanted: read_one(wanted).unwrap().root().to_value(),
        scopes: Vec::new(),
        options: options.iter().map(|&it| it.to_owned()).collect(),
    }
}

fn written(fields: &impl serde::Serialize) -> Value {
    serde_json::to_value(fields).unwrap()
}

#[test]
fn a_question_shows_reason_diff_and_place() {
    let wanted = "(:action :set-state :path \"/m/a.org\" :state \"DONE\" :prepared (:files ((:path \"/m/a.org\")) \
                  :diff \"--- a/a.org\n+++ b/a.org\n@@ -1 +1 @@\n-* TODO x\n+* DONE x\n\"))";
    assert_eq!(
        written(&pending(&question(wanted, &[]))),
        json!({
            "toolCallId": "w-1",
            "title": "set-state /m/a.org",
            "kind": "edit",
            "status": "pending",
            "content": [
                {"type": "content", "content": {"type": "text", "text": "the thinker wants it"}},
                {"type": "diff", "path": "/m/a.org", "oldText": "* TODO x\n", "newText": "* DONE x\n"},
            ],
            "locations": [{"path": "/m/a.org", "line": 1}],
            "rawInput": {"action": "set-state", "path": "/m/a.org", "state": "DONE"},
        })
    );
}

#[test]
fn kinds_follow_the_action() {
    for (form, kind, title) in [
        ("(:action :exec :argv (\"cargo\" \"test\") :cwd \"/p\")", "execute", "cargo test"),
        ("(:action :read :path \"/p/x\")", "read", "read /p/x"),
        ("(:action :net :host \"example.org\")", "fetch", "net example.org"),
        ("(:action :delete-subtree :path \"a.org\")", "delete", "delete-subtree a.org"),
        ("(:action :query :text \"roof\")", "search", "query roof"),
        ("(:action :blink)", "other", "blink (lamp)"),
    ] {
        let request = read_one(form).unwrap().root().to_value();
        let call = written(&running("e", "lamp", &request));
        assert_eq!((&call["kind"], &call["title"]), (&json!(kind), &json!(title)), "{form}");
    }
}

#[test]
fn outcomes_end_a_call() {
    let end = |word: &str, result: Option<&str>, reason: Option<&str>| {
        let result = result.map(|form| read_one(form).unwrap().root().to_value());
        written(&ended("e", word, result.as_ref(), reason))
    };
    assert_eq!(end("done", None, None), json!({"toolCallId": "e", "status": "completed"}));
    let denied = end("denied", None, Some("policy x"));
    assert_eq!(denied["status"], "failed");
    assert_eq!(denied["content"][0]["content"]["text"], "Not allowed: policy x");
    let done = end("done", Some("(:text \"out\")"), None);
    assert_eq!(done["content"][0]["content"]["text"], "out");
    assert_eq!(done["rawOutput"], json!({"text": "out"}));
    assert_eq!(end("unknown-outcome", None, None)["status"], "failed");
}

#[test]
fn hidden_characters_of_a_model_are_made_visible() {
    let form = "(:action :exec :argv (\"rm\" \"\u{1b}[2Kls\" \"\u{202e}x\"))";
    let request = read_one(form).unwrap().root().to_value();
    let title = written(&running("e", "exec", &request))["title"].as_str().unwrap().to_owned();
    assert!(!title.contains(['\u{1b}', '\u{202e}']), "{title:?}");
}

#[test]
fn only_what_the_daemon_takes_is_offered() {
    let offered = |words: &[&str], scopes: &[&str]| -> Vec<(Value, Value)> {
        let offer = |scope: &&str| GrantOffer {
            scope: (*scope).to_owned(),
            allows: "any edit of \"a\u{1b}\"".to_owned(),
        };
        let scopes = scopes.iter().map(offer).collect();
        let asked = GuardQuestion { scopes, ..question("()", words) };
        let pair = |it| (written(&it)["kind"].clone(), written(&it)["name"].clone());
        options(&asked).into_iter().map(pair).collect()
    };
    let pair = |kind: &str, name: &str| (json!(kind), json!(name));
    let (yes, no) = (pair("allow_once", "Allow once"), pair("reject_once", "Reject"));
    assert_eq!(offered(&["allow", "deny", "later"], &[]), [yes.clone(), no.clone()]);
    assert_eq!(
        offered(&["allow", "deny"], &["action", "file"]),
        [
            yes,
            pair("allow_always", "Allow exactly this for 7 days"),
            pair("allow_always", "Allow for 7 days: any edit of \"a\u{241b}\""),
            no.clone(),
        ]
    );
    assert_eq!(offered(&["deny"], &["file"]), [no], "a grant is a yes");
}
