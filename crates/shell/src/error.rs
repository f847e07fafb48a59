//! What can go wrong in a face. The binary turns each kind into an exit code and prints the hint.

use std::fmt;
use std::io;
use std::time::Duration;

use bridle_wire::OacpCode;

use crate::address::DaemonAddress;

/// Reason why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShellError {
    /// Text that is no form.
    #[error("{0}")]
    Syntax(Box<InputFault>),
    /// Bytes that are no frame. Displayed as one line that scripts may parse.
    #[error("{code} at byte {offset}: {reason}", code = .code.as_str())]
    Frame {
        /// The protocol's code for the fault.
        code: OacpCode,
        /// Offset in the input of the frame that is bad.
        offset: u64,
        /// Reason, for people.
        reason: String,
    },
    /// Input past what is read in one piece.
    #[error("expected at most {max} bytes in one piece, got more")]
    TooMuch {
        /// The limit.
        max: usize,
    },
    /// Nobody listens there, or the way is barred.
    #[error("cannot connect to {}", list(.tried))]
    Connect {
        /// Every address that was tried, with what the system said.
        tried: Vec<(DaemonAddress, io::Error)>,
    },
    /// A listener for `tap` could not be opened.
    #[error("cannot listen on `{addr}`: {error}")]
    Listen {
        /// The address asked for.
        addr: DaemonAddress,
        /// Error of the system.
        error: io::Error,
    },
    /// The connection ended where an answer was expected.
    #[error("`{addr}` closed the connection before it answered")]
    Closed {
        /// Daemon that closed.
        addr: DaemonAddress,
    },
    /// No answer in time.
    #[error("`{addr}` did not answer within {} s", .after.as_secs_f32())]
    Timeout {
        /// Daemon that was silent.
        addr: DaemonAddress,
        /// For how long.
        after: Duration,
    },
    /// The other side speaks something else.
    #[error("`{addr}` does not speak the protocol: {why}")]
    NotProtocol {
        /// Daemon that spoke.
        addr: DaemonAddress,
        /// Evidence, for people.
        why: String,
    },
    /// The daemon greeted with an error and closed, or did not take the hello.
    #[error("`{addr}` refused: {code}: {message}")]
    Refused {
        /// Daemon that refused.
        addr: DaemonAddress,
        /// The error code it gave.
        code: String,
        /// Reason that the daemon gave.
        message: String,
    },
    /// The daemon signs its frames and we do not.
    #[error("`{addr}` requires signed frames")]
    Signed {
        /// Daemon that was asked.
        addr: DaemonAddress,
    },
    /// We sign our frames and the daemon does not.
    #[error("`{addr}` does not sign frames, but a key was given")]
    NotSigned {
        /// Daemon that was asked.
        addr: DaemonAddress,
    },
    /// The daemon's signature does not fit our key.
    #[error("`{addr}` signs with a different key")]
    WrongKey {
        /// Daemon that was asked.
        addr: DaemonAddress,
    },
    /// The daemon's hello has no nonce, which version 2 needs.
    #[error("`{addr}` does not offer signatures of version 2")]
    NoVersion2 {
        /// Daemon that was asked.
        addr: DaemonAddress,
    },
    /// The system gives no random bytes.
    #[error("cannot read random bytes: {0}")]
    Random(io::Error),
    /// A payload that cannot be sent.
    #[error("cannot frame the form: {0}")]
    Encode(#[from] bridle_wire::frame::EncodeError),
    /// An input could not be read.
    #[error("cannot read the input: {0}")]
    Read(io::Error),
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Write(io::Error),
    /// A connection broke.
    #[error("the connection to `{addr}` broke: {error}")]
    Broken {
        /// With whom.
        addr: DaemonAddress,
        /// Error of the system.
        error: io::Error,
    },
}

/// Kind of failure, for callers that decide by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input is bad.
    Data,
    /// The thing named does not exist.
    Missing,
    /// No daemon there.
    Unavailable,
    /// The time ran out.
    Timeout,
    /// The other side does not speak the protocol.
    Protocol,
    /// Not allowed, or a signature was not accepted.
    Permission,
    /// An input or output failed.
    Io,
    /// The reader of our output went away, which is no failure.
    BrokenPipe,
}

