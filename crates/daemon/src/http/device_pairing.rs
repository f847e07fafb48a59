//! `/pair/..`: a device shows a code, an operator confirms it, the device fetches its token.
//!
//! The router calls these, on the port of HTTP and on that of `pair-alias`. Paths and shapes are those
//! of the published pairing guide, with polling as RFC 8628 has it: 202 while nobody has answered, 200
//! once, 403 for a no, 410 when it is over, 429 for who polls too often. What codes, secrets and
//! refresh tokens are good for is the business of `pairing` and `tokens`. An error here is the small
//! object of the guide, not an envelope.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, Request, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bridle_wire::openharness::ids::{
    CodeText, CredentialRef, Label, LoginSessionId, Name, Secret, TenantId,
};
use bridle_wire::openharness::pairing::{
    PairConfirm, PairConfirmed, PairCreate, PairCreated, PairError, PairGranted, PairPoll,
    PairRefresh, PairRevoke, PairStatus,
};
use bridle_wire::openharness::{JsonShape, OpenHarnessCode, RequestRefusal, read};

use super::auth::{HttpPeer, now};
use super::body::{self, BodyRead};
use super::media_type::is_json;
use super::{HttpService, response};
use crate::access::pairing::{self, INTERVAL_SEC, PairingPollResult};
use crate::access::tokens::{self, RenewedToken, TokenId};
use crate::byte_budget::ConnectionBytes;

/// Largest request, in bytes: what a device says about itself, or a token.
const MAX_BODY: usize = 4 << 10;

/// Reply to a call.
type Answer = Result<(StatusCode, String), PairingCallRefusal>;

/// Refusal of a call.
struct PairingCallRefusal {
    status: StatusCode,
    error: &'static str,
    need: Option<String>,
    hint: Option<&'static str>,
    /// Milliseconds until the next call may come.
    retry_after_ms: Option<i64>,
}

impl PairingCallRefusal {
    fn new(status: StatusCode, error: &'static str) -> PairingCallRefusal {
        PairingCallRefusal { status, error, need: None, hint: None, retry_after_ms: None }
    }

    fn of(code: OpenHarnessCode) -> PairingCallRefusal {
        let status = StatusCode::from_u16(code.http_status());
        let error = match code {
            OpenHarnessCode::Unauthenticated => "unauthorized",
            other => other.as_str(),
        };
        let retry_after_ms = (code == OpenHarnessCode::RateLimited).then_some(0);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        PairingCallRefusal { retry_after_ms, ..PairingCallRefusal::new(status, error) }
    }

    fn wait(error: &'static str, retry_after_ms: i64) -> PairingCallRefusal {
        let retry_after_ms = Some(retry_after_ms);
        PairingCallRefusal {
            retry_after_ms,
            ..PairingCallRefusal::new(StatusCode::TOO_MANY_REQUESTS, error)
        }
    }

    fn response(self) -> Response {
        let error = PairError {
            error: CodeText::new(self.error).expect("our codes are short"),
            need: self.need.and_then(|field| Name::new(field).ok()).into_iter().collect(),
            hint: self.hint.map(str::to_owned),
        };
        let mut response = response::json(self.status, error.to_text() + "\n");
        if let Some(ms) = self.retry_after_ms {
            // Rounded up: who comes back on time must not be early.
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(ms / 1_000 + 1));
        }
        response
    }
}

/// `POST /pair/create`: a device asks for a code.
pub(super) async fn create(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let answer = try_create(&http, &peer, request).await;
    respond(&http, answer)
}

async fn try_create(http: &Arc<HttpService>, peer: &HttpPeer, request: Request) -> Answer {
    let (asked, headers): (PairCreate, _) = take(http, peer, request).await?;
    let (uri, from) = (peer.url(&headers, "/pair/confirm"), peer.source());
    apart(http, move |http| {
        let name = asked.device_name.as_ref().map_or("", |name| name.as_str());
        let created = http.pairing.create(name, from, now()).map_err(create_refused)?;
        Ok((StatusCode::OK, created_text(&created, &uri)))
    })
    .await
}

fn create_refused(refusal: pairing::PairingRefusal) -> PairingCallRefusal {
    match refusal {
        pairing::PairingRefusal::Failed(pairing::PairingError::TooManyDevices) => {
            PairingCallRefusal::wait("could_not_allocate_code", pairing::CODE_MS)
        }
        other => refused(other),
    }
}

fn refused(refusal: pairing::PairingRefusal) -> PairingCallRefusal {
    match refusal {
        pairing::PairingRefusal::SlowDown { retry_after_ms } => {
            PairingCallRefusal::wait("rate_limited", retry_after_ms)
        }
        other => failed(&other),
    }
}

