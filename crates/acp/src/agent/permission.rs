//! Questions of the guard at the editor. A question outlives everything: it is asked once as long as the editor
//! shows it, said again to a daemon that comes back, and asked anew of an editor that loads the session.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Value, json};

use super::editor_session::{LinkId, OpenQuestion, UserVerdict};
use super::session_choices::QuestionMode;
use super::unsaved_buffers::READ_TIMEOUT;
use super::{Agent, EditorRequest};
use crate::client_forms;
use crate::daemon_event::{DaemonError, GuardQuestion};
use crate::protocol::{ContentBlock, PermissionAnswer, PermissionOutcome, SessionUpdate};
use crate::render::tool_call;

/// Questions of a session that the editor shows at a time; the daemon keeps the others.
const MAX_OPEN_QUESTIONS: usize = 256;

/// End of the id of a request for a grant, behind the name of its question.
const GRANT_SUFFIX: &str = ".grant";

fn grant_name(approval: &str) -> String {
    format!("{approval}{GRANT_SUFFIX}")
}

/// Question that is shown when the editor has said what is in its buffers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeldQuestion {
    pub(super) question: GuardQuestion,
    /// Requests without an answer.
    pub(super) waiting: BTreeSet<i64>,
    /// Moment after which it is shown without them.
    pub(super) deadline: Instant,
}

