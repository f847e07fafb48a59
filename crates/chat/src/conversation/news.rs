//! Messages of the daemon and news of the connection.

use bridle_sexp::Value;

use super::{
    Conversation, LinkState, MAX_LOG, ModelOffer, OpenQuestion, PendingPrompt, QueuedPrompt,
    SessionBacklog, SessionSpending,
};
use crate::complete::HeadingPlace;
use crate::event::ChatEffect;
use crate::heard::HeardNumbers;
use crate::message::{self, AnswerBody, DaemonNews, EventBody, EventHead, PromptParts};
use crate::style::{AnsiColor, StyledLine, TextStyle};
use crate::transcript::{self, EventAge};

/// Codes of refusals after which the same may be sent again.
const FOR_NOW: [&str; 5] =
    ["store-unavailable", "overloaded", "shutting-down", "frame-timeout", "rate-limited"];

/// Commands and models that are taken from one answer.
const MAX_OFFERS: usize = 256;

/// Pause before something is sent again that was refused for now, in milliseconds.
const AGAIN_MS: u64 = 300;

/// Time after which streamed text counts as withdrawn when the engine is idle and nothing holds it.
const SETTLE_MS: u64 = 500;

/// Time for text whose connection was lost: what is recorded comes after the attachment.
const LOST_SETTLE_MS: u64 = 3_000;

/// Longest wait for the events before the session was opened, in milliseconds.
const BACKLOG_MS: u64 = 2_000;

/// Lines of the session that are printed when it is opened, at least.
const OPENING_LINES: usize = 200;

impl Conversation {
    pub(super) fn attached(&mut self, session: String, head: u64, cursor: u64, state: &str) {
        self.link = LinkState::Attached;
        let is_new = self.session.as_deref() != Some(session.as_str());
        if is_new {
            self.open(session, head, cursor);
        }
        self.set_doing(state);
        for at in 0..self.pending.len() {
            if self.pending[at].seq.is_none() {
                self.pending[at].again = None;
                let form = self.pending[at].form.clone();
                self.send(form);
            }
        }
        let id = format!("{}-offers", self.options.client);
        self.send(message::offers_form(&id));
        self.ask_usage();
    }

    /// Asks what the session used, when it may have changed.
    fn ask_usage(&mut self) {
        if let Some(session) = self.session.clone() {
            let id = format!("{}-usage", self.options.client);
            self.send(message::usage_form(&id, &session));
        }
    }

    fn open(&mut self, session: String, head: u64, cursor: u64) {
        let greeting = self.options.greeting.take();
        let about = greeting.map(|text| format!(" · {text}")).unwrap_or_default();
        self.say(&format!("── {session}{about} ──"), TextStyle::DIM);
        self.session = Some(session);
        self.heard = HeardNumbers::after(cursor);
        self.pending.clear();
        self.questions.clear();
        self.tail.take();
        self.lost_tail.take();
        self.spending = SessionSpending::default();
        self.titled = head > 0;
        let is_behind = head > cursor;
        self.backlog = is_behind.then(|| SessionBacklog { head, from: cursor, events: Vec::new() });
        self.since = self.now;
    }

    pub(super) fn lost(&mut self, reason: String) {
        self.link = LinkState::Connecting(Some(reason));
        if !self.tail.is_empty() {
            self.void_lost("the connection was lost");
            self.lost_tail = std::mem::take(&mut self.tail);
        }
        self.since = self.now;
    }

    pub(super) fn heard_frame(&mut self, frame: &str) {
        if self.log.len() >= MAX_LOG {
            self.log.pop_front();
        }
        let mut end = frame.len().min(2_000);
        while !frame.is_char_boundary(end) {
            end -= 1;
        }
        self.log.push_back(frame[..end].to_owned());
        match message::read(frame) {
            Some(DaemonNews::Event(head, body)) => self.event(&head, &body),
            Some(DaemonNews::Receipt { id, seq }) => self.admitted(&id, seq),
            Some(DaemonNews::Status { doing }) => {
                let is_over = doing == "idle" && self.doing != "idle";
                self.set_doing(&doing);
                if is_over {
                    self.ask_usage();
                }
            }
            Some(DaemonNews::Piece { thought, channel, offset, text }) => {
                self.piece(&thought, &channel, offset, &text);
            }
            Some(DaemonNews::Void) => self.void("withdrawn"),
            Some(DaemonNews::Reply { id, payload }) => self.replied(&id, &payload),
            Some(DaemonNews::Hello(state)) => self.set_doing(&state),
            Some(DaemonNews::Silence) | None => {}
        }
    }

