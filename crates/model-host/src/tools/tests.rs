//! Calls of the daemon's own actions and of those that others describe.

use bridle_host::OfferedAction;
use bridle_loop::{
    ActionSpec, ActuatorLocation, ArgumentShape, ArgumentSpec, CONTEXT_ACTIONS, CallEnd,
    FILE_ACTIONS, HTTP_ACTIONS, KeywordName, MALFORMED, MEMORY_ACTIONS, RoundCall, ToolName,
};
use bridle_models::{ToolArguments, ToolCall};
use bridle_sexp::Value;
use std::sync::Arc;

use super::ToolTable;

fn offer(target: &str, place: ActuatorLocation, spec: ActionSpec) -> OfferedAction {
    OfferedAction { target: KeywordName::new(target), place, spec }
}

/// Everything that a daemon with notes, a project and a jail offers.
pub(crate) fn all_of_the_daemon() -> Vec<OfferedAction> {
    let host = ActuatorLocation::Host;
    let all: [(&str, &[&str]); 9] = [
        ("context", CONTEXT_ACTIONS),
        ("memory", MEMORY_ACTIONS),
        ("file", FILE_ACTIONS),
        ("exec", &["exec"]),
        ("shell", &["exec"]),
        ("http", HTTP_ACTIONS),
        ("stage", &["commit", "discard", "changes"]),
        ("system", &["forget", "fork", "go-on", "schedule", "set-limits", "unschedule"]),
        ("log", &["log"]),
    ];
    let each = all.iter().flat_map(|(target, names)| {
        ActionSpec::known_all(names).into_iter().map(|spec| offer(target, host, spec))
    });
    let text = |name| ArgumentSpec::required(name, ArgumentShape::Text, "Text");
    let mail = ActionSpec::new("send", "Send a mail by SMTP.", vec![text("server"), text("to")]);
    each.chain([offer("mail", host, mail)]).collect()
}

fn table() -> ToolTable {
    let mut offered = all_of_the_daemon();
    let eval = ActionSpec::known("eval");
    offered.push(offer("emacs", ActuatorLocation::Shell, eval));
    let schema = r#"{"type":"object","properties":{"maxResults":{"type":"integer"}}}"#;
    let arguments =
        vec![ArgumentSpec::optional("maxResults", ArgumentShape::Json(schema.into()), "Number")];
    let tool = ToolName { server: "web search".into(), tool: "find.pages".into() };
    let spec =
        ActionSpec { tool: Some(tool), ..ActionSpec::new("tool", "Finds pages.", arguments) };
    offered.push(offer("mcp", ActuatorLocation::Host, spec));
    ToolTable::of(&offered)
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: "c1".into(), name: name.into(), arguments: ToolArguments::read(arguments) }
}

/// The target and payload of a call, or the reason why there is none.
fn check(name: &str, arguments: &str, expect: &str) {
    let proposal = table().proposal(&call(name, arguments));
    let target = proposal.target.unwrap();
    let got = match proposal.payload.get(MALFORMED).and_then(Value::as_str) {
        Some(reason) => reason.to_owned(),
        None => format!("{target} {}", proposal.payload),
    };
    assert_eq!(got, expect, "{name} {arguments}");
}

