//! Reading the index, from any thread while the index thread writes. Each answer is made for one [`PrivateAccess`]:
//! private text is in no answer and in no count for those who may not see it.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::index::file_sheet::{Digest, own_hash, shown};
use crate::index::folder::MemexFolder;
use crate::index::rules::{ObjectReach, PrivateAccess};
use crate::index::scan::{SkipReason, SkippedPath};
use crate::index::schema;
use bridle_record::StoreError;
use bridle_record::database::count;

/// Entries of a list of what is not read, or is declared twice, in one answer.
pub const MAX_LISTED_PATHS: usize = 1000;

/// The columns of an object, in the order in which [`MemexObject::of`] reads them.
pub(crate) const OBJECT_COLUMNS: &str = "o.id, o.key, f.path, o.line, o.level, o.title, o.todo, o.done, o.priority, \
    o.tags, o.private, o.encrypted, o.scope, o.hash, o.own, o.start, o.section, o.stop, o.ordinal, o.parent, o.file, \
    o.declared";

/// Kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A file.
    File,
    /// A heading.
    Heading,
}

impl ObjectKind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::File => "file",
            ObjectKind::Heading => "heading",
        }
    }
}

/// A file or a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemexObject {
    /// Key that names the object: its `:ID:`, or a name that the index gave it.
    pub key: String,
    /// The file it is in, from the top of the Memex.
    pub path: String,
    /// Its line, from 1.
    pub line: u64,
    /// Its stars; 0 for a file.
    pub level: u64,
    /// Its title.
    pub title: String,
    /// Its keyword.
    pub todo: Option<String>,
    /// Whether that says that nothing is left to do.
    pub done: bool,
    /// Its priority.
    pub priority: Option<String>,
    /// Its own tags.
    pub tags: Vec<String>,
    /// The tags that it inherits.
    pub inherited: Vec<String>,
    /// Whether it is private: not for prompts of models that are elsewhere.
    pub private: bool,
    /// Whether it is encrypted, or is to be: nothing but its title is known.
    pub encrypted: bool,
    /// Whether it is to be encrypted, and stands in the clear.
    pub in_clear: bool,
    /// Reach of the object.
    pub scope: ObjectReach,
    /// The hash of it and all below it.
    pub hash: Digest,
    pub(crate) id: i64,
    pub(crate) own: Digest,
    pub(crate) start: u64,
    pub(crate) section: u64,
    pub(crate) stop: u64,
    pub(crate) ordinal: i64,
    pub(crate) parent: Option<i64>,
    pub(crate) file: i64,
    /// Whether its `:ID:` is that of another object.
    pub(crate) declared: Option<String>,
}

impl MemexObject {
    pub(crate) fn of(row: &Row<'_>) -> rusqlite::Result<MemexObject> {
        let tags: String = row.get(9)?;
        let (own, inherited) = tags.split_once(' ').unwrap_or((&tags, ""));
        let list = |tags: &str| {
            let tags = tags.split(':').filter(|tag| !tag.is_empty());
            tags.map(str::to_owned).collect()
        };
        let scope = usize::try_from(row.get::<_, i64>(12)?).ok();
        Ok(MemexObject {
            id: row.get(0)?,
            key: row.get(1)?,
            path: row.get(2)?,
            line: count(row.get(3)?),
            level: count(row.get(4)?),
            title: row.get(5)?,
            todo: row.get(6)?,
            done: row.get(7)?,
            priority: row.get(8)?,
            tags: list(own),
            inherited: list(inherited),
            private: row.get(10)?,
            encrypted: row.get::<_, i64>(11)? > 0,
            in_clear: row.get::<_, i64>(11)? > 1,
            scope: scope.and_then(|scope| ObjectReach::ALL.get(scope).copied()).unwrap_or_default(),
            hash: row.get(13)?,
            own: row.get(14)?,
            start: count(row.get(15)?),
            section: count(row.get(16)?),
            stop: count(row.get(17)?),
            ordinal: row.get(18)?,
            parent: row.get(19)?,
            file: row.get(20)?,
            declared: row.get(21)?,
        })
    }

    /// Returns the kind of the object.
    #[must_use]
    pub fn kind(&self) -> ObjectKind {
        if self.ordinal == 0 { ObjectKind::File } else { ObjectKind::Heading }
    }
}

