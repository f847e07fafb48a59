//! Attachments by reference: a file is uploaded once, and messages name it.
//!
//! The router calls [`upload`] and [`download`]; `exchange` has [`resolve()`] find what a request refers
//! to before the session is told of it. The engine's shelf keeps files for
//! their principal alone and for a limited time. A file of somebody else gets the same reply as one
//! that does not exist.

mod digest;
mod resolve;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path as Tail, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, LOCATION, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bridle_loop::SessionAccess;
use bridle_record::{KeptFile, PutResult};
use bridle_wire::openharness::exchange::AttachmentStored;
use bridle_wire::openharness::ids::{Label, Name, RefId, Timestamp};
use bridle_wire::openharness::{
    ErrorObject, JsonShape as _, OpenHarnessCode, RequestEcho, ResponseMessage,
};
use tokio::sync::Semaphore;

use super::auth::HttpPeer;
use super::body::{self, BodyRead};
use super::trace_headers::TraceHeaders;
use super::{HttpService, response};
use crate::access::principal::Principal;
use crate::byte_budget::ConnectionBytes;
use crate::config::DaemonConfig;
use crate::engine::reference_to;
use crate::error::DaemonError;
use crate::fetch::AttachmentFetcher;
use bridle_sexp::byte_text::hex;

pub(super) use resolve::{AttachmentFacts, repeats_first, resolve};

/// Path of uploads; files are found below it.
pub(super) const PATH: &str = "/v1/openharness/attachments";

/// Uploads and downloads at the same time: each holds one file in memory.
const MAX_CONCURRENT_TRANSFERS: usize = 8;

/// Factor of the deadline of an upload over that of a message, which is 16 times smaller.
const UPLOAD_DEADLINE_FACTOR: u32 = 8;

/// Time between two deletions of expired files, which are not handed out meanwhile.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// Reason in an error that tells a full shelf from other overloads.
const NO_ROOM: &str = "no_room";

/// `Retry-After` of a full shelf, in seconds: files expire by the hour.
const NO_ROOM_RETRY_SECONDS: HeaderValue = HeaderValue::from_static("3600");

/// Characters of a media type; registered ones have fewer than 128.
const MAX_MEDIA_TYPE_CHARS: usize = 255;

/// Media type of a file without one.
const DEFAULT_MEDIA_TYPE: &str = "application/octet-stream";

/// Uploads, downloads and fetches of files, which the engine keeps.
#[derive(Debug)]
pub(crate) struct AttachmentStore {
    turns: Semaphore,
    fetcher: AttachmentFetcher,
}

impl AttachmentStore {
    /// Prepares to fetch.
    ///
    /// # Errors
    /// An authority that the settings name cannot be used.
    pub(crate) fn open(config: &DaemonConfig) -> Result<AttachmentStore, DaemonError> {
        let turns = Semaphore::new(MAX_CONCURRENT_TRANSFERS);
        let fetcher = AttachmentFetcher::new(&config.fetch, config.files.bytes)
            .map_err(DaemonError::Fetch)?;
        Ok(AttachmentStore { turns, fetcher })
    }
}

/// Destroys expired files from time to time, until the daemon stops.
pub(crate) async fn sweep(http: Arc<HttpService>) {
    loop {
        let own = Arc::clone(&http);
        let swept = tokio::task::spawn_blocking(move || own.shelf().sweep()).await;
        match swept {
            Ok(Ok(0)) => {}
            Ok(Ok(count)) => tracing::debug!(count, "attachments expired"),
            Ok(Err(error)) => tracing::warn!(%error, "attachments cannot be looked through"),
            Err(error) => tracing::error!(%error, "attachments were not looked through"),
        }
        tokio::select! {
            () = http.shared.stop.cancelled() => return,
            () = tokio::time::sleep(SWEEP_INTERVAL) => {}
        }
    }
}

/// `POST /v1/openharness/attachments`.
pub(super) async fn upload(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let response = match take(&http, &peer, &head.headers, body).await {
        Ok(kept) => stored(&kept),
        Err(error) => refused(*error, &head.headers),
    };
    http.shared.metrics.http(response.status().as_u16());
    response
}

