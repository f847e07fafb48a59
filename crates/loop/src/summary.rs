//! Exchanges that no longer fit: what a session keeps of them, and the release of a single one.
//!
//! Called by `act`, when a turn ends and when `:compact` or `:release` was allowed. The record has every exchange
//! whole; the State keeps the latest and a summary of those before, one for each label, so that a model that may not
//! see what is secret is still shown the rest. By itself a summary is the beginning of each exchange in a line;
//! `:compact` puts words of a thinker or of the user in its place. Half of the exchanges go at once: a prompt then
//! begins with the same words for many turns, which is what the caches of providers want.

use std::sync::Arc;

use bridle_sexp::Value;

use crate::act;
use crate::action::{CompactRequest, ReleaseRequest};
use crate::effect::PastExchange;
use crate::event::Outcome;
use crate::plist_codec::{FieldSink, PlistBuilder, UnreadableValue, number, text};
use crate::privacy::Privacy;
use crate::state::SessionState;

/// Longest summary of one label, in bytes; its oldest lines go.
const MAX_SUMMARY_BYTES: usize = 4 << 10;

/// Bytes of each side of an exchange that its line keeps.
const MAX_LINE_BYTES: usize = 160;

/// Version of the loop from which on summaries are kept.
const FIRST_VERSION: u32 = 1;

/// Summary of the exchanges of one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationSummary {
    /// Label of what it was made of.
    pub privacy: Privacy,
    /// Number of exchanges that it stands for.
    pub exchanges: u64,
    /// Its words.
    pub text: Box<str>,
}

impl ConversationSummary {
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields.put_number("exchanges", self.exchanges).put_str("text", &self.text);
        self.privacy.put(fields)
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            privacy: Privacy::from_value(value)?,
            exchanges: number(value, "exchanges")?,
            text: text(value, "text")?,
        })
    }

    /// Adds an exchange, as a line.
    fn add(&mut self, exchange: &PastExchange) {
        let side = |text: &str| act::cut(text, MAX_LINE_BYTES).replace('\n', " ");
        let line = format!("- {} => {}\n", side(&exchange.asked), side(&exchange.said));
        let mut text = String::from(std::mem::take(&mut self.text));
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&line);
        self.text = end_of(&text, MAX_SUMMARY_BYTES).into();
        self.exchanges = self.exchanges.saturating_add(1);
    }
}

/// Makes room for one more exchange: the older half becomes part of the summaries.
pub(crate) fn make_room(state: &mut SessionState) {
    let most = state.limits.history;
    if state.version >= FIRST_VERSION && state.history.len() >= most {
        keep_latest(state, most / 2);
    }
}

/// Puts words in the place of all exchanges but the latest. Their label is that of all that was shown to whoever
/// found the words; what is less strict keeps a summary of its own.
pub(crate) fn compact(
    state: &mut SessionState,
    request: &CompactRequest,
    label: Privacy,
) -> Outcome {
    let latest = usize::try_from(request.keep).unwrap_or(usize::MAX);
    let before = state.history.len();
    keep_latest(state, latest);
    let exchanges = of_label(state, label).map_or(0, |known| known.exchanges);
    let text = act::cut(&request.text, MAX_SUMMARY_BYTES).into();
    put(state, ConversationSummary { privacy: label, exchanges, text });
    let told = PlistBuilder::new()
        .put_number("summarized", before - state.history.len())
        .put_number("kept", state.history.len())
        .put("privacy", Value::keyword(label.word()));
    Outcome::Done(told.done())
}

/// Makes one secret exchange private, so that every model of the owner may see it.
pub(crate) fn release(state: &mut SessionState, request: &ReleaseRequest) -> Outcome {
    let is_meant = |exchange: &PastExchange| {
        exchange.privacy == Privacy::Secret
            && exchange.asked == request.asked
            && exchange.said == request.said
    };
    let meant = state.history.iter().enumerate().filter(|(_, exchange)| is_meant(exchange));
    let Some(place) = meant.map(|(place, _)| place).last() else {
        return Outcome::Failed("no secret exchange with these words is kept any more".into());
    };
    let released = state.history.iter().enumerate().map(|(at, exchange)| match at == place {
        true => {
            Arc::new(PastExchange { privacy: Privacy::Private, ..PastExchange::clone(exchange) })
        }
        false => Arc::clone(exchange),
    });
    state.history = released.collect();
    Outcome::Done(PlistBuilder::new().put_number("exchange", place + 1).done())
}

/// Moves the oldest exchanges into the summaries of their labels.
fn keep_latest(state: &mut SessionState, latest: usize) {
    let gone = state.history.len().saturating_sub(latest);
    let old: Vec<Arc<PastExchange>> = state.history.iter().take(gone).cloned().collect();
    for exchange in &old {
        let privacy = exchange.privacy;
        let empty = || ConversationSummary { privacy, exchanges: 0, text: Box::default() };
        let mut summary = of_label(state, privacy).cloned().unwrap_or_else(empty);
        summary.add(exchange);
        put(state, summary);
    }
    state.history.trim(latest);
}

fn of_label(state: &SessionState, label: Privacy) -> Option<&ConversationSummary> {
    state.summaries.iter().find(|summary| summary.privacy == label)
}

/// Puts a summary in the place of the one of its label; they stand in the order of their labels.
fn put(state: &mut SessionState, summary: ConversationSummary) {
    let others = state.summaries.iter().filter(|other| other.privacy != summary.privacy);
    let mut all: Vec<ConversationSummary> = others.cloned().collect();
    all.push(summary);
    all.sort_by_key(|summary| summary.privacy);
    state.summaries = all.into();
    state.summed.reset();
}

/// The last whole lines of a text that fit.
fn end_of(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let from = text.ceil_char_boundary(text.len() - most);
    let rest = &text[from..];
    rest.split_once('\n').map_or(rest, |(_, lines)| lines)
}

#[cfg(test)]
mod tests;
