//! Fetches from real servers on this machine. Names have the addresses that the test says, the guard
//! judges those, and the connection is then led to loopback: nothing else is ever contacted.

#![expect(clippy::disallowed_methods, reason = "a test's tasks end with its runtime")]

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::AttachmentFetcher;
use crate::access::tls::{self, TlsConfig};
use crate::fetch::net::{FetchNetwork, Later};
use crate::fetch::{FetchConfig, FetchRefusal, FetchedFile};

/// An address that anybody could reach, and that nobody here does.
const PUBLIC: &str = "93.184.216.34";

/// What was looked up and connected to, in order.
#[derive(Clone, Debug, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn push(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Names with their addresses, each answer in turn, the last one for good; and where every
/// connection really goes.
#[derive(Debug)]
struct Led {
    names: HashMap<&'static str, Vec<&'static str>>,
    asked: Mutex<HashMap<String, usize>>,
    to: SocketAddr,
    seen: Seen,
}

impl FetchNetwork for Led {
    fn resolve<'n>(&'n self, host: &'n str) -> Later<'n, Vec<IpAddr>> {
        self.seen.push(format!("resolve {host}"));
        let mut asked = self.asked.lock().unwrap();
        let count = asked.entry(host.to_owned()).or_default();
        let answers = self.names.get(host);
        let answer = answers.and_then(|all| all.get(*count).or(all.last()));
        *count += 1;
        let answer = answer.map(|all| all.split(' ').map(|one| one.parse().unwrap()).collect());
        let none = || std::io::Error::other("no such name");
        Box::pin(std::future::ready(answer.ok_or_else(none)))
    }

    fn connect(&self, address: SocketAddr) -> Later<'_, TcpStream> {
        self.seen.push(format!("connect {address}"));
        Box::pin(TcpStream::connect(self.to))
    }
}

/// A server that answers each connection with the next of these; and what it was sent.
async fn server(answers: Vec<String>) -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Seen::default());
    let heard = seen.clone();
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            heard.push(String::from_utf8(head).unwrap());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, seen)
}

fn fetcher(
    hosts: &str,
    names: &[(&'static str, &[&'static str])],
    to: SocketAddr,
) -> (AttachmentFetcher, Seen) {
    let seen = Seen::default();
    let names = names.iter().map(|(name, all)| (*name, all.to_vec())).collect();
    let led = Led { names, asked: Mutex::default(), to, seen: seen.clone() };
    let mut fetcher = AttachmentFetcher::new(&FetchConfig::default(), 64).unwrap();
    fetcher.config.hosts = hosts.parse().unwrap();
    fetcher.net = Arc::new(led);
    (fetcher, seen)
}

fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn moved(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

/// Fetches `http://a.example/x` from a server with these answers.
async fn check(
    answers: &[String],
    expect: Result<&str, FetchRefusal>,
) -> (Vec<String>, Vec<String>) {
    let (to, heard) = server(answers.to_vec()).await;
    let names: &[(&str, &[&str])] = &[
        ("a.example", &[PUBLIC]),
        ("b.example", &["2606:4700::1111"]),
        ("inside.example", &["10.0.0.1"]),
        ("both.example", &["93.184.216.34 127.0.0.1"]),
    ];
    let (fetcher, seen) = fetcher("*.example", names, to);
    let got = fetcher.fetch("http://a.example/x?y=1#z").await;
    let got = got.map(|FetchedFile { content, .. }| String::from_utf8(content).unwrap());
    assert_eq!(got.as_deref().map_err(|refusal| *refusal), expect.as_deref().map_err(|r| *r));
    (seen.all(), heard.all())
}

#[tokio::test]
async fn what_is_permitted_and_public_is_fetched_and_no_credential_is_sent() {
    let (seen, heard) = check(&[ok("hello")], Ok("hello")).await;
    assert_eq!(seen, ["resolve a.example", "connect 93.184.216.34:80"]);
    let head = heard.concat().to_ascii_lowercase();
    assert!(head.starts_with("get /x?y=1 http/1.1\r\nhost: a.example\r\n"), "{head}");
    for word in ["authorization", "cookie", "referer", "origin", "#z"] {
        assert!(!head.contains(word), "{head}");
    }
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    check(&[chunked.to_owned()], Ok("hello")).await;
    check(&["HTTP/1.1 200 OK\r\n\r\nhello".to_owned()], Ok("hello")).await;
}

#[tokio::test]
async fn a_redirect_is_judged_like_the_first_address() {
    let (seen, _) = check(&[moved("http://b.example/y"), ok("there")], Ok("there")).await;
    assert_eq!(seen[2..], ["resolve b.example", "connect [2606:4700::1111]:80"]);
    check(&[moved("/y"), moved("z?q"), moved("//b.example/"), ok("far")], Ok("far")).await;
    for (to, why) in [
        ("http://127.0.0.1/", FetchRefusal::Host),
        ("http://other.test/", FetchRefusal::Host),
        ("http://inside.example/", FetchRefusal::NotPublic),
        ("http://both.example/", FetchRefusal::NotPublic),
        ("http://nowhere.example/", FetchRefusal::NoAddress),
        ("http://b.example:22/", FetchRefusal::Port),
        ("http://u:p@b.example/", FetchRefusal::Credential),
        ("http://0x7f.1/", FetchRefusal::Address),
        ("file:///etc/passwd", FetchRefusal::Scheme),
        ("gopher://b.example/", FetchRefusal::Scheme),
        ("///b.example/", FetchRefusal::Address),
        ("\\\\b.example/", FetchRefusal::Address),
    ] {
        let (seen, _) = check(&[moved(to)], Err(why)).await;
        let connects = seen.iter().filter(|what| what.starts_with("connect")).count();
        assert_eq!(connects, 1, "{to}: nothing more is connected to");
    }
    let around = vec![moved("/again"); 5];
    let (seen, _) = check(&around, Err(FetchRefusal::Redirects)).await;
    assert_eq!(seen.iter().filter(|what| what.starts_with("connect")).count(), 4);
    check(
        &["HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n".into()],
        Err(FetchRefusal::Redirects),
    )
    .await;
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_looked_up_once_for_each_connection() {
    let (to, _) = server(vec![ok("hello"), ok("again")]).await;
    let names: &[(&str, &[&str])] = &[("a.example", &[PUBLIC, "127.0.0.1"])];
    let (fetcher, seen) = fetcher("a.example", names, to);
    assert_eq!(fetcher.fetch("http://a.example/").await.unwrap().content, b"hello");
    assert_eq!(seen.all(), ["resolve a.example", "connect 93.184.216.34:80"]);
    assert_eq!(fetcher.fetch("http://a.example/").await.unwrap_err(), FetchRefusal::NotPublic);
    assert_eq!(seen.all().len(), 3, "the second answer is not connected to");
}

#[tokio::test]
async fn an_answer_is_bounded_and_must_be_one() {
    let large = "x".repeat(65);
    check(&[ok(&large)], Err(FetchRefusal::TooLarge)).await;
    check(&[format!("HTTP/1.1 200 OK\r\n\r\n{large}")], Err(FetchRefusal::TooLarge)).await;
    check(&[ok(&large[1..])], Ok(&large[1..])).await;
    let huge = "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n".to_owned();
    check(&[huge], Err(FetchRefusal::TooLarge)).await;
    let packed =
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx".to_owned();
    check(&[packed], Err(FetchRefusal::Encoding)).await;
    for status in ["404 Not Found", "206 Partial Content", "500 Oops", "401 Unauthorized"] {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        check(&[answer], Err(FetchRefusal::Status)).await;
    }
    for broken in ["", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"] {
        check(&[broken.to_owned()], Err(FetchRefusal::Broken)).await;
    }
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    check(&[format!("HTTP/1.1 200 OK\r\n{many}\r\n")], Err(FetchRefusal::Broken)).await;
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1 << 17));
    check(&[long], Err(FetchRefusal::Broken)).await;
}

