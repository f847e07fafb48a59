//! The loop around a [`OpenHarnessShell`]: sends what it wants sent, shows what it wants shown, carries out what
//! was registered for a type, and tells it what came of that.
//!
//! Blocking; acts run on threads of their own. Callers bring a [`ShellInterface`] and, for types that they can
//! carry out, a [`Handler`] each. The rules are all in `shell` and `perform`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bridle_wire::openharness::feedback::DirectiveOutcome;
use bridle_wire::openharness::json::JsonDocument;
use bridle_wire::openharness::{Json, JsonObject, MessageLimits};

use super::action::{OutgoingMessage, ShellAction, UserQuestion};
use super::answer::EngineError;
use super::http::{EngineTransport, IncomingBody, MAX_BODY, OutgoingPost, ReadDemand};
use super::perform::DirectiveEnd;
use super::shell::{OpenHarnessShell, ShellBusy, UserIntent};
use super::time::PosixTime;

/// Acts that run side by side; others wait for their turn.
const WORKER_THREADS: usize = 8;

/// Levels of an answer that are kept.
const MAX_LEVELS: usize = 64;

/// Values of an answer: one of as many bytes as are taken has hardly more.
const MAX_VALUES: usize = 500_000;

/// Carries out a payload; what it gives back is reported to the Engine.
pub type Handler = Arc<dyn Fn(&JsonObject) -> DirectiveEnd + Send + Sync>;

/// Screen and voice of a person.
pub trait ShellInterface {
    /// Shows an action: everything but what is sent, asked and carried out.
    fn show(&mut self, action: &ShellAction);

    /// Shows why the same request will be sent again.
    fn show_reason(&mut self, _reason: &str) {}

    /// `allow`, or the id of an option; anything else is a no. After `wait` it is too late.
    fn ask(&mut self, question: &UserQuestion, wait: Option<Duration>) -> Option<String>;
}

/// Result of one question.
#[derive(Debug, Default)]
pub struct TurnResult {
    /// All messages that were shown.
    pub texts: Vec<String>,
    /// The outcome of each directive, of all answers.
    pub outcomes: Vec<DirectiveOutcome>,
    /// Reason why nothing came of it.
    pub error: Option<EngineError>,
    /// Last trouble with the connection.
    pub trouble: Option<super::http::TransportError>,
    /// The time was over.
    pub late: bool,
}

/// An Engine and this Shell's side of it.
pub struct EngineClient {
    transport: Box<dyn EngineTransport>,
    desk: ShellSide,
}

impl std::fmt::Debug for EngineClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("shell", &self.desk.shell).finish_non_exhaustive()
    }
}

/// End of an act, sent from its thread.
type Report = (usize, DirectiveEnd);

/// Everything but the transport.
struct ShellSide {
    shell: OpenHarnessShell,
    ui: Box<dyn ShellInterface>,
    handlers: BTreeMap<String, Handler>,
    began: Instant,
    /// Messages to send next.
    outgoing: VecDeque<OutgoingMessage>,
    question: Option<UserQuestion>,
    /// Acts that wait for a thread.
    waiting: VecDeque<(usize, Handler, JsonObject)>,
    running: usize,
    reports: (Sender<Report>, Receiver<Report>),
    turn: TurnResult,
}

impl EngineClient {
    /// A Shell whose abilities are those of its handlers and its user interface.
    pub fn new(
        transport: Box<dyn EngineTransport>,
        shell: OpenHarnessShell,
        ui: Box<dyn ShellInterface>,
        handlers: BTreeMap<String, Handler>,
    ) -> EngineClient {
        let desk = ShellSide {
            shell,
            ui,
            handlers,
            began: Instant::now(),
            outgoing: VecDeque::new(),
            question: None,
            waiting: VecDeque::new(),
            running: 0,
            reports: channel(),
            turn: TurnResult::default(),
        };
        EngineClient { transport, desk }
    }

    /// Asks for something, and carries out what comes back; gives up at `until`.
    ///
    /// # Errors
    /// Another request is under way, which cannot be while this waits for its end.
    pub fn ask(
        &mut self,
        intent: UserIntent,
        until: Option<Instant>,
    ) -> Result<TurnResult, ShellBusy> {
        let actions = self.desk.shell.ask(intent, self.desk.now())?;
        self.desk.carry_out(actions);
        while self.desk.shell.is_busy() || self.desk.running > 0 {
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            if is_over && !self.desk.turn.late && self.desk.shell.is_busy() {
                self.desk.give_up();
            } else if let Some(outgoing) = self.desk.outgoing.pop_front() {
                self.send(&outgoing, until);
            } else {
                let actions = self.desk.next(until);
                self.desk.carry_out(actions);
            }
        }
        Ok(std::mem::take(&mut self.desk.turn))
    }

