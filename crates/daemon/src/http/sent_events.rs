//! Events of the latest streams as they were sent, so that a resumed stream goes on with the same ones.
//!
//! [`event_stream`](super::event_stream) fills and reads it. The record does not know how a thinker's
//! text was cut into events; that is kept here alone, while the daemon runs and has room for it.
//! Everything else can be made again of the record.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bridle_wire::openharness::event::{DirectiveDelta, OpenHarnessEvent};

/// Latest streams whose events are kept.
const MAX_STREAMS: usize = 64;

/// Bytes of events that are kept of one stream; a longer one is dropped whole.
const MAX_STREAM_BYTES: usize = 256 << 10;

/// Bytes of a piece of text beside the text: ids, keys and numbers.
const EVENT_OVERHEAD_BYTES: usize = 200;

/// Number of a writer whose events are not kept.
const UNKEPT_WRITER: u64 = u64::MAX;

/// Events of the latest streams, by the names of their runs.
#[derive(Debug, Default)]
pub(super) struct SentStreams(Mutex<VecDeque<(String, Arc<SentEvents>)>>);

/// Events of one stream.
#[derive(Debug, Default)]
pub(super) struct SentEvents(Mutex<SentEvent>);

#[derive(Debug, Default)]
struct SentEvent {
    /// In order: the place of an event is its number.
    events: Vec<Arc<OpenHarnessEvent>>,
    bytes: usize,
    has_begun: bool,
    is_over: bool,
    /// Too long to be kept.
    is_dropped: bool,
    /// Number of the writer that adds to it: the latest that took it up.
    writer: u64,
}

/// State of a stream that a writer takes up.
#[derive(Debug)]
pub(super) struct StreamResumption {
    pub(super) log: Arc<SentEvents>,
    /// Its right to add events.
    pub(super) writer: u64,
    /// Events behind the last one that the shell saw.
    pub(super) missed: Vec<Arc<OpenHarnessEvent>>,
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
        let begin = |writer, missed, next| StreamResumption {
            log: Arc::clone(&log),
            writer,
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
            sent.writer += 1;
            let missed = sent.events[after..].to_vec();
            let next = Some(u64::try_from(count).unwrap_or(u64::MAX));
            let (has_begun, is_over) = (sent.has_begun, sent.is_over);
            return StreamResumption { has_begun, is_over, ..begin(sent.writer, missed, next) };
        }
        // A stream that begins beside another of the same run, or is made again of the record, is not kept.
        let is_first = last.is_none() && count == 0 && !sent.is_dropped && sent.writer == 0;
        if is_first {
            sent.writer = 1;
        }
        begin(if is_first { 1 } else { UNKEPT_WRITER }, Vec::new(), None)
    }
}

impl SentEvents {
    /// Keeps the next event, if this writer is the latest one and no event is missing before it.
    pub(super) fn add(&self, writer: u64, event: &Arc<OpenHarnessEvent>) {
        let mut sent = self.lock();
        if sent.writer != writer || sent.is_dropped {
            return;
        }
        sent.bytes = sent.bytes.saturating_add(event_bytes(event));
        if sent.bytes > MAX_STREAM_BYTES || usize::try_from(event.seq()) != Ok(sent.events.len()) {
            *sent = SentEvent { is_dropped: true, writer, ..SentEvent::default() };
            return;
        }
        sent.events.push(Arc::clone(event));
        sent.has_begun |= matches!(**event, OpenHarnessEvent::DirectiveStart(_));
        sent.is_over |= matches!(**event, OpenHarnessEvent::StreamFinal(_));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SentEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the size of an event, nearly: pieces of text are many, so they are not written for it.
fn event_bytes(event: &OpenHarnessEvent) -> usize {
    match event {
        OpenHarnessEvent::DirectiveDelta(DirectiveDelta { append: Some(text), .. }) => {
            EVENT_OVERHEAD_BYTES + text.len()
        }
        other => other.data().len(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bridle_wire::openharness::MessageLimits;
    use bridle_wire::openharness::event::OpenHarnessEvent;

    use super::{MAX_STREAM_BYTES, SentStreams};

    fn event(name: &str, seq: u64, rest: &str) -> Arc<OpenHarnessEvent> {
        let data = format!(r#"{{"stream_id":"a-1","seq":{seq}{rest}}}"#);
        let event = OpenHarnessEvent::read(name, data.as_bytes(), &MessageLimits::default());
        Arc::new(event.unwrap().unwrap())
    }

    fn open() -> Arc<OpenHarnessEvent> {
        event("open", 0, r#","protocol_version":"1.0.0","run_id":"a-1""#)
    }

    fn start() -> Arc<OpenHarnessEvent> {
        let directive = r#"{"action_type":"render_message"}"#;
        event(
            "directive.start",
            1,
            &format!(r#","index":0,"directive_id":"a-1.0","directive":{directive}"#),
        )
    }

    fn piece(seq: u64, text: &str) -> Arc<OpenHarnessEvent> {
        let rest = format!(r#","directive_id":"a-1.0","path":"/payload/text","append":"{text}""#);
        event("directive.delta", seq, &rest)
    }

    fn last(seq: u64) -> Arc<OpenHarnessEvent> {
        let response = r#"{"status":"success","action_directives":[]}"#;
        let rest = format!(r#","message":{{"protocol_version":"1.0.0","response":{response}}}"#);
        event("final", seq, &rest)
    }

    #[test]
    fn a_resumed_stream_goes_on_with_the_same_events() {
        let streams = SentStreams::default();
        let first = streams.take_up("a-1", None);
        assert_eq!((first.next, first.is_over), (None, false));
        for event in [open(), start(), piece(2, "one")] {
            first.log.add(first.writer, &event);
        }
        let again = streams.take_up("a-1", Some(0));
        assert_eq!(again.missed, [start(), piece(2, "one")]);
        assert_eq!((again.next, again.has_begun, again.is_over), (Some(3), true, false));
        // The writer before adds no more.
        first.log.add(first.writer, &piece(3, "other"));
        again.log.add(again.writer, &last(3));
        let whole = streams.take_up("a-1", None);
        assert_eq!(whole.missed, [open(), start(), piece(2, "one"), last(3)]);
        assert!(whole.is_over && streams.take_up("a-1", Some(3)).missed.is_empty());
        // An event that was never sent is made of the record.
        assert_eq!(streams.take_up("a-1", Some(9)).next, None);
        assert_eq!(streams.take_up("b-1", Some(0)).next, None);
    }

    #[test]
    fn a_long_stream_is_not_kept() {
        let streams = SentStreams::default();
        let first = streams.take_up("a-1", None);
        first.log.add(first.writer, &open());
        first.log.add(first.writer, &start());
        first.log.add(first.writer, &piece(2, &"x".repeat(MAX_STREAM_BYTES)));
        assert_eq!(streams.take_up("a-1", Some(0)).next, None);
    }
}
