//! Who asks, and by which way: over TCP with and without a hello, over HTTP, as a program of the same user and as
//! another user. What comes back is kept whole, and once more in the form in which two answers are compared.

use std::net::SocketAddr;

use bridle_sexp::{Value, read_one};

use crate::questions::{
    ATTACHMENTS, CONTEXT, DOCUMENTS, MEMORY, MESSAGES, PROMPTS, Question, SCRIPT, SYSTEM,
};
use crate::world::{Dice, Kind};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::FrameClient;
use bridle_test_support::http_client::HttpClient;

/// A way to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Over TCP, without a hello.
    Bare,
    /// Over TCP, attached to a session.
    Attached,
    /// Over HTTP.
    Http,
    /// Over TCP, as another user.
    StrangerBare,
    /// Over HTTP, as another user.
    StrangerHttp,
}

impl Way {
    /// The ways, those that can do most more often.
    pub(crate) const ALL: [Way; 8] = [
        Way::Bare,
        Way::Bare,
        Way::Bare,
        Way::Attached,
        Way::Attached,
        Way::Http,
        Way::StrangerBare,
        Way::StrangerHttp,
    ];
}

/// An answer.
pub(crate) struct Asked {
    /// All that came.
    pub(crate) all: String,
    /// What must be the same for what is hidden and what is not there.
    pub(crate) compared: String,
    /// Whether it may tell what was asked before on the same session.
    pub(crate) is_history: bool,
}

/// Keys whose values follow from when something was asked, and not from what.
const VOLATILE: [&str; 9] =
    ["seq", "at", "turn", "record", "session", "deadline", "due", "uptime", "approval"];

/// Questions after which a connection gives way to another.
const CONNECTION: u64 = 200;

/// Sessions that are attached to, one after another and again.
const SESSIONS: u64 = 3;

pub(crate) struct Asker {
    tcp: SocketAddr,
    http: SocketAddr,
    strangers: [SocketAddr; 2],
    root: String,
    bare: Option<FrameClient>,
    stranger: Option<FrameClient>,
    attached: Option<FrameClient>,
    count: u64,
}

impl Asker {
    pub(crate) fn new(daemon: &TestDaemon, root: String, strangers: [SocketAddr; 2]) -> Asker {
        assert!(SCRIPT.contains("(default"));
        let (tcp, http) = (daemon.bound.tcp.unwrap(), daemon.bound.http.unwrap());
        let (bare, stranger, attached) = (None, None, None);
        Asker { tcp, http, strangers, root, bare, stranger, attached, count: 0 }
    }

    /// A question that can be asked by this way: its kind, and the message with `NAME` in it.
    pub(crate) fn choose(&self, way: Way, dice: &mut Dice) -> (Option<Kind>, String) {
        let request = |target: &str, (kind, payload): Question| {
            (kind, format!("(:type :REQUEST :id ID :target :{target} :payload {payload})"))
        };
        let is_http = matches!(way, Way::Http | Way::StrangerHttp);
        let (kind, text) = match dice.below(if is_http { 3 } else { 5 }) {
            0 if is_http => *dice.pick(DOCUMENTS),
            1 if is_http => *dice.pick(ATTACHMENTS),
            0 => return self.rooted(request("context", *dice.pick(CONTEXT))),
            1 => return self.rooted(request("memory", *dice.pick(MEMORY))),
            2 if !is_http => return self.rooted(request("system", *dice.pick(SYSTEM))),
            3 if !is_http => *dice.pick(MESSAGES),
            _ => {
                let (kind, text) = *dice.pick(PROMPTS);
                let message = match is_http {
                    true => text.to_owned(),
                    false => format!(
                        "(:type :EVENT :id ID :payload (:sensor :user-prompt :text \"{text}\"))"
                    ),
                };
                return self.rooted((kind, message));
            }
        };
        self.rooted((kind, text.to_owned()))
    }

    fn rooted(&self, (kind, text): (Option<Kind>, String)) -> (Option<Kind>, String) {
        (kind, text.replace("ROOT", &self.root))
    }

    /// Asks about something.
    pub(crate) async fn ask(&mut self, way: Way, question: &str, name: &str) -> Asked {
        self.count += 1;
        if self.count.is_multiple_of(CONNECTION) {
            (self.bare, self.stranger, self.attached) = (None, None, None);
        }
        let question = question.replace("NAME", name);
        match way {
            Way::Http => self.exchange(self.http, &question).await,
            Way::StrangerHttp => self.exchange(self.strangers[1], &question).await,
            Way::Attached => self.say(&question).await,
            Way::Bare => {
                let mut peer = match self.bare.take() {
                    Some(peer) => peer,
                    None => connect(self.tcp).await,
                };
                let told = bare(&mut peer, &question).await;
                self.bare = Some(peer);
                told
            }
            Way::StrangerBare => {
                let mut peer = match self.stranger.take() {
                    Some(peer) => peer,
                    None => connect(self.strangers[0]).await,
                };
                let told = bare(&mut peer, &question).await;
                self.stranger = Some(peer);
                told
            }
        }
    }

