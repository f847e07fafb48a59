//! Exchanges with a server of this file that says exactly what a test wants, byte by byte.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bridle_host::CancelFlag;
use bridle_models::{
    CallIdPrefix, FailureKind, ModelMessage, ModelRequest, StopReason, read_providers,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{ExchangeOrder, ExchangePiece, FinishedExchange, ModelExchanger};
use crate::error::{InferenceError, SilentPhase};
use crate::key::{KeyReader, NoSecrets};

const CHUNK: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n";
const END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
                   \"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1,\"total_tokens\":8}}\n\ndata: [DONE]\n\n";

/// One thing that the server does with a connection.
#[derive(Clone)]
enum ServerStep {
    Say(Vec<u8>),
    Pause(Duration),
}

fn say(text: &str) -> ServerStep {
    ServerStep::Say(text.as_bytes().to_vec())
}

fn stream_head(more: &str) -> ServerStep {
    say(&format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n{more}\r\n"
    ))
}

fn whole(status: &str, more: &str, body: &str) -> ServerStep {
    let length = body.len();
    say(&format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n{more}\r\n{body}"
    ))
}

/// Server that does one list of steps with each connection; the last list again and again.
struct TestServer {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl TestServer {
    async fn start(answers: Vec<Vec<ServerStep>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&heard);
        tokio::spawn(async move {
            let mut turn = 0;
            while let Ok((stream, _)) = listener.accept().await {
                let steps = answers[turn.min(answers.len() - 1)].clone();
                turn += 1;
                tokio::spawn(serve(stream, steps, Arc::clone(&noted)));
            }
        });
        Self { port, heard }
    }

    fn order(&self, more: &str) -> ExchangeOrder {
        let port = self.port;
        let text = format!(
            "* test\n:PROPERTIES:\n:ADDRESS: http://127.0.0.1:{port}/v1\n:CODEC: openai-chat\n\
             :PRIVACY: local\n{more}:END:\n** small :cognition:\n"
        );
        let read = read_providers(&text);
        let problems = format!("{:?}", read.problems);
        let provider = read.providers.first().cloned();
        let provider = provider.unwrap_or_else(|| panic!("{problems}"));
        let model = provider.models[0].clone();
        let request = ModelRequest::new("small", vec![ModelMessage::user("Hello?")]);
        ExchangeOrder { provider, model, request, call_ids: CallIdPrefix("t".to_owned()) }
    }

    fn requests(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, steps: Vec<ServerStep>, heard: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.and_then(|it| it.parse().ok()).unwrap_or(0) {
            break;
        }
    }
    heard.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
    for step in steps {
        match step {
            ServerStep::Say(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            ServerStep::Pause(time) => tokio::time::sleep(time).await,
        }
    }
}

async fn ask(order: &ExchangeOrder) -> (Result<FinishedExchange, InferenceError>, String) {
    let shown = Mutex::new(String::new());
    let show = |piece: ExchangePiece<'_>| {
        if let ExchangePiece::Text(text) = piece {
            shown.lock().unwrap().push_str(text);
        }
    };
    let exchanger = ModelExchanger::new(KeyReader::new(Arc::new(NoSecrets)));
    let got = exchanger.exchange(order, &CancelFlag::new(), &show).await;
    (got, shown.into_inner().unwrap())
}

fn kind(error: &InferenceError) -> Option<FailureKind> {
    match error {
        InferenceError::Provider(failure) => Some(failure.kind),
        _ => None,
    }
}

#[tokio::test]
async fn a_stream_is_shown_and_put_together_with_its_usage() {
    let server = TestServer::start(vec![vec![stream_head(""), say(CHUNK), say(END)]]).await;
    let (got, shown) = ask(&server.order("")).await;
    let got = got.unwrap();
    assert_eq!((shown.as_str(), got.attempts), ("Hello", 1));
    assert_eq!(got.response.end, Ok(StopReason::EndTurn));
    assert_eq!(got.response.usage.input_tokens, Some(7));
    let request = &server.requests()[0];
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(!request.contains("authorization"));
    assert_eq!(request.rsplit("\r\n\r\n").next().unwrap().len(), got.request_bytes);
}