    fn set_doing(&mut self, doing: &str) {
        if self.doing != doing {
            doing.clone_into(&mut self.doing);
            self.since = self.now;
            self.reasoning = 0;
        }
    }

    fn piece(&mut self, thought: &str, channel: &str, offset: Option<usize>, text: &str) {
        if channel == "notice" {
            self.say(&format!("🔔 {}", text.trim_end()), TextStyle::BOLD);
            self.effects.push(ChatEffect::Bell);
            return;
        }
        if channel != "text" {
            self.reasoning += text.len();
            return;
        }
        if self.tail.is_of_another(thought) {
            // Several rounds of a turn may stream; what they say stands in one answer.
            self.tail.push(thought, None, "\n");
        }
        self.tail.push(thought, offset, text);
    }

    fn event(&mut self, head: &EventHead, body: &EventBody) {
        if let Some(backlog) = &mut self.backlog
            && head.seq <= backlog.head
        {
            let is_last = head.seq == backlog.head;
            if self.heard.take(head.seq) {
                backlog.events.push((head.clone(), body.clone()));
                self.change(head, body);
            }
            if is_last {
                self.flush_backlog();
            }
            return;
        }
        self.flush_backlog();
        if let Some(answers) = head.answers {
            self.admit_answered(head, answers);
        }
        // A question that is open is asked again under the number that it had.
        let is_new = self.heard.take(head.seq);
        self.change(head, body);
        if !is_new || self.is_own_control(head) {
            return;
        }
        if let Some(own) = head.own.clone() {
            self.mark_admitted(&own, head.seq);
        }
        self.settle_tail(body);
        if matches!(body, EventBody::Question(_)) {
            // It stands in the live area; the transcript has it with its end.
            return;
        }
        let lines = transcript::event_lines(head, body, self.size.columns, EventAge::New);
        self.print(lines);
    }

    /// Whether an event is about an interrupt of this shell, which shows by what it stops.
    fn is_own_control(&self, head: &EventHead) -> bool {
        let prefix = format!("{}-i", self.options.client);
        [&head.own, &head.id].into_iter().flatten().any(|id| id.starts_with(&prefix))
    }

    /// Changes of the state that an event makes, apart from what it prints.
    fn change(&mut self, head: &EventHead, body: &EventBody) {
        let is_it = |it: &PendingPrompt| {
            Some(&it.id) == head.id.as_ref() || (it.seq.is_some() && it.seq == head.answers)
        };
        match body {
            EventBody::Answer(answer) => {
                self.pending.retain(|it| !is_it(it));
                if let AnswerBody::Text(text) = answer {
                    text.clone_into(&mut self.last_answer);
                }
            }
            EventBody::Question(question) => {
                let mut known = self.questions.iter_mut();
                match known.find(|it| it.question.approval == question.approval) {
                    Some(open) => open.answered = false,
                    None => self.questions.push(OpenQuestion {
                        question: question.clone(),
                        since: self.now,
                        answered: false,
                        printed: self.backlog.is_some(),
                    }),
                }
            }
            EventBody::Answered { approval, counted: true, .. } => self.close_question(approval),
            EventBody::Outcome { effect, .. } => self.close_question(effect),
            EventBody::Request(id) => self.send(message::decline_form(id)),
            _ => {}
        }
    }

    fn close_question(&mut self, approval: &str) {
        let at = self.questions.iter().position(|it| it.question.approval == approval);
        let Some(closed) = at.map(|at| self.questions.remove(at)) else { return };
        if !closed.printed {
            self.print(transcript::question_lines(&closed.question));
        }
        let offered = self.pager.as_ref().and_then(|pager| pager.grant.as_ref());
        if offered.is_some_and(|offer| offer.approval == approval) {
            self.pager = None;
            self.note("answered elsewhere");
        }
    }

    fn admit_answered(&mut self, head: &EventHead, answers: u64) {
        let waits = |it: &&PendingPrompt| Some(&it.id) == head.id.as_ref() && it.seq.is_none();
        if let Some(id) = self.pending.iter().find(waits).map(|it| it.id.clone()) {
            self.admitted(&id, answers);
        }
    }

    /// A message of this shell is on disk: now it is shown as part of the session.
    fn admitted(&mut self, id: &str, seq: u64) {
        if !id.starts_with(&self.options.client) {
            return;
        }
        let is_new = self.heard.take(seq);
        if let Some(text) = self.mark_admitted(id, seq)
            && is_new
        {
            self.print(transcript::prompt_lines(&text, None));
        }
    }

