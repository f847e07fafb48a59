//! Prompts answered by language models, over the socket of the daemon's user: a server of the test speaks for every
//! vendor, and every byte that it is told is looked at.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

use std::path::Path;
use std::time::Duration;

use bridle_model_host::{ProviderApprovals, review_folder};
use bridle_sexp::{Value, read_one};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::FrameClient;
use bridle_test_support::hang_guard::guard;
use bridle_test_support::model_server::{ModelReply, ModelServer, ModelWire};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A word of a private note.
const CANARY: &str = "zqcanarypneumonia";

const NOTES: &str = "\
* Charity race
:PROPERTIES:
:ID: race-1
:END:
Melanie ran the charity race on the Sunday before the holidays.
* Doctor :private:
The diagnosis is zqcanarypneumonia, and the race is off.
";

/// A daemon with notes and a file of models.
struct Home {
    daemon: TestDaemon,
    peer: FrameClient,
}

/// What a test asks of the daemon next.
struct Prompt<'p> {
    id: i64,
    text: &'p str,
    more: &'p str,
}

impl Home {
    /// Starts with this `models.org`, every provider approved, and waits until the notes are found.
    async fn start(models: &str) -> Home {
        let daemon = TestDaemon::with(|config, folder| {
            let memex = folder.join("org");
            std::fs::create_dir(&memex).unwrap();
            std::fs::write(memex.join("notes.org"), NOTES).unwrap();
            std::fs::write(memex.join("agent.org"), "Call the user Ada.\n").unwrap();
            if !models.is_empty() {
                std::fs::write(memex.join("models.org"), models).unwrap();
            }
            std::fs::create_dir_all(&config.state).unwrap();
            approve_all(&memex, &config.state);
            config.memex = Some(memex);
            config.unix = Some(folder.join("socket"));
            config.http_unix = Some(folder.join("socket.http"));
        })
        .await;
        let peer = daemon.unix_peer().await;
        let mut home = Home { daemon, peer };
        guard(home.indexed()).await;
        home
    }

