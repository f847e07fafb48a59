//! `POST /v1/pair`: a device redeems the code that `bridle pair` showed, and gets its token once.
//!
//! The one exchange that needs no credential. What a code is good for and how often somebody may be
//! wrong is `pairing`'s business; here is what it looks like over HTTP. Whoever is refused is told
//! the same, whether the code was wrong, redeemed or over.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bridle_wire::openharness::ids::{CredentialRef, Name, Secret};
use bridle_wire::openharness::pairing::{PairConfirm, PairGranted};
use bridle_wire::openharness::{JsonShape as _, OpenHarnessCode, RequestEcho, read};

use super::auth::{HttpPeer, now};
use super::body::{self, BodyRead};
use super::media_type::is_json;
use super::trace_headers::TraceHeaders;
use super::{HttpService, response};
use crate::access::network::PeerSource;
use crate::access::pairing::{PairedToken, PairingRefusal};
use crate::byte_budget::ConnectionBytes;

/// Largest request, in bytes: a code and what else a device may say about itself.
const MAX_BODY: usize = 4 << 10;

/// Takes a code.
pub(super) async fn redeem(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let response = match code_of(&http, &peer, &head.headers, body).await {
        Ok(code) => match try_redeem(&http, code, peer.source()).await {
            Ok(text) => granted(text),
            Err(refusal) => refused(&refusal, &head.headers),
        },
        Err(code) => {
            response::error(code, &RequestEcho::default(), TraceHeaders::of(&head.headers))
        }
    };
    http.shared.metrics.http(response.status().as_u16());
    response
}

async fn code_of(
    http: &HttpService,
    peer: &HttpPeer,
    headers: &HeaderMap,
    body: Body,
) -> Result<Secret, OpenHarnessCode> {
    peer.check(headers)?;
    if !is_json(headers) {
        return Err(OpenHarnessCode::UnsupportedMediaType);
    }
    let deadline = http.shared.config.limits.frame_deadline.min(body::STRANGER_BODY_DEADLINE);
    let mut held = ConnectionBytes::new(Arc::clone(&http.shared.stranger_budget));
    let bytes = match body::read(body, MAX_BODY, deadline, &mut held).await {
        BodyRead::Whole(bytes) => bytes,
        BodyRead::TooLarge(_) => return Err(OpenHarnessCode::PayloadTooLarge),
        BodyRead::Broken(_) => return Err(OpenHarnessCode::InvalidRequest),
        BodyRead::NoRoom => return Err(OpenHarnessCode::EngineOverloaded),
    };
    let asked: PairConfirm =
        read(&bytes, &http.limits).map_err(|_| OpenHarnessCode::InvalidRequest)?;
    Ok(asked.code)
}

/// Redeems on a thread that may wait for the disk.
async fn try_redeem(
    http: &Arc<HttpService>,
    code: Secret,
    from: PeerSource,
) -> Result<String, PairingRefusal> {
    let own = Arc::clone(http);
    let redeem = move || own.pairing.redeem(&own.tokens, code.as_str(), from, now());
    match tokio::task::spawn_blocking(redeem).await {
        Ok(redeemed) => redeemed.map(|paired| text_of(&paired)),
        Err(error) => {
            tracing::error!(%error, "a code could not be redeemed apart");
            Err(PairingRefusal::NotOpen)
        }
    }
}

fn text_of(paired: &PairedToken) -> String {
    let seconds = |end: i64| u64::try_from((end - now()) / 1_000).unwrap_or(0);
    let id = paired.id.as_str();
    let granted = PairGranted {
        access_token: Secret::new(paired.token.reveal()).expect("our tokens are short"),
        session_id: None,
        credential_ref: CredentialRef::new(id).ok(),
        device_id: Name::new(id).expect("our ids are short"),
        tenant_id: None,
        expires_in_sec: paired.expires.map(seconds),
        refresh_token: None,
    };
    granted.to_text() + "\n"
}

fn granted(text: String) -> Response {
    let mut response = response::json(StatusCode::OK, text);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn refused(refusal: &PairingRefusal, headers: &HeaderMap) -> Response {
    let code = match refusal {
        PairingRefusal::NotOpen => OpenHarnessCode::Forbidden,
        PairingRefusal::SlowDown { .. } => OpenHarnessCode::RateLimited,
        PairingRefusal::Failed(error) => {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(%error, cause, "a code could not be redeemed");
            OpenHarnessCode::InternalError
        }
    };
    let mut response = response::error(code, &RequestEcho::default(), TraceHeaders::of(headers));
    if let PairingRefusal::SlowDown { retry_after_ms } = refusal {
        // Rounded up: who comes back on time must not be early.
        let seconds = retry_after_ms / 1_000 + 1;
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
