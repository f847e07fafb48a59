//! The proxy over real sockets, names resolved by a table of the test.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use super::address::{is_address_literal, is_private};
use super::{HostProxy, HostRefusal, HostResolver, HostRule, RefusalReason};

/// A host that answers each connection with what it got.
fn mirror() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let mut bytes = [0; 4096];
                let read = stream.read(&mut bytes).unwrap_or(0);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                let _ = stream.write_all(&bytes[..read]);
            });
        }
    });
    address
}

fn proxy(rules: &[&str], target: SocketAddr) -> (HostProxy, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let rules = rules.iter().map(|it| HostRule::parse(it).expect("a rule")).collect();
    let resolver: HostResolver = Arc::new(move |host, _| match host {
        "public.test" | "www.wild.test" => Ok(vec!["192.0.3.1:80".parse().expect("an address")]),
        _ => Ok(vec![target]),
    });
    (HostProxy::start_with(listener, rules, resolver).expect("a proxy"), address)
}

fn ask(proxy: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(proxy).expect("the proxy");
    stream.write_all(request.as_bytes()).expect("sent");
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn granted_hosts_are_reached_and_others_told() {
    let target = mirror();
    let port = target.port();
    let (proxy, address) =
        proxy(&[&format!("local.test:{port}+private"), &format!("near.test:{port}")], target);
    let plain = ask(
        address,
        &format!(
            "GET http://local.test:{port}/a?b HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: x\r\nX: y\r\n\r\n"
        ),
    );
    assert!(
        plain.contains("GET /a?b HTTP/1.1\r\n")
            && plain.contains(&format!("Host: local.test:{port}\r\n")),
        "{plain}"
    );
    assert!(
        !plain.contains("evil.test")
            && !plain.contains("Proxy-Authorization")
            && plain.contains("X: y"),
        "{plain}"
    );
    let tunnel = ask(address, &format!("CONNECT LOCAL.test.:{port} HTTP/1.1\r\n\r\nhello"));
    assert!(tunnel.contains("200 Connection established") && tunnel.ends_with("hello"), "{tunnel}");
    for (request, is_malformed) in [
        (format!("CONNECT near.test:{port} HTTP/1.1\r\n\r\n"), false),
        ("CONNECT other.test:443 HTTP/1.1\r\n\r\n".to_owned(), false),
        (format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"), false),
        ("GET /x HTTP/1.1\r\nHost: local.test\r\n\r\n".to_owned(), true),
        ("nonsense\r\n\r\n".to_owned(), true),
    ] {
        let answer = ask(address, &request);
        let expect = if is_malformed { "400" } else { "403" };
        assert!(answer.starts_with(&format!("HTTP/1.1 {expect}")), "{request}: {answer}");
    }
    let refused = proxy.stop();
    let has = |host: &str, port: u16, reason| {
        refused.contains(&HostRefusal { host: host.into(), port, reason })
    };
    assert!(has("near.test", port, RefusalReason::PrivateAddress), "{refused:?}");
    assert!(has("other.test", 443, RefusalReason::NotGranted), "{refused:?}");
    assert!(has("127.0.0.1", port, RefusalReason::AddressLiteral), "{refused:?}");
}

#[test]
fn rules_match_by_label() {
    let allows =
        |rule: &str, host: &str, port: u16| HostRule::parse(rule).expect(rule).allows(host, port);
    for (rule, host, port, expect) in [
        ("example.org", "example.org", 443, true),
        ("example.org", "EXAMPLE.org.", 80, true),
        ("example.org", "example.org", 22, false),
        ("example.org:22", "example.org", 22, true),
        ("example.org:22", "example.org", 443, false),
        ("example.org", "www.example.org", 443, false),
        ("example.org", "evilexample.org", 443, false),
        ("example.org", "example.org.evil.net", 443, false),
        ("*.example.org", "www.example.org", 443, true),
        ("*.example.org", "a.b.example.org", 443, true),
        ("*.example.org", "example.org", 443, false),
        ("*.example.org", "evilexample.org", 443, false),
        ("*.example.org", ".example.org", 443, false),
    ] {
        assert_eq!(allows(rule, host, port), expect, "{rule} {host}:{port}");
    }
    for bad in [
        "",
        "*",
        "*.org",
        "127.0.0.1",
        "127.1",
        "[::1]",
        "a b",
        "x:0",
        "x:y",
        "0x7f.1",
        "2130706433",
        "-a.org",
        "a..b",
    ] {
        assert!(HostRule::parse(bad).is_err(), "{bad}");
    }
    let text = "*.example.org:8443+private";
    assert_eq!(HostRule::parse(text).expect(text).to_string(), text);
}

#[test]
fn addresses_are_known_in_every_notation() {
    for literal in [
        "1.2.3.4",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "::1",
        "[::1]",
        "fe80::1%eth0",
        "1.2.3.4.",
    ] {
        assert!(is_address_literal(literal), "{literal}");
    }
    for name in ["example.org", "1.example.org", "0x7f.example", "a1"] {
        assert!(!is_address_literal(name), "{name}");
    }
    for private in [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "198.18.0.1",
        "::1",
        "::",
        "fc00::1",
        "fe80::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:db8::1",
    ] {
        assert!(is_private(private.parse().expect(private)), "{private}");
    }
    for public in
        ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808"]
    {
        assert!(!is_private(public.parse().expect(public)), "{public}");
    }
}
