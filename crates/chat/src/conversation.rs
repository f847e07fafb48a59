//! A conversation: events in, lines and screen out. No clock, no terminal, no socket; the caller
//! says what happened and when, and does what is asked for.
//!
//! - `news`: messages of the daemon, the connection
//! - `keys`: keys and pastes, commands of this program
//! - `attach`: pictures and the model of a prompt
//! - `history`: earlier prompts
//! - `view`: the live area, the pager

mod attach;
mod history;
mod keys;
mod news;
mod view;

pub use view::age_words;

use std::collections::VecDeque;

use crate::complete::{CompletionMenu, HeadingPlace};
use crate::event::{ChatEffect, ChatEvent, GrantOffer, SessionEntry};
use crate::heard::HeardNumbers;
use crate::image::PromptImage;
use crate::input_line::InputLine;
use crate::message::{ApprovalQuestion, EventBody, EventHead};
use crate::painter::TerminalSize;
use crate::stream_tail::StreamTail;
use crate::style::{StyledLine, TextStyle};

/// Messages of the connection that `/log` shows.
const MAX_LOG: usize = 500;

/// Time that a short notice stays, in milliseconds.
const NOTICE_TIME_MS: u64 = 4_000;

/// Facts that a conversation begins with.
#[derive(Debug, Clone)]
pub struct ChatOptions {
    /// Size of the terminal.
    pub size: TerminalSize,
    /// Name of this client: nobody else has it.
    pub client: String,
    /// Folder where it was started; told with each prompt.
    pub folder: Option<String>,
    /// Earlier prompts, the oldest first.
    pub history: Vec<String>,
    /// Sentence about the session that is opened first.
    pub greeting: Option<String>,
}

/// Prompt that was sent and has no answer yet.
#[derive(Debug)]
struct PendingPrompt {
    id: String,
    text: String,
    form: String,
    /// Number, once it is on disk.
    seq: Option<u64>,
    /// Moment to send it again, when it was refused for now.
    again: Option<u64>,
}

/// Prompt that waits for the end of a turn.
#[derive(Debug)]
struct QueuedPrompt {
    text: String,
    images: Vec<PromptImage>,
}

/// Question that is open, and the moment since when it is shown.
#[derive(Debug)]
struct OpenQuestion {
    question: ApprovalQuestion,
    since: u64,
    /// Whether an answer of this shell is under way.
    answered: bool,
    /// Whether the transcript has it: a new one is printed when it ends.
    printed: bool,
}

/// State of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LinkState {
    Connecting(Option<String>),
    Attached,
    Refused(String),
}

/// Events that happened before the session was opened, until the last of them is here.
#[derive(Debug)]
struct SessionBacklog {
    head: u64,
    /// Number before the first of them.
    from: u64,
    events: Vec<(EventHead, EventBody)>,
}

/// Lines on a screen of their own.
#[derive(Debug)]
struct PagerView {
    title: String,
    lines: Vec<StyledLine>,
    top: usize,
    /// Lasting grant that is offered here.
    grant: Option<GrantOffer>,
}

/// Sessions to choose from.
#[derive(Debug)]
struct SessionPicker {
    entries: Vec<SessionEntry>,
    chosen: usize,
}

/// Search in the history, as Ctrl-R does.
#[derive(Debug)]
struct HistorySearch {
    wanted: String,
    /// Entry that is shown; `None` when nothing fits.
    at: Option<usize>,
}

/// Model that may be named.
#[derive(Debug)]
struct ModelOffer {
    name: String,
    takes_images: bool,
}

/// Tokens and money of the session, as the daemon tells them.
#[derive(Debug, Default)]
struct SessionSpending {
    model: Option<String>,
    /// Cost in millionths of a dollar.
    cost: i64,
    /// Thoughts whose price nobody knows.
    unpriced: i64,
    /// Part of the model's context that is full, in percent.
    context: Option<i64>,
}

/// The state of everything that is shown.
#[derive(Debug)]
pub struct Conversation {
    options: ChatOptions,
    size: TerminalSize,
    now: u64,
    session: Option<String>,
    link: LinkState,
    heard: HeardNumbers,
    backlog: Option<SessionBacklog>,
    doing: String,
    /// Since when the engine does that.
    since: u64,
    spending: SessionSpending,
    models: Vec<ModelOffer>,
    /// Model that further prompts name.
    chosen_model: Option<String>,
    input: InputLine,
    images: Vec<PromptImage>,
    search: Option<HistorySearch>,
    menu: Option<CompletionMenu>,
    history_at: Option<usize>,
    draft: String,
    sent: u64,
    pending: Vec<PendingPrompt>,
    queue: VecDeque<QueuedPrompt>,
    tail: StreamTail,
    /// Streamed text whose connection was lost.
    lost_tail: StreamTail,
    reasoning: usize,
    questions: Vec<OpenQuestion>,
    last_key: u64,
    /// Lasting grant that came when something else was being done.
    offered: Option<GrantOffer>,
    last_answer: String,
    pager: Option<PagerView>,
    picker: Option<SessionPicker>,
    notice: Option<(String, u64)>,
    leaving: Option<u64>,
    log: VecDeque<String>,
    files: Vec<String>,
    files_asked: bool,
    headings: Vec<HeadingPlace>,
    /// Word that they were asked for.
    headings_asked: String,
    skills: Vec<(String, String)>,
    titled: bool,
    effects: Vec<ChatEffect>,
}

