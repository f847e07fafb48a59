//! Writing files into the tables of the index, inside one transaction. Called by the writer alone.
//!
//! Objects keep their numbers and keys across edits, moves and renames as far as `identity` can tell; an object that
//! is gone is removed, with everything that is known of it. A key that is free again goes to the object that declares
//! it.
//!
//! long: the statements of one transaction.

mod moves;
mod names;

use std::sync::LazyLock;

use rusqlite::{OptionalExtension as _, Transaction, params};

use self::names::GeneratedNames;
use super::file_sheet::{Digest, FileSheet, SheetItem};
use super::identity::{HeadingFace, pair};
use super::org_timestamp::{OrgTimestamp, WARNING_DAYS};
use super::scan::{FileTrace, FolderScan, SkipReason, SkippedPath};
use super::search_words::spread;
use super::writer::{FileContent, IndexChanges};
use bridle_record::StoreError;
use bridle_record::database::int;

pub(crate) use self::moves::{FileMoves, KnownFile};

/// Removed objects whose keys are remembered, in case they come back elsewhere.
const MAX_GHOSTS: i64 = 10_000;

/// Minutes up to which a date is short: 32 days.
pub(crate) const SHORT_STAMP_MINUTES: i64 = 32 * 24 * 60;

/// The columns of an object after its number, in the order in which they are written.
const OBJECT_TABLE_COLUMNS: [&str; 23] = [
    "file",
    "ordinal",
    "parent",
    "level",
    "key",
    "declared",
    "title",
    "todo",
    "done",
    "priority",
    "tags",
    "private",
    "veiled",
    "encrypted",
    "scope",
    "start",
    "section",
    "stop",
    "line",
    "has_body",
    "body",
    "own",
    "hash",
];

/// Writes an object that is new; SQLite gives it a number.
static INSERT_OBJECT: LazyLock<String> = LazyLock::new(|| {
    let marks: String = (2..OBJECT_TABLE_COLUMNS.len() + 2).map(|n| format!(", ?{n}")).collect();
    format!("INSERT INTO object (id, {}) VALUES (?1{marks})", OBJECT_TABLE_COLUMNS.join(", "))
});

/// Writes an object that is known.
static UPDATE_OBJECT: LazyLock<String> = LazyLock::new(|| {
    let set: Vec<String> = OBJECT_TABLE_COLUMNS
        .iter()
        .zip(2..)
        .map(|(column, n)| format!("{column} = ?{n}"))
        .collect();
    format!("UPDATE object SET {} WHERE id = ?1", set.join(", "))
});

/// One transaction.
pub(crate) struct IndexBatch<'b, 't> {
    pub(crate) sql: &'b Transaction<'t>,
    pub(crate) moves: &'b mut FileMoves,
    pub(crate) changes: &'b mut IndexChanges,
}

/// An object of before.
struct PriorObject {
    id: i64,
    parent: Option<usize>,
    key: String,
    declared: Option<String>,
    title: String,
    tags: String,
    private: bool,
    has_body: bool,
    body: Digest,
    own: Digest,
}

impl PriorObject {
    fn face(&self) -> HeadingFace<'_> {
        HeadingFace {
            declared: self.declared.as_deref(),
            title: &self.title,
            own: &self.own,
            body: self.has_body.then_some(&self.body[..]),
            parent: self.parent,
        }
    }
}

impl SheetItem {
    /// Returns the features that tell this heading from others.
    pub(crate) fn face(&self) -> HeadingFace<'_> {
        HeadingFace {
            declared: self.declared.as_deref(),
            title: &self.title,
            own: &self.own,
            body: self.has_body.then_some(&self.body[..]),
            parent: self.parent,
        }
    }
}

impl IndexBatch<'_, '_> {
    /// Takes a file that was read, or why it was not.
    pub(crate) fn take(&mut self, read: FileContent) -> Result<(), StoreError> {
        let FileContent { path, result } = read;
        let known = self
            .sql
            .prepare_cached(
                "SELECT id, size, mtime, ctime, inode, content FROM file WHERE path = ?1",
            )?
            .query_row([&path], KnownFile::of)
            .optional()?;
        match result {
            Ok((sheet, trace)) => self.put(&path, known, &sheet, &trace),
            Err(why) => {
                if let Some(known) = known {
                    self.remove_file(known)?;
                }
                if let Some(why) = why {
                    self.note_skipped(&path, why)?;
                    self.moves.failed.push(SkippedPath { path, why });
                }
                Ok(())
            }
        }
    }

