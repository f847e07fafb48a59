//! What is offered, and how the daemon is: documents that need no request to be understood.
//!
//! Computed from what is built and what is on: a capability, a profile or a type of directive that
//! is not served to whoever asks is not named.

use std::sync::{Arc, LazyLock};

use axum::extract::{Extension, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bridle_loop::SessionAccess;
use bridle_wire::openharness::capability::{
    self, APPROVAL, CapabilityOffer, FEEDBACK, PARALLEL, RICH_CARDS, STREAMING, UPLOAD,
};
use bridle_wire::openharness::directive::RiskTier;
use bridle_wire::openharness::discovery::{
    ActionInfo, AuthInfo, DiscoveryDocument, DiscoveryLimits, EngineInfo, error_codes,
};
use bridle_wire::openharness::event::{LINES_PROFILE, SSE_PROFILE, WEBSOCKET_PROFILE};
use bridle_wire::openharness::exchange::EngineHealth;
use bridle_wire::openharness::ids::{ActionType, Label, Name};
use bridle_wire::openharness::payload::{self, RENDER_MESSAGE, REQUEST_APPROVAL};
use bridle_wire::openharness::shape::ApprovalGate;
use bridle_wire::openharness::{
    Capabilities, CapabilityDenial, Json, JsonShape as _, MessageLimits, OpenHarnessCode,
    ProtocolVersion, RequestEcho,
};

use super::auth::HttpPeer;
use super::rate::RequestSource;
use super::trace_headers::TraceHeaders;
use super::{HttpService, attachments, openapi, response};
use crate::access::principal::Principal;
use crate::config::{DaemonConfig, EventRate};

/// Our name.
const ENGINE: &str = "bridle";

/// Profiles beyond version 1 that are served over HTTP.
const OVER_HTTP: [&str; 2] = [SSE_PROFILE, WEBSOCKET_PROFILE];

/// Those that are served on lines.
const ON_LINES: [&str; 1] = [LINES_PROFILE];

/// Types of directives that are sent.
const SENT: [&str; 2] = [RENDER_MESSAGE, REQUEST_APPROVAL];

/// The version of `dev.bridle.feedback` that is served.
const FEEDBACK_VERSION: u64 = 1;

/// Access of a request, which decides what it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestTransport {
    /// In requests of HTTP, or on a WebSocket.
    Http,
    /// On lines. Files are out of reach there: they are their principal's, which has no HTTP.
    Lines,
}

impl RequestTransport {
    fn of(who: &Principal) -> RequestTransport {
        match who {
            Principal::Stdio => RequestTransport::Lines,
            _ => RequestTransport::Http,
        }
    }

    fn profiles(self) -> &'static [&'static str] {
        match self {
            RequestTransport::Http => &OVER_HTTP,
            RequestTransport::Lines => &ON_LINES,
        }
    }

    /// Streaming that is offered: a shell that lists only unknown profiles gets none.
    fn streaming(self, asked: Option<&Capabilities>) -> CapabilityOffer {
        let profiles = self.profiles();
        let lists =
            |profile: &&str| asked.is_some_and(|asked| asked.lists_profile(STREAMING, profile));
        if asked.is_some_and(|asked| asked.lists_profiles(STREAMING)) && !profiles.iter().any(lists)
        {
            return CapabilityOffer::Denied(capability::DenialReason::VersionMismatch);
        }
        let profiles = profiles.iter().copied().map(Json::from);
        CapabilityOffer::Honored(Json::object([("profiles", Json::array(profiles))]))
    }

    fn upload(self) -> CapabilityOffer {
        match self {
            RequestTransport::Http => CapabilityOffer::Honored(Json::object([(
                "endpoint",
                Json::from(attachments::PATH),
            )])),
            RequestTransport::Lines => {
                CapabilityOffer::Denied(capability::DenialReason::NotSupported)
            }
        }
    }
}

/// Every capability that is known, and what is done about it.
fn offers(
    transport: RequestTransport,
    asked: Option<&Capabilities>,
) -> Vec<(&'static str, CapabilityOffer)> {
    let denied = CapabilityOffer::Denied(capability::DenialReason::NotSupported);
    let keys = [PARALLEL, RICH_CARDS];
    let denied = keys.into_iter().map(|key| (key, denied.clone()));
    let feedback = match asked.is_none_or(has_our_feedback) {
        true => CapabilityOffer::Honored(Json::object([("version", Json::from(FEEDBACK_VERSION))])),
        false => CapabilityOffer::Denied(capability::DenialReason::VersionMismatch),
    };
    // Who can ask its user and cannot say what the answer was, asks in vain.
    let asks_in_vain = asked.is_some_and(|asked| asked.asks(APPROVAL) && !can_ask(Some(asked)));
    let approval = match asks_in_vain {
        true => CapabilityOffer::Denied(capability::DenialReason::RequiresCapability),
        false => CapabilityOffer::Honored(Json::from(true)),
    };
    let honored = [
        (STREAMING, transport.streaming(asked)),
        (UPLOAD, transport.upload()),
        (APPROVAL, approval),
        (FEEDBACK, feedback),
    ];
    honored.into_iter().chain(denied).collect()
}

/// Tells whether a shell can ask its user for a yes and bring the answer back.
pub(super) fn can_ask(asked: Option<&Capabilities>) -> bool {
    asked.is_some_and(|asked| {
        asked.asks(APPROVAL) && asked.asks(FEEDBACK) && has_our_feedback(asked)
    })
}

/// Tells whether the feedback that a shell speaks of is ours; one that does not say speaks ours.
fn has_our_feedback(asked: &Capabilities) -> bool {
    let value = asked.0.get(FEEDBACK).and_then(Json::as_object);
    value
        .and_then(|value| value.get("version"))
        .is_none_or(|version| *version == Json::from(FEEDBACK_VERSION))
}

