//! Text of a thought on its way into the record while the thought goes on: in parts, so that a crash takes little of
//! what shells have shown.
//!
//! Filled by the worker of the thought. The draft has the whole text again; parts are for when it never comes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::engine::hub::Hub;
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::live_session::LiveSessionSlot;

/// Bytes of a text that are shown at most before they are recorded.
const MAX_UNRECORDED_BYTES: usize = 4 << 10;

/// Bytes of one thought that are recorded in parts; the rest comes with its draft.
const MAX_SHOWN_BYTES: usize = 1 << 20;

/// Time after which text that was shown is recorded, however little it is.
pub(super) const SHOWN_INTERVAL: Duration = Duration::from_secs(2);

/// Text that one thought has shown.
pub(super) struct ShownText {
    hub: Arc<Hub>,
    session: Arc<LiveSessionSlot>,
    effect: u64,
    part: Mutex<TextPart>,
}

/// Part that is not recorded yet.
#[derive(Default)]
struct TextPart {
    /// Bytes before it.
    offset: usize,
    text: String,
}

impl ShownText {
    pub(super) fn new(hub: Arc<Hub>, session: Arc<LiveSessionSlot>, effect: u64) -> ShownText {
        ShownText { hub, session, effect, part: Mutex::default() }
    }

    /// Adds text that was shown.
    pub(super) fn push(&self, text: &str) {
        let is_long = {
            let mut part = self.part.lock().unwrap_or_else(PoisonError::into_inner);
            if part.offset.saturating_add(part.text.len()) < MAX_SHOWN_BYTES {
                part.text.push_str(text);
            }
            part.text.len() >= MAX_UNRECORDED_BYTES
        };
        if is_long {
            self.flush();
        }
    }

    /// Has the text so far recorded.
    pub(super) fn flush(&self) {
        let (offset, text) = {
            let mut part = self.part.lock().unwrap_or_else(PoisonError::into_inner);
            let (offset, text) = (part.offset, std::mem::take(&mut part.text));
            part.offset += text.len();
            (offset, text)
        };
        if text.is_empty() {
            return;
        }
        let effect = self.effect;
        let mut inner = self.session.lock();
        // A word of somebody who was called off comes too late.
        if inner.open.workers.contains_key(&effect) {
            inner.inbox.work.push_back(InboxItem::Shown { effect, offset, text });
            self.hub.wake_drive(&self.session, &mut inner);
        }
    }
}
