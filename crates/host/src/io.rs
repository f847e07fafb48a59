//! Handles for work under way: how it hears that it shall stop, how long it may take, and where it
//! shows what it has so far.
//!
//! Made by the daemon for each thought and each act; a thinker or an actuator gets it by reference
//! and may clone it for tasks and threads of its own.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bridle_loop::{
    ActionSpec, ActuatorLocation, EffectId, KeywordName, ResultReference, Seq, SessionId, TurnId,
};
use bridle_sexp::Value;
use tokio::time::Instant;

use crate::blocking::{BlockingCallError, BlockingPool};
use crate::cancel::CancelFlag;

/// A call of a host that takes its time.
pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Receiver of pieces on a channel.
type PieceSink<C> = Arc<dyn Fn(C, &str) + Send + Sync>;

/// Receiver of notes.
type NoteSink = Arc<dyn Fn(&str) + Send + Sync>;

/// A channel on which a thought is shown in the making.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThoughtChannel {
    /// The answer.
    Text,
    /// The way to it.
    Reasoning,
}

/// A channel on which an act is shown in the making.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActChannel {
    /// Output of what runs.
    Output,
    /// Distance to the end.
    Progress,
    /// A text that the user should see at once.
    Notice,
}

/// The handle of one thought.
#[derive(Clone)]
pub struct ThoughtIo {
    cancel: CancelFlag,
    deadline: Option<Instant>,
    show: PieceSink<ThoughtChannel>,
    blocking: BlockingPool,
    offered: Arc<[OfferedAction]>,
    results: Option<ResultSource>,
}

/// Reader of long results: of the session's record, by their numbers.
type ResultSource = Arc<dyn Fn(Seq) -> HostFuture<'static, Option<Value>> + Send + Sync>;

/// An action that a thinker can propose, and the actuator that carries it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedAction {
    /// The actuator, for the target of a proposal.
    pub target: KeywordName,
    /// Location of the actuator.
    pub place: ActuatorLocation,
    /// Description.
    pub spec: ActionSpec,
}

impl ThoughtIo {
    /// A handle without a deadline, whose pieces nobody sees.
    pub fn new(cancel: CancelFlag) -> Self {
        let (show, blocking) = (Arc::new(|_, _: &str| {}), BlockingPool::default());
        Self { cancel, deadline: None, show, blocking, offered: Arc::new([]), results: None }
    }

    /// Sets where long results are read.
    #[must_use]
    pub fn reading(
        self,
        results: impl Fn(Seq) -> HostFuture<'static, Option<Value>> + Send + Sync + 'static,
    ) -> Self {
        Self { results: Some(Arc::new(results)), ..self }
    }

    /// The whole of a result of which the prompt has the place alone; `None` if the record has it no more.
    pub async fn result(&self, stored: &ResultReference) -> Option<Value> {
        let found = self.results.as_ref()?(stored.seq).await?;
        stored.is_of(&found).then_some(found)
    }

    /// Sets the actions that can be proposed.
    #[must_use]
    pub fn offering(self, offered: Arc<[OfferedAction]>) -> Self {
        Self { offered, ..self }
    }

    /// The actions that can be proposed, by actuator: the very ones that `ThinkerPrompt::catalog` is the hash
    /// of.
    pub fn offered(&self) -> &Arc<[OfferedAction]> {
        &self.offered
    }

    /// Has pieces given to `show`.
    #[must_use]
    pub fn showing(self, show: impl Fn(ThoughtChannel, &str) + Send + Sync + 'static) -> Self {
        Self { show: Arc::new(show), ..self }
    }

    /// Sets the time when it is over.
    #[must_use]
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// Sets the threads for calls that block.
    #[must_use]
    pub fn on(self, blocking: BlockingPool) -> Self {
        Self { blocking, ..self }
    }

    /// A handle for a part of it, which can be ended alone and shows nothing.
    pub(crate) fn narrowed(&self) -> Self {
        Self::new(self.cancel.child()).until(self.deadline).on(self.blocking.clone())
    }

    /// The flag that ends it.
    pub fn cancel(&self) -> &CancelFlag {
        &self.cancel
    }

