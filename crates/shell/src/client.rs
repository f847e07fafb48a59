//! One connection to a daemon: hello, then a request and its answer, in turn.
//!
//! To a client without a hello the daemon answers each frame with exactly one frame, so the next
//! frame is the answer. One that has introduced itself gets a stream, which `attach` reads. Every
//! wait has a deadline.

mod split;
mod stream;

use std::borrow::Cow;
use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use bridle_sexp::{Node, read_one};
use bridle_wire::frame::{
    DecoderOptions, FrameDecoder, FrameEncoder, FrameError, LengthUnit, UnknownUnitPolicy,
};
use bridle_wire::oacp::{ClientHello, VERSION, hello};
use bridle_wire::seal::{
    ConnectionNonce, FrameSigner, FrameVerifier, SealSession, SigningKey, SigningKeyring,
};

pub use split::{DaemonReader, DaemonWriter};
pub use stream::ClientStream;

use crate::address::DaemonAddress;
use crate::error::ShellError;
use crate::frames::{FrameItem, FrameStream, StreamStop};

/// Longest wait for a connection or an answer, unless told otherwise.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Proof of a client's identity.
#[derive(Debug, Clone, Default)]
pub enum ClientAuth {
    /// Not at all.
    #[default]
    None,
    /// Signatures of version 1: old peers.
    V1(SigningKey),
    /// Signatures of version 2: bound to the connection and the order of frames.
    V2(SigningKey),
}

/// Behavior of a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Longest wait for a connection, and for each answer.
    pub timeout: Duration,
    /// Signatures.
    pub auth: ClientAuth,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions { timeout: ANSWER_TIMEOUT, auth: ClientAuth::None }
    }
}

/// A daemon to try.
#[derive(Debug, Clone)]
pub struct DaemonTarget {
    /// Address of the daemon.
    pub addr: DaemonAddress,
    /// Options of the connection.
    pub options: ClientOptions,
}

/// A connection that has seen the daemon's hello.
#[derive(Debug)]
pub struct DaemonClient {
    addr: DaemonAddress,
    frames: FrameStream<ClientStream>,
    encoder: FrameEncoder,
    hello: String,
    timeout: Duration,
}

impl DaemonClient {
    /// Connects and waits for the hello; with version 2, answers it.
    ///
    /// # Errors
    ///
    /// Nobody is there, nobody answers in time, or what answers is no daemon.
    pub fn connect(
        addr: &DaemonAddress,
        options: &ClientOptions,
    ) -> Result<DaemonClient, ShellError> {
        let (mut client, nonce) = DaemonClient::greeted(addr, options)?;
        if matches!(options.auth, ClientAuth::V2(_)) {
            client.say_hello(ClientHello::default(), &options.auth, nonce.as_deref())?;
        }
        Ok(client)
    }

    /// Connects to the first target where somebody listens, and introduces itself. Returns the
    /// daemon's answer to the hello too.
    ///
    /// # Errors
    ///
    /// As [`DaemonClient::connect_any`]; or the daemon does not take the hello.
    pub fn introduce(
        targets: &[DaemonTarget],
        hello: &ClientHello,
    ) -> Result<(DaemonClient, String), ShellError> {
        first_there(targets, |addr, options| {
            let (mut client, nonce) = DaemonClient::greeted(addr, options)?;
            let answer = client.say_hello(hello.clone(), &options.auth, nonce.as_deref())?;
            Ok((client, answer))
        })
    }

    /// Waits for the hello on a stream that is open already, such as the pipe of a program that leads
    /// to a daemon elsewhere; with a hello of its own, introduces itself and returns the answer.
    /// `addr` is what errors call the daemon.
    ///
    /// # Errors
    ///
    /// Nobody answers in time, or what answers is no daemon.
    pub fn over(
        stream: ClientStream,
        addr: &DaemonAddress,
        options: &ClientOptions,
        hello: Option<&ClientHello>,
    ) -> Result<(DaemonClient, Option<String>), ShellError> {
        let (mut client, nonce) = DaemonClient::greeted_over(stream, addr, options)?;
        let answer = match hello {
            Some(hello) => {
                Some(client.say_hello(hello.clone(), &options.auth, nonce.as_deref())?)
            }
            None => None,
        };
        Ok((client, answer))
    }

    /// Connects and waits for the hello; returns its nonce.
    fn greeted(
        addr: &DaemonAddress,
        options: &ClientOptions,
    ) -> Result<(DaemonClient, Option<String>), ShellError> {
        DaemonClient::greeted_over(ClientStream::connect(addr, options.timeout)?, addr, options)
    }

