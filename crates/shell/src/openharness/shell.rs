//! An OpenHarness Shell without input or output: what to send, when to try again, what to show and do.
//!
//! A [`OpenHarnessShell`] is told what happens and says what follows, like the performance inside it. `engine`
//! drives one.

mod request;

use std::collections::BTreeMap;
use std::time::Duration;

use bridle_wire::openharness::{Json, JsonObject};

use super::action::{OutgoingMessage, ShellAction};
use super::answer::{EngineAnswer, EngineError};
use super::perform::{AnswerPerformance, DirectiveEnd, ShellAbilities};
use super::stream::{EngineStream, StreamMeaning};
use super::time::{PosixTime, unix_ms};

pub use request::{ShellSelf, UserIntent};

/// Times that one request is sent.
pub const MAX_TRIES: u32 = 5;

/// Pauses before a further try: they double from the first to the longest, less up to half at random.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Longest wait that an engine may ask for; longer, and the shell gives up.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);

/// Requests that follow a user's own by themselves, to report results.
pub const MAX_ROUNDS: u32 = 16;

/// Results that wait for the next request of a conversation.
pub const MAX_UNREPORTED: usize = 256;

/// Conversations whose continuation or results are kept; over it, the one first in order is forgotten.
const MAX_CONVERSATIONS: usize = 256;

/// A session and a conversation within it.
type Key = (Option<String>, Option<String>);

/// Randomness and names, handed in.
pub struct RandomSource {
    /// A request id that nothing else has.
    pub new_id: Box<dyn FnMut() -> String>,
    /// A number from 0 to 1.
    pub jitter: Box<dyn FnMut() -> f64>,
}

impl std::fmt::Debug for RandomSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Chance")
    }
}

/// One request, until its answer has been carried out.
#[derive(Debug)]
struct OpenExchange {
    intent: UserIntent,
    body: JsonObject,
    stream: EngineStream,
    rounds: u32,
    tries: u32,
    cuts: u32,
    fell_back: bool,
    ok: bool,
    wakes_at: Option<u64>,
    performance: Option<AnswerPerformance>,
}

impl OpenExchange {
    fn awaits_answer(&self) -> bool {
        self.performance.is_none() && self.wakes_at.is_none()
    }

    fn request_id(&self) -> &str {
        self.body.get("request_id").and_then(Json::as_str).unwrap_or_default()
    }
}

/// Talks to one Engine, one request at a time.
#[derive(Debug)]
pub struct OpenHarnessShell {
    abilities: ShellAbilities,
    profile: ShellSelf,
    chance: RandomSource,
    version: String,
    /// The step to go on with, and when it is over.
    continuations: BTreeMap<Key, (JsonObject, Option<i64>)>,
    unreported: BTreeMap<Key, Vec<JsonObject>>,
    exchange: Option<OpenExchange>,
    /// Error of the engine when it last asked for a retry.
    retried_for: Option<EngineError>,
}

/// A request while another one is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one request at a time")]
pub struct ShellBusy;

impl OpenHarnessShell {
    /// A Shell that has asked nothing yet.
    pub fn new(
        abilities: ShellAbilities,
        profile: ShellSelf,
        chance: RandomSource,
    ) -> OpenHarnessShell {
        let version = profile.versions.first().cloned().unwrap_or_default();
        OpenHarnessShell {
            abilities,
            profile,
            chance,
            version,
            continuations: BTreeMap::new(),
            unreported: BTreeMap::new(),
            exchange: None,
            retried_for: None,
        }
    }

    /// Reason why the same request will be sent again: the engine's error; `None` when the connection
    /// was cut.
    pub fn retried_for(&self) -> Option<&EngineError> {
        self.retried_for.as_ref()
    }

    /// Whether a request is under way, or its answer being carried out.
    pub fn is_busy(&self) -> bool {
        self.exchange.is_some()
    }

    /// Whether a request is out and has no answer yet.
    pub fn awaits_answer(&self) -> bool {
        self.exchange.as_ref().is_some_and(OpenExchange::awaits_answer)
    }

    /// Time at which [`OpenHarnessShell::wake`] should be called, if nothing happens before.
    pub fn wakes_at(&self) -> Option<u64> {
        let exchange = self.exchange.as_ref()?;
        match &exchange.performance {
            Some(performance) => performance.wakes_at(),
            None => exchange.wakes_at,
        }
    }

    /// The user wants something.
    ///
    /// # Errors
    /// Another request is under way.
    pub fn ask(
        &mut self,
        intent: UserIntent,
        at: PosixTime,
    ) -> Result<Vec<ShellAction>, ShellBusy> {
        if self.is_busy() {
            return Err(ShellBusy);
        }
        Ok(vec![self.begin(intent, at, 0)])
    }

