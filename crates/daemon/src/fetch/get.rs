//! One fetch, from a URL to bytes.
//!
//! `http/attachments` calls it. Each step asks [`FetchUrl`] again where it may go; what a host says about
//! itself is believed as far as its type and no further.

mod mail;
mod web;

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, LOCATION, USER_AGENT,
};
use axum::http::{Request, StatusCode};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;

use super::net::{FetchNetwork, SystemNetwork};
use super::url::{FetchUrl, UrlScheme};
use super::{FetchConfig, FetchRefusal};
use crate::access::tls;

/// Time for a fetch, redirects included: a shell waits for its answer meanwhile.
const FETCH_TIMEOUT: Duration = Duration::from_secs(20);

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 3;

/// Fetches at the same time; others wait, within their timeout.
const MAX_CONCURRENT_FETCHES: usize = 4;

/// Bytes of the head of an answer, and its headers.
const MAX_HEAD: usize = 64 << 10;
const MAX_HEADERS: usize = 100;

/// `User-Agent` of requests.
const USER_AGENT_NAME: &str = concat!("bridle/", env!("CARGO_PKG_VERSION"));

/// Paths at which systems keep the CA certificates that they trust.
const SYSTEM_CA_PATHS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

pub(crate) use mail::{MailFault, MailOrder, MailSecurity};
pub(crate) use web::{WebAnswer, WebOrder};

/// File that was fetched.
#[derive(Debug)]
pub(crate) struct FetchedFile {
    /// Its type, if the host says one.
    pub(crate) kind: Option<String>,
    pub(crate) content: Vec<u8>,
}

/// Fetches, within what is permitted.
pub(crate) struct AttachmentFetcher {
    config: FetchConfig,
    /// Absent where no authority is known: then nothing is fetched with TLS.
    tls: Option<TlsConnector>,
    /// Bytes of one answer.
    most: usize,
    time: Duration,
    turns: Semaphore,
    net: Arc<dyn FetchNetwork>,
}

impl fmt::Debug for AttachmentFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Response of one host.
enum FetchResponse {
    Here(FetchedFile),
    Elsewhere(String),
}

impl AttachmentFetcher {
    /// Prepares to fetch at most `most` bytes at a time.
    ///
    /// # Errors
    /// The authorities that the settings name cannot be used.
    pub(crate) fn new(
        config: &FetchConfig,
        most: usize,
    ) -> Result<AttachmentFetcher, tls::TlsError> {
        let tls = match authorities(config) {
            Some(path) => Some(tls::connector(&path)?),
            None => None,
        };
        let (config, turns) = (config.clone(), Semaphore::new(MAX_CONCURRENT_FETCHES));
        let net = config.net.clone().unwrap_or_else(|| Arc::new(SystemNetwork));
        Ok(AttachmentFetcher { config, tls, most, time: FETCH_TIMEOUT, turns, net })
    }

    /// Fetches what is at an address.
    ///
    /// # Errors
    /// The fetch was refused or failed; the reason is not for the peer.
    pub(crate) async fn fetch(&self, address: &str) -> Result<FetchedFile, FetchRefusal> {
        let place = FetchUrl::read(address, &self.config.hosts)?;
        let fetched = tokio::time::timeout(self.time, Box::pin(self.follow(place))).await;
        fetched.unwrap_or(Err(FetchRefusal::Late))
    }

    async fn follow(&self, mut place: FetchUrl) -> Result<FetchedFile, FetchRefusal> {
        let _turn = self.turns.acquire().await.map_err(|_| FetchRefusal::Late)?;
        for _ in 0..=MAX_REDIRECTS {
            match self.ask(&place).await? {
                FetchResponse::Here(fetched) => return Ok(fetched),
                FetchResponse::Elsewhere(location) => {
                    place = place.follow(&location, &self.config.hosts)?;
                }
            }
        }
        Err(FetchRefusal::Redirects)
    }

