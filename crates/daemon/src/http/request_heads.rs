//! A stream of requests whose heads say in one way how long their bodies are.
//!
//! Made by `serve` around each stream, before hyper reads it. A request with two lengths, or with a
//! length and a transfer coding, is read differently by different programs, and hyper hides from its
//! service that there were two; this looks at the heads as they pass and remembers it. Bodies are
//! stepped over by their length. Behind a body in chunks, and behind an upgrade, nothing is looked at:
//! `serve` lets no further request come there.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of a line that are kept to know its header; longer ones are none that matter here.
const MAX_LINE_BYTES: usize = 256;

/// Stream whose request heads are looked at.
#[derive(Debug)]
pub(super) struct StrictStream<S> {
    stream: S,
    scan: HeadScan,
    /// Told to the service: a head was ambiguous.
    is_ambiguous: Arc<AtomicBool>,
}

impl<S> StrictStream<S> {
    /// Watches the heads that come over a stream; the flag is set by the first ambiguous one.
    pub(super) fn new(stream: S) -> (StrictStream<S>, Arc<AtomicBool>) {
        let is_ambiguous = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_ambiguous);
        (StrictStream { stream, scan: HeadScan::default(), is_ambiguous }, flag)
    }
}

/// Place in the stream of requests.
#[derive(Debug, Default)]
enum HeadPosition {
    /// Inside a head.
    #[default]
    Head,
    /// Inside a body, with so many bytes to come.
    Body(u64),
    /// End of all checks: the rest is not looked at.
    Behind,
}

/// Scan of one head after the other.
#[derive(Debug, Default)]
struct HeadScan {
    place: HeadPosition,
    /// Beginning of the line in hand.
    line: Vec<u8>,
    /// Whether the first line of the head has passed.
    has_begun: bool,
    lengths: usize,
    length: u64,
    is_coded: bool,
    is_upgrade: bool,
    is_ambiguous: bool,
}

impl HeadScan {
    /// Looks at the next bytes.
    fn look(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.place {
                HeadPosition::Behind => return,
                HeadPosition::Body(left) => {
                    let step = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = &bytes[step..];
                    let left = left - u64::try_from(step).unwrap_or(left);
                    self.place =
                        if left == 0 { HeadPosition::Head } else { HeadPosition::Body(left) };
                }
                HeadPosition::Head => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let piece = &bytes[..end.unwrap_or(bytes.len())];
                    let room = MAX_LINE_BYTES.saturating_sub(self.line.len());
                    self.line.extend_from_slice(&piece[..piece.len().min(room)]);
                    let Some(end) = end else { return };
                    bytes = &bytes[end + 1..];
                    self.end_line();
                }
            }
        }
    }

    /// Judges the line in hand.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            // Empty lines before a request are passed over.
            if self.has_begun {
                self.end_head();
            }
        } else if !self.has_begun {
            self.has_begun = true;
        } else if let Some(colon) = line.iter().position(|byte| *byte == b':') {
            self.header(&line[..colon], line[colon + 1..].trim_ascii());
        }
    }

    fn header(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths += 1;
            let digits = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            // One that is no number is refused by hyper.
            self.length = digits.unwrap_or(0);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_coded = true;
        } else if name.eq_ignore_ascii_case(b"upgrade") {
            self.is_upgrade = true;
        }
    }

    fn end_head(&mut self) {
        let is_ambiguous = self.lengths > 1 || (self.lengths > 0 && self.is_coded);
        let place = match self.length {
            _ if is_ambiguous || self.is_coded || self.is_upgrade => HeadPosition::Behind,
            0 => HeadPosition::Head,
            length => HeadPosition::Body(length),
        };
        *self = HeadScan { place, is_ambiguous, ..HeadScan::default() };
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StrictStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(cx, buf);
        if done.is_ready() {
            self.scan.look(&buf.filled()[before..]);
            if self.scan.is_ambiguous {
                self.is_ambiguous.store(true, Ordering::Release);
            }
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StrictStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::HeadScan;

    /// Whether a text is ambiguous, however it is cut.
    fn check(text: &str, is_ambiguous: bool) {
        for step in [1, 2, 7, text.len()] {
            let mut scan = HeadScan::default();
            let found = text.as_bytes().chunks(step).any(|piece| {
                scan.look(piece);
                scan.is_ambiguous
            });
            assert_eq!(found, is_ambiguous, "{step}: {text}");
        }
    }

    #[test]
    fn one_length_is_clear_and_two_are_not() {
        let get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        let post = "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd";
        let two = "POST / HTTP/1.1\r\ncontent-length: 4\r\nx: y\r\nCONTENT-LENGTH: 4\r\n\r\nabcd";
        let both = "POST / HTTP/1.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n";
        let turned = "POST / HTTP/1.1\ntransfer-encoding: chunked\ncontent-length: 4\n\n";
        let chunks = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
        for clear in
            [get, post, chunks, &format!("{get}{post}{get}"), &format!("\r\n{post}{chunks}")]
        {
            check(clear, false);
        }
        for ambiguous in [two, both, turned, &format!("{get}{post}{two}"), &format!("{post}{both}")]
        {
            check(ambiguous, true);
        }
        // What stands in a body is no header.
        let body = "\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n";
        check(&format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()), false);
        check(&format!("POST / HTTP/1.1\r\nx: {}\r\n\r\n", "content-length: 1".repeat(99)), false);
    }
}
