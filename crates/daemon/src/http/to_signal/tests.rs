//! The mapping as a law: a request becomes a signal, and what the signal says is the request again,
//! as far as a session is told of it. Over generated requests, without a daemon.

use bridle_loop::{ActionHash, KeywordName, SessionId, SignalKind};
use bridle_sexp::{Reader, Value};
use bridle_wire::oacp::{self, MessageType, OacpMessage};
use bridle_wire::openharness::ids::RequestId;
use bridle_wire::openharness::{Json, JsonObject, MessageLimits, ReceivedRequest, receive};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::NAMED;
use crate::http::attachments::AttachmentFacts;
use crate::http::continuation::{AllowedContinuation, OfferedQuestion};
use crate::http::shell_description::ShellDescription;
use bridle_sexp::byte_text::hex;

/// Fields of a context with a text each, and where a session is told of them.
type Fields = &'static [(&'static str, &'static str)];

const TASK: Fields = &[("plugin_id", "plugin"), ("business_key", "business-key")];
const STATE: Fields =
    &[("os", "os"), ("active_window", "active-window"), ("screen_hash", "screen-hash")];
const FILE: Fields =
    &[("uri", "uri"), ("asset_id", "asset"), ("mime_type", "mime-type"), ("filename", "filename")];

/// What somebody may write.
fn word() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,24}", "[ \t\n\"\\\\():;#|']{0,8}", Just(String::new())]
}

/// An object with some of these fields.
fn some(fields: Fields) -> impl Strategy<Value = JsonObject> {
    let one = |(name, _): &(&'static str, _)| {
        of(word()).prop_map({
            let name = *name;
            move |text| text.map(|text| (name, Json::from(text)))
        })
    };
    let all: Vec<_> = fields.iter().map(one).collect();
    all.prop_map(|all| {
        all.into_iter().flatten().fold(JsonObject::new(), |mut object, (name, text)| {
            object.insert(name, text);
            object
        })
    })
}

/// A state of a device: some fields that are known, some that are not, and a tier or none.
fn state() -> impl Strategy<Value = JsonObject> {
    let tier = of(select(vec!["public", "restricted", "secret", "cosmic", ""]));
    (some(STATE), tier, of(word()), of(any::<u32>())).prop_map(|(mut state, tier, own, number)| {
        let tier = tier.map(|tier| ("privacy_tier", Json::from(tier)));
        let own = own.map(|own| ("x-own", Json::array([Json::from(own), Json::Null])));
        let number = number.map(|number| ("x-number", Json::from(u64::from(number))));
        for (name, value) in tier.into_iter().chain(own).chain(number) {
            state.insert(name, value);
        }
        state
    })
}

fn file() -> impl Strategy<Value = JsonObject> {
    (some(FILE), of(any::<u32>())).prop_map(|(mut file, size)| {
        if let Some(size) = size {
            file.insert("size_bytes", u64::from(size));
        }
        file
    })
}

prop_compose! {
    /// The context of a request that asks for something.
    fn context()(
        intent in word().prop_map(|tail| format!("do {tail}")),
        task in of(some(TASK)),
        state in of(state()),
        files in proptest::collection::vec(file(), 0..3),
        kind in of("[a-z_.]{1,12}"),
        places in (of(word()), of(word())),
    ) -> JsonObject {
        let mut context = JsonObject::new();
        context.insert("user_intent", intent);
        for (name, object) in [("task_hint", task), ("environment_state", state)] {
            if let Some(object) = object {
                context.insert(name, Json::Object(object));
            }
        }
        if !files.is_empty() {
            context.insert("attachments", Json::array(files.into_iter().map(Json::Object)));
        }
        let (locale, zone) = places;
        let shell = [("shell_kind", kind), ("locale", locale), ("timezone", zone)];
        let shell = shell.into_iter().filter_map(|(name, text)| Some((name, Json::from(text?))));
        context.insert("shell", Json::object(shell));
        context
    }
}

/// A request of a context, read as one that came.
fn request(context: JsonObject, asks: bool) -> ReceivedRequest {
    let can = Json::object([
        ("openharness.ui.approval", Json::from(asks)),
        ("dev.bridle.feedback", Json::from(asks)),
    ]);
    let message = Json::object([
        ("protocol_version", Json::from("1.0.0")),
        ("request_id", Json::from("r1")),
        ("capabilities", can),
        ("request", Json::object([("context", Json::Object(context))])),
    ]);
    receive(message.to_text().as_bytes(), &MessageLimits::default()).unwrap()
}

