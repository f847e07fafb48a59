//! Answering a query from the tables. The rarest condition names the candidates in the order of their numbers, so
//! many and no more; the others are checked for each. So a page takes a bounded time, whatever the query.

mod rank;

use std::collections::HashMap;

use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};

use self::rank::WordTable;
use super::catalog::{MemexCatalog, MemexObject, OBJECT_COLUMNS, ObjectKind, sees};
use super::query::{
    DEFAULT_PAGE_OBJECTS, MAX_PAGE_OBJECTS, MAX_QUERY_CONDITIONS, MemexQuery, QueryCursor,
    QueryHit, QueryMode, QueryPage, SearchText,
};
use super::question_words::ReadQuestion;
use crate::index::apply::SHORT_STAMP_MINUTES;
use crate::index::org_timestamp::{DateSpan, OrgTimestamp, StampKind, WARNING_DAYS, WallMinute};
use crate::index::rules::PrivateAccess;
use crate::index::search_words::{SearchWords, snippet};
use bridle_record::StoreError;

/// Candidates that one page looks at: some 10 ms.
pub(crate) const MAX_CANDIDATES_PER_PAGE: usize = 8192;

/// Objects that are ranked in one search, the latest that fit: some 10 ms.
pub(crate) const MAX_RANKED_OBJECTS: usize = 2048;

/// Candidates that are counted to find the rarest condition.
const MAX_COUNTED_OCCURRENCES: i64 = 1024;

/// A part of a statement with its values.
#[derive(Clone, Debug)]
pub(super) struct QueryPart {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

/// Hits, the cursor behind them, and the number of objects that were ranked.
type FoundPage = (Vec<QueryHit>, Option<QueryCursor>, Option<usize>);

impl QueryPart {
    pub(super) fn new<const N: usize>(sql: impl Into<String>, values: [Value; N]) -> QueryPart {
        QueryPart { sql: sql.into(), values: values.into() }
    }
}

impl MemexCatalog {
    /// Answers a question with a page.
    ///
    /// # Errors
    /// The question cannot be understood, or the index cannot be read.
    pub fn query(
        &self,
        query: &MemexQuery,
        access: PrivateAccess,
        text: SearchText,
    ) -> Result<QueryPage, StoreError> {
        let conditions =
            query.tags.len() + query.without_tags.len() + query.todo.len() + query.properties.len();
        if conditions > MAX_QUERY_CONDITIONS {
            return Err(StoreError::Search("more than 16 tags, keywords and properties"));
        }
        let generation = self.generation()?;
        let changed = query.cursor.is_some_and(|cursor| cursor.generation != generation);
        if let (Some(words), QueryMode::Question { now }) = (&query.text, query.mode) {
            let question = ReadQuestion::read(words, now)?;
            let (hits, next) = self.ask(&question, query, access, text)?;
            let next = next.map(|next| QueryCursor { generation, ..next });
            let dates = question.dates;
            return Ok(QueryPage { hits, next, changed, ranked: None, dates, generation });
        }
        let (hits, next, ranked) = match &query.text {
            Some(words) => self.ranked(&SearchWords::read(words)?, query, access, text)?,
            None => self.listed(query, access)?,
        };
        let next = next.map(|next| QueryCursor { generation, ..next });
        Ok(QueryPage { hits, next, changed, ranked, dates: None, generation })
    }

    /// Objects in the order of their numbers.
    fn listed(&self, query: &MemexQuery, access: PrivateAccess) -> Result<FoundPage, StoreError> {
        let after = query.cursor.map_or(0, |cursor| cursor.after);
        let driver = self.driver(query, access, after)?;
        let conditions = self.conditions(query, access)?;
        let limit = limit(query);
        let mut values = driver.values.clone();
        let mut sql = format!(
            "SELECT {OBJECT_COLUMNS} FROM ({}) AS c CROSS JOIN object AS o ON o.id = c.id
             CROSS JOIN file AS f ON f.id = o.file WHERE 1",
            driver.sql
        );
        for part in conditions {
            sql.push_str(" AND ");
            sql.push_str(&part.sql);
            values.extend(part.values);
        }
        sql.push_str(" ORDER BY c.id");
        let mut hits = Vec::new();
        let mut statement = self.sql.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            if !self.is_in_time(query, row.get(0)?)? {
                continue;
            }
            if hits.len() == limit {
                let next = hits.last().map(|hit: &QueryHit| hit.cursor(0));
                return Ok((hits, next, None));
            }
            hits.push(QueryHit {
                object: MemexObject::of(row)?,
                rank: None,
                snippet: None,
                reasons: Vec::new(),
            });
        }
        let next =
            self.end_of(&driver)?.map(|after| QueryCursor { generation: 0, after, rank: None });
        Ok((hits, next, None))
    }

