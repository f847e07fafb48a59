//! Bearer tokens of HTTP: their owners, scopes and lifetimes.
//!
//! `http` calls [`TokenRegistry::verify`] for each request; `bridle token` and pairing call
//! [`TokenRegistry::create`], [`TokenRegistry::revoke`] and [`TokenRegistry::list`]. All of them share one file of the
//! state directory, which has the hash of each token and never a token. A running daemon looks at
//! the file's stamp whenever somebody presents a token, so that a revoked one is refused at once.
//! Every doubt about the file refuses every token.
//!
//! Not here: what a policy makes of who comes in. A token acts for its owner, and its scopes only
//! ever narrow what the owner may:
//!
//! | scope | questions of the guard that may be asked for it ([`SessionAccess`]) | administration |
//! |---|---|---|
//! | `observe` | `attach`, `observe` | no |
//! | `talk` | the same, and `control` and `recall` | no |
//! | `approve` | `attach`, `observe`, `approve` | no |
//! | `admin` | all of them | yes: forgetting, forking, installing policies |
//!
//! "Yes" means that the policies are asked, with the owner of the token as the one who asks; "no"
//! means that they are not even asked.

mod error;
pub(crate) mod file;
mod refresh;
mod scope;
mod used;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

pub use bridle_loop::SessionAccess;
pub use error::TokenError;
pub use file::TOKENS_FILE;
pub use refresh::{REFRESH_FILE, REFRESH_MS, RefreshToken, RefreshTokens, RenewedToken};
pub use scope::{TokenScope, TokenScopes};

use crate::access::private_file::FileStamp;
use crate::access::secret_hash::SecretHash;
use bridle_sexp::byte_text::{hex, is_hex, unhex_array};
use file::TokensFile;
use used::TokenLastUse;

/// Lifetime of a token that sets none, in days: a forgotten one is no danger after a season.
pub const DEFAULT_DAYS: u32 = 90;

/// Longest time that a token with an end may have, in days: ten years.
pub const MAX_DAYS: u32 = 3_660;

/// Largest number of tokens in the file: people still read the list.
pub const MAX_TOKENS: usize = 1_024;

/// Longest name of a token, in bytes: a line of a list.
pub const MAX_NAME: usize = 64;

/// Milliseconds of a day.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Time for which an expired token stays in the list, in milliseconds: its user still sees why it
/// fails. The next token that is created drops it.
const KEPT_MS: i64 = 30 * DAY_MS;

/// Prefix of every token: it is recognized wherever it turns up.
const PREFIX: &str = "bridle_";

/// Random bytes of a secret: as many as its hash has.
const SECRET_BYTES: usize = 32;

/// Random bytes of an id: enough for a few thousand to differ.
const ID_BYTES: usize = 5;

/// Length of a token in bytes: prefix, id, `_`, secret.
const TOKEN_LEN: usize = PREFIX.len() + 2 * ID_BYTES + 1 + 2 * SECRET_BYTES;

/// Context of the hashes: nothing else is hashed under these words.
const TOKEN_CONTEXT: &str = "bridle bearer token at rest, version 1";

/// The public name of a token: ten hex digits. Tells nothing about the token.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(Box<str>);

impl TokenId {
    /// Reads an id; `None` for another form.
    pub fn parse(text: &str) -> Option<TokenId> {
        let good = text.len() == 2 * ID_BYTES && is_hex(text);
        good.then(|| TokenId(text.into()))
    }

    /// Draws an id from the system's randomness.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn from_system() -> Result<TokenId, TokenError> {
        TokenSeed::from_system().map(|seed| seed.id())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Principal for whom a token acts, as the record names it: `uid:1000`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenOwner(Box<str>);

impl TokenOwner {
    /// Reads an owner; `None` if it is empty, longer than [`MAX_NAME`] or has control characters.
    pub fn parse(text: &str) -> Option<TokenOwner> {
        is_line(text).then(|| TokenOwner(text.into()))
    }