    fn put(
        &mut self,
        path: &str,
        known: Option<KnownFile>,
        sheet: &FileSheet,
        trace: &FileTrace,
    ) -> Result<(), StoreError> {
        self.changes.read += 1;
        self.sql.prepare_cached("DELETE FROM skipped WHERE path = ?1")?.execute([path])?;
        let moved = match known {
            Some(_) => None,
            None => self.moves.source_of(sheet, trace),
        };
        let mut old = match known.or(moved.map(|(known, _)| known)) {
            Some(known) => self.objects_of(known.id)?,
            None => Vec::new(),
        };
        // A number of the file system may be given to another file; it is the same if most of it is.
        if let Some((known, false)) = moved
            && !is_mostly(&old, sheet)
        {
            self.remove_file(known)?;
            old.clear();
        }
        let file = match (known, moved) {
            (Some(known), _) => known.id,
            (None, Some((moved, _))) if !old.is_empty() => {
                self.changes.moved += 1;
                moved.id
            }
            _ => {
                self.changes.added += 1;
                self.insert_file(path)?
            }
        };
        self.update_file(file, path, sheet, trace)?;
        self.put_objects(file, path, &old, sheet)
    }

    fn insert_file(&self, path: &str) -> Result<i64, StoreError> {
        self.sql
            .prepare_cached(
                "INSERT INTO file (path, size, mtime, ctime, inode, content, hash)
                 VALUES (?1, 0, 0, 0, 0, x'', x'')",
            )?
            .insert([path])
            .map_err(StoreError::from)
    }

    fn update_file(
        &self,
        id: i64,
        path: &str,
        sheet: &FileSheet,
        trace: &FileTrace,
    ) -> Result<(), StoreError> {
        let hash = sheet.items.first().map_or(sheet.content, |file| file.hash);
        let mut statement = self.sql.prepare_cached(
            "UPDATE file SET path = ?2, size = ?3, mtime = ?4, ctime = ?5, inode = ?6, content = ?7,
             hash = ?8, flaw = ?9 WHERE id = ?1",
        )?;
        statement.execute(params![
            id,
            path,
            int(trace.size),
            trace.mtime,
            trace.ctime,
            // Numbers of some file systems use all 64 bits; the same goes in as comes out.
            trace.inode.cast_signed(),
            sheet.content,
            hash,
            sheet.flaw.map(SkipReason::word),
        ])?;
        self.forget_setups(id)?;
        let sql = "INSERT OR IGNORE INTO setup (path, file) VALUES (?1, ?2)";
        for setup in &sheet.setups {
            self.sql.prepare_cached(sql)?.execute(params![setup, id])?;
        }
        Ok(())
    }

    fn forget_setups(&self, file: i64) -> Result<(), StoreError> {
        self.sql.prepare_cached("DELETE FROM setup WHERE file = ?1")?.execute([file])?;
        Ok(())
    }

    fn put_objects(
        &mut self,
        file: i64,
        path: &str,
        old: &[PriorObject],
        sheet: &FileSheet,
    ) -> Result<(), StoreError> {
        let old_faces: Vec<HeadingFace<'_>> = old.iter().map(PriorObject::face).collect();
        let new_faces: Vec<HeadingFace<'_>> = sheet.items.iter().map(SheetItem::face).collect();
        let pairs = pair(&old_faces, &new_faces);
        let mut is_left = vec![true; old.len()];
        pairs.iter().flatten().for_each(|index| is_left[*index] = false);
        for (object, _) in old.iter().zip(&is_left).filter(|(_, left)| **left) {
            self.remove_object(object)?;
        }
        let mut names = GeneratedNames::new(path, sheet);
        for (index, item) in sheet.items.iter().enumerate() {
            let before = pairs[index].map(|index| &old[index]);
            let place = ItemPosition { file, index, sheet };
            match before {
                Some(before) => self.change_object(place, item, before, &mut names)?,
                None => self.insert_object(place, item, &mut names)?,
            }
        }
        Ok(())
    }

