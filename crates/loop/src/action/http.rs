//! Actions of `:http`: one request to a host of the web.

use bridle_sexp::Value;

use super::InvalidAction;
use super::argument::is_host;
use super::effect_facts::EffectFacts;

/// Longest URL, in bytes.
const MAX_URL_BYTES: usize = 8 << 10;

/// Most headers, and bytes of one of their values.
const MAX_HEADERS: usize = 32;
const MAX_HEADER_BYTES: usize = 4 << 10;

/// Longest body, in bytes.
const MAX_BODY_BYTES: usize = 1 << 20;

/// Names of the actions, which are the methods of HTTP.
pub const HTTP_ACTIONS: &[&str] = &["get", "head", "post", "put"];

/// Request of the web.
#[derive(Clone, Debug, PartialEq)]
pub struct WebRequest {
    /// The method, in lower case.
    pub method: &'static str,
    /// The whole address.
    pub url: Box<str>,
    /// Host of the address, in lower case.
    pub host: Box<str>,
    /// Port of the address.
    pub port: u16,
    /// Headers whose values are said.
    pub headers: Vec<(Box<str>, Box<str>)>,
    /// Headers whose values are secrets, by the name of the secret.
    pub secrets: Vec<(Box<str>, Box<str>)>,
    /// Body to send.
    pub body: Option<Box<str>>,
    /// Facts that the daemon found out.
    pub facts: EffectFacts,
}

/// Headers that say where a request goes, how long it is or who asks: the daemon's own business.
const OWN_HEADERS: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "accept-encoding",
];

impl WebRequest {
    /// Reads the request of this method; `None` if no method has this name.
    pub(super) fn from_payload(name: &str, payload: &Value) -> Result<Option<Self>, InvalidAction> {
        let Some(method) = HTTP_ACTIONS.iter().copied().find(|method| *method == name) else {
            return Ok(None);
        };
        let fault = |key, expected| InvalidAction::Argument { action: method, key, expected };
        let url = payload.get("url").and_then(Value::as_str).filter(|it| it.len() <= MAX_URL_BYTES);
        let place = url.and_then(|url| Some((url, place(url)?)));
        let expected =
            "an address that begins with `https://` or `http://`, its host in lower case";
        let (url, (host, port)) = place.ok_or(fault("url", expected))?;
        let body = match payload.get("body").filter(|body| !body.is_nil()) {
            None => None,
            Some(body) => {
                let body = body.as_str().filter(|it| it.len() <= MAX_BODY_BYTES);
                let body = body.ok_or(fault("body", "a string of at most 1 MiB"))?;
                Some(body.into())
            }
        };
        if body.is_some() && matches!(method, "get" | "head") {
            return Err(fault("body", "none: this method has no body"));
        }
        let expected = "a list of at most 32 strings `NAME: VALUE`";
        let headers = headers(payload, "headers").ok_or(fault("headers", expected))?;
        let expected = "a list of at most 32 strings `NAME: SECRET`, the name of a secret";
        let secrets = self::headers(payload, "secrets").ok_or(fault("secrets", expected))?;
        let (url, host) = (url.into(), host.into());
        let facts = EffectFacts::of(payload);
        Ok(Some(Self { method, url, host, port, headers, secrets, body, facts }))
    }
}

/// Host and port of an address. What could be read in two ways has none.
fn place(url: &str) -> Option<(&str, u16)> {
    let (rest, default) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (rest, 443),
        (None, Some(rest)) => (rest, 80),
        (None, None) => return None,
    };
    if !rest.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return None;
    }
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']')?;
            (host, rest.strip_prefix(':').or(rest.is_empty().then_some(""))?)
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let port = if port.is_empty() { default } else { port.parse().ok().filter(|it| *it > 0)? };
    is_host(host).then_some((host, port))
}

/// Strings `NAME: VALUE` of a list.
fn headers(payload: &Value, key: &str) -> Option<Vec<(Box<str>, Box<str>)>> {
    let Some(value) = payload.get(key).filter(|value| !value.is_nil()) else {
        return Some(Vec::new());
    };
    let header = |value: &Value| {
        let (name, value) = value.as_str()?.split_once(':')?;
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let is_value = value.len() <= MAX_HEADER_BYTES
            && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        let is_good = is_name && is_value && !OWN_HEADERS.contains(&name.as_str());
        is_good.then(|| (name.into(), value.into()))
    };
    let elements = value.elements().filter(|all| all.len() <= MAX_HEADERS)?;
    elements.iter().map(header).collect()
}
