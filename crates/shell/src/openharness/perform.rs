//! Carries out the directives of one answer: what, in which order, after whose yes, and what became
//! of it.
//!
//! A [`AnswerPerformance`] does nothing itself. It is told what happens (time passes, the user answers, an
//! action has ended) and says what to do next. Called by `shell`.

mod admit;

use std::collections::{BTreeMap, VecDeque};

use bridle_wire::openharness::feedback::DirectiveOutcome;
use bridle_wire::openharness::payload::{NOOP, RENDER_MESSAGE, REQUEST_APPROVAL};
use bridle_wire::openharness::{Json, JsonObject};

use super::action::{MessageFormat, ShellAction};
use super::answer::{AnswerRisk, EngineAnswer, ResultRequest, SafeDirective};
use super::text::{MAX_TEXT, first_text};

/// Directives of one answer that are looked at; the others are `not_attempted`.
pub const MAX_DIRECTIVES: usize = 256;

/// Options of a question that are shown.
pub const MAX_OPTIONS: usize = 16;

/// Types that a shell carries out. Types are matched exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellAbilities {
    /// Types that have effects.
    pub acts: Vec<String>,
    /// Types that only show something.
    pub renders: Vec<String>,
    /// Whether there is a user who can be asked.
    pub approval: bool,
    /// Whether directives may run side by side.
    pub parallel: bool,
    /// The lowest tier that asks by itself: a Shell may ask more often than the protocol wants, never
    /// less.
    pub ask_from: AnswerRisk,
}

impl Default for ShellAbilities {
    fn default() -> ShellAbilities {
        ShellAbilities {
            acts: Vec::new(),
            renders: Vec::new(),
            approval: false,
            parallel: false,
            ask_from: AnswerRisk::Dangerous,
        }
    }
}

impl ShellAbilities {
    fn acts(&self, action_type: &str) -> bool {
        self.acts.iter().any(|known| known == action_type)
    }

    fn knows(&self, action_type: &str) -> bool {
        [RENDER_MESSAGE, NOOP, REQUEST_APPROVAL].contains(&action_type)
            || self.acts(action_type)
            || self.renders.iter().any(|known| known == action_type)
    }

    /// Tells whether the user is asked before a directive is carried out.
    fn ask_about(&self, directive: &SafeDirective) -> bool {
        directive.needs_approval || directive.tier >= self.ask_from
    }
}

/// Progress of a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DirectiveState {
    Waiting,
    Queued,
    Asked,
    Running,
    Settled(DirectiveOutcome),
}

/// A directive and what has become of it.
#[derive(Debug, Clone)]
struct DirectiveItem {
    directive: SafeDirective,
    acts: bool,
    known: bool,
    state: DirectiveState,
    /// Fields of its result besides the outcome.
    extra: JsonObject,
}

/// End of an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectiveEnd {
    /// The act worked, perhaps with an output.
    Completed(Option<Json>),
    /// The act failed, perhaps with a reason: an object with `code` and `message`.
    Failed(Option<JsonObject>),
}

/// One answer, from its receipt to its last outcome.
#[derive(Debug, Clone)]
pub struct AnswerPerformance {
    abilities: ShellAbilities,
    received: u64,
    ok: bool,
    /// Messages that a stream has shown already, by directive id.
    shown: BTreeMap<String, JsonObject>,
    items: Vec<DirectiveItem>,
    groups: VecDeque<Vec<usize>>,
    group: Vec<usize>,
    prompts: VecDeque<usize>,
    asked: Option<usize>,
    /// An effect did not happen that later ones may rely on.
    blocked: bool,
    steps: Vec<ShellAction>,
    done: bool,
}

