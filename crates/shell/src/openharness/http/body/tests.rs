//! Answers in all the ways they are measured, whole and byte by byte.

use std::io::{self, Read};

use super::{MAX_HEAD, ResponseHead, ResponseStream};

/// Gives a byte at a time.
struct Slow<'b>(&'b [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.0.len().min(1).min(out.len());
        out[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fn read(mut source: impl Read, most: usize) -> io::Result<(ResponseHead, Option<Vec<u8>>)> {
    let (head, rest) = ResponseHead::read(&mut source)?;
    let body = ResponseStream::new(&head, rest).whole(&mut source, most)?;
    Ok((head, body))
}

fn check(answer: &[u8], expected: Option<&[u8]>) {
    for got in [read(answer, 100).ok(), read(Slow(answer), 100).ok()] {
        let body = got.and_then(|(_, body)| body);
        assert_eq!(body.as_deref(), expected, "{}", String::from_utf8_lossy(answer));
    }
}

#[test]
fn bodies() {
    check(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}rest", Some(b"{}"));
    check(b"HTTP/1.0 200 OK\r\n\r\n{}", Some(b"{}"));
    check(b"HTTP/1.1 500 No\r\ncontent-length:0\r\n\r\n", Some(b""));
    check(b"HTTP/1.1 204 None\r\n\r\n", Some(b""));
    let chunks =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1;x=y\r\n{\r\n001\r\n}\r\n0\r\n\r\n";
    check(chunks, Some(b"{}"));
    let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1";
    check(interim, Some(b"1"));
}

#[test]
fn what_is_none() {
    for answer in [
        b"".as_slice(),
        b"000015(:type :health-check)",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 2\r\n\r\n{}x",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}xx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{",
    ] {
        check(answer, None);
    }
}

#[test]
fn heads_and_bodies_are_bounded() {
    let head = [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &vec![b'x'; MAX_HEAD]].concat();
    check(&head, None);
    let endless = [b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[b'x'; 101]].concat();
    check(&endless, None);
    let forever = b"HTTP/1.1 100 Go on\r\n\r\n".repeat(9);
    check(&forever, None);
    let size =
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(), &[b'0'; 3_000]];
    check(&size.concat(), None);
}

#[test]
fn what_a_head_says() {
    let answer = b"HTTP/1.1 503 No\r\nRetry-After: 7 \r\nContent-Type: Text/Event-Stream; charset=utf-8\r\nContent-Length: 0\r\n\r\n";
    let (head, _) = read(answer.as_slice(), 100).unwrap();
    assert_eq!((head.retry_after.as_deref(), head.is_stream()), (Some("7"), true));
}
