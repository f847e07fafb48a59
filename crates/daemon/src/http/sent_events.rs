//! Events of streams as they were sent, so that a stream that is taken up goes on with the same.
//!
//! Filled by `stream` and asked by it. Text that a thinker streams is in no record: how it was cut into
//! events is known here alone, for as long as the daemon runs and keeps it. What is gone is made again of
//! the record, which has everything but that.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;

/// Streams whose events are kept, the latest.
const MAX_STREAMS: usize = 64;

/// Bytes of events that are kept of one stream; of a longer one nothing is.
const MAX_STREAM_BYTES: usize = 256 << 10;

/// The right of a teller that may add nothing.
const NOT_KEPT: u64 = u64::MAX;

/// Events of the latest streams, by the names of their runs.
#[derive(Debug, Default)]
pub(super) struct SentStreams(Mutex<VecDeque<(String, Arc<SentEvents>)>>);

/// Events of one stream.
#[derive(Debug, Default)]
pub(super) struct SentEvents(Mutex<SentEvent>);

#[derive(Debug, Default)]
struct SentEvent {
    /// In order: the place of an event is its number.
    events: Vec<Bytes>,
    bytes: usize,
    has_begun: bool,
    is_over: bool,
    /// Too long to be kept.
    is_dropped: bool,
    /// Which teller adds to it: the latest that took it up.
    teller: u64,
}

/// What a teller finds when it takes a stream up.
#[derive(Debug)]
pub(super) struct StreamResumption {
    pub(super) log: Arc<SentEvents>,
    /// Its right to add events.
    pub(super) teller: u64,
    /// Events behind the last one that the shell saw.
    pub(super) missed: Vec<Bytes>,
    /// The number of the next event; `None` when nothing is known of the stream.
    pub(super) next: Option<u64>,
    /// Whether the first directive has begun.
    pub(super) has_begun: bool,
    /// Whether everything was sent.
    pub(super) is_over: bool,
}

impl SentStreams {
    /// Takes up the stream of a run behind an event; from its beginning without one.
    pub(super) fn take_up(&self, run: &str, last: Option<u64>) -> StreamResumption {
        let log = {
            let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match streams.iter().find(|(name, _)| name == run) {
                Some((_, log)) => Arc::clone(log),
                None => {
                    if streams.len() == MAX_STREAMS {
                        streams.pop_front();
                    }
                    let log = Arc::<SentEvents>::default();
                    streams.push_back((run.to_owned(), Arc::clone(&log)));
                    log
                }
            }
        };
        let mut sent = log.lock();
        let begin = |teller, missed, next| StreamResumption {
            log: Arc::clone(&log),
            teller,
            missed,
            next,
            has_begun: false,
            is_over: false,
        };
        let count = sent.events.len();
        let after =
            last.map_or(0, |last| usize::try_from(last).unwrap_or(usize::MAX).saturating_add(1));
        let goes_on = last.is_some() && count > 0 && after <= count;
        if goes_on || (last.is_none() && sent.is_over) {
            sent.teller += 1;
            let missed = sent.events[after..].to_vec();
            let next = Some(u64::try_from(count).unwrap_or(u64::MAX));
            let (has_begun, is_over) = (sent.has_begun, sent.is_over);
            return StreamResumption { has_begun, is_over, ..begin(sent.teller, missed, next) };
        }
        // A stream that begins beside another of the same run, or is made again of the record, is not kept.
        let is_first = last.is_none() && count == 0 && !sent.is_dropped && sent.teller == 0;
        if is_first {
            sent.teller = 1;
        }
        begin(if is_first { 1 } else { NOT_KEPT }, Vec::new(), None)
    }
}

impl SentEvents {
    /// Notes the next event, if it is this teller's to add and its number is the next.
    pub(super) fn add(&self, teller: u64, seq: u64, event: &Bytes, begins: bool, ends: bool) {
        let mut sent = self.lock();
        if sent.teller != teller || sent.is_dropped {
            return;
        }
        sent.bytes = sent.bytes.saturating_add(event.len());
        if sent.bytes > MAX_STREAM_BYTES || usize::try_from(seq) != Ok(sent.events.len()) {
            *sent = SentEvent { is_dropped: true, teller, ..SentEvent::default() };
            return;
        }
        sent.events.push(event.clone());
        sent.has_begun |= begins;
        sent.is_over |= ends;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SentEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;

    use super::{MAX_STREAM_BYTES, SentStreams};

    fn event(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn a_stream_goes_on_with_the_same_events() {
        let streams = SentStreams::default();
        let first = streams.take_up("a-1", None);
        assert_eq!((first.next, first.is_over), (None, false));
        for (seq, text) in [(0, "open"), (1, "start"), (2, "one")] {
            first.log.add(first.teller, seq, &event(text), seq == 1, false);
        }
        let again = streams.take_up("a-1", Some(0));
        assert_eq!(again.missed, [event("start"), event("one")]);
        assert_eq!((again.next, again.has_begun, again.is_over), (Some(3), true, false));
        // The one before adds no more.
        first.log.add(first.teller, 3, &event("other"), false, false);
        again.log.add(again.teller, 3, &event("final"), false, true);
        let whole = streams.take_up("a-1", None);
        assert_eq!(whole.missed.len(), 4);
        assert!(whole.is_over && streams.take_up("a-1", Some(3)).missed.is_empty());
        // What nobody sent is of the record.
        assert_eq!(streams.take_up("a-1", Some(9)).next, None);
        assert_eq!(streams.take_up("b-1", Some(0)).next, None);
    }

    #[test]
    fn a_long_stream_is_not_kept() {
        let streams = SentStreams::default();
        let first = streams.take_up("a-1", None);
        first.log.add(
            first.teller,
            0,
            &Bytes::from(vec![b'x'; MAX_STREAM_BYTES + 1]),
            false,
            false,
        );
        assert_eq!(streams.take_up("a-1", Some(0)).next, None);
    }
}
