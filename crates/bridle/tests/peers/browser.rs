//! A real browser: pages of a loopback server that ask the daemon with `fetch`. What docs/http.md shows and
//! `examples/stream.js` run as they are. A page reports to the server that it came from.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::{Guarded, Server, root};

/// A page that says nothing fails its test after this long: far above the start of a browser on a loaded
/// machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Address in the page and in the example.
const DEFAULT: &str = "127.0.0.1:8788";

/// Names that a browser goes by.
const BROWSERS: [&str; 3] = ["chromium", "google-chrome", "chromium-browser"];

/// Rules that speak slowly enough to be interrupted.
const RULES: &str =
    "(rule :when \"talk\" :stream (\"one \" \"two \") :pace 1500 :say \"one two three\")";

/// Sends a line to the test, after those before it: requests of a browser overtake each other.
const REPORT: &str = "let before = Promise.resolve();\n\
    const report = (text) => before = before.then(() => \
    fetch('/report', {method: 'POST', body: String(text)}));";

/// A server of one page, and what the page reports.
struct Pages {
    origin: String,
    said: Receiver<String>,
}

impl Pages {
    /// Listens, and serves the page that comes of its own origin and of the address of the daemon later.
    fn listen() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        (listener, format!("http://127.0.0.1:{port}"))
    }

    /// Serves a module of JavaScript in a page.
    fn serve(listener: TcpListener, origin: String, script: &str) -> Pages {
        let page = format!(
            "<!doctype html><meta charset=utf-8><script type=module>{REPORT}\n\
             try {{\n{script}\n}} catch (error) {{ await report('failed: ' + error); }}</script>"
        );
        let (saying, said) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (page, saying) = (page.clone(), saying.clone());
                thread::spawn(move || drop(answer(stream, &page, &saying)));
            }
        });
        Pages { origin, said }
    }

    /// The next line that the page reports.
    fn next(&self) -> String {
        self.said.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{} is silent", self.origin))
    }
}

/// Answers one request for the page, for the example, or with a report.
fn answer(stream: TcpStream, page: &str, saying: &Sender<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    reader.read_line(&mut head)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let (kind, text) = match head.split(' ').nth(1) {
        Some("/report") => {
            // The test may be over.
            let _ = saying.send(String::from_utf8_lossy(&body).into_owned());
            ("text/plain", String::new())
        }
        Some("/stream.js") => {
            ("text/javascript", fs::read_to_string(root().join("examples/stream.js"))?)
        }
        Some("/") => ("text/html", page.to_owned()),
        _ => ("text/plain", String::new()),
    };
    let length = text.len();
    let head = format!("content-type: {kind}\r\ncontent-length: {length}\r\nconnection: close");
    write!(reader.get_mut(), "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{text}")
}

/// A browser that shows a page, with a profile of its own.
struct Browser {
    _process: Guarded,
    _profile: TempDir,
}

impl Browser {
    fn show(url: &str) -> Browser {
        let profile = TempDir::new().expect("a temporary directory can be made");
        let here = |name: &&&str| {
            let paths = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&paths).any(|folder| folder.join(name).exists())
        };
        let name = BROWSERS.iter().find(here).unwrap_or(&BROWSERS[0]);
        let mut command = Command::new(name);
        // No sandbox: whoever runs the tests may be root, and the pages are ours.
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--no-first-run", "--disable-extensions", "--disable-background-networking"]);
        command.args(["--disable-component-update", "--remote-debugging-port=0"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.env("HOME", profile.path()).arg(url);
        let process = Guarded::spawn(command);
        process.drain();
        Browser { _process: process, _profile: profile }
    }
}

/// JavaScript of the page about HTTP.
fn snippet() -> String {
    let page = fs::read_to_string(root().join("docs/http.md")).expect("there is a page");
    let (_, after) = page.split_once("```js\n").expect("the page has a block of JavaScript");
    after.split_once("```").expect("the block ends").0.to_owned()
}

fn daemon(state: &Path, port: u16, origin: &str) -> Server {
    let rules = state.join("rules.script");
    fs::write(&rules, RULES).expect("a temporary directory can be written to");
    let (http, thinker) = (format!("127.0.0.1:{port}"), format!("script:{}", rules.display()));
    Server::bridle_in(state, &["--http", &http, "--http-origin", origin, "--thinker", &thinker])
}

/// A number out of the metrics.
fn metric(address: &str, name: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the daemon listens");
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")
        .expect("the daemon reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("metrics are text");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no `{name}` in {text}")).to_owned()
}

#[test]
fn a_page_that_is_let_in_asks_as_the_readme_shows() {
    let state = TempDir::new().expect("a temporary directory can be made");
    let (listener, origin) = Pages::listen();
    // The built-in thinker answers the words of the README.
    let server =
        Server::bridle_in(state.path(), &["--http", "127.0.0.1:0", "--http-origin", &origin]);
    let snippet = snippet();
    assert!(snippet.contains(DEFAULT), "{snippet}");
    let script = format!(
        "console.log = report;\n{}\nawait report(answer.headers.get('X-Request-ID').length);",
        snippet.replace(DEFAULT, &server.address())
    );
    let pages = Pages::serve(listener, origin, &script);
    let _browser = Browser::show(&pages.origin);
    let said = pages.next();
    assert!(said.starts_with("I am bridle"), "{said}");
    // The page may read the headers that are told, and this one is a UUID.
    assert_eq!(pages.next(), "36");
}