    /// The user who runs this process.
    pub fn this_user() -> TokenOwner {
        TokenOwner(format!("uid:{}", rustix::process::geteuid().as_raw()).into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Rights of a presented token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenGrant {
    /// Id of the token.
    pub id: TokenId,
    /// Principal for whom the token acts.
    pub owner: TokenOwner,
    /// Limits of its rights.
    pub scopes: TokenScopes,
}

/// A token as it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// Name for people; may be empty.
    pub name: Box<str>,
    /// Principal for whom the token acts.
    pub owner: TokenOwner,
    /// Limits of its rights.
    pub scopes: TokenScopes,
    /// End of its life, in milliseconds since 1970; `None` for none.
    pub expires: Option<i64>,
}

/// A token as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    /// Its public name.
    pub id: TokenId,
    /// Name for people; may be empty.
    pub name: Box<str>,
    /// Principal for whom the token acts.
    pub owner: TokenOwner,
    /// Limits of its rights.
    pub scopes: TokenScopes,
    /// Time of its creation, in milliseconds since 1970.
    pub created: i64,
    /// End of its life, in milliseconds since 1970; `None` for none.
    pub expires: Option<i64>,
    /// Last successful use, to the hour, in milliseconds since 1970.
    pub used: Option<i64>,
}

impl TokenInfo {
    /// Tells whether the token has expired.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        is_over(self.expires, now_ms)
    }
}

/// A token itself. Shown once, to whom it is for; not in debug texts.
pub struct BearerToken(Box<str>);

impl BearerToken {
    /// The text, to hand it over.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(..)")
    }
}

/// The randomness of one token.
pub struct TokenSeed([u8; ID_BYTES + SECRET_BYTES]);

impl TokenSeed {
    /// Draws a seed from the system.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn from_system() -> Result<TokenSeed, TokenError> {
        let mut bytes = [0; ID_BYTES + SECRET_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| TokenError::Random(io::Error::other(error)))?;
        Ok(TokenSeed(bytes))
    }

    /// Draws a seed from the system for a token with this id.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn for_id(id: &TokenId) -> Result<TokenSeed, TokenError> {
        let mut seed = TokenSeed::from_system()?;
        // An id is hex digits.
        let id = unhex_array(id.as_str()).unwrap_or([0; ID_BYTES]);
        seed.0[..ID_BYTES].copy_from_slice(&id);
        Ok(seed)
    }

    /// Returns the token of the seed.
    fn token(&self) -> BearerToken {
        let (id, secret) = (self.id(), hex(&self.0[ID_BYTES..]));
        BearerToken(format!("{PREFIX}{id}_{secret}").into())
    }

    /// Returns the id of the token of the seed.
    pub fn id(&self) -> TokenId {
        TokenId(hex(&self.0[..ID_BYTES]).into())
    }
}

impl fmt::Debug for TokenSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

/// All tokens of a state directory.
#[derive(Debug)]
pub struct TokenRegistry {
    file: TokensFile,
    /// The file as it was read last.
    known: RwLock<KnownTokens>,
    /// Last uses of the tokens; only a daemon writes them down.
    used: TokenLastUse,
}

#[derive(Debug)]
struct KnownTokens {
    /// `None`: there was no file.
    stamp: Option<FileStamp>,
    /// Empty while the file cannot be trusted.
    entries: Vec<TokenEntry>,
}

/// One token of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TokenEntry {
    id: TokenId,
    name: Box<str>,
    owner: TokenOwner,
    scopes: TokenScopes,
    created: i64,
    expires: Option<i64>,
    hash: SecretHash,
}

impl TokenRegistry {
    /// Reads the tokens of a state directory; there may be none yet.
    ///
    /// # Errors
    /// The file is damaged, of somebody else, open to others, or cannot be read.
    pub fn load(state_dir: &Path) -> Result<TokenRegistry, TokenError> {
        let file = TokensFile::new(state_dir);
        let (stamp, entries) = file.read()?;
        let used = TokenLastUse::load(state_dir);
        Ok(TokenRegistry { file, known: RwLock::new(KnownTokens { stamp, entries }), used })
    }

    /// Returns the rights of a presented token; `None` if it is unknown, revoked or expired.
    ///
    /// Looks at the file's stamp each time and reads the file again when it changed. While the file
    /// cannot be trusted, no token is good; the log says why.
    pub fn verify(&self, presented: &str, now_ms: i64) -> Option<TokenGrant> {
        let id = id_of(presented)?;
        let hash = SecretHash::of(TOKEN_CONTEXT, presented);
        self.refresh();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let entry = known.entries.iter().find(|entry| entry.id.as_str() == id)?;
        if entry.hash != hash || is_over(entry.expires, now_ms) {
            return None;
        }
        let TokenEntry { id, owner, scopes, .. } = entry.clone();
        drop(known);
        self.used.note(&id, now_ms);
        Some(TokenGrant { id, owner, scopes })
    }