fn created_text(created: &pairing::DevicePairing, uri: &str) -> String {
    let secret = |text: &str| Secret::new(text).expect("our secrets are short");
    let seconds = |ms: i64| u64::try_from(ms / 1_000).unwrap_or(0);
    let created = PairCreated {
        code: secret(created.code.reveal()),
        pairing_id: Name::new(created.id.as_str()).expect("our ids are short"),
        expires_at: seconds(created.expires),
        expires_in_sec: seconds(pairing::CODE_MS),
        device_secret: Some(secret(created.secret.reveal())),
        interval_sec: Some(INTERVAL_SEC),
        verification_uri: Label::new(uri).ok(),
    };
    created.to_text() + "\n"
}

/// `POST /pair/confirm`: an operator says yes or no to a code.
pub(super) async fn confirm(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let answer = try_confirm(&http, &peer, request).await;
    respond(&http, answer)
}

async fn try_confirm(http: &Arc<HttpService>, peer: &HttpPeer, request: Request) -> Answer {
    let (asked, headers): (PairConfirm, _) = take(http, peer, request).await?;
    let who = peer.principal(http, &headers).await.map_err(PairingCallRefusal::of)?;
    if !who.is_owner() {
        return Err(not_an_operator());
    }
    let is_yes = match asked.decision.as_ref().map_or("confirm", |word| word.as_str()) {
        "confirm" => true,
        "deny" => false,
        _ => return Err(missing("decision")),
    };
    let from = peer.source();
    apart(http, move |http| {
        let answered = http.pairing.answer(asked.code.as_str(), is_yes, from, now());
        let device = answered.map_err(|refusal| match refusal {
            pairing::PairingRefusal::NotOpen => {
                PairingCallRefusal::new(StatusCode::BAD_REQUEST, "invalid_or_expired_code")
            }
            other => refused(other),
        })?;
        let confirmed = PairConfirmed {
            status: Name::new(if is_yes { "confirmed" } else { "denied" }).expect("it is short"),
            device_id: Name::new(device.as_str()).expect("our ids are short"),
            tenant_id: TenantId::new(tokens::TokenOwner::this_user().as_str()).ok(),
        };
        Ok((StatusCode::OK, confirmed.to_text() + "\n"))
    })
    .await
}

/// `POST /pair/poll`: a device asks whether somebody has answered.
pub(super) async fn poll(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let answer = try_poll(&http, &peer, request).await;
    respond(&http, answer)
}

async fn try_poll(http: &Arc<HttpService>, peer: &HttpPeer, request: Request) -> Answer {
    let (asked, _): (PairPoll, _) = take(http, peer, request).await?;
    let from = peer.source();
    apart(http, move |http| {
        let device = (asked.pairing_id.as_str(), asked.device_secret.as_str());
        match http.pairing.poll(&http.tokens, device, from, now()) {
            Ok(PairingPollResult::Granted(granted)) => Ok((StatusCode::OK, granted_text(&granted))),
            Ok(PairingPollResult::Pending) => Ok((StatusCode::ACCEPTED, status("pending"))),
            Ok(PairingPollResult::Denied) => {
                Err(PairingCallRefusal::new(StatusCode::FORBIDDEN, "denied"))
            }
            Ok(PairingPollResult::Expired) => {
                Err(PairingCallRefusal::new(StatusCode::GONE, "expired"))
            }
            Err(pairing::PairingRefusal::SlowDown { retry_after_ms }) => {
                Err(PairingCallRefusal::wait("slow_down", retry_after_ms))
            }
            Err(other) => Err(refused(other)),
        }
    })
    .await
}

/// `POST /pair/refresh`: a device renews its token.
pub(super) async fn refresh(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let answer = try_refresh(&http, &peer, request).await;
    respond(&http, answer)
}

async fn try_refresh(http: &Arc<HttpService>, peer: &HttpPeer, request: Request) -> Answer {
    let (asked, _): (PairRefresh, _) = take(http, peer, request).await?;
    let from = peer.source();
    apart(http, move |http| {
        match http.pairing.refresh(&http.tokens, asked.refresh_token.as_str(), from, now()) {
            Ok(renewed) => Ok((StatusCode::OK, granted_text(&renewed))),
            Err(pairing::PairingRefusal::NotOpen) => {
                Err(PairingCallRefusal::new(StatusCode::FORBIDDEN, "invalid_refresh_token"))
            }
            Err(other) => Err(refused(other)),
        }
    })
    .await
}

/// `POST /pair/revoke`: an operator, or the device itself, makes its tokens good for nothing.
pub(super) async fn revoke(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let answer = try_revoke(&http, &peer, request).await;
    respond(&http, answer)
}