/// `GET /v1/openharness/attachments/{ref_id}`.
pub(super) async fn download(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    reference: Result<Tail<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    // What is no text refers to nothing.
    let reference = reference.map_or_else(|_| String::new(), |Tail(reference)| reference);
    let response = match give(&http, &peer, &headers, &reference).await {
        Ok((kept, content)) => file(&kept, content),
        Err(error) => refused(*error, &headers),
    };
    http.shared.metrics.http(response.status().as_u16());
    response
}

async fn take(
    http: &Arc<HttpService>,
    peer: &HttpPeer,
    headers: &HeaderMap,
    body: Body,
) -> Result<KeptFile, Box<ErrorObject>> {
    let who = known(http, peer, headers, SessionAccess::Control).await?;
    let kind = kind_of(headers)?;
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(of(OpenHarnessCode::UnsupportedMediaType));
    }
    if headers.contains_key(CONTENT_RANGE) {
        return Err(of(OpenHarnessCode::InvalidRequest));
    }
    let wanted = digest::wanted(headers).map_err(|()| bad_digest())?;
    let turn = http.files.turns.try_acquire().map_err(|_| of(OpenHarnessCode::EngineOverloaded))?;
    let most = http.shelf().limits().bytes;
    let deadline = http.shared.config.limits.frame_deadline * UPLOAD_DEADLINE_FACTOR;
    let mut held = ConnectionBytes::new(Arc::clone(&http.shared.budget));
    let content = match body::read(body, most, deadline, &mut held).await {
        BodyRead::Whole(content) => content,
        BodyRead::TooLarge(_) => {
            let most = u64::try_from(most).unwrap_or(u64::MAX);
            return Err(Box::new(
                ErrorObject::of(OpenHarnessCode::PayloadTooLarge).with_detail("max_bytes", most),
            ));
        }
        BodyRead::Broken(_) => return Err(of(OpenHarnessCode::InvalidRequest)),
        BodyRead::NoRoom => return Err(of(OpenHarnessCode::EngineOverloaded)),
    };
    let kept = apart(http, move |http| {
        if !wanted.iter().all(|wanted| wanted.fits(&content)) {
            return Ok(None);
        }
        http.shelf().keep(&who.name(), &kind, &content).map(Some)
    });
    let kept = kept.await?;
    drop((turn, held));
    match kept {
        Some(PutResult::Kept(kept)) => Ok(kept),
        Some(PutResult::NoRoom) => Err(no_room()),
        None => Err(bad_digest()),
    }
}

async fn give(
    http: &Arc<HttpService>,
    peer: &HttpPeer,
    headers: &HeaderMap,
    reference: &str,
) -> Result<(KeptFile, Vec<u8>), Box<ErrorObject>> {
    let who = known(http, peer, headers, SessionAccess::Observe).await?;
    let _turn =
        http.files.turns.try_acquire().map_err(|_| of(OpenHarnessCode::EngineOverloaded))?;
    let reference = reference.to_owned();
    let found = apart(http, move |http| http.shelf().read(&who.name(), &reference)).await?;
    found.ok_or_else(|| of(OpenHarnessCode::NotFound))
}

/// Returns the principal of a request that is let in and may have attachments.
async fn known(
    http: &HttpService,
    peer: &HttpPeer,
    headers: &HeaderMap,
    access: SessionAccess,
) -> Result<Principal, Box<ErrorObject>> {
    let who = peer.let_in(http, headers).await.map_err(of)?;
    if who.permits(access) { Ok(who) } else { Err(of(OpenHarnessCode::Forbidden)) }
}

/// Works with the shelf on a thread that may wait for the disk.
async fn apart<T: Send + 'static>(
    http: &Arc<HttpService>,
    work: impl FnOnce(&HttpService) -> Result<T, bridle_record::StoreError> + Send + 'static,
) -> Result<T, Box<ErrorObject>> {
    let own = Arc::clone(http);
    match tokio::task::spawn_blocking(move || work(&own)).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error @ (bridle_record::StoreError::Full | bridle_record::StoreError::Busy))) => {
            tracing::warn!(%error, "an attachment was not kept");
            Err(of(OpenHarnessCode::EngineOverloaded))
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "the shelf of attachments failed");
            Err(of(OpenHarnessCode::InternalError))
        }
        Err(error) => {
            tracing::error!(%error, "work with an attachment broke off");
            Err(of(OpenHarnessCode::InternalError))
        }
    }
}

