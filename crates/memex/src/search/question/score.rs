//! Scores of the candidates of a question: words of their own, of objects close by, and of headings above. Called by
//! `question`. The work is bounded by the number of candidates that are taken on.

use std::collections::HashMap;

use rusqlite::{OptionalExtension as _, params_from_iter};

use super::postings::QuestionSignal;
use crate::index::rules::PrivateAccess;
use crate::search::catalog::MemexCatalog;
use crate::search::find::QueryPart;
use crate::search::query::{MemexQuery, ReasonPlace};
use bridle_record::StoreError;

/// Objects with words of the question that are taken on, the ones with most weight.
const MAX_SEEDS: usize = 384;

/// Objects whose conditions are checked to find so many.
const MAX_CHECKED_SEEDS: usize = 2048;

/// Of the seeds, those that are asked for frequent words.
const MAX_FREQUENT_SEEDS: usize = 64;

/// Shares of a word that stands in an object so many places away, below the same heading.
const NEAR_SHARES: [f64; 3] = [0.6, 0.3, 0.15];

/// Keeps out what the user wrote for the agent and not as notes: providers, instructions and skills. A question below a
/// folder or a file that it names looks there, too.
const NOTES_ALONE: &str =
    "NOT (f.path >= 'skills/' AND f.path < 'skills0' OR f.path IN ('models.org', 'agent.org'))";

/// Share of a word that stands in the heading above, and how many of these are looked at.
const ABOVE_SHARE: f64 = 0.5;
const MAX_ABOVE: usize = 3;

/// Place of an object in its file.
#[derive(Clone, Copy)]
struct SeedPlace {
    file: i64,
    ordinal: i64,
    parent: Option<i64>,
}

/// Best place of one word for one candidate: the place, and its share.
type PartScore = (ReasonPlace, f64);

/// A file and the ordinal of an object in it.
type FilePlace = (i64, i64);

/// Candidates and their scores.
pub(super) struct CandidateScores<'c> {
    catalog: &'c MemexCatalog,
    query: &'c MemexQuery,
    conditions: Vec<QueryPart>,
    seeds: Vec<i64>,
    places: HashMap<i64, SeedPlace>,
    /// Ids by file and ordinal.
    ids: HashMap<FilePlace, Option<(i64, Option<i64>)>>,
    /// Of each candidate, the best place of each signal.
    parts: HashMap<i64, Vec<Option<PartScore>>>,
    weights: Vec<f64>,
}

