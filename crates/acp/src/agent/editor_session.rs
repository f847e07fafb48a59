//! State of one session that an editor has open. Everything in it can be made again from the daemon's record, save
//! what the editor has asked and not been answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bridle_sexp::Value;
use bridle_shell::client::DaemonWriter;

use super::editor_terminal::TerminalRun;
use super::permission::HeldQuestion;
use super::session_choices::SessionChoices;
use crate::daemon_event::GuardQuestion;
use crate::json_rpc::RequestId;
use crate::render::answer_text::AnswerText;
use crate::session_link::LinkState;

/// Effects that are remembered as shown; the oldest are told anew.
const MAX_SHOWN_CALLS: usize = 4_096;

/// Questions that are remembered until their acts begin.
const MAX_ASKED_ACTS: usize = 256;

/// Longest wait for a session to open, and between two events of its replay.
pub(super) const OPENING_TIMEOUT: Duration = Duration::from_secs(15);

/// Name of a session's connection within this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LinkId(pub(super) u64);

/// Session that an editor has open, or is about to open.
pub(super) struct EditorSession {
    /// State that the connection's thread looks at, too.
    pub(super) link: Arc<LinkState>,
    /// Way to the daemon; `None` between two connections.
    pub(super) writer: Option<DaemonWriter>,
    /// Name of the session; `None` before a new one has it.
    pub(super) name: Option<String>,
    /// Folder that it is about.
    pub(super) folder: String,
    /// The request that opens it; `None` once it is open.
    pub(super) opening: Option<Opening>,
    /// Number of the last event that was handled.
    pub(super) seen: u64,
    /// Status word that the engine last sent.
    pub(super) status: String,
    /// Text of the answer under way.
    pub(super) answer: AnswerText,
    /// Reasoning under way.
    pub(super) thought: AnswerText,
    /// Prompts without an answer, the first at the daemon.
    pub(super) prompts: VecDeque<PendingPrompt>,
    /// Prompts of others and of the past that the editor shows, by number.
    pub(super) shown_prompts: BTreeSet<u64>,
    /// Effects that the editor shows.
    pub(super) shown_calls: VecDeque<String>,
    /// Questions, and what was asked for: the act that follows from a yes is shown under the question's name.
    asked: VecDeque<AskedAct>,
    /// Acts that are shown under the names of their questions.
    aliases: VecDeque<(String, String)>,
    /// Questions that the editor shows: the request, and the question.
    pub(super) questions: BTreeMap<String, OpenQuestion>,
    /// Verdicts of the user that the daemon has not confirmed.
    pub(super) verdicts: BTreeMap<String, UserVerdict>,
    /// Requests of the engine that were carried out.
    pub(super) served: VecDeque<String>,
    /// Files that the daemon holds for modified, with the beginning of what the editor has.
    pub(super) unsaved: BTreeMap<String, String>,
    /// Reports about buffers that go out before the next prompt.
    pub(super) reports: VecDeque<String>,
    /// Whether an interrupt is due on the next connection.
    pub(super) is_interrupt_due: bool,
    /// Commands that the editor runs, or ran.
    pub(super) runs: VecDeque<TerminalRun>,
    /// Choices of the user.
    pub(super) choices: SessionChoices,
    /// Questions that wait for the editor's buffers.
    pub(super) held: Vec<HeldQuestion>,
}

/// Request that opens a session.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Opening {
    /// Request of the editor.
    pub(super) request: RequestId,
    pub(super) kind: OpeningKind,
    /// The last event that is replayed; `None` before there is a connection.
    pub(super) until: Option<u64>,
    pub(super) deadline: Instant,
    /// Last trouble on the way.
    pub(super) trouble: Option<String>,
    /// MCP servers that the editor wants to be used.
    pub(super) mcp_servers: Vec<String>,
    /// Questions that came during the replay.
    pub(super) questions: Vec<GuardQuestion>,
}

/// Way of opening a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpeningKind {
    New,
    Load,
    Resume,
}

/// Question of the guard that the editor shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenQuestion {
    /// The request; `None` when the editor could not ask, and somebody else may.
    pub(super) request: Option<i64>,
    pub(super) question: GuardQuestion,
}

/// Act that somebody was asked about.
#[derive(Debug, Clone, PartialEq)]
struct AskedAct {
    approval: String,
    target: String,
    wanted: Value,
    is_allowed: bool,
}

/// Verdict of the user that the daemon has not confirmed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UserVerdict {
    /// The message, to be said again.
    pub(super) form: String,
    /// The question, where the verdict is a grant: it is asked again without one if it is refused.
    pub(super) granted: Option<GuardQuestion>,
}

/// Prompt of the editor without an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PendingPrompt {
    /// Request of the editor.
    pub(super) request: RequestId,
    /// Id at the daemon.
    pub(super) id: String,
    /// The message.
    pub(super) form: String,
    pub(super) state: PromptState,
    pub(super) is_cancelled: bool,
    /// Whether a lost connection may have lost it, so that it goes out again.
    pub(super) is_said_again: bool,
}

