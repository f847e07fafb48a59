//! The OpenAPI document: the paths that are served, with the schemas that messages are read by.
//!
//! Made once at start and served as it is. Paths are written down here beside the router; what
//! their bodies look like comes from the types that read and write them.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::http::StatusCode;
use axum::response::Response;
use bridle_wire::openharness::schema::components;
use bridle_wire::openharness::{
    Json, JsonObject, OpenHarnessCode, ReadMode, RequestEcho, SchemaDirection,
};

use super::auth::HttpPeer;
use super::trace_headers::TraceHeaders;
use super::{HttpService, attachments, response};

/// Versions that are served.
const VERSIONS: &str = r"^1\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$";

/// Headers of an exchange that mean something, and what. `Idempotency-IdempotencyKey` can only repeat what the
/// body says.
const HEADERS: [(&str, &str); 4] = [
    ("Last-Event-ID", "The number of the last event seen, to take a stream up again"),
    ("X-Request-ID", "Comes back when the body has no `request_id`"),
    ("X-Correlation-ID", "Comes back when the body has no `correlation_id`"),
    ("traceparent", "Comes back"),
];

/// Statuses that an exchange is answered with: one for each code there is, and success.
fn statuses() -> Vec<u16> {
    let mut all: Vec<u16> = OpenHarnessCode::ALL.iter().map(|code| code.http_status()).collect();
    all.push(200);
    all.sort_unstable();
    all.dedup();
    all
}

/// Makes the document.
pub(super) fn document() -> String {
    let mut schemas = requests();
    for (name, schema) in components(SchemaDirection::Response, ReadMode::Strict).iter() {
        schemas.insert(name, schema.clone());
    }
    let bearer = object([("type", "http".into()), ("scheme", "bearer".into())]);
    let document = object([
        ("openapi", "3.1.0".into()),
        (
            "info",
            object([
                ("title", "bridle, an engine of the OpenHarness Protocol (SynSwarm)".into()),
                ("version", env!("CARGO_PKG_VERSION").into()),
            ]),
        ),
        ("paths", paths()),
        (
            "components",
            object([
                ("schemas", Json::Object(schemas)),
                ("securitySchemes", object([("bearer", bearer)])),
            ]),
        ),
        // A token, or none on the machine itself.
        ("security", Json::array([object([("bearer", Json::array([]))]), object([])])),
    ]);
    document.to_text() + "\n"
}

/// Schema of a request. A schema of the protocol knows the form of a version alone; this engine
/// serves one major version.
fn requests() -> JsonObject {
    let mut schemas = components(SchemaDirection::Request, ReadMode::Lenient);
    let name = "request.requestMessage";
    let narrowed = schemas.get(name).and_then(Json::as_object).cloned().and_then(|mut message| {
        let mut fields = message.get("properties").and_then(Json::as_object)?.clone();
        let mut version = fields.get("protocol_version").and_then(Json::as_object)?.clone();
        version.insert("pattern", VERSIONS);
        fields.insert("protocol_version", version);
        message.insert("properties", fields);
        Some(message)
    });
    if let Some(message) = narrowed {
        schemas.insert(name, message);
    }
    schemas
}

fn paths() -> Json {
    let exchange = object([("post", post()), ("get", get("What is offered", "discovery"))]);
    object([
        ("/v1/openharness", exchange),
        ("/v1/openharness/cancel", object([("post", cancel())])),
        (attachments::PATH, object([("post", upload())])),
        ("/v1/openharness/attachments/{ref_id}", object([("get", download())])),
        ("/.well-known/openharness", object([("get", get("What is offered", "discovery"))])),
        ("/v1/pair", object([("post", pair())])),
        ("/health", object([("get", health())])),
        ("/metrics", object([("get", metrics())])),
        (
            "/pair/create",
            pairing("pairCreate", &[(200, "pairCreated")], &[400, 403, 413, 415, 429]),
        ),
        (
            "/pair/confirm",
            pairing("pairConfirm", &[(200, "pairConfirmed")], &[400, 401, 403, 413, 415, 429]),
        ),
        (
            "/pair/poll",
            pairing(
                "pairPoll",
                &[(200, "pairGranted"), (202, "pairStatus")],
                &[400, 403, 410, 413, 415, 429],
            ),
        ),
        (
            "/pair/refresh",
            pairing("pairRefresh", &[(200, "pairGranted")], &[400, 403, 413, 415, 429]),
        ),
        (
            "/pair/revoke",
            pairing("pairRevoke", &[(200, "pairStatus")], &[400, 401, 403, 404, 413, 415, 429]),
        ),
    ])
}

