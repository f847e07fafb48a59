//! One exchange with a host that an order names: any method, headers and a body of its own, answered with
//! whatever the host says.
//!
//! The same guard as for attachments: addresses read in one way, names looked up once, public ones alone. Reached
//! are the host and port of the order and no other: a redirect elsewhere is told and not followed.

use std::net::SocketAddr;
use std::str::FromStr as _;

use axum::body::{Body, HttpBody as _};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName,
    LOCATION, USER_AGENT,
};
use axum::http::{HeaderValue, Method, Request};
use rustls::pki_types::ServerName;
use std::future::poll_fn;
use std::pin::Pin;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{AttachmentFetcher, MAX_REDIRECTS, USER_AGENT_NAME, handshake};
use crate::fetch::url::{FetchUrl, UrlScheme};
use crate::fetch::{AllowedHosts, FetchRefusal};

/// Request that was ordered.
#[derive(Debug)]
pub(crate) struct WebOrder<'o> {
    pub(crate) method: Method,
    pub(crate) url: &'o str,
    /// Host and port of the address, as they were judged.
    pub(crate) host: &'o str,
    pub(crate) port: u16,
    pub(crate) headers: Vec<(&'o str, &'o str)>,
    pub(crate) body: Option<&'o str>,
}

/// Answer of a host.
#[derive(Debug)]
pub(crate) struct WebAnswer {
    pub(crate) status: u16,
    /// Its type, if the host says one.
    pub(crate) kind: Option<String>,
    /// Place of a redirect that was not followed.
    pub(crate) location: Option<String>,
    pub(crate) content: Vec<u8>,
    /// Whether there was more than is taken.
    pub(crate) is_cut: bool,
}

impl AttachmentFetcher {
    /// Carries an order out.
    ///
    /// # Errors
    /// The address may not be reached, or nobody answers there.
    pub(crate) async fn exchange(&self, order: &WebOrder<'_>) -> Result<WebAnswer, FetchRefusal> {
        let done = tokio::time::timeout(self.time, Box::pin(self.exchange_all(order))).await;
        done.unwrap_or(Err(FetchRefusal::Late))
    }

    async fn exchange_all(&self, order: &WebOrder<'_>) -> Result<WebAnswer, FetchRefusal> {
        let is_ipv6 = order.host.contains(':');
        let host = if is_ipv6 { format!("[{}]", order.host) } else { order.host.to_owned() };
        let only = AllowedHosts::from_str(&format!("{host}:{}", order.port));
        let only = only.map_err(|_| FetchRefusal::Host)?;
        let mut place = FetchUrl::read(order.url, &only)?;
        let _turn = self.turns.acquire().await.map_err(|_| FetchRefusal::Late)?;
        let repeats = matches!(order.method, Method::GET | Method::HEAD);
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.exchange_one(&place, order).await?;
            let next = answer.location.as_deref().filter(|_| repeats);
            match next.and_then(|location| place.follow(location, &only).ok()) {
                Some(next) => place = next,
                None => return Ok(answer),
            }
        }
        Err(FetchRefusal::Redirects)
    }

    async fn exchange_one(
        &self,
        place: &FetchUrl,
        order: &WebOrder<'_>,
    ) -> Result<WebAnswer, FetchRefusal> {
        let addresses = match place.literal() {
            Some(address) => vec![address],
            None => self.net.resolve(place.host()).await.map_err(|_| FetchRefusal::NoAddress)?,
        };
        // An owner who names a host of their own network means its addresses, whatever they are.
        let pinned = match self.config.private.names(order.host, order.port) {
            true => addresses.iter().map(|one| SocketAddr::new(*one, order.port)).collect(),
            false => place.pin(&addresses)?,
        };
        let stream = self.connect(&pinned).await?;
        let request = request(place, order)?;
        match place.scheme {
            UrlScheme::Http => self.told(request, stream).await,
            UrlScheme::Https => {
                let tls = self.tls.as_ref().ok_or(FetchRefusal::Broken)?;
                let name = ServerName::try_from(place.host().to_owned());
                let name = name.map_err(|_| FetchRefusal::Address)?;
                let stream = tls.connect(name, stream).await.map_err(|_| FetchRefusal::Broken)?;
                self.told(request, stream).await
            }
        }
    }

    async fn told<S>(&self, request: Request<Body>, stream: S) -> Result<WebAnswer, FetchRefusal>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = handshake(stream).await?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(|_| FetchRefusal::Broken)?;
            let (head, body) = response.into_parts();
            let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
            if text(CONTENT_ENCODING).is_some_and(|how| !how.eq_ignore_ascii_case("identity")) {
                return Err(FetchRefusal::Encoding);
            }
            let (content, is_cut) = read_some(Body::new(body), self.most).await?;
            Ok(WebAnswer {
                status: head.status.as_u16(),
                kind: text(CONTENT_TYPE).map(str::to_owned),
                location: text(LOCATION)
                    .filter(|_| head.status.is_redirection())
                    .map(str::to_owned),
                content,
                is_cut,
            })
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
}

fn request(place: &FetchUrl, order: &WebOrder<'_>) -> Result<Request<Body>, FetchRefusal> {
    let body = order.body.map_or_else(Body::empty, |text| Body::from(text.to_owned()));
    let mut request = Request::builder()
        .method(order.method.clone())
        .uri(&*place.path)
        .body(body)
        .map_err(|_| FetchRefusal::Address)?;
    let headers = request.headers_mut();
    headers.insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_NAME));
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    for (name, value) in &order.headers {
        let name = HeaderName::from_str(name).map_err(|_| FetchRefusal::Address)?;
        let value = HeaderValue::from_str(value).map_err(|_| FetchRefusal::Address)?;
        headers.insert(name, value);
    }
    let host = HeaderValue::from_str(&place.authority()).map_err(|_| FetchRefusal::Address)?;
    headers.insert(HOST, host);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Ok(request)
}

/// Bytes of a body, at most so many, and whether there were more.
async fn read_some(mut body: Body, most: usize) -> Result<(Vec<u8>, bool), FetchRefusal> {
    let mut content = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(data) = frame.map_err(|_| FetchRefusal::Broken)?.into_data() else { continue };
        let room = most - content.len();
        content.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return Ok((content, true));
        }
    }
    Ok((content, false))
}
