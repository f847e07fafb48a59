//! The file of tokens: one form a line, read strictly, replaced in one step.
//!
//! ```text
//! (:bridle-tokens 1)
//! (:id "0123456789" :name "phone" :owner "uid:1000" :scopes (:talk) :created 1 :expires 2 :hash "..")
//! (:end 1)
//! ```
//!
//! The last line has the number of tokens, so that a file that was cut off shows. What the lines
//! mean is the business of `tokens`.

use std::path::Path;

use bridle_sexp::Value;

use super::{
    MAX_TOKENS, TokenEntry, TokenError, TokenId, TokenOwner, TokenScope, TokenScopes, is_line,
};
use crate::access::private_file::{FileStamp, PrivateFile};
use crate::access::secret_hash::SecretHash;

/// Name of the file inside the state directory.
pub const TOKENS_FILE: &str = "tokens";

/// Version of the format; another one is not understood.
const VERSION: i64 = 1;

/// Largest file that is read, in bytes: 1 KiB for each token, several times what one takes.
const MAX_FILE: u64 = (MAX_TOKENS as u64) << 10;

/// Keys of a line, in this order.
const KEYS: [&str; 7] = ["id", "name", "owner", "scopes", "created", "expires", "hash"];

/// Path, mode and lock of the file.
#[derive(Debug)]
pub(super) struct TokensFile(PrivateFile);

impl TokensFile {
    pub(super) fn new(dir: &Path) -> TokensFile {
        TokensFile(PrivateFile::new(dir, TOKENS_FILE, MAX_FILE))
    }

    /// The stamp of the file as it is now; `None` if there is none.
    pub(super) fn stamp(&self) -> Option<FileStamp> {
        self.0.stamp()
    }

    /// Reads the file, and the stamp of what was read.
    pub(super) fn read(&self) -> Result<(Option<FileStamp>, Vec<TokenEntry>), TokenError> {
        let Some((stamp, bytes)) = self.0.read()? else { return Ok((None, Vec::new())) };
        let damaged = |(line, why)| TokenError::Damaged { path: self.0.path.clone(), line, why };
        Ok((Some(stamp), parse(&bytes).map_err(damaged)?))
    }

    /// Changes the tokens: all of the change, or nothing of it.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut Vec<TokenEntry>) -> Result<(), TokenError>,
    ) -> Result<(), TokenError> {
        let held = self.0.hold()?;
        let (_, mut entries) = self.read()?;
        change(&mut entries)?;
        Ok(held.replace(&text(&entries))?)
    }
}

fn text(entries: &[TokenEntry]) -> String {
    let mut text = format!("(:bridle-tokens {VERSION})\n");
    for entry in entries {
        text.push_str(&line(entry).to_string());
        text.push('\n');
    }
    text.push_str(&format!("(:end {})\n", entries.len()));
    text
}

fn line(entry: &TokenEntry) -> Value {
    let values = [
        Value::str(entry.id.as_str()),
        Value::str(entry.name.clone()),
        Value::str(entry.owner.as_str()),
        scopes_value(entry.scopes),
        Value::int(entry.created),
        entry.expires.map_or(Value::Nil, Value::int),
        Value::str(entry.hash.to_hex()),
    ];
    Value::plist(KEYS.into_iter().zip(values))
}

/// Line of a fault and its description.
type Fault = (usize, &'static str);

fn parse(bytes: &[u8]) -> Result<Vec<TokenEntry>, Fault> {
    if bytes.len() as u64 > MAX_FILE {
        return Err((1, "expected a smaller file"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| (1, "expected UTF-8"))?;
    let lines: Vec<&str> = text.split('\n').collect();
    let [first, middle @ .., last, ""] = lines.as_slice() else {
        return Err((lines.len(), "expected a first and a last line"));
    };
    if *first != format!("(:bridle-tokens {VERSION})") {
        return Err((1, "expected `(:bridle-tokens 1)`"));
    }
    if *last != format!("(:end {})", middle.len()) || middle.len() > MAX_TOKENS {
        return Err((lines.len() - 1, "expected `(:end N)` after N tokens"));
    }
    let mut entries: Vec<TokenEntry> = Vec::with_capacity(middle.len());
    for (index, line) in middle.iter().enumerate() {
        let at = index + 2;
        let entry = parse_line(line).map_err(|why| (at, why))?;
        if entries.iter().any(|known| known.id == entry.id) {
            return Err((at, "the id is there twice"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn parse_line(line: &str) -> Result<TokenEntry, &'static str> {
    let tree = bridle_sexp::read_one(line).map_err(|_| "expected a form")?;
    let value = tree.root().to_value();
    let Some([k0, id, k1, name, k2, owner, k3, scopes, k4, created, k5, expires, k6, hash]) =
        value.elements()
    else {
        return Err("expected seven keys and values");
    };
    let keys = [k0, k1, k2, k3, k4, k5, k6];
    if !KEYS.iter().zip(keys).all(|(key, got)| got.is_keyword(key)) {
        return Err("expected other keys");
    }
    let expires = match expires {
        Value::Nil => None,
        end => Some(end.as_i64().ok_or("expected a time or nil as end")?),
    };
    let name = name.as_str().filter(|name| name.is_empty() || is_line(name));
    Ok(TokenEntry {
        id: id.as_str().and_then(TokenId::parse).ok_or("expected an id")?,
        name: name.ok_or("expected a name")?.into(),
        owner: owner.as_str().and_then(TokenOwner::parse).ok_or("expected an owner")?,
        scopes: scopes_of(scopes).ok_or("expected scopes")?,
        created: created.as_i64().ok_or("expected a time of creation")?,
        expires,
        hash: hash.as_str().and_then(SecretHash::from_hex).ok_or("expected a hash")?,
    })
}

/// Scopes as a list of keywords.
pub(crate) fn scopes_value(scopes: TokenScopes) -> Value {
    Value::list(scopes.iter().map(|scope| Value::keyword(scope.name())))
}

/// Scopes from a list of keywords; `None` if one is unknown, or there is none.
pub(crate) fn scopes_of(value: &Value) -> Option<TokenScopes> {
    value.elements()?.iter().map(|scope| TokenScope::parse(scope.as_keyword()?)).collect()
}
