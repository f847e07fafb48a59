//! Pairing: a short code that is good once, for a few minutes, for one token.
//!
//! `bridle pair` issues a code ([`PairingRegistry::issue`]) and shows it; a device sends it over
//! HTTP, and `http` calls [`PairingService::redeem`] and hands the token back. The state directory keeps the hash
//! of an open code and what its token will be good for, so a code works with a daemon that was
//! started before or after it was issued, and a redeemed one is gone for every process at once.
//! `device` is the other way round: the device shows the code. Both end at the [`PairingService`].
//!
//! A code can be guessed where a token cannot: it has some 39 bits. Therefore it lives for minutes,
//! wrong ones are counted for each address and for all together, and whoever is wrong is told
//! nothing but that. Not here: HTTP, and what the token may do.

mod device;
mod error;
mod file;
mod service;
mod wrong_codes;

use std::fmt;
use std::io;
use std::path::Path;

pub use device::{
    DEVICES_FILE, DevicePairing, DeviceSecret, MAX_WAITING, PairingId, PairingState,
    WaitingDeviceInfo, WaitingDevices,
};
pub use error::{PairingError, PairingRefusal};
pub use file::PAIRINGS_FILE;
pub use service::{ACCESS_MS, INTERVAL_SEC, PairingPollResult, PairingService};
pub use wrong_codes::{OPENED_A_MINUTE, OPENED_ALL_A_MINUTE, WRONG_A_MINUTE, WRONG_ALL_A_MINUTE};

use file::PairingsFile;

use crate::access::secret_hash::SecretHash;
use crate::access::tokens::{BearerToken, NewToken, TokenId, TokenOwner, TokenScopes, check_new};

/// Lifetime of a code, in milliseconds: long enough to fetch a phone.
pub const CODE_MS: i64 = 5 * 60 * 1_000;

/// Codes that are open at once; more devices than that are not paired at a time.
pub const MAX_OPEN: usize = 16;

/// Characters of a code, without the dash in its middle.
pub const CODE_LEN: usize = 8;

/// Characters of codes: none looks like another one.
const ALPHABET: &[u8; 31] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";

/// Random bytes for each character of a code. Eight of them make the remainder of a division by 31
/// uneven by less than one in 2^58.
const BYTES_PER_CHARACTER: usize = 8;

/// Context of the hashes: nothing else is hashed under these words.
pub(crate) const CODE_CONTEXT: &str = "bridle pairing code at rest, version 1";

/// Properties of the token that a pairing gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingOffer {
    /// Name for people.
    pub name: Box<str>,
    /// Principal for whom the token acts.
    pub owner: TokenOwner,
    /// Limits of its rights.
    pub scopes: TokenScopes,
    /// Lifetime after it was handed out, in milliseconds; `None` for no end.
    pub lifetime: Option<i64>,
}

impl PairingOffer {
    /// Returns the token, as it is made now.
    fn token(&self, now_ms: i64) -> NewToken {
        let PairingOffer { name, owner, scopes, lifetime } = self.clone();
        let expires = lifetime.map(|lifetime| now_ms.saturating_add(lifetime));
        NewToken { name, owner, scopes, expires }
    }
}

/// A code, as people read it: `ABCD-EFGH`. Not in debug texts.
pub struct PairingCode(Box<str>);

impl PairingCode {
    /// Draws a code from the system's randomness.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn from_system() -> Result<PairingCode, PairingError> {
        let mut bytes = [0; CODE_LEN * BYTES_PER_CHARACTER];
        getrandom::fill(&mut bytes)
            .map_err(|error| PairingError::Random(io::Error::other(error)))?;
        let mut code = String::with_capacity(CODE_LEN + 1);
        for (index, draw) in bytes.chunks_exact(BYTES_PER_CHARACTER).enumerate() {
            if index == CODE_LEN / 2 {
                code.push('-');
            }
            let draw = draw.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
            let place = usize::try_from(draw % ALPHABET.len() as u64).unwrap_or(0);
            code.push(char::from(ALPHABET[place]));
        }
        Ok(PairingCode(code.into()))
    }

    /// The text, to show it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PairingCode(..)")
    }
}

/// The token that a code was good for.
#[derive(Debug)]
pub struct PairedToken {
    /// The token.
    pub token: BearerToken,
    /// Its public name.
    pub id: TokenId,
    /// Limits of its rights.
    pub scopes: TokenScopes,
    /// End of its life, in milliseconds since 1970; `None` for none.
    pub expires: Option<i64>,
}

/// The open codes of a state directory.
#[derive(Debug)]
pub struct PairingRegistry {
    file: PairingsFile,
}

/// One open code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenPairing {
    hash: SecretHash,
    expires: i64,
    offer: PairingOffer,
}

impl PairingRegistry {
    /// Names the codes of a state directory; nothing is read yet.
    pub fn new(state_dir: &Path) -> PairingRegistry {
        PairingRegistry { file: PairingsFile::new(state_dir) }
    }

    /// Opens a code for [`CODE_MS`]; says when it ends.
    ///
    /// # Errors
    /// Too many are open, the offer cannot be, or the file cannot be used.
    pub fn issue(
        &self,
        code: &PairingCode,
        offer: PairingOffer,
        now_ms: i64,
    ) -> Result<i64, PairingError> {
        let plain = plain(code.reveal()).ok_or(PairingError::NoCode)?;
        check_new(&offer.token(now_ms), now_ms).map_err(PairingError::Token)?;
        let expires = now_ms.saturating_add(CODE_MS);
        let open = OpenPairing { hash: SecretHash::of(CODE_CONTEXT, plain), expires, offer };
        self.file.change(|all| {
            all.retain(|open| is_open(open, now_ms));
            if all.len() >= MAX_OPEN {
                return Err(PairingError::TooMany);
            }
            all.push(open);
            Ok(())
        })?;
        Ok(expires)
    }

    /// Takes a code out; nobody can redeem it again.
    fn take(
        &self,
        code: &[u8; CODE_LEN],
        now_ms: i64,
    ) -> Result<Option<PairingOffer>, PairingError> {
        let hash = SecretHash::of(CODE_CONTEXT, code);
        let mut found = None;
        self.file.change(|all| {
            all.retain(|open| is_open(open, now_ms));
            // All of them are compared, so that the time does not tell which one it was.
            let matches: Vec<bool> = all.iter().map(|open| open.hash == hash).collect();
            let place = matches.iter().position(|is_it| *is_it);
            found = place.map(|place| all.remove(place).offer);
            Ok(())
        })?;
        Ok(found)
    }
}

fn is_open(open: &OpenPairing, now_ms: i64) -> bool {
    // A clock that was set back far makes no code that lives on.
    now_ms < open.expires && open.expires <= now_ms.saturating_add(CODE_MS)
}

/// Returns the characters of a code as it was typed; case, blanks and dashes do not matter.
fn plain(text: &str) -> Option<[u8; CODE_LEN]> {
    // Room for a dash or a blank around each character; more is no code.
    if text.len() > 3 * CODE_LEN {
        return None;
    }
    let mut code = [0; CODE_LEN];
    let mut length = 0;
    for byte in text.bytes().filter(|byte| !matches!(byte, b'-' | b' ')) {
        let byte = byte.to_ascii_uppercase();
        if !ALPHABET.contains(&byte) {
            return None;
        }
        *code.get_mut(length)? = byte;
        length += 1;
    }
    (length == CODE_LEN).then_some(code)
}

#[cfg(test)]
mod tests;