/// A call of the pairing guide; what it is refused with is the guide's, too.
fn pairing(request: &str, good: &[(u16, &str)], bad: &[u16]) -> Json {
    let good = good.iter().map(|(status, shape)| (*status, "Done", format!("response.{shape}")));
    let error = || "response.pairError".to_owned();
    let bad = bad.iter().chain(&[500]).map(|status| (*status, "Refused", error()));
    let responses = good
        .chain(bad)
        .map(|(status, meaning, shape)| (status.to_string(), answered(meaning, &shape)));
    let shape = format!("request.{request}");
    // A device need not say anything about itself to be shown a code.
    let body = match request {
        "pairCreate" => object([("content", Json::Object(json(&shape)))]),
        _ => asked(&shape),
    };
    let call = object([
        ("operationId", request.into()),
        ("summary", "A device is paired".into()),
        ("requestBody", body),
        ("responses", Json::object(responses)),
    ]);
    object([("post", call)])
}

fn asked(shape: &str) -> Json {
    object([("required", true.into()), ("content", Json::Object(json(shape)))])
}

fn answered(meaning: &str, shape: &str) -> Json {
    described(meaning, json(shape))
}

/// The exchange: a request, and a message whatever the status.
fn post() -> Json {
    let of = |status: u16| {
        let meaning = match status {
            200 => "The answer; an error when the request was called off".to_owned(),
            other => codes(other),
        };
        let mut content = json("response.responseMessage");
        if status == 200 {
            let stream = object([("schema", object([("type", "string".into())]))]);
            content.insert("text/event-stream", stream);
        }
        let response =
            object([("description", meaning.into()), ("content", Json::Object(content))]);
        (status.to_string(), response)
    };
    let body = object([
        ("required", true.into()),
        ("content", Json::Object(json("request.requestMessage"))),
    ]);
    object([
        ("operationId", "exchange".into()),
        ("summary", "Asks for something in a session".into()),
        ("parameters", Json::array(HEADERS.map(header))),
        ("requestBody", body),
        ("responses", Json::object(statuses().into_iter().map(of))),
    ])
}

/// A request that is no longer wanted.
fn cancel() -> Json {
    let body = object([
        ("required", true.into()),
        ("content", Json::Object(json("request.cancelRequest"))),
    ]);
    let taken = object([
        ("description", "Taken, whether or not there is such a request".into()),
        ("content", Json::Object(json("response.canceled"))),
    ]);
    let mut responses = refusals(&[400, 401, 403, 413, 415, 429]);
    responses.insert("202", taken);
    object([
        ("operationId", "cancel".into()),
        ("summary", "Calls a request off".into()),
        ("requestBody", body),
        ("responses", Json::Object(responses)),
    ])
}

/// A header that may be there.
fn header((name, meaning): (&str, &str)) -> Json {
    object([
        ("name", name.into()),
        ("in", "header".into()),
        ("description", meaning.into()),
        ("schema", object([("type", "string".into())])),
    ])
}

/// A code becomes a token.
fn pair() -> Json {
    let body =
        object([("required", true.into()), ("content", Json::Object(json("request.pairConfirm")))]);
    let mut responses = refusals(&[400, 403, 413, 415, 429, 500, 503]);
    responses.insert("200", described("The token, this once", json("response.pairGranted")));
    object([
        ("operationId", "pair".into()),
        ("summary", "Redeems the code that `bridle pair` shows".into()),
        ("security", Json::array([object([])])),
        ("requestBody", body),
        ("responses", Json::Object(responses)),
    ])
}

/// Schema of the health report: the same document, whether it is well or not.
fn health() -> Json {
    let mut responses = refusals(&[403]);
    responses.insert("200", described("It is well", json("response.health")));
    responses.insert("503", described("It is not, or it stops", json("response.health")));
    object([("summary", "How the daemon is".into()), ("responses", Json::Object(responses))])
}

fn metrics() -> Json {
    let text = object([("schema", object([("type", "string".into())]))]);
    let text = JsonObject::from_iter([("application/openmetrics-text", text)]);
    let mut responses = refusals(&[401, 403, 429]);
    responses.insert("200", described("Counters", text));
    object([
        ("summary", "What was counted, as OpenMetrics text".into()),
        ("responses", Json::Object(responses)),
    ])
}

fn described(meaning: &str, content: JsonObject) -> Json {
    object([("description", meaning.into()), ("content", Json::Object(content))])
}

