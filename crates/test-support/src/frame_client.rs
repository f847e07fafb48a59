//! A client of the framed protocol: bytes and frames, over any stream.
//!
//! Knows the framing rule in its simplest form and nothing of the crate that implements it.

use std::io::Read;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};

use crate::hang_guard::guard;

/// Health check, as a client sends it.
pub const CHECK: &str = "(:type :health-check)";
/// Answer of a healthy daemon to [`CHECK`].
pub const HEALTHY: &str = "(:type :health-response :status :healthy :checked-p t)";

/// Stream of bytes in both directions.
pub trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// Reading half of a client.
pub type Reader = ReadHalf<Box<dyn Wire>>;
/// Writing half of a client.
pub type Writer = WriteHalf<Box<dyn Wire>>;

/// A client that counts bytes and reads answers byte for byte.
pub struct FrameClient {
    stream: Box<dyn Wire>,
}

impl FrameClient {
    /// Makes a client over a stream.
    pub fn over(stream: impl Wire + 'static) -> FrameClient {
        FrameClient { stream: Box::new(stream) }
    }

    /// Writes bytes; a daemon that has closed in the meantime is no failure here.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = guard(self.stream.write_all(bytes.as_ref())).await;
    }

    /// Writes one frame with the length in bytes.
    pub async fn say(&mut self, payload: &str) {
        self.send(frame(payload)).await;
    }

    /// Writes one frame and reads its answer.
    pub async fn ask(&mut self, payload: &str) -> String {
        self.say(payload).await;
        self.frame().await.expect("an answer")
    }

    /// Reads one frame with the length in bytes, skipping blanks before it.
    pub async fn frame(&mut self) -> Option<String> {
        let header = self.header().await?;
        let len = usize::from_str_radix(&header, 16).unwrap();
        let mut payload = vec![0; len];
        guard(self.stream.read_exact(&mut payload)).await.ok()?;
        Some(String::from_utf8(payload).unwrap())
    }

    /// Reads six digits, skipping blanks before them.
    pub async fn header(&mut self) -> Option<String> {
        let mut header = String::new();
        while header.len() < 6 {
            let byte = guard(self.stream.read_u8()).await.ok()?;
            if !(header.is_empty() && byte.is_ascii_whitespace()) {
                header.push(char::from(byte));
            }
        }
        Some(header)
    }

    /// Reads exactly `n` bytes.
    pub async fn bytes(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = vec![0; n];
        guard(self.stream.read_exact(&mut bytes)).await.unwrap();
        bytes
    }

    /// Reads up to `n` bytes, as they come.
    pub async fn some(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = vec![0; n];
        let n = guard(self.stream.read(&mut bytes)).await.unwrap_or(0);
        bytes.truncate(n);
        bytes
    }

    /// Reads to the end of the stream.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = guard(self.stream.read_to_end(&mut rest)).await;
        rest
    }

    /// Closes the writing half.
    pub async fn end(&mut self) {
        let _ = guard(self.stream.shutdown()).await;
    }

    /// Splits into two halves for tests that read and write at once.
    pub fn split(self) -> (Reader, Writer) {
        tokio::io::split(self.stream)
    }
}

/// Reads one frame from a half.
pub async fn read_frame(reader: &mut Reader) -> String {
    let mut header = [0; 6];
    guard(reader.read_exact(&mut header)).await.unwrap();
    let len = usize::from_str_radix(str::from_utf8(&header).unwrap(), 16).unwrap();
    let mut payload = vec![0; len];
    guard(reader.read_exact(&mut payload)).await.unwrap();
    String::from_utf8(payload).unwrap()
}

/// One frame with the length in bytes.
pub fn frame(payload: &str) -> String {
    format!("{:06x}{payload}", payload.len())
}

/// Fails unless `answer` is an error frame with `code`.
pub fn assert_error(answer: &str, code: &str) {
    assert!(answer.starts_with("(:type :RESPONSE :id "), "{answer}");
    let wanted = format!("(:status :error :code :{code} ");
    assert!(answer.contains(&wanted), "expected {code}, got {answer}");
}

/// Fails unless `answer` is the engine's answer to the message with this id.
pub fn assert_answered(answer: &str, id: &str) {
    let wanted = format!("(:type :RESPONSE :id {id} ");
    assert!(answer.starts_with(&wanted), "expected {wanted}, got {answer}");
    assert!(answer.contains(" :payload (:status :success "), "{answer}");
}

/// Reads one frame from a blocking stream.
pub fn read_frame_blocking(stream: &mut impl Read) -> String {
    let mut header = [0; 6];
    stream.read_exact(&mut header).unwrap();
    let length = usize::from_str_radix(str::from_utf8(&header).unwrap(), 16).unwrap();
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).unwrap();
    String::from_utf8(payload).unwrap()
}
