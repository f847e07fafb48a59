//! Descriptions survive the record, and what shells declare is bounded.

use bridle_sexp::Value;

use super::*;
use crate::{
    Action, ActuatorLocation, FILE_ACTIONS, HTTP_ACTIONS, InvalidAction, MEMORY_ACTIONS,
    STAGE_ACTIONS,
};

fn value(text: &str) -> Value {
    crate::reader().read_one(text).unwrap().root().to_value()
}

fn declared(text: &str) -> Result<ActuatorSpec, InvalidSpec> {
    ActuatorSpec::declared(KeywordName::new("emacs"), &value(text))
}

#[test]
fn a_description_is_read_back_as_it_was() {
    let known = [MEMORY_ACTIONS, FILE_ACTIONS, HTTP_ACTIONS, STAGE_ACTIONS].concat();
    let mut actions = ActionSpec::known_all(&known);
    actions.push(ActionSpec {
        tool: Some(ToolName { server: "github".into(), tool: "create_issue".into() }),
        ..ActionSpec::new(
            "tool",
            "Create an issue.",
            vec![ArgumentSpec::required(
                "labels",
                ArgumentShape::Json("{\"type\":\"array\"}".into()),
                "Labels",
            )],
        )
    });
    let spec = ActuatorSpec { name: KeywordName::new("all"), actions };
    let text = spec.to_value().to_string();
    assert_eq!(ActuatorSpec::from_value(&value(&text)).unwrap(), spec);
    assert!(spec.actions.iter().all(|action| !action.about.is_empty()));
}

/// A value of the shape, as a thinker would send it.
fn example(argument: &ArgumentSpec) -> Value {
    match (&argument.shape, &*argument.name) {
        (_, "url") => Value::str("https://example.org/"),
        (_, "stage") => Value::str("0123abcd"),
        (ArgumentShape::Text, "path" | "to" | "cwd") => Value::str("/notes/a.org"),
        (ArgumentShape::Text, "priority") => Value::str("A"),
        (ArgumentShape::Text, _) => Value::str("text"),
        (ArgumentShape::Integer, _) => Value::int(60_000),
        (ArgumentShape::Flag, _) => Value::T,
        (ArgumentShape::Texts, _) => Value::list([Value::str("text")]),
        (ArgumentShape::Choice(words), _) => Value::keyword(&words[0]),
        (_, "to") => Value::plist([("path", Value::str("/notes/b.org"))]),
        (_, _) => Value::plist([("sensor", Value::keyword("reminder"))]),
    }
}

/// Reads an action as an actuator of the host means it.
fn read(payload: &Value) -> Result<Action, InvalidAction> {
    Action::from_payload(payload)?.placed(payload, &KeywordName::new("any"), ActuatorLocation::Host)
}

#[test]
fn required_arguments_are_enough_for_every_known_action() {
    let own = [
        "message",
        "notify",
        "complete",
        "eval",
        "log",
        "insert-at-end",
        "unschedule",
        "pause-schedule",
        "resume-schedule",
        "fork",
    ];
    let known = [MEMORY_ACTIONS, FILE_ACTIONS, HTTP_ACTIONS, STAGE_ACTIONS, &own].concat();
    for name in known {
        let spec = ActionSpec::known(name);
        let with = |optional: &[&str]| {
            let is_meant = |it: &&ArgumentSpec| it.required || optional.contains(&&*it.name);
            let arguments = spec.arguments.iter().filter(is_meant);
            let action = [("action", Value::keyword(name))];
            let arguments = arguments.map(|it| (&*it.name, example(it)));
            let payload = Value::plist(action.into_iter().chain(arguments));
            read(&payload).map_err(|fault| format!("{payload}: {fault}"))
        };
        // A place in the file is one of three, so none of them is required alone.
        let place = if spec.arguments.iter().any(|it| &*it.name == "id") { "id" } else { "" };
        let more = if name == "refile" { "to" } else { "" };
        let action = with(&[place, more]).unwrap();
        assert!(!matches!(action, Action::Other(_)), "{name}");
        let required = spec.arguments.iter().filter(|it| it.required);
        for missing in required.filter(|it| it.shape != ArgumentShape::Texts) {
            let arguments = spec.arguments.iter().filter(|it| it.name != missing.name);
            let arguments =
                arguments.filter(|it| it.required || [place, more].contains(&&*it.name));
            let payload = Value::plist(
                [("action", Value::keyword(name))]
                    .into_iter()
                    .chain(arguments.map(|it| (&*it.name, example(it)))),
            );
            assert!(read(&payload).is_err(), "{payload} without {}", missing.name);
        }
    }
}

#[test]
fn a_shell_declares_names_and_plists() {
    let spec = declared(
        "(:eval (:name :open-file :about \"Open a file.\" :arguments
            ((:name :path :required t) (:name :where :shape :choice :choices (:here :aside)))))",
    )
    .unwrap();
    assert_eq!(spec.action_names().len(), 2);
    assert_eq!(&*spec.actions[0].arguments[0].name, "code");
    let [path, place] = &*spec.actions[1].arguments else { panic!("two arguments") };
    assert_eq!((&path.shape, path.required), (&ArgumentShape::Text, true));
    let choices = ArgumentShape::Choice(vec!["here".into(), "aside".into()]);
    assert_eq!((&place.shape, place.required), (&choices, false));
    assert_ne!(spec.digest(), declared("(:eval)").unwrap().digest());
}

#[test]
fn a_bad_declaration_is_refused() {
    let long = format!("((:name :a :about \"{}\"))", "x".repeat(MAX_SPEC_TEXT_BYTES + 1));
    let many =
        format!("({})", (0..=MAX_ACTION_SPECS).map(|n| format!(":a{n} ")).collect::<String>());
    let arguments: String = (0..=MAX_ARGUMENT_SPECS).map(|n| format!("(:name :a{n})")).collect();
    let arguments = format!("((:name :a :arguments ({arguments})))");
    let name = format!("(:{})", "n".repeat(65));
    let about = "x".repeat(MAX_SPEC_TEXT_BYTES);
    let heavy: String = (0..20).map(|n| format!("(:name :a{n} :about \"{about}\")")).collect();
    let bad = [
        "\"eval\"",
        "(\"eval\")",
        "((:about \"no name\"))",
        "(:eval :eval)",
        "((:name :a :arguments ((:name :b) (:name :b))))",
        "((:name :a :arguments ((:name :action))))",
        "((:name :a :arguments ((:name :b :shape :json))))",
        "((:name :a :about 7))",
        &long,
        &many,
        &arguments,
        &name,
        &format!("({heavy})"),
    ];
    for text in bad {
        assert!(declared(text).is_err(), "{text:.80}");
    }
}
