//! Refresh tokens: how a device gets a new bearer token when its old one ends.
//!
//! Made with the token of a device that was paired, by the HTTP room, which also calls
//! [`RefreshTokens::renew`]. A refresh token is good once: each use gives another one. Whoever presents
//! one that was used shows that two have it; then the device's token and all its refresh tokens are
//! good for nothing. To know a used one of a device from a guess, every refresh token of a device
//! has the same secret half beside the one that changes. The file has hashes alone, and what cannot
//! be read of it is no refresh token.

use std::fmt;
use std::path::Path;

use bridle_sexp::Value;

use super::{BearerToken, MAX_TOKENS, SECRET_BYTES, TokenError, TokenId, TokenRegistry, TokenSeed};
use crate::access::private_file::PrivateFile;
use crate::access::secret_hash::SecretHash;
use bridle_sexp::byte_text::{hex, unhex_array};

/// Name of the file inside the state directory.
pub const REFRESH_FILE: &str = "refresh";

/// Time that a refresh token holds, in milliseconds, from the last renewal: as long as an ended
/// token is remembered, which is what is renewed.
pub const REFRESH_MS: i64 = super::KEPT_MS;

/// Prefix of every refresh token: it is not taken for a bearer token.
const PREFIX: &str = "bridler_";

/// Largest file that is read, in bytes: 512 for each token, twice what one takes.
const MAX_FILE: u64 = (MAX_TOKENS as u64) << 9;

/// Context of the hashes: nothing else is hashed under these words.
const FAMILY: &str = "bridle refresh token at rest, the half that stays, version 1";
const CURRENT: &str = "bridle refresh token at rest, the half that changes, version 1";

/// Keys of a line, in this order.
const KEYS: [&str; 5] = ["id", "family", "current", "until", "lifetime"];

/// A refresh token. Shown once, to the device; not in debug texts.
pub struct RefreshToken(Box<str>);

impl RefreshToken {
    /// The text, to hand it over.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefreshToken(..)")
    }
}

/// A token that was renewed.
#[derive(Debug)]
pub struct RenewedToken {
    /// The token.
    pub token: BearerToken,
    /// Refresh token that renews it next.
    pub refresh: RefreshToken,
    /// Its public name, which stays.
    pub id: TokenId,
    /// End of its life, in milliseconds since 1970.
    pub expires: i64,
}

/// The refresh tokens of a state directory.
#[derive(Debug)]
pub struct RefreshTokens {
    file: PrivateFile,
}

/// The refresh token of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RefreshEntry {
    id: TokenId,
    family: SecretHash,
    current: SecretHash,
    /// End of its life, in milliseconds since 1970.
    until: i64,
    /// Lifetime of a renewed token, in milliseconds.
    lifetime: i64,
}

/// Verdict on a presented refresh token.
enum PresentedRefreshToken {
    /// The one that is good.
    Good(RefreshEntry),
    /// One that was used.
    Used,
    /// None of ours.
    Unknown,
}

impl RefreshTokens {
    /// Those of a state directory; nothing is read yet.
    pub fn new(state_dir: &Path) -> RefreshTokens {
        RefreshTokens { file: PrivateFile::new(state_dir, REFRESH_FILE, MAX_FILE) }
    }

    /// Makes the first refresh token of a device whose tokens hold for `lifetime` milliseconds.
    ///
    /// # Errors
    /// There is no randomness, or the file cannot be used.
    pub fn begin(
        &self,
        id: &TokenId,
        lifetime: i64,
        now_ms: i64,
    ) -> Result<RefreshToken, TokenError> {
        let (family, current) = (half()?, half()?);
        let line = RefreshEntry {
            id: id.clone(),
            family: SecretHash::of(FAMILY, &family),
            current: SecretHash::of(CURRENT, &current),
            until: now_ms.saturating_add(REFRESH_MS),
            lifetime,
        };
        self.change(|all| {
            all.retain(|line| line.until > now_ms && line.id != *id);
            if all.len() >= MAX_TOKENS {
                return Err(TokenError::TooMany);
            }
            all.push(line);
            Ok(())
        })?;
        Ok(written(id, &family, &current))
    }

