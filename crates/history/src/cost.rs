//! What thoughts cost: tokens and money, as the drafts of the record say, summed up by whoever asks.
//!
//! Called by `bridle cost`, and by the daemon for the day. What a server did not count and what has no known price is
//! counted as unknown and added to no sum.

use std::collections::BTreeMap;

use bridle_loop::RecordKind;
use bridle_record::{RecordFilter, RecordNumber};
use bridle_sexp::Value;

use super::record_source::of_kinds;
use super::{HistoryError, PAGE_RECORDS, RecordHistory, record_body};

/// Beginning of the name of a skill that thought.
const SKILL_PREFIX: &str = "skill:";

/// Row of thoughts that no skill had.
const MODELS: &str = "models";

const DAY_MS: i64 = 86_400_000;

/// Property by which thoughts are summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostGrouping {
    /// Session.
    Session,
    /// Model, or skill.
    Model,
    /// Day, in UTC.
    Day,
    /// Skill; thoughts of models are one row.
    Skill,
}

/// Choice of thoughts.
#[derive(Debug, Clone, Copy, Default)]
pub struct CostSelection<'s> {
    /// Only those of this session.
    pub session: Option<&'s str>,
    /// Only those from this time on, in milliseconds since 1970.
    pub since: i64,
    /// Only those behind this record.
    pub after: u64,
}

/// Sum of thoughts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostRow {
    /// Session, model, day or skill.
    pub key: String,
    /// Thoughts.
    pub thoughts: u64,
    /// Tokens of prompts that were counted.
    pub input_tokens: u64,
    /// Part of them that came from a cache.
    pub cached_tokens: u64,
    /// Tokens of answers that were counted.
    pub output_tokens: u64,
    /// Thoughts whose tokens nobody counted.
    pub uncounted: u64,
    /// Known cost, in millionths of a dollar.
    pub microdollars: u64,
    /// Thoughts whose cost nobody knows.
    pub unpriced: u64,
    /// Record of the latest of them.
    pub last: u64,
}

impl CostRow {
    /// Adds another sum.
    pub fn add(&mut self, other: &CostRow) {
        let pairs = [
            (&mut self.thoughts, other.thoughts),
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.cached_tokens, other.cached_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.uncounted, other.uncounted),
            (&mut self.microdollars, other.microdollars),
            (&mut self.unpriced, other.unpriced),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
        self.last = self.last.max(other.last);
    }

    /// The cost of one thought; `None` if neither a model nor a skill had it.
    fn of(body: &Value) -> Option<CostRow> {
        let name = body.get("model")?.get("name")?.as_str()?;
        let usage = body.get("usage");
        let count = |key| {
            let count = usage?.get(key)?.as_i64()?;
            u64::try_from(count).ok()
        };
        let (input, output) = (count("input"), count("output"));
        let price = count("cost-microdollars");
        // A skill that asked no model paid nobody.
        let is_model = !name.starts_with(SKILL_PREFIX) || usage.is_some();
        Some(CostRow {
            key: name.to_owned(),
            thoughts: 1,
            input_tokens: input.unwrap_or_default(),
            cached_tokens: count("cache-read").unwrap_or_default(),
            output_tokens: output.unwrap_or_default(),
            uncounted: u64::from(is_model && (input.is_none() || output.is_none())),
            microdollars: price.unwrap_or_default(),
            unpriced: u64::from(is_model && price.is_none()),
            last: 0,
        })
    }
}

impl RecordHistory {
    /// Sums of the thoughts, in the order of their keys; and the number of drafts that were forgotten and are in no sum.
    ///
    /// # Errors
    /// The record cannot be read, or does not know the session.
    pub fn costs(
        &self,
        by: CostGrouping,
        wanted: CostSelection<'_>,
    ) -> Result<(Vec<CostRow>, u64), HistoryError> {
        if let Some(name) = wanted.session {
            self.expect_session(name)?;
        }
        let filter = RecordFilter {
            session: wanted.session.map(Into::into),
            ..of_kinds([RecordKind::Drafted])
        };
        let mut rows: BTreeMap<String, CostRow> = BTreeMap::new();
        let (mut forgotten, mut after) = (0, RecordNumber(wanted.after));
        loop {
            let page = self.source.records(after, &filter, PAGE_RECORDS)?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for record in page.iter().filter(|record| record.at >= wanted.since) {
                let Some(text) = record.body.text() else {
                    forgotten += 1;
                    continue;
                };
                let Some(thought) = CostRow::of(&record_body::value(text)) else { continue };
                let thought = CostRow { last: record.number.0, ..thought };
                let key = match by {
                    CostGrouping::Session => record.session.to_string(),
                    CostGrouping::Model => thought.key.clone(),
                    CostGrouping::Day => day(record.at),
                    CostGrouping::Skill => match thought.key.strip_prefix(SKILL_PREFIX) {
                        Some(skill) => skill.to_owned(),
                        None => MODELS.to_owned(),
                    },
                };
                let row = rows
                    .entry(key.clone())
                    .or_insert_with(|| CostRow { key, ..CostRow::default() });
                row.add(&thought);
            }
        }
        Ok((rows.into_values().collect(), forgotten))
    }
}

/// Day of a time, in UTC.
fn day(at: i64) -> String {
    let text = bridle_wire::time::rfc3339(at);
    text.split('T').next().unwrap_or_default().to_owned()
}

/// Beginning of the day of a time, in UTC.
pub fn start_of_day(at: i64) -> i64 {
    at.div_euclid(DAY_MS) * DAY_MS
}

#[cfg(test)]
mod tests {
    use bridle_sexp::{Value, read_one};

    use super::{CostRow, day, start_of_day};

    fn of(text: &str) -> Option<CostRow> {
        let body: Value = read_one(text).unwrap().root().to_value();
        CostRow::of(&body)
    }

    #[test]
    fn what_is_not_known_is_counted_and_not_added() {
        let known = "(:effect 1 :text \"x\" :model (:name \"a/b\") :usage (:input 7 :output 2 :cache-read 3 :cost-microdollars 5))";
        let row = of(known).unwrap();
        assert_eq!((row.thoughts, row.input_tokens, row.cached_tokens), (1, 7, 3));
        assert_eq!((row.microdollars, row.unpriced, row.uncounted), (5, 0, 0));
        let unpriced = of("(:model (:name \"a/b\") :usage (:input 7 :output 2))").unwrap();
        assert_eq!((unpriced.microdollars, unpriced.unpriced, unpriced.uncounted), (0, 1, 0));
        let uncounted = of("(:model (:name \"a/b\"))").unwrap();
        assert_eq!((uncounted.unpriced, uncounted.uncounted), (1, 1));
        let skill = of("(:model (:name \"skill:plants\"))").unwrap();
        assert_eq!((skill.thoughts, skill.unpriced, skill.uncounted), (1, 0, 0));
        let odd = of("(:model (:name \"a\") :usage (:input -1 :output x :cost-microdollars -9))");
        assert_eq!(odd.map(|it| (it.unpriced, it.uncounted)), Some((1, 1)));
        assert_eq!(of("(:effect 1 :text \"built in\")"), None);
        assert_eq!(of("\"no plist\""), None);
        let mut sum = row;
        sum.add(&unpriced);
        assert_eq!((sum.thoughts, sum.microdollars, sum.unpriced), (2, 5, 1));
    }

    #[test]
    fn days_are_those_of_utc() {
        assert_eq!(day(1_795_046_400_000), "2026-11-19");
        assert_eq!(start_of_day(1_795_046_400_001), 1_795_046_400_000);
    }
}
