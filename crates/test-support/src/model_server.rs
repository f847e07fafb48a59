//! A server of language models that says what a test wants, in the words of all four vendors, and remembers every
//! request byte by byte.
//!
//! long: an answer in the words of each vendor.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Wire format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelWire {
    /// `openai-chat`
    Chat,
    /// `openai-responses`
    Responses,
    /// `anthropic-messages`
    Messages,
    /// `gemini`
    Gemini,
}

/// One answer.
#[derive(Clone, Debug)]
pub enum ModelReply {
    /// Text, in these pieces.
    Text(Vec<String>),
    /// A call of a tool, with its arguments as JSON.
    Call(String, String),
    /// A status with a body, and more header lines.
    Status(u16, String, String),
    /// Text that ends in the middle.
    Truncated(String),
    /// A piece of text, and then nothing for long.
    Stalled(String),
}

/// The server, for as long as the test runs.
pub struct ModelServer {
    port: u16,
    wire: ModelWire,
    heard: Arc<Mutex<Vec<String>>>,
    replies: Arc<Mutex<VecDeque<ModelReply>>>,
}

impl ModelWire {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Gemini];

    /// The name in `models.org`.
    pub fn codec(self) -> &'static str {
        match self {
            Self::Chat => "openai-chat",
            Self::Responses => "openai-responses",
            Self::Messages => "anthropic-messages",
            Self::Gemini => "gemini",
        }
    }
}

impl ModelServer {
    /// Starts on a free port. After the last reply the server says `done`.
    pub async fn start(wire: ModelWire, replies: Vec<ModelReply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let replies = Arc::new(Mutex::new(VecDeque::from(replies)));
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let (noted, next) = (Arc::clone(&heard), Arc::clone(&replies));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, wire, Arc::clone(&next), Arc::clone(&noted)));
            }
        });
        Self { port, wire, heard, replies }
    }

    /// The text of a `models.org` with this server as its one provider. `privacy` is `local` or `remote`.
    pub fn models_org(&self, privacy: &str) -> String {
        format!("{}** small :cognition:\n", self.provider("test", privacy))
    }

    /// The heading of a provider, to which models can be added.
    pub fn provider(&self, name: &str, privacy: &str) -> String {
        let (port, codec) = (self.port, self.wire.codec());
        format!(
            "* {name}\n:PROPERTIES:\n:ADDRESS: http://127.0.0.1:{port}/v1\n:CODEC: {codec}\n\
             :PRIVACY: {privacy}\n:RETRIES: 0\n:END:\n"
        )
    }

    /// Adds a reply.
    pub fn say(&self, reply: ModelReply) {
        self.replies.lock().unwrap().push_back(reply);
    }

    /// Requests so far, heads and bodies.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    wire: ModelWire,
    replies: Arc<Mutex<VecDeque<ModelReply>>>,
    heard: Arc<Mutex<Vec<String>>>,
) {
    let Some(request) = Box::pin(read_request(&mut stream)).await else { return };
    heard.lock().unwrap().push(request);
    let next = replies.lock().unwrap().pop_front();
    let reply = next.unwrap_or_else(|| ModelReply::Text(vec!["done".to_owned()]));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let (bytes, stall) = match reply {
        ModelReply::Text(pieces) => (format!("{head}{}", text(wire, &pieces, End::Whole)), false),
        ModelReply::Call(name, arguments) => {
            (format!("{head}{}", call(wire, &name, &arguments)), false)
        }
        ModelReply::Status(status, more, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}\
                 content-length: {length}\r\nconnection: close\r\n\r\n"
            );
            (format!("{head}{body}"), false)
        }
        ModelReply::Truncated(piece) => {
            (format!("{head}{}", text(wire, &[piece], End::None)), false)
        }
        ModelReply::Stalled(piece) => (format!("{head}{}", text(wire, &[piece], End::None)), true),
    };
    let _ = stream.write_all(bytes.as_bytes()).await;
    if stall {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let read = stream.read(&mut buffer).await.unwrap_or(0);
        if read == 0 {
            return None;
        }
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|it| it.parse().ok()).unwrap_or(0);
        if request.len() >= head.len() + 4 + length {
            return Some(text.into_owned());
        }
    }
}

/// End of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    None,
}

/// A string as JSON.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn data(lines: &[String]) -> String {
    lines.iter().map(|line| format!("data: {line}\n\n")).collect()
}