    fn greeted_over(
        stream: ClientStream,
        addr: &DaemonAddress,
        options: &ClientOptions,
    ) -> Result<(DaemonClient, Option<String>), ShellError> {
        // An old Lisp server counts characters and does not say so: padding is read by it and by everyone else.
        // Signed frames are never padded and count bytes.
        let mut encoder = FrameEncoder::new(match &options.auth {
            ClientAuth::None => UnknownUnitPolicy::Pad,
            ClientAuth::V1(_) | ClientAuth::V2(_) => UnknownUnitPolicy::Bytes,
        });
        let takes = DecoderOptions::default();
        let decoder = match &options.auth {
            ClientAuth::None => FrameDecoder::new(takes),
            ClientAuth::V1(key) => {
                encoder.set_signer(FrameSigner::v1(key.clone()));
                FrameDecoder::signed(takes, FrameVerifier::v1(SigningKeyring::of(key.clone())))
            }
            ClientAuth::V2(key) => {
                FrameDecoder::signed(takes, FrameVerifier::client(SigningKeyring::of(key.clone())))
            }
        };
        let mut client = DaemonClient {
            addr: addr.clone(),
            frames: FrameStream::new(stream, decoder),
            encoder,
            hello: String::new(),
            timeout: options.timeout,
        };
        client.hello = client.receive()?;
        let nonce = client.check_hello()?;
        Ok((client, nonce))
    }

    /// Connects to the first target where somebody listens.
    ///
    /// # Errors
    ///
    /// Nobody does, or the first one who does is no daemon of ours.
    pub fn connect_any(targets: &[DaemonTarget]) -> Result<DaemonClient, ShellError> {
        first_there(targets, DaemonClient::connect)
    }

    /// Address of the daemon.
    pub fn addr(&self) -> &DaemonAddress {
        &self.addr
    }

    /// The daemon's hello, as it came.
    pub fn hello(&self) -> &str {
        &self.hello
    }

    /// Sends a payload and waits for its answer.
    ///
    /// # Errors
    ///
    /// The payload does not fit a frame, or no answer came.
    pub fn request(&mut self, payload: &str) -> Result<String, ShellError> {
        self.send(payload)?;
        self.receive()
    }

    /// Sends a payload without waiting for an answer.
    ///
    /// # Errors
    ///
    /// The payload does not fit a frame, or the connection broke. A daemon that has closed is
    /// found by the next [`DaemonClient::receive`], which may still find its last words.
    pub fn send(&mut self, payload: &str) -> Result<(), ShellError> {
        let mut frame = Vec::new();
        self.encoder.encode(payload, &mut frame)?;
        let deadline = Instant::now() + self.timeout;
        let stream = self.frames.source_mut();
        stream.set_deadline(Some(deadline));
        match stream.write_all(&frame) {
            Ok(()) => Ok(()),
            // The daemon may have said why before it closed; `receive` finds that.
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The next frame, within this client's timeout.
    ///
    /// # Errors
    ///
    /// None came in time, or none will ever come.
    pub fn receive(&mut self) -> Result<String, ShellError> {
        self.receive_within(self.timeout)
    }

    /// The next frame, within `wait`. After [`ShellError::Timeout`] one may try again.
    ///
    /// # Errors
    ///
    /// None came in time, or none will ever come.
    pub fn receive_within(&mut self, wait: Duration) -> Result<String, ShellError> {
        self.frames.source_mut().set_deadline(Some(Instant::now() + wait));
        match self.frames.next_frame() {
            Ok(Some(FrameItem::Frame { text, .. })) => Ok(text),
            Ok(None) => Err(ShellError::Closed { addr: self.addr.clone() }),
            Ok(Some(FrameItem::Refused { error, .. })) | Err(StreamStop::Lost { error, .. }) => {
                Err(self.bad_frame(&error))
            }
            Err(StreamStop::Read(error)) => Err(self.failed(error)),
        }
    }

    fn failed(&self, error: io::Error) -> ShellError {
        let addr = self.addr.clone();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                ShellError::Timeout { addr, after: self.timeout }
            }
            _ if is_gone(&error) => ShellError::Closed { addr },
            _ => ShellError::Broken { addr, error },
        }
    }

    fn bad_frame(&self, error: &FrameError) -> ShellError {
        let addr = self.addr.clone();
        match error {
            FrameError::Incomplete => ShellError::Closed { addr },
            FrameError::BadSignature | FrameError::Replayed => ShellError::WrongKey { addr },
            FrameError::Unsigned { .. } => ShellError::NotSigned { addr },
            _ => ShellError::NotProtocol { addr, why: error.to_string() },
        }
    }

    /// Looks at the first frame: a hello, a refusal, or something else. Keeps to the daemon's
    /// largest frame, and returns its nonce.
    fn check_hello(&mut self) -> Result<Option<String>, ShellError> {
        let addr = || self.addr.clone();
        if starts_with_seal(&self.hello) {
            return Err(ShellError::Signed { addr: addr() });
        }
        let tree = read_one(&self.hello)
            .map_err(|error| ShellError::NotProtocol { addr: addr(), why: error.to_string() })?;
        let payload = tree.root().get("payload");
        if let Some(refusal) = ErrorAnswer::of(tree.root()) {
            let ErrorAnswer { code, message, .. } = refusal;
            return Err(ShellError::Refused { addr: addr(), code, message });
        }
        let action = payload.and_then(|payload| payload.get("action"));
        let Some(payload) = payload.filter(|_| action.is_some_and(|it| it.is_keyword("handshake")))
        else {
            let why = "expected a hello, got another message".to_owned();
            return Err(ShellError::NotProtocol { addr: addr(), why });
        };
        if payload.get("server").is_some() {
            // Only daemons of this protocol's version name themselves, and they count bytes.
            self.encoder.set_unit(LengthUnit::Bytes);
        }
        let max_frame = payload.get("limits").and_then(|limits| limits.get("max-frame"));
        if let Some(max) = max_frame.and_then(|max| usize::try_from(max.as_i64()?).ok()) {
            self.encoder.set_max_frame(max);
        }
        let nonce = payload.get("auth").and_then(|auth| auth_value(auth, "nonce"));
        Ok(nonce.and_then(|nonce| nonce.as_str().map(Cow::into_owned)))
    }

