//! Looking up the words, phrases, tags and dates of a question: which objects have them. Called by `question`.

use std::collections::HashMap;

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use crate::index::org_timestamp::DateSpan;
use crate::index::rules::PrivateAccess;
use crate::search::catalog::{MemexCatalog, sees};
use crate::search::find::{big, text};
use crate::search::query::ReasonPlace;
use crate::search::question_words::{ReadQuestion, TermForm};
use bridle_record::StoreError;

/// Objects that are taken of one word, the latest. A word that more objects have is frequent: whether an object has it
/// is asked for the best candidates alone.
const MAX_WORD_OBJECTS: usize = 2048;

/// Frequent words that candidates are asked for.
const MAX_FREQUENT_WORDS: usize = 4;

/// Share of its weight that a phrase adds to those of its words.
const PHRASE_FACTOR: f64 = 0.3;

/// Values of a word in a text, in a title, and as a tag.
const TEXT_VALUE: f64 = 1.0;
const TITLE_VALUE: f64 = 1.8;
const TAG_VALUE: f64 = 1.5;

/// A word, phrase, tag or date of a question, and the objects that have it.
pub(super) struct QuestionSignal {
    /// As the question has it.
    pub(super) term: String,
    /// Weight by rarity.
    pub(super) weight: f64,
    /// Objects, each with the place and its value.
    pub(super) objects: HashMap<i64, (ReasonPlace, f64)>,
    /// Whether more objects have it than were taken.
    is_frequent: bool,
    /// Table and expression for SQLite, if it is a word.
    search: Option<(TermForm, String)>,
}

/// Returns the tables of a form that an asker may search.
fn tables(form: TermForm, access: PrivateAccess) -> &'static [&'static str] {
    match (form, access) {
        (TermForm::Stem, PrivateAccess::Owner) => &["stems", "veiled_stems"],
        (TermForm::Stem, PrivateAccess::Public) => &["stems"],
        (TermForm::Exact, PrivateAccess::Owner) => &["words", "veiled_words"],
        (TermForm::Exact, PrivateAccess::Public) => &["words"],
    }
}

impl MemexCatalog {
    /// Everything that the question may find objects by.
    pub(super) fn signals(
        &self,
        question: &ReadQuestion,
        access: PrivateAccess,
    ) -> Result<Vec<QuestionSignal>, StoreError> {
        let all = self.object_count()?;
        let mut signals = Vec::new();
        for term in &question.terms {
            // Two characters of a script without blanks are a phrase, for which positions are needed.
            let expression = term.expression();
            let form = if expression.trim_matches(['"', ' ']).contains(' ') {
                TermForm::Exact
            } else {
                term.form
            };
            let mut signal = self.word_signal(form, &expression, &term.word, all, access)?;
            for name in [&term.written, &term.word] {
                self.add_tagged(&mut signal, name, access)?;
            }
            signals.push(signal);
        }
        for (one, two) in &question.phrases {
            // Where both are frequent, looking for their neighborhood would read all there is.
            if signals[*one].is_frequent && signals[*two].is_frequent {
                continue;
            }
            let words = format!("{} {}", question.terms[*one].word, question.terms[*two].word);
            let expression = format!("\"{}\"", words.replace('"', " "));
            let mut phrase = self.word_signal(TermForm::Exact, &expression, &words, all, access)?;
            phrase.weight *= PHRASE_FACTOR;
            phrase.search = None;
            signals.push(phrase);
        }
        if let Some(dates) = &question.dates {
            signals.push(self.date_signal(dates, &question.date_text, all, access)?);
        }
        Ok(signals)
    }

    fn object_count(&self) -> Result<f64, StoreError> {
        let sql = "SELECT coalesce(max(id), 0) FROM object";
        let count: i64 = self.sql.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(count.max(1) as f64)
    }

