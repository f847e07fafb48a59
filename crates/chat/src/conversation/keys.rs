//! Keys and pastes, and the commands that this program carries out itself.

use super::{Conversation, LinkState, PagerView, QueuedPrompt, SessionPicker};
use crate::complete::{self, CompletionMenu};
use crate::event::{ChatEffect, ChatKey, GrantOffer, SessionEntry};
use crate::input_line::CursorMove;
use crate::message;
use crate::style::{StyledLine, TextStyle, lines_of};
use crate::transcript;

/// Time that a question must be on the screen, and the keyboard quiet, before a key answers it: a
/// letter of a word that is being typed must not be a yes. In milliseconds.
const ANSWER_GUARD_MS: u64 = 600;

/// Time in which a second Ctrl-C leaves, in milliseconds.
const LEAVE_MS: u64 = 2_000;

/// Letters behind an `@` after which the memory is asked for headings.
const MIN_HEADING_LETTERS: usize = 2;

/// The keys, as `/keys` shows them.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; while a turn runs, queue"),
    ("Alt-Enter, Ctrl-J", "new line"),
    ("Esc", "stop the turn that runs; close a menu"),
    ("Ctrl-C", "stop the turn, or clear the input; twice: leave"),
    ("Ctrl-D", "leave, when the input is empty"),
    ("Tab", "complete a /command, an @file or an @heading of the memory"),
    ("Up, Down", "earlier prompts; lines of the input; takes the last queued prompt back"),
    ("Ctrl-R", "search the earlier prompts"),
    ("Ctrl-V", "attach the picture of the clipboard; a picture that is dropped is attached, too"),
    ("Ctrl-A Ctrl-E Ctrl-B Ctrl-F", "beginning, end, left, right"),
    ("Alt-B Alt-F Alt-D", "word left, word right, delete the word"),
    (
        "Ctrl-K Ctrl-U Ctrl-W Ctrl-Y Ctrl-T",
        "kill to the end, to the beginning, a word; yank; transpose",
    ),
    ("Alt-N, Alt-S", "a new session; pick another one"),
    ("Ctrl-L, Ctrl-Z", "paint the screen anew; back to the shell until fg"),
    ("Ctrl-O", "the open question in full"),
    ("a A d ?", "an open question: allow, allow for longer, deny, details"),
];

