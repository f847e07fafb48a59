//! The arguments of actions: one reader for each shape.
//!
//! Called by `Action::from_payload`. What could be read in two ways is refused instead of being put
//! right: the guard judges the very text that the actuator gets.

use bridle_sexp::Value;

use super::{Action, InvalidAction};

/// The longest path, in bytes: what Linux takes.
const MAX_PATH_BYTES: usize = 4096;

/// The most names in a path: each of its folders is a fact for the policies.
const MAX_PATH_NAMES: usize = 64;

/// The longest name of a host, in bytes: what the domain name system takes.
const MAX_HOST_BYTES: usize = 253;

/// The port of a host when none is given: HTTPS.
const DEFAULT_PORT: u16 = 443;

pub(super) fn present<'v>(
    payload: &'v Value,
    action: &'static str,
    key: &'static str,
) -> Result<&'v Value, InvalidAction> {
    let value = payload.get(key).filter(|value| !value.is_nil());
    value.ok_or(InvalidAction::Argument { action, key, expected: "a value" })
}

pub(super) fn text(
    payload: &Value,
    action: &'static str,
    key: &'static str,
) -> Result<Box<str>, InvalidAction> {
    let text = payload.get(key).and_then(Value::as_str);
    text.map(Into::into).ok_or(InvalidAction::Argument { action, key, expected: "a string" })
}

pub(super) fn natural(
    payload: &Value,
    action: &'static str,
    key: &'static str,
) -> Result<u64, InvalidAction> {
    let number = payload.get(key).and_then(Value::as_i64).and_then(|n| u64::try_from(n).ok());
    number.ok_or(InvalidAction::Argument { action, key, expected: "a number" })
}

/// `:session NAME` or `:record NUMBER`.
pub(super) fn forgettable(payload: &Value) -> Result<Value, InvalidAction> {
    let session = payload.get("session").filter(|session| session.as_str().is_some());
    match session {
        Some(session) => Ok(session.clone()),
        None => match payload.get("record") {
            Some(record @ Value::Int(1..)) => Ok(record.clone()),
            _ => Err(InvalidAction::Argument {
                action: "forget",
                key: "session",
                expected: "a session's name, or a record's number as `:record`",
            }),
        },
    }
}

/// A path that can be read in one way only.
pub(super) fn path(
    payload: &Value,
    action: &'static str,
    key: &'static str,
) -> Result<Box<str>, InvalidAction> {
    let path = payload.get(key).and_then(Value::as_str).filter(|path| is_plain_path(path));
    let expected = "an absolute path without `.`, `..` and `//`";
    path.map(Into::into).ok_or(InvalidAction::Argument { action, key, expected })
}

/// `:host` and perhaps `:port`.
pub(super) fn net(payload: &Value) -> Result<Action, InvalidAction> {
    let fault = |key, expected| InvalidAction::Argument { action: "net", key, expected };
    let host = payload.get("host").and_then(Value::as_str).filter(|host| is_host(host));
    let host = host.ok_or(fault("host", "the name or address of a host, in lower case"))?;
    let port = match payload.get("port") {
        None => DEFAULT_PORT,
        Some(port) => {
            let port = port.as_i64().and_then(|port| u16::try_from(port).ok());
            port.filter(|port| *port > 0).ok_or(fault("port", "1 to 65535"))?
        }
    };
    Ok(Action::Net { host: host.into(), port })
}

/// `:amount` and `:currency`.
pub(super) fn spend(payload: &Value) -> Result<Action, InvalidAction> {
    let fault = |key, expected| InvalidAction::Argument { action: "spend", key, expected };
    let amount = payload.get("amount").and_then(Value::as_i64).filter(|amount| *amount >= 0);
    let currency = payload.get("currency").and_then(Value::as_str);
    let is_word = |word: &&str| {
        (1..=16).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase())
    };
    Ok(Action::Spend {
        amount: amount.ok_or(fault("amount", "millionths, not below 0"))?,
        currency: currency
            .filter(is_word)
            .ok_or(fault("currency", "a word of 1 to 16 lower-case letters"))?
            .into(),
    })
}

pub(super) fn is_plain_path(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    let is_plain = |name: &str| !matches!(name, "" | "." | "..");
    path.len() <= MAX_PATH_BYTES
        && !path.contains('\0')
        && rest.split('/').count() <= MAX_PATH_NAMES
        && rest.split('/').all(is_plain)
}

/// A name of labels, an IPv4 or an IPv6 address.
pub(super) fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        let is_plain =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        !label.is_empty() && label.bytes().all(is_plain)
    };
    host.len() <= MAX_HOST_BYTES
        && (host.split('.').all(is_label)
            || (host.parse::<std::net::Ipv6Addr>().is_ok() && !host.contains(char::is_uppercase)))
}