    /// Sends a hello and returns its answer; with version 2 it names the key, brings a nonce and
    /// repeats the daemon's.
    fn say_hello(
        &mut self,
        mut hello: ClientHello,
        auth: &ClientAuth,
        nonce: Option<&str>,
    ) -> Result<String, ShellError> {
        hello.version = Some(VERSION.into());
        hello.length = Some(LengthUnit::Bytes);
        if let ClientAuth::V2(key) = auth {
            hello.auth = Some(self.sign_from_now(key, nonce)?);
        }
        let mut text = String::new();
        hello.to_message().write(&mut text);
        let answer = self.request(&text)?;
        let refusal = match read_one(&answer) {
            Ok(tree) => ErrorAnswer::of(tree.root()),
            Err(error) => return Err(self.not_protocol(error.to_string())),
        };
        match refusal {
            None => Ok(answer),
            Some(ErrorAnswer { code, message, .. }) => {
                Err(ShellError::Refused { addr: self.addr.clone(), code, message })
            }
        }
    }

    fn sign_from_now(
        &mut self,
        key: &SigningKey,
        nonce: Option<&str>,
    ) -> Result<hello::HelloAuth, ShellError> {
        let no_v2 = || ShellError::NoVersion2 { addr: self.addr.clone() };
        let server = nonce.and_then(|text| ConnectionNonce::parse(text).ok()).ok_or_else(no_v2)?;
        let client = ConnectionNonce::from_random(random_bits().map_err(ShellError::Random)?);
        let auth = hello::HelloAuth {
            versions: vec![2],
            key: Some(key.id().as_str().into()),
            nonce: Some(client.as_str().into()),
            answer: Some(server.as_str().into()),
        };
        let session = SealSession { key: key.clone(), client, server };
        if let Some(verifier) = self.frames.decoder_mut().verifier_mut() {
            verifier.answer(session.clone());
        }
        self.encoder.set_signer(FrameSigner::client(session));
        Ok(auth)
    }

    /// The other side says something that this client cannot place.
    pub(crate) fn not_protocol(&self, why: impl Into<String>) -> ShellError {
        ShellError::NotProtocol { addr: self.addr.clone(), why: why.into() }
    }
}

/// Tries one target after another until somebody listens.
fn first_there<T>(
    targets: &[DaemonTarget],
    connect: impl Fn(&DaemonAddress, &ClientOptions) -> Result<T, ShellError>,
) -> Result<T, ShellError> {
    let mut failed = Vec::new();
    for target in targets {
        match connect(&target.addr, &target.options) {
            Err(ShellError::Connect { tried }) => failed.extend(tried),
            result => return result,
        }
    }
    Err(ShellError::Connect { tried: failed })
}

/// Content of an error frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The code, without its colon.
    pub code: String,
    /// The sentence for people.
    pub message: String,
    /// End of a question that is answered already.
    pub how: Option<String>,
}

impl ErrorAnswer {
    /// Reads an answer; `None` if it is no error.
    pub fn of(answer: Node<'_>) -> Option<ErrorAnswer> {
        let payload = answer.get("payload")?;
        if !payload.get("status")?.is_keyword("error") {
            return None;
        }
        let code = payload.get("code").and_then(|code| code.keyword().map(Cow::into_owned));
        let message = payload.get("message").and_then(|it| it.as_str().map(Cow::into_owned));
        Some(ErrorAnswer {
            code: code.unwrap_or_else(|| "unknown".to_owned()),
            message: message.unwrap_or_default(),
            how: payload.get("how").and_then(|how| how.keyword().map(Cow::into_owned)),
        })
    }
}

/// The value after a key in `(:hmac 1 2 :nonce "..")`, which is no property list.
fn auth_value<'t>(auth: Node<'t>, key: &str) -> Option<Node<'t>> {
    let mut children = auth.children();
    children.find(|child| child.is_keyword(key))?;
    children.next()
}

/// Whether the text begins as a signed frame does when it is read as an unsigned one.
fn starts_with_seal(text: &str) -> bool {
    let seal = text.as_bytes().get(..bridle_wire::frame::SEAL_LEN);
    seal.is_some_and(|seal| seal.iter().all(u8::is_ascii_hexdigit))
}

/// Whether the other side closed while we wrote or read.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::NotConnected
    )
}

fn random_bits() -> io::Result<[u8; 16]> {
    let mut bits = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bits)?;
    Ok(bits)
}
