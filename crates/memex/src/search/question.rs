//! Finding what may answer a question. Each word names the objects that have it, so many and no more, and weighs the
//! more the fewer they are. An object gets the words that it has itself in full, and those of objects close by and
//! of headings above for a part: an answer often stands in the sentence behind the one that repeats the question. Of
//! each word the best place counts. How often a word occurs, and how long a text is, changed nothing on a public set
//! of questions; neighbors found a tenth more of the evidence.
//!
//! Private text is looked up in tables of its own, and only for its owner.

mod postings;
mod score;

use self::postings::QuestionSignal;
use self::score::CandidateScores;
use super::catalog::MemexCatalog;
use super::query::{HitReason, MemexQuery, QueryCursor, QueryHit, SearchText};
use super::question_words::ReadQuestion;
use crate::index::rules::PrivateAccess;
use bridle_record::StoreError;

/// Hits of a question on a page, unless said, and at most.
const DEFAULT_QUESTION_HITS: usize = 10;
const MAX_QUESTION_HITS: usize = 100;

/// Hits of one file that come before it has to make room for others, and by which factor each further one then weighs
/// less.
const FREE_HITS_PER_FILE: usize = 5;
const CROWDED_FILE_FACTOR: f64 = 0.98;

/// Reasons that are kept for a hit.
const MAX_REASONS: usize = 8;

impl MemexCatalog {
    /// Hits of a question, the best first, and the cursor behind them.
    pub(super) fn ask(
        &self,
        question: &ReadQuestion,
        query: &MemexQuery,
        access: PrivateAccess,
        text: SearchText,
    ) -> Result<(Vec<QueryHit>, Option<QueryCursor>), StoreError> {
        let mut signals = self.signals(question, access)?;
        let mut scores = CandidateScores::new(self, query, access)?;
        scores.seed(&signals)?;
        self.check_frequent(&mut signals, scores.best_seeds(), access)?;
        scores.score(&signals)?;
        let ranked = spread(scores.ranked());
        let limit = match query.limit {
            0 => DEFAULT_QUESTION_HITS,
            limit => limit.min(MAX_QUESTION_HITS),
        };
        let mut hits: Vec<QueryHit> = Vec::new();
        let mut next = None;
        for (score, id) in ranked {
            let rank = -score;
            if let Some(QueryCursor { after, rank: Some(before), .. }) = query.cursor
                && rank.total_cmp(&before).then(id.cmp(&after)).is_le()
            {
                continue;
            }
            if hits.len() == limit {
                next = hits.last().map(|hit| hit.cursor(0));
                break;
            }
            let reasons = reasons(&scores, &signals, id);
            let object = self.by_id(id)?;
            hits.push(QueryHit { object, rank: Some(rank), snippet: None, reasons });
        }
        let words: Vec<String> = question.terms.iter().map(|term| term.word.clone()).collect();
        self.add_snippets(&mut hits, &words, access, text);
        Ok((hits, next))
    }
}

/// Lets no file take the whole page where others have hits that are nearly as good.
fn spread(mut ranked: Vec<(f64, i64, i64)>) -> Vec<(f64, i64)> {
    let mut counts: std::collections::HashMap<i64, usize> = std::collections::HashMap::new();
    for (score, _, file) in &mut ranked {
        let count = counts.entry(*file).or_default();
        let crowd = i32::try_from(count.saturating_sub(FREE_HITS_PER_FILE)).unwrap_or(i32::MAX);
        *score *= CROWDED_FILE_FACTOR.powi(crowd);
        *count += 1;
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().map(|(score, id, _)| (score, id)).collect()
}

fn reasons(scores: &CandidateScores<'_>, signals: &[QuestionSignal], id: i64) -> Vec<HitReason> {
    let mut all: Vec<HitReason> = scores
        .parts_of(id)
        .map(|(signal, place, weight)| HitReason {
            term: signals[signal].term.clone(),
            place,
            weight,
        })
        .collect();
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    all.truncate(MAX_REASONS);
    all
}