/// Numbers about the index, and whether it is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// Files in it.
    pub files: u64,
    /// Headings in it.
    pub headings: u64,
    /// Files and folders that are not read.
    pub skipped: u64,
    /// Files that are no Org files.
    pub others: u64,
    /// `:ID:`s that more than one object declares.
    pub duplicates: u64,
    /// One more with every change.
    pub generation: u64,
    /// Whether every file was looked at since the index was made.
    pub standing: IndexCompleteness,
    /// The hash of all of it.
    pub hash: Digest,
}

/// Whether the index has everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexCompleteness {
    /// Every file has been read.
    Whole,
    /// Files are still being read.
    Partial,
}

/// An `:ID:` that more than one object declares. The first is known by it, the others have names of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateId {
    /// The `:ID:`.
    pub declared: String,
    /// The key of the object that is not known by it.
    pub key: String,
    /// Path of the file that has the second one.
    pub path: String,
    /// Its line.
    pub line: u64,
}

/// A reader of the index.
#[derive(Debug)]
pub struct MemexCatalog {
    pub(crate) sql: Connection,
    pub(crate) memex: Arc<MemexFolder>,
}

impl MemexCatalog {
    /// Opens the index of a state directory for reading.
    ///
    /// # Errors
    /// There is none.
    pub fn open(directory: &Path, memex: Arc<MemexFolder>) -> Result<MemexCatalog, StoreError> {
        Ok(MemexCatalog { sql: schema::open_reader(directory)?, memex })
    }

    /// The object that is known by a key, or the file at a path.
    ///
    /// # Errors
    /// There is none that may be seen.
    pub fn object(&self, name: &str, access: PrivateAccess) -> Result<MemexObject, StoreError> {
        let by_key = format!(
            "SELECT {OBJECT_COLUMNS} FROM object o JOIN file f ON f.id = o.file WHERE o.key = ?1"
        );
        let by_path = format!(
            "SELECT {OBJECT_COLUMNS} FROM file f JOIN object o ON o.file = f.id AND o.ordinal = 0 WHERE f.path = ?1"
        );
        for sql in [by_key, by_path] {
            let found =
                self.sql.prepare_cached(&sql)?.query_row([name], MemexObject::of).optional()?;
            if let Some(object) =
                found.filter(|object| access == PrivateAccess::Owner || !object.private)
            {
                return Ok(object);
            }
        }
        Err(StoreError::NoObject(name.into()))
    }