#[tokio::test]
async fn who_says_nothing_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let names: &[(&str, &[&str])] = &[("a.example", &[PUBLIC])];
    let (mut fetcher, _) = fetcher("a.example", names, listener.local_addr().unwrap());
    fetcher.time = Duration::from_millis(50);
    assert_eq!(fetcher.fetch("http://a.example/").await.unwrap_err(), FetchRefusal::Late);
}

#[tokio::test]
async fn with_tls_the_certificate_must_be_of_the_host() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls");
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("server.key");
    std::fs::write(&key, std::fs::read(data.join("server.key")).unwrap()).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let config = TlsConfig { cert: data.join("server.pem"), key, client_ca: None };
    let acceptor = tls::acceptor(&config).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = vec![0; 1024];
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(moved("http://localhost/").as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    let names: &[(&str, &[&str])] = &[("localhost", &[PUBLIC]), ("a.example", &[PUBLIC])];
    let (mut fetcher, seen) = fetcher("*", names, to);
    assert_eq!(
        fetcher.fetch("https://localhost/").await.unwrap_err(),
        FetchRefusal::Broken,
        "no authority"
    );
    fetcher.tls = Some(tls::connector(&data.join("ca.pem")).unwrap());
    assert_eq!(fetcher.fetch("https://a.example/").await.unwrap_err(), FetchRefusal::Broken);
    // The handshake succeeds, and what is said inside is a step down.
    assert_eq!(fetcher.fetch("https://localhost/").await.unwrap_err(), FetchRefusal::Downgrade);
    assert!(seen.all().iter().all(|what| !what.ends_with(":80")), "{:?}", seen.all());
}

/// Asks `http://a.example/x` by an order and tells the status, the text and what was sent.
async fn ordered(method: &str, answers: &[String]) -> (u16, String, Option<String>, Vec<String>) {
    let (to, heard) = server(answers.to_vec()).await;
    let (fetcher, _) = fetcher("*", &[("a.example", &[PUBLIC]), ("b.example", &[PUBLIC])], to);
    let order = super::WebOrder {
        method: method.parse().unwrap(),
        url: "http://a.example/x?y=1",
        host: "a.example",
        port: 80,
        headers: vec![("x-note", "yes"), ("host", "b.example")],
        body: None,
    };
    let got = fetcher.exchange(&order).await.unwrap();
    let text = String::from_utf8(got.content).unwrap();
    (got.status, text, got.location, heard.all())
}

#[tokio::test]
async fn an_order_reaches_its_host_alone_and_hears_every_status() {
    let none = "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone".to_owned();
    let (status, text, _, heard) = ordered("POST", &[none]).await;
    assert_eq!((status, text.as_str()), (404, "none"));
    let head = heard.concat().to_ascii_lowercase();
    assert!(head.starts_with("post /x?y=1 http/1.1\r\n"), "{head}");
    assert!(head.contains("x-note: yes") && head.contains("host: a.example"), "{head}");
    let (status, text, ..) = ordered("GET", &[moved("/y"), ok("here")]).await;
    assert_eq!((status, text.as_str()), (200, "here"));
    let (status, _, location, heard) = ordered("GET", &[moved("http://b.example/z")]).await;
    assert_eq!((status, location.as_deref()), (302, Some("http://b.example/z")));
    assert_eq!(heard.len(), 1, "nobody else is asked");
    let (_, text, ..) = ordered("GET", &[ok(&"x".repeat(200))]).await;
    assert_eq!(text.len(), 64, "no more than the limit");
}
