//! Texts that every connection says, made once at start.

use std::hash::RandomState;

use bridle_wire::OacpCode;
use bridle_wire::frame::{FrameEncoder, UnknownUnitPolicy};
use bridle_wire::oacp::health::{HealthResponse, HealthStatus};
use bridle_wire::oacp::hello::{DaemonHello, HelloAuth, HelloLimits};
use bridle_wire::oacp::{ErrorReply, error_response};
use bridle_wire::seal::{ConnectionNonce, FrameSigner, KeyId, SigningKey, SigningKeyring};

use super::MAX_STRANGER_FRAME_BYTES;
use crate::config::DaemonConfig;
use crate::error::DaemonError;
use crate::log_line::outline;

/// Name and version of this program, as hello and health say it.
pub(crate) const SERVER: &str = concat!("bridle/", env!("CARGO_PKG_VERSION"));

/// Texts that all connections send alike.
#[derive(Debug)]
pub(crate) struct CannedReplies {
    /// The hello; a signed connection adds its nonce.
    hello: DaemonHello,
    /// The hello of unsigned connections, framed.
    plain_hello: Vec<u8>,
    /// The framed hello for unknown peers, which may send less.
    stranger_hello: Vec<u8>,
    /// The plain answers to a health check, framed and unsigned.
    healthy: Vec<u8>,
    degraded: Vec<u8>,
    /// Keys of signed connections; `None` when nothing is signed.
    keys: Option<SigningKeyring>,
    unknown_unit: UnknownUnitPolicy,
    /// Secret of the hashes of traced messages: nobody finds a text by its hash.
    trace_secret: RandomState,
}

impl CannedReplies {
    /// Makes the texts for a checked config.
    pub(crate) fn new(config: &DaemonConfig) -> Result<CannedReplies, DaemonError> {
        let keys = match config.hmac.enforce {
            true => Some(keyring(config)?),
            false => None,
        };
        let mut hello = DaemonHello::new(SERVER);
        hello.capabilities =
            ["parts", "attach", "stream", "grant", "attachments"].map(Into::into).into();
        hello.limits = HelloLimits {
            max_frame: Some(config.limits.frame),
            max_message: Some(config.limits.message),
            max_depth: Some(bridle_sexp::Limits::default().depth),
        };
        let mut words = CannedReplies {
            plain_hello: Vec::new(),
            stranger_hello: Vec::new(),
            healthy: Vec::new(),
            degraded: Vec::new(),
            keys,
            unknown_unit: config.unknown_unit,
            trace_secret: RandomState::new(),
            hello,
        };
        words.plain_hello = words.framed(&text(&words.hello));
        let mut stranger = words.hello.clone();
        let most = config.limits.frame.min(MAX_STRANGER_FRAME_BYTES);
        (stranger.limits.max_frame, stranger.limits.max_message) = (Some(most), Some(most));
        words.stranger_hello = words.framed(&text(&stranger));
        words.healthy = words.framed(words.health(HealthStatus::Healthy));
        words.degraded = words.framed(words.health(HealthStatus::Degraded));
        if words.keys.is_some() {
            words.hello.capabilities.insert(0, "auth".into());
            let versions = if config.hmac.allow_v1 { vec![1, 2] } else { vec![2] };
            words.hello.auth = Some(HelloAuth { versions, key: None, nonce: None, answer: None });
        }
        Ok(words)
    }

    /// The outline of a message, for a trace.
    pub(crate) fn outline(&self, bytes: &[u8]) -> String {
        outline(bytes, &self.trace_secret)
    }

    /// The keys of signed connections.
    pub(crate) fn keys(&self) -> Option<&SigningKeyring> {
        self.keys.as_ref()
    }

    /// The framed hello of an unsigned connection, of an unknown peer or of another.
    pub(crate) fn plain_hello(&self, is_stranger: bool) -> &[u8] {
        if is_stranger { &self.stranger_hello } else { &self.plain_hello }
    }

    /// The text of the hello of a signed connection.
    pub(crate) fn signed_hello(&self, nonce: &ConnectionNonce) -> String {
        let mut hello = self.hello.clone();
        if let Some(auth) = &mut hello.auth {
            auth.nonce = Some(nonce.as_str().into());
        }
        text(&hello)
    }

    /// The text of a plain health answer.
    pub(crate) fn health(&self, status: HealthStatus) -> &'static str {
        HealthResponse::plain(status, true)
    }

    /// The framed plain health answer of an unsigned connection.
    pub(crate) fn framed_health(&self, status: HealthStatus) -> &[u8] {
        match status {
            HealthStatus::Healthy => &self.healthy,
            _ => &self.degraded,
        }
    }

    /// The only frame of a connection that is not served.
    pub(crate) fn refusal(&self, code: OacpCode, signed: bool) -> Vec<u8> {
        let mut payload = String::new();
        error_response(None, &ErrorReply::new(code)).write(&mut payload);
        let mut out = Vec::new();
        match self.keys.as_ref().filter(|_| signed) {
            Some(keys) => {
                let mut encoder = FrameEncoder::new(self.unknown_unit);
                encoder.set_signer(FrameSigner::v1_server(keys.first().clone()));
                // An error of one line is far below the largest frame.
                let _ = encoder.encode(&payload, &mut out);
                out
            }
            None => self.framed(&payload),
        }
    }

    fn framed(&self, payload: &str) -> Vec<u8> {
        let mut out = Vec::new();
        // Texts of our own: neither empty nor long.
        let _ = FrameEncoder::new(self.unknown_unit).encode(payload, &mut out);
        out
    }
}

fn text(hello: &DaemonHello) -> String {
    let mut text = String::new();
    hello.to_message().write(&mut text);
    text
}

fn keyring(config: &DaemonConfig) -> Result<SigningKeyring, DaemonError> {
    let keys: Result<Vec<SigningKey>, _> = config
        .hmac
        .keys
        .iter()
        .map(|key| SigningKey::strong(KeyId::new(&key.id), &key.secret))
        .collect();
    keys.and_then(SigningKeyring::new).map_err(DaemonError::Keys)
}