    /// Asks in a session, and reads until the answer.
    async fn say(&mut self, question: &str) -> Asked {
        let mut peer = match self.attached.take() {
            Some(peer) => peer,
            None => {
                let mut peer = connect(self.tcp).await;
                let session = self.count / CONNECTION % SESSIONS;
                let told = peer.ask(&hello(session, "")).await;
                assert!(told.contains(":success"), "{told}");
                peer
            }
        };
        peer.say(&question.replacen(":id ID", &format!(":id {}", self.count), 1)).await;
        let (all, compared) = answer(&mut peer, self.count).await;
        self.attached = Some(peer);
        Asked { all, compared, is_history: true }
    }

    /// One request over HTTP: a document, or an exchange.
    async fn exchange(&self, to: SocketAddr, question: &str) -> Asked {
        let (host, id) = (self.http, format!("q{}", self.count));
        let request = match question.strip_prefix('/') {
            Some(_)
                if !question.contains(' ')
                    && !question.starts_with(&self.root)
                    && is_path(question) =>
            {
                format!("GET {question} HTTP/1.1\r\nhost: {host}\r\n\r\n")
            }
            _ => {
                let context = match question.starts_with('{') {
                    true => format!("\"user_intent\":\"hello\",\"attachments\":[{question}]"),
                    false => format!("\"user_intent\":\"{question}\""),
                };
                let body = format!(
                    "{{\"protocol_version\":\"1.0.0\",\"request_id\":\"{id}\",\"request\":{{\"context\":{{{context}}}}}}}"
                );
                let length = body.len();
                format!(
                    "POST /v1/openharness HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
                     content-length: {length}\r\n\r\n{body}"
                )
            }
        };
        let mut client = HttpClient::to(to).await;
        client.send(&request).await;
        let reply = client.reply().await;
        let all = format!("{}{}", reply.head, reply.body);
        let body = without_number(&reply.body, "\"engine_latency_ms\":");
        let compared = format!("{} {}", reply.status, without_hashes(&body.replace(&id, "ID")));
        Asked { all, compared, is_history: false }
    }

    /// All that was recorded in the sessions, as it is read again.
    pub(crate) async fn streams(&mut self) -> Vec<String> {
        self.attached = None;
        let mut all = Vec::new();
        for session in 0..SESSIONS {
            let mut peer = connect(self.tcp).await;
            let mut text = peer.ask(&hello(session, ":cursor 0")).await;
            peer.say("(:type :EVENT :id 9000001 :payload (:sensor :user-prompt :text \"/help\"))")
                .await;
            text += &answer(&mut peer, 9_000_001).await.0;
            all.push(text);
        }
        all
    }
}

/// Whether a question over HTTP is the path of a document: one of the words that are said begins with a slash, too.
fn is_path(question: &str) -> bool {
    !PROMPT_WORDS.contains(&question)
}

const PROMPT_WORDS: [&str; 4] = ["/help", "/status", "/sessions", "/why"];

fn hello(session: u64, more: &str) -> String {
    format!("(:type :EVENT :payload (:action :handshake :session \"guest-{session}\" {more}))")
}

async fn connect(to: SocketAddr) -> FrameClient {
    let stream = tokio::net::TcpStream::connect(to).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut peer = FrameClient::over(stream);
    peer.frame().await.expect("a hello");
    peer
}

/// Asks on a connection without a hello, where each message has its one answer.
async fn bare(peer: &mut FrameClient, question: &str) -> Asked {
    let all = peer.ask(&question.replacen(":id ID", ":id 7", 1)).await;
    let compared = compared(&read_one(&all).unwrap().root().to_value());
    Asked { all, compared, is_history: false }
}

/// Reads until the answer of this id: all that came, and what of it is compared.
async fn answer(peer: &mut FrameClient, id: u64) -> (String, String) {
    let mut all = String::new();
    loop {
        let frame = peer.frame().await.expect("an answer");
        all.push_str(&frame);
        all.push('\n');
        let value = read_one(&frame).unwrap().root().to_value();
        let is_response = value.get("type").is_some_and(|it| it.is_keyword("RESPONSE"));
        let is_it = value.get("id").and_then(Value::as_i64) == i64::try_from(id).ok();
        if is_response && is_it {
            return (all, compared(&value));
        }
    }
}

/// The payload of an answer without what follows from when it was asked for.
fn compared(answer: &Value) -> String {
    scrubbed(answer.get("payload").unwrap_or(&Value::Nil)).to_string()
}

fn scrubbed(value: &Value) -> Value {
    if let Some(pairs) = value.pairs() {
        let is_kept = |key: &Value| !VOLATILE.iter().any(|name| key.is_keyword(name));
        let kept = pairs.into_iter().filter(|(key, _)| is_kept(key));
        return Value::list(kept.flat_map(|(key, value)| [key.clone(), scrubbed(value)]));
    }
    match value.elements() {
        Some(elements) => Value::list(elements.iter().map(scrubbed)),
        None => value.clone(),
    }
}

/// A text without the number behind a key.
fn without_number(text: &str, key: &str) -> String {
    let Some((before, after)) = text.split_once(key) else { return text.to_owned() };
    let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
    format!("{before}{key}0{after}")
}

/// A text without the names of sessions that are made of hashes.
fn without_hashes(text: &str) -> String {
    let mut pieces = text.split("oh-");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        kept.push_str("oh-");
        kept.push_str(piece.trim_start_matches(|letter: char| letter.is_ascii_hexdigit()));
    }
    kept
}
