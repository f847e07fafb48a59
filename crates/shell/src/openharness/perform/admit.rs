//! Whether a directive begins, and what that takes: its dependencies, its deadline, a yes.

use bridle_wire::openharness::feedback::DirectiveOutcome;
use bridle_wire::openharness::payload::{NOOP, RENDER_MESSAGE, REQUEST_APPROVAL};
use bridle_wire::openharness::{Json, JsonObject};

use super::{AnswerPerformance, DirectiveState, MAX_OPTIONS, reason, rendered};
use crate::openharness::action::{QuestionChoice, ShellAction, UserQuestion};
use crate::openharness::answer::{AnswerRisk, SafeDirective};
use crate::openharness::text::{MAX_NOTICE, first_text};

/// Meanings that an option may have; another word counts as `reject_once`.
const KINDS: [&str; 4] = ["allow_once", "allow_always", "reject_once", "reject_always"];

impl AnswerPerformance {
    pub(super) fn begin(&mut self, at: usize, now: u64) {
        let item = &self.items[at];
        let directive = &item.directive;
        if !directive.depends_on.iter().all(|id| self.is_completed(id, at)) {
            self.settle(at, DirectiveOutcome::NotAttempted);
        } else if !item.known {
            let keys = ["fallback_message", "message"];
            let text = first_text(&directive.payload, &keys, MAX_NOTICE);
            self.steps.push(ShellAction::Notice {
                directive: at,
                code: "unknown_action_type",
                text,
            });
            self.settle(at, DirectiveOutcome::SkippedUnknown);
        } else if self.was_shown(directive) {
            self.settle(at, DirectiveOutcome::Completed);
        } else if (item.acts && self.blocked) || (!self.ok && !self.may_show(directive)) {
            self.settle(at, DirectiveOutcome::NotAttempted);
        } else if self.is_late(at, now) && !self.is_at_once(directive, now) {
            self.settle(at, DirectiveOutcome::Expired);
        } else {
            self.admit(at);
        }
    }

    fn is_completed(&self, id: &str, before: usize) -> bool {
        self.items[..before].iter().any(|item| {
            item.directive.id.as_deref() == Some(id)
                && item.state == DirectiveState::Settled(DirectiveOutcome::Completed)
        })
    }

    fn was_shown(&self, directive: &SafeDirective) -> bool {
        let shown = directive.id.as_ref().and_then(|id| self.shown.get(id));
        shown.is_some_and(|shown| *shown == directive.raw)
    }

    /// After an error nothing is done and nobody is asked, but words may be shown.
    fn may_show(&self, directive: &SafeDirective) -> bool {
        directive.action_type == RENDER_MESSAGE && !self.abilities.ask_about(directive)
    }

    fn admit(&mut self, at: usize) {
        let directive = &self.items[at].directive;
        let is_question = directive.action_type == REQUEST_APPROVAL;
        if !is_question && !self.abilities.ask_about(directive) {
            if directive.tier == AnswerRisk::Caution {
                self.steps.push(ShellAction::Notice { directive: at, code: "caution", text: None });
            }
            self.run(at);
        } else if is_question && choices(&directive.payload).is_none() {
            self.fail(at, reason("invalid_payload", "no question with options"));
        } else if !self.abilities.approval {
            let error = reason("approval_unavailable", "nobody can be asked here");
            self.note(at, "error", error.into());
            self.note(at, "decision", Json::object([("by", Json::from("policy"))]));
            self.settle(at, DirectiveOutcome::Rejected);
        } else if directive.deadline_ms == Some(0) {
            self.settle(at, DirectiveOutcome::Expired);
        } else {
            self.items[at].state = DirectiveState::Queued;
            self.prompts.push_back(at);
        }
    }