    /// Makes a token and writes its hash down. Only the returned value holds the token itself.
    ///
    /// # Errors
    /// The request is invalid, there are too many tokens, or the file cannot be used.
    pub fn create(
        &self,
        new: NewToken,
        seed: &TokenSeed,
        now_ms: i64,
    ) -> Result<BearerToken, TokenError> {
        check_new(&new, now_ms)?;
        let id = seed.id();
        let token = seed.token();
        let NewToken { name, owner, scopes, expires } = new;
        let hash = SecretHash::of(TOKEN_CONTEXT, token.reveal());
        let entry = TokenEntry { id, name, owner, scopes, created: now_ms, expires, hash };
        self.file.change(|entries| {
            let past = now_ms.saturating_sub(KEPT_MS);
            entries.retain(|entry| !is_over(entry.expires, past));
            if entries.len() >= MAX_TOKENS {
                return Err(TokenError::TooMany);
            }
            if entries.iter().any(|known| known.id == entry.id) {
                return Err(TokenError::IdTaken);
            }
            entries.push(entry);
            Ok(())
        })?;
        Ok(token)
    }

    /// Replaces the token with the same id; owner, name and scopes stay.
    ///
    /// # Errors
    /// There is no such token, or the file cannot be used.
    pub fn renew(&self, seed: &TokenSeed, expires: i64) -> Result<BearerToken, TokenError> {
        let (id, token) = (seed.id(), seed.token());
        self.file.change(|entries| {
            let Some(entry) = entries.iter_mut().find(|entry| entry.id == id) else {
                return Err(TokenError::Unknown { id: id.clone() });
            };
            entry.hash = SecretHash::of(TOKEN_CONTEXT, token.reveal());
            entry.expires = Some(expires);
            Ok(())
        })?;
        Ok(token)
    }

    /// Revokes a token, at once and for ever.
    ///
    /// # Errors
    /// There is no such token, or the file cannot be used.
    pub fn revoke(&self, id: &TokenId) -> Result<(), TokenError> {
        self.file.change(|entries| {
            let before = entries.len();
            entries.retain(|entry| entry.id != *id);
            if entries.len() == before {
                Err(TokenError::Unknown { id: id.clone() })
            } else {
                Ok(())
            }
        })
    }

    /// All tokens, in the order of their creation.
    ///
    /// # Errors
    /// The file is damaged, of somebody else, open to others, or cannot be read.
    pub fn list(&self) -> Result<Vec<TokenInfo>, TokenError> {
        let (_, entries) = self.file.read()?;
        let used = self.used.all();
        let info = |entry: TokenEntry| {
            let used = used.get(&entry.id).copied();
            let TokenEntry { id, name, owner, scopes, created, expires, .. } = entry;
            TokenInfo { id, name, owner, scopes, created, expires, used }
        };
        Ok(entries.into_iter().map(info).collect())
    }

    /// Reads the file again if it is another one than the last time.
    fn refresh(&self) {
        let stamp = self.file.stamp();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if known.stamp == stamp {
            return;
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        *known = match self.file.read() {
            Ok((stamp, entries)) => KnownTokens { stamp, entries },
            Err(error) => {
                // The stamp as it was seen before reading: a file that changes again is read again.
                tracing::error!(error = %ErrorChain(&error), "no token is accepted");
                KnownTokens { stamp, entries: Vec::new() }
            }
        };
    }
}

/// An error and its causes, on one line.
struct ErrorChain<'e>(&'e TokenError);

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = std::error::Error::source(self.0);
        while let Some(error) = next {
            write!(f, ": {error}")?;
            next = error.source();
        }
        Ok(())
    }
}

/// Checks name and end of a token before it is made.
pub(crate) fn check_new(new: &NewToken, now_ms: i64) -> Result<(), TokenError> {
    if !new.name.is_empty() && !is_line(&new.name) {
        return Err(TokenError::BadName);
    }
    if new.scopes.is_empty() {
        return Err(TokenError::NoScope);
    }
    let last = now_ms.saturating_add(i64::from(MAX_DAYS) * DAY_MS);
    match new.expires {
        Some(end) if end <= now_ms || end > last => Err(TokenError::BadEnd),
        _ => Ok(()),
    }
}

/// Returns the id inside a token; `None` if the text has another form.
fn id_of(presented: &str) -> Option<&str> {
    if presented.len() != TOKEN_LEN || !presented.is_ascii() {
        return None;
    }
    let (id, secret) = presented.strip_prefix(PREFIX)?.split_once('_')?;
    let good = id.len() == 2 * ID_BYTES && is_hex(id) && is_hex(secret);
    good.then_some(id)
}

fn is_over(expires: Option<i64>, now_ms: i64) -> bool {
    expires.is_some_and(|end| end <= now_ms)
}

/// Tells whether a text fits one line of a list.
pub(crate) fn is_line(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests;