    /// Whether it shall end.
    pub fn is_canceled(&self) -> bool {
        self.cancel.is_canceled()
    }

    /// Waits until it shall end.
    pub async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    /// The time when it is over, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Shows a piece: text behind that of the piece before on the same channel. Never recorded as
    /// such; the draft at the end has all of the text. Nothing is shown once it shall end.
    pub fn show(&self, channel: ThoughtChannel, text: &str) {
        if !self.is_canceled() {
            (self.show)(channel, text);
        }
    }

    /// Has a blocking call made on a thread.
    ///
    /// # Errors
    /// The call panicked, or the daemon ends.
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingCallError> {
        self.blocking.run(call).await
    }
}

impl fmt::Debug for ThoughtIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cancel, deadline, .. } = self;
        f.debug_struct("ThoughtIo")
            .field("cancel", cancel)
            .field("deadline", deadline)
            .finish_non_exhaustive()
    }
}

/// Circumstances of an order, for the actuator that carries it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActContext {
    /// The session that gave the order.
    pub session: SessionId,
    /// Number of the effect in the session; never the same for two orders.
    pub effect: EffectId,
    /// The turn in which it was ordered.
    pub turn: TurnId,
    /// The number of the record that has the order; 0 if that is not known.
    pub record: u64,
    /// The principal that asked for it.
    pub principal: Box<str>,
    /// Present time, in milliseconds since 1970.
    pub at: i64,
}

/// The handle of one act.
#[derive(Clone)]
pub struct ActIo {
    /// Circumstances of the order.
    pub context: Arc<ActContext>,
    cancel: CancelFlag,
    deadline: Option<Instant>,
    show: PieceSink<ActChannel>,
    note: NoteSink,
    blocking: BlockingPool,
}

impl ActIo {
    /// A handle without a deadline, whose pieces and notes nobody sees.
    pub fn new(context: ActContext) -> Self {
        Self {
            context: Arc::new(context),
            cancel: CancelFlag::new(),
            deadline: None,
            show: Arc::new(|_, _: &str| {}),
            note: Arc::new(|_: &str| {}),
            blocking: BlockingPool::default(),
        }
    }

    /// Sets the flag that ends it.
    #[must_use]
    pub fn ended_by(self, cancel: CancelFlag) -> Self {
        Self { cancel, ..self }
    }

    /// Has pieces given to `show`.
    #[must_use]
    pub fn showing(self, show: impl Fn(ActChannel, &str) + Send + Sync + 'static) -> Self {
        Self { show: Arc::new(show), ..self }
    }

    /// Has notes given to `note`.
    #[must_use]
    pub fn noting(self, note: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { note: Arc::new(note), ..self }
    }

    /// Sets the time when it is over.
    #[must_use]
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// Sets the threads for calls that block.
    #[must_use]
    pub fn on(self, blocking: BlockingPool) -> Self {
        Self { blocking, ..self }
    }

    /// The flag that ends it. Who hears it stops what it has begun, and says in its outcome what
    /// had happened by then.
    pub fn cancel(&self) -> &CancelFlag {
        &self.cancel
    }

    /// Whether it shall end.
    pub fn is_canceled(&self) -> bool {
        self.cancel.is_canceled()
    }

    /// Waits until it shall end.
    pub async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    /// The time when it is over, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Time until it is over, if it ever is.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Shows a piece to the shells of the session: text behind that of the piece before on the same
    /// channel. The outcome has what is kept.
    pub fn show(&self, channel: ActChannel, text: &str) {
        (self.show)(channel, text);
    }

    /// Notes a line where the daemon writes its own.
    pub fn note(&self, text: &str) {
        (self.note)(text);
    }

    /// Has a blocking call made on a thread.
    ///
    /// # Errors
    /// The call panicked, or the daemon ends: nobody knows what had happened by then.
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingCallError> {
        self.blocking.run(call).await
    }
}

impl fmt::Debug for ActIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { context, cancel, deadline, .. } = self;
        f.debug_struct("ActIo")
            .field("context", context)
            .field("cancel", cancel)
            .field("deadline", deadline)
            .finish_non_exhaustive()
    }
}
