//! Ids and other short texts of messages, each its own type, so that a session is never taken for a
//! conversation. Those that may hold secrets or personal things do not show in `Debug`.

use super::limits::{MAX_ENVELOPE_ID, MAX_ID, MAX_TOKEN};
use super::shape::text;

text! {
    /// Names a request, for its answer and for repeats; chosen by the shell.
    RequestId: 1..=MAX_ENVELOPE_ID, shown
}
text! {
    /// Names a trace through several programs; chosen by the shell.
    CorrelationId: 1..=MAX_ENVELOPE_ID, shown
}
text! {
    /// A conversation line that lasts; the empty one counts as none.
    SessionId: 0..=MAX_ID, blankable
}
text! {
    /// A thread within a session; the empty one counts as none.
    ConversationId: 0..=MAX_ID, blankable
}
text! {
    /// The session of a login, as the transport knows it. Never the session of a conversation.
    LoginSessionId: 0..=MAX_ID, hidden
}
text! {
    /// A tenant that the shell names. The identity of the transport decides, not this.
    TenantId: 0..=MAX_ID, blankable
}
text! {
    /// A reference to a credential that the transport knows.
    CredentialRef: 0..=MAX_ID, hidden
}
text! {
    /// A run of the engine.
    RunId: 0..=MAX_ID, shown
}
text! {
    /// A procedure that the engine may know.
    SopId: 0..=MAX_ID, shown
}
text! {
    /// An opaque token that the engine issued for the next step.
    ContinuationToken: 0..=MAX_TOKEN, hidden
}
text! {
    /// Wish of the user, in words.
    UserIntent: 0..=usize::MAX, hidden
}
text! {
    /// Statement of a device about itself or its screen.
    StateText: 0..=usize::MAX, hidden
}
text! {
    /// The family of a shell, such as `im_bot` or `com.example.kiosk`.
    ShellKind: 1..=MAX_ID, shown
}
text! {
    /// A short name or tag whose meaning is its owner's.
    Label: 0..=MAX_ID, shown
}
text! {
    /// A short name that must not be empty.
    Name: 1..=MAX_ID, shown
}
text! {
    /// The address of an attachment; it may hold a signature that grants access.
    Address: 0..=MAX_TOKEN, hidden
}
text! {
    /// A name that people gave to a file.
    FileName: 0..=MAX_ID, hidden
}
text! {
    /// An attachment that was uploaded before.
    RefId: 0..=MAX_ID, shown
}
text! {
    /// A directive within a run.
    DirectiveId: 1..=MAX_ID, shown
}
text! {
    /// A question that the engine waits for.
    ApprovalId: 1..=MAX_ID, shown
}
text! {
    /// One of the answers to a question.
    OptionId: 1..=MAX_ID, shown
}
text! {
    /// A stream of events.
    StreamId: 1..=MAX_ID, shown
}
text! {
    /// Type of a directive, such as `render_message`; compared exactly.
    ActionType: 1..=MAX_ID, shown
}
text! {
    /// A moment as RFC 3339 writes it.
    Timestamp: 1..=64, shown
}
text! {
    /// A code that programs compare.
    CodeText: 1..=MAX_ID, shown
}
text! {
    /// Words of a shell about what went wrong there.
    ReportText: 0..=usize::MAX, hidden
}
text! {
    /// A secret of a device or an operator.
    Secret: 1..=MAX_ID, hidden
}

impl Timestamp {
    /// Makes a moment of milliseconds since 1970.
    pub fn from_unix_ms(milliseconds: i64) -> Self {
        Timestamp(crate::time::rfc3339(milliseconds).into())
    }
}
