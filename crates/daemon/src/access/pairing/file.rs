//! The file of open codes: one form a line. What is not understood is no code, for a code is soon
//! over anyway; that errs on the side of refusing.

use std::path::Path;

use bridle_sexp::Value;

use super::{MAX_OPEN, OpenPairing, PairingError, PairingOffer};
use crate::access::private_file::PrivateFile;
use crate::access::secret_hash::SecretHash;
use crate::access::tokens::file::{scopes_of, scopes_value};
use crate::access::tokens::{TokenOwner, is_line};

/// Name of the file inside the state directory.
pub const PAIRINGS_FILE: &str = "pairings";

/// Largest file that is read, in bytes: 1 KiB for each code, several times what one takes.
const MAX_FILE: u64 = (MAX_OPEN as u64) << 10;

/// Keys of a line, in this order.
const KEYS: [&str; 6] = ["hash", "expires", "name", "owner", "scopes", "lifetime"];

/// Path, mode and lock of the file.
#[derive(Debug)]
pub(super) struct PairingsFile(PrivateFile);

impl PairingsFile {
    pub(super) fn new(dir: &Path) -> PairingsFile {
        PairingsFile(PrivateFile::new(dir, PAIRINGS_FILE, MAX_FILE))
    }

    /// Changes the open codes: all of the change, or nothing of it.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut Vec<OpenPairing>) -> Result<(), PairingError>,
    ) -> Result<(), PairingError> {
        let held = self.0.hold()?;
        let bytes = self.0.read()?.map(|(_, bytes)| bytes).unwrap_or_default();
        let before = parse(&bytes);
        let mut after = before.clone();
        change(&mut after)?;
        // A wrong guess writes nothing.
        if after == before { Ok(()) } else { Ok(held.replace(&text(&after))?) }
    }
}

fn text(all: &[OpenPairing]) -> String {
    all.iter().map(|open| format!("{}\n", line(open))).collect()
}

fn line(open: &OpenPairing) -> Value {
    let PairingOffer { name, owner, scopes, lifetime } = &open.offer;
    let values = [
        Value::str(open.hash.to_hex()),
        Value::int(open.expires),
        Value::str(name.clone()),
        Value::str(owner.as_str()),
        scopes_value(*scopes),
        lifetime.map_or(Value::Nil, Value::int),
    ];
    Value::plist(KEYS.into_iter().zip(values))
}

fn parse(bytes: &[u8]) -> Vec<OpenPairing> {
    let text = if bytes.len() as u64 > MAX_FILE { "" } else { str::from_utf8(bytes).unwrap_or("") };
    text.lines().filter_map(parse_line).take(MAX_OPEN).collect()
}

fn parse_line(line: &str) -> Option<OpenPairing> {
    let value = bridle_sexp::read_one(line).ok()?.root().to_value();
    let [k0, hash, k1, expires, k2, name, k3, owner, k4, scopes, k5, lifetime] =
        value.elements()?
    else {
        return None;
    };
    let keys = [k0, k1, k2, k3, k4, k5];
    if !KEYS.iter().zip(keys).all(|(key, got)| got.is_keyword(key)) {
        return None;
    }
    let name = name.as_str().filter(|name| name.is_empty() || is_line(name))?;
    let lifetime = match lifetime {
        Value::Nil => None,
        time => Some(time.as_i64()?),
    };
    let owner = TokenOwner::parse(owner.as_str()?)?;
    let offer = PairingOffer { name: name.into(), owner, scopes: scopes_of(scopes)?, lifetime };
    Some(OpenPairing {
        hash: SecretHash::from_hex(hash.as_str()?)?,
        expires: expires.as_i64()?,
        offer,
    })
}