#[tokio::test]
async fn a_key_goes_into_one_header_and_a_wrong_one_into_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "canary-of-the-key\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let refusal = whole("401 Unauthorized", "", "{\"error\":{\"message\":\"no\"}}");
    let server = TestServer::start(vec![vec![refusal]]).await;
    let key = format!(":KEY: file:{}\n", path.display());
    let (got, _) = ask(&server.order(&key)).await;
    let error = got.unwrap_err();
    assert_eq!(kind(&error), Some(FailureKind::Authentication));
    assert!(!error.to_string().contains("canary"));
    assert!(server.requests()[0].contains("authorization: Bearer canary-of-the-key\r\n"));
    let mut elsewhere = server.order(&key);
    elsewhere.provider.hosts = vec!["api.example.org".to_owned()];
    let (got, _) = ask(&elsewhere).await;
    assert_eq!(got.unwrap_err(), InferenceError::KeyHost("127.0.0.1".to_owned()));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_and_asked_again() {
    let limit = whole("429 Too Many Requests", "retry-after: 0\r\n", "{}");
    let answer = vec![stream_head(""), say(CHUNK), say(END)];
    let server = TestServer::start(vec![vec![limit.clone()], answer]).await;
    let (got, _) = ask(&server.order("")).await;
    assert_eq!(got.unwrap().attempts, 2);
    let requests = server.requests();
    assert_eq!(requests[0], requests[1]);

    let long = whole("429 Too Many Requests", "retry-after: 3600\r\n", "{}");
    let server = TestServer::start(vec![vec![long]]).await;
    let (got, _) = ask(&server.order("")).await;
    assert_eq!(kind(&got.unwrap_err()), Some(FailureKind::RateLimit));
    assert_eq!(server.requests().len(), 1);

    let server = TestServer::start(vec![vec![limit]]).await;
    let (got, _) = ask(&server.order(":RETRIES: 1\n")).await;
    assert!(got.is_err());
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_that_was_shown_in_part_is_not_asked_for_again() {
    let server = TestServer::start(vec![vec![stream_head(""), say(CHUNK)]]).await;
    let (got, shown) = ask(&server.order("")).await;
    assert_eq!(kind(&got.unwrap_err()), Some(FailureKind::Truncated));
    assert_eq!((shown.as_str(), server.requests().len()), ("Hello", 1));
}

#[tokio::test]
async fn silence_ends_the_exchange_in_its_phase() {
    let hour = ServerStep::Pause(Duration::from_secs(3600));
    let server = TestServer::start(vec![vec![hour.clone()]]).await;
    let quick = ":TIMEOUT_FIRST_BYTE: 50ms\n:TIMEOUT_BETWEEN_BYTES: 50ms\n:RETRIES: 0\n";
    let (got, _) = ask(&server.order(quick)).await;
    let phase = |error| match error {
        InferenceError::Silent { phase, .. } => phase,
        other => panic!("{other}"),
    };
    assert_eq!(phase(got.unwrap_err()), SilentPhase::BeforeAnswer);
    let server = TestServer::start(vec![vec![stream_head(""), say(CHUNK), hour.clone()]]).await;
    let (got, _) = ask(&server.order(quick)).await;
    assert_eq!(phase(got.unwrap_err()), SilentPhase::WithinAnswer);
    let server = TestServer::start(vec![vec![hour]]).await;
    let (got, _) = ask(&server.order(":TIMEOUT_TOTAL: 50ms\n")).await;
    assert_eq!(got.unwrap_err(), InferenceError::Overlong(Duration::from_millis(50)));
}

#[tokio::test]
async fn a_cancelled_exchange_ends_in_any_phase() {
    let hour = ServerStep::Pause(Duration::from_secs(3600));
    for steps in [vec![hour.clone()], vec![stream_head(""), say(CHUNK), hour]] {
        let server = TestServer::start(vec![steps]).await;
        let order = server.order("");
        let cancel = CancelFlag::new();
        let exchanger = ModelExchanger::new(KeyReader::new(Arc::new(NoSecrets)));
        let flag = cancel.clone();
        let heard = Arc::clone(&server.heard);
        tokio::spawn(async move {
            while heard.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            flag.cancel();
        });
        let got = exchanger.exchange(&order, &cancel, &|_| ()).await;
        assert_eq!(got.unwrap_err(), InferenceError::Canceled);
    }
}

#[tokio::test]
async fn nobody_there_and_redirects_are_failures() {
    let server =
        TestServer::start(vec![vec![whole("302 Found", "location: http://127.0.0.1:9/\r\n", "")]])
            .await;
    let (got, _) = ask(&server.order("")).await;
    assert!(matches!(got.unwrap_err(), InferenceError::Provider(_)));
    assert_eq!(server.requests().len(), 1);
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = TestServer { port: free.local_addr().unwrap().port(), heard: Arc::default() };
    drop(free);
    let (got, _) = ask(&gone.order(":RETRIES: 0\n")).await;
    let said = got.unwrap_err().to_string();
    assert!(
        said.starts_with(&format!("`http://127.0.0.1:{}` cannot be reached: ", gone.port)),
        "{said}"
    );
}

#[tokio::test]
async fn compressed_and_whole_answers_are_read() {
    // `gzip -9n` of CHUNK and END.
    let packed = include_bytes!("hello.sse.gz").to_vec();
    let head = stream_head("content-encoding: gzip\r\n");
    let bytes = packed.iter().map(|byte| ServerStep::Say(vec![*byte]));
    let server = TestServer::start(vec![[head].into_iter().chain(bytes).collect()]).await;
    let (got, shown) = ask(&server.order("")).await;
    assert_eq!((shown.as_str(), got.unwrap().response.usage.output_tokens), ("Hello", Some(1)));
    let body = "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Hello\"},\
                \"finish_reason\":\"stop\"}]}";
    let server = TestServer::start(vec![vec![whole("200 OK", "", body)]]).await;
    let (got, shown) = ask(&server.order("")).await;
    assert_eq!((shown.as_str(), got.unwrap().response.usage.input_tokens), ("Hello", None));
}
