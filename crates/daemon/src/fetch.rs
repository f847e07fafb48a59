//! Fetching what a message refers to, without being led anywhere else.
//!
//! Used by `http/files` for attachments with an address of the web. Nothing is fetched unless the
//! settings name its host. An address is read in one way only (`place`), every name is looked up
//! once and every answer must be a public one (`reach`), the connection goes to what was looked
//! up, and a redirect starts all over. No credential is ever sent. Not here: what becomes of the bytes.
//!
//! This is no action of a session: what a request is about must be known before it is recorded,
//! so there is nobody yet who could propose it, and nothing that a yes could be waited for with.
//! What may be fetched is therefore a setting of whoever runs the daemon, off unless said.

mod address_rules;
mod get;
mod hosts;
mod net;
mod url;

use std::path::PathBuf;
use std::sync::Arc;

pub use address_rules::is_public;
pub use hosts::{AllowedHosts, InvalidHostList};
pub use net::{FetchNetwork, Later};
pub use url::{FetchUrl, UrlScheme};

pub(crate) use get::{AttachmentFetcher, FetchedFile};

/// What may be fetched, and whom to believe.
#[derive(Clone, Debug, Default)]
pub struct FetchConfig {
    /// Hosts that may be asked. None by default.
    pub hosts: AllowedHosts,
    /// Authorities of certificates, PEM. `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// What names are looked up and connections are made with. `None`: the system.
    pub net: Option<Arc<dyn FetchNetwork>>,
}

/// Why something is not fetched. Nobody outside is told which: that would make a scanner of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchRefusal {
    /// The address has not the one form that is read.
    #[error("not an address that can be read in one way only")]
    Address,
    /// Neither `http` nor `https`.
    #[error("not of the web")]
    Scheme,
    /// It holds a name or a password.
    #[error("a credential is inside the address")]
    Credential,
    /// The settings do not name the host.
    #[error("the host is not permitted")]
    Host,
    /// The settings do not name the port.
    #[error("the port is not permitted")]
    Port,
    /// An address of the host is not public.
    #[error("the host is not a public one")]
    NotPublic,
    /// The host has no address.
    #[error("the host has no address")]
    NoAddress,
    /// From `https` to `http`.
    #[error("redirected to something that is not encrypted")]
    Downgrade,
    /// Sent around too often, or to nowhere.
    #[error("redirected too often, or to nowhere")]
    Redirects,
    /// Another status than 200.
    #[error("answered with another status than 200")]
    Status,
    /// More bytes than are taken.
    #[error("larger than is taken")]
    TooLarge,
    /// Packed, although nobody asked for it.
    #[error("answered in an encoding that was not asked for")]
    Encoding,
    /// It took too long.
    #[error("took too long")]
    Late,
    /// The connection, the handshake or the answer failed.
    #[error("the connection failed")]
    Broken,
}

impl FetchRefusal {
    /// The word for it in vectors and logs.
    pub fn word(self) -> &'static str {
        match self {
            FetchRefusal::Address => "address",
            FetchRefusal::Scheme => "scheme",
            FetchRefusal::Credential => "credential",
            FetchRefusal::Host => "host",
            FetchRefusal::Port => "port",
            FetchRefusal::NotPublic => "not-public",
            FetchRefusal::NoAddress => "no-address",
            FetchRefusal::Downgrade => "downgrade",
            FetchRefusal::Redirects => "redirects",
            FetchRefusal::Status => "status",
            FetchRefusal::TooLarge => "too-large",
            FetchRefusal::Encoding => "encoding",
            FetchRefusal::Late => "late",
            FetchRefusal::Broken => "broken",
        }
    }
}
