//! Why a daemon does not start or stops early.
//!
//! Faults of one connection never end here; they end that connection.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Shortest HMAC secret in bytes that the daemon takes: half of SHA-256's output, the least
/// that cannot be searched.
pub const MIN_SECRET_BYTES: usize = 16;

/// A fault of the daemon as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// Neither TCP nor HTTP nor a Unix socket nor stdio is configured.
    #[error("nothing to listen on: give a TCP address, a Unix socket path or stdio")]
    NoListener,
    /// Pairing has an address of its own and nothing to pair with.
    #[error("there is an address for pairing, but HTTP is off")]
    AliasAlone,
    /// Frames and lines cannot share a stream.
    #[error("standard input and output are asked for twice: for frames and for lines")]
    TwoOnStdio,
    /// HMAC is enforced and there is no key.
    #[error(
        "HMAC is enforced but no secret is configured: give one of at least {MIN_SECRET_BYTES} bytes"
    )]
    NoSecret,
    /// An HMAC secret can be guessed.
    #[error("the HMAC secret of key `{key}` has {len} bytes, expected at least {MIN_SECRET_BYTES}")]
    ShortSecret {
        /// Name of the key.
        key: String,
        /// Its length in bytes.
        len: usize,
    },
    /// The HMAC keys do not go together.
    #[error("the HMAC keys cannot be used")]
    Keys(#[source] bridle_wire::seal::KeyError),
    /// A limit is set to a value that cannot work.
    #[error("limit `{name}` is {got}, expected {least} to {most}")]
    LimitOutOfRange {
        /// The limit.
        name: &'static str,
        /// Its value.
        got: usize,
        /// The least that works.
        least: usize,
        /// The most that works.
        most: usize,
    },
    /// A deadline of zero would refuse everything.
    #[error("`{name}` is zero, expected a time")]
    ZeroDeadline {
        /// The deadline.
        name: &'static str,
    },
    /// The folder of the user's files, or their past, cannot be used.
    #[error("the memory cannot be opened")]
    Memory(#[source] bridle_memex::MemoryError),
    /// Stages and commits of the agent cannot be opened.
    #[error("files and programs of the agent cannot be opened")]
    Effects(#[source] bridle_effects::EffectError),
    /// TCP beyond this machine without signatures.
    #[error(
        "`{addr}` can be reached from other machines and frames are not signed: \
         listen on 127.0.0.1, or configure an HMAC secret and enforce it"
    )]
    OpenToTheNetwork {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// HTTP beyond this machine.
    #[error(
        "`{addr}` can be reached from other machines, and HTTP is served without TLS: \
         listen on 127.0.0.1, or give a certificate and a key"
    )]
    HttpOpenToTheNetwork {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// Another daemon owns the state directory.
    #[error("the state directory `{}` is in use by process {pid}", dir.display())]
    Locked {
        /// The directory.
        dir: PathBuf,
        /// The pid in the lock file, or `unknown`.
        pid: String,
    },
    /// The state directory or its lock cannot be used.
    #[error("cannot use the state directory `{}`", dir.display())]
    State {
        /// The directory.
        dir: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The TCP address cannot be used.
    #[error("cannot listen on TCP `{addr}`")]
    Tcp {
        /// The address asked for.
        addr: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The address for HTTP cannot be used.
    #[error("cannot listen on HTTP `{addr}`")]
    Http {
        /// The address asked for.
        addr: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The Unix socket cannot be used.
    #[error("cannot listen on Unix socket `{}`", path.display())]
    Unix {
        /// The path asked for.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Another process answers on the path of the Unix socket.
    #[error("another program answers on Unix socket `{}`", path.display())]
    UnixInUse {
        /// The path asked for.
        path: PathBuf,
    },
    /// The path of the Unix socket is something else.
    #[error("`{}` exists and is not a socket; it is left alone", path.display())]
    NotASocket {
        /// The path asked for.
        path: PathBuf,
    },
    /// Standard input and output cannot be served.
    #[error("cannot serve standard input and output")]
    Stdio(#[source] io::Error),
    /// The system gives no random bytes for nonces.
    #[error("cannot open the random source")]
    Random(#[source] io::Error),
    /// The record cannot be opened.
    #[error("cannot open the record")]
    Record(#[source] bridle_record::StoreError),
    /// The system gives no thread for the record or the memory.
    #[error("cannot start a thread of the daemon")]
    Thread(#[source] io::Error),
    /// TLS for HTTP cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[source] crate::access::tls::TlsError),
    /// The file of unsaved buffers cannot be opened.
    #[error("cannot open the overlays of unsaved buffers")]
    Overlays(#[source] bridle_record::StoreError),
    /// The attachments cannot be kept.
    #[error("cannot open the shelf of attachments")]
    Files(#[source] bridle_record::StoreError),
    /// The certificates for fetching cannot be used.
    #[error("cannot use the authorities for fetching")]
    Fetch(#[source] crate::access::tls::TlsError),
    /// The bearer tokens cannot be read.
    #[error("cannot read the bearer tokens")]
    Tokens(#[source] crate::access::tokens::TokenError),
    /// The key of continuations cannot be used.
    #[error("cannot use the key that seals continuations")]
    Seals(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The thinker cannot be used.
    #[error("cannot use the thinker")]
    Thinker(#[source] bridle_host::HostError),
}
