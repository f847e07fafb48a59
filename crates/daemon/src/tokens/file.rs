//! The file of tokens: one form a line, read strictly, replaced in one step.
//!
//! ```text
//! (:bridle-tokens 1)
//! (:id "0123456789" :name "phone" :owner "uid:1000" :scopes (:talk) :created 1 :expires 2 :hash "..")
//! (:end 1)
//! ```
//!
//! The last line has the number of tokens, so that a file that was cut off shows. Whoever changes
//! the file holds the lock beside it, reads, and renames a new file over the old one; readers need
//! no lock. What the lines mean is the business of `tokens`.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bridle_sexp::Value;

use super::{
    Entry, Error, MAX_TOKENS, Owner, SECRET_BYTES, Scope, TokenHash, TokenId, hex, is_line,
};
use crate::lock::create_private;

/// Name of the file inside the state directory.
pub const TOKENS_FILE: &str = "tokens";

/// Name of the file that is locked while the tokens are changed. It stays.
const LOCK_FILE: &str = "tokens.lock";

/// Name of the new file until it takes the place of the old one. Only who holds the lock writes it.
const NEW_FILE: &str = "tokens.new";

/// Version of the format; another one is not understood.
const VERSION: i64 = 1;

/// Largest file that is read, in bytes: 1 KiB for each token, several times what one takes.
const MAX_FILE: u64 = (MAX_TOKENS as u64) << 10;

/// Keys of a line, in this order.
const KEYS: [&str; 7] = ["id", "name", "owner", "scopes", "created", "expires", "hash"];

/// What tells one file from the next of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    mode: u32,
    uid: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        Stamp {
            inode: meta.ino(),
            size: meta.size(),
            mode: meta.mode(),
            uid: meta.uid(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// Where the file is.
#[derive(Debug)]
pub(super) struct TokensFile {
    dir: PathBuf,
    path: PathBuf,
}

impl TokensFile {
    pub(super) fn new(dir: &Path) -> TokensFile {
        TokensFile { dir: dir.to_owned(), path: dir.join(TOKENS_FILE) }
    }

    /// The stamp of the file as it is now; `None` if there is none.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        std::fs::symlink_metadata(&self.path).ok().map(|meta| Stamp::of(&meta))
    }

    /// Reads the file, and the stamp of what was read.
    pub(super) fn read(&self) -> Result<(Option<Stamp>, Vec<Entry>), Error> {
        let failed = |source| Error::Io { path: self.path.clone(), source };
        // A pipe or a link is not even opened.
        match std::fs::symlink_metadata(&self.path) {
            Ok(meta) if !meta.is_file() => return Err(failed(io::Error::other("not a file"))),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((None, Vec::new())),
            Err(error) => return Err(failed(error)),
        }
        let file = File::open(&self.path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        self.check_owner(&self.path, &meta)?;
        let mode = meta.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(Error::OpenToOthers { path: self.path.clone(), mode });
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        let damaged = |(line, why)| Error::Damaged { path: self.path.clone(), line, why };
        Ok((Some(Stamp::of(&meta)), parse(&bytes).map_err(damaged)?))
    }

    /// Changes the tokens: all of the change, or nothing of it.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut Vec<Entry>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |source| Error::Io { path: self.path.clone(), source };
        create_private(&self.dir).map_err(failed)?;
        // Whoever is somebody else would leave a file that the daemon cannot read.
        self.check_owner(&self.dir, &std::fs::metadata(&self.dir).map_err(failed)?)?;
        let lock = self.private(LOCK_FILE).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let (_, mut entries) = self.read()?;
        change(&mut entries)?;
        self.replace(&text(&entries)).map_err(failed)
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let new = self.dir.join(NEW_FILE);
        // What a process left that died here may have any mode.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = self.private(NEW_FILE)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, &self.path)?;
        // A revoked token must not come back with the power.
        File::open(&self.dir)?.sync_all()
    }

    fn private(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.open(self.dir.join(name))
    }

    fn check_owner(&self, path: &Path, meta: &Metadata) -> Result<(), Error> {
        let (uid, own) = (meta.uid(), rustix::process::geteuid().as_raw());
        if uid == own {
            return Ok(());
        }
        Err(Error::NotOurs { path: path.to_owned(), uid, own })
    }
}

fn text(entries: &[Entry]) -> String {
    let mut text = format!("(:bridle-tokens {VERSION})\n");
    for entry in entries {
        text.push_str(&line(entry).to_string());
        text.push('\n');
    }
    text.push_str(&format!("(:end {})\n", entries.len()));
    text
}

fn line(entry: &Entry) -> Value {
    let scopes = entry.scopes.iter().map(|scope| Value::keyword(scope.name()));
    let values = [
        Value::str(entry.id.as_str()),
        Value::str(entry.name.clone()),
        Value::str(entry.owner.as_str()),
        Value::list(scopes),
        Value::int(entry.created),
        entry.expires.map_or(Value::Nil, Value::int),
        Value::str(hex(&entry.hash.0)),
    ];
    Value::plist(KEYS.into_iter().zip(values))
}

/// Where a file is wrong, and how.
type Fault = (usize, &'static str);

fn parse(bytes: &[u8]) -> Result<Vec<Entry>, Fault> {
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
    let mut entries: Vec<Entry> = Vec::with_capacity(middle.len());
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

fn parse_line(line: &str) -> Result<Entry, &'static str> {
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
    let scopes = scopes.elements().ok_or("expected scopes")?.iter();
    let scope = |scope: &Value| Scope::parse(scope.as_keyword()?);
    Ok(Entry {
        id: id.as_str().and_then(TokenId::parse).ok_or("expected an id")?,
        name: name.ok_or("expected a name")?.into(),
        owner: owner.as_str().and_then(Owner::parse).ok_or("expected an owner")?,
        scopes: scopes.map(scope).collect::<Option<_>>().ok_or("expected other scopes")?,
        created: created.as_i64().ok_or("expected a time of creation")?,
        expires,
        hash: hash.as_str().and_then(unhex).ok_or("expected a hash")?,
    })
}

fn unhex(text: &str) -> Option<TokenHash> {
    let digits = text.as_bytes();
    if digits.len() != 2 * SECRET_BYTES || !digits.iter().copied().all(super::is_hex) {
        return None;
    }
    let mut hash = [0; SECRET_BYTES];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(TokenHash(hash))
}
