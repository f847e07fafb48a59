//! Properties of the envelope, and the typed views over every sensor and action.

use bridle_sexp::{Dialect, Keyword, Reader, Value};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

use super::super::action::{Complete, CreateSkill, Deliver, Eval, Notify, OacpAction, Scaffold};
use super::super::health::{
    HealthCheck, HealthDetail, HealthFinding, HealthResponse, HealthStatus,
};
use super::super::hello::{HelloAuth, HelloLimits, ShellRole};
use super::super::reply::{ErrorReply, ReportedError};
use super::super::sensor::{BufferUpdate, Focus, OacpSensor, Prompt, PromptName};
use super::super::{ClientHello, DaemonHello, OacpCode, error_response};
use super::super::{sanitize, success};
use super::{Extra, MessageId, MessageMeta, MessageType, OacpMessage, RequestTarget, read};
use crate::frame::LengthUnit;
use crate::parts::{PartMessage, PartsId, abort_message, split};

fn parsed(text: &str) -> OacpMessage {
    read(text, &Reader::new()).unwrap()
}

fn text_of(message: &OacpMessage) -> String {
    let mut out = String::new();
    message.write(&mut out);
    out
}

/// Any text: ASCII, Arabic, Chinese, emoji, quotes, newlines.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,12}", "[\u{620}-\u{64a}一-龥🚀-🛰\"\\\\\n]{0,8}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        Just(Value::T),
        any::<i64>().prop_map(Value::int),
        text().prop_map(|text| Value::str(text.as_str())),
        "[a-zA-Z][a-zA-Z0-9-]{0,8}".prop_map(|name| Value::keyword(&name)),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..5).prop_map(Value::list),
            vec(inner, 0..4).prop_map(Value::vector),
        ]
    })
}

/// Keys that no table knows, in any case.
fn extra() -> impl Strategy<Value = Vec<Extra>> {
    vec(("x-[a-zA-Z]{1,6}".prop_map(|name| Keyword::from_name(&name)), value()), 0..4)
}

fn plist() -> impl Strategy<Value = Value> {
    extra().prop_map(|pairs| {
        Value::list(pairs.into_iter().flat_map(|(key, value)| [Value::Keyword(key), value]))
    })
}

fn id() -> impl Strategy<Value = MessageId> {
    prop_oneof![
        any::<i64>().prop_map(MessageId::Int),
        "[ -~é]{1,40}".prop_map(|id| MessageId::from(&*id))
    ]
}

fn meta() -> impl Strategy<Value = MessageMeta> {
    let source = proptest::option::of("[a-z]{1,8}".prop_map(Into::into));
    let session = proptest::option::of(text().prop_map(Into::into));
    (source, session, extra()).prop_map(|(source, session, extra)| MessageMeta {
        source,
        session,
        extra,
    })
}

fn message() -> impl Strategy<Value = OacpMessage> {
    let target = proptest::option::of("x[a-z -]{0,8}".prop_map(|name| RequestTarget::new(&name)));
    let kind = proptest::sample::select(&MessageType::ALL[..]);
    (kind, id(), any::<bool>(), target, meta(), plist(), extra()).prop_map(
        |(kind, id, has_id, target, meta, payload, extra)| {
            let id = (has_id || kind == MessageType::Request).then_some(id);
            let payload = if kind == MessageType::Event {
                let mut items = vec![Value::keyword("sensor"), Value::keyword("x-sensor")];
                if let Value::List(more) = payload {
                    items.extend(more);
                }
                Value::list(items)
            } else {
                payload
            };
            OacpMessage { kind, id, target, meta, payload: Some(payload), extra }
        },
    )
}

proptest! {
    #[test]
    fn written_messages_read_back(message in message()) {
        prop_assert_eq!(&parsed(&text_of(&message)), &message);
        prop_assert_eq!(&OacpMessage::from_value(&message.to_value()).unwrap(), &message);
        let mut emacs = String::new();
        message.write_in(Dialect::Emacs, &mut emacs);
        let reader = Reader::new().dialect(Dialect::Emacs);
        prop_assert_eq!(&read(&emacs, &reader).unwrap(), &message);
    }

    #[test]
    fn spelling_of_protocol_keywords_does_not_matter(message in message()) {
        let lower = text_of(&message);
        let upper = lower.replacen(":type", ":TYPE", 1).replacen(":payload", ":Payload", 1);
        prop_assert_eq!(&parsed(&upper), &message);
    }

    #[test]
    fn any_form_is_answered_and_never_breaks(value in value()) {
        let text = value.to_string();
        match read(&text, &Reader::new()) {
            Ok(message) => prop_assert_eq!(&parsed(&text_of(&message)), &message),
            Err(unreadable) => {
                let answer = super::super::unreadable_response(unreadable);
                prop_assert_eq!(&parsed(&text_of(&answer)), &answer);
            }
        }
    }

    #[test]
    fn prompts_read_back(text in text(), sender in proptest::option::of(text())) {
        let sender = sender.as_deref();
        let fields =
            Prompt { text: &text, context: None, channel: None, chat_id: None, sender };
        let sensor = OacpSensor::Prompt(PromptName::ChatMessage, fields);
        let payload = sensor.to_payload();
        prop_assert_eq!(OacpSensor::from_payload(&payload), Ok(sensor));
    }
}

