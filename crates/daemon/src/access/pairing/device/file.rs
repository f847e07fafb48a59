//! The file of devices that wait: one form a line. What is not understood is no device, for a code is
//! soon over anyway; that errs on the side of refusing.

use std::path::Path;

use bridle_sexp::Value;

use super::{
    MAX_FILE, MAX_WAITING, OperatorAnswer, PairingError, PairingId, PairingOffer, WaitingDevice,
};
use crate::access::private_file::PrivateFile;
use crate::access::secret_hash::SecretHash;
use crate::access::tokens::file::{scopes_of, scopes_value};
use crate::access::tokens::{TokenId, TokenOwner, is_line};

/// Name of the file inside the state directory.
pub const DEVICES_FILE: &str = "devices";

/// Keys of a line, in this order.
const KEYS: [&str; 7] = ["id", "code", "secret", "device", "name", "expires", "answer"];

/// Keys of a yes.
const OFFER_KEYS: [&str; 4] = ["name", "owner", "scopes", "lifetime"];

/// Path, mode and lock of the file.
#[derive(Debug)]
pub(super) struct DevicesFile(PrivateFile);

impl DevicesFile {
    pub(super) fn new(dir: &Path) -> DevicesFile {
        DevicesFile(PrivateFile::new(dir, DEVICES_FILE, MAX_FILE))
    }

    /// All of them, as they are now.
    pub(super) fn read(&self) -> Result<Vec<WaitingDevice>, PairingError> {
        Ok(parse(&self.0.read()?.map(|(_, bytes)| bytes).unwrap_or_default()))
    }

    /// Changes them: all of the change, or nothing of it.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut Vec<WaitingDevice>) -> Result<(), PairingError>,
    ) -> Result<(), PairingError> {
        let held = self.0.hold()?;
        let before = self.read()?;
        let mut after = before.clone();
        change(&mut after)?;
        // A wrong guess writes nothing.
        if after == before { Ok(()) } else { Ok(held.replace(&text(&after))?) }
    }
}

fn text(all: &[WaitingDevice]) -> String {
    all.iter().map(|waiting| format!("{}\n", line(waiting))).collect()
}

fn line(waiting: &WaitingDevice) -> Value {
    let answer = match &waiting.answer {
        OperatorAnswer::None => Value::keyword("none"),
        OperatorAnswer::No => Value::keyword("no"),
        OperatorAnswer::Yes(PairingOffer { name, owner, scopes, lifetime }) => {
            let values = [
                Value::str(name.clone()),
                Value::str(owner.as_str()),
                scopes_value(*scopes),
                lifetime.map_or(Value::Nil, Value::int),
            ];
            Value::plist(OFFER_KEYS.into_iter().zip(values))
        }
    };
    let values = [
        Value::str(waiting.id.as_str()),
        Value::str(waiting.code.to_hex()),
        Value::str(waiting.secret.to_hex()),
        Value::str(waiting.device.as_str()),
        Value::str(waiting.name.clone()),
        Value::int(waiting.expires),
        answer,
    ];
    Value::plist(KEYS.into_iter().zip(values))
}

fn parse(bytes: &[u8]) -> Vec<WaitingDevice> {
    let text = if bytes.len() as u64 > MAX_FILE { "" } else { str::from_utf8(bytes).unwrap_or("") };
    text.lines().filter_map(parse_line).take(MAX_WAITING).collect()
}

fn parse_line(line: &str) -> Option<WaitingDevice> {
    let value = bridle_sexp::read_one(line).ok()?.root().to_value();
    let [id, code, secret, device, name, expires, answer] = values(&value, KEYS)?;
    Some(WaitingDevice {
        id: PairingId::parse(id.as_str()?)?,
        code: SecretHash::from_hex(code.as_str()?)?,
        secret: SecretHash::from_hex(secret.as_str()?)?,
        device: TokenId::parse(device.as_str()?)?,
        name: name.as_str().filter(|name| is_name(name))?.into(),
        expires: expires.as_i64()?,
        answer: parse_answer(answer)?,
    })
}

fn parse_answer(value: &Value) -> Option<OperatorAnswer> {
    if value.is_keyword("none") {
        return Some(OperatorAnswer::None);
    }
    if value.is_keyword("no") {
        return Some(OperatorAnswer::No);
    }
    let [name, owner, scopes, lifetime] = values(value, OFFER_KEYS)?;
    let lifetime = match lifetime {
        Value::Nil => None,
        time => Some(time.as_i64()?),
    };
    let name = name.as_str().filter(|name| is_name(name))?.into();
    let (owner, scopes) = (TokenOwner::parse(owner.as_str()?)?, scopes_of(scopes)?);
    Some(OperatorAnswer::Yes(PairingOffer { name, owner, scopes, lifetime }))
}

fn is_name(name: &str) -> bool {
    name.is_empty() || is_line(name)
}

/// The values of a list that has these keys, in this order, and nothing else.
fn values<'v, const N: usize>(value: &'v Value, keys: [&str; N]) -> Option<[&'v Value; N]> {
    let elements = value.elements()?;
    if elements.len() != 2 * N {
        return None;
    }
    let (pairs, _) = elements.as_chunks::<2>();
    let are_keys = pairs.iter().zip(keys).all(|([key, _], name)| key.is_keyword(name));
    let values: Vec<&Value> = pairs.iter().map(|[_, value]| value).collect();
    if are_keys { values.try_into().ok() } else { None }
}
