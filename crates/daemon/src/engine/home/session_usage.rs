//! Tokens and money of sessions, as their drafts in the record say: summed up for whoever asks, and remembered, so that the
//! next question reads only what came since.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bridle_loop::RecordKind;
use bridle_record::{RecordFilter, RecordNumber, RecordReader, StoreError};
use bridle_sexp::{Value, read_one};

/// Sessions whose sums are remembered; when there are more, all are read anew.
const MAX_SUMMED_SESSIONS: usize = 1024;

/// Drafts in one reading.
const DRAFTS_PER_READ: usize = 256;

/// The sums of a session up to its last draft, from those that are known.
///
/// # Errors
/// The record cannot be read, or has no such session.
pub(in crate::engine) fn read_on(
    reader: &RecordReader,
    session: &str,
    known: SessionUsage,
) -> Result<SessionUsage, StoreError> {
    let mut usage = known;
    let kinds = vec![RecordKind::Drafted.word().into()];
    let filter = RecordFilter { session: Some(session.into()), to: None, kinds };
    loop {
        let page = reader.records(RecordNumber(usage.read), &filter, DRAFTS_PER_READ)?;
        for record in &page {
            usage.read = record.number.0;
            if let Some(body) = record.body.text().and_then(|text| read_one(text).ok()) {
                usage.add(&body.root().to_value());
            }
        }
        if page.is_empty() {
            return Ok(usage);
        }
    }
}

/// Sums of a session's thoughts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct SessionUsage {
    /// Record up to which they were read.
    read: u64,
    /// Whoever thought last.
    pub(in crate::engine) model: Option<Box<str>>,
    /// Tokens of the last prompt and its answer: how full the context is.
    pub(in crate::engine) context: Option<i64>,
    /// Known cost, in millionths of a dollar.
    pub(in crate::engine) microdollars: i64,
    /// Thoughts of models and skills.
    pub(in crate::engine) thoughts: u64,
    /// Thoughts whose price nobody knows.
    pub(in crate::engine) unpriced: u64,
}

impl SessionUsage {
    /// Adds a draft. What no model said costs nothing.
    fn add(&mut self, drafted: &Value) {
        let model = drafted.get("model").and_then(|model| model.get("name")?.as_str());
        let Some(model) = model else { return };
        self.model = Some(model.into());
        self.thoughts += 1;
        let Some(usage) = drafted.get("usage") else { return };
        let count = |key| usage.get(key).and_then(Value::as_i64);
        match count("cost-microdollars") {
            Some(cost) => self.microdollars = self.microdollars.saturating_add(cost),
            None => self.unpriced += 1,
        }
        self.context = count("input").map(|input| input + count("output").unwrap_or_default());
    }
}

/// Sums that were read already, by session.
#[derive(Debug, Default)]
pub(in crate::engine) struct SessionUsageSums(Mutex<BTreeMap<Box<str>, SessionUsage>>);

impl SessionUsageSums {
    /// Returns the sums that are remembered of a session.
    pub(in crate::engine) fn of(&self, session: &str) -> SessionUsage {
        let sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sums.get(session).cloned().unwrap_or_default()
    }

    /// Remembers the sums of a session.
    pub(in crate::engine) fn keep(&self, session: &str, usage: SessionUsage) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sums.len() >= MAX_SUMMED_SESSIONS {
            sums.clear();
        }
        sums.insert(session.into(), usage);
    }
}

#[cfg(test)]
mod tests {
    use bridle_sexp::read_one;

    use super::SessionUsage;

    #[test]
    fn drafts_are_summed_and_unknown_prices_are_counted() {
        let mut usage = SessionUsage::default();
        for draft in [
            "(:text \"a\")",
            "(:model (:name \"m\") :usage (:input 10 :output 2 :cost-microdollars 7))",
            "(:model (:name \"n\") :usage (:input 20))",
            "(:model (:name \"skill:x\"))",
        ] {
            usage.add(&read_one(draft).unwrap().root().to_value());
        }
        let expected = SessionUsage {
            read: 0,
            model: Some("skill:x".into()),
            context: Some(20),
            microdollars: 7,
            thoughts: 3,
            unpriced: 1,
        };
        assert_eq!(usage, expected);
    }
}