impl Agent {
    /// Asks the editor, unless it is asked already or the user has answered.
    pub(super) fn ask_permission(&mut self, link: LinkId, question: GuardQuestion) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        session.remember_asked(&question);
        if let Some(opening) = &mut session.opening {
            return opening.questions.push(question);
        }
        if let Some(verdict) = session.verdicts.get(&question.approval).cloned() {
            return session.say(&verdict.form);
        }
        let is_open =
            session.questions.get(&question.approval).is_some_and(|it| it.request.is_some());
        let is_held = session.held.iter().any(|it| it.question.approval == question.approval);
        if is_open || is_held || tool_call::options(&question).is_empty() {
            return;
        }
        if session.choices.mode == QuestionMode::Refuse {
            return self.refuse(link, &question);
        }
        let waiting = self.read_touched(link, &tool_call::touched(&question));
        if waiting.is_empty() {
            return self.show_question(link, question);
        }
        let deadline = Instant::now() + READ_TIMEOUT;
        if let Some(session) = self.sessions.get_mut(&link) {
            session.held.push(HeldQuestion { question, waiting, deadline });
        }
    }

    /// Says no for the user, who chose that nothing needs a yes.
    fn refuse(&mut self, link: LinkId, question: &GuardQuestion) {
        let call = tool_call::pending(question);
        let form = client_forms::verdict(&question.approval, "deny", question.hash.as_deref());
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let name = session.name.clone().unwrap_or_default();
        let is_shown = session.shows_call(&question.approval);
        session.say(&form);
        session.verdicts.insert(question.approval.clone(), UserVerdict { form, granted: None });
        if !is_shown {
            self.update(&name, &SessionUpdate::ToolCall(call));
        }
    }

    /// Shows the questions that have waited long enough for the editor's buffers.
    pub(super) fn check_held(&mut self, link: LinkId, now: Instant) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let is_due = |it: &mut HeldQuestion| it.waiting.is_empty() || it.deadline <= now;
        let due: Vec<HeldQuestion> = session.held.extract_if(.., is_due).collect();
        for held in due {
            held.waiting.iter().for_each(|request| self.withdraw(*request));
            self.show_question(link, held.question);
        }
    }

    fn show_question(&mut self, link: LinkId, question: GuardQuestion) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        if session.questions.len() >= MAX_OPEN_QUESTIONS {
            return;
        }
        let options = tool_call::options(&question);
        let name = session.name.clone().unwrap_or_default();
        let mut call = tool_call::pending(&question);
        let touched = tool_call::touched(&question);
        let unsaved = touched.iter().filter_map(|path| Some((path, session.unsaved.get(path)?)));
        let conflicts: Vec<_> =
            unsaved.flat_map(|(path, text)| tool_call::conflict(path, text)).collect();
        call.content.get_or_insert_default().splice(0..0, conflicts);
        if !session.shows_call(&question.approval) {
            self.update(&name, &SessionUpdate::ToolCall(call.clone()));
        }
        let params = json!({"sessionId": name, "toolCall": call, "options": options});
        let approval = question.approval.clone();
        let asked = EditorRequest::Permission { link, approval: approval.clone() };
        let request = Some(self.ask_editor("session/request_permission", &params, asked));
        if let Some(session) = self.sessions.get_mut(&link) {
            session.questions.insert(approval, OpenQuestion { request, question });
        }
    }

    /// Takes the editor's answer. Only an option that was offered is one; anything else leaves the question open.
    pub(super) fn permission_answered(
        &mut self,
        link: LinkId,
        approval: &str,
        outcome: Result<Value, String>,
    ) {
        let answer =
            outcome.ok().and_then(|it| serde_json::from_value::<PermissionAnswer>(it).ok());
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let Some(open) = session.questions.get_mut(approval) else { return };
        open.request = None;
        let chosen = match answer.map(|it| it.outcome) {
            Some(PermissionOutcome::Selected { option_id }) => {
                tool_call::options(&open.question).into_iter().find(|it| it.option_id == option_id)
            }
            Some(PermissionOutcome::Cancelled) | None => None,
        };
        let Some(option) = chosen else {
            return self.question_left_open(link, approval);
        };
        let hash = open.question.hash.as_deref();
        let verdict = match tool_call::granted_scope(&option.option_id) {
            None => client_forms::verdict(approval, &option.option_id, hash),
            Some(scope) => client_forms::grant(&grant_name(approval), approval, scope, hash),
        };
        let granted = session.questions.remove(approval).map(|open| open.question);
        session.say(&verdict);
        let granted = granted.filter(|_| tool_call::granted_scope(&option.option_id).is_some());
        session.verdicts.insert(approval.to_owned(), UserVerdict { form: verdict, granted });
    }

    /// Takes an error that answers a verdict: the user is told, and asked again where only the grant is refused.
    pub(super) fn verdict_refused(&mut self, link: LinkId, id: &str, error: &DaemonError) -> bool {
        let approval = id.strip_suffix(GRANT_SUFFIX).unwrap_or(id);
        let Some(session) = self.sessions.get_mut(&link) else { return false };
        let Some(verdict) = session.verdicts.remove(approval) else { return false };
        let name = session.name.clone().unwrap_or_default();
        let what = match verdict.granted {
            Some(_) => "This cannot be allowed for longer",
            None => "The answer does not count",
        };
        let text = format!("\n\n{what}: {} ({}).\n\n", error.message, error.code);
        let message_id = self.next_message(link);
        let content = ContentBlock::text(text);
        self.update(&name, &SessionUpdate::AgentMessageChunk { content, message_id });
        if let Some(question) = verdict.granted {
            self.ask_permission(link, GuardQuestion { scopes: Vec::new(), ..question });
        }
        true
    }

    /// Nobody decided at the editor: unless the turn is given up, the user is told where to.
    fn question_left_open(&mut self, link: LinkId, approval: &str) {
        let Some(session) = self.sessions.get(&link) else { return };
        if session.prompts.iter().any(|it| it.is_cancelled) || session.is_interrupt_due {
            return;
        }
        let text = format!(
            "\n\nStill waiting for approval `{approval}`. In a terminal: `bridle approve {approval}` or \
             `bridle deny {approval}`.\n\n"
        );
        let name = session.name.clone().unwrap_or_default();
        let message_id = self.next_message(link);
        let content = ContentBlock::text(text);
        self.update(&name, &SessionUpdate::AgentMessageChunk { content, message_id });
    }

    /// Ends a question that was answered, here or elsewhere, or that is over.
    pub(super) fn end_question(&mut self, link: LinkId, approval: &str) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        session.verdicts.remove(approval);
        session.held.retain(|it| it.question.approval != approval);
        if let Some(opening) = &mut session.opening {
            opening.questions.retain(|it| it.approval != approval);
        }
        let request = session.questions.remove(approval).and_then(|it| it.request);
        if let Some(request) = request {
            self.withdraw(request);
        }
    }
}
