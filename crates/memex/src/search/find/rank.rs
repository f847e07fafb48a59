//! Ranking objects by the words of a search. Called by `find` for each table of words that the asker may search.
//!
//! SQLite's own rank looks up how frequent each phrase is, which for words that are everywhere means to go through
//! all objects, 11 ms for 200,000 of them and two words, and as much to rank them. Such words tell nothing, and are
//! not looked up: only rare words are ranked, each by itself, also if they were part of a phrase. Where there are
//! none, objects with the words in their title come first, and then the latest.

use std::collections::HashMap;

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::{MAX_RANKED_OBJECTS, QueryPart, big, text};
use crate::index::rules::PrivateAccess;
use crate::index::search_words::{SearchWords, has_all};
use crate::search::catalog::MemexCatalog;
use bridle_record::StoreError;

/// Ranks of objects that have nothing but frequent words: those of words that SQLite gives no weight, in a title and
/// elsewhere.
const TITLE_WEIGHT: f64 = -4e-6;
const TEXT_WEIGHT: f64 = -1e-6;

/// A table of words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WordTable {
    /// Words that everybody may see.
    Open,
    /// Objects of which some or all is private, with all that they say.
    Veiled,
}

impl WordTable {
    /// Returns the tables that a search looks into. Private text is in no number that others get: neither in the
    /// frequency of a word nor in a rank.
    pub(super) fn of(access: PrivateAccess) -> &'static [WordTable] {
        match access {
            PrivateAccess::Owner => &[WordTable::Open, WordTable::Veiled],
            PrivateAccess::Public => &[WordTable::Open],
        }
    }

    /// Returns the SQL condition on candidates of this table.
    fn condition(self, access: PrivateAccess) -> &'static str {
        match (self, access) {
            // The owner finds these in the other table, with all of their words.
            (WordTable::Open, PrivateAccess::Owner) => "o.veiled = 0",
            _ => "1",
        }
    }

    fn table(self) -> &'static str {
        match self {
            WordTable::Open => "words",
            WordTable::Veiled => "veiled_words",
        }
    }

    /// Returns the SQL expression that ranks a row; words in titles weigh more.
    fn rank(self) -> &'static str {
        match self {
            WordTable::Open => "bm25(words, 4.0, 1.0)",
            WordTable::Veiled => "bm25(veiled_words, 4.0, 1.0, 1.0)",
        }
    }
}

impl MemexCatalog {
    /// The latest objects of a table that fit, each with its rank, and how many were looked at.
    pub(super) fn search(
        &self,
        words: WordTable,
        search: &SearchWords,
        conditions: &[QueryPart],
        access: PrivateAccess,
    ) -> Result<(Vec<(f64, i64)>, usize), StoreError> {
        let table = words.table();
        let mut sql = format!("SELECT c.id, o.title, ({}", words.condition(access));
        let mut values = Vec::new();
        for part in conditions {
            sql.push_str(" AND ");
            sql.push_str(&part.sql);
            values.extend(part.values.iter().cloned());
        }
        sql.push_str(&format!(
            ") FROM (SELECT rowid AS id FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?) AS c
             CROSS JOIN object AS o ON o.id = c.id CROSS JOIN file AS f ON f.id = o.file"
        ));
        values.extend([text(&search.expression), big(MAX_RANKED_OBJECTS).into()]);
        let rare = self.rare(words, search)?;
        let (mut found, mut looked_at, mut last) = (Vec::new(), 0, i64::MAX);
        let mut statement = self.sql.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            looked_at += 1;
            let id: i64 = row.get(0)?;
            last = last.min(id);
            // A condition on what an object has not is neither true nor false.
            if row.get::<_, Option<bool>>(2)? == Some(true) {
                let title = row.get_ref(1)?.as_str().unwrap_or_default();
                let is_in_title = rare.is_empty() && has_all(title, &search.words);
                found.push((if is_in_title { TITLE_WEIGHT } else { TEXT_WEIGHT }, id));
            }
        }
        if !found.is_empty() && !rare.is_empty() {
            let ranks = self.ranks(words, &rare, last)?;
            for (rank, id) in &mut found {
                *rank = ranks.get(id).copied().unwrap_or(TEXT_WEIGHT);
            }
        }
        Ok((found, looked_at))
    }

    /// The ranks of objects from a number on that have all of these words.
    fn ranks(
        &self,
        words: WordTable,
        rare: &[&str],
        from: i64,
    ) -> Result<HashMap<i64, f64>, StoreError> {
        let (table, rank) = (words.table(), words.rank());
        let sql = format!("SELECT rowid, {rank} FROM {table} WHERE {table} MATCH ? AND rowid >= ?");
        let mut statement = self.sql.prepare_cached(&sql)?;
        let values = [text(&rare.join(" AND ")), Value::from(from)];
        let rows =
            statement.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Those words of a search that so few objects have that all of them can be ranked.
    fn rare<'w>(
        &self,
        words: WordTable,
        search: &'w SearchWords,
    ) -> Result<Vec<&'w str>, StoreError> {
        let table = words.table();
        let sql =
            format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)");
        let mut statement = self.sql.prepare_cached(&sql)?;
        let mut rare = Vec::new();
        for word in &search.weighed {
            let values = [text(word), big(MAX_RANKED_OBJECTS).into()];
            let count: i64 = statement.query_row(params_from_iter(values), |row| row.get(0))?;
            if count < big(MAX_RANKED_OBJECTS) {
                rare.push(word.as_str());
            }
        }
        Ok(rare)
    }
}
