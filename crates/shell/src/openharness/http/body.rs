//! The head of an answer, and its body however it is measured: by a length, in chunks, or by the end
//! of the connection.

use std::io::{self, Read};

/// Bytes of the head of an answer.
const MAX_HEAD: usize = 64 << 10;

/// Headers of an answer.
const MAX_HEADERS: usize = 100;

/// Bytes of the line before a chunk, its extensions included.
const MAX_CHUNK_LINE: usize = 1_024;

/// Heads before the one that counts (`100 Continue` and the like).
const MAX_INTERIM: usize = 8;

/// Fields of the head that matter here. The status does not: the message says how it went.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) retry_after: Option<String>,
    content_type: String,
    length: Option<u64>,
    chunked: bool,
    is_empty: bool,
}

impl ResponseHead {
    /// Reads a head; returns what came behind it too.
    pub(super) fn read(source: &mut impl Read) -> io::Result<(ResponseHead, Vec<u8>)> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4_096];
        let mut interim = 0;
        loop {
            let count = source.read(&mut chunk)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes.extend_from_slice(&chunk[..count]);
            if !bytes.iter().zip(b"HTTP/").all(|(byte, mark)| byte == mark) {
                return Err(not_http());
            }
            // A head that comes byte by byte is looked at once a line.
            while chunk[..count].contains(&b'\n')
                && let Some((code, end, head)) = parsed(&bytes)?
            {
                bytes.drain(..end);
                if !(100..200).contains(&code) {
                    return Ok((head, bytes));
                }
                interim += 1;
                if interim > MAX_INTERIM {
                    return Err(not_http());
                }
            }
            if bytes.len() > MAX_HEAD {
                return Err(not_http());
            }
        }
    }

    pub(super) fn is_stream(&self) -> bool {
        let kind = self.content_type.split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("text/event-stream")
    }
}

/// The status, where the head ends, and what it says; `None` when it is not whole.
fn parsed(bytes: &[u8]) -> io::Result<Option<(u16, usize, ResponseHead)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let end = match response.parse(bytes) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(not_http()),
    };
    let code = response.code.unwrap_or_default();
    let mut head = ResponseHead { is_empty: matches!(code, 204 | 304), ..ResponseHead::default() };
    for header in response.headers.iter() {
        let value = String::from_utf8_lossy(header.value).trim().to_owned();
        match header.name.to_ascii_lowercase().as_str() {
            "content-type" => head.content_type = value,
            "retry-after" => head.retry_after = Some(value),
            "content-length" => {
                let length = value.parse().map_err(|_| not_http())?;
                if head.length.is_some_and(|before| before != length) {
                    return Err(not_http());
                }
                head.length = Some(length);
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => head.chunked = true,
            "transfer-encoding" => return Err(not_http()),
            _ => {}
        }
    }
    Ok(Some((code, end, head)))
}

fn not_http() -> io::Error {
    io::ErrorKind::InvalidInput.into()
}

/// Part of a body that is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyRemainder {
    /// So many bytes.
    Bytes(u64),
    /// So many bytes of a chunk.
    Chunk(u64),
    /// The line before a chunk.
    Size,
    /// The end of a chunk's line, then the next size.
    Gap,
    /// Whatever comes until the end.
    All,
    /// Nothing.
    Nothing,
}

/// A body that is being read.
pub(super) struct ResponseStream {
    left: BodyRemainder,
    /// Bytes that came and were not looked at yet.
    unread: Vec<u8>,
}

impl ResponseStream {
    pub(super) fn new(head: &ResponseHead, unread: Vec<u8>) -> ResponseStream {
        let left = match head.length {
            _ if head.is_empty => BodyRemainder::Nothing,
            _ if head.chunked => BodyRemainder::Size,
            Some(length) => BodyRemainder::Bytes(length),
            None => BodyRemainder::All,
        };
        ResponseStream { left, unread }
    }

    /// All of it; `None` when there is more than `most`.
    pub(super) fn whole(
        &mut self,
        source: &mut impl Read,
        most: usize,
    ) -> io::Result<Option<Vec<u8>>> {
        let mut whole = Vec::new();
        let mut chunk = vec![0; 16 << 10];
        loop {
            let count = self.read(source, &mut chunk)?;
            if count == 0 {
                return Ok(Some(whole));
            }
            whole.extend_from_slice(&chunk[..count]);
            if whole.len() > most {
                return Ok(None);
            }
        }
    }

    /// The next bytes of it; 0 at its end.
    pub(super) fn read(&mut self, source: &mut impl Read, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.left {
                BodyRemainder::Nothing | BodyRemainder::Bytes(0) => return Ok(0),
                BodyRemainder::Bytes(count) => {
                    let read = self.some(source, out, count)?;
                    self.left = BodyRemainder::Bytes(count - to_u64(read));
                    return if read == 0 {
                        Err(io::ErrorKind::UnexpectedEof.into())
                    } else {
                        Ok(read)
                    };
                }
                BodyRemainder::All => return self.some(source, out, u64::MAX),
                BodyRemainder::Chunk(0) => self.left = BodyRemainder::Gap,
                BodyRemainder::Chunk(count) => {
                    let read = self.some(source, out, count)?;
                    self.left = BodyRemainder::Chunk(count - to_u64(read));
                    return if read == 0 {
                        Err(io::ErrorKind::UnexpectedEof.into())
                    } else {
                        Ok(read)
                    };
                }
                BodyRemainder::Gap => {
                    if !self.line(source)?.is_empty() {
                        return Err(not_http());
                    }
                    self.left = BodyRemainder::Size;
                }
                BodyRemainder::Size => {
                    let line = self.line(source)?;
                    let digits = line.split(';').next().unwrap_or_default().trim();
                    let is_size =
                        !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
                    let size = u64::from_str_radix(digits, 16).ok().filter(|_| is_size);
                    // Trailers say nothing that matters; the connection ends here.
                    self.left = match size.ok_or_else(not_http)? {
                        0 => BodyRemainder::Nothing,
                        size => BodyRemainder::Chunk(size),
                    };
                }
            }
        }
    }

    /// At most so many bytes: of those that came before, or new ones.
    fn some(&mut self, source: &mut impl Read, out: &mut [u8], most: u64) -> io::Result<usize> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(out.len());
        if self.unread.is_empty() {
            return source.read(&mut out[..most]);
        }
        let count = most.min(self.unread.len());
        out[..count].copy_from_slice(&self.unread[..count]);
        self.unread.drain(..count);
        Ok(count)
    }

    fn line(&mut self, source: &mut impl Read) -> io::Result<String> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim().to_owned());
            }
            if self.unread.len() > MAX_CHUNK_LINE {
                return Err(not_http());
            }
            let mut chunk = [0; 1_024];
            let count = source.read(&mut chunk)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.unread.extend_from_slice(&chunk[..count]);
        }
    }
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