    /// The objects right below one, in order.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn children(
        &self,
        object: &MemexObject,
        access: PrivateAccess,
        most: usize,
    ) -> Result<Vec<MemexObject>, StoreError> {
        let sql = format!(
            "SELECT {OBJECT_COLUMNS} FROM object o JOIN file f ON f.id = o.file
             WHERE o.file = ?1 AND o.parent = ?2 AND o.start < ?3 AND o.private <= ?4 ORDER BY o.ordinal LIMIT ?5"
        );
        let mut statement = self.sql.prepare_cached(&sql)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let stop = bridle_record::database::int(object.stop);
        let rows = statement.query_map(
            params![object.file, object.ordinal, stop.max(1), sees(access), most],
            MemexObject::of,
        )?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The objects that one is below, from the file on.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn above(&self, object: &MemexObject) -> Result<Vec<MemexObject>, StoreError> {
        let sql = format!(
            "SELECT {OBJECT_COLUMNS} FROM object o JOIN file f ON f.id = o.file WHERE o.file = ?1 AND o.ordinal = ?2"
        );
        let mut statement = self.sql.prepare_cached(&sql)?;
        let mut above = Vec::new();
        let mut next = object.parent;
        while let Some(ordinal) = next {
            let found = statement.query_row([object.file, ordinal], MemexObject::of).optional()?;
            let Some(parent) = found else { break };
            next = parent.parent.filter(|next| *next < ordinal);
            above.push(parent);
        }
        above.reverse();
        Ok(above)
    }

    /// The own text of an object, up to the next heading. `None` when it is encrypted, or when the file is not as
    /// it was indexed: it will be.
    #[must_use]
    pub fn text(&self, object: &MemexObject, access: PrivateAccess) -> Option<String> {
        if object.encrypted || (access == PrivateAccess::Public && object.private) {
            return None;
        }
        let (bytes, _) = self.memex.read(&object.path).ok()?;
        self.text_in(&bytes, object, access)
    }

    /// Returns the text of an object from bytes of its file that are at hand.
    pub(crate) fn text_in(
        &self,
        bytes: &[u8],
        object: &MemexObject,
        access: PrivateAccess,
    ) -> Option<String> {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let section = bytes.get(place(object.start)..place(object.section))?;
        let level = usize::try_from(object.level).unwrap_or(usize::MAX);
        // What was judged, and nothing else, is what is shown.
        if object.encrypted || own_hash(section, level) != object.own {
            return None;
        }
        Some(shown(section, self.memex.rules(), access == PrivateAccess::Owner))
    }

    /// Returns numbers about the index, as far as the asker may see them.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn status(&self, access: PrivateAccess) -> Result<IndexStatus, StoreError> {
        let one = |sql: &str| -> Result<u64, StoreError> {
            Ok(count(self.sql.prepare_cached(sql)?.query_row([], |row| row.get(0))?))
        };
        let seen = match access {
            PrivateAccess::Owner => "",
            PrivateAccess::Public => " AND private = 0",
        };
        let meta = "SELECT generation, whole, others FROM meta";
        let (generation, whole, others): (i64, bool, i64) =
            self.sql.query_row(meta, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(IndexStatus {
            files: one(&format!("SELECT count(*) FROM object WHERE ordinal = 0{seen}"))?,
            headings: one(&format!("SELECT count(*) FROM object WHERE ordinal > 0{seen}"))?,
            skipped: match access {
                PrivateAccess::Owner => {
                    one("SELECT (SELECT count(*) FROM skipped) + (SELECT more_skipped FROM meta)")?
                }
                PrivateAccess::Public => 0,
            },
            others: count(others),
            duplicates: one(&format!(
                "SELECT count(*) FROM object WHERE declared IS NOT NULL AND key <> declared{seen}"
            ))?,
            generation: count(generation),
            standing: if whole { IndexCompleteness::Whole } else { IndexCompleteness::Partial },
            hash: self.hash(access)?,
        })
    }

    /// The hash of all files; for those who do not see all of them, of nothing.
    fn hash(&self, access: PrivateAccess) -> Result<Digest, StoreError> {
        let mut hasher = blake3::Hasher::new_derive_key("bridle 2026 memex tree");
        if access == PrivateAccess::Owner {
            let mut statement =
                self.sql.prepare_cached("SELECT path, hash FROM file ORDER BY path")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                hasher.update(row.get_ref(0)?.as_str().unwrap_or_default().as_bytes());
                hasher.update(&[0]);
                hasher.update(row.get_ref(1)?.as_blob().unwrap_or_default());
            }
        }
        Ok(hasher.finalize().into())
    }

    /// Returns the paths that are not read, or not all of them, with the reasons. For the owner: names tell
    /// something, too.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn skipped(&self) -> Result<Vec<SkippedPath>, StoreError> {
        let mut statement = self.sql.prepare_cached(
            "SELECT path, why FROM skipped UNION SELECT path, flaw FROM file WHERE flaw IS NOT NULL
             ORDER BY path LIMIT ?1",
        )?;
        let rows = statement
            .query_map([i64::try_from(MAX_LISTED_PATHS).unwrap_or(i64::MAX)], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })?;
        let mut all = Vec::new();
        for row in rows {
            let (path, why) = row?;
            all.extend(SkipReason::parse(&why).map(|why| SkippedPath { path, why }));
        }
        Ok(all)
    }

    /// Objects whose `:ID:` is that of another one.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn duplicates(&self, access: PrivateAccess) -> Result<Vec<DuplicateId>, StoreError> {
        let mut statement = self.sql.prepare_cached(
            "SELECT o.declared, o.key, f.path, o.line FROM object o JOIN file f ON f.id = o.file
             WHERE o.declared IS NOT NULL AND o.key <> o.declared AND o.private <= ?1
             ORDER BY o.declared LIMIT ?2",
        )?;
        let most = i64::try_from(MAX_LISTED_PATHS).unwrap_or(i64::MAX);
        let rows = statement.query_map([sees(access), most], |row| {
            Ok(DuplicateId {
                declared: row.get(0)?,
                key: row.get(1)?,
                path: row.get(2)?,
                line: count(row.get(3)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The properties of an object; values that name it are among them.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn properties(&self, object: &MemexObject) -> Result<Vec<(String, String)>, StoreError> {
        let mut statement = self
            .sql
            .prepare_cached("SELECT key, value FROM property WHERE object = ?1 ORDER BY key")?;
        let rows = statement.query_map([object.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(crate) fn generation(&self) -> Result<u64, StoreError> {
        let sql = "SELECT generation FROM meta";
        Ok(count(self.sql.prepare_cached(sql)?.query_row([], |row| row.get(0))?))
    }
}

/// The largest value of `private` that somebody sees.
pub(crate) fn sees(access: PrivateAccess) -> i64 {
    match access {
        PrivateAccess::Owner => 1,
        PrivateAccess::Public => 0,
    }
}