    fn mark_admitted(&mut self, id: &str, seq: u64) -> Option<String> {
        let pending = self.pending.iter_mut().find(|it| it.id == id)?;
        pending.seq = Some(seq);
        pending.again = None;
        Some(pending.text.clone())
    }

    /// An answer without a number: a refusal, or the list of skills.
    fn replied(&mut self, id: &str, payload: &Value) {
        if id.ends_with("-offers") {
            self.skills = commands_of(payload);
            self.models = models_of(payload);
            return;
        }
        if id.ends_with("-usage") {
            return self.spending = spending_of(payload);
        }
        if is_heading_answer(payload) {
            self.headings = headings_of(payload);
            if self.menu.is_some() || self.input.word_before().starts_with('@') {
                self.complete();
            }
            return;
        }
        if !payload.get("status").is_some_and(|it| it.is_keyword("error")) {
            return;
        }
        let text = |key| payload.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let code = payload.get("code").and_then(Value::as_keyword).unwrap_or("error").to_owned();
        let again = self.now + AGAIN_MS;
        let Some(at) = self.pending.iter().position(|it| it.id == id) else {
            // A verdict that came too late, for one.
            let is_ours = self.questions.iter().any(|it| it.question.approval == id);
            if is_ours {
                let line = format!("✗ {id}: {}", text("message"));
                self.say(&line, TextStyle::colored(AnsiColor::Red));
                self.questions.iter_mut().for_each(|it| it.answered &= it.question.approval != id);
            }
            return;
        };
        if FOR_NOW.contains(&code.as_str()) {
            self.pending[at].again = Some(again);
            return self.note(&format!("{code}: sent again in a moment"));
        }
        let refused = self.pending.remove(at);
        self.print(transcript::void_lines(&refused.text, "the daemon did not take this prompt"));
        let error = AnswerBody::Error { code, message: text("message"), retryable: false };
        let lines = transcript::event_lines(
            &EventHead::default(),
            &EventBody::Answer(error),
            self.size.columns,
            EventAge::New,
        );
        self.print(lines);
        if self.input.is_empty() {
            self.input.set(&refused.text);
        }
    }

    /// Drops streamed text that the event holds; marks what it gives up.
    fn settle_tail(&mut self, body: &EventBody) {
        match body {
            EventBody::Answer(AnswerBody::Text(text)) => {
                if self.lost_tail.is_in(text) {
                    self.lost_tail.take();
                }
                if self.tail.is_in(text) {
                    self.tail.take();
                }
            }
            EventBody::Answer(AnswerBody::Error { code, message, .. }) => {
                let ends = ["cancelled", "engine-failed", "expired", "refused", "internal"];
                if ends.contains(&code.as_str()) {
                    self.void(&format!("{code}: {message}"));
                }
            }
            _ => {}
        }
    }

    fn void(&mut self, why: &str) {
        self.void_lost(why);
        let text = self.tail.take();
        if !text.trim().is_empty() {
            self.print(transcript::void_lines(&text, why));
        }
    }

    fn void_lost(&mut self, why: &str) {
        let text = self.lost_tail.take();
        if !text.trim().is_empty() {
            self.print(transcript::void_lines(&text, why));
        }
    }

    /// Work that is due after any event: withdrawn text, prompts that wait.
    pub(super) fn settle(&mut self) {
        let idle = self.link == LinkState::Attached
            && matches!(self.doing.as_str(), "" | "idle")
            && self.backlog.is_none();
        let quiet = self.now.saturating_sub(self.since);
        if idle && !self.tail.is_empty() && quiet > SETTLE_MS {
            let text = self.tail.take();
            self.print(transcript::void_lines(&text, "withdrawn"));
        }
        if idle && self.pending.is_empty() && quiet > LOST_SETTLE_MS {
            self.void_lost("the connection was lost");
        }
        if self.link == LinkState::Attached
            && !self.is_busy()
            && let Some(text) = self.queue.pop_front()
        {
            self.send_prompt(text);
        }
    }

    pub(super) fn tick(&mut self) {
        if self.notice.as_ref().is_some_and(|(_, until)| *until <= self.now) {
            self.notice = None;
        }
        if self.leaving.is_some_and(|until| until <= self.now) {
            self.leaving = None;
        }
        if self.backlog.is_some() && self.now.saturating_sub(self.since) > BACKLOG_MS {
            self.flush_backlog();
        }
        if self.link != LinkState::Attached {
            return;
        }
        for at in 0..self.pending.len() {
            if self.pending[at].again.is_some_and(|again| again <= self.now) {
                self.pending[at].again = None;
                let form = self.pending[at].form.clone();
                self.send(form);
            }
        }
    }