    /// The last candidate, if there may be more behind it.
    fn end_of(&self, driver: &QueryPart) -> Result<Option<i64>, StoreError> {
        let sql = format!("SELECT count(*), max(id) FROM ({})", driver.sql);
        let (count, last): (i64, Option<i64>) = self
            .sql
            .prepare_cached(&sql)?
            .query_row(params_from_iter(&driver.values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(last.filter(|_| count >= big(MAX_CANDIDATES_PER_PAGE)))
    }

    /// Objects with words in them, the best first.
    fn ranked(
        &self,
        search: &SearchWords,
        query: &MemexQuery,
        access: PrivateAccess,
        snippets: SearchText,
    ) -> Result<FoundPage, StoreError> {
        let conditions = self.conditions(query, access)?;
        let mut found: Vec<(f64, i64)> = Vec::new();
        let mut all = 0;
        for words in WordTable::of(access) {
            let (some, looked_at) = self.search(*words, search, &conditions, access)?;
            found.extend(some);
            all = all.max(looked_at);
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        if let Some(QueryCursor { after, rank: Some(rank), .. }) = query.cursor {
            found.retain(|(r, id)| (r.total_cmp(&rank).then(after.cmp(id))).is_gt());
        }
        let mut hits = Vec::new();
        let limit = limit(query);
        for (rank, id) in found {
            if !self.is_in_time(query, id)? {
                continue;
            }
            if hits.len() == limit {
                let next = hits.last().map(|hit: &QueryHit| hit.cursor(0));
                self.add_snippets(&mut hits, &search.words, access, snippets);
                return Ok((hits, next, full(all)));
            }
            hits.push(QueryHit {
                object: self.by_id(id)?,
                rank: Some(rank),
                snippet: None,
                reasons: Vec::new(),
            });
        }
        self.add_snippets(&mut hits, &search.words, access, snippets);
        Ok((hits, None, full(all)))
    }

    pub(super) fn by_id(&self, id: i64) -> Result<MemexObject, StoreError> {
        let sql = format!(
            "SELECT {OBJECT_COLUMNS} FROM object o JOIN file f ON f.id = o.file WHERE o.id = ?1"
        );
        Ok(self.sql.prepare_cached(&sql)?.query_row([id], MemexObject::of)?)
    }

    pub(super) fn add_snippets(
        &self,
        hits: &mut [QueryHit],
        words: &[String],
        access: PrivateAccess,
        text: SearchText,
    ) {
        if text == SearchText::None {
            return;
        }
        let mut files: HashMap<String, Option<Vec<u8>>> = HashMap::new();
        for hit in hits {
            let object = &hit.object;
            let read = || self.memex.read(&object.path).ok().map(|(bytes, _)| bytes);
            let bytes = files.entry(object.path.clone()).or_insert_with(read);
            let text = bytes.as_ref().and_then(|bytes| self.text_in(bytes, object, access));
            hit.snippet = text.map(|text| snippet(&text, words));
        }
    }

    /// The rarest condition, as a list of candidates.
    fn driver(
        &self,
        query: &MemexQuery,
        access: PrivateAccess,
        after: i64,
    ) -> Result<QueryPart, StoreError> {
        let mut drivers = Vec::new();
        for tag in &query.tags {
            let sql =
                "SELECT object AS id FROM tag WHERE tag = ? AND object > ? ORDER BY object LIMIT ?";
            drivers.push(QueryPart::new(sql, [text(tag), after.into()]));
        }
        if let [todo] = &query.todo[..] {
            let sql = "SELECT id FROM object WHERE todo = ? AND id > ? ORDER BY id LIMIT ?";
            drivers.push(QueryPart::new(sql, [text(todo), after.into()]));
        }
        if let Some(priority) = &query.priority {
            let sql = "SELECT id FROM object WHERE priority = ? AND id > ? ORDER BY id LIMIT ?";
            drivers.push(QueryPart::new(sql, [text(priority), after.into()]));
        }
        for (key, value) in &query.properties {
            if let Some(value) = value {
                let sql =
                    "SELECT object AS id FROM property WHERE key = ? AND value = ? AND object > ?
                    ORDER BY object LIMIT ?";
                drivers.push(QueryPart::new(
                    sql,
                    [text(&key.to_uppercase()), text(value), after.into()],
                ));
            }
        }
        if let Some(under) = query.under.as_deref().filter(|under| !under.is_empty())
            && let Ok(object) = self.object(under, access)
        {
            let sql = "SELECT id FROM object WHERE file = ? AND id > ? ORDER BY id LIMIT ?";
            drivers.push(QueryPart::new(sql, [object.file.into(), after.into()]));
        }
        let (mut best, mut least) = (None, MAX_COUNTED_OCCURRENCES + 1);
        for driver in drivers {
            let count = self.counted(&driver)?;
            if best.is_none() || count < least {
                (best, least) = (Some(driver), count);
            }
        }
        if let Some(dates) = &query.dates
            && least >= MAX_COUNTED_OCCURRENCES
        {
            let driver = in_time(dates, after);
            let count = self.counted(&driver)?;
            if count < MAX_COUNTED_OCCURRENCES || best.is_none() {
                best = Some(driver);
            }
        }
        let all = "SELECT id FROM object WHERE id > ? ORDER BY id LIMIT ?";
        let mut best = best.unwrap_or_else(|| QueryPart::new(all, [after.into()]));
        best.values.push(Value::from(big(MAX_CANDIDATES_PER_PAGE)));
        Ok(best)
    }

    fn counted(&self, driver: &QueryPart) -> Result<i64, StoreError> {
        let sql = format!("SELECT count(*) FROM ({})", driver.sql);
        let values = driver.values.iter().cloned().chain([Value::from(MAX_COUNTED_OCCURRENCES)]);
        Ok(self.sql.prepare_cached(&sql)?.query_row(params_from_iter(values), |row| row.get(0))?)
    }

    /// Adds the SQL conditions that a candidate must meet.
    pub(super) fn conditions(
        &self,
        query: &MemexQuery,
        access: PrivateAccess,
    ) -> Result<Vec<QueryPart>, StoreError> {
        let mut all = vec![QueryPart::new("o.private <= ?", [sees(access).into()])];
        let has_tag = "EXISTS (SELECT 1 FROM tag WHERE tag = ? AND object = o.id)";
        for tag in &query.tags {
            all.push(QueryPart::new(has_tag, [text(tag)]));
        }
        for tag in &query.without_tags {
            all.push(QueryPart::new(format!("NOT {has_tag}"), [text(tag)]));
        }
        if !query.todo.is_empty() {
            let marks = vec!["?"; query.todo.len()].join(", ");
            let values = query.todo.iter().map(|todo| text(todo)).collect();
            all.push(QueryPart { sql: format!("o.todo IN ({marks})"), values });
        }
        if let Some(done) = query.done {
            all.push(QueryPart::new("o.todo IS NOT NULL AND o.done = ?", [i64::from(done).into()]));
        }
        if let Some(priority) = &query.priority {
            all.push(QueryPart::new("o.priority = ?", [text(priority)]));
        }
        for (key, value) in &query.properties {
            let sql = "EXISTS (SELECT 1 FROM property WHERE object = o.id AND key = ?";
            let key = text(&key.to_uppercase());
            all.push(match value {
                Some(value) => QueryPart::new(format!("{sql} AND value = ?)"), [key, text(value)]),
                None => QueryPart::new(format!("{sql})"), [key]),
            });
        }
        match query.kind {
            Some(ObjectKind::File) => all.push(QueryPart::new("o.ordinal = 0", [])),
            Some(ObjectKind::Heading) => all.push(QueryPart::new("o.ordinal > 0", [])),
            None => {}
        }
        if let Some(scope) = query.scope {
            all.push(QueryPart::new("o.scope = ?", [(scope as i64).into()]));
        }
        if let Some(under) = query.under.as_deref().filter(|under| !under.is_empty()) {
            all.push(self.under(under, access));
        }
        if let Some(dates) = &query.dates {
            let (from, to) = window(dates);
            let sql = "EXISTS (SELECT 1 FROM stamp WHERE object = o.id AND (wide = 1 OR start BETWEEN ? AND ?))";
            all.push(QueryPart::new(sql, [from.into(), to.into()]));
        }
        Ok(all)
    }

    /// Below an object, or in a folder.
    fn under(&self, under: &str, access: PrivateAccess) -> QueryPart {
        if let Ok(object) = self.object(under, access) {
            let (start, stop) = (
                bridle_record::database::int(object.start),
                bridle_record::database::int(object.stop),
            );
            return match object.kind() {
                ObjectKind::File => QueryPart::new("o.file = ?", [object.file.into()]),
                ObjectKind::Heading => QueryPart::new(
                    "o.file = ? AND o.ordinal > 0 AND o.start >= ? AND o.start < ?",
                    [object.file.into(), start.into(), stop.into()],
                ),
            };
        }
        let folder = under.trim_end_matches('/');
        // The character behind the slash.
        let (from, to) = (format!("{folder}/"), format!("{folder}0"));
        QueryPart::new("f.path >= ? AND f.path < ?", [text(&from), text(&to)])
    }

    /// Whether a date of the object falls into the span that is asked for, if one is.
    pub(super) fn is_in_time(&self, query: &MemexQuery, id: i64) -> Result<bool, StoreError> {
        let Some(dates) = &query.dates else { return Ok(true) };
        Ok(self.stamps_of(id)?.iter().any(|stamp| dates.has(stamp)))
    }

    /// The dates of an object.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn stamps(&self, object: &MemexObject) -> Result<Vec<OrgTimestamp>, StoreError> {
        self.stamps_of(object.id)
    }

    fn stamps_of(&self, id: i64) -> Result<Vec<OrgTimestamp>, StoreError> {
        let mut statement = self.sql.prepare_cached(
            "SELECT kind, start, stop, minutes, months, warning FROM stamp WHERE object = ?1",
        )?;
        let rows = statement.query_map([id], stamp)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn stamp(row: &Row<'_>) -> rusqlite::Result<OrgTimestamp> {
    let kind = usize::try_from(row.get::<_, i64>(0)?).ok();
    Ok(OrgTimestamp {
        kind: kind.and_then(|kind| StampKind::ALL.get(kind).copied()).unwrap_or(StampKind::Active),
        start: WallMinute(row.get(1)?),
        stop: WallMinute(row.get(2)?),
        every_minutes: row.get(3)?,
        every_months: row.get(4)?,
        warning: row.get(5)?,
    })
}

/// Objects with a date that may fall into the span; which do is checked for each.
fn in_time(dates: &DateSpan, after: i64) -> QueryPart {
    let (from, to) = window(dates);
    let sql = "SELECT object AS id FROM (SELECT object FROM stamp WHERE wide = 0 AND start BETWEEN ? AND ?
        UNION SELECT object FROM stamp WHERE wide = 1) WHERE object > ? ORDER BY object LIMIT ?";
    QueryPart::new(sql, [from.into(), to.into(), after.into()])
}

/// Returns the range in which a short date must begin to fall into the span.
fn window(dates: &DateSpan) -> (i64, i64) {
    let from = dates.from.0.saturating_sub(SHORT_STAMP_MINUTES);
    (from, dates.to.0.saturating_add(WARNING_DAYS * 24 * 60))
}

fn limit(query: &MemexQuery) -> usize {
    if query.limit == 0 { DEFAULT_PAGE_OBJECTS } else { query.limit.min(MAX_PAGE_OBJECTS) }
}

fn full(all: usize) -> Option<usize> {
    (all >= MAX_RANKED_OBJECTS).then_some(MAX_RANKED_OBJECTS)
}

pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

pub(super) fn big(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
