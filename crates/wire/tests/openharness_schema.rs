//! Holds `docs/openharness*.schema.json` to the types, and the types' schema to being one that others
//! can follow.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]
#![allow(clippy::disallowed_methods, reason = "the schema is a file")]

use std::fs;

use bridle_wire::openharness::{Json, ReadMode, SchemaDirection, components, payload, schema};
use serde_json::Value;

#[test]
fn the_schemas_on_disk_are_those_of_the_types() {
    let published = [
        ("openharness", None, ""),
        ("openharness.request", Some(SchemaDirection::Request), " --direction request"),
        ("openharness.response", Some(SchemaDirection::Response), " --direction response"),
    ];
    for (name, direction, flag) in published {
        let file = format!("{}/../../docs/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let made = schema(direction, ReadMode::Strict).to_pretty();
        let kept = fs::read_to_string(&file).unwrap();
        let hint = format!("bridle schema openharness{flag} > docs/{name}.schema.json");
        assert!(made == kept, "the types have changed: {hint}, and look at the diff");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    for direction in [None, Some(SchemaDirection::Request), Some(SchemaDirection::Response)] {
        for mode in [ReadMode::Strict, ReadMode::Lenient] {
            let text = schema(direction, mode).to_text();
            let root: Value = serde_json::from_str(&text).unwrap();
            let mut references = Vec::new();
            collect(&root, &mut references);
            assert!(references.len() > 10, "{direction:?}");
            for reference in references {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(root.pointer(pointer).is_some_and(Value::is_object), "{reference}");
            }
        }
    }
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| collect(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

#[test]
fn a_direction_holds_no_message_of_the_other() {
    let has = |direction, name: &str| {
        let root: Value =
            serde_json::from_str(&schema(Some(direction), ReadMode::Strict).to_text()).unwrap();
        root["$defs"].get(name).is_some()
    };
    assert!(
        has(SchemaDirection::Request, "requestMessage")
            && has(SchemaDirection::Request, "pairPoll")
    );
    assert!(
        !has(SchemaDirection::Request, "responseMessage")
            && !has(SchemaDirection::Request, "eventFinal")
    );
    assert!(
        has(SchemaDirection::Response, "responseMessage")
            && has(SchemaDirection::Response, "eventFinal")
    );
    assert!(
        !has(SchemaDirection::Response, "requestMessage")
            && !has(SchemaDirection::Response, "auth")
    );
}

#[test]
fn every_core_type_has_a_payload() {
    for name in ["render_message", "render_ui", "simulate_action", "request_approval", "noop"] {
        let schema = payload::payload_schema(name).unwrap().to_text();
        assert!(schema.contains("#/$defs/"), "{name}: {schema}");
    }
    assert_eq!(payload::payload_schema("com.example.x"), None);
}

#[test]
fn components_of_an_openapi_document() {
    let request = components(SchemaDirection::Request, ReadMode::Lenient);
    let response = components(SchemaDirection::Response, ReadMode::Strict);
    assert!(request.get("request.requestMessage").is_some());
    assert!(response.get("response.responseMessage").is_some());
    let both = request.iter().chain(response.iter()).map(|(name, it)| (name, it.clone()));
    let text = Json::object(both).to_text();
    let schemas: Value = serde_json::from_str(&text).unwrap();
    let mut references = Vec::new();
    collect(&schemas, &mut references);
    assert!(references.len() > 40, "{}", references.len());
    for reference in references {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        assert!(schemas.get(name).is_some(), "{reference}");
    }
}
