//! How much a session may hold and how long it may take.
//!
//! Part of the state: a session keeps the limits it began with, so that replay does not depend on
//! today's settings. What happens when a limit is reached is said at each field.

use bridle_sexp::Value;

use crate::plist_codec::{FieldSink, PlistBuilder, UnreadableValue, required};

/// The limits of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Times that an outcome may return to thinking in one turn; then the answer is `refused`.
    pub depth: u32,
    /// Drafts with a vetoed proposal that a turn bears in all; then the answer is `refused`. Of no meaning
    /// where `vetoes_in_row` is not 0.
    pub tries: u32,
    /// Proposals carried out in one turn, answers included; the others are denied.
    pub acts: u32,
    /// Proposals looked at in one draft or advice; the others are rejected together.
    pub proposals: usize,
    /// Acts of a session that await their outcome; further ones are denied.
    pub outstanding: usize,
    /// Signals that wait for their turn; one more is answered `overloaded`.
    pub queue: usize,
    /// Bytes of all signals that wait, about; one more is answered `overloaded`.
    pub queue_bytes: usize,
    /// Bytes of a proposal, about; a larger one is denied. A larger result is not shown to thinkers.
    pub payload: usize,
    /// Exchanges kept for context; the oldest goes.
    pub history: usize,
    /// Bytes kept of each side of an exchange, and of the reason of an outcome; the rest is cut.
    pub history_text: usize,
    /// Decisions kept to answer why; the oldest goes.
    pub decisions: usize,
    /// Schedules; one more fails.
    pub schedules: usize,
    /// Milliseconds between two firings of a schedule; a shorter interval is denied.
    pub schedule_min_ms: i64,
    /// Milliseconds until an act that nobody answered is `expired`.
    pub request_deadline_ms: i64,
    /// Milliseconds until a turn is given up and answered `expired`; waiting for an approval does
    /// not count.
    pub turn_deadline_ms: i64,
    /// Questions of a session that await their answer; what would need one more is denied.
    pub questions: usize,
    /// Milliseconds until a question that nobody answered is `expired`.
    pub approval_ms: i64,
    /// Turns beside the one that may think, those that wait until they may think or for somebody's yes
    /// not counted; a signal beyond them waits. 0: every signal waits for the end of the turn before.
    pub side_turns: usize,
    /// Turns that wait for somebody's yes while others run; one beyond them keeps its place, so that
    /// others wait for it.
    pub parked_turns: usize,
    /// Milliseconds until an act of the daemon is told to stop. 0: `request_deadline_ms`.
    pub host_act_ms: i64,
    /// Milliseconds that an act of the daemon has to say how it ended once it was told to stop; then its
    /// outcome is unknown. 0: no act is told to stop.
    pub stop_grace_ms: i64,
    /// Drafts in a row with a vetoed proposal that a turn bears; then the answer is `refused`. 0: `tries`.
    pub vetoes_in_row: u32,
    /// Tokens of all drafts of a turn, as far as they are known; then the turn thinks no more. 0: any number.
    pub turn_tokens: u64,
    /// Price of all drafts of a turn in millionths of a dollar, as far as it is known; then the turn thinks no
    /// more. 0: any price.
    pub turn_microdollars: u64,
    /// 1: a turn that reaches `depth`, `acts`, `turn_tokens` or `turn_microdollars` proposes to go on with as
    /// much again, and the policies decide. 0: it ends.
    pub budget_asks: u32,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            depth: 200,
            tries: 3,
            acts: 1_000,
            proposals: 32,
            outstanding: 256,
            queue: 64,
            queue_bytes: 64 << 20,
            payload: 4 << 20,
            history: 32,
            history_text: 2 << 10,
            decisions: 16,
            schedules: 64,
            schedule_min_ms: 1_000,
            request_deadline_ms: 5 * 60 * 1_000,
            turn_deadline_ms: 6 * 60 * 60 * 1_000,
            questions: 32,
            approval_ms: 24 * 60 * 60 * 1_000,
            side_turns: 8,
            parked_turns: 16,
            host_act_ms: 60 * 60 * 1_000,
            stop_grace_ms: 60 * 1_000,
            vetoes_in_row: 3,
            turn_tokens: 0,
            turn_microdollars: 0,
            budget_asks: 1,
        }
    }
}

impl SessionLimits {
    /// Drafts with a vetoed proposal, in a row or in all, that a turn bears.
    pub(crate) fn tries_of_turn(&self) -> u32 {
        if self.vetoes_in_row > 0 { self.vetoes_in_row } else { self.tries }
    }
}

/// One line a limit: its key, how it is written, how it is read. What came last is not written when it is
/// zero, and zero when it is absent: a session of an older record behaves as it did.
macro_rules! limits_as_value {
    ($($key:literal $field:ident),+; later: $($new:literal $added:ident),+; absent is zero: $($key0:literal $zero:ident),+ $(,)?) => {
        impl SessionLimits {
            /// The limits as a plist.
            pub fn to_value(&self) -> Value {
                self.put(PlistBuilder::new()).done()
            }

            pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
                fields
                    $(.put_number($key, self.$field))+
                    $(.put_number($new, self.$added))+
                    $(.put_number_unless_zero($key0, self.$zero))+
            }

            /// Reads what [`SessionLimits::to_value`] wrote; keys that came later may be absent.
            ///
            /// # Errors
            /// When a key is absent, no integer, or out of range.
            pub fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
                Ok(Self {
                    $($field: whole(value, $key)?,)+
                    $($added: match value.get($new) {
                        Some(_) => whole(value, $new)?,
                        None => Self::default().$added,
                    },)+
                    $($zero: match value.get($key0) {
                        Some(_) => whole(value, $key0)?,
                        None => 0,
                    },)+
                })
            }
        }
    };
}

limits_as_value! {
    "depth" depth,
    "tries" tries,
    "acts" acts,
    "proposals" proposals,
    "outstanding" outstanding,
    "queue" queue,
    "queue-bytes" queue_bytes,
    "payload" payload,
    "history" history,
    "history-text" history_text,
    "decisions" decisions,
    "schedules" schedules,
    "schedule-min-ms" schedule_min_ms,
    "request-deadline-ms" request_deadline_ms,
    "turn-deadline-ms" turn_deadline_ms;
    later:
    "questions" questions,
    "approval-ms" approval_ms;
    absent is zero:
    "side-turns" side_turns,
    "parked-turns" parked_turns,
    "host-act-ms" host_act_ms,
    "stop-grace-ms" stop_grace_ms,
    "vetoes-in-row" vetoes_in_row,
    "turn-tokens" turn_tokens,
    "turn-microdollars" turn_microdollars,
    "budget-asks" budget_asks,
}

fn whole<N: TryFrom<i64>>(value: &Value, key: &'static str) -> Result<N, UnreadableValue> {
    let number = required(value, key)?.as_i64().ok_or(UnreadableValue::new(key, "an integer"))?;
    N::try_from(number).map_err(|_| UnreadableValue::new(key, "an integer within its range"))
}