/// Way of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PromptState {
    /// The editor is asked for buffers.
    ReadingBuffers {
        /// Requests without an answer.
        waiting: BTreeSet<i64>,
        /// The prompt goes without them after this moment.
        deadline: Instant,
    },
    /// Goes next, not before a moment.
    Queued(Option<Instant>),
    /// Was sent; nobody knows whether it arrived.
    Sent,
    /// Is on disk.
    Admitted,
}

impl EditorSession {
    pub(super) fn new(
        name: Option<String>,
        folder: String,
        opening: Opening,
        link: Arc<LinkState>,
    ) -> EditorSession {
        EditorSession {
            link,
            writer: None,
            name,
            folder,
            opening: Some(opening),
            seen: 0,
            status: String::new(),
            answer: AnswerText::default(),
            thought: AnswerText::default(),
            prompts: VecDeque::new(),
            shown_prompts: BTreeSet::new(),
            shown_calls: VecDeque::new(),
            asked: VecDeque::new(),
            aliases: VecDeque::new(),
            questions: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            served: VecDeque::new(),
            unsaved: BTreeMap::new(),
            reports: VecDeque::new(),
            is_interrupt_due: false,
            runs: VecDeque::new(),
            choices: SessionChoices::default(),
            held: Vec::new(),
        }
    }

    /// The next moment at which something is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let opening = self.opening.as_ref().map(|it| it.deadline);
        let prompt = self.prompts.front().and_then(|prompt| match &prompt.state {
            PromptState::ReadingBuffers { deadline, .. } => Some(*deadline),
            PromptState::Queued(at) => at.filter(|_| self.writer.is_some()),
            PromptState::Sent | PromptState::Admitted => None,
        });
        let held = self.held.iter().map(|it| it.deadline);
        opening.into_iter().chain(prompt).chain(held).min()
    }

    /// Says something to the daemon; without a connection it is lost, and said again where that matters.
    pub(super) fn say(&mut self, form: &str) {
        if let Some(writer) = &mut self.writer
            && writer.send(form).is_err()
        {
            writer.close();
            self.writer = None;
        }
    }

    /// Remembers that the editor shows an effect; returns whether it did already.
    pub(super) fn shows_call(&mut self, effect: &str) -> bool {
        if self.shown_calls.iter().any(|it| it == effect) {
            return true;
        }
        if self.shown_calls.len() == MAX_SHOWN_CALLS {
            self.shown_calls.pop_front();
        }
        self.shown_calls.push_back(effect.to_owned());
        false
    }

    /// Remembers what a question is about.
    pub(super) fn remember_asked(&mut self, question: &GuardQuestion) {
        if self.asked.iter().any(|it| it.approval == question.approval) {
            return;
        }
        if self.asked.len() == MAX_ASKED_ACTS {
            self.asked.pop_front();
        }
        self.asked.push_back(AskedAct {
            approval: question.approval.clone(),
            target: question.target.clone(),
            wanted: question.wanted.clone(),
            is_allowed: false,
        });
    }

    /// Notes the answer to a question; only after a yes an act follows.
    pub(super) fn note_answer(&mut self, approval: &str, is_yes: bool) {
        self.asked.retain_mut(|it| {
            let is_it = it.approval == approval;
            it.is_allowed |= is_it;
            !is_it || is_yes
        });
    }

    /// Returns the name under which the editor shows an act that begins.
    pub(super) fn act_begins(&mut self, effect: &str, target: &str, request: &Value) -> String {
        let is_it = |it: &AskedAct| it.is_allowed && it.target == target && it.wanted == *request;
        let Some(asked) = self.asked.iter().position(is_it).and_then(|at| self.asked.remove(at))
        else {
            return self.call_name(effect);
        };
        if self.aliases.len() == MAX_SHOWN_CALLS {
            self.aliases.pop_front();
        }
        self.aliases.push_back((effect.to_owned(), asked.approval.clone()));
        asked.approval
    }

    /// Returns the name under which the editor shows an effect.
    pub(super) fn call_name(&self, effect: &str) -> String {
        let alias = self.aliases.iter().rev().find(|(name, _)| name == effect);
        alias.map_or(effect, |(_, approval)| approval).to_owned()
    }

    /// Tells the connection's thread up to where events were handled, and whether anybody waits.
    pub(super) fn publish(&self) {
        self.link.seen.store(self.seen, Ordering::SeqCst);
        let is_wanted = !self.prompts.is_empty() || self.opening.is_some();
        self.link.is_wanted.store(is_wanted, Ordering::SeqCst);
    }
}

impl Drop for EditorSession {
    fn drop(&mut self) {
        self.link.is_closed.store(true, Ordering::SeqCst);
        if let Some(writer) = &self.writer {
            writer.close();
        }
    }
}