#[test]
fn sensors_are_typed() {
    let message =
        parsed("(:TYPE :EVENT :PAYLOAD (:SENSOR :FOCUS :BUFFER \"init.el\" :LINE 42 :COLUMN 0))");
    let payload = message.payload.unwrap();
    let focus = Focus { buffer: Some("init.el"), file: None, line: Some(42), column: Some(0) };
    let sensor = OacpSensor::Focus(focus);
    assert_eq!(OacpSensor::from_payload(&payload), Ok(sensor.clone()));
    assert_eq!(
        sensor.to_payload().to_string(),
        "(:sensor :focus :buffer \"init.el\" :line 42 :column 0)"
    );
}

#[test]
fn each_sensor_reads_what_it_wrote() {
    for text in [
        "(:sensor :user-prompt :text \"a\" :context :current-subtree)",
        "(:sensor :user-input :text \"a\")",
        "(:sensor :chat-message :text \"a\" :channel :signal :chat-id 5 :sender \"s\")",
        "(:sensor :buffer-update :file \"f\" :state :saved :ast (x (:A 1)) :text \"t\")",
        "(:sensor :focus :buffer \"b\" :line 1 :column 0)",
        "(:sensor :point-update :file \"f\" :element (headline nil))",
        "(:sensor :user-command :command :organize :file \"f\")",
        "(:sensor :interrupt)",
        "(:sensor :heartbeat)",
        "(:sensor :heartbeat :unix-time 5)",
        "(:sensor :tool-output :tool \"grep\" :result (1 . 2))",
        "(:sensor :tool-error :tool :grep :message \"m\")",
        "(:sensor :barometer :hpa 1013)",
    ] {
        let payload = bridle_sexp::read_one(text).unwrap().root().to_value();
        let sensor = OacpSensor::from_payload(&payload).unwrap();
        assert_eq!(sensor.to_payload().to_string(), text);
        assert_eq!(matches!(sensor, OacpSensor::Other(_)), text.contains("barometer"));
    }
}

#[test]
fn each_action_reads_what_it_wrote() {
    let delivery = RequestTarget::new("DELIVERY");
    for (target, text) in [
        (None, "(:action :eval :code \"(+ 1 2)\")"),
        (None, "(:action :message :text \"t\" :level :warning :explanation \"e\")"),
        (None, "(:action :complete :prefix \"d\" :suggestions (\"a\" \"b\"))"),
        (None, "(:action :insert-at-end :text \"t\" :buffer \"b\")"),
        (None, "(:action :refactor-subtree :target-id \"i\" :properties ((\"K\" . \"V\")))"),
        (Some(&delivery), "(:channel :signal :to \"+1\" :text \"t\")"),
        (None, "(:action :scaffold :name \"n\" :type \"Lisp\")"),
        (None, "(:action :create-skill :filename \"f\" :content \"c\")"),
        (None, "(:action :approve :approval 5 :verdict :deny)"),
        (None, "(:action :handshake :version \"0.1.0\")"),
        (None, "(:action :dance)"),
        (None, "(:channel :signal :to \"+1\" :text \"t\")"),
    ] {
        let payload = bridle_sexp::read_one(text).unwrap().root().to_value();
        let action = OacpAction::from_payload(target, &payload).unwrap();
        assert_eq!(action.to_payload().to_string(), text);
        let unknown = text.contains("dance") || (target.is_none() && text.contains("channel"));
        assert_eq!(matches!(action, OacpAction::Other(_)), unknown, "{text}");
    }
}

#[test]
fn actions_are_typed() {
    let channel = Keyword::from_name("signal");
    let fields = Deliver { channel: &channel, to: "+1...", text: "Hello" };
    let message = parsed(
        "(:type :REQUEST :target :delivery :payload (:channel :signal :to \"+1...\" :text \"Hello\"))",
    );
    let payload = message.payload.as_ref().unwrap();
    assert_eq!(
        OacpAction::from_payload(message.target.as_ref(), payload),
        Ok(OacpAction::Deliver(fields))
    );
    let text = "(:action :complete :prefix \"d\" :suggestions (\"a\"))";
    let payload = bridle_sexp::read_one(text).unwrap().root().to_value();
    let complete = Complete { prefix: "d", suggestions: Some(vec!["a"]) };
    assert_eq!(OacpAction::from_payload(None, &payload), Ok(OacpAction::Complete(complete)));
    for action in [
        OacpAction::Eval(Eval { code: "1" }),
        OacpAction::Notify(Notify { text: "t", level: None, explanation: None }),
        OacpAction::Scaffold(Scaffold { name: "n", kind: None }),
        OacpAction::CreateSkill(CreateSkill { filename: "f", content: "" }),
    ] {
        assert_eq!(OacpAction::from_payload(None, &action.to_payload()), Ok(action.clone()));
    }
}