/// What a session is told of an object, as the object again.
fn back(told: &Value, fields: Fields) -> JsonObject {
    let mut object = JsonObject::new();
    for (name, key) in fields {
        if let Some(text) = told.get(key).and_then(Value::as_str) {
            object.insert(*name, text);
        }
    }
    object
}

/// The context that a signal tells of.
fn context_of(payload: &Value) -> JsonObject {
    let mut context = JsonObject::new();
    context.insert("user_intent", payload.get("text").and_then(Value::as_str).unwrap_or_default());
    if let Some(task) = payload.get("task") {
        context.insert("task_hint", Json::Object(back(task, TASK)));
    }
    if let Some(state) = payload.get("environment") {
        let mut object = back(state, STATE);
        let tier = state.get("privacy").and_then(Value::as_keyword).unwrap().to_ascii_lowercase();
        object.insert("privacy_tier", tier);
        if let Some(more) = state.get("more").and_then(Value::as_str) {
            let document = bridle_wire::openharness::json::JsonDocument::read(
                more.as_bytes(),
                &MessageLimits::default(),
            );
            let more = document.unwrap().root().to_json(64).unwrap();
            for (name, value) in more.as_object().unwrap().iter() {
                object.insert(name, value.clone());
            }
        }
        context.insert("environment_state", Json::Object(object));
    }
    let files = payload.get("attachments").and_then(Value::elements).unwrap_or_default();
    let files = files.iter().map(|told| {
        let mut file = back(told, FILE);
        if let Some(bytes) = told.get("bytes").and_then(Value::as_i64) {
            file.insert("size_bytes", u64::try_from(bytes).unwrap());
        }
        Json::Object(file)
    });
    let files: Vec<Json> = files.collect();
    if !files.is_empty() {
        context.insert("attachments", Json::array(files));
    }
    context
}

/// As much of a context as a session may be told: by the words of the protocol, not of the code.
fn told_of(context: &JsonObject) -> JsonObject {
    let mut told = JsonObject::new();
    for name in ["user_intent", "task_hint", "attachments"] {
        if let Some(value) = context.get(name) {
            told.insert(name, value.clone());
        }
    }
    let Some(state) = context.get("environment_state").and_then(Json::as_object) else {
        return told;
    };
    let tier = match state.get("privacy_tier").map(|tier| tier.as_str().unwrap()) {
        Some("public") => "public",
        Some("restricted") | None => "restricted",
        _ => "secret",
    };
    let mut kept = JsonObject::new();
    kept.insert("privacy_tier", tier);
    for (name, value) in state.iter().filter(|(name, _)| *name != "privacy_tier") {
        let is_named = STATE.iter().any(|(known, _)| known == &name);
        if tier == "public" || (tier == "restricted" && is_named) {
            kept.insert(name, value.clone());
        }
    }
    told.insert("environment_state", Json::Object(kept));
    told
}

/// The same entries, whatever their order.
fn sorted(object: &JsonObject) -> Vec<(String, String)> {
    let text = |value: &Json| match value {
        Json::Object(inner) => format!("{:?}", sorted(inner)),
        Json::Array(items) => {
            let each = items.iter().map(|item| match item {
                Json::Object(inner) => format!("{:?}", sorted(inner)),
                other => other.to_text(),
            });
            each.collect::<Vec<_>>().join(",")
        }
        other => other.to_text(),
    };
    let mut entries: Vec<_> =
        object.iter().map(|(name, value)| (name.to_owned(), text(value))).collect();
    entries.sort();
    entries
}

/// The signal of a request, as the message that a framed shell would send.
fn message(
    received: &ReceivedRequest,
    step: Option<&AllowedContinuation>,
    files: &[Option<AttachmentFacts>],
) -> OacpMessage {
    let signal = super::message(received, step, files);
    assert_eq!(signal.kind, SignalKind::Event);
    OacpMessage::new(MessageType::Event).with_payload(signal.payload)
}

/// A message through its text, as a framed shell would read it.
fn through_text(message: &OacpMessage) -> OacpMessage {
    let mut text = String::new();
    message.write(&mut text);
    oacp::read(&text, &Reader::new()).unwrap_or_else(|_| panic!("not read again: {text}"))
}