    /// Renews the token that a refresh token belongs to; `None` if it is good for nothing. One that
    /// was used before also ends the token that it belongs to.
    ///
    /// # Errors
    /// There is no randomness, or a file cannot be used.
    pub fn renew(
        &self,
        tokens: &TokenRegistry,
        presented: &str,
        now_ms: i64,
    ) -> Result<Option<RenewedToken>, TokenError> {
        let Some((id, family, current)) = halves(presented) else { return Ok(None) };
        let next = half()?;
        let mut found = PresentedRefreshToken::Unknown;
        self.change(|all| {
            let Some(place) = all.iter().position(|line| line.id == id) else { return Ok(()) };
            let line = &mut all[place];
            if line.family != SecretHash::of(FAMILY, family) || line.until <= now_ms {
                return Ok(());
            }
            if line.current != SecretHash::of(CURRENT, current) {
                all.remove(place);
                found = PresentedRefreshToken::Used;
                return Ok(());
            }
            line.current = SecretHash::of(CURRENT, &next);
            line.until = now_ms.saturating_add(REFRESH_MS);
            found = PresentedRefreshToken::Good(line.clone());
            Ok(())
        })?;
        let line = match found {
            PresentedRefreshToken::Good(line) => line,
            PresentedRefreshToken::Unknown => return Ok(None),
            PresentedRefreshToken::Used => {
                tracing::warn!(%id, "a used refresh token came again: the device is revoked");
                return match tokens.revoke(&id) {
                    Ok(()) | Err(TokenError::Unknown { .. }) => Ok(None),
                    Err(error) => Err(error),
                };
            }
        };
        let expires = now_ms.saturating_add(line.lifetime);
        match tokens.renew(&TokenSeed::for_id(&id)?, expires) {
            Ok(token) => {
                let refresh = written(&id, family, &next);
                Ok(Some(RenewedToken { token, refresh, id, expires }))
            }
            // Revoked meanwhile, or long ago.
            Err(TokenError::Unknown { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Vec<RefreshEntry>) -> Result<(), TokenError>,
    ) -> Result<(), TokenError> {
        let held = self.file.hold()?;
        let before = parse(&self.file.read()?.map(|(_, bytes)| bytes).unwrap_or_default());
        let mut after = before.clone();
        change(&mut after)?;
        if after == before { Ok(()) } else { Ok(held.replace(&text(&after))?) }
    }
}

/// A random half of a refresh token.
fn half() -> Result<String, TokenError> {
    let mut bytes = [0; SECRET_BYTES];
    let failed = |error| TokenError::Random(std::io::Error::other(error));
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(hex(&bytes))
}

fn written(id: &TokenId, family: &str, current: &str) -> RefreshToken {
    RefreshToken(format!("{PREFIX}{id}_{family}_{current}").into())
}

/// The id and the halves of a refresh token; `None` if the text is not shaped like one.
fn halves(presented: &str) -> Option<(TokenId, &str, &str)> {
    let (id, rest) = presented.strip_prefix(PREFIX)?.split_once('_')?;
    let (family, current) = rest.split_once('_')?;
    let is_half = |half: &str| unhex_array::<SECRET_BYTES>(half).is_some();
    (is_half(family) && is_half(current)).then_some(())?;
    Some((TokenId::parse(id)?, family, current))
}

fn text(all: &[RefreshEntry]) -> String {
    let line = |line: &RefreshEntry| {
        let values = [
            Value::str(line.id.as_str()),
            Value::str(line.family.to_hex()),
            Value::str(line.current.to_hex()),
            Value::int(line.until),
            Value::int(line.lifetime),
        ];
        format!("{}\n", Value::plist(KEYS.into_iter().zip(values)))
    };
    all.iter().map(line).collect()
}

fn parse(bytes: &[u8]) -> Vec<RefreshEntry> {
    let text = if bytes.len() as u64 > MAX_FILE { "" } else { str::from_utf8(bytes).unwrap_or("") };
    text.lines().filter_map(parse_line).take(MAX_TOKENS).collect()
}

fn parse_line(line: &str) -> Option<RefreshEntry> {
    let value = bridle_sexp::read_one(line).ok()?.root().to_value();
    let [k0, id, k1, family, k2, current, k3, until, k4, lifetime] = value.elements()? else {
        return None;
    };
    if !KEYS.iter().zip([k0, k1, k2, k3, k4]).all(|(key, got)| got.is_keyword(key)) {
        return None;
    }
    Some(RefreshEntry {
        id: TokenId::parse(id.as_str()?)?,
        family: SecretHash::from_hex(family.as_str()?)?,
        current: SecretHash::from_hex(current.as_str()?)?,
        until: until.as_i64()?,
        lifetime: lifetime.as_i64()?,
    })
}

#[cfg(test)]
mod tests;
