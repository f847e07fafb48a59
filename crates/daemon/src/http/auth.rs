//! Authentication: the peer of a connection and the principal of each request.
//!
//! Every handler asks before anything is done. A web page must not get in through the browser of the
//! user: the `Host` must be this machine's own name, which a rebound DNS name is not, and an `Origin`
//! must be the very address that is asked or one that a setting names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};

use std::sync::{Arc, OnceLock};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use bridle_wire::openharness::capability::STREAMING;
use bridle_wire::openharness::event::{LINES_PROFILE, SSE_PROFILE};
use bridle_wire::openharness::{Capabilities, OpenHarnessCode};
use tokio::sync::OnceCell;

use super::HttpService;
use super::rate::RequestSource;
use crate::access::network::{PeerNetwork, PeerSource};
use crate::access::principal::Principal;
use crate::access::principal::sockets::SocketEnds;
use crate::access::tls::CertificatePrincipal;
use crate::access::web_origin::WebOrigin;
use crate::connection_slots::{ConnectionSlot, StrangerSlot};

/// Names of this machine that need no looking up.
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Transport of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConnectionKind {
    /// In the clear.
    Plain,
    /// With TLS, and the certificate that the peer showed if one was asked for.
    Tls(Option<CertificatePrincipal>),
    /// On a Unix socket, as the user with this uid.
    Unix(u32),
    /// On standard input and output.
    Stdio,
}

/// Encoding of a peer's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerEncoding {
    /// In requests of HTTP.
    Requests,
    /// In frames of a WebSocket.
    Frames,
    /// In lines.
    Lines,
}

impl ConnectionKind {
    /// Returns the beginning of URLs of this transport.
    fn scheme(self) -> &'static str {
        match self {
            // Nobody has an origin on standard input or a socket; there it is not asked for.
            ConnectionKind::Plain | ConnectionKind::Unix(_) | ConnectionKind::Stdio => "http://",
            ConnectionKind::Tls(_) => "https://",
        }
    }
}

/// The other end of a connection.
#[derive(Debug)]
pub(super) struct HttpPeer {
    remote: SocketAddr,
    local: SocketAddr,
    way: ConnectionKind,
    /// Pages of others that are let in, as the settings say.
    origins: Arc<[WebOrigin]>,
    speech: PeerEncoding,
    /// A `Host` that named the address that was connected to: the next one is the same.
    host: OnceLock<Box<str>>,
    /// Owner of the socket, looked up once.
    without_token: OnceCell<Principal>,
    /// Key under which it is counted while it is unknown.
    source: PeerSource,
    /// Its place among the unknown peers, if it came as one.
    stranger: Option<Arc<StrangerSlot>>,
}

impl HttpPeer {
    /// A peer of which only the addresses are known, and the way that it came.
    pub(super) fn new(remote: SocketAddr, local: SocketAddr, way: ConnectionKind) -> HttpPeer {
        let (speech, without_token) = (PeerEncoding::Requests, OnceCell::new());
        let (origins, host) = (Arc::default(), OnceLock::new());
        let source = PeerSource::of(None, remote.ip());
        let stranger = None;
        HttpPeer { remote, local, way, speech, origins, host, without_token, source, stranger }
    }

    /// Notes what was found when it was accepted: its place, and the uid of its socket if the kernel
    /// was asked.
    pub(super) fn seated(
        self,
        seat: &ConnectionSlot,
        uid: Option<Option<u32>>,
        own_uid: u32,
    ) -> HttpPeer {
        let source = PeerSource::of(uid.flatten(), self.remote.ip());
        let of_uid = |uid| Principal::of_http_socket(uid, own_uid);
        let without_token = OnceCell::new_with(uid.map(of_uid));
        HttpPeer { source, without_token, stranger: seat.stranger().cloned(), ..self }
    }

    /// Key under which an unknown peer is counted.
    pub(super) fn source(&self) -> PeerSource {
        self.source
    }