/// An upload: any bytes become something to refer to.
fn upload() -> Json {
    let bytes = object([("schema", object([]))]);
    // An empty file is a file.
    let body = object([("content", object([("application/octet-stream", bytes)]))]);
    let good = object([
        ("description", "What to put into `attachments`".into()),
        ("content", Json::Object(json("response.attachmentStored"))),
    ]);
    let mut responses = refusals(&[400, 401, 403, 413, 415, 429, 500, 503]);
    responses.insert("201", good);
    object([
        ("operationId", "upload".into()),
        ("summary", "Keeps a file for whoever asks, for a while".into()),
        ("requestBody", body),
        ("responses", Json::Object(responses)),
    ])
}

/// An upload, handed back to whom it belongs.
fn download() -> Json {
    let reference = object([
        ("name", "ref_id".into()),
        ("in", "path".into()),
        ("required", true.into()),
        ("schema", object([("type", "string".into())])),
    ]);
    let bytes = object([("schema", object([]))]);
    let good = object([
        ("description", "The file, to be saved".into()),
        ("content", object([("*/*", bytes)])),
    ]);
    let mut responses = refusals(&[400, 401, 403, 404, 429, 500, 503]);
    responses.insert("200", good);
    object([
        ("operationId", "download".into()),
        ("summary", "Hands out a file that was uploaded by the same principal".into()),
        ("parameters", Json::array([reference])),
        ("responses", Json::Object(responses)),
    ])
}

/// An envelope for each of these statuses.
fn refusals(statuses: &[u16]) -> JsonObject {
    let of = |status: &u16| {
        let response = object([
            ("description", codes(*status).into()),
            ("content", Json::Object(json("response.responseMessage"))),
        ]);
        (status.to_string(), response)
    };
    statuses.iter().map(of).collect()
}

/// The codes that a status goes with.
fn codes(status: u16) -> String {
    let codes = OpenHarnessCode::ALL.iter().filter(|code| code.http_status() == status);
    let words: Vec<&str> = codes.map(|code| code.as_str()).collect();
    words.join(", ")
}

/// A document that is there for the asking.
fn get(summary: &str, shape: &str) -> Json {
    let good = object([
        ("description", summary.into()),
        ("content", Json::Object(json(&format!("response.{shape}")))),
    ]);
    let other = object([
        ("description", "Not from here".into()),
        ("content", Json::Object(json("response.responseMessage"))),
    ]);
    let responses = object([("200", good), ("403", other)]);
    object([("summary", summary.into()), ("responses", responses)])
}

fn json(shape: &str) -> JsonObject {
    let reference = object([("$ref", format!("#/components/schemas/{shape}").into())]);
    JsonObject::from_iter([("application/json", object([("schema", reference)]))])
}

fn object<const N: usize>(entries: [(&str, Json); N]) -> Json {
    Json::object(entries)
}

/// `GET /v1/openharness/openapi.json`.
pub(super) async fn serve(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    headers: HeaderMap,
) -> Response {
    let response = match peer.check(&headers) {
        Ok(()) => response::json(StatusCode::OK, http.discovery.openapi.clone()),
        Err(code) => response::error(code, &RequestEcho::default(), TraceHeaders::of(&headers)),
    };
    http.shared.metrics.http(response.status().as_u16());
    response
}

#[cfg(test)]
mod tests {
    use bridle_wire::openharness::MessageLimits;
    use bridle_wire::openharness::json::{JsonDocument, JsonNode, NodeKind};

    use super::document;

    /// Every reference of a value, and of what is in it.
    fn references(root: JsonNode<'_>) -> Vec<String> {
        let (mut open, mut found) = (vec![root], Vec::new());
        while let Some(node) = open.pop() {
            match node.kind() {
                NodeKind::Object => {
                    let reference = node.get("$ref").and_then(JsonNode::as_str);
                    found.extend(reference.map(std::borrow::Cow::into_owned));
                    open.extend(node.entries().map(|(_, value)| value));
                }
                NodeKind::Array => open.extend(node.items()),
                _ => {}
            }
        }
        found
    }

    #[test]
    fn versions_of_requests_are_those_that_are_served() {
        let text = document();
        assert!(text.contains(r#""pattern":"^1\\.[0-9]+"#), "{text}");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let text = document();
        let document = JsonDocument::read(text.as_bytes(), &MessageLimits::default()).unwrap();
        let root = document.root();
        let schemas = root.get("components").and_then(|it| it.get("schemas")).unwrap();
        let references = references(root);
        assert!(references.len() > 50, "{}", references.len());
        for reference in references {
            let name = reference.strip_prefix("#/components/schemas/").unwrap();
            assert!(schemas.get(name).is_some(), "{reference}");
        }
    }
}
