//! Events of the daemon: each is shown once, in its order, live as in a replay.
//!
//! long: one match over the kinds of events.

use std::time::{Duration, Instant};

use super::Agent;
use super::editor_session::{LinkId, OPENING_TIMEOUT, OpeningKind, PendingPrompt, PromptState};
use crate::client_forms;
use crate::daemon_event::{DaemonError, DaemonEvent, EventKind, TextDelta, text, word};
use crate::json_rpc::RpcError;
use crate::protocol::{ContentBlock, SessionUpdate, StopReason, ToolCallFields, ToolCallStatus};
use crate::render::answer_text::TextPiece;
use crate::render::{extras, tool_call};

/// Codes of refusals after which the same may be said again.
const FOR_NOW: [&str; 4] = ["store-unavailable", "overloaded", "shutting-down", "rate-limited"];

/// Codes of errors that are the guard's answer.
const OF_THE_GUARD: [&str; 2] = ["refused", "expired"];

/// Pause before it is.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Prompts and requests that are remembered for their answers.
const MAX_REMEMBERED: usize = 256;

impl Agent {
    pub(super) fn hear(&mut self, link: LinkId, frame: &str) {
        let Some(event) = DaemonEvent::read(frame) else {
            return self.say_to_log("the daemon sent something that is no message");
        };
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let is_old = event.seq.is_some_and(|seq| seq <= session.seen);
        if let Some(seq) = event.seq.filter(|_| !is_old) {
            session.seen = seq;
        }
        if let Some(opening) = &mut session.opening {
            opening.deadline = Instant::now() + OPENING_TIMEOUT;
        }
        match event.kind {
            // What is still open comes again under its old number.
            EventKind::Question(question) => self.ask_permission(link, question),
            _ if is_old => {}
            _ => self.hear_new(link, event),
        }
        let Some(session) = self.sessions.get(&link) else { return };
        let is_replayed = session.opening.as_ref().is_some_and(|opening| {
            opening.kind == OpeningKind::Load && opening.until.is_some_and(|it| session.seen >= it)
        });
        if is_replayed {
            self.opened(link);
        }
    }