    /// Notes that a request of it was answered.
    pub(super) fn touch(&self) {
        if let Some(stranger) = &self.stranger {
            stranger.touch();
        }
    }

    /// Lets pages of other origins in.
    pub(super) fn letting_in(self, origins: Arc<[WebOrigin]>) -> HttpPeer {
        HttpPeer { origins, ..self }
    }

    /// Whoever started the daemon, on its standard streams.
    pub(super) fn stdio() -> HttpPeer {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        HttpPeer { speech: PeerEncoding::Lines, ..HttpPeer::new(here, here, ConnectionKind::Stdio) }
    }

    /// A user on the Unix socket; the system says which one.
    pub(super) fn unix(uid: u32) -> HttpPeer {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        HttpPeer::new(here, here, ConnectionKind::Unix(uid))
    }

    /// Returns the peer after its connection became a WebSocket.
    pub(super) fn on_socket(&self) -> HttpPeer {
        let HttpPeer { remote, local, way, source, .. } = *self;
        let peer =
            HttpPeer { speech: PeerEncoding::Frames, source, ..HttpPeer::new(remote, local, way) };
        peer.letting_in(Arc::clone(&self.origins))
    }

    /// Tells whether it follows an answer while that is made, by what it says it can do.
    pub(super) fn follows(&self, asked: Option<&Capabilities>) -> bool {
        let lists = |profile| asked.is_some_and(|asked| asked.lists_profile(STREAMING, profile));
        match self.speech {
            PeerEncoding::Requests => lists(SSE_PROFILE),
            PeerEncoding::Frames => true,
            PeerEncoding::Lines => lists(LINES_PROFILE),
        }
    }

    /// Returns the remote address.
    pub(super) fn address(&self) -> IpAddr {
        self.remote.ip()
    }

    /// The address of a path, as the peer reaches it.
    pub(super) fn url(&self, headers: &HeaderMap, path: &str) -> String {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        format!("{}{host}{path}", self.way.scheme())
    }