    fn send(&mut self, outgoing: &OutgoingMessage, until: Option<Instant>) {
        let text = Json::Object(outgoing.body.clone()).to_text();
        let post = OutgoingPost {
            body: text.as_bytes(),
            stream: outgoing.stream,
            last_event_id: outgoing.last_event_id,
            until,
        };
        let desk = &mut self.desk;
        let sent = self.transport.post(post, &mut |incoming| desk.take(incoming));
        if let Err(error) = sent {
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            self.desk.turn.trouble = Some(error);
            if is_over {
                return self.desk.give_up();
            }
        }
        // An answer that was carried out at once has its results on the way already.
        if !self.desk.outgoing.is_empty() {
            return;
        }
        // Whatever has not become an answer was cut off.
        let actions = self.desk.shell.cut(self.desk.now().ms);
        self.desk.carry_out(actions);
    }
}

impl ShellSide {
    fn now(&self) -> PosixTime {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        PosixTime {
            ms: millis(self.began.elapsed()),
            unix_ms: i64::try_from(millis(since)).unwrap_or(i64::MAX),
        }
    }

    fn give_up(&mut self) {
        self.turn.late = true;
        self.question = None;
        let actions = self.shell.cancel(self.now());
        self.carry_out(actions);
    }

    fn take(&mut self, incoming: IncomingBody) -> ReadDemand {
        let now = self.now();
        let actions = match incoming {
            IncomingBody::Message { body, retry_after } => {
                let message = body.as_deref().and_then(json);
                self.shell.replied(message.as_ref(), now, retry_after.as_deref())
            }
            IncomingBody::Opened => {
                self.shell.opened();
                Vec::new()
            }
            IncomingBody::Event { name, data } => {
                self.shell.event(&name, json(&data).as_ref(), now)
            }
        };
        self.carry_out(actions);
        if self.shell.awaits_answer() && self.outgoing.is_empty() {
            ReadDemand::More
        } else {
            ReadDemand::Enough
        }
    }

    fn carry_out(&mut self, actions: Vec<ShellAction>) {
        for action in actions {
            match action {
                ShellAction::Send(outgoing) => self.outgoing.push_back(outgoing),
                ShellAction::Ask(question) => self.question = Some(question),
                ShellAction::Execute { directive, action_type, payload } => {
                    self.execute(directive, &action_type, payload);
                }
                shown => {
                    match &shown {
                        ShellAction::Render { text, .. } => self.turn.texts.push(text.clone()),
                        ShellAction::Done { outcomes, .. } => self.turn.outcomes.extend(outcomes),
                        ShellAction::Failed(error) => self.turn.error = Some(error.clone()),
                        ShellAction::Withdraw(_) => self.question = None,
                        _ => {}
                    }
                    if matches!(shown, ShellAction::Wait(_)) {
                        self.ui.show_reason(&self.retry_reason());
                    }
                    self.ui.show(&shown);
                }
            }
        }
    }

    /// Explains in words why the same request will be sent again.
    fn retry_reason(&self) -> String {
        match (self.shell.retried_for(), &self.turn.trouble) {
            (Some(error), _) => error.to_string(),
            (None, Some(trouble)) => trouble.to_string(),
            (None, None) => "the answer was cut off".to_owned(),
        }
    }

    fn execute(&mut self, directive: usize, action_type: &str, payload: JsonObject) {
        if let Some(handler) = self.handlers.get(action_type) {
            self.waiting.push_back((directive, Arc::clone(handler), payload));
        } else {
            // Abilities name what no handler is there for: the caller's mistake, told as a failure.
            self.running += 1;
            let _ = self.reports.0.send((directive, DirectiveEnd::Failed(None)));
        }
        self.start_acts();
    }

    fn start_acts(&mut self) {
        while self.running < WORKER_THREADS {
            let Some((directive, handler, payload)) = self.waiting.pop_front() else { return };
            let reports = self.reports.0.clone();
            self.running += 1;
            std::thread::spawn(move || {
                // Nobody listens any more when the whole Shell is gone.
                let _ = reports.send((directive, handler(&payload)));
            });
        }
    }

    /// Waits for whatever happens next.
    fn next(&mut self, until: Option<Instant>) -> Vec<ShellAction> {
        let wait = self.time_left(until);
        if let Some(question) = self.question.take() {
            let answer = self.ui.ask(&question, wait);
            return self.shell.answered(question.directive, answer.as_deref(), self.now());
        }
        if self.running > 0 {
            let report = match wait {
                Some(wait) => self.reports.1.recv_timeout(wait),
                None => self.reports.1.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if let Ok((directive, ended)) = report {
                self.running -= 1;
                self.start_acts();
                return self.shell.finished(directive, ended, self.now());
            }
            return self.shell.wake(self.now());
        }
        std::thread::sleep(wait.unwrap_or_default());
        self.shell.wake(self.now())
    }

    /// Time for which nothing needs to be done.
    fn time_left(&self, until: Option<Instant>) -> Option<Duration> {
        let wakes_at = self.shell.wakes_at();
        let wakes = wakes_at.map(|at| Duration::from_millis(at.saturating_sub(self.now().ms)));
        let over = until.map(|until| until.saturating_duration_since(Instant::now()));
        wakes.into_iter().chain(over).min()
    }
}

/// The value of a JSON text; `None` for what is none.
fn json(bytes: &[u8]) -> Option<Json> {
    let limits = MessageLimits { bytes: MAX_BODY, values: MAX_VALUES, ..MessageLimits::default() };
    JsonDocument::read(bytes, &limits).ok()?.root().to_json(MAX_LEVELS)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