    /// Prints the end of what happened before the session was opened.
    fn flush_backlog(&mut self) {
        let Some(SessionBacklog { from, events, .. }) = self.backlog.take() else { return };
        let room = OPENING_LINES.max(self.size.rows * 3);
        let mut pages: Vec<Vec<StyledLine>> = Vec::new();
        let mut count = 0;
        let mut is_cut = from > 0;
        for (head, body) in events.iter().rev() {
            if count >= room {
                is_cut = true;
                break;
            }
            let mut lines = transcript::event_lines(head, body, self.size.columns, EventAge::Old);
            if count + lines.len() > room {
                is_cut = true;
                lines.drain(..count + lines.len() - room);
            }
            count += lines.len();
            pages.push(lines);
        }
        if is_cut {
            let session = self.session.as_deref().unwrap_or_default();
            let all = format!("⋮ earlier: bridle tail --session {session}");
            self.say(&all, TextStyle::DIM);
        }
        self.print(pages.into_iter().rev().flatten().collect());
    }

    pub(super) fn send_prompt(&mut self, prompt: QueuedPrompt) {
        let id = self.new_id('p');
        let QueuedPrompt { mut text, images } = prompt;
        let files: Vec<String> = text
            .split_whitespace()
            .filter_map(|word| word.strip_prefix('@'))
            .filter(|path| self.files.iter().any(|known| known == path))
            .map(str::to_owned)
            .collect();
        let parts = PromptParts {
            text: &text,
            files,
            folder: self.options.folder.as_deref(),
            model: self.chosen_model.as_deref(),
            images: &images,
        };
        let form = message::prompt_form(&id, &parts);
        if !std::mem::replace(&mut self.titled, true)
            && let Some(session) = self.session.clone()
        {
            self.effects.push(ChatEffect::Title(session, title_of(&text)));
        }
        if self.link == LinkState::Attached {
            self.send(form.clone());
        }
        for image in &images {
            text.push_str(&format!("\n▣ {}", image.name));
        }
        self.pending.push(PendingPrompt { id, text, form, seq: None, again: None });
    }
}

/// First line of a prompt, cut.
fn title_of(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}

/// Commands of skills, with what they are for.
fn commands_of(payload: &Value) -> Vec<(String, String)> {
    let commands = payload.get("commands").and_then(Value::elements).unwrap_or_default();
    let named = commands.iter().filter_map(|command| {
        let text = |key| command.get(key).and_then(Value::as_str);
        let name = text("name")?;
        let is_plain = name.chars().all(|it| it.is_alphanumeric() || "-_.".contains(it));
        is_plain.then(|| (format!("/{name}"), text("about").unwrap_or("a skill").to_owned()))
    });
    named.take(MAX_OFFERS).collect()
}

fn models_of(payload: &Value) -> Vec<ModelOffer> {
    let models = payload.get("models").and_then(Value::elements).unwrap_or_default();
    let offer = |model: &Value| {
        Some(ModelOffer {
            name: model.get("model")?.as_str()?.to_owned(),
            takes_images: model.get("images").is_some_and(|it| !it.is_nil()),
        })
    };
    models.iter().filter_map(offer).take(MAX_OFFERS).collect()
}

fn spending_of(payload: &Value) -> SessionSpending {
    let number = |key| payload.get(key).and_then(Value::as_i64);
    let full = number("context").zip(number("context-length").filter(|size| *size > 0));
    SessionSpending {
        model: payload.get("model").and_then(Value::as_str).map(str::to_owned),
        cost: number("cost-microdollars").unwrap_or_default(),
        unpriced: number("unpriced").unwrap_or_default(),
        context: full.map(|(used, size)| used.saturating_mul(100) / size),
    }
}

/// Whether an answer is about headings, and not a refusal.
fn is_heading_answer(payload: &Value) -> bool {
    payload.get("action").is_some_and(|it| it.is_keyword("query"))
}

fn headings_of(payload: &Value) -> Vec<HeadingPlace> {
    let objects = payload.get("objects").and_then(Value::elements).unwrap_or_default();
    let place = |object: &Value| {
        let text = |key| object.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(HeadingPlace { title: text("title")?, path: text("path")? })
    };
    objects.iter().filter_map(place).collect()
}
