//! HTTP that moves bytes: one request, one answer, one connection. Nothing is retried, and nothing is read into the
//! body, which is what the codecs are for.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bridle_models::{HttpHeaderValue, HttpRequest, ResponseHead};

/// Longest silence of a server: far above any on a loaded machine.
const MAX_SILENCE: Duration = Duration::from_secs(120);

/// An answer as it came.
pub(super) struct Answer {
    pub(super) head: ResponseHead,
    pub(super) body: Vec<u8>,
}

/// Sends a request to a server that was told as `http://HOST:PORT/BASE`. An answer that breaks off is an answer.
pub(super) fn send(address: &str, request: &HttpRequest) -> Result<Answer> {
    let rest = address.strip_prefix("http://").context("an address without http://")?;
    let (host, base) = rest.split_once('/').unwrap_or((rest, ""));
    let base = if base.is_empty() { String::new() } else { format!("/{base}") };
    let mut head =
        format!("{} {base}{} HTTP/1.1\r\nhost: {host}\r\n", request.method, request.path);
    for header in &request.headers {
        let value = match &header.value {
            HttpHeaderValue::Text(text) => (*text).to_owned(),
            HttpHeaderValue::Key { prefix } => format!("{prefix}no-key"),
        };
        head.push_str(&format!("{}: {value}\r\n", header.name));
    }
    head.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", request.body.len()));
    let mut stream = TcpStream::connect(host).with_context(|| format!("cannot reach `{host}`"))?;
    stream.set_read_timeout(Some(MAX_SILENCE))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(&request.body)?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
    // A server that breaks off is one of the cases; one that keeps the connection would be waited for.
    while !is_complete(&bytes)
        && let Ok(count @ 1..) = stream.read(&mut piece)
    {
        bytes.extend_from_slice(&piece[..count]);
    }
    parse(&bytes)
}

/// Whether nothing is to come behind these bytes.
fn is_complete(bytes: &[u8]) -> bool {
    let Ok((head, body)) = head(bytes) else { return false };
    match head.header("content-length").and_then(|length| length.parse().ok()) {
        Some(length) => body.len() >= length,
        None => is_chunked(&head) && chunks(body).1,
    }
}

fn parse(bytes: &[u8]) -> Result<Answer> {
    let (head, body) = head(bytes)?;
    let body = if is_chunked(&head) { chunks(body).0 } else { body.to_vec() };
    Ok(Answer { head, body })
}

/// The head, and what is behind it.
fn head(bytes: &[u8]) -> Result<(ResponseHead, &[u8])> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        bail!("the server broke off before the end of the head");
    };
    let text = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
    let head = ResponseHead { status: status.context("no status")?, headers };
    Ok((head, &bytes[end + 4..]))
}

fn is_chunked(head: &ResponseHead) -> bool {
    head.header("transfer-encoding").is_some_and(|value| value.contains("chunked"))
}

/// The body without the lengths between its chunks, as far as it came, and whether that is all of it.
fn chunks(bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    let mut rest = bytes;
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let line = String::from_utf8_lossy(&rest[..end]);
        let length = line.split(';').next().unwrap_or_default().trim();
        match usize::from_str_radix(length, 16) {
            Ok(0) => return (body, true),
            Ok(length) => {
                let chunk = &rest[end + 2..];
                body.extend_from_slice(&chunk[..length.min(chunk.len())]);
                rest = chunk.get(length + 2..).unwrap_or_default();
            }
            Err(_) => break,
        }
    }
    (body, false)
}

#[cfg(test)]
mod tests {
    use super::{chunks, is_complete, parse};

    #[test]
    fn chunks_are_joined_as_far_as_they_came() {
        assert_eq!(chunks(b"3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n"), (b"abcde".to_vec(), true));
        assert_eq!(chunks(b"3\r\nabc\r\n5\r\nde"), (b"abcde".to_vec(), false));
        assert_eq!(chunks(b""), (vec![], false));
    }

    #[test]
    fn a_head_is_read() {
        let answer = parse(b"HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\n\r\n{}").unwrap();
        assert_eq!((answer.head.status, answer.head.header("retry-after")), (429, Some("3")));
        assert_eq!(answer.body, b"{}");
        assert!(parse(b"HTTP/1.1 200").is_err());
    }

    #[test]
    fn the_end_of_an_answer_is_seen() {
        assert!(is_complete(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"));
        assert!(!is_complete(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{"));
        assert!(!is_complete(b"HTTP/1.1 200 OK\r\n\r\n{}"));
    }
}
