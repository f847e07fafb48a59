//! `session/prompt` and `session/cancel`. One prompt of a session is at the daemon at a time; further ones wait here.
//! A prompt is said again after a lost connection until the daemon has it: the daemon does it once, by its id.

use std::time::Instant;

use serde_json::{Value, json};

use super::editor_session::{LinkId, PendingPrompt, PromptState};
use super::{Agent, params, prompt_content};
use crate::client_forms::{self, UserPrompt};
use crate::json_rpc::{RequestId, RpcError, RpcErrorCode};
use crate::protocol::{CancelParams, CancelRequestParams, PromptParams, StopReason};

/// Prompts of a session without an answer.
const MAX_PENDING_PROMPTS: usize = 32;

impl Agent {
    pub(super) fn prompt(
        &mut self,
        id: &RequestId,
        given: Value,
    ) -> Result<Option<Value>, RpcError> {
        let given: PromptParams = params(given)?;
        let link = self.open_link(&given.session_id)?;
        let composed = prompt_content::compose(given.prompt, self.offers.take_images())?;
        let Some(session) = self.sessions.get(&link) else { return Ok(None) };
        if session.prompts.len() >= MAX_PENDING_PROMPTS {
            let what = format!("{MAX_PENDING_PROMPTS} prompts wait in this session");
            return Err(RpcError::new(RpcErrorCode::InvalidRequest, what));
        }
        let (folder, model) = (session.folder.clone(), session.choices.model.clone());
        let state = self.read_buffers(link, composed.files);
        let message = self.message_id();
        let prompt = UserPrompt { text: composed.text, folder, model, images: composed.images };
        let pending = PendingPrompt {
            request: id.clone(),
            form: client_forms::prompt(&message, &prompt),
            id: message,
            state,
            is_cancelled: false,
            is_said_again: false,
        };
        if let Some(session) = self.sessions.get_mut(&link) {
            session.prompts.push_back(pending);
        }
        self.go_on(link);
        Ok(None)
    }

    /// Says to the daemon what is due: verdicts, the first prompt, an interrupt.
    pub(super) fn go_on(&mut self, link: LinkId) {
        let now = Instant::now();
        let interrupt = self.message_id();
        let Some(session) = self.sessions.get_mut(&link) else { return };
        session.publish();
        if session.writer.is_none() || session.opening.is_some() {
            return;
        }
        while let Some(report) = session.reports.pop_front() {
            session.say(&report);
        }
        if let Some(prompt) = session.prompts.front_mut()
            && let PromptState::Queued(at) = prompt.state
            && at.is_none_or(|at| at <= now)
        {
            prompt.state = PromptState::Sent;
            let form = prompt.form.clone();
            session.say(&form);
        }
        if std::mem::take(&mut session.is_interrupt_due) {
            session.say(&client_forms::interrupt(&interrupt));
        }
    }

    /// Says again what the connection may have lost.
    pub(super) fn say_again(&mut self, link: LinkId) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        if let Some(prompt) = session.prompts.front_mut()
            && prompt.state == PromptState::Sent
        {
            prompt.state = PromptState::Queued(None);
            prompt.is_said_again = true;
        }
        // One with a grant is said again when its question comes again: a second one would be another.
        let verdicts = session.verdicts.values().filter(|it| it.granted.is_none());
        let verdicts: Vec<String> = verdicts.map(|it| it.form.clone()).collect();
        for verdict in verdicts {
            session.say(&verdict);
        }
        self.go_on(link);
    }

    /// Lets a prompt go that waited long enough.
    pub(super) fn check_prompt(&mut self, link: LinkId, now: Instant) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let mut late = Vec::new();
        for prompt in &mut session.prompts {
            if let PromptState::ReadingBuffers { waiting, deadline } = &prompt.state
                && *deadline <= now
            {
                late.extend(waiting.iter().copied());
                prompt.state = PromptState::Queued(None);
            }
        }
        for request in late {
            self.withdraw(request);
        }
        self.go_on(link);
    }

    pub(super) fn cancel(&mut self, given: Value) {
        let Ok(given) = params::<CancelParams>(given) else { return };
        if let Some(link) = self.link_of(&given.session_id) {
            self.cancel_link(link);
        }
    }

    /// Gives up the turn of the session and all prompts that wait.
    pub(super) fn cancel_link(&mut self, link: LinkId) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let mut dropped = Vec::new();
        session.prompts.retain_mut(|prompt| match prompt.state {
            PromptState::Sent | PromptState::Admitted => {
                prompt.is_cancelled = true;
                true
            }
            // The daemon has not heard of it.
            PromptState::Queued(_) | PromptState::ReadingBuffers { .. } => {
                dropped.push(prompt.request.clone());
                false
            }
        });
        let is_busy = !session.status.is_empty() && session.status != "idle";
        session.is_interrupt_due |= is_busy || !session.prompts.is_empty();
        for request in dropped {
            self.respond_cancelled(&request);
        }
        self.kill_terminals(link);
        self.go_on(link);
    }

    /// Gives up a prompt by the id of its request, as `session/cancel` does.
    pub(super) fn cancel_request(&mut self, given: Value) {
        let Ok(given) = params::<CancelRequestParams>(given) else { return };
        let Some(id) = RequestId::of(&given.request_id) else { return };
        let has_it = |it: &super::EditorSession| it.prompts.iter().any(|it| it.request == id);
        let link = self.sessions.iter().find(|(_, it)| has_it(it)).map(|(link, _)| *link);
        if let Some(link) = link {
            self.cancel_link(link);
        }
    }

    pub(super) fn respond_cancelled(&mut self, request: &RequestId) {
        self.respond_stopped(request, StopReason::Cancelled);
    }

    pub(super) fn respond_stopped(&mut self, request: &RequestId, reason: StopReason) {
        self.respond(request, Ok(json!({"stopReason": reason})));
    }
}