    fn objects_of(&self, file: i64) -> Result<Vec<PriorObject>, StoreError> {
        let mut statement = self.sql.prepare_cached(
            "SELECT id, parent, key, declared, title, tags, private, has_body, body, own FROM object
             WHERE file = ?1 ORDER BY ordinal",
        )?;
        let rows = statement.query_map([file], |row| {
            Ok(PriorObject {
                id: row.get(0)?,
                parent: row.get::<_, Option<i64>>(1)?.map(|n| usize::try_from(n).unwrap_or(0)),
                key: row.get(2)?,
                declared: row.get(3)?,
                title: row.get(4)?,
                tags: row.get(5)?,
                private: row.get(6)?,
                has_body: row.get(7)?,
                body: row.get(8)?,
                own: row.get(9)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn insert_object(
        &mut self,
        at: ItemPosition<'_>,
        item: &SheetItem,
        names: &mut GeneratedNames<'_>,
    ) -> Result<(), StoreError> {
        // Of files, too many say nothing outside of their headings.
        let ghost = match (&item.declared, self.moves.is_first || item.parent.is_none()) {
            (None, false) => self.ghost(&item.own)?,
            _ => None,
        };
        let key = match ghost {
            Some(key) => key,
            None => self.free_key(item, at.index, names)?,
        };
        let id = self.write_object(&INSERT_OBJECT, None, &key, at, item)?;
        if !self.moves.is_first && item.declared.is_none() && item.parent.is_some() {
            self.moves.fresh.insert(item.own, id);
        }
        self.insert_facts(id, at, item)
    }

    fn change_object(
        &mut self,
        at: ItemPosition<'_>,
        item: &SheetItem,
        before: &PriorObject,
        names: &mut GeneratedNames<'_>,
    ) -> Result<(), StoreError> {
        let is_same = before.own == item.own
            && before.tags == at.tags(item)
            && before.private == item.private
            && before.title == item.title;
        let key = match item.declared == before.declared {
            true => before.key.clone(),
            false => self.free_key(item, at.index, names)?,
        };
        self.write_object(&UPDATE_OBJECT, Some(before.id), &key, at, item)?;
        if is_same {
            return Ok(());
        }
        self.remove_facts(before)?;
        self.insert_facts(before.id, at, item)
    }

    /// Writes the row of an object, with one of the statements that [`OBJECT_TABLE_COLUMNS`] makes; returns its number.
    fn write_object(
        &self,
        sql: &str,
        id: Option<i64>,
        key: &str,
        at: ItemPosition<'_>,
        item: &SheetItem,
    ) -> Result<i64, StoreError> {
        self.sql.prepare_cached(sql)?.execute(params![
            id,
            at.file,
            at.ordinal(),
            at.parent(item),
            size(item.level),
            key,
            item.declared,
            item.title,
            item.todo,
            item.done,
            item.priority,
            at.tags(item),
            item.private,
            item.is_veiled(),
            i64::from(item.encrypted) + i64::from(item.in_clear),
            item.scope as i64,
            size(item.place.start),
            size(item.place.section),
            size(item.place.end),
            size(item.place.line),
            item.has_body,
            item.body,
            item.own,
            item.hash,
        ])?;
        Ok(id.unwrap_or_else(|| self.sql.last_insert_rowid()))
    }

    fn insert_facts(
        &self,
        id: i64,
        at: ItemPosition<'_>,
        item: &SheetItem,
    ) -> Result<(), StoreError> {
        let mut tag =
            self.sql.prepare_cached("INSERT OR IGNORE INTO tag (tag, object) VALUES (?1, ?2)")?;
        for name in at.sheet.tags_of(item) {
            tag.execute(params![name, id])?;
        }
        let mut property = self
            .sql
            .prepare_cached("INSERT INTO property (object, key, value) VALUES (?1, ?2, ?3)")?;
        for (key, value) in &item.properties {
            property.execute(params![id, key, value])?;
        }
        let mut stamp = self.sql.prepare_cached(
            "INSERT INTO stamp (object, n, kind, start, stop, minutes, months, warning, wide)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for (n, it) in item.stamps.iter().enumerate() {
            let OrgTimestamp { kind, start, stop, every_minutes, every_months, warning } = it;
            let wide = is_wide(it);
            stamp.execute(params![
                id,
                size(n),
                kind.number(),
                start.0,
                stop.0,
                every_minutes,
                every_months,
                warning,
                wide
            ])?;
        }
        let (title, text) = (spread(&item.title), spread(&item.text));
        let hidden = spread(&item.hidden);
        if !item.private {
            for table in ["words", "stems"] {
                let sql = format!("INSERT INTO {table} (rowid, title, body) VALUES (?1, ?2, ?3)");
                self.sql.prepare_cached(&sql)?.execute(params![id, title, text])?;
            }
        }
        if item.is_veiled() {
            for table in ["veiled_words", "veiled_stems"] {
                let sql = format!(
                    "INSERT INTO {table} (rowid, title, body, hidden) VALUES (?1, ?2, ?3, ?4)"
                );
                self.sql.prepare_cached(&sql)?.execute(params![id, title, text, hidden])?;
            }
        }
        Ok(())
    }

    fn remove_facts(&self, object: &PriorObject) -> Result<(), StoreError> {
        let id = object.id;
        let mut tag = self.sql.prepare_cached("DELETE FROM tag WHERE tag = ?1 AND object = ?2")?;
        for name in object.tags.split([':', ' ']).filter(|name| !name.is_empty()) {
            tag.execute(params![name, id])?;
        }
        self.sql.prepare_cached("DELETE FROM property WHERE object = ?1")?.execute([id])?;
        self.sql.prepare_cached("DELETE FROM stamp WHERE object = ?1")?.execute([id])?;
        for table in ["words", "veiled_words", "stems", "veiled_stems"] {
            let sql = format!("DELETE FROM {table} WHERE rowid = ?1");
            self.sql.prepare_cached(&sql)?.execute([id])?;
        }
        Ok(())
    }

    fn remove_object(&mut self, object: &PriorObject) -> Result<(), StoreError> {
        self.remove_facts(object)?;
        self.sql.prepare_cached("DELETE FROM object WHERE id = ?1")?.execute([object.id])?;
        // One that declares its key has it again wherever it comes back.
        if object.declared.as_ref() == Some(&object.key) || object.parent.is_none() {
            return Ok(());
        }
        if let Some(moved) = self.moves.fresh.remove(&object.own) {
            self.set_key(moved, &object.key)?;
            return Ok(());
        }
        let last = self
            .sql
            .prepare_cached("INSERT INTO ghost (own, key) VALUES (?1, ?2)")?
            .insert(params![object.own, object.key])?;
        self.sql.prepare_cached("DELETE FROM ghost WHERE n <= ?1")?.execute([last - MAX_GHOSTS])?;
        Ok(())
    }

    fn remove_file(&mut self, known: KnownFile) -> Result<(), StoreError> {
        for object in self.objects_of(known.id)? {
            self.remove_object(&object)?;
        }
        self.forget_setups(known.id)?;
        self.sql.prepare_cached("DELETE FROM file WHERE id = ?1")?.execute([known.id])?;
        self.changes.removed += 1;
        Ok(())
    }

    /// Removes the files that are gone and did not turn up elsewhere.
    pub(crate) fn remove_gone(&mut self) -> Result<(), StoreError> {
        for (path, known) in std::mem::take(&mut self.moves.gone) {
            self.remove_file(known)?;
            self.sql.prepare_cached("DELETE FROM skipped WHERE path = ?1")?.execute([path])?;
        }
        Ok(())
    }

    fn note_skipped(&self, path: &str, why: SkipReason) -> Result<(), StoreError> {
        self.sql
            .prepare_cached("INSERT OR REPLACE INTO skipped (path, why) VALUES (?1, ?2)")?
            .execute([path, why.word()])?;
        Ok(())
    }

    /// Notes what was not read, and that everything was looked at.
    pub(crate) fn note_scan(&mut self, scan: &FolderScan) -> Result<(), StoreError> {
        self.sql.prepare_cached("DELETE FROM skipped")?.execute([])?;
        for SkippedPath { path, why } in scan.skipped.iter().chain(&self.moves.failed) {
            self.note_skipped(path, *why)?;
        }
        self.sql
            .prepare_cached(
                "UPDATE meta SET whole = 1, others = ?1, hidden = ?2, more_skipped = ?3",
            )?
            .execute([size(scan.others), size(scan.hidden), size(scan.more_skipped)])?;
        Ok(())
    }

    /// Ends the batch: keys that are free again go to those who declare them.
    pub(crate) fn end(&mut self) -> Result<(), StoreError> {
        let mut statement = self.sql.prepare_cached(
            // Those alone, and not all that declare a key: 20 ms of a change otherwise.
            "SELECT id, declared FROM object AS o INDEXED BY object_double
             WHERE declared IS NOT NULL AND key <> declared
             AND NOT EXISTS (SELECT 1 FROM object WHERE key = o.declared) ORDER BY id",
        )?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let free: Vec<(i64, String)> = rows.collect::<Result<_, _>>()?;
        drop(statement);
        for (id, declared) in free {
            // Two may declare the same: the first has it.
            if !self.is_taken(&declared)? {
                self.set_key(id, &declared)?;
            }
        }
        self.sql.prepare_cached("UPDATE meta SET generation = generation + 1")?.execute([])?;
        Ok(())
    }

    fn set_key(&self, id: i64, key: &str) -> Result<(), StoreError> {
        self.sql
            .prepare_cached("UPDATE OR IGNORE object SET key = ?2 WHERE id = ?1")?
            .execute(params![id, key])?;
        Ok(())
    }

    fn is_taken(&self, key: &str) -> Result<bool, StoreError> {
        let mut statement = self.sql.prepare_cached("SELECT 1 FROM object WHERE key = ?1")?;
        Ok(statement.exists([key])?)
    }

    fn ghost(&self, own: &Digest) -> Result<Option<String>, StoreError> {
        let found: Option<(i64, String)> = self
            .sql
            .prepare_cached("SELECT n, key FROM ghost WHERE own = ?1 ORDER BY n DESC LIMIT 1")?
            .query_row([own], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((n, key)) = found else { return Ok(None) };
        self.sql.prepare_cached("DELETE FROM ghost WHERE n = ?1")?.execute([n])?;
        Ok(if self.is_taken(&key)? { None } else { Some(key) })
    }

    /// The key that an object declares, or one that follows from where it is, and that no other has.
    fn free_key(
        &self,
        item: &SheetItem,
        index: usize,
        names: &mut GeneratedNames<'_>,
    ) -> Result<String, StoreError> {
        if let Some(declared) = &item.declared
            && !self.is_taken(declared)?
        {
            return Ok(declared.clone());
        }
        loop {
            let key = names.next(index);
            if !self.is_taken(&key)? {
                return Ok(key);
            }
        }
    }
}

/// Position of an item among those of its file.
#[derive(Clone, Copy)]
struct ItemPosition<'a> {
    file: i64,
    index: usize,
    sheet: &'a FileSheet,
}

impl ItemPosition<'_> {
    fn ordinal(self) -> i64 {
        size(self.index)
    }

    fn parent(self, item: &SheetItem) -> Option<i64> {
        item.parent.map(size)
    }

    /// Its own tags with colons between them and, behind a blank, the inherited ones.
    fn tags(self, item: &SheetItem) -> String {
        let all: Vec<&str> = self.sheet.tags_of(item).collect();
        let (own, inherited) = all.split_at(item.own_tags);
        match inherited.is_empty() {
            true => own.join(":"),
            false => format!("{} {}", own.join(":"), inherited.join(":")),
        }
    }
}

/// Whether at least half of the headings of before are still there, or all that there is.
fn is_mostly(old: &[PriorObject], sheet: &FileSheet) -> bool {
    let now: std::collections::HashSet<&Digest> =
        sheet.items.iter().map(|item| &item.own).collect();
    let same = old.iter().filter(|object| now.contains(&object.own)).count();
    !old.is_empty() && same * 2 >= old.len()
}

pub(crate) fn is_wide(stamp: &OrgTimestamp) -> bool {
    let repeats = stamp.every_minutes.is_some() || stamp.every_months.is_some();
    let lasts = stamp.stop.0 - stamp.start.0 > SHORT_STAMP_MINUTES;
    let warns = stamp.warning.is_some_and(|warning| warning > WARNING_DAYS * 24 * 60);
    repeats || lasts || warns
}

/// A size for SQLite.
fn size(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