#[test]
fn faults_of_owned_data_have_a_path_and_no_place() {
    let update = BufferUpdate {
        file: None,
        buffer: None,
        state: None,
        ast: None,
        text: None,
        changes: None,
    };
    let invalid =
        OacpSensor::from_payload(&OacpSensor::BufferUpdate(update).to_payload()).unwrap_err();
    assert_eq!((invalid.code, invalid.place), (OacpCode::MissingKey, None));
    assert_eq!(invalid.path.to_string(), "(:payload :file)");
    let failure = ErrorReply::from(invalid);
    assert!(text_of(&error_response(None, &failure)).contains(":at (:path (:payload :file)) "));
}

#[test]
fn error_frames_say_only_what_is_known() {
    let answer = error_response(Some(&MessageId::Int(5)), &ErrorReply::new(OacpCode::Overloaded));
    assert_eq!(
        text_of(&answer),
        "(:type :RESPONSE :id 5 :payload (:status :error :code :overloaded \
         :message \"a queue or a byte budget is full\" :retryable t))"
    );
    for code in OacpCode::ALL {
        let answer = error_response(None, &ErrorReply::new(code));
        let back = parsed(&text_of(&answer));
        let reported = ReportedError::from_message(&back).unwrap();
        assert_eq!((reported.code, reported.message), (Some(code), code.explanation()));
        assert_eq!(reported.retryable, code.retryable());
    }
    let answer =
        success(Some(&MessageId::from("a")), MessageMeta::default(), [("text", Value::str("x"))]);
    assert_eq!(
        text_of(&answer),
        "(:type :RESPONSE :id \"a\" :payload (:status :success :text \"x\"))"
    );
    assert_eq!(ReportedError::from_message(&answer), None);
}

#[test]
fn daemon_hello_begins_with_the_fields_of_the_seeds() {
    let mut hello = DaemonHello::new("bridle/0.1.0");
    let plain = text_of(&hello.to_message());
    assert_eq!(
        plain,
        "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :capabilities nil \
         :server \"bridle/0.1.0\"))"
    );
    hello.capabilities = vec!["auth".into(), "parts".into()];
    hello.limits = HelloLimits { max_frame: Some(4096), max_message: None, max_depth: Some(512) };
    hello.auth = Some(HelloAuth {
        versions: vec![1, 2],
        nonce: Some("00ff".into()),
        ..HelloAuth::default()
    });
    let text = text_of(&hello.to_message());
    assert_eq!(
        text,
        "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" \
         :capabilities (:auth :parts) :server \"bridle/0.1.0\" \
         :limits (:max-frame 4096 :max-depth 512) :auth (:hmac 1 2 :nonce \"00ff\")))"
    );
    assert_eq!(DaemonHello::from_message(&parsed(&text)), Ok(Some(hello)));
}

#[test]
fn old_daemons_are_understood() {
    let message = parsed(
        "(:TYPE :EVENT :PAYLOAD (:ACTION :HANDSHAKE :VERSION \"0.2.0\" :CAPABILITIES (:AUTH :ORG-AST)))",
    );
    let hello = DaemonHello::from_message(&message).unwrap().unwrap();
    assert_eq!(&*hello.version, "0.2.0");
    assert_eq!(hello.capabilities, ["auth".into(), "org-ast".into()] as [Box<str>; 2]);
    assert_eq!((hello.server, hello.auth), (None, None));
}

