//! Plays `vectors/shell`: the same courses of events that the clients in other languages play.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::collections::VecDeque;

use bridle_shell::openharness::action::ShellAction;
use bridle_shell::openharness::answer::{AnswerRisk, EngineAnswer};
use bridle_shell::openharness::perform::{AnswerPerformance, DirectiveEnd, ShellAbilities};
use bridle_shell::openharness::shell::{OpenHarnessShell, RandomSource, ShellSelf, UserIntent};
use bridle_shell::openharness::text::safe;
use bridle_shell::openharness::time::PosixTime;
use bridle_wire::openharness::json::JsonDocument;
use bridle_wire::openharness::{Json, JsonObject, MessageLimits};
use serde_json::{Value, json};

fn vectors(folder: &str) -> Vec<Value> {
    let folder = format!("{}/../../vectors/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "jsonl"));
    files.sort();
    let texts = files.iter().map(|path| std::fs::read_to_string(path).unwrap());
    texts.flat_map(|text| text.lines().map(parsed).collect::<Vec<_>>()).collect()
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// A value of a vector as the runtime has it.
fn given(value: &Value) -> Option<Json> {
    let text = value.to_string();
    let limits = MessageLimits { bytes: 1 << 24, values: 1 << 20, ..MessageLimits::default() };
    JsonDocument::read(text.as_bytes(), &limits).unwrap().root().to_json(64)
}

fn object(value: &Value) -> Option<JsonObject> {
    given(value)?.as_object().cloned()
}

fn written(actions: &[ShellAction]) -> Value {
    actions.iter().map(|action| parsed(&action.to_json().to_text())).collect()
}

fn words(value: &Value) -> Vec<String> {
    let list = value.as_array().cloned().unwrap_or_default();
    list.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

fn abilities(shell: &Value) -> ShellAbilities {
    ShellAbilities {
        acts: words(&shell["acts"]),
        renders: words(&shell["renders"]),
        approval: shell["approval"] == true,
        parallel: shell["parallel"] == true,
        ask_from: shell["ask_from"].as_str().map_or(AnswerRisk::Dangerous, AnswerRisk::of),
    }
}

fn ended(step: &Value) -> DirectiveEnd {
    if step["ok"] == true {
        return DirectiveEnd::Completed(step.get("output").and_then(given));
    }
    DirectiveEnd::Failed(step.get("error").and_then(object))
}

fn directive(value: &Value) -> usize {
    value.as_u64().unwrap().try_into().unwrap()
}

fn perform(vector: &Value) -> Vec<Value> {
    let play = vector["play"].as_array().unwrap();
    let first = play[0]["at"].as_u64().unwrap();
    let answer = EngineAnswer::read(given(&vector["response"]).as_ref(), None).unwrap();
    let mut performance =
        AnswerPerformance::new(abilities(&vector["shell"]), answer, first, BTreeMap::new());
    let mut groups = vec![written(&performance.start(first))];
    for step in &play[1..] {
        let now = step["at"].as_u64().unwrap();
        let actions = if let Some(at) = step.get("answered") {
            performance.answered(directive(at), step["answer"].as_str(), now)
        } else if let Some(at) = step.get("finished") {
            performance.finished(directive(at), ended(step), now)
        } else if step.get("cancel").is_some() {
            performance.cancel(now)
        } else {
            performance.tick(now)
        };
        groups.push(written(&actions));
    }
    groups
}

fn converse(vector: &Value) -> Vec<Value> {
    let options = &vector["shell"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut profile = ShellSelf { stream: options["stream"] == true, ..ShellSelf::default() };
    if let Some(given) = options.get("profile") {
        profile.shell_kind = text(&given["shell_kind"]).unwrap_or(profile.shell_kind);
        profile.shell_version = text(&given["shell_version"]);
        profile.locale = text(&given["locale"]);
        profile.timezone = text(&given["timezone"]);
    }
    if options.get("versions").is_some() {
        profile.versions = words(&options["versions"]);
    }
    let mut jitter: VecDeque<f64> =
        vector["jitter"].as_array().into_iter().flatten().map(|it| it.as_f64().unwrap()).collect();
    let mut count = 0;
    let chance = RandomSource {
        new_id: Box::new(move || {
            count += 1;
            format!("r{count}")
        }),
        jitter: Box::new(move || jitter.pop_front().unwrap_or(1.0)),
    };
    let mut shell = OpenHarnessShell::new(abilities(options), profile, chance);
    let base = vector["unix_ms"].as_i64().unwrap_or(0);
    let play = vector["play"].as_array().unwrap();
    play.iter().map(|step| written(&happens(&mut shell, step, base))).collect()
}

fn happens(shell: &mut OpenHarnessShell, step: &Value, base: i64) -> Vec<ShellAction> {
    let ms = step["at"].as_u64().unwrap();
    let at = PosixTime { ms, unix_ms: base + i64::try_from(ms).unwrap() };
    if let Some(ask) = step.get("ask") {
        return shell.ask(intent(ask), at).unwrap();
    }
    if let Some(reply) = step.get("reply") {
        let message = given(reply).filter(|reply| *reply != Json::Null);
        return shell.replied(message.as_ref(), at, step["retry_after"].as_str());
    }
    if step.get("opened").is_some() {
        shell.opened();
        return Vec::new();
    }
    if let Some(name) = step.get("event") {
        return shell.event(name.as_str().unwrap(), given(&step["data"]).as_ref(), at);
    }
    if step.get("cut").is_some() {
        return shell.cut(ms);
    }
    if let Some(of) = step.get("answered") {
        return shell.answered(directive(of), step["answer"].as_str(), at);
    }
    if let Some(of) = step.get("finished") {
        return shell.finished(directive(of), ended(step), at);
    }
    if step.get("cancel").is_some() {
        return shell.cancel(at);
    }
    shell.wake(at)
}

fn intent(ask: &Value) -> UserIntent {
    let text = |key: &str| ask[key].as_str().map(str::to_owned);
    let attachments = ask.get("attachments").and_then(given);
    UserIntent {
        user_intent: text("user_intent"),
        session_id: text("session_id"),
        conversation_id: text("conversation_id"),
        environment_state: ask.get("environment_state").and_then(object),
        attachments: attachments.and_then(|it| it.as_array().map(<[Json]>::to_vec)),
        task_hint: ask.get("task_hint").and_then(object),
        timeout_ms: ask["timeout_ms"].as_u64(),
    }
}

/// Texts and counts by turns.
fn repeated(pieces: &Value) -> String {
    let pieces = pieces.as_array().unwrap();
    pieces.chunks(2).map(|it| it[0].as_str().unwrap().repeat(directive(&it[1]))).collect()
}

fn text(vector: &Value, key: &str) -> String {
    let plain = vector.get(key).map(|text| text.as_str().unwrap().to_owned());
    plain.unwrap_or_else(|| repeated(&vector[format!("{key}_repeat")]))
}

#[test]
fn every_course_of_events() {
    let (mut ran, mut wrong) = (0, String::new());
    for vector in vectors("shell") {
        ran += 1;
        let (got, expected) = match vector["do"].as_str().unwrap() {
            "text" => {
                let limit = directive(&vector["limit"]);
                (json!(safe(&text(&vector, "in"), limit)), json!(text(&vector, "out")))
            }
            word => {
                let play = vector["play"].as_array().unwrap();
                let played = if word == "perform" { perform(&vector) } else { converse(&vector) };
                (json!(played), play.iter().map(|step| step["then"].clone()).collect())
            }
        };
        if got != expected {
            wrong
                .push_str(&format!("{} {}\n  {got}\n  {expected}\n", vector["id"], vector["note"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(ran >= 280, "{ran}");
}

#[test]
fn an_answer_is_taken_as_the_reader_of_messages_takes_it() {
    let mut ran = 0;
    for vector in vectors("openharness") {
        let is_other = vector["as"] != "response" || vector["mode"] == "strict";
        if is_other || vector.get("reason").is_some() {
            continue;
        }
        ran += 1;
        let bytes = text(&vector, "in").into_bytes();
        let document = JsonDocument::read(&bytes, &MessageLimits::default()).unwrap();
        let verdict = match EngineAnswer::read(document.root().to_json(64).as_ref(), None) {
            Ok(_) => "accept".to_owned(),
            Err(error) => error.code.replace("invalid_response", "invalid_request"),
        };
        assert_eq!(verdict, vector["verdict"], "{} {}", vector["id"], vector["note"]);
    }
    assert!(ran > 20, "{ran}");
}