    /// A whole message came; the status of HTTP does not matter. `None` stands for what is no JSON.
    pub fn replied(
        &mut self,
        message: Option<&Json>,
        at: PosixTime,
        retry_after: Option<&str>,
    ) -> Vec<ShellAction> {
        let Some(exchange) = self.exchange.as_mut().filter(|it| it.awaits_answer()) else {
            return Vec::new();
        };
        let answer = match EngineAnswer::read(message, Some(exchange.request_id())) {
            Ok(answer) => answer,
            Err(error) => return self.fail(EngineError::new(error.code, error.reason)),
        };
        if !answer.ok {
            let error = answer.error.clone().unwrap_or_else(EngineError::unnamed);
            let again = self.other_version(&answer, &error);
            if let Some(action) = again.or_else(|| self.again(&error, at.ms, retry_after)) {
                return vec![action];
            }
        }
        self.perform(answer, at)
    }

    /// A stream begins to come instead of a message: nothing follows from that alone.
    pub fn opened(&mut self) {}

    /// An event of the stream came.
    pub fn event(&mut self, name: &str, data: Option<&Json>, at: PosixTime) -> Vec<ShellAction> {
        let Some(exchange) = self.exchange.as_mut().filter(|it| it.awaits_answer()) else {
            return Vec::new();
        };
        let before = exchange.stream.last_seq;
        let taken = exchange.stream.take(name, data);
        if exchange.stream.last_seq != before && taken.is_ok() {
            exchange.cuts = 0;
        }
        match taken {
            Ok(StreamMeaning::Shown(actions)) => actions,
            Ok(StreamMeaning::Final(message)) => self.replied(Some(&message), at, None),
            Err(_) => self.cut(at.ms),
        }
    }

    /// The connection failed, or ended before its time.
    pub fn cut(&mut self, now: u64) -> Vec<ShellAction> {
        let Some(exchange) = self.exchange.as_mut().filter(|it| it.awaits_answer()) else {
            return Vec::new();
        };
        self.retried_for = None;
        exchange.cuts += 1;
        if exchange.stream.resumable && exchange.cuts < MAX_TRIES {
            let count = exchange.cuts;
            return vec![self.pause(count, Duration::ZERO, now)];
        }
        self.fail(EngineError::new("transport_error", "the Engine cannot be reached"))
    }

    /// Time has passed.
    pub fn wake(&mut self, at: PosixTime) -> Vec<ShellAction> {
        let Some(exchange) = &mut self.exchange else { return Vec::new() };
        if let Some(performance) = &mut exchange.performance {
            let steps = performance.tick(at.ms);
            return self.after(steps, at);
        }
        if exchange.wakes_at.is_none_or(|wakes_at| at.ms < wakes_at) {
            return Vec::new();
        }
        exchange.wakes_at = None;
        vec![ShellAction::Send(OutgoingMessage {
            body: exchange.body.clone(),
            stream: self.profile.stream,
            last_event_id: exchange.stream.last_seq,
        })]
    }

    /// The user has answered a question: `allow`, the id of an option, or anything else, which is no.
    pub fn answered(
        &mut self,
        directive: usize,
        answer: Option<&str>,
        at: PosixTime,
    ) -> Vec<ShellAction> {
        let Some(performance) = self.performance() else { return Vec::new() };
        let steps = performance.answered(directive, answer, at.ms);
        self.after(steps, at)
    }

    /// Takes note that an act has ended.
    pub fn finished(
        &mut self,
        directive: usize,
        ended: DirectiveEnd,
        at: PosixTime,
    ) -> Vec<ShellAction> {
        let Some(performance) = self.performance() else { return Vec::new() };
        let steps = performance.finished(directive, ended, at.ms);
        self.after(steps, at)
    }

    /// The user gives up.
    pub fn cancel(&mut self, at: PosixTime) -> Vec<ShellAction> {
        if !self.is_busy() {
            return Vec::new();
        }
        let Some(performance) = self.performance() else {
            return self.fail(EngineError::new("cancelled", ""));
        };
        let steps = performance.cancel(at.ms);
        self.after(steps, at)
    }

    fn performance(&mut self) -> Option<&mut AnswerPerformance> {
        self.exchange.as_mut()?.performance.as_mut()
    }

    fn begin(&mut self, intent: UserIntent, at: PosixTime, rounds: u32) -> ShellAction {
        let body = self.body(&intent, at.unix_ms);
        self.exchange = Some(OpenExchange {
            intent,
            body: body.clone(),
            stream: EngineStream::new(self.abilities.clone(), BTreeMap::new()),
            rounds,
            tries: 1,
            cuts: 0,
            fell_back: false,
            ok: false,
            wakes_at: None,
            performance: None,
        });
        self.outgoing(body)
    }

    fn outgoing(&self, body: JsonObject) -> ShellAction {
        ShellAction::Send(OutgoingMessage {
            body,
            stream: self.profile.stream,
            last_event_id: None,
        })
    }