#[test]
fn client_hello_reads_back() {
    let hello = ClientHello {
        version: Some("0.3.0".into()),
        capabilities: vec!["parts".into()],
        length: Some(LengthUnit::Chars),
        dialect: Some(Dialect::Emacs),
        client: Some("6f1c".into()),
        session: Some("日記".into()),
        cursor: Some(42),
        role: Some(ShellRole::Observer),
        shell: Some("emacs".into()),
        locale: Some("ar_EG".into()),
        time_zone: Some("Africa/Cairo".into()),
        max_frame: Some(262_144),
        render_rate: Some(30),
        receipts: true,
        actuators: vec!["eval".into()],
        auth: Some(HelloAuth {
            versions: vec![2],
            key: Some("laptop".into()),
            nonce: Some("aa".into()),
            answer: Some("bb".into()),
        }),
    };
    let text = text_of(&hello.to_message());
    assert_eq!(ClientHello::from_message(&parsed(&text)), Ok(Some(hello)));
    let empty = parsed("(:type :EVENT :payload (:action :handshake))");
    assert_eq!(ClientHello::from_message(&empty), Ok(Some(ClientHello::default())));
    let other = parsed("(:type :EVENT :payload (:sensor :interrupt))");
    assert_eq!(ClientHello::from_message(&other), Ok(None));
    let huge = parsed("(:type :EVENT :payload (:action :handshake :max-frame 99999999))");
    let huge = ClientHello::from_message(&huge).unwrap().unwrap();
    assert_eq!(huge.max_frame, Some(crate::frame::MAX_FRAME));
}

#[test]
fn sanitizing_leaves_vectors_and_deep_trees_alone() {
    let vector = bridle_sexp::read_one("(:type :LOG :payload (:v #(:stream 1)))").unwrap();
    let vector = vector.root().to_value();
    assert_eq!(sanitize(&vector), vector);
    let (open, close) = ("(:a ".repeat(500), ")".repeat(500));
    let deep = format!("{open}(:stream 1 :b 2){close}");
    let deep = bridle_sexp::read_one(&deep).unwrap().root().to_value();
    assert_eq!(sanitize(&deep).to_string(), format!("{open}(:b 2){close}"));
}

#[test]
fn written_parts_are_messages() {
    let id = PartsId::new("p-\"1\"").unwrap();
    let parts = split("(:type :LOG :payload (:text \"قلم\"))", 90, &id).unwrap();
    assert!(parts.len() > 1);
    for text in parts.chain([abort_message(&id)]) {
        let message = parsed(&text);
        let tree = bridle_sexp::read_one(&text).unwrap();
        let part = PartMessage::from_message(&message);
        assert!(part.is_some(), "{text}");
        assert_eq!(part, PartMessage::read(tree.root()), "{text}");
    }
    let other = parsed("(:type :EVENT :part nil :payload (:sensor :interrupt))");
    assert_eq!(PartMessage::from_message(&other), None);
}

#[test]
fn health_is_recognized_without_reading_and_answered_exactly() {
    for text in ["(:type :health-check)", "(:TYPE :HEALTH-CHECK)"] {
        assert!(HealthCheck::is_plain(text));
        let tree = bridle_sexp::read_one(text).unwrap();
        assert_eq!(HealthCheck::from_tree(&tree), Some(HealthCheck { detail: false }));
    }
    assert!(!HealthCheck::is_plain("(:type :health-check :detail t)"));
    for check in [HealthCheck { detail: false }, HealthCheck { detail: true }] {
        let text = text_of(&check.to_message());
        let tree = bridle_sexp::read_one(&text).unwrap();
        assert_eq!(HealthCheck::from_tree(&tree), Some(check));
    }
    for status in HealthStatus::ALL {
        for checked in [true, false] {
            let mut out = String::new();
            HealthResponse { status, checked, detail: None }.write(&mut out);
            assert_eq!(out, HealthResponse::plain(status, checked));
            assert_eq!(HealthResponse::status_of(&parsed(&out)), Some((status, checked)));
            assert_eq!(text_of(&parsed(&out)), out);
        }
    }
}

#[test]
fn health_in_detail_adds_one_field() {
    let detail = HealthDetail {
        server: "bridle/0.1.0".into(),
        uptime_seconds: 5,
        connections: 2,
        queues: vec![("answers", 0)],
        limits: vec![("connections", 9)],
        store: "none",
        policy: "5eed".into(),
        policy_fault: Some("line 3: no heading".into()),
        checks: vec![
            HealthFinding { name: "disk", is_well: true, said: "".into() },
            HealthFinding { name: "memory", is_well: false, said: "gone".into() },
        ],
        metrics: "a 1\n".into(),
    };
    let mut out = String::new();
    HealthResponse { status: HealthStatus::Degraded, checked: true, detail: Some(detail) }
        .write(&mut out);
    assert_eq!(
        out,
        "(:type :health-response :status :degraded :checked-p t :detail (:server \"bridle/0.1.0\" \
         :protocol \"0.3.0\" :uptime-seconds 5 :connections 2 :queues (:answers 0) \
         :limits (:connections 9) :store :none :policy \"5eed\" \
         :policy-fault \"line 3: no heading\" :checks ((:name :disk :ok t) \
         (:name :memory :ok nil :said \"gone\")) :metrics \"a 1\n\"))"
    );
    assert_eq!(HealthResponse::status_of(&parsed(&out)), Some((HealthStatus::Degraded, true)));
}