    /// Questions come one at a time, in order; those that are too late are not asked.
    pub(super) fn next_prompt(&mut self, now: u64) {
        let late: Vec<usize> =
            self.prompts.iter().copied().filter(|at| self.is_late(*at, now)).collect();
        self.prompts.retain(|at| !late.contains(at));
        for at in late {
            self.settle(at, DirectiveOutcome::Expired);
        }
        if self.asked.is_some() {
            return;
        }
        let Some(at) = self.prompts.pop_front() else { return };
        self.asked = Some(at);
        self.items[at].state = DirectiveState::Asked;
        let SafeDirective { action_type, tier, payload, .. } = &self.items[at].directive;
        let is_question = action_type == REQUEST_APPROVAL;
        let keys = ["message", "title", "fallback_message"];
        let question = UserQuestion {
            directive: at,
            action_type: action_type.clone(),
            tier: *tier,
            message: first_text(payload, &keys, MAX_NOTICE).filter(|_| is_question),
            options: choices(payload).filter(|_| is_question),
            payload: payload.clone(),
        };
        self.steps.push(ShellAction::Ask(question));
    }

    /// Tells whether the time to begin is over.
    pub(super) fn is_late(&self, at: usize, now: u64) -> bool {
        let passed = i64::try_from(now.saturating_sub(self.received)).unwrap_or(i64::MAX);
        self.items[at].directive.deadline_ms.is_some_and(|deadline| passed >= deadline)
    }

    /// A deadline of 0 lets begin what begins at once.
    fn is_at_once(&self, directive: &SafeDirective, now: u64) -> bool {
        directive.deadline_ms == Some(0) && now == self.received
    }

    pub(super) fn chosen(&mut self, at: usize, answer: Option<&str>) {
        let choices = choices(&self.items[at].directive.payload).unwrap_or_default();
        let choice = choices.into_iter().find(|choice| Some(choice.id.as_str()) == answer);
        let is_allowed = choice.as_ref().is_some_and(|choice| choice.kind.starts_with("allow"));
        let mut decision = JsonObject::from_iter([("by", Json::from("user"))]);
        if let Some(choice) = choice {
            decision.insert("option_id", choice.id);
        }
        self.note(at, "decision", decision.into());
        self.settle(
            at,
            if is_allowed { DirectiveOutcome::Completed } else { DirectiveOutcome::Rejected },
        );
    }

    pub(super) fn run(&mut self, at: usize) {
        let SafeDirective { action_type, payload, .. } = &self.items[at].directive;
        match action_type.as_str() {
            RENDER_MESSAGE => match rendered(at, payload) {
                Some(shown) => {
                    self.steps.push(shown);
                    self.settle(at, DirectiveOutcome::Completed);
                }
                None => self.fail(at, reason("invalid_payload", "no text")),
            },
            NOOP => self.settle(at, DirectiveOutcome::Completed),
            _ => {
                self.steps.push(ShellAction::Execute {
                    directive: at,
                    action_type: action_type.clone(),
                    payload: payload.clone(),
                });
                self.items[at].state = DirectiveState::Running;
            }
        }
    }
}

/// The options of a `request_approval`; `None` when there is nothing to choose.
fn choices(payload: &JsonObject) -> Option<Vec<QuestionChoice>> {
    let given = payload.get("options").and_then(Json::as_array).unwrap_or_default();
    let choice = |option: &Json| {
        let option = option.as_object()?;
        let id = option.get("option_id")?.as_str().filter(|id| !id.is_empty())?;
        let kind = option.get("kind").and_then(Json::as_str);
        let kind = KINDS.into_iter().find(|known| Some(*known) == kind).unwrap_or("reject_once");
        let label = first_text(option, &["label"], MAX_NOTICE);
        Some(QuestionChoice {
            id: id.to_owned(),
            label: label.unwrap_or_else(|| kind.to_owned()),
            kind,
        })
    };
    let choices: Option<Vec<QuestionChoice>> = given.iter().take(MAX_OPTIONS).map(choice).collect();
    choices.filter(|choices| !choices.is_empty())
}