    fn hear_new(&mut self, link: LinkId, event: DaemonEvent) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let front = session.prompts.front().map(|it| it.id.clone());
        let is_front = event.id.is_some() && event.id == front;
        match event.kind {
            EventKind::Admitted if is_front => self.admitted(link),
            EventKind::Status { word } => session.status = word,
            EventKind::Delta(delta) => self.streamed(link, &delta),
            EventKind::Prompt { .. } if event.is_own && is_front => self.admitted(link),
            EventKind::Prompt { text } => self.prompt_shown(link, event.seq, text, event.is_own),
            EventKind::Message { text, stop } => {
                self.recorded(link, &text);
                if is_front {
                    self.ask_usage(link);
                    self.prompt_ended(link, Ok(extras::stop_reason(stop.as_deref())));
                }
            }
            EventKind::Error(error) if is_front => self.prompt_failed(link, error),
            EventKind::Error(error) => self.error_shown(link, event.id, event.answers, &error),
            EventKind::Answer if is_front => self.prompt_ended(link, Ok(StopReason::EndTurn)),
            EventKind::QuestionShown(question) => {
                session.remember_asked(&question);
                let call = tool_call::pending(&question);
                self.call_begun(link, call);
            }
            EventKind::Answered { approval, answer, counts } if counts => {
                session.note_answer(&approval, answer == "allow");
                self.end_question(link, &approval);
                if answer == "allow" {
                    let status = Some(ToolCallStatus::InProgress);
                    self.call_changed(
                        link,
                        ToolCallFields {
                            tool_call_id: approval,
                            status,
                            ..ToolCallFields::default()
                        },
                    );
                }
            }
            EventKind::Asked { effect, target, request } => {
                let name = session.act_begins(&effect, &target, &request);
                self.call_begun(link, tool_call::running(&name, &target, &request));
            }
            EventKind::Outcome { effect, word, result, reason } => {
                let name = session.call_name(&effect);
                self.end_question(link, &effect);
                self.call_changed(
                    link,
                    tool_call::ended(&name, &word, result.as_ref(), reason.as_deref()),
                );
            }
            EventKind::ShellRequest { request } => self.serve_engine(link, event.id, &request),
            EventKind::Offers(offers) => self.take_offers(offers),
            EventKind::Usage(used) => {
                if let (Some(usage), Some(name)) = (extras::usage(&used), self.name_of(link)) {
                    self.update(&name, &usage);
                }
            }
            EventKind::Plan(entries) => {
                if let (Some(plan), Some(name)) = (extras::plan(&entries), self.name_of(link)) {
                    self.update(&name, &plan);
                }
            }
            EventKind::Question(_)
            | EventKind::Admitted
            | EventKind::Answer
            | EventKind::Answered { .. }
            | EventKind::Unknown => {}
        }
    }

    /// Asks what the session used; the editor is told when the answer is there.
    fn ask_usage(&mut self, link: LinkId) {
        let id = self.message_id();
        if let (true, Some(name)) = (self.offers.has_models(), self.name_of(link)) {
            self.say(link, &client_forms::usage(&id, &name));
        }
    }

    fn admitted(&mut self, link: LinkId) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let Some(prompt) = session.prompts.front_mut() else { return };
        prompt.state = PromptState::Admitted;
        // One that was said again may be answered already, and so may another shell's where the engine is busy.
        let is_next = matches!(session.status.as_str(), "" | "idle");
        if is_next && !prompt.is_said_again {
            session.answer.expect_front();
            session.thought.expect_front();
        }
    }

    fn streamed(&mut self, link: LinkId, delta: &TextDelta) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        if session.opening.is_some() {
            return;
        }
        let is_thought = match delta.channel.as_str() {
            "text" => false,
            "reasoning" => true,
            // Output of programs is shown with its effect, when that ends.
            _ => return,
        };
        let text = if is_thought { &mut session.thought } else { &mut session.answer };
        if let Some(piece) = text.streamed(&delta.stream, &delta.text) {
            self.chunk(link, piece, is_thought);
        }
    }

    fn recorded(&mut self, link: LinkId, text: &str) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        session.thought.end();
        if let Some(piece) = session.answer.recorded(text) {
            self.chunk(link, piece, false);
        }
    }

    fn chunk(&mut self, link: LinkId, piece: TextPiece, is_thought: bool) {
        let Some(name) = self.name_of(link) else { return };
        let content = ContentBlock::text(piece.text);
        let message_id = self.message_name(link, piece.message, if is_thought { "t" } else { "m" });
        let update = match is_thought {
            true => SessionUpdate::AgentThoughtChunk { content, message_id },
            false => SessionUpdate::AgentMessageChunk { content, message_id },
        };
        self.update(&name, &update);
    }

    fn prompt_shown(&mut self, link: LinkId, seq: Option<u64>, text: String, is_own: bool) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        if let Some(seq) = seq {
            if session.shown_prompts.len() >= MAX_REMEMBERED {
                session.shown_prompts.pop_first();
            }
            session.shown_prompts.insert(seq);
        }
        // The editor shows its own by itself, unless it asked for the past.
        if is_own && session.opening.is_none() {
            return;
        }
        let Some(name) = session.name.clone() else { return };
        let message_id = format!("{}.{}u{}", self.client, link.0, seq.unwrap_or(0));
        let content = ContentBlock::text(text);
        self.update(&name, &SessionUpdate::UserMessageChunk { content, message_id });
    }

    /// Ends the first prompt.
    fn prompt_ended(&mut self, link: LinkId, outcome: Result<StopReason, RpcError>) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        session.answer.end();
        session.thought.end();
        let Some(PendingPrompt { request, is_cancelled, .. }) = session.prompts.pop_front() else {
            return;
        };
        match outcome {
            _ if is_cancelled => self.respond_cancelled(&request),
            Ok(reason) => self.respond_stopped(&request, reason),
            Err(error) => self.respond(&request, Err(error)),
        }
        self.go_on(link);
    }

    #[expect(clippy::needless_pass_by_value, reason = "it ends here")]
    fn prompt_failed(&mut self, link: LinkId, error: DaemonError) {
        let is_for_now = error.is_retryable && FOR_NOW.contains(&error.code.as_str());
        if is_for_now {
            let prompt = self.sessions.get_mut(&link).and_then(|it| it.prompts.front_mut());
            if let Some(prompt) = prompt.filter(|it| !it.is_cancelled) {
                prompt.state = PromptState::Queued(Some(Instant::now() + RETRY_INTERVAL));
                return;
            }
        }
        if error.code == "cancelled" {
            return self.prompt_ended(link, Ok(StopReason::Cancelled));
        }
        if OF_THE_GUARD.contains(&error.code.as_str()) {
            // Somebody said no, or nobody said yes: that is an end of the turn, and no fault.
            self.say_in_turn(link, &error.message);
            return self.prompt_ended(link, Ok(StopReason::EndTurn));
        }
        let mut told = RpcError::internal(format!("{}: {}", error.code, error.message));
        told.data = Some(serde_json::json!({"code": error.code, "retryable": error.is_retryable}));
        self.prompt_ended(link, Err(told));
    }

    /// Says something as a message of its own.
    pub(super) fn say_in_turn(&mut self, link: LinkId, text: &str) {
        let Some(name) = self.name_of(link) else { return };
        if let Some(session) = self.sessions.get_mut(&link) {
            session.answer.end();
        }
        let message_id = self.next_message(link);
        let content = ContentBlock::text(bridle_shell::screen::neutral_block(text));
        self.update(&name, &SessionUpdate::AgentMessageChunk { content, message_id });
    }

    /// Shows an error that answers a prompt of the past or of another shell, or a verdict of the user.
    fn error_shown(
        &mut self,
        link: LinkId,
        id: Option<String>,
        answers: Option<u64>,
        error: &DaemonError,
    ) {
        if id.is_some_and(|id| self.verdict_refused(link, &id, error)) {
            return;
        }
        let Some(session) = self.sessions.get_mut(&link) else { return };
        if !answers.is_some_and(|it| session.shown_prompts.contains(&it)) {
            return;
        }
        let text =
            format!("This turn ended without an answer: {} ({}).", error.message, error.code);
        self.say_in_turn(link, &text);
    }

    /// Tells of an effect that is new, or that goes on.
    pub(super) fn call_begun(&mut self, link: LinkId, call: ToolCallFields) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let Some(name) = session.name.clone() else { return };
        let update = match session.shows_call(&call.tool_call_id) {
            true => SessionUpdate::ToolCallUpdate(ToolCallFields {
                tool_call_id: call.tool_call_id,
                status: call.status,
                ..ToolCallFields::default()
            }),
            false => SessionUpdate::ToolCall(call),
        };
        self.update(&name, &update);
    }

    /// Tells of a change; an effect that the editor does not know is told whole.
    fn call_changed(&mut self, link: LinkId, call: ToolCallFields) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let Some(name) = session.name.clone() else { return };
        let update = match session.shows_call(&call.tool_call_id) {
            true => SessionUpdate::ToolCallUpdate(call),
            false => {
                let title = Some(call.tool_call_id.clone());
                SessionUpdate::ToolCall(ToolCallFields { title, ..call })
            }
        };
        self.update(&name, &update);
    }

    /// Carries out what the engine asks of this shell: showing text. Each request is carried out once.
    fn serve_engine(&mut self, link: LinkId, id: Option<String>, request: &bridle_sexp::Value) {
        let Some(id) = id else { return };
        let is_old = self.sessions.get(&link).is_some_and(|it| it.opening.is_some());
        if self.run_in_terminal(link, &id, request, is_old) {
            return;
        }
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let is_text = matches!(word(request, "action").as_deref(), Some("message" | "notify"));
        let shown = text(request, "text").filter(|_| is_text);
        let refusal = shown.is_none().then_some("this editor shows text and does nothing else");
        let is_new = !session.served.contains(&id);
        if is_new {
            if session.served.len() == MAX_REMEMBERED {
                session.served.pop_front();
            }
            session.served.push_back(id.clone());
        }
        if let (Some(text), true, Some(name)) = (shown, is_new, session.name.clone()) {
            let message_id = self.next_message(link);
            let content = ContentBlock::text(text);
            self.update(&name, &SessionUpdate::AgentMessageChunk { content, message_id });
        }
        self.say(link, &client_forms::shell_response(&id, refusal));
    }

    fn name_of(&self, link: LinkId) -> Option<String> {
        self.sessions.get(&link).and_then(|it| it.name.clone())
    }

    /// Name of a message of its own.
    pub(super) fn next_message(&mut self, link: LinkId) -> String {
        let number = self.number();
        self.message_name(link, number, "n")
    }

    fn message_name(&self, link: LinkId, number: u64, kind: &str) -> String {
        format!("{}.{}{kind}{number}", self.client, link.0)
    }
}