    /// Checks that a request comes from where it may come from.
    ///
    /// # Errors
    /// `forbidden` for a wrong `Host` or `Origin`.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), OpenHarnessCode> {
        // No web page gets here: browsers open no Unix sockets.
        if matches!(self.way, ConnectionKind::Stdio | ConnectionKind::Unix(_)) {
            return Ok(());
        }
        let mut hosts = headers.get_all(HOST).iter();
        let host =
            hosts.next().and_then(|host| host.to_str().ok()).ok_or(OpenHarnessCode::Forbidden)?;
        let is_known = || self.host.get().is_some_and(|known| **known == *host);
        if hosts.next().is_some() || !(is_known() || self.is_own(host)) {
            return Err(OpenHarnessCode::Forbidden);
        }
        // Copied: a value is a part of the buffer of its connection. Of two at once either will do.
        self.host.get_or_init(|| host.into());
        let mut origins = headers.get_all(ORIGIN).iter();
        let is_let_in = match (origins.next(), origins.next()) {
            (None, _) => true,
            (Some(origin), None) => origin.to_str().is_ok_and(|origin| self.is_known(origin, host)),
            (Some(_), Some(_)) => false,
        };
        if is_let_in { Ok(()) } else { Err(OpenHarnessCode::Forbidden) }
    }

    /// Tells whether a page of this origin may ask: it is of this address, or the settings name it.
    fn is_known(&self, origin: &str, host: &str) -> bool {
        let own = origin.strip_prefix(self.way.scheme());
        own.is_some_and(|own| own.eq_ignore_ascii_case(host))
            || self.origins.iter().any(|known| known.as_str() == origin)
    }

    /// Tells whether a `Host` names the address that was connected to.
    fn is_own(&self, host: &str) -> bool {
        // A browser has checked that the certificate is of this name: none that was made to point
        // here has one.
        if matches!(self.way, ConnectionKind::Tls(_)) {
            return true;
        }
        let port = self.local.port();
        let name = match host.rsplit_once(':') {
            Some((name, digits)) if digits.parse() == Ok(port) => name,
            Some((_, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => return false,
            // Without a port: what a proxy on this machine passes on.
            _ => host,
        };
        LOCAL_NAMES.iter().any(|own| own.eq_ignore_ascii_case(name))
            || name.trim_matches(['[', ']']).parse() == Ok(self.local.ip())
    }

    /// Tells requests of this machine from others.
    pub(super) fn from(&self) -> RequestSource {
        match self.address().to_canonical().is_loopback() {
            true => RequestSource::Here,
            false => RequestSource::Elsewhere,
        }
    }

    /// Returns the principal of a request that may come from where it comes; counts the request. The
    /// head is enough: a refused body need not be read.
    ///
    /// # Errors
    /// The refusals of [`check`](HttpPeer::check) and [`principal`](HttpPeer::principal).
    pub(super) async fn let_in(
        &self,
        http: &HttpService,
        headers: &HeaderMap,
    ) -> Result<Principal, OpenHarnessCode> {
        self.check(headers)?;
        self.principal(http, headers).await
    }

    /// Returns the principal of a request and counts the request.
    ///
    /// # Errors
    /// `unauthenticated`, when a credential is not good, or there is none and nobody is known;
    /// `rate_limited`, when the principal asks too often, or the address shows too many credentials
    /// that are not good.
    pub(super) async fn principal(
        &self,
        http: &HttpService,
        headers: &HeaderMap,
    ) -> Result<Principal, OpenHarnessCode> {
        let (who, counted) = match self.known(http, headers).await {
            Some(who) => {
                let counted = http.rates.ask(&who, self.from());
                (Ok(who), counted.map_err(|_| "principal"))
            }
            None => {
                let counted = http.rates.fail(PeerNetwork::of(self.address()));
                (Err(OpenHarnessCode::Unauthenticated), counted.map_err(|_| "address"))
            }
        };
        if let Err(limited) = counted {
            http.shared.metrics.http_limited(limited);
            return Err(OpenHarnessCode::RateLimited);
        }
        who
    }

    /// Returns the principal if it is known for certain; its connection then has the slot of a known
    /// peer.
    pub(super) async fn known(&self, http: &HttpService, headers: &HeaderMap) -> Option<Principal> {
        let who = self.find(http, headers).await;
        if let (Some(_), Some(stranger)) = (&who, &self.stranger) {
            stranger.make_known();
        }
        who
    }

    async fn find(&self, http: &HttpService, headers: &HeaderMap) -> Option<Principal> {
        // Whoever shows a credential wants to be known by it, and by nothing less.
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        if let Some(credential) = shown.next() {
            let alone = shown.next().is_none().then_some(credential);
            let token = alone.and_then(|credential| bearer(credential.to_str().ok()?));
            let grant = token.and_then(|token| http.tokens.verify(token, now()))?;
            return Some(Principal::of_token(grant, http.shared.own_uid()));
        }
        match self.way {
            ConnectionKind::Tls(Some(certificate)) => {
                return Some(Principal::Certificate(certificate));
            }
            ConnectionKind::Unix(uid) => return Some(Principal::Uid(uid)),
            ConnectionKind::Stdio => return Some(Principal::Stdio),
            ConnectionKind::Plain | ConnectionKind::Tls(None) => {}
        }
        let look = || async {
            let uid = match SocketEnds::of(self.remote, self.local) {
                Some(ends) => http.shared.sockets.clone().uid(ends).await,
                None => None,
            };
            Principal::of_http_socket(uid, http.shared.own_uid())
        };
        match self.without_token.get_or_init(look).await {
            Principal::Anonymous => None,
            known => Some(known.clone()),
        }
    }
}

/// The token of a credential.
fn bearer(credential: &str) -> Option<&str> {
    let (scheme, token) = credential.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The present, in milliseconds since 1970; a clock before that is at its beginning.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
