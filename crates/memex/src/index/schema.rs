//! The tables of `index.db`, and how the file is opened. It is derived from the files of the Memex: one that is of
//! another version, of another folder, made by other rules, damaged, or maybe damaged because the machine went
//! down, is thrown away and made anew.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::rules::ReadRules;
use bridle_record::StoreError;
use bridle_record::database::{BUSY_TIMEOUT, companions, no_follow, protect};

/// Name of the file in the state directory.
pub const INDEX_FILE: &str = "index.db";

/// Says, while it exists, that the index was written to and is not on the disk for certain. It holds the name of
/// the run of the machine: as long as that goes on, the system itself has all that was written.
const UNSYNCED_MARKER: &str = "index.unsynced";

/// Version of the tables, in `user_version`.
const SCHEMA_VERSION: u32 = 5;

/// `brdi`, in the file's header.
const APPLICATION_ID: i32 = 0x6272_6469;

/// Statements kept prepared.
const MAX_CACHED_STATEMENTS: usize = 64;

/// Memory of the writer's connection, in KiB: a few files at a time, and the upper levels of the trees.
const WRITER_CACHE_KIB: i64 = 32 << 10;

/// Memory of a reader's connection, in KiB.
const READER_CACHE_KIB: i64 = 8 << 10;

const TABLES: &str = "
CREATE TABLE meta (
  only      INTEGER PRIMARY KEY CHECK (only = 1),
  root      TEXT NOT NULL,
  rules     TEXT NOT NULL,
  generation INTEGER NOT NULL,           -- one more with every change
  whole     INTEGER NOT NULL,            -- 1: every file was looked at since the tables were made
  others    INTEGER NOT NULL,            -- files that are no Org files, when last looked
  hidden    INTEGER NOT NULL,
  more_skipped INTEGER NOT NULL
) STRICT;

CREATE TABLE file (
  id        INTEGER PRIMARY KEY,
  path      TEXT NOT NULL UNIQUE,
  size      INTEGER NOT NULL,
  mtime     INTEGER NOT NULL,
  ctime     INTEGER NOT NULL,
  inode     INTEGER NOT NULL,
  content   BLOB NOT NULL,               -- hash of its bytes
  hash      BLOB NOT NULL,               -- of its tree
  flaw      TEXT                         -- why it is not all here
) STRICT;