    async fn indexed(&mut self) {
        for id in 9000.. {
            let ask = format!(
                "(:type :REQUEST :id {id} :target :context :payload (:action :query :text \"charity\"))"
            );
            let answer = self.peer.ask(&ask).await;
            if answer.contains("Charity race") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The payload of the answer to a prompt.
    async fn ask(&mut self, prompt: Prompt<'_>) -> Value {
        let Prompt { id, text, more } = prompt;
        let message = format!(
            "(:type :EVENT :id {id} :payload (:sensor :user-prompt :text \"{text}\" {more}))"
        );
        let answer = guard(self.peer.ask(&message)).await;
        let value = read_one(&answer).unwrap().root().to_value();
        value.get("payload").unwrap().clone()
    }

    async fn say(&mut self, id: i64, text: &str) -> Value {
        self.ask(Prompt { id, text, more: "" }).await
    }
}

fn approve_all(memex: &Path, state: &Path) {
    let approvals = ProviderApprovals::new(state);
    for waiting in review_folder(memex, &approvals).unwrap().waiting {
        approvals.approve(&waiting.saved).unwrap();
    }
}

fn text(payload: &Value) -> &str {
    payload.get("text").and_then(Value::as_str).unwrap_or_else(|| panic!("no text: {payload}"))
}

fn message(payload: &Value) -> &str {
    let found = payload.get("message").and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no message: {payload}"))
}

fn says(text: &str) -> ModelReply {
    ModelReply::Text(text.split_inclusive(' ').map(str::to_owned).collect())
}

fn calls(name: &str, arguments: &str) -> ModelReply {
    ModelReply::Call(name.to_owned(), arguments.to_owned())
}

fn body(request: &str) -> &str {
    request.split_once("\r\n\r\n").unwrap().1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_codec_streams_calls_a_tool_over_the_memory_and_cites() {
    for wire in ModelWire::ALL {
        let cited = "On Sunday, see [[file:notes.org::*Charity race]] and [[file:x.org::*No]].";
        let query = r#"{"text":"charity race","limit":3}"#;
        let server =
            ModelServer::start(wire, vec![calls("context_query", query), says(cited)]).await;
        let mut home = Home::start(&server.models_org("local")).await;
        let answer = home.say(1, "when was the charity race of Melanie?").await;
        assert_eq!(
            text(&answer),
            "On Sunday, see [[file:notes.org::*Charity race]] and \
             [[file:x.org::*No]] (not among my sources).",
            "{wire:?}"
        );
        let heard = server.heard();
        assert_eq!(heard.len(), 2, "{wire:?}");
        let first = body(&heard[0]);
        for part in
            ["You are bridle", "Call the user Ada", "context_query", "Sunday before", CANARY]
        {
            assert!(first.contains(part), "{wire:?}: {part} in {first}");
        }
        let second = body(&heard[1]);
        assert!(second.contains("race-1") && second.contains("Charity race"), "{wire:?}: {second}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_notes_reach_no_remote_model_by_any_road() {
    let far = ModelServer::start(
        ModelWire::Chat,
        vec![
            calls("context_query", r#"{"text":"diagnosis"}"#),
            calls("context_look", r#"{"action":"get-object","id":"notes.org"}"#),
            says("I do not know."),
            says("Still not."),
        ],
    )
    .await;
    let said = format!("It is {CANARY}.");
    let near = ModelServer::start(ModelWire::Chat, vec![says(&said)]).await;
    let models = format!(
        "{}** small :cognition:\n{}** small :reasoning:\n",
        far.provider("far", "remote"),
        near.provider("near", "local")
    );
    let mut home = Home::start(&models).await;
    let question = "what is the diagnosis about the charity race?";
    let answer = home.say(1, question).await;
    assert_eq!(text(&answer), "I do not know.");
    let near_one = Prompt { id: 2, text: question, more: ":model \"near/small\"" };
    let answer = home.ask(near_one).await;
    assert_eq!(text(&answer), said);
    assert!(near.heard()[0].contains(CANARY), "a local model may see it");
    assert_eq!(text(&home.say(3, "and what did you say before?").await), "Still not.");
    let heard = far.heard();
    assert_eq!(heard.len(), 4);
    for request in &heard {
        assert!(!request.contains(CANARY) && !request.contains("Doctor"), "{request}");
    }
    assert!(heard[0].contains("left out: private"), "{}", heard[0]);
    assert!(heard[3].contains("left out: private"), "{}", heard[3]);
    assert!(heard[1].contains("Charity race"), "what is open is told: {}", heard[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_failure_has_its_own_words() {
    let error = |code: &str, message: &str| {
        format!("{{\"error\":{{\"code\":\"{code}\",\"message\":\"{message}\"}}}}")
    };
    let status = |status, body: String| ModelReply::Status(status, String::new(), body);
    let long = error("context_length_exceeded", "maximum context length is 4000 tokens");
    let server = ModelServer::start(
        ModelWire::Chat,
        vec![
            status(429, error("rate_limit_exceeded", "slow down")),
            ModelReply::Truncated("Half an".to_owned()),
            status(400, long.clone()),
            says("It fits now."),
            status(400, long.clone()),
            status(400, long),
            calls("context_query", r#"{"limit":"many"}"#),
            says("I see."),
            calls("no_such_tool", "{}"),
            says("I see that too."),
            says(""),
        ],
    )
    .await;
    let mut home = Home::start(&server.models_org("local")).await;
    let limited = home.say(1, "hi").await;
    assert!(message(&limited).contains("rate limit is reached"), "{limited}");
    let half = home.say(2, "hi").await;
    assert!(message(&half).contains("ended in the middle"), "{half}");
    assert_eq!(text(&home.say(3, "hi").await), "It fits now.");
    let never = home.say(4, "hi").await;
    assert!(message(&never).contains("does not fit into the model's context"), "{never}");
    assert_eq!(text(&home.say(5, "hi").await), "I see.");
    let heard = server.heard();
    assert!(heard[7].contains("expected a whole number"), "{}", heard[7]);
    assert_eq!(text(&home.say(6, "hi").await), "I see that too.");
    let heard = server.heard();
    assert!(heard[9].contains("no tool `no_such_tool`"), "{}", heard[9]);
    let empty = home.say(7, "hi").await;
    assert!(message(&empty).contains("answered with nothing"), "{empty}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_provider_is_stood_in_for_and_a_stalled_one_is_called_off() {
    let server = ModelServer::start(
        ModelWire::Messages,
        vec![says("Here I am."), ModelReply::Stalled("Wait".to_owned())],
    )
    .await;
    // Nobody listens there.
    let dead = "* dead\n:PROPERTIES:\n:ADDRESS: http://127.0.0.1:9/v1\n:CODEC: openai-chat\n\
                :PRIVACY: local\n:RETRIES: 0\n:END:\n** none :cognition:\n";
    let models = format!("{dead}{}", server.models_org("local"));
    let mut home = Home::start(&models).await;
    assert_eq!(text(&home.say(1, "hi").await), "Here I am.");
    home.peer.say("(:type :EVENT :id 2 :payload (:sensor :user-prompt :text \"go\"))").await;
    while server.heard().len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    home.peer.say("(:type :EVENT :id 3 :payload (:sensor :interrupt))").await;
    let stopped = guard(async {
        loop {
            let frame = home.peer.frame().await.unwrap();
            if frame.contains(":id 2") {
                return frame;
            }
        }
    })
    .await;
    assert!(stopped.contains(":cancelled"), "{stopped}");
    home.daemon.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_model_the_notes_answer_and_a_saved_file_brings_one() {
    let server = ModelServer::start(ModelWire::Chat, vec![says("Now I think.")]).await;
    let mut home = Home::start("").await;
    let found = home.say(1, "when was the charity race?").await;
    assert!(text(&found).contains("[[file:notes.org::*Charity race]]"), "{found}");
    assert!(text(&found).contains("Sunday before the holidays"), "{found}");
    let help = home.say(2, "help").await;
    assert!(text(&help).contains("No model is configured"), "{help}");
    let file = home.daemon.dir.path().join("org/models.org");
    std::fs::write(file, server.models_org("local")).unwrap();
    let mut id = 3;
    loop {
        let answer = home.say(id, "when was the charity race?").await;
        if text(&answer) == "Now I think." {
            break;
        }
        id += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(text(&home.say(1000, "/help").await).contains("language model of `models.org`"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completions_come_from_the_quick_model_and_else_from_the_notes() {
    let server =
        ModelServer::start(ModelWire::Chat, vec![says("- charming\n"), says("no idea")]).await;
    let models = format!("{}** quick :reflex:\n", server.provider("test", "local"));
    let mut home = Home::start(&models).await;
    let mut complete = async |id: i64| {
        let ask =
            format!("(:type :REQUEST :id {id} :payload (:action :complete :prefix \"char\"))");
        guard(home.peer.ask(&ask)).await
    };
    let quick = complete(1).await;
    assert!(quick.contains("(\"charming\")"), "{quick}");
    let from_notes = complete(2).await;
    assert!(
        from_notes.contains("\"charity\"") || from_notes.contains("\"Charity\""),
        "{from_notes}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_has_the_manifest_and_the_price() {
    let server =
        ModelServer::start(ModelWire::Chat, vec![says("See [[file:notes.org::*Charity race]].")])
            .await;
    let models = format!(
        "{}** small :cognition:\n:PROPERTIES:\n:PRICE_INPUT: 1\n:PRICE_OUTPUT: 2\n:END:\n",
        server.provider("test", "local")
    );
    let mut home = Home::start(&models).await;
    home.say(1, "when was the charity race?").await;
    let reader = bridle_record::RecordReader::open(&home.daemon.dir.path().join("state")).unwrap();
    let all = bridle_record::RecordFilter::default();
    let records = reader.records(bridle_record::RecordNumber(0), &all, 1000).unwrap();
    let drafted = records.iter().find(|record| &*record.kind == "drafted").unwrap();
    let drafted = read_one(drafted.body.text().unwrap()).unwrap().root().to_value();
    let manifest = drafted.get("manifest").unwrap();
    assert_eq!(manifest.get("model").unwrap().as_str(), Some("small"));
    let sent = i64::try_from(body(&server.heard()[0]).len()).unwrap();
    assert_eq!(manifest.get("bytes").unwrap().as_i64(), Some(sent), "the bytes at the server");
    let parts = manifest.get("parts").unwrap().to_string();
    assert!(parts.contains(":source :note") && parts.contains("Charity race"), "{parts}");
    let citations = manifest.get("citations").unwrap().to_string();
    assert!(citations.contains(":given t") && citations.contains(":hash"), "{citations}");
    // 7 tokens at one dollar a million, 2 at two dollars.
    let usage = drafted.get("usage").unwrap();
    assert_eq!(usage.get("cost-microdollars").unwrap().as_i64(), Some(11));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_face_learns_which_models_there_are_and_what_a_session_used() {
    let server = ModelServer::start(ModelWire::ALL[0], vec![says("Sunday.")]).await;
    let mut home = Home::start(&server.models_org("local")).await;
    let offers = payload(&mut home, "(:action :offers)").await;
    let models = offers.get("models").and_then(Value::elements).unwrap();
    let name = models[0].get("model").and_then(Value::as_str).unwrap();
    assert!(models[0].get("privacy").is_some_and(|it| it.is_keyword("local")), "{offers}");
    let before = payload(&mut home, "(:action :usage)").await;
    assert!(before.get("code").is_some_and(|it| it.is_keyword("invalid-value")), "{before}");
    home.say(1, "when was the race?").await;
    let used = payload(&mut home, "(:action :usage)").await;
    assert_eq!(used.get("model").and_then(Value::as_str), Some(name), "{used}");
    assert_eq!(used.get("thoughts").and_then(Value::as_i64), Some(1), "{used}");
    assert!(used.get("context").and_then(Value::as_i64).is_some_and(|it| it > 0), "{used}");
    // Asked again, the same: what was summed is not summed twice.
    assert_eq!(payload(&mut home, "(:action :usage)").await, used);
    // A session that is not there looks like one that has used nothing.
    let none = payload(&mut home, "(:action :usage :session \"nowhere\")").await;
    assert_eq!(none.get("thoughts").and_then(Value::as_i64), Some(0), "{none}");
    assert!(none.get("model").is_none(), "{none}");
    let mut other = home.daemon.peer().await;
    let ask = "(:type :REQUEST :id 1 :target :system :payload (:action :offers))";
    let told = guard(other.ask(ask)).await;
    assert!(!told.contains(name), "providers are told to somebody else: {told}");
}

/// The payload of the answer of `:system`.
async fn payload(home: &mut Home, payload: &str) -> Value {
    let ask = format!("(:type :REQUEST :id 7 :target :system :payload {payload})");
    let answer = guard(home.peer.ask(&ask)).await;
    let value = read_one(&answer).unwrap().root().to_value();
    value.get("payload").unwrap().clone()
}

/// A PNG of one pixel, in base64.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_go_to_every_codec_and_not_into_the_record() {
    for wire in ModelWire::ALL {
        let server = ModelServer::start(
            wire,
            vec![calls("context_query", r#"{"text":"charity"}"#), says("A pixel."), says("No.")],
        )
        .await;
        let models = format!(
            "{}** eyes :cognition:\n:PROPERTIES:\n:IMAGES: yes\n:END:\n** blind :reasoning:\n\
             :PROPERTIES:\n:IMAGES: no\n:END:\n",
            server.provider("test", "local")
        );
        let mut home = Home::start(&models).await;
        let files = format!(
            ":attachments ((:mime-type \"image/png\" :filename \"dot.png\" :data \"{PIXEL}\") \
             (:mime-type \"text/plain\" :filename \"a.txt\" :data \"Zm9vYmFyYmF6\"))"
        );
        let answer = home.ask(Prompt { id: 1, text: "what is this?", more: &files }).await;
        assert_eq!(text(&answer), "A pixel.", "{wire:?}");
        let more = format!("{files} :model \"test/blind\"");
        assert_eq!(text(&home.ask(Prompt { id: 2, text: "and this?", more: &more }).await), "No.");
        let heard = server.heard();
        for request in &heard[..2] {
            assert!(body(request).contains(PIXEL), "{wire:?}: {request}");
            assert!(body(request).contains("Attached image 1: dot.png"), "{wire:?}: {request}");
            assert!(body(request).contains("foobarbaz"), "a text is told as one: {request}");
        }
        assert!(!heard[2].contains(PIXEL), "{wire:?}: it takes none: {}", heard[2]);
        assert!(heard[2].contains("takes no images"), "{wire:?}: {}", heard[2]);
        let reader = bridle_record::RecordReader::open(&home.daemon.dir.path().join("state"));
        let all = bridle_record::RecordFilter::default();
        let records = reader.unwrap().records(bridle_record::RecordNumber(0), &all, 1000).unwrap();
        let texts: Vec<&str> = records.iter().filter_map(|record| record.body.text()).collect();
        assert!(!texts.iter().any(|text| text.contains(PIXEL)), "the record has its hash alone");
        assert!(texts.iter().any(|text| text.contains(":ref \"att-")), "{texts:?}");
        let drafted = records.iter().find(|record| &*record.kind == "drafted").unwrap();
        assert!(drafted.body.text().unwrap().contains(":source :image"), "the manifest has it");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_marked_secret_goes_to_no_model_elsewhere() {
    let far = ModelServer::start(ModelWire::Messages, vec![says("I see nothing.")]).await;
    let models = format!(
        "{}** eyes :cognition:\n:PROPERTIES:\n:IMAGES: yes\n:END:\n",
        far.provider("far", "remote")
    );
    let mut home = Home::start(&models).await;
    let secret = Prompt { id: 1, text: "hush zqhush", more: ":privacy :secret" };
    let refused = home.ask(secret).await;
    assert!(message(&refused).contains("marked secret"), "{refused}");
    let named = Prompt { id: 2, text: "hush zqhush", more: ":privacy :secret :model \"far/eyes\"" };
    let refused = home.ask(named).await;
    assert!(message(&refused).contains("marked secret"), "{refused}");
    let file =
        format!(":attachments ((:mime-type \"image/png\" :privacy :secret :data \"{PIXEL}\"))");
    let answer = home.ask(Prompt { id: 3, text: "what is this?", more: &file }).await;
    assert_eq!(text(&answer), "I see nothing.");
    let heard = far.heard();
    assert_eq!(heard.len(), 1);
    assert!(!heard[0].contains(PIXEL) && heard[0].contains("left out: private"), "{}", heard[0]);
    assert!(!heard[0].contains("zqhush"), "nor is it history for it: {}", heard[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_edit_names_no_private_heading_to_a_model_elsewhere() {
    let edit = r#"{"action":"set-state","path":"notes.org","outline":["Docter"],"state":"DONE"}"#;
    let far =
        ModelServer::start(ModelWire::Chat, vec![calls("memory_edit", edit), says("I cannot.")])
            .await;
    let mut home = Home::start(&far.models_org("remote")).await;
    home.say(1, "tick it off please").await;
    let heard = far.heard();
    assert_eq!(heard.len(), 2, "{heard:?}");
    let told = body(&heard[1]);
    assert!(told.contains("left out: private"), "{told}");
    assert!(!told.contains("Doctor") && !told.contains(CANARY), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_is_what_the_server_gets() {
    for privacy in ["local", "remote"] {
        let server = ModelServer::start(ModelWire::Chat, Vec::new()).await;
        let mut home = Home::start(&server.models_org(privacy)).await;
        let question = "when was the charity race of Melanie?";
        let first = "(:type :REQUEST :id 5 :target :system :payload (:action :prompt-preview :text \"hi\" :body t))";
        let told = guard(home.peer.ask(first)).await;
        home.say(1, "first words").await;
        // Before any session named an action, and after.
        for tools in [told, server.heard()[0].clone()] {
            assert!(tools.contains("context_query") && tools.contains("2026-01-31"), "{tools}");
        }
        // The minute of the clock is part of a prompt.
        let mut compared = false;
        for id in (10..40).step_by(2) {
            let preview = format!(
                "(:type :REQUEST :id {id} :target :system :payload (:action :prompt-preview :text \
                 \"{question}\" :body t))"
            );
            let answer = guard(home.peer.ask(&preview)).await;
            let told = read_one(&answer).unwrap().root().to_value().get("payload").unwrap().clone();
            assert!(told.get("status").unwrap().is_keyword("success"), "{told}");
            assert!(told.get("reach").unwrap().is_keyword(privacy), "{told}");
            let before = server.heard().len();
            home.say(id + 1, question).await;
            let heard = server.heard();
            assert_eq!(heard.len(), before + 1, "a preview sends nothing");
            let sent = body(&heard[before]);
            if told.get("body").unwrap().as_str() == Some(sent) {
                assert_eq!(sent.contains(CANARY), privacy == "local", "{sent}");
                let parts = told.get("manifest").unwrap().get("parts").unwrap().to_string();
                assert_eq!(parts.contains(":left-out"), privacy == "remote", "{parts}");
                compared = true;
                break;
            }
        }
        assert!(compared, "{privacy}");
    }
}

/// The answer of the daemon's HTTP socket to a request, its head included.
async fn over_http(home: &Home, path: &str, kind: &str, content: &[u8]) -> String {
    let socket = home.daemon.bound.http_unix.clone().unwrap();
    let mut stream = tokio::net::UnixStream::connect(socket).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    stream.write_all(&[head.as_bytes(), content].concat()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_over_http_reaches_the_model_of_whoever_uploaded_it() {
    let server = ModelServer::start(ModelWire::Messages, vec![says("A pixel.")]).await;
    let models = format!(
        "{}** eyes :cognition:\n:PROPERTIES:\n:IMAGES: yes\n:END:\n",
        server.provider("test", "local")
    );
    let home = Home::start(&models).await;
    let pixel = bridle_sexp::byte_text::unbase64(PIXEL).unwrap();
    let place = "/v1/openharness/attachments";
    let stored = guard(over_http(&home, place, "image/png", &pixel)).await;
    let reference = stored.split("\"ref_id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let body = format!(
        "{{\"protocol_version\":\"1.0.0\",\"request_id\":\"r1\",\"request\":{{\"context\":{{\
         \"session_id\":\"desk\",\"user_intent\":\"what is this?\",\"attachments\":[{{\"ref_id\":\"{reference}\"}}]}}}}}}"
    );
    let answer =
        guard(over_http(&home, "/v1/openharness", "application/json", body.as_bytes())).await;
    assert!(answer.contains("A pixel."), "{answer}");
    assert!(server.heard()[0].contains(PIXEL), "{}", server.heard()[0]);
    // Somebody else names it in vain.
    let mut other = home.daemon.peer().await;
    let named = format!(
        "(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"and this?\" :attachments ((:ref \
         \"{reference}\"))))"
    );
    guard(other.ask(&named)).await;
    let heard = server.heard();
    assert!(!heard[1].contains(PIXEL) && heard[1].contains("is left out"), "{}", heard[1]);
}