    /// Tries once with a version that both know.
    fn other_version(&mut self, answer: &EngineAnswer, error: &EngineError) -> Option<ShellAction> {
        let exchange = self.exchange.as_mut()?;
        if error.code != "protocol_version_unsupported" || exchange.fell_back {
            return None;
        }
        let line = |text: &str| {
            let version = bridle_wire::openharness::ProtocolVersion::parse(text)?;
            Some((version.major, version.minor))
        };
        let is_offered = |text: &&String| {
            let ours = line(text);
            answer.versions.iter().any(|theirs| ours == Some((theirs.major, theirs.minor)))
        };
        let common = self.profile.versions.iter().find(is_offered)?.clone();
        if exchange.body.get("protocol_version").and_then(Json::as_str) == Some(&common) {
            return None;
        }
        exchange.fell_back = true;
        exchange.body.insert("protocol_version", common.as_str());
        let body = exchange.body.clone();
        self.version = common;
        Some(self.outgoing(body))
    }

    /// Tries again what the Engine calls retryable: the same request, later.
    fn again(
        &mut self,
        error: &EngineError,
        now: u64,
        retry_after: Option<&str>,
    ) -> Option<ShellAction> {
        let exchange = self.exchange.as_mut()?;
        if !error.retryable || exchange.tries >= MAX_TRIES {
            return None;
        }
        let is_count = |text: &&str| {
            (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let seconds = retry_after.map(str::trim).filter(is_count);
        let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(0);
        let least = Duration::from_secs(seconds);
        if least > LONGEST_RETRY_AFTER {
            return None;
        }
        self.retried_for = Some(error.clone());
        // A new run has a new stream; what the last one has shown needs not be shown again.
        let shown = std::mem::take(&mut exchange.stream.shown);
        exchange.stream = EngineStream::new(self.abilities.clone(), shown);
        exchange.tries += 1;
        let count = exchange.tries - 1;
        Some(self.pause(count, least, now))
    }

    fn pause(&mut self, count: u32, least: Duration, now: u64) -> ShellAction {
        let doubled = FIRST_WAIT.saturating_mul(1 << count.saturating_sub(1).min(16));
        let share = 0.5 + 0.5 * (self.chance.jitter)().clamp(0.0, 1.0);
        let step = doubled.min(LONGEST_WAIT).mul_f64(share) + Duration::from_micros(500);
        let ms = u64::try_from(step.max(least).as_millis()).unwrap_or(u64::MAX);
        if let Some(exchange) = &mut self.exchange {
            exchange.wakes_at = Some(now.saturating_add(ms));
        }
        ShellAction::Wait(ms)
    }

    fn fail(&mut self, error: EngineError) -> Vec<ShellAction> {
        self.exchange = None;
        vec![ShellAction::Failed(error)]
    }

    fn perform(&mut self, answer: EngineAnswer, at: PosixTime) -> Vec<ShellAction> {
        let Some(exchange) = &mut self.exchange else { return Vec::new() };
        if let Some(continuation) = &answer.continuation {
            let ends = continuation.get("expires_at").and_then(Json::as_str).and_then(unix_ms);
            make_room(&mut self.continuations);
            self.continuations.insert(exchange.intent.key(), (continuation.clone(), ends));
        }
        let mut actions = Vec::new();
        if !answer.ok {
            let error = answer.error.clone().unwrap_or_else(EngineError::unnamed);
            actions.push(ShellAction::Failed(error));
        } else if answer.error.is_some() {
            actions.push(ShellAction::Log("success_with_error"));
        }
        exchange.ok = answer.ok;
        let shown =
            if answer.ok { std::mem::take(&mut exchange.stream.shown) } else { BTreeMap::new() };
        let mut performance = AnswerPerformance::new(self.abilities.clone(), answer, at.ms, shown);
        let steps = performance.start(at.ms);
        exchange.performance = Some(performance);
        actions.extend(self.after(steps, at));
        actions
    }

    /// Adds what follows the steps of a performance: at its end, results may have to go out at once.
    fn after(&mut self, steps: Vec<ShellAction>, at: PosixTime) -> Vec<ShellAction> {
        let mut actions = steps;
        let Some(ShellAction::Done { results, .. }) = actions.last() else { return actions };
        let Some(exchange) = self.exchange.take() else { return actions };
        let intent = exchange.intent;
        if !results.is_empty() {
            make_room(&mut self.unreported);
            let kept = self.unreported.entry(intent.key()).or_default();
            kept.extend_from_slice(results);
            kept.drain(..kept.len().saturating_sub(MAX_UNREPORTED));
        }
        if !exchange.ok || !exchange.performance.is_some_and(|it| it.owes_result()) {
            return actions;
        }
        if exchange.rounds >= MAX_ROUNDS {
            let message = "the Engine asks for results again and again";
            actions.push(ShellAction::Failed(EngineError::new("too_many_rounds", message)));
            return actions;
        }
        let follow_up = UserIntent {
            session_id: intent.session_id,
            conversation_id: intent.conversation_id,
            timeout_ms: intent.timeout_ms,
            ..UserIntent::default()
        };
        actions.push(self.begin(follow_up, at, exchange.rounds + 1));
        actions
    }
}

/// Forgets a conversation when too many are kept.
fn make_room<T>(kept: &mut BTreeMap<Key, T>) {
    if kept.len() >= MAX_CONVERSATIONS {
        kept.pop_first();
    }
}