#[test]
fn a_page_takes_its_stream_up_again_after_the_daemon_was_killed() {
    let state = TempDir::new().expect("a temporary directory can be made");
    let (listener, origin) = Pages::listen();
    let server = daemon(state.path(), 0, &origin);
    let port = server.port;
    let script = format!(
        "const {{ask}} = await import('/stream.js');
         for await (const event of ask('http://{}/v1/openharness', 'talk')) {{
           const texts = event.message?.response.action_directives.map((it) => it.payload.text);
           await report([event.seq, event.type, ...(texts ?? [])].join(' '));
         }}
         await report('over');",
        server.address()
    );
    let pages = Pages::serve(listener, origin.clone(), &script);
    let _browser = Browser::show(&pages.origin);
    let (mut heard, mut server) = (vec![pages.next()], Some(server));
    while heard.last().is_some_and(|line| line != "over" && !line.starts_with("failed")) {
        // In the middle of the text: killed, and on the same port again.
        if heard.last().is_some_and(|line| line.contains("delta")) && server.is_some() {
            drop(server.take());
            server = None;
            break;
        }
        heard.push(pages.next());
    }
    assert!(server.is_none(), "no text came in pieces: {heard:?}");
    let _server = daemon(state.path(), port, &origin);
    while heard.last().is_some_and(|line| line != "over" && !line.starts_with("failed")) {
        heard.push(pages.next());
    }
    let numbers = heard[..heard.len() - 1].iter().map(|line| line.split(' ').next().unwrap_or(""));
    let expected: Vec<String> = (0..heard.len() - 1).map(|number| number.to_string()).collect();
    assert!(numbers.eq(expected.iter()), "{heard:?}");
    let last = &heard[heard.len() - 2];
    assert!(last.ends_with(" final one two three"), "{heard:?}");
    let opened = heard.iter().filter(|line| line.ends_with(" open")).count();
    assert_eq!(opened, 1, "one stream, taken up: {heard:?}");
}

#[test]
fn a_page_that_is_not_let_in_reaches_nothing() {
    let state = TempDir::new().expect("a temporary directory can be made");
    let ((_friend, friend), (listener, origin)) = (Pages::listen(), Pages::listen());
    let server = daemon(state.path(), 0, &friend);
    let (url, snippet) = (server.address(), snippet().replace(DEFAULT, &server.address()));
    let script = format!(
        "const body = JSON.stringify({{protocol_version: '1.0.0', request: {{context: {{user_intent: 'x'}}}}}});
         const simple = {{method: 'POST', mode: 'no-cors', body}};
         await report((await fetch('http://{url}/v1/openharness', simple)).type);
         console.log = (text) => report('got ' + text);
         {snippet}"
    );
    let pages = Pages::serve(listener, origin, &script);
    let _browser = Browser::show(&pages.origin);
    // What needs no leave is sent, and refused; the page cannot even see that.
    assert_eq!(pages.next(), "opaque");
    let said = pages.next();
    assert!(said.starts_with("failed: TypeError"), "{said}");
    assert_eq!(metric(&url, "bridle_messages_admitted_total"), "0");
    assert_eq!(metric(&url, "bridle_http_responses_total{status=\"403\"}"), "2");
}

#[test]
fn a_page_talks_on_a_websocket() {
    let state = TempDir::new().expect("a temporary directory can be made");
    let (listener, origin) = Pages::listen();
    let server = daemon(state.path(), 0, &origin);
    let script = format!(
        "const socket = new WebSocket('ws://{}/v1/openharness/ws', 'openharness.v1');
         await new Promise((open, fail) => {{ socket.onopen = open; socket.onerror = fail; }});
         await report(socket.protocol + ' ' + socket.extensions);
         const message = {{protocol_version: '1.0.0', request_id: 'r1',
           request: {{context: {{session_id: 'page', user_intent: 'talk'}}}}}};
         const names = await new Promise((done) => {{
           const names = [];
           socket.onmessage = ({{data}}) => {{
             const event = JSON.parse(data);
             names.push(event.type);
             if (event.type === 'final') {{
               names.push(event.message.response.action_directives[0].payload.text);
               done(names);
             }}
           }};
           socket.send(JSON.stringify({{type: 'request', message}}));
         }});
         await report(names[0] + ' .. ' + names.slice(-2).join(' '));
         socket.onclose = ({{code, wasClean}}) => report(code + ' ' + wasClean);
         socket.close(3001, 'enough');",
        server.address()
    );
    let pages = Pages::serve(listener, origin, &script);
    let _browser = Browser::show(&pages.origin);
    assert_eq!(pages.next(), "openharness.v1 ");
    assert_eq!(pages.next(), "open .. final one two three");
    assert_eq!(pages.next(), "3001 true");
}