fn text(wire: ModelWire, pieces: &[String], end: End) -> String {
    let mut lines = Vec::new();
    let is_whole = end == End::Whole;
    match wire {
        ModelWire::Chat => {
            for piece in pieces {
                let piece = json(piece);
                lines.push(format!(
                    r#"{{"choices":[{{"index":0,"delta":{{"content":{piece}}}}}]}}"#
                ));
            }
            if is_whole {
                lines.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}"#.to_owned());
                lines.push("[DONE]".to_owned());
            }
        }
        ModelWire::Responses => {
            lines.push(
                r#"{"type":"response.created","response":{"id":"r","status":"in_progress"}}"#
                    .to_owned(),
            );
            lines.push(r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}"#.to_owned());
            for piece in pieces {
                let piece = json(piece);
                lines.push(format!(
                    r#"{{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":{piece}}}"#
                ));
            }
            if is_whole {
                let whole = json(&pieces.concat());
                let item = format!(
                    r#"{{"type":"message","id":"m","role":"assistant","status":"completed","content":[{{"type":"output_text","text":{whole},"annotations":[]}}]}}"#
                );
                lines.push(format!(
                    r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#
                ));
                lines.push(format!(
                    r#"{{"type":"response.completed","response":{{"id":"r","status":"completed","output":[{item}],"usage":{{"input_tokens":7,"output_tokens":2,"total_tokens":9}}}}}}"#
                ));
            }
        }
        ModelWire::Messages => {
            lines.push(r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}"#.to_owned());
            lines.push(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned());
            for piece in pieces {
                let piece = json(piece);
                lines.push(format!(
                    r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{piece}}}}}"#
                ));
            }
            if is_whole {
                lines.push(r#"{"type":"content_block_stop","index":0}"#.to_owned());
                lines.push(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#.to_owned());
                lines.push(r#"{"type":"message_stop"}"#.to_owned());
            }
        }
        ModelWire::Gemini => {
            for (place, piece) in pieces.iter().enumerate() {
                let piece = json(piece);
                let last = is_whole && place + 1 == pieces.len();
                let stop = if last { r#","finishReason":"STOP""# } else { "" };
                lines.push(format!(
                    r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"text":{piece}}}]}}{stop}}}],"usageMetadata":{{"promptTokenCount":7,"candidatesTokenCount":2,"totalTokenCount":9}}}}"#
                ));
            }
        }
    }
    data(&lines)
}

fn call(wire: ModelWire, name: &str, arguments: &str) -> String {
    let (text, name) = (json(arguments), json(name));
    let lines = match wire {
        ModelWire::Chat => vec![
            format!(
                r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"call_1","type":"function","function":{{"name":{name},"arguments":{text}}}}}]}}}}]}}"#
            ),
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}"#.to_owned(),
            "[DONE]".to_owned(),
        ],
        ModelWire::Responses => {
            let item = format!(
                r#"{{"type":"function_call","id":"f","call_id":"call_1","name":{name},"arguments":{text},"status":"completed"}}"#
            );
            vec![
                r#"{"type":"response.created","response":{"id":"r","status":"in_progress"}}"#.to_owned(),
                format!(
                    r#"{{"type":"response.output_item.added","output_index":0,"item":{{"type":"function_call","id":"f","call_id":"call_1","name":{name},"arguments":""}}}}"#
                ),
                format!(
                    r#"{{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f","delta":{text}}}"#
                ),
                format!(
                    r#"{{"type":"response.function_call_arguments.done","output_index":0,"item_id":"f","arguments":{text}}}"#
                ),
                format!(
                    r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#
                ),
                format!(
                    r#"{{"type":"response.completed","response":{{"id":"r","status":"completed","output":[{item}],"usage":{{"input_tokens":7,"output_tokens":2,"total_tokens":9}}}}}}"#
                ),
            ]
        }
        ModelWire::Messages => vec![
            r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}"#.to_owned(),
            format!(
                r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"call_1","name":{name},"input":{{}}}}}}"#
            ),
            format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{text}}}}}"#
            ),
            r#"{"type":"content_block_stop","index":0}"#.to_owned(),
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}"#.to_owned(),
            r#"{"type":"message_stop"}"#.to_owned(),
        ],
        ModelWire::Gemini => vec![format!(
            r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"functionCall":{{"name":{name},"args":{arguments}}}}}]}},"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":7,"candidatesTokenCount":2,"totalTokenCount":9}}}}"#
        )],
    };
    data(&lines)
}