    /// Looks the host up, once, and asks what was found.
    async fn ask(&self, place: &FetchUrl) -> Result<FetchResponse, FetchRefusal> {
        let addresses = match place.literal() {
            Some(address) => vec![address],
            None => self.net.resolve(place.host()).await.map_err(|_| FetchRefusal::NoAddress)?,
        };
        let stream = self.connect(&place.pin(&addresses)?).await?;
        match place.scheme {
            UrlScheme::Http => self.speak(place, stream).await,
            UrlScheme::Https => {
                let tls = self.tls.as_ref().ok_or(FetchRefusal::Broken)?;
                let name = ServerName::try_from(place.host().to_owned());
                let name = name.map_err(|_| FetchRefusal::Address)?;
                let stream = tls.connect(name, stream).await.map_err(|_| FetchRefusal::Broken)?;
                self.speak(place, stream).await
            }
        }
    }

    async fn connect(&self, pinned: &[SocketAddr]) -> Result<TcpStream, FetchRefusal> {
        for address in pinned {
            if let Ok(stream) = self.net.connect(*address).await {
                return Ok(stream);
            }
        }
        Err(FetchRefusal::Broken)
    }

    async fn speak<S>(&self, place: &FetchUrl, stream: S) -> Result<FetchResponse, FetchRefusal>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = handshake(stream).await?;
        let request = request(place)?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(|_| FetchRefusal::Broken)?;
            self.answer(response).await
        };
        // What the connection says at its end, the exchange hears as well.
        let driven = async {
            let _ = connection.await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            answer = exchange => answer,
            () = driven => Err(FetchRefusal::Broken),
        }
    }

    async fn answer(
        &self,
        response: axum::http::Response<hyper::body::Incoming>,
    ) -> Result<FetchResponse, FetchRefusal> {
        let (head, body) = response.into_parts();
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        if head.status.is_redirection() {
            let location = text(LOCATION).ok_or(FetchRefusal::Redirects)?;
            return Ok(FetchResponse::Elsewhere(location.to_owned()));
        }
        if head.status != StatusCode::OK {
            return Err(FetchRefusal::Status);
        }
        if text(CONTENT_ENCODING).is_some_and(|how| !how.eq_ignore_ascii_case("identity")) {
            return Err(FetchRefusal::Encoding);
        }
        let kind = text(CONTENT_TYPE).map(str::to_owned);
        let content = read(Body::new(body), self.most).await?;
        Ok(FetchResponse::Here(FetchedFile { kind, content }))
    }
}

/// Begins to speak HTTP, with limits on the head of the answer.
async fn handshake<S>(
    stream: S,
) -> Result<(http1::SendRequest<Body>, http1::Connection<TokioIo<S>, Body>), FetchRefusal>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_HEAD).max_headers(MAX_HEADERS);
    builder.handshake(TokioIo::new(stream)).await.map_err(|_| FetchRefusal::Broken)
}

/// Returns the CA certificates to trust: those of the settings, else those of the system; none where
/// nothing may be fetched anyway.
fn authorities(config: &FetchConfig) -> Option<PathBuf> {
    if config.hosts.is_empty() {
        return None;
    }
    let system = || SYSTEM_CA_PATHS.into_iter().map(Path::new).find(|path| path.exists());
    config.ca.clone().or_else(|| system().map(Path::to_path_buf))
}

/// A request that says nothing about anybody.
fn request(place: &FetchUrl) -> Result<Request<Body>, FetchRefusal> {
    Request::get(&*place.path)
        .header(HOST, place.authority())
        .header(USER_AGENT, USER_AGENT_NAME)
        .header(ACCEPT, "*/*")
        .header(ACCEPT_ENCODING, "identity")
        .header(CONNECTION, "close")
        .body(Body::empty())
        .map_err(|_| FetchRefusal::Address)
}

async fn read(mut body: Body, most: usize) -> Result<Vec<u8>, FetchRefusal> {
    if body.size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
        return Err(FetchRefusal::TooLarge);
    }
    let mut content = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(data) = frame.map_err(|_| FetchRefusal::Broken)?.into_data() else { continue };
        if data.len() > most - content.len() {
            return Err(FetchRefusal::TooLarge);
        }
        content.extend_from_slice(&data);
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