impl AnswerPerformance {
    /// An answer that was received just now.
    pub fn new(
        abilities: ShellAbilities,
        answer: EngineAnswer,
        now: u64,
        shown: BTreeMap<String, JsonObject>,
    ) -> AnswerPerformance {
        let item = |directive: SafeDirective| DirectiveItem {
            acts: abilities.acts(&directive.action_type),
            known: abilities.knows(&directive.action_type),
            state: DirectiveState::Waiting,
            extra: JsonObject::new(),
            directive,
        };
        let items: Vec<DirectiveItem> = answer.directives.into_iter().map(item).collect();
        let groups = grouped(&items, abilities.parallel);
        AnswerPerformance {
            received: now,
            ok: answer.ok,
            shown,
            items,
            groups,
            group: Vec::new(),
            prompts: VecDeque::new(),
            asked: None,
            blocked: false,
            steps: Vec::new(),
            done: false,
            abilities,
        }
    }

    /// Time at which [`AnswerPerformance::tick`] should be called, if nothing happens before.
    pub fn wakes_at(&self) -> Option<u64> {
        let waiting = self.prompts.iter().chain(self.asked.as_ref());
        let deadlines = waiting.filter_map(|at| self.items[*at].directive.deadline_ms);
        deadlines.map(|ms| self.received.saturating_add(ms.try_into().unwrap_or(0))).min()
    }

    /// Tells whether the Engine waits for a result.
    pub fn owes_result(&self) -> bool {
        let is_owed = |it: &SafeDirective| it.wish == ResultRequest::Required && it.id.is_some();
        self.items.iter().any(|item| is_owed(&item.directive))
    }

    /// Begins.
    pub fn start(&mut self, now: u64) -> Vec<ShellAction> {
        for at in MAX_DIRECTIVES..self.items.len() {
            self.settle(at, DirectiveOutcome::NotAttempted);
        }
        if self.items.len() > MAX_DIRECTIVES {
            let code = "too_many_directives";
            self.steps.push(ShellAction::Notice { directive: MAX_DIRECTIVES, code, text: None });
        }
        self.go_on(now)
    }

    /// Time has passed.
    pub fn tick(&mut self, now: u64) -> Vec<ShellAction> {
        if let Some(at) = self.asked.filter(|at| self.is_late(*at, now)) {
            self.steps.push(ShellAction::Withdraw(at));
            self.settle(at, DirectiveOutcome::Expired);
            self.asked = None;
        }
        self.go_on(now)
    }

    /// The user has answered a question: `allow`, the id of an option, or anything else, which is no.
    pub fn answered(&mut self, at: usize, answer: Option<&str>, now: u64) -> Vec<ShellAction> {
        if self.asked != Some(at) {
            return Vec::new();
        }
        self.asked = None;
        if self.is_late(at, now) {
            self.settle(at, DirectiveOutcome::Expired);
        } else if self.items[at].directive.action_type == REQUEST_APPROVAL {
            self.chosen(at, answer);
        } else {
            self.note(at, "decision", Json::object([("by", Json::from("user"))]));
            if answer == Some("allow") {
                self.run(at);
            } else {
                self.settle(at, DirectiveOutcome::Rejected);
            }
        }
        self.go_on(now)
    }

    /// Takes note that an act has ended.
    pub fn finished(&mut self, at: usize, ended: DirectiveEnd, now: u64) -> Vec<ShellAction> {
        if self.items.get(at).is_none_or(|item| item.state != DirectiveState::Running) {
            return Vec::new();
        }
        match ended {
            DirectiveEnd::Completed(output) => {
                if let Some(output) = output.filter(|output| *output != Json::Null) {
                    self.note(at, "output", output);
                }
                self.settle(at, DirectiveOutcome::Completed);
            }
            DirectiveEnd::Failed(error) => {
                self.fail(at, error.unwrap_or_else(|| reason("failed", "")));
            }
        }
        self.go_on(now)
    }

    /// The user gives up: what has not begun does not begin.
    pub fn cancel(&mut self, now: u64) -> Vec<ShellAction> {
        if let Some(at) = self.asked.take() {
            self.steps.push(ShellAction::Withdraw(at));
        }
        self.prompts.clear();
        for at in 0..self.items.len() {
            if !matches!(self.items[at].state, DirectiveState::Running | DirectiveState::Settled(_))
            {
                self.settle(at, DirectiveOutcome::Canceled);
            }
        }
        self.go_on(now)
    }