impl ShellError {
    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ShellError::Syntax(_)
            | ShellError::Frame { .. }
            | ShellError::TooMuch { .. }
            | ShellError::Encode(_) => ErrorKind::Data,
            ShellError::Connect { tried } => {
                let barred = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
                if !tried.is_empty() && tried.iter().all(|(_, error)| barred(error)) {
                    ErrorKind::Permission
                } else {
                    ErrorKind::Unavailable
                }
            }
            ShellError::Listen { .. } | ShellError::Closed { .. } | ShellError::Broken { .. } => {
                ErrorKind::Unavailable
            }
            ShellError::Timeout { .. } => ErrorKind::Timeout,
            ShellError::NotProtocol { .. } => ErrorKind::Protocol,
            ShellError::Refused { code, .. } => match code.as_str() {
                "bad-signature" | "replayed-frame" | "not-permitted" => ErrorKind::Permission,
                "unknown-session" => ErrorKind::Missing,
                "invalid-value" | "wrong-type" => ErrorKind::Data,
                _ => ErrorKind::Unavailable,
            },
            ShellError::Signed { .. }
            | ShellError::NotSigned { .. }
            | ShellError::WrongKey { .. }
            | ShellError::NoVersion2 { .. } => ErrorKind::Permission,
            ShellError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                ErrorKind::BrokenPipe
            }
            ShellError::Read(_) | ShellError::Write(_) | ShellError::Random(_) => ErrorKind::Io,
        }
    }

    /// Advice on what to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ShellError::Syntax(_) | ShellError::Frame { .. } => None,
            ShellError::TooMuch { .. } => Some("split it into several forms"),
            ShellError::Connect { .. } => match self.kind() {
                ErrorKind::Permission => {
                    Some("the socket belongs to another user; run this as that user")
                }
                _ => Some("start it with: bridle up"),
            },
            ShellError::Listen { .. } => {
                Some("choose another address, or any free port: 127.0.0.1:0")
            }
            ShellError::Closed { .. } | ShellError::Broken { .. } => {
                Some("the log of `bridle up` says why; with signed frames, check --key-file")
            }
            ShellError::Timeout { .. } => {
                Some("raise --timeout, or look at the log of `bridle up`")
            }
            ShellError::NotProtocol { .. } => {
                Some("check the address: another program listens there")
            }
            ShellError::Refused { code, .. } if code == "not-permitted" => {
                Some("use the Unix socket, which knows you: --addr unix:PATH")
            }
            ShellError::Refused { .. } => match self.kind() {
                ErrorKind::Permission => Some("sign with the daemon's key: --key-file FILE"),
                ErrorKind::Missing => Some("`bridle sessions` lists sessions"),
                ErrorKind::Data => None,
                _ => Some("try again later, or raise the limit: bridle config show"),
            },
            ShellError::Signed { .. } | ShellError::WrongKey { .. } => Some(
                "sign with the daemon's key: --key-file FILE, and --key-id ID if it has several",
            ),
            ShellError::NotSigned { .. } => Some("leave out --key-file, or use the TCP address"),
            ShellError::NoVersion2 { .. } => Some("sign with version 1: --hmac v1"),
            ShellError::Random(_) => Some("the system must offer /dev/urandom"),
            ShellError::Encode(_) => Some("split the form; one frame holds at most 16777215"),
            ShellError::Read(_) | ShellError::Write(_) => {
                Some("check the other end of the pipe and the free disk space")
            }
        }
    }
}

fn list(tried: &[(DaemonAddress, io::Error)]) -> String {
    let each = tried.iter().map(|(addr, error)| format!("`{addr}` ({error})"));
    each.collect::<Vec<_>>().join(" or ")
}

/// A fault in text, with its place in the whole input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFault {
    /// Closed list of the reader, in kebab case, or `invalid-utf8`.
    pub category: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Byte offset, from 0.
    pub offset: u64,
    /// Reason, for people.
    pub reason: String,
    /// The piece of the line around the place and the caret under it.
    pub excerpt: Option<[String; 2]>,
}

impl fmt::Display for InputFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InputFault { category, line, column, offset, reason, .. } = self;
        write!(f, "{category} at {line}:{column} (byte {offset}): {reason}")
    }
}

impl From<InputFault> for ShellError {
    fn from(fault: InputFault) -> ShellError {
        ShellError::Syntax(Box::new(fault))
    }
}
