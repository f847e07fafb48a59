//! Requests that say one thing and are another: what a proxy and a daemon could read differently,
//! what never ends, what is no HTTP at all.

use std::time::Duration;

use bridle_wire::openharness::OpenHarnessCode;
use tokio::net::TcpStream;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{
    HttpClient, HttpReply, ask, intent, on, post, raw_post, serving,
};

const JSON: &str = "content-type: application/json\r\n";

/// A daemon that does not wait long.
async fn hasty() -> TestDaemon {
    TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.frame_deadline = Duration::from_millis(50);
    })
    .await
}

/// A request for the path, without a body.
fn plain(daemon: &TestDaemon, method: &str, path: &str) -> String {
    let host = daemon.bound.http.unwrap();
    format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n\r\n")
}

/// A message in one chunk, with these headers and this behind its last chunk.
fn chunked(daemon: &TestDaemon, headers: &str, behind: &str) -> String {
    let (host, body) = (daemon.bound.http.unwrap(), intent("r1", "desk", "help"));
    format!(
        "POST /v1/openharness HTTP/1.1\r\nhost: {host}\r\n{JSON}{headers}\r\n{:x}\r\n{body}\r\n0\r\n{behind}",
        body.len()
    )
}

async fn assert_nothing_ran(daemon: TestDaemon) {
    assert_eq!(daemon.metric("bridle_messages_admitted_total").await, 0);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_body_whose_end_never_comes_does_not_run() {
    let daemon = hasty().await;
    let body = intent("r1", "desk", "help");
    // All of a message is there, and more was announced.
    for length in [body.len() + 1, 1 << 20, 1 << 40, (1 << 63) - 1] {
        let request = post(&daemon, &body);
        let announced = format!("content-length: {length}\r\n");
        let request =
            request.replacen(&format!("content-length: {}\r\n", body.len()), &announced, 1);
        let reply = ask(&daemon, request).await;
        assert_eq!(reply.code(), OpenHarnessCode::InvalidRequest, "{length}");
        assert!(reply.body.contains("\"reason\":\"incomplete\""), "{reply:?}");
        assert_eq!(reply.message().request_id.unwrap().as_str(), "r1");
    }
    // The same in chunks, and with trailers that do not end.
    let chunk = "transfer-encoding: chunked\r\n";
    let endless = "x-t: 1\r\n".repeat(5_000);
    for behind in ["", &endless] {
        let reply = ask(&daemon, chunked(&daemon, chunk, behind)).await;
        assert_eq!(reply.code(), OpenHarnessCode::InvalidRequest, "{}", behind.len());
    }
    assert_nothing_ran(daemon).await;
}

#[tokio::test]
async fn a_body_in_a_code_that_is_not_undone_does_not_run() {
    let daemon = serving().await;
    let coded = chunked(&daemon, "transfer-encoding: gzip, chunked\r\n", "\r\n");
    assert_eq!(ask(&daemon, coded).await.code(), OpenHarnessCode::InvalidRequest);
    let packed = format!("{JSON}content-encoding: gzip\r\n");
    let request = raw_post(&daemon, &packed, &intent("r1", "desk", "help"));
    assert_eq!(ask(&daemon, request).await.code(), OpenHarnessCode::UnsupportedMediaType);
    assert_nothing_ran(daemon).await;
}

#[tokio::test]
async fn two_lengths_hide_no_second_request() {
    let daemon = serving().await;
    let hidden = plain(&daemon, "GET", "/health");
    let (chunk, short) = ("transfer-encoding: chunked\r\n", "content-length: 4\r\n");
    for headers in [format!("{chunk}{short}"), format!("{short}{chunk}")] {
        let mut client = HttpClient::of(&daemon).await;
        client.send(chunked(&daemon, &headers, "\r\n") + &hidden).await;
        let all = client.rest().await;
        assert_eq!(all.matches("HTTP/1.1 ").count(), 1, "{headers}: {all}");
        assert!(all.starts_with("HTTP/1.1 400 "), "{headers}: {all}");
        assert!(all.contains("\r\nconnection: close\r\n"), "{headers}: {all}");
    }
    for lengths in [
        "content-length: 2\r\n",
        "content-length: 5\r\n",
        "content-length: +4\r\n",
        "content-length: -1\r\n",
    ] {
        let request = raw_post(&daemon, &format!("{JSON}{lengths}"), "{}") + &hidden;
        let mut client = HttpClient::of(&daemon).await;
        client.send(request).await;
        let all = client.rest().await;
        assert!(all.starts_with("HTTP/1.1 400 "), "{lengths}: {all}");
        assert_eq!(all.matches("HTTP/1.1 ").count(), 1, "{lengths}: {all}");
    }
    daemon.assert_alive().await;
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_target_that_names_a_host_is_judged_by_it() {
    let daemon = serving().await;
    let own = format!("http://{}/health", daemon.bound.http.unwrap());
    assert_eq!(ask(&daemon, plain(&daemon, "GET", &own)).await.status, 200);
    for (method, target) in [
        ("GET", "http://evil.example/health"),
        ("GET", "http://user@127.0.0.1/health"),
        ("CONNECT", "evil.example:80"),
    ] {
        let reply = ask(&daemon, plain(&daemon, method, target)).await;
        assert_eq!(reply.code(), OpenHarnessCode::Forbidden, "{target}");
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn paths_that_are_no_text_are_nowhere() {
    let daemon = serving().await;
    for path in [
        "/%ff%fe",
        "/v1/openharness/attachments/%ff%fe",
        "/v1/openharness/attachments/att-%00",
        "/v1/openharness/attachments/..%2f..%2frecord.db",
        "/v1%2fopenharness",
        "/%68ealth",
        "//health",
        "/./health",
        "/%",
    ] {
        let reply = ask(&daemon, plain(&daemon, "GET", path)).await;
        assert_eq!(reply.code(), OpenHarnessCode::NotFound, "{path}");
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn other_methods_are_refused_everywhere_and_head_is_get_without_a_body() {
    let daemon = serving().await;
    for path in ["/", "/health", "/metrics", "/v1/openharness", "/.well-known/openharness"] {
        for method in ["OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "BREW"] {
            let reply = ask(&daemon, plain(&daemon, method, path)).await;
            assert_eq!(reply.code(), OpenHarnessCode::MethodNotAllowed, "{method} {path}");
            assert!(reply.header("allow").is_some(), "{method} {path}");
        }
        let length = |reply: &HttpReply| reply.header("content-length").map(str::to_owned);
        let whole = ask(&daemon, plain(&daemon, "GET", path)).await;
        let head = ask(&daemon, plain(&daemon, "HEAD", path)).await;
        assert_eq!((head.status, &*head.body), (200, ""), "{path}");
        if path != "/metrics" {
            assert_eq!(length(&head), length(&whole), "{path}");
        }
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_no_http_is_closed_and_hurts_nobody() {
    let daemon = hasty().await;
    for text in [
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /health\r\n",
        "GET /health HTTP/1.2\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{0}\u{7a}",
        "000015(:type :health-check)",
        " GET /health HTTP/1.1\r\n\r\n",
        "G",
        "",
    ] {
        let mut client = HttpClient::of(&daemon).await;
        client.send(text).await;
        let all = client.rest().await;
        assert!(all.is_empty() || all.starts_with("HTTP/1.1 400 "), "{text:?}: {all}");
    }
    for _ in 0..1_000 {
        drop(TcpStream::connect(daemon.bound.http.unwrap()).await.unwrap());
    }
    assert_eq!(ask(&daemon, plain(&daemon, "GET", "/health")).await.status, 200);
    daemon.stop().await.unwrap();
}

/// Sends a text byte by byte until it is all sent or nobody takes it; tells what came back.
async fn drip(client: &mut HttpClient, text: &str) -> String {
    for byte in text.bytes() {
        if !client.send_raw(&[byte]).await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.rest().await
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
    let daemon = hasty().await;
    // Far more bytes than come in time; others are served meanwhile.
    let endless = format!("{}x-{}", plain(&daemon, "GET", "/health").trim_end(), "y".repeat(200));
    let mut clients: Vec<HttpClient> = Vec::new();
    for _ in 0..20 {
        clients.push(HttpClient::of(&daemon).await);
    }
    let all = clients.iter_mut().map(|client| drip(client, &endless));
    let mut all: Vec<_> = all.map(Box::pin).collect();
    let drips = async {
        for drip in &mut all {
            assert_eq!(drip.await, "", "a head without an end was answered");
        }
    };
    let health = plain(&daemon, "GET", "/health");
    let ((), served) = tokio::join!(drips, ask(&daemon, &health));
    assert_eq!(served.status, 200);
    assert_nothing_ran(daemon).await;
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_does_not_run() {
    let daemon = hasty().await;
    let body = intent("r1", "desk", &"help ".repeat(100));
    let request = post(&daemon, &body);
    let (head, body) = request.split_at(request.len() - body.len());
    let mut client = HttpClient::of(&daemon).await;
    client.send(head).await;
    let said = drip(&mut client, body).await;
    assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
    assert!(said.contains("\"reason\":\"incomplete\""), "{said}");
    assert_nothing_ran(daemon).await;
}

#[tokio::test]
async fn a_head_has_a_size_and_no_more() {
    let daemon = serving().await;
    let sized = |size: usize| {
        let whole = plain(&daemon, "GET", "/health");
        let room = size - whole.len() - "x-pad: \r\n".len();
        whole.replacen("\r\n\r\n", &format!("\r\nx-pad: {}\r\n\r\n", "y".repeat(room)), 1)
    };
    assert_eq!(sized(1 << 15).len(), 1 << 15);
    assert_eq!(ask(&daemon, sized(32 << 10)).await.status, 200);
    for size in [(32 << 10) + 1, 60 << 10] {
        let mut client = HttpClient::of(&daemon).await;
        client.send(sized(size)).await;
        let reply = client.reply().await;
        let code = reply.message().response.error.unwrap().known();
        assert_eq!((reply.status, code), (431, Some(OpenHarnessCode::PayloadTooLarge)), "{size}");
        assert_eq!(client.rest().await, "", "the connection goes on");
    }
    // The target counts, and what is far too large is not read to its end.
    let long = plain(&daemon, "GET", &format!("/{}", "y".repeat(40 << 10)));
    assert_eq!(ask(&daemon, long).await.status, 431);
    let mut client = HttpClient::of(&daemon).await;
    client.send_raw(sized(1 << 20).as_bytes()).await;
    let said = client.rest().await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 431 "), "{said}");
    let many: String = (0..101).map(|n| format!("x-{n}: y\r\n")).collect();
    let many = plain(&daemon, "GET", "/health").replacen("\r\n\r\n", &format!("\r\n{many}\r\n"), 1);
    assert_eq!(ask(&daemon, many).await.status, 431);
    assert_nothing_ran(daemon).await;
}

#[tokio::test]
async fn unfinished_bodies_count_among_the_bytes_in_flight() {
    let limit = 256 << 10;
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.in_flight = limit;
        config.limits.frame_deadline = Duration::from_secs(2);
    })
    .await;
    let host = daemon.bound.http.unwrap();
    let head = format!(
        "POST /v1/openharness HTTP/1.1\r\nhost: {host}\r\n{JSON}content-length: 1048576\r\n\r\n"
    );
    let mut clients = Vec::new();
    for _ in 0..6 {
        let mut client = HttpClient::of(&daemon).await;
        client.send(&head).await;
        client.send(" ".repeat(200 << 10)).await;
        clients.push(client);
    }
    // Until they are given up, they hold no more than the limit, a body, and a read each.
    let mut watcher = daemon.unix_peer().await;
    let mut most = 0;
    let answers = async {
        let mut codes = Vec::new();
        for client in &mut clients {
            codes.push(client.reply().await.code());
        }
        codes
    };
    let watch = async {
        loop {
            let detail = watcher.ask("(:type :health-check :detail t)").await;
            let (_, rest) = detail.split_once(":in-flight-bytes ").unwrap();
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            most = most.max(digits.parse::<usize>().unwrap());
        }
    };
    let codes = tokio::select! {
        codes = answers => codes,
        () = watch => Vec::new(),
    };
    assert!(most >= limit, "{most} bytes were held");
    assert!(most <= limit + (200 << 10) + 6 * (64 << 10), "{most} bytes were held");
    assert!(codes.contains(&OpenHarnessCode::EngineOverloaded), "{codes:?}");
    assert_nothing_ran(daemon).await;
}