async fn try_revoke(http: &Arc<HttpService>, peer: &HttpPeer, request: Request) -> Answer {
    let (asked, headers): (PairRevoke, _) = take(http, peer, request).await?;
    let who = peer.principal(http, &headers).await.map_err(PairingCallRefusal::of)?;
    let id = TokenId::parse(asked.device_id.as_str());
    let is_own = id.is_some() && who.token() == id.as_ref();
    if !is_own && !who.is_owner() {
        return Err(not_an_operator());
    }
    apart(http, move |http| {
        let unknown = || PairingCallRefusal::new(StatusCode::NOT_FOUND, "not_found");
        match http.tokens.revoke(&id.ok_or_else(unknown)?) {
            Ok(()) => Ok((StatusCode::OK, status("revoked"))),
            Err(tokens::TokenError::Unknown { .. }) => Err(unknown()),
            Err(error) => Err(failed(&error)),
        }
    })
    .await
}

fn not_an_operator() -> PairingCallRefusal {
    let hint = Some("use a token with the scope admin, or `bridle pair confirm CODE`");
    PairingCallRefusal { hint, ..PairingCallRefusal::new(StatusCode::FORBIDDEN, "forbidden") }
}

/// Reads what is asked for. A device that says nothing at all says `{}`.
async fn take<T: JsonShape>(
    http: &HttpService,
    peer: &HttpPeer,
    request: Request,
) -> Result<(T, HeaderMap), PairingCallRefusal> {
    let (head, body) = request.into_parts();
    let headers = head.headers;
    peer.check(&headers).map_err(PairingCallRefusal::of)?;
    let deadline = http.shared.config.limits.frame_deadline.min(body::STRANGER_BODY_DEADLINE);
    let mut held = ConnectionBytes::new(Arc::clone(&http.shared.stranger_budget));
    let bytes = match body::read(body, MAX_BODY, deadline, &mut held).await {
        BodyRead::Whole(bytes) if bytes.is_empty() => Bytes::from_static(b"{}"),
        BodyRead::Whole(bytes) if is_json(&headers) => bytes,
        BodyRead::Whole(_) => {
            return Err(PairingCallRefusal::of(OpenHarnessCode::UnsupportedMediaType));
        }
        BodyRead::TooLarge(_) => {
            return Err(PairingCallRefusal::of(OpenHarnessCode::PayloadTooLarge));
        }
        BodyRead::Broken(_) => {
            return Err(PairingCallRefusal::new(StatusCode::BAD_REQUEST, "invalid_json"));
        }
        BodyRead::NoRoom => return Err(PairingCallRefusal::of(OpenHarnessCode::EngineOverloaded)),
    };
    let asked = read(&bytes, &http.limits).map_err(|refused| match refused.refusal {
        RequestRefusal::Invalid(invalid) if !invalid.field.is_empty() => missing(&invalid.field),
        _ => PairingCallRefusal::new(StatusCode::BAD_REQUEST, "invalid_json"),
    })?;
    Ok((asked, headers))
}

fn missing(field: &str) -> PairingCallRefusal {
    let need = Some(field.to_owned());
    PairingCallRefusal {
        need,
        ..PairingCallRefusal::new(StatusCode::BAD_REQUEST, "missing_fields")
    }
}

/// Does something on a thread that may wait for the disk.
async fn apart(
    http: &Arc<HttpService>,
    work: impl FnOnce(&HttpService) -> Answer + Send + 'static,
) -> Answer {
    let own = Arc::clone(http);
    tokio::task::spawn_blocking(move || work(&own)).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a pairing could not be served apart");
        Err(PairingCallRefusal::of(OpenHarnessCode::InternalError))
    })
}

fn failed(error: &(dyn std::error::Error + 'static)) -> PairingCallRefusal {
    let cause = error.source().map(ToString::to_string);
    tracing::error!(%error, cause, "a pairing could not be served");
    PairingCallRefusal::of(OpenHarnessCode::InternalError)
}

fn status(word: &str) -> String {
    PairStatus { status: Name::new(word).expect("our words are short") }.to_text() + "\n"
}

/// A token and what belongs to it, as a device gets it.
fn granted_text(granted: &RenewedToken) -> String {
    let secret = |text: &str| Secret::new(text).expect("our tokens are short");
    let id = granted.id.as_str();
    let seconds = u64::try_from((granted.expires - now()) / 1_000).unwrap_or(0);
    let granted = PairGranted {
        access_token: secret(granted.token.reveal()),
        session_id: LoginSessionId::new(format!("device-{id}")).ok(),
        credential_ref: CredentialRef::new(id).ok(),
        device_id: Name::new(id).expect("our ids are short"),
        tenant_id: TenantId::new(tokens::TokenOwner::this_user().as_str()).ok(),
        expires_in_sec: Some(seconds),
        refresh_token: Some(secret(granted.refresh.reveal())),
    };
    granted.to_text() + "\n"
}

fn respond(http: &HttpService, answer: Answer) -> Response {
    let mut response = match answer {
        Ok((status, text)) => response::json(status, text),
        Err(refused) => refused.response(),
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    http.shared.metrics.http(response.status().as_u16());
    response
}
