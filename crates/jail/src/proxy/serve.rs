//! One connection of the proxy: one request, judged by its host, then bytes in both directions. A
//! second request on the same connection reaches the same host only; a redirect is a new request of
//! the program, and judged anew.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use super::address::{is_address_literal, is_private};
use super::rule::normalize;
use super::{ProxyShared, RefusalReason};

/// Largest head of a request, and most headers.
const MAX_HEAD_BYTES: usize = 32 << 10;
const MAX_HEADERS: usize = 100;

/// Time for the head of a request, for a connection to a host, and without a byte.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Headers between program and proxy, which are not handed on.
const OWN_HEADERS: [&str; 9] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "te",
    "trailer",
    "upgrade",
];

/// Request that was understood.
struct ProxyRequest {
    host: String,
    port: u16,
    /// Head for the host; `None` is a tunnel.
    head: Option<Vec<u8>>,
    /// Bytes that came behind the head.
    rest: Vec<u8>,
}

pub(super) fn serve(
    mut program: TcpStream,
    connection: u64,
    shared: &ProxyShared,
) -> io::Result<()> {
    program.set_nonblocking(false)?;
    shared.remember(connection, &program)?;
    program.set_read_timeout(Some(HEAD_TIMEOUT))?;
    let request = match read_request(&mut program)? {
        Ok(request) => request,
        Err(reason) => {
            shared.refuse("", 0, RefusalReason::Malformed);
            return answer(&mut program, "400 Bad Request", reason);
        }
    };
    let addresses = match judge(&request.host, request.port, shared) {
        Ok(addresses) => addresses,
        Err(RefusalOrFailure::Refused(reason)) => {
            shared.refuse(&request.host, request.port, reason);
            let text =
                format!("bridle: `{}:{}` is refused: {reason:?}", request.host, request.port);
            return answer(&mut program, "403 Forbidden", &text);
        }
        Err(RefusalOrFailure::Failed) => {
            return answer(&mut program, "502 Bad Gateway", "bridle: the host cannot be found");
        }
    };
    let Some(mut host) = connect(&addresses) else {
        return answer(&mut program, "502 Bad Gateway", "bridle: the host cannot be reached");
    };
    shared.remember(connection, &host)?;
    match &request.head {
        Some(head) => host.write_all(head)?,
        None => program.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
    }
    host.write_all(&request.rest)?;
    tunnel(program, host)
}

enum RefusalOrFailure {
    Refused(RefusalReason),
    Failed,
}

/// The addresses that may be connected to; resolved once, so that a second answer of the name server
/// changes nothing.
fn judge(host: &str, port: u16, shared: &ProxyShared) -> Result<Vec<SocketAddr>, RefusalOrFailure> {
    use RefusalOrFailure::{Failed, Refused};

    if is_address_literal(host) {
        return Err(Refused(RefusalReason::AddressLiteral));
    }
    let name = normalize(host).ok_or(Refused(RefusalReason::Malformed))?;
    let granted: Vec<_> = shared.rules.iter().filter(|rule| rule.allows(&name, port)).collect();
    if granted.is_empty() {
        return Err(Refused(RefusalReason::NotGranted));
    }
    let all = (shared.resolver)(&name, port).map_err(|_| Failed)?;
    if all.is_empty() {
        return Err(Failed);
    }
    if granted.iter().any(|rule| rule.allows_private()) {
        return Ok(all);
    }
    let public: Vec<SocketAddr> =
        all.into_iter().filter(|it| !is_private(plain(it.ip()))).collect();
    if public.is_empty() { Err(Refused(RefusalReason::PrivateAddress)) } else { Ok(public) }
}

fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn connect(addresses: &[SocketAddr]) -> Option<TcpStream> {
    addresses.iter().find_map(|address| TcpStream::connect_timeout(address, CONNECT_TIMEOUT).ok())
}

/// Reads and understands one head; the inner error is told to the program.
fn read_request(program: &mut TcpStream) -> io::Result<Result<ProxyRequest, &'static str>> {
    let mut bytes = Vec::new();
    let mut piece = [0_u8; 4096];
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(&bytes) {
            Err(_) => return Ok(Err("bridle: not an HTTP request")),
            Ok(httparse::Status::Complete(length)) => {
                return Ok(understand(&parsed, bytes[length..].to_vec()));
            }
            Ok(httparse::Status::Partial) if bytes.len() > MAX_HEAD_BYTES => {
                return Ok(Err("bridle: the head of the request is too large"));
            }
            Ok(httparse::Status::Partial) => {}
        }
        let read = program.read(&mut piece)?;
        if read == 0 {
            return Ok(Err("bridle: the request ended early"));
        }
        bytes.extend_from_slice(&piece[..read]);
    }
}

fn understand(
    parsed: &httparse::Request<'_, '_>,
    rest: Vec<u8>,
) -> Result<ProxyRequest, &'static str> {
    let (Some(method), Some(target)) = (parsed.method, parsed.path) else {
        return Err("bridle: not an HTTP request");
    };
    if method == "CONNECT" {
        let (host, port) = split_port(target).ok_or("bridle: CONNECT needs HOST:PORT")?;
        let port = port.ok_or("bridle: CONNECT needs HOST:PORT")?;
        return Ok(ProxyRequest { host, port, head: None, rest });
    }
    let lower = target.get(..7).map(str::to_ascii_lowercase);
    if lower.as_deref() != Some("http://") {
        return Err("bridle: expected CONNECT or http://HOST/PATH");
    }
    let after = &target[7..];
    let end = after.find(['/', '?', '#']).unwrap_or(after.len());
    let (authority, path) = after.split_at(end);
    if authority.contains('@') {
        return Err("bridle: no user in a URL");
    }
    let (host, port) = split_port(authority).ok_or("bridle: no host in the URL")?;
    let port = port.unwrap_or(80);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n")
            .into_bytes();
    for header in parsed.headers.iter() {
        if !OWN_HEADERS.iter().any(|own| header.name.eq_ignore_ascii_case(own)) {
            head.extend(header.name.as_bytes());
            head.extend(b": ");
            head.extend(header.value);
            head.extend(b"\r\n");
        }
    }
    head.extend(b"\r\n");
    Ok(ProxyRequest { host, port, head: Some(head), rest })
}

/// Host in lower case and port of an authority; brackets of IPv6 stay, so that it is refused by name.
fn split_port(authority: &str) -> Option<(String, Option<u16>)> {
    let is_ipv6 = authority.starts_with('[');
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !is_ipv6 || host.ends_with(']') => {
            (host, Some(port.parse::<u16>().ok()?))
        }
        _ => (authority, None),
    };
    (!host.is_empty()).then(|| (host.to_ascii_lowercase(), port))
}

fn answer(program: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len();
    write!(
        program,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

/// Bytes in both directions until both are at their end.
fn tunnel(program: TcpStream, host: TcpStream) -> io::Result<()> {
    for stream in [&program, &host] {
        stream.set_read_timeout(Some(IDLE_TIMEOUT))?;
    }
    let (program_too, host_too) = (program.try_clone()?, host.try_clone()?);
    let up = std::thread::Builder::new()
        .name("jail proxy".into())
        .spawn(move || pass(program_too, host_too))?;
    pass(host, program);
    let _ = up.join();
    Ok(())
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    // An end and a failure are the same: the other side learns that there is no more.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