impl Conversation {
    pub(super) fn press(&mut self, key: ChatKey) {
        let quiet_since = std::mem::replace(&mut self.last_key, self.now);
        if !matches!(key, ChatKey::Ctrl('c')) {
            self.leaving = None;
        }
        if self.pager.is_some() {
            // Whoever leafs through a page is not typing a word.
            self.last_key = quiet_since;
            self.press_in_pager(key);
        } else if self.picker.is_some() {
            self.press_in_picker(key);
        } else if self.search.is_some() && self.press_in_search(key) {
            // The search has it.
        } else if !self.answer_by_key(key, quiet_since) && !self.press_in_menu(key) {
            self.edit(key);
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.last_key = self.now;
        self.menu = None;
        if self.pager.is_some() || self.picker.is_some() || self.drop_image(text) {
            return;
        }
        if !self.input.paste(text) {
            self.note("the paste was cut: a prompt has at most 1 MiB");
        }
    }

    /// Answers the first open question; `false` if the key is for something else.
    fn answer_by_key(&mut self, key: ChatKey, quiet_since: u64) -> bool {
        let Some(open) = self.questions.iter().find(|it| !it.answered) else { return false };
        let quiet = self.now.saturating_sub(open.since.max(quiet_since));
        if !self.input.is_empty() || quiet < ANSWER_GUARD_MS || self.link != LinkState::Attached {
            return false;
        }
        let approval = open.question.approval.clone();
        match key {
            ChatKey::Letter('a') => self.answer(&approval, "allow"),
            ChatKey::Letter('d') => self.answer(&approval, "deny"),
            ChatKey::Letter('A') => {
                match self.offered.take().filter(|it| it.approval == approval) {
                    Some(offer) => self.open_offer(offer),
                    None => {
                        self.note("looking what a lasting yes would allow");
                        self.effects.push(ChatEffect::PreviewGrant(approval));
                    }
                }
            }
            ChatKey::Letter('?') => self.show_details(),
            _ => return false,
        }
        true
    }

    fn answer(&mut self, approval: &str, verdict: &str) {
        let is_it = |it: &&mut super::OpenQuestion| it.question.approval == approval;
        let Some(open) = self.questions.iter_mut().find(is_it) else { return };
        open.answered = true;
        let form = message::verdict_form(&open.question, verdict);
        self.send(form);
    }

    fn show_details(&mut self) {
        let Some(open) = self.questions.first() else { return self.note("no question is open") };
        let question = &open.question;
        let mut lines = vec![StyledLine::of(&question.question, TextStyle::BOLD)];
        lines.push(StyledLine::of(&format!("risk: {}", question.risk), TextStyle::PLAIN));
        if let Some(hash) = &question.hash {
            lines.push(StyledLine::of(&format!("hash: {hash}"), TextStyle::DIM));
        }
        lines.push(StyledLine::empty());
        lines.extend(lines_of(&question.wanted, TextStyle::PLAIN));
        if !question.diff.is_empty() {
            lines.push(StyledLine::empty());
            lines.extend(transcript::diff_lines(&question.diff));
        }
        let title = question.approval.clone();
        self.open_pager(title, &lines, None);
    }

    pub(super) fn open_pager(
        &mut self,
        title: String,
        lines: &[StyledLine],
        grant: Option<GrantOffer>,
    ) {
        let columns = self.size.columns;
        let lines = lines.iter().flat_map(|line| line.broken(columns)).collect();
        self.pager = Some(PagerView { title, lines, top: 0, grant });
    }

    fn press_in_pager(&mut self, key: ChatKey) {
        let page = self.size.rows.saturating_sub(2).max(1);
        let Some(pager) = &mut self.pager else { return };
        let last = pager.lines.len().saturating_sub(page);
        match key {
            ChatKey::Letter(digit @ '1'..='9') if pager.grant.is_some() => self.grant(digit),
            ChatKey::Letter('q' | 'n') | ChatKey::Escape | ChatKey::Ctrl('c') => self.pager = None,
            ChatKey::Down | ChatKey::Letter('j') | ChatKey::Enter => {
                pager.top = (pager.top + 1).min(last);
            }
            ChatKey::Up | ChatKey::Letter('k') => pager.top = pager.top.saturating_sub(1),
            ChatKey::PageDown | ChatKey::Letter(' ') => pager.top = (pager.top + page).min(last),
            ChatKey::PageUp | ChatKey::Letter('b') => pager.top = pager.top.saturating_sub(page),
            ChatKey::Home | ChatKey::Letter('g') => pager.top = 0,
            ChatKey::End | ChatKey::Letter('G') => pager.top = last,
            _ => {}
        }
    }

    /// Makes the lasting grant of the scope that has this digit.
    fn grant(&mut self, digit: char) {
        let Some(offer) = self.pager.as_ref().and_then(|pager| pager.grant.as_ref()) else {
            return;
        };
        let at = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
        let Some(chosen) = at.and_then(|at| offer.scopes.get(at)) else { return };
        self.effects.push(ChatEffect::WriteGrant {
            approval: offer.approval.clone(),
            scope: chosen.scope.clone(),
            hash: offer.hash.clone(),
        });
        self.pager = None;
    }

    pub(super) fn show_grant(&mut self, preview: Result<GrantOffer, String>) {
        let offer = match preview {
            Ok(offer) => offer,
            Err(reason) => return self.note(&reason),
        };
        let is_open = |it: &super::OpenQuestion| it.question.approval == offer.approval;
        if !self.questions.iter().any(is_open) {
            return self.note("answered elsewhere");
        }
        if self.input.is_empty() && self.pager.is_none() && self.picker.is_none() {
            return self.open_offer(offer);
        }
        // Whoever does something else meanwhile is not interrupted.
        self.offered = Some(offer);
        self.note("A shows what a lasting yes would allow");
    }

    fn open_offer(&mut self, offer: GrantOffer) {
        let lines = transcript::offer_lines(&offer);
        let title = format!("{}: allow it from now on?", offer.approval);
        self.open_pager(title, &lines, Some(offer));
    }

    pub(super) fn granted(&mut self, result: Result<String, String>) {
        match result {
            Ok(text) => self.say(&format!("✓ {text}"), TextStyle::DIM),
            Err(reason) => self.note(&reason),
        }
    }

    pub(super) fn pick_from(&mut self, entries: Vec<SessionEntry>) {
        match entries.is_empty() {
            true => self.note("there is no other session"),
            false => self.picker = Some(SessionPicker { entries, chosen: 0 }),
        }
    }

    fn press_in_picker(&mut self, key: ChatKey) {
        let Some(picker) = &mut self.picker else { return };
        let last = picker.entries.len().saturating_sub(1);
        match key {
            ChatKey::Up | ChatKey::Letter('k') => picker.chosen = picker.chosen.saturating_sub(1),
            ChatKey::Down | ChatKey::Letter('j') => picker.chosen = (picker.chosen + 1).min(last),
            ChatKey::PageUp | ChatKey::Home => picker.chosen = 0,
            ChatKey::PageDown | ChatKey::End => picker.chosen = last,
            ChatKey::Enter => {
                let name = picker.entries.get(picker.chosen).map(|it| it.name.clone());
                self.picker = None;
                self.switch(name);
            }
            ChatKey::Letter('n') => {
                self.picker = None;
                self.switch(None);
            }
            ChatKey::Escape | ChatKey::Letter('q') | ChatKey::Ctrl('c') => self.picker = None,
            _ => {}
        }
    }

    fn switch(&mut self, name: Option<String>) {
        if name.is_none() || name != self.session {
            // What waits belongs to the session that is left; what is typed from now on, to the other one.
            self.queue.clear();
            self.link = LinkState::Connecting(None);
            self.effects.push(ChatEffect::Switch(name));
        }
    }

    fn press_in_menu(&mut self, key: ChatKey) -> bool {
        let Some(menu) = &mut self.menu else { return false };
        match key {
            ChatKey::Up => menu.go(false),
            ChatKey::Down => menu.go(true),
            ChatKey::Tab => self.accept(),
            ChatKey::Escape => self.menu = None,
            _ => return false,
        }
        true
    }

    fn accept(&mut self) {
        let entry = self.menu.take().and_then(|menu| menu.entry().cloned());
        if let Some(entry) = entry {
            self.input.replace_word(&format!("{} ", entry.inserted()));
        }
    }

    /// Looks what the word before the cursor may become.
    pub(super) fn complete(&mut self) {
        let word = self.input.word_before();
        let entries = match word.strip_prefix('@') {
            Some(path) => {
                if !std::mem::replace(&mut self.files_asked, true) {
                    self.effects.push(ChatEffect::FindFiles);
                }
                self.ask_headings(path);
                let headings = complete::headings(path, &self.headings);
                complete::mixed(complete::files(path, &self.files), headings)
            }
            None if self.input.text().starts_with("/model ") => {
                let names: Vec<String> = self.models.iter().map(|it| it.name.clone()).collect();
                complete::models(&word, &names)
            }
            None if word.starts_with('/') && self.input.is_first_word() => {
                complete::commands(&word, &self.skills)
            }
            None => Vec::new(),
        };
        let is_whole = entries.len() == 1 && entries[0].text == word;
        let is_useful = !entries.is_empty() && !is_whole;
        self.menu = is_useful.then_some(CompletionMenu { entries, chosen: 0 });
    }

    /// Asks the memory for headings with a word that begins so.
    fn ask_headings(&mut self, word: &str) {
        let is_word =
            word.chars().all(char::is_alphanumeric) && word.chars().count() >= MIN_HEADING_LETTERS;
        if is_word && self.link == LinkState::Attached && self.headings_asked != word {
            word.clone_into(&mut self.headings_asked);
            let id = self.new_id('h');
            self.send(message::headings_form(&id, word));
        }
    }

    fn edit(&mut self, key: ChatKey) {
        let input = &mut self.input;
        match key {
            ChatKey::Letter(letter) => input.insert(letter),
            ChatKey::NewLine | ChatKey::Ctrl('j') => input.insert('\n'),
            ChatKey::Enter => return self.submit(),
            ChatKey::Backspace | ChatKey::Ctrl('h') if input.is_empty() => {
                self.drop_last_image();
            }
            ChatKey::Backspace | ChatKey::Ctrl('h') => input.delete(CursorMove::Left),
            ChatKey::Delete => input.delete(CursorMove::Right),
            ChatKey::BackspaceWord => input.kill(CursorMove::WordLeft),
            ChatKey::Ctrl('w') => input.kill_to_blank(),
            ChatKey::Alt('d') => input.kill(CursorMove::WordRight),
            ChatKey::Ctrl('k') => input.kill(CursorMove::LineEnd),
            ChatKey::Ctrl('u') => input.kill(CursorMove::LineStart),
            ChatKey::Ctrl('y') => input.yank(),
            ChatKey::Ctrl('t') => input.transpose(),
            ChatKey::Left | ChatKey::Ctrl('b') => input.go(CursorMove::Left),
            ChatKey::Right | ChatKey::Ctrl('f') => input.go(CursorMove::Right),
            ChatKey::WordLeft | ChatKey::Alt('b') => input.go(CursorMove::WordLeft),
            ChatKey::WordRight | ChatKey::Alt('f') => input.go(CursorMove::WordRight),
            ChatKey::Home | ChatKey::Ctrl('a') => input.go(CursorMove::LineStart),
            ChatKey::End | ChatKey::Ctrl('e') => input.go(CursorMove::LineEnd),
            ChatKey::Up => self.go_up(),
            ChatKey::Down => self.go_down(),
            ChatKey::Ctrl('p') => self.earlier(),
            ChatKey::Ctrl('n') => self.later(),
            ChatKey::Ctrl('r') => return self.search_history(),
            ChatKey::Ctrl('v') => self.effects.push(ChatEffect::ReadClipboard),
            ChatKey::Tab => {
                self.complete();
                if self.menu.as_ref().is_some_and(|menu| menu.entries.len() == 1) {
                    self.accept();
                }
                return;
            }
            ChatKey::Escape => return self.interrupt(),
            ChatKey::Ctrl('c') => return self.cancel(),
            ChatKey::Ctrl('d') if self.input.is_empty() => {
                return self.effects.push(ChatEffect::Leave);
            }
            ChatKey::Ctrl('d') => self.input.delete(CursorMove::Right),
            ChatKey::Ctrl('l') => self.effects.push(ChatEffect::Repaint),
            ChatKey::Ctrl('o') => return self.show_details(),
            ChatKey::Ctrl('z') => self.effects.push(ChatEffect::Suspend),
            ChatKey::Alt('n') => return self.switch(None),
            ChatKey::Alt('s') => self.effects.push(ChatEffect::ListSessions),
            _ => return,
        }
        let word = self.input.word_before();
        let may_complete = matches!(key, ChatKey::Letter(_) | ChatKey::Backspace);
        let is_model = self.input.text().starts_with("/model ");
        if may_complete && (is_model || word.starts_with('@') || word.starts_with('/')) {
            self.complete();
        } else {
            self.menu = None;
        }
    }

    /// Stops the turn that runs.
    fn interrupt(&mut self) {
        if self.link == LinkState::Attached && self.is_busy() {
            let id = self.new_id('i');
            self.send(message::interrupt_form(&id));
            self.note("stopping");
        }
    }

    fn cancel(&mut self) {
        if self.leaving.is_some() {
            return self.effects.push(ChatEffect::Leave);
        }
        self.leaving = Some(self.now + LEAVE_MS);
        if self.input.is_empty() && !self.drop_last_image() {
            self.interrupt();
        } else {
            self.input.clear();
            self.menu = None;
        }
        self.note("Ctrl-C again leaves");
    }

    fn submit(&mut self) {
        let text = self.input.take().trim().to_owned();
        self.menu = None;
        self.history_at = None;
        if text.is_empty() && self.images.is_empty() {
            return;
        }
        if !text.is_empty() && self.options.history.last() != Some(&text) {
            self.options.history.push(text.clone());
            self.effects.push(ChatEffect::Remember(text.clone()));
        }
        if self.command(&text) {
            return;
        }
        let images = std::mem::take(&mut self.images);
        let text = match images.first() {
            // A prompt says something.
            Some(image) if text.is_empty() => format!("Look at {}.", image.name),
            _ => text,
        };
        let prompt = QueuedPrompt { text, images };
        if self.is_busy() || self.link != LinkState::Attached {
            self.queue.push_back(prompt);
        } else {
            self.send_prompt(prompt);
        }
    }

    /// Carries a command of this program out; `false` if the text is none.
    fn command(&mut self, text: &str) -> bool {
        match text {
            "/quit" | "/exit" => self.effects.push(ChatEffect::Leave),
            "/copy" if self.last_answer.is_empty() => self.note("there is no answer to copy"),
            "/copy" => {
                let count = self.last_answer.len();
                self.effects.push(ChatEffect::Copy(self.last_answer.clone()));
                self.note(&format!("copied {count} bytes, if the terminal allows it"));
            }
            "/replay" => {
                let session = self.session.clone().unwrap_or_default();
                self.note("reading the session");
                self.effects.push(ChatEffect::Replay(session, self.size.columns));
            }
            "/new" => self.switch(None),
            "/pick" => self.effects.push(ChatEffect::ListSessions),
            "/details" => self.show_details(),
            "/keys" => {
                let line = |(keys, does): &(&str, &str)| {
                    StyledLine::of(keys, TextStyle::BOLD)
                        .with(&format!("  {does}"), TextStyle::PLAIN)
                };
                let lines: Vec<_> = KEYS.iter().map(line).collect();
                self.open_pager("keys".to_owned(), &lines, None);
            }
            "/log" => {
                let frames = self.log.iter().map(|it| StyledLine::code(it, TextStyle::PLAIN));
                let lines: Vec<_> = frames.collect();
                self.open_pager("messages of this connection".to_owned(), &lines, None);
            }
            _ => {
                let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                if word != "/model" {
                    return false;
                }
                self.choose_model(rest.trim());
            }
        }
        true
    }
}