#[test]
fn calls_become_typed_payloads() {
    check("file_read", r#"{"path":"/a","from":3.0}"#, "file (:action :read :path \"/a\" :from 3)");
    check(
        "memory_edit",
        r#"{"action":"set_state","path":"/n.org","outline":["A"],"state":"DONE","note":null}"#,
        "memory (:action :set-state :path \"/n.org\" :outline (\"A\") :state \"DONE\")",
    );
    check(
        "context_query",
        r#"{"text":"race","mode":"question","limit":"5","tags":"run"}"#,
        "context (:action :query :text \"race\" :mode :question :tags (\"run\") :limit 5)",
    );
    check(
        "system_schedule",
        r#"{"action":"schedule","name":"n","in":5,"payload":{"sensor":":user-prompt","text":"hi"}}"#,
        "system (:action :schedule :name \"n\" :in 5 :payload (:sensor :user-prompt :text \"hi\"))",
    );
    check(
        "file_patch",
        r#"{"path":"/a","old":"x","new":"y","all":false}"#,
        "file (:action :patch :path \"/a\" :old \"x\" :new \"y\")",
    );
    check("emacs_eval", r#"{"code":"(+ 1 2)"}"#, "emacs (:action :eval :code \"(+ 1 2)\")");
    check(
        "web_search_find_pages",
        r#"{"maxResults":2}"#,
        "mcp (:action :tool :server \"web search\" :tool \"find.pages\" :arguments (\"maxResults\" 2))",
    );
}

#[test]
fn what_does_not_fit_says_what_was_expected() {
    check("file_read", "{}", "`read` needs the argument `path`");
    check("file_read", r#"{"path":["/a"]}"#, "argument `path`: expected a string");
    check(
        "file_read",
        r#"{"path":"/a","form":1}"#,
        "`read` has no argument `form`, expected path, from, lines",
    );
    check("context_query", r#"{"mode":"all"}"#, "argument `mode`: expected one of words, question");
    check("context_query", r#"{"limit":1.5}"#, "argument `limit`: expected a whole number");
    check(
        "file_more",
        r#"{"action":"burn","path":"/a"}"#,
        "argument `action` is `burn`, expected one of list, search, move, delete",
    );
    let cut = table().proposal(&call("file_read", "{\"path\": \"/a"));
    let reason = cut.payload.get(MALFORMED).and_then(Value::as_str).unwrap();
    assert!(reason.starts_with("the arguments are no JSON object"), "{reason}");
    assert_eq!(cut.payload.get("path"), None, "half an argument is none");
    let unknown = table().proposal(&call("rm", "{}"));
    let reason = unknown.payload.get(MALFORMED).and_then(Value::as_str).unwrap();
    assert!(reason.starts_with("no tool `rm`, expected one of context_query, "), "{reason}");
}

#[test]
fn names_and_schemas_are_what_every_vendor_takes() {
    let table = table();
    let definitions = table.definitions();
    for tool in &definitions {
        let schema: serde_json::Value = serde_json::from_str(tool.parameters.as_str()).unwrap();
        assert_eq!(schema["type"], "object", "{}", tool.name);
        let properties = schema["properties"].as_object().unwrap();
        for needed in schema["required"].as_array().into_iter().flatten() {
            assert!(properties.contains_key(needed.as_str().unwrap()), "{}", tool.name);
        }
    }
    let names: Vec<&str> = definitions.iter().map(|tool| tool.name.as_str()).collect();
    let again = ToolTable::of(&all_of_the_daemon()).definitions();
    assert!(again.iter().zip(&definitions).all(|(a, b)| a == b), "the order stays: {names:?}");
    for hidden in ["forget", "go-on", "commit"] {
        assert!(!names.iter().any(|name| name.contains(hidden)), "{hidden}");
    }
}

#[test]
fn past_calls_come_back_as_the_model_made_them() {
    for (name, arguments) in [
        ("file_read", r#"{"path":"/a","from":3}"#),
        ("memory_edit", r#"{"action":"set-state","path":"/n.org","state":"DONE"}"#),
        ("web_search_find_pages", r#"{"maxResults":2}"#),
    ] {
        let table = table();
        let proposal = table.proposal(&call(name, arguments));
        let past = RoundCall {
            call: proposal.call,
            target: proposal.target,
            arguments: Arc::new(proposal.payload),
            end: CallEnd::Open,
        };
        assert_eq!(table.past_call(&past, "c1".into()), call(name, arguments), "{name}");
    }
}

#[test]
fn tools_as_text_name_what_is_needed() {
    let text = table().as_text();
    assert!(
        text.contains("(:tool :file_read :path TEXT [:from NUMBER] [:lines NUMBER]) Read a file.")
    );
    assert!(text.contains("[:mode :words|:question]"), "{text}");
}