/// Capabilities for shells that ask for none, made once.
static OVER_HTTP_OFFERED: LazyLock<Arc<Capabilities>> =
    LazyLock::new(|| offered(RequestTransport::Http).into());
static ON_LINES_OFFERED: LazyLock<Arc<Capabilities>> =
    LazyLock::new(|| offered(RequestTransport::Lines).into());

fn offered(transport: RequestTransport) -> Capabilities {
    capability::answer(None, &offers(transport, None)).0
}

/// Answers what a shell asked for.
pub(super) fn capabilities(
    who: &Principal,
    asked: Option<&Capabilities>,
) -> (Arc<Capabilities>, Vec<CapabilityDenial>) {
    match (asked, RequestTransport::of(who)) {
        (None, RequestTransport::Http) => (Arc::clone(&OVER_HTTP_OFFERED), Vec::new()),
        (None, RequestTransport::Lines) => (Arc::clone(&ON_LINES_OFFERED), Vec::new()),
        (asked, transport) => {
            let (supported, denials) = capability::answer(asked, &offers(transport, asked));
            (supported.into(), denials)
        }
    }
}

/// The documents: who asks from this machine may ask more often.
#[derive(Debug)]
pub(super) struct DiscoveryDocuments {
    here: String,
    elsewhere: String,
    /// The OpenAPI document.
    pub(super) openapi: String,
}

impl DiscoveryDocuments {
    /// Makes them.
    pub(super) fn new(limits: &MessageLimits, config: &DaemonConfig) -> DiscoveryDocuments {
        let of = |rate| document(limits, rate, config);
        DiscoveryDocuments {
            here: of(config.http_rates.local),
            elsewhere: of(config.http_rates.remote),
            openapi: openapi::document(),
        }
    }

    fn of(&self, from: RequestSource) -> &str {
        match from {
            RequestSource::Here => &self.here,
            RequestSource::Elsewhere => &self.elsewhere,
        }
    }
}

fn document(limits: &MessageLimits, rate: Option<EventRate>, config: &DaemonConfig) -> String {
    let name = |text: &str| Name::new(text).expect("our names are short");
    let action = |kind: &str| ActionInfo {
        action_type: ActionType::new(kind).expect("our types are short"),
        risk_tier: RiskTier::Safe,
        requires_user_approval: ApprovalGate::Open,
        payload_schema: payload::payload_schema(kind),
    };
    let lines = config.stdio_json.then_some(ON_LINES).into_iter().flatten();
    let document = DiscoveryDocument {
        protocol_versions: ProtocolVersion::supported(),
        engine: EngineInfo {
            name: name(ENGINE),
            version: Label::new(env!("CARGO_PKG_VERSION")).expect("our version is short"),
        },
        capabilities: offered(RequestTransport::Http),
        action_types: SENT.into_iter().map(action).collect(),
        error_codes: error_codes(),
        profiles: OVER_HTTP.into_iter().chain(lines).map(name).collect(),
        limits: DiscoveryLimits {
            max_attachment_bytes: u64::try_from(config.files.bytes).ok(),
            requests_per_second: rate.map(|rate| rate.per_second.into()),
            request_burst: rate.map(|rate| rate.burst.into()),
            ..DiscoveryLimits::of(limits)
        },
        auth: AuthInfo { schemes: vec![name("bearer")] },
    };
    document.to_text() + "\n"
}

/// `GET /v1/openharness`.
pub(super) async fn get(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    headers: HeaderMap,
) -> Response {
    let response = match peer.check(&headers) {
        Ok(()) => {
            let mut response =
                response::json(StatusCode::OK, http.discovery.of(peer.from()).to_owned());
            let cache = HeaderValue::from_static("public, max-age=300");
            response.headers_mut().insert(CACHE_CONTROL, cache);
            response
        }
        Err(code) => response::error(code, &RequestEcho::default(), TraceHeaders::of(&headers)),
    };
    counted(&http, response)
}

/// `GET /health`.
pub(super) async fn health(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    headers: HeaderMap,
) -> Response {
    if let Err(code) = peer.check(&headers) {
        return counted(
            &http,
            response::error(code, &RequestEcho::default(), TraceHeaders::of(&headers)),
        );
    }
    let shared = &http.shared;
    let is_well =
        shared.hub.home.is_healthy() && !shared.budget.full() && !shared.stop.is_cancelled();
    let (status, word) = match is_well {
        true => (StatusCode::OK, "ok"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "degraded"),
    };
    let name = |text: &str| Name::new(text).expect("our names are short");
    let health = EngineHealth { status: name(word), service: name(ENGINE) };
    counted(&http, response::json(status, health.to_text() + "\n"))
}

/// `GET /metrics`.
pub(super) async fn metrics(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    headers: HeaderMap,
) -> Response {
    let code = match peer.let_in(&http, &headers).await {
        Ok(who) if who.permits(SessionAccess::Observe) => None,
        Ok(_) => Some(OpenHarnessCode::Forbidden),
        Err(code) => Some(code),
    };
    if let Some(code) = code {
        return counted(
            &http,
            response::error(code, &RequestEcho::default(), TraceHeaders::of(&headers)),
        );
    }
    let shared = &http.shared;
    let text = shared.metrics.text(shared.open(), shared.budget.used());
    let kind =
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    counted(&http, response::document(StatusCode::OK, kind, text))
}

fn counted(http: &HttpService, response: Response) -> Response {
    http.shared.metrics.http(response.status().as_u16());
    response
}
