//! Reasons why a model gave no answer, each with its own words. None has a key, a header or the text of a prompt.

use std::time::Duration;

use bridle_models::{ProviderFailure, RequestError};

/// Reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferenceError {
    /// The key is not where the file of providers says.
    #[error("no key for the provider: {0}")]
    Key(String),
    /// The key is bound to other hosts.
    #[error("the key may not be sent to `{0}`: add it to `:HOSTS:` of the provider")]
    KeyHost(String),
    /// The client cannot be made: certificates or proxy.
    #[error("the provider cannot be reached as its settings say: {0}")]
    Client(String),
    /// The request is one that no provider takes.
    #[error("the request cannot be written: {0}")]
    Request(#[from] RequestError),
    /// The skill that the provider names failed.
    #[error("skill `{skill}` of the provider: {reason}")]
    Skill {
        /// Its name.
        skill: String,
        /// The reason.
        reason: String,
    },
    /// Nobody answers at the address.
    #[error("`{address}` cannot be reached: {reason}")]
    Connect {
        /// Scheme, host and port.
        address: String,
        /// Reason, as the system gives it.
        reason: String,
    },
    /// The server was silent for too long.
    #[error("`{address}` sent nothing for {} s {phase}", .after.as_secs())]
    Silent {
        /// Scheme, host and port.
        address: String,
        /// Part of the exchange.
        phase: SilentPhase,
        /// Patience of the settings.
        after: Duration,
    },
    /// The whole exchange took too long.
    #[error("the answer was not complete after {} s", .0.as_secs())]
    Overlong(Duration),
    /// The provider failed, or its answer did.
    #[error("{0}")]
    Provider(Box<ProviderFailure>),
    /// The thought was called off.
    #[error("called off")]
    Canceled,
}

/// Part of an exchange in which a server was silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilentPhase {
    /// Before the first byte of its answer.
    BeforeAnswer,
    /// In the middle of its answer.
    WithinAnswer,
}

impl std::fmt::Display for SilentPhase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::BeforeAnswer => "before its answer",
            Self::WithinAnswer => "in the middle of its answer",
        })
    }
}

impl InferenceError {
    /// Whether the same request may work later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Silent { .. } | Self::Overlong(_) => true,
            Self::Provider(failure) => failure.kind.is_retryable(),
            Self::Key(_)
            | Self::KeyHost(_)
            | Self::Client(_)
            | Self::Request(_)
            | Self::Skill { .. }
            | Self::Canceled => false,
        }
    }
}