    fn go_on(&mut self, now: u64) -> Vec<ShellAction> {
        while !self.done {
            self.next_prompt(now);
            let is_open = |at: &usize| !matches!(self.items[*at].state, DirectiveState::Settled(_));
            if self.group.iter().any(is_open) {
                break;
            }
            let Some(group) = self.groups.pop_front() else {
                self.finish();
                break;
            };
            for at in &group {
                if self.items[*at].state == DirectiveState::Waiting {
                    self.begin(*at, now);
                }
            }
            self.group = group;
        }
        std::mem::take(&mut self.steps)
    }

    fn note(&mut self, at: usize, key: &str, value: Json) {
        self.items[at].extra.insert(key, value);
    }

    fn fail(&mut self, at: usize, error: JsonObject) {
        self.note(at, "error", error.into());
        self.settle(at, DirectiveOutcome::Failed);
    }

    fn settle(&mut self, at: usize, outcome: DirectiveOutcome) {
        let item = &mut self.items[at];
        item.state = DirectiveState::Settled(outcome);
        let is_bad = matches!(
            outcome,
            DirectiveOutcome::Failed | DirectiveOutcome::Rejected | DirectiveOutcome::Expired
        );
        if item.acts && !item.directive.parallel && is_bad {
            self.blocked = true;
        }
    }

    fn finish(&mut self) {
        let mut results = Vec::new();
        let mut outcomes = Vec::new();
        for DirectiveItem { directive, state, extra, .. } in &self.items {
            let DirectiveState::Settled(outcome) = *state else { continue };
            outcomes.push(outcome);
            let Some(id) = directive.id.as_ref().filter(|_| directive.wish != ResultRequest::None)
            else {
                continue;
            };
            let head =
                [("directive_id", Json::from(id.as_str())), ("outcome", outcome.as_str().into())];
            let mut result = JsonObject::from_iter(head);
            extra.iter().for_each(|(key, value)| result.insert(key, value.clone()));
            results.push(result);
        }
        self.done = true;
        self.steps.push(ShellAction::Done { outcomes, results });
    }
}

/// Neighbors that may run side by side. What depends on a neighbor comes after it.
fn grouped(items: &[DirectiveItem], parallel: bool) -> VecDeque<Vec<usize>> {
    let mut groups: VecDeque<Vec<usize>> = VecDeque::new();
    let mut was_parallel = false;
    for (at, DirectiveItem { directive, .. }) in items.iter().enumerate().take(MAX_DIRECTIVES) {
        let is_parallel = parallel && directive.parallel;
        let waits_for = |other: &usize| {
            let id = items[*other].directive.id.as_ref();
            id.is_some_and(|id| directive.depends_on.contains(id))
        };
        match groups.back_mut() {
            Some(group) if is_parallel && was_parallel && !group.iter().any(waits_for) => {
                group.push(at);
            }
            _ => groups.push_back(vec![at]),
        }
        was_parallel = is_parallel;
    }
    groups
}

/// An error of a result.
fn reason(code: &str, message: &str) -> JsonObject {
    JsonObject::from_iter([("code", Json::from(code)), ("message", Json::from(message))])
}

/// Returns what a `render_message` shows; `None` when it holds no text.
pub(super) fn rendered(directive: usize, payload: &JsonObject) -> Option<ShellAction> {
    let text = first_text(payload, &["text", "message", "fallback_message"], MAX_TEXT)?;
    let is_markdown = payload.get("format").and_then(Json::as_str) == Some("markdown");
    let format = if is_markdown { MessageFormat::Markdown } else { MessageFormat::Plain };
    Some(ShellAction::Render { directive, text, format })
}

/// Tells whether a directive only shows words and may be shown as soon as it is whole.
pub(super) fn is_plain_message(directive: &SafeDirective, abilities: &ShellAbilities) -> bool {
    let waits = !directive.depends_on.is_empty()
        || directive.deadline_ms.is_some()
        || directive.tier == AnswerRisk::Caution;
    directive.action_type == RENDER_MESSAGE && !abilities.ask_about(directive) && !waits
}