-- Files that have a say in the tags of others: `#+SETUPFILE:`. Those that are not there, too.
CREATE TABLE setup (
  path      TEXT NOT NULL,
  file      INTEGER NOT NULL,            -- whose tags follow from it
  PRIMARY KEY (path, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX setup_file ON setup (file);

CREATE TABLE skipped (
  path      TEXT PRIMARY KEY NOT NULL,
  why       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE object (
  id        INTEGER PRIMARY KEY,
  file      INTEGER NOT NULL,
  ordinal   INTEGER NOT NULL,            -- 0 is the file, then its headings
  parent    INTEGER,                     -- ordinal
  level     INTEGER NOT NULL,
  key       TEXT NOT NULL,               -- what it is known by, alone
  declared  TEXT,                        -- its :ID:
  title     TEXT NOT NULL,
  todo      TEXT,
  done      INTEGER NOT NULL,
  priority  TEXT,
  tags      TEXT NOT NULL,               -- its own and, behind a blank, inherited ones
  private   INTEGER NOT NULL,
  veiled    INTEGER NOT NULL,            -- 1: some or all of its text is private; its words are in veiled_words
  encrypted INTEGER NOT NULL,            -- 1: it is; 2: it is to be, and stands in the clear
  scope     INTEGER NOT NULL,
  start     INTEGER NOT NULL,
  section   INTEGER NOT NULL,
  stop      INTEGER NOT NULL,
  line      INTEGER NOT NULL,
  has_body  INTEGER NOT NULL,
  body      BLOB NOT NULL,
  own       BLOB NOT NULL,
  hash      BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX object_key ON object (key);
CREATE INDEX object_place ON object (file, ordinal);
CREATE INDEX object_todo ON object (todo) WHERE todo IS NOT NULL;
CREATE INDEX object_priority ON object (priority) WHERE priority IS NOT NULL;
CREATE INDEX object_declared ON object (declared) WHERE declared IS NOT NULL;
CREATE INDEX object_double ON object (declared) WHERE declared IS NOT NULL AND key <> declared;

CREATE TABLE tag (
  tag       TEXT NOT NULL,
  object    INTEGER NOT NULL,
  PRIMARY KEY (tag, object)
) STRICT, WITHOUT ROWID;

CREATE TABLE property (
  object    INTEGER NOT NULL,
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (object, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX property_value ON property (key, value, object);

CREATE TABLE stamp (
  object    INTEGER NOT NULL,
  n         INTEGER NOT NULL,
  kind      INTEGER NOT NULL,
  start     INTEGER NOT NULL,
  stop      INTEGER NOT NULL,
  minutes   INTEGER,
  months    INTEGER,
  warning   INTEGER,
  wide      INTEGER NOT NULL,            -- 1: comes again, or lasts long, or is warned of long before
  PRIMARY KEY (object, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX stamp_start ON stamp (start, object) WHERE wide = 0;
CREATE INDEX stamp_wide ON stamp (object) WHERE wide = 1;

CREATE TABLE ghost (
  n         INTEGER PRIMARY KEY,
  own       BLOB NOT NULL,
  key       TEXT NOT NULL
) STRICT;
CREATE INDEX ghost_own ON ghost (own);

-- `prefix`: what is asked for by so many letters alone is found without a look at every word that begins with them,
-- which takes 2.5 s for one letter.
-- What everybody may see. Apart from the rest, so that a rank tells nothing of what is private.
CREATE VIRTUAL TABLE words USING fts5 (
  title, body,
  content = '', contentless_delete = 1, prefix = '1 2 3',
  tokenize = \"unicode61 remove_diacritics 2\"
);
-- All that veiled objects say.
CREATE VIRTUAL TABLE veiled_words USING fts5 (
  title, body, hidden,
  content = '', contentless_delete = 1, prefix = '1 2 3',
  tokenize = \"unicode61 remove_diacritics 2\"
);
-- Words as questions look for them: English words without their endings. Which objects have a word, and in which
-- column, is all that is asked here, so positions are left out: a fifth of the size.
CREATE VIRTUAL TABLE stems USING fts5 (
  title, body,
  content = '', contentless_delete = 1, detail = column,
  tokenize = \"porter unicode61 remove_diacritics 2\"
);
CREATE VIRTUAL TABLE veiled_stems USING fts5 (
  title, body, hidden,
  content = '', contentless_delete = 1, detail = column,
  tokenize = \"porter unicode61 remove_diacritics 2\"
);
-- What is gathered in memory before it is written, in bytes: more than one transaction has.
INSERT INTO words (words, rank) VALUES ('hashsize', 33554432);
-- Pieces that are merged at a time: with 4, as it would be, merging is half of the work of a first index.
INSERT INTO words (words, rank) VALUES ('automerge', 8);
INSERT INTO stems (stems, rank) VALUES ('hashsize', 16777216);
INSERT INTO stems (stems, rank) VALUES ('automerge', 8);
";

/// Folder and rules that an index is made for; with others it is made anew.
pub(crate) struct IndexSubject<'s> {
    pub(crate) root: &'s str,
    pub(crate) rules: &'s ReadRules,
}

/// Opens the index for writing. What cannot be used is thrown away.
pub(crate) fn open_writer(
    dir: &Path,
    subject: &IndexSubject<'_>,
) -> Result<Connection, StoreError> {
    let path = dir.join(INDEX_FILE);
    if is_doubtful(dir) {
        throw_away(dir)?;
    }
    match open_existing(&path, subject) {
        Ok(Some(connection)) => return Ok(connection),
        Err(error @ (StoreError::Full | StoreError::Busy)) => return Err(error),
        Ok(None) | Err(_) => throw_away(dir)?,
    }
    protect(&path)?;
    let connection = connect(&path)?;
    connection.execute_batch("BEGIN")?;
    connection.execute_batch(TABLES)?;
    connection.execute(
        "INSERT INTO meta (only, root, rules, generation, whole, others, hidden, more_skipped)
         VALUES (1, ?1, ?2, 0, 0, 0, 0, 0)",
        [subject.root, &subject.rules.fingerprint()],
    )?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    connection.execute_batch("COMMIT")?;
    Ok(connection)
}

/// The index if it is there and is of this subject.
fn open_existing(
    path: &Path,
    subject: &IndexSubject<'_>,
) -> Result<Option<Connection>, StoreError> {
    if !path.exists() {
        return Ok(None);
    }
    protect(path)?;
    let connection = connect(path)?;
    if !is_ours(&connection)? {
        return Ok(None);
    }
    let (root, rules): (String, String) =
        connection
            .query_row("SELECT root, rules FROM meta", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let fits = root == subject.root && rules == subject.rules.fingerprint();
    Ok(fits.then_some(connection))
}

fn is_ours(connection: &Connection) -> Result<bool, StoreError> {
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok((version, application) == (SCHEMA_VERSION, APPLICATION_ID))
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(MAX_CACHED_STATEMENTS);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Nothing waits for the disk here: the marker says when the disk may not have it all. Syncing while the record
    // is written would make its commits wait.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// Opens the index for reading.
pub(crate) fn open_reader(dir: &Path) -> Result<Connection, StoreError> {
    let path = dir.join(INDEX_FILE);
    if !path.exists() {
        return Err(StoreError::Missing { path });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(MAX_CACHED_STATEMENTS);
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    match is_ours(&connection)? {
        true => Ok(connection),
        false => Err(StoreError::Missing { path }),
    }
}

/// Removes the index and all that belongs to it.
pub(crate) fn throw_away(dir: &Path) -> Result<(), StoreError> {
    let index = dir.join(INDEX_FILE);
    let files = companions(&index).chain([dir.join(UNSYNCED_MARKER)]);
    for path in files {
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::Io { path, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Notes, for certain, that the index is about to be written to.
pub(crate) fn mark(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(UNSYNCED_MARKER);
    let write = || -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600).custom_flags(no_follow());
        let mut file = options.open(&path)?;
        file.write_all(run_of_machine().unwrap_or_default().as_bytes())?;
        file.sync_all()?;
        fs::File::open(dir)?.sync_all()
    };
    write().map_err(|source| StoreError::Io { path: path.clone(), source })
}

/// Notes that the disk has all of it: called after it was synced.
pub(crate) fn unmark(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(UNSYNCED_MARKER);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::Io { path, source })
        }
        _ => Ok(()),
    }
}

/// Whether the disk may not have all of it.
pub(crate) fn is_marked(dir: &Path) -> bool {
    dir.join(UNSYNCED_MARKER).exists()
}

/// Whether the machine went down while the disk did not have all of the index.
fn is_doubtful(dir: &Path) -> bool {
    match fs::read_to_string(dir.join(UNSYNCED_MARKER)) {
        Ok(run) => run_of_machine() != Some(run),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// A name for the time since the machine was started, where the system has one.
fn run_of_machine() -> Option<String> {
    let path = PathBuf::from("/proc/sys/kernel/random/boot_id");
    fs::read_to_string(path).ok().filter(|run| !run.is_empty())
}
