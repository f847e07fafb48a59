//! The outline of the Memex, or of a part of it: titles in the order of the files, a page at a time.

use rusqlite::params;

use super::catalog::{MemexCatalog, MemexObject, OBJECT_COLUMNS, ObjectKind, sees};
use super::query::{DEFAULT_PAGE_OBJECTS, MAX_PAGE_OBJECTS};
use crate::index::rules::PrivateAccess;
use bridle_record::StoreError;
use bridle_record::database::int;

/// Part of the Memex that is listed, and the page of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutlineRequest {
    /// The key of an object, the path of a file or a folder; all of the Memex when it is empty.
    pub under: String,
    /// Levels of headings that are shown; `None` for all of them.
    pub depth: Option<u64>,
    /// Objects on the page; 0 is [`DEFAULT_PAGE_OBJECTS`].
    pub limit: usize,
    /// Cursor of the page before.
    pub cursor: Option<String>,
}

/// A page of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlinePage {
    /// Files and headings, in order.
    pub objects: Vec<MemexObject>,
    /// Cursor of the next page; `None` at the end.
    pub next: Option<String>,
}

impl OutlinePage {
    /// Leaves out what is behind the first so many; the cursor leads to it.
    pub fn cut(&mut self, len: usize) {
        if len < self.objects.len() {
            self.objects.truncate(len);
            self.next = self.objects.last().map(cursor);
        }
    }
}

impl MemexCatalog {
    /// The outline of the Memex, or of a part of it.
    ///
    /// # Errors
    /// There is no such part, or the index cannot be read.
    pub fn outline(
        &self,
        outline: &OutlineRequest,
        access: PrivateAccess,
    ) -> Result<OutlinePage, StoreError> {
        let (path, ordinal) = match &outline.cursor {
            None => (String::new(), -1),
            Some(cursor) => {
                read_cursor(cursor).ok_or(StoreError::Search("no cursor of an outline"))?
            }
        };
        let depth = outline.depth.map_or(i64::MAX, int);
        let OutlineBounds { first, last, span } = self.part(&outline.under, access)?;
        let depth = depth.saturating_add(span.map_or(0, |(level, ..)| int(level)));
        let (start, stop) = span.map_or((0, i64::MAX), |(_, start, stop)| (int(start), int(stop)));
        let limit = if outline.limit == 0 {
            DEFAULT_PAGE_OBJECTS
        } else {
            outline.limit.min(MAX_PAGE_OBJECTS)
        };
        let sql = format!(
            "SELECT {OBJECT_COLUMNS} FROM file f CROSS JOIN object o ON o.file = f.id
             WHERE f.path >= max(?1, ?2) AND f.path < ?3 AND (f.path > ?2 OR o.ordinal > ?4)
             AND o.private <= ?5 AND o.level <= ?6 AND o.start >= ?7 AND o.start < ?8
             ORDER BY f.path, o.ordinal LIMIT ?9"
        );
        let mut statement = self.sql.prepare_cached(&sql)?;
        let most = int(limit as u64) + 1;
        let rows = statement.query_map(
            params![first, path, last, ordinal, sees(access), depth, start, stop, most],
            MemexObject::of,
        )?;
        let mut objects: Vec<MemexObject> = rows.collect::<Result<_, _>>()?;
        // A heading's own outline does not begin with its file, which stands at the same place when it is empty.
        if span.is_some_and(|(level, ..)| level > 0) {
            objects.retain(|object| object.kind() == ObjectKind::Heading);
        }
        let is_more = objects.len() > limit;
        objects.truncate(limit);
        let next = objects.last().filter(|_| is_more).map(cursor);
        Ok(OutlinePage { objects, next })
    }

    /// Returns the bounds of the part below an object.
    fn part(&self, under: &str, access: PrivateAccess) -> Result<OutlineBounds, StoreError> {
        if under.is_empty() {
            return Ok(OutlineBounds {
                first: String::new(),
                last: "\u{10ffff}".to_owned(),
                span: None,
            });
        }
        if let Ok(object) = self.object(under, access) {
            let last = format!("{}\0", object.path);
            // An empty file is somewhere, too.
            let span = Some((object.level, object.start, object.stop.max(1)));
            return Ok(OutlineBounds { first: object.path, last, span });
        }
        let folder = under.trim_end_matches('/');
        let (first, last) = (format!("{folder}/"), format!("{folder}0"));
        let sql = "SELECT 1 FROM file f JOIN object o ON o.file = f.id AND o.ordinal = 0
            WHERE f.path >= ?1 AND f.path < ?2 AND o.private <= ?3";
        match self.sql.prepare_cached(sql)?.exists(params![first, last, sees(access)])? {
            true => Ok(OutlineBounds { first, last, span: None }),
            false => Err(StoreError::NoObject(under.into())),
        }
    }
}

/// Bounds of a part of the Memex, in the order of the index.
struct OutlineBounds {
    /// The first path, and the first one behind it.
    first: String,
    last: String,
    /// If it is in one file: its level, its beginning and its end.
    span: Option<(u64, u64, u64)>,
}

/// Returns the cursor of a page that ends with this object.
fn cursor(last: &MemexObject) -> String {
    format!("{:x}.{}", last.ordinal, last.path)
}

fn read_cursor(text: &str) -> Option<(String, i64)> {
    let (ordinal, path) = text.split_once('.')?;
    Some((path.to_owned(), i64::from_str_radix(ordinal, 16).ok()?))
}