impl<'c> CandidateScores<'c> {
    pub(super) fn new(
        catalog: &'c MemexCatalog,
        query: &'c MemexQuery,
        access: PrivateAccess,
    ) -> Result<CandidateScores<'c>, StoreError> {
        let mut conditions = catalog.conditions(query, access)?;
        if query.under.is_none() {
            conditions.push(QueryPart::new(NOTES_ALONE, []));
        }
        Ok(CandidateScores {
            catalog,
            query,
            conditions,
            seeds: Vec::new(),
            places: HashMap::new(),
            ids: HashMap::new(),
            parts: HashMap::new(),
            weights: Vec::new(),
        })
    }

    /// Takes the objects on that have most of the question themselves.
    pub(super) fn seed(&mut self, signals: &[QuestionSignal]) -> Result<(), StoreError> {
        let mut sums: HashMap<i64, f64> = HashMap::new();
        for signal in signals {
            for (id, (_, value)) in &signal.objects {
                *sums.entry(*id).or_default() += value * signal.weight;
            }
        }
        let mut order: Vec<(f64, i64)> = sums.into_iter().map(|(id, sum)| (sum, id)).collect();
        let best = |a: &(f64, i64), b: &(f64, i64)| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1));
        if order.len() > MAX_CHECKED_SEEDS {
            order.select_nth_unstable_by(MAX_CHECKED_SEEDS, best);
            order.truncate(MAX_CHECKED_SEEDS);
        }
        order.sort_unstable_by(best);
        for (_, id) in order {
            if self.seeds.len() == MAX_SEEDS {
                break;
            }
            if let Some(place) = self.place(id)? {
                self.places.insert(id, place);
                self.seeds.push(id);
            }
        }
        Ok(())
    }

    /// The seeds that are asked for frequent words.
    pub(super) fn best_seeds(&self) -> &[i64] {
        &self.seeds[..self.seeds.len().min(MAX_FREQUENT_SEEDS)]
    }

    /// The place of an object that meets all conditions of the query.
    fn place(&self, id: i64) -> Result<Option<SeedPlace>, StoreError> {
        let mut sql =
            "SELECT o.file, o.ordinal, o.parent FROM object o JOIN file f ON f.id = o.file
            WHERE o.id = ?"
                .to_owned();
        let mut values = vec![id.into()];
        for part in &self.conditions {
            sql.push_str(" AND ");
            sql.push_str(&part.sql);
            values.extend(part.values.iter().cloned());
        }
        let mut statement = self.catalog.sql.prepare_cached(&sql)?;
        let found = statement
            .query_row(params_from_iter(values), |row| {
                Ok(SeedPlace { file: row.get(0)?, ordinal: row.get(1)?, parent: row.get(2)? })
            })
            .optional()?;
        match found {
            Some(place) if self.catalog.is_in_time(self.query, id)? => Ok(Some(place)),
            _ => Ok(None),
        }
    }

    /// Gives every candidate its words, and those that are near and above.
    pub(super) fn score(&mut self, signals: &[QuestionSignal]) -> Result<(), StoreError> {
        self.weights = signals.iter().map(|signal| signal.weight).collect();
        for seed in self.seeds.clone() {
            let Some(place) = self.places.get(&seed).copied() else { continue };
            self.give(seed, signals, seed, 1.0, None);
            for (near, distance) in self.near(place)? {
                if !self.places.contains_key(&near.0) {
                    match self.place(near.0)? {
                        Some(it) => self.places.insert(near.0, it),
                        None => continue,
                    };
                }
                let share = NEAR_SHARES[distance - 1];
                self.give(near.0, signals, seed, share, Some(ReasonPlace::Near));
            }
        }
        for (id, place) in self.places.clone() {
            let (mut share, mut parent) = (ABOVE_SHARE, place.parent);
            for _ in 0..MAX_ABOVE {
                let Some(ordinal) = parent else { break };
                let Some((above, next)) = self.by_place(place.file, ordinal)? else { break };
                self.give(id, signals, above, share, Some(ReasonPlace::Above));
                (share, parent) = (share * ABOVE_SHARE, next);
            }
        }
        Ok(())
    }

    /// Gives a candidate a share of the words that an object has.
    fn give(
        &mut self,
        to: i64,
        signals: &[QuestionSignal],
        from: i64,
        share: f64,
        place: Option<ReasonPlace>,
    ) {
        let parts = self.parts.entry(to).or_insert_with(|| vec![None; signals.len()]);
        for (part, signal) in parts.iter_mut().zip(signals) {
            let Some((own, value)) = signal.objects.get(&from) else { continue };
            let value = value * share;
            if part.is_none_or(|(_, before)| before < value) {
                *part = Some((place.unwrap_or(*own), value));
            }
        }
    }

    /// Objects close to one, below the same heading, with their distance.
    fn near(&self, place: SeedPlace) -> Result<Vec<(FilePlace, usize)>, StoreError> {
        let Some(parent) = place.parent else { return Ok(Vec::new()) };
        let sql = "SELECT id, ordinal FROM object
            WHERE file = ?1 AND ordinal BETWEEN ?2 AND ?3 AND parent = ?4 AND ordinal <> ?5";
        let most = i64::try_from(NEAR_SHARES.len()).unwrap_or(0);
        let mut statement = self.catalog.sql.prepare_cached(sql)?;
        let range = [place.file, place.ordinal - most, place.ordinal + most, parent, place.ordinal];
        let rows = statement.query_map(range, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut near = Vec::new();
        for row in rows {
            let (id, ordinal): (i64, i64) = row?;
            let distance = usize::try_from((ordinal - place.ordinal).unsigned_abs());
            near.extend(distance.map(|distance| ((id, ordinal), distance)));
        }
        Ok(near)
    }

    /// The object at a place of a file, and what is above it.
    fn by_place(
        &mut self,
        file: i64,
        ordinal: i64,
    ) -> Result<Option<(i64, Option<i64>)>, StoreError> {
        if let Some(known) = self.ids.get(&(file, ordinal)) {
            return Ok(*known);
        }
        let sql = "SELECT id, parent FROM object WHERE file = ?1 AND ordinal = ?2";
        let mut statement = self.catalog.sql.prepare_cached(sql)?;
        let found = statement
            .query_row([file, ordinal], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        self.ids.insert((file, ordinal), found);
        Ok(found)
    }

    /// Candidates with their scores and files, the best first.
    pub(super) fn ranked(&self) -> Vec<(f64, i64, i64)> {
        let mut all: Vec<(f64, i64, i64)> = self
            .parts
            .keys()
            .filter_map(|id| {
                let score: f64 = self.parts_of(*id).map(|(_, _, weight)| weight).sum();
                Some((score, *id, self.places.get(id)?.file))
            })
            .collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all
    }

    /// The signals that a candidate got: number, place and weight.
    pub(super) fn parts_of(&self, id: i64) -> impl Iterator<Item = (usize, ReasonPlace, f64)> {
        let parts = self.parts.get(&id).map(Vec::as_slice).unwrap_or_default();
        parts.iter().zip(&self.weights).enumerate().filter_map(|(signal, (part, weight))| {
            part.map(|(place, value)| (signal, place, value * weight))
        })
    }
}
