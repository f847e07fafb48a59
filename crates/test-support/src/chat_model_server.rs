//! A server of models that says what a test wants: a list of models, and one answer to every prompt. It notes each
//! request, head and body, as it came.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Bytes of a request that are read.
const MAX_REQUEST_BYTES: usize = 1 << 20;

/// Server on a free port of this machine, until its process ends.
#[derive(Debug)]
pub struct ChatModelServer {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    script: Arc<Mutex<ChatModelScript>>,
}

/// Answers of the server.
#[derive(Debug, Clone)]
pub struct ChatModelScript {
    /// Names of its models.
    pub models: Vec<String>,
    /// Answer to every prompt.
    pub answer: String,
    /// Tokens of prompt and answer.
    pub usage: (u64, u64),
    /// Key that it wants, in whatever header.
    pub key: Option<String>,
}

impl ChatModelServer {
    /// Starts a server with these models.
    pub fn start(models: &[&str]) -> ChatModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = ChatModelScript {
            models: models.iter().map(|&name| name.to_owned()).collect(),
            answer: "ready".to_owned(),
            usage: (14, 3),
            key: None,
        };
        let server =
            ChatModelServer { port, heard: Arc::default(), script: Arc::new(Mutex::new(script)) };
        let (heard, script) = (Arc::clone(&server.heard), Arc::clone(&server.script));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (heard, script) = (Arc::clone(&heard), Arc::clone(&script));
                thread::spawn(move || serve(stream, &heard, &script));
            }
        });
        server
    }

    /// Address before the paths of the codec `openai-chat`.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Changes what it says.
    pub fn set(&self, change: impl FnOnce(&mut ChatModelScript)) {
        change(&mut self.script.lock().unwrap());
    }

    /// Requests so far, oldest first.
    pub fn requests(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, heard: &Mutex<Vec<String>>, script: &Mutex<ChatModelScript>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let request = loop {
        let Ok(read @ 1..) = stream.read(&mut buffer) else { return };
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|it| it.parse().ok()).unwrap_or(0);
        if body.len() >= length.min(MAX_REQUEST_BYTES) {
            break text.into_owned();
        }
    };
    let script = script.lock().unwrap().clone();
    let is_known = script.key.as_ref().is_none_or(|key| request.contains(key.as_str()));
    let (status, kind, body) = match (is_known, request.starts_with("GET ")) {
        (false, _) => {
            let body = r#"{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}"#;
            ("401 Unauthorized", "application/json", body.to_owned())
        }
        (true, true) => ("200 OK", "application/json", script.list()),
        (true, false) => ("200 OK", "text/event-stream", script.stream()),
    };
    heard.lock().unwrap().push(request);
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    // A client that left needs no answer.
    let _ = stream.write_all(answer.as_bytes());
}

impl ChatModelScript {
    fn list(&self) -> String {
        let models: Vec<String> = self
            .models
            .iter()
            .map(|name| format!("{{\"id\":{name:?},\"max_model_len\":8192}}"))
            .collect();
        format!("{{\"object\":\"list\",\"data\":[{}]}}", models.join(","))
    }

    fn stream(&self) -> String {
        let (input, output) = self.usage;
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{:?}}}}}]}}\n\n\
             data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}],\"usage\":\
             {{\"prompt_tokens\":{input},\"completion_tokens\":{output},\"total_tokens\":{}}}}}\n\ndata: [DONE]\n\n",
            self.answer,
            input + output
        )
    }
}