fn step() -> AllowedContinuation {
    let hash = ActionHash::parse(&"ab".repeat(32)).unwrap();
    let asked = |effect| OfferedQuestion { index: 0, effect, hash, expires: 5 };
    AllowedContinuation {
        session: SessionId::parse("desk").unwrap(),
        run: 7,
        id: "nonce".to_owned(),
        named: RequestId::new("r0").ok(),
        asked: vec![asked(41), asked(43)],
        verdicts: Vec::new(),
        results: vec![Value::plist([("directive", Value::int(0))])],
        is_late: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_request_is_a_signal_and_the_signal_the_request(context in context(), asks: bool) {
        let received = request(context.clone(), asks);
        let signal = message(&received, None, &[]);
        prop_assert_eq!(signal.kind, MessageType::Event);
        // What is in frames is what is in memory.
        let signal = through_text(&signal);
        let payload = signal.payload.as_ref().unwrap();
        prop_assert!(payload.get("sensor").unwrap().is_keyword("user-prompt"));
        prop_assert_eq!(payload.get("returns").is_some(), asks);
        let print = hex(&received.fingerprint.0);
        prop_assert_eq!(payload.get("request").and_then(Value::as_str), Some(print.as_str()));
        // There and back: all that a session is told, and nothing else.
        let returned = context_of(payload);
        prop_assert_eq!(sorted(&returned), sorted(&told_of(&context)));
        // And there again: the same signal, but for the fingerprint of what came.
        let again = message(&request(returned, asks), None, &[]);
        let without = |message: &OacpMessage| {
            let text = message.payload.as_ref().unwrap().to_string();
            text.split(" :request ").next().map(str::to_owned)
        };
        prop_assert_eq!(without(&again), without(&signal));
    }

    #[test]
    fn who_asks_is_told_apart_from_what_is_asked(context in context()) {
        let received = request(context.clone(), false);
        let about = ShellDescription::of(received.message.context().and_then(|it| it.shell.as_ref()));
        let shell = context.get("shell").and_then(Json::as_object).unwrap();
        let said = |name| shell.get(name).and_then(Json::as_str);
        let kind = about.kind.as_ref().map(KeywordName::as_str);
        prop_assert_eq!(kind, said("shell_kind"));
        prop_assert_eq!(about.locale.as_deref(), said("locale"));
        prop_assert_eq!(about.time_zone.as_deref(), said("timezone"));
        let mut other = context;
        other.insert("shell", Json::object([("shell_kind", Json::from("elsewhere"))]));
        let (one, two) = (message(&received, None, &[]), message(&request(other, false), None, &[]));
        let asked = |message: &OacpMessage| sorted(&context_of(message.payload.as_ref().unwrap()));
        prop_assert_eq!(asked(&one), asked(&two));
    }

    #[test]
    fn a_step_says_which_run_goes_on(context in context(), is_blank: bool) {
        let mut context = context;
        if is_blank {
            context.insert("user_intent", " ");
            context.insert("task_hint", Json::Object(JsonObject::new()));
        }
        let received = request(context.clone(), true);
        let step = step();
        let signal = through_text(&message(&received, Some(&step), &[]));
        let payload = signal.payload.as_ref().unwrap();
        let sensor = if is_blank { "continue" } else { "user-prompt" };
        prop_assert!(payload.get("sensor").unwrap().is_keyword(sensor), "{}", payload);
        prop_assert_eq!(payload.get("run").and_then(Value::as_i64), Some(7));
        let approvals = payload.get("approvals").and_then(Value::elements).unwrap();
        let approvals: Vec<_> = approvals.iter().filter_map(Value::as_i64).collect();
        prop_assert_eq!(approvals, [41, 43]);
        prop_assert_eq!(payload.get("results").and_then(Value::elements).map(<[Value]>::len), Some(1));
        prop_assert_eq!(payload.get(NAMED).and_then(Value::as_str), Some("r0"));
        if !is_blank {
            prop_assert_eq!(sorted(&context_of(payload)), sorted(&told_of(&context)));
        }
    }

    #[test]
    fn of_a_file_that_is_kept_here_what_is_known_counts(context in context(), bytes: u32) {
        let received = request(context, false);
        let count = received.message.context().map_or(0, |context| context.attachments.len());
        let facts = AttachmentFacts {
            reference: "att-1".to_owned(),
            kind: "text/plain".into(),
            bytes: u64::from(bytes),
            sha256: "cd".repeat(32),
        };
        let facts: Vec<_> = std::iter::repeat_n(Some(facts), count).collect();
        let signal = through_text(&message(&received, None, &facts));
        let payload = signal.payload.as_ref().unwrap();
        let told = payload.get("attachments").and_then(Value::elements).unwrap_or_default();
        prop_assert_eq!(told.len(), count);
        for file in told {
            prop_assert_eq!(file.get("ref").and_then(Value::as_str), Some("att-1"));
            prop_assert_eq!(file.get("mime-type").and_then(Value::as_str), Some("text/plain"));
            prop_assert_eq!(file.get("bytes").and_then(Value::as_i64), Some(i64::from(bytes)));
        }
    }
}