impl Conversation {
    /// A conversation that is not connected yet.
    pub fn new(options: ChatOptions) -> Conversation {
        Conversation {
            size: options.size,
            options,
            now: 0,
            session: None,
            link: LinkState::Connecting(None),
            heard: HeardNumbers::default(),
            backlog: None,
            doing: String::new(),
            since: 0,
            spending: SessionSpending::default(),
            models: Vec::new(),
            chosen_model: None,
            input: InputLine::default(),
            images: Vec::new(),
            search: None,
            menu: None,
            history_at: None,
            draft: String::new(),
            sent: 0,
            pending: Vec::new(),
            queue: VecDeque::new(),
            tail: StreamTail::default(),
            lost_tail: StreamTail::default(),
            reasoning: 0,
            questions: Vec::new(),
            last_key: 0,
            offered: None,
            last_answer: String::new(),
            pager: None,
            picker: None,
            notice: None,
            leaving: None,
            log: VecDeque::new(),
            files: Vec::new(),
            files_asked: false,
            headings: Vec::new(),
            headings_asked: String::new(),
            skills: Vec::new(),
            titled: false,
            effects: Vec::new(),
        }
    }

    /// Takes an event that happened at a moment, in milliseconds of any clock that only goes on.
    pub fn take(&mut self, event: ChatEvent, now: u64) -> Vec<ChatEffect> {
        self.now = now;
        match event {
            ChatEvent::Key(key) => self.press(key),
            ChatEvent::Paste(text) => self.paste(&text),
            ChatEvent::Resize(columns, rows) => {
                self.size = TerminalSize { columns: columns.max(1), rows: rows.max(1) };
            }
            ChatEvent::Attached { session, head, cursor, state } => {
                self.attached(session, head, cursor, &state);
            }
            ChatEvent::Frame(frame) => self.heard_frame(&frame),
            ChatEvent::Lost(reason) => self.lost(reason),
            ChatEvent::Refused(reason) => self.link = LinkState::Refused(reason),
            ChatEvent::Files(files) => {
                self.files = files;
                self.complete();
            }
            ChatEvent::Sessions(entries) => self.pick_from(entries),
            ChatEvent::Image(found) => self.take_image(found),
            ChatEvent::Page(Ok((title, lines))) => self.open_pager(title, &lines, None),
            ChatEvent::Page(Err(reason)) => self.note(&reason),
            ChatEvent::Grant(preview) => self.show_grant(preview),
            ChatEvent::Granted(result) => self.granted(result),
            ChatEvent::Tick => self.tick(),
        }
        self.settle();
        std::mem::take(&mut self.effects)
    }

    /// Number to attach behind when the connection is made again.
    pub fn cursor(&self) -> u64 {
        self.heard.cursor()
    }

    /// Milliseconds after which something changes by itself; `None` while nothing does.
    pub fn next_change(&self) -> Option<u64> {
        let is_busy = !matches!(self.doing.as_str(), "" | "idle");
        let waits = self.pending.iter().any(|it| it.again.is_some());
        let is_settling = !self.tail.is_empty() || !self.lost_tail.is_empty();
        match () {
            () if waits || is_settling || self.backlog.is_some() => Some(100),
            () if is_busy || self.notice.is_some() || self.leaving.is_some() => Some(500),
            () => None,
        }
    }

    fn print(&mut self, lines: Vec<StyledLine>) {
        if !lines.is_empty() {
            self.effects.push(ChatEffect::Print(lines));
        }
    }

    fn say(&mut self, text: &str, style: TextStyle) {
        self.print(vec![StyledLine::of(text, style)]);
    }

    fn note(&mut self, text: &str) {
        self.notice = Some((text.to_owned(), self.now + NOTICE_TIME_MS));
    }

    fn send(&mut self, form: String) {
        self.effects.push(ChatEffect::Send(form));
    }

    fn new_id(&mut self, kind: char) -> String {
        self.sent += 1;
        format!("{}-{kind}{}", self.options.client, self.sent)
    }

    /// Whether a turn runs, or a prompt of this shell waits for one.
    fn is_busy(&self) -> bool {
        !self.pending.is_empty() || !matches!(self.doing.as_str(), "" | "idle")
    }
}

#[cfg(test)]
mod tests;
