//! Fetches the attachments that messages refer to by URL, protected against request forgery.
//!
//! `http/attachments` uses it for attachments with an `http` or `https` URL. Nothing is fetched unless the
//! settings name its host. A URL is read in one way only (`url`), every name is looked up
//! once and every answer must be a public address (`address_rules`), the connection goes to what was looked
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

pub(crate) use get::{
    AttachmentFetcher, FetchedFile, MailFault, MailOrder, MailSecurity, WebAnswer, WebOrder,
};

/// Hosts that may be fetched from, and the CA certificates to trust.
#[derive(Clone, Debug, Default)]
pub struct FetchConfig {
    /// Permitted hosts. None by default.
    pub hosts: AllowedHosts,
    /// Hosts of orders that may be reached at addresses that are not public. None by default.
    pub private: AllowedHosts,
    /// CA certificates to trust, as PEM; `None` for those of the system.
    pub ca: Option<PathBuf>,
    /// Resolver and connector; `None` for those of the system.
    pub net: Option<Arc<dyn FetchNetwork>>,
}

/// Reason for not fetching. Peers do not learn which one: that would make a scanner of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchRefusal {
    /// URL that could be read in more than one way.
    #[error("not an address that can be read in one way only")]
    Address,
    /// Neither `http` nor `https`.
    #[error("not of the web")]
    Scheme,
    /// URL with a name or a password.
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
    /// Redirect from `https` to `http`.
    #[error("redirected to something that is not encrypted")]
    Downgrade,
    /// Too many redirects, or one without a target.
    #[error("redirected too often, or to nowhere")]
    Redirects,
    /// Another status than 200.
    #[error("answered with another status than 200")]
    Status,
    /// Larger than the limit.
    #[error("larger than is taken")]
    TooLarge,
    /// Content coding that was not asked for.
    #[error("answered in an encoding that was not asked for")]
    Encoding,
    /// Timeout.
    #[error("took too long")]
    Late,
    /// The connection, the handshake or the answer failed.
    #[error("the connection failed")]
    Broken,
}

impl FetchRefusal {
    /// Returns its word in vectors and logs.
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