    fn word_signal(
        &self,
        form: TermForm,
        expression: &str,
        shown: &str,
        all: f64,
        access: PrivateAccess,
    ) -> Result<QuestionSignal, StoreError> {
        let mut objects = HashMap::new();
        let (mut frequent_share, mut is_frequent) = (0.0, false);
        for table in tables(form, access) {
            let ids = self.having(table, expression)?;
            if ids.len() == MAX_WORD_OBJECTS {
                is_frequent = true;
                let (first, last) = (ids[0], ids[ids.len() - 1]);
                let among = (first - last).unsigned_abs().max(1) as f64;
                frequent_share = f64::max(frequent_share, ids.len() as f64 / among);
            }
            for id in ids {
                objects.entry(id).or_insert((ReasonPlace::Text, TEXT_VALUE));
            }
            for id in self.having(table, &format!("{{title}} : {expression}"))? {
                objects.insert(id, (ReasonPlace::Title, TITLE_VALUE));
            }
        }
        let count = f64::max(objects.len() as f64, frequent_share.min(1.0) * all);
        let search = Some((form, expression.to_owned()));
        let weight = rarity(count, all);
        Ok(QuestionSignal { term: shown.to_owned(), weight, objects, is_frequent, search })
    }

    /// The latest objects of a table that fit.
    fn having(&self, table: &str, expression: &str) -> Result<Vec<i64>, StoreError> {
        let sql =
            format!("SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?");
        let mut statement = self.sql.prepare_cached(&sql)?;
        let values = [text(expression), big(MAX_WORD_OBJECTS).into()];
        let rows = statement.query_map(params_from_iter(values), |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Adds the objects that have a tag of that name.
    fn add_tagged(
        &self,
        signal: &mut QuestionSignal,
        tag: &str,
        access: PrivateAccess,
    ) -> Result<(), StoreError> {
        let sql = "SELECT t.object FROM tag t JOIN object o ON o.id = t.object
            WHERE t.tag = ? AND o.private <= ? ORDER BY t.object DESC LIMIT ?";
        let mut statement = self.sql.prepare_cached(sql)?;
        let values = [text(tag), sees(access).into(), big(MAX_WORD_OBJECTS).into()];
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let entry = signal.objects.entry(row.get(0)?).or_insert((ReasonPlace::Tag, TAG_VALUE));
            if entry.1 < TAG_VALUE {
                *entry = (ReasonPlace::Tag, TAG_VALUE);
            }
        }
        Ok(())
    }

    /// Objects with a date in the span that is neither repeated nor long.
    fn date_signal(
        &self,
        dates: &DateSpan,
        shown: &str,
        all: f64,
        access: PrivateAccess,
    ) -> Result<QuestionSignal, StoreError> {
        let sql = "SELECT DISTINCT s.object FROM stamp s JOIN object o ON o.id = s.object
            WHERE s.wide = 0 AND s.start BETWEEN ? AND ? AND o.private <= ? LIMIT ?";
        let mut statement = self.sql.prepare_cached(sql)?;
        let values: [Value; 4] = [
            dates.from.0.into(),
            dates.to.0.into(),
            sees(access).into(),
            big(MAX_WORD_OBJECTS).into(),
        ];
        let rows = statement.query_map(params_from_iter(values), |row| row.get::<_, i64>(0))?;
        let mut objects = HashMap::new();
        for id in rows {
            objects.insert(id?, (ReasonPlace::Date, TEXT_VALUE));
        }
        let weight = rarity(objects.len() as f64, all);
        let term = shown.to_owned();
        Ok(QuestionSignal { term, weight, objects, is_frequent: false, search: None })
    }

    /// Asks for the best candidates whether they have the frequent words, too.
    pub(super) fn check_frequent(
        &self,
        signals: &mut [QuestionSignal],
        candidates: &[i64],
        access: PrivateAccess,
    ) -> Result<(), StoreError> {
        let mut checked = 0;
        for signal in signals.iter_mut().filter(|signal| signal.is_frequent) {
            let Some((form, expression)) = &signal.search else { continue };
            checked += 1;
            if checked > MAX_FREQUENT_WORDS {
                break;
            }
            for table in tables(*form, access) {
                let sql = format!("SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?");
                let mut statement = self.sql.prepare_cached(&sql)?;
                for id in candidates {
                    if !signal.objects.contains_key(id)
                        && statement.exists(params_from_iter([text(expression), (*id).into()]))?
                    {
                        signal.objects.insert(*id, (ReasonPlace::Text, TEXT_VALUE));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The weight of a word that so many of all objects have.
fn rarity(count: f64, all: f64) -> f64 {
    let count = count.min(all);
    (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
}