fn of(code: OpenHarnessCode) -> Box<ErrorObject> {
    Box::new(ErrorObject::of(code))
}

fn bad_digest() -> Box<ErrorObject> {
    let error = ErrorObject::of(OpenHarnessCode::InvalidRequest);
    Box::new(error.with_message("the digest is not one, or not that of the body"))
}

fn no_room() -> Box<ErrorObject> {
    let error = ErrorObject::of(OpenHarnessCode::RateLimited);
    let error = error.with_message("there is no room for more attachments until some expire");
    Box::new(error.with_detail("reason", NO_ROOM))
}

/// Returns the media type that a shell gives its file.
fn kind_of(headers: &HeaderMap) -> Result<Box<str>, Box<ErrorObject>> {
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    let Some(kind) = all.next() else { return Ok(DEFAULT_MEDIA_TYPE.into()) };
    let kind = kind.to_str().ok().filter(|kind| is_kind(kind) && all.next().is_none());
    kind.map(Into::into).ok_or_else(|| of(OpenHarnessCode::UnsupportedMediaType))
}

/// Tells whether a text has the form of a type, with parameters or without.
fn is_kind(text: &str) -> bool {
    let is_token = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !part.is_empty() && part.bytes().all(allowed)
    };
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let halves = essence.split_once('/');
    text.len() <= MAX_MEDIA_TYPE_CHARS && halves.is_some_and(|(a, b)| is_token(a) && is_token(b))
}

fn stored(kept: &KeptFile) -> Response {
    let reference = reference_to(kept.name);
    let document = AttachmentStored {
        ref_id: RefId::new(&*reference).expect("our references are short"),
        size_bytes: kept.bytes,
        sha256: Name::new(hex(&kept.sha256)).expect("a hash is short"),
        mime_type: Label::new(&*kept.kind).expect("a type was bounded when it came"),
        expires_at: Timestamp::from_unix_ms(kept.expires),
    };
    let mut response = response::json(StatusCode::CREATED, document.to_text() + "\n");
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(place) = HeaderValue::from_str(&format!("{PATH}/{reference}")) {
        headers.insert(LOCATION, place);
    }
    response
}

/// Makes the response that hands a file out: to be saved, never shown or run by a browser.
fn file(kept: &KeptFile, content: Vec<u8>) -> Response {
    let kind = if is_inert(&kept.kind) { &*kept.kind } else { DEFAULT_MEDIA_TYPE };
    let kind = HeaderValue::from_str(kind).unwrap_or(HeaderValue::from_static(DEFAULT_MEDIA_TYPE));
    let mut response = response::document(StatusCode::OK, kind, content);
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_DISPOSITION, "attachment"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (CACHE_CONTROL, "private, no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(digest) = HeaderValue::from_str(&digest::field(&kept.sha256)) {
        headers.insert(HeaderName::from_static("content-digest"), digest);
    }
    response
}

/// Tells whether a browser can run nothing that is of this type.
fn is_inert(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    !["html", "xml", "svg", "script", "xsl"].iter().any(|active| kind.contains(active))
}

fn refused(error: ErrorObject, headers: &HeaderMap) -> Response {
    let reason = error.details.as_ref().and_then(|details| details.get("reason"));
    let is_crowded = reason.and_then(|reason| reason.as_str()) == Some(NO_ROOM);
    let message = ResponseMessage::error(&RequestEcho::default(), error);
    let mut response = response::message(&message, TraceHeaders::of(headers));
    if is_crowded {
        response.headers_mut().insert(RETRY_AFTER, NO_ROOM_RETRY_SECONDS);
    }
    response
}

#[cfg(test)]
mod tests;
