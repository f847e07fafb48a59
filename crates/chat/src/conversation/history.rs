//! Earlier prompts: one after the other, or searched.

use super::{Conversation, HistorySearch};
use crate::event::ChatKey;

impl Conversation {
    pub(super) fn go_up(&mut self) {
        if self.input.is_empty()
            && self.history_at.is_none()
            && let Some(queued) = self.queue.pop_back()
        {
            self.images = queued.images;
            return self.input.set(&queued.text);
        }
        if !self.input.go_row(false) {
            self.earlier();
        }
    }

    pub(super) fn go_down(&mut self) {
        if !self.input.go_row(true) {
            self.later();
        }
    }

    pub(super) fn earlier(&mut self) {
        let history = &self.options.history;
        let at = self.history_at.unwrap_or(history.len());
        let Some(entry) = at.checked_sub(1).and_then(|at| history.get(at)) else { return };
        if self.history_at.is_none() {
            self.draft = self.input.text();
        }
        self.history_at = Some(at - 1);
        let entry = entry.clone();
        self.input.set(&entry);
    }

    pub(super) fn later(&mut self) {
        let Some(at) = self.history_at else { return };
        match self.options.history.get(at + 1) {
            Some(entry) => {
                self.history_at = Some(at + 1);
                let entry = entry.clone();
                self.input.set(&entry);
            }
            None => {
                self.history_at = None;
                let draft = std::mem::take(&mut self.draft);
                self.input.set(&draft);
            }
        }
    }

    /// Begins a search, or goes on to an older prompt.
    pub(super) fn search_history(&mut self) {
        match &mut self.search {
            Some(search) => {
                let older = search.at.unwrap_or_default();
                let wanted = search.wanted.clone();
                let found = self.found_before(&wanted, older);
                if let (Some(search), Some(_)) = (&mut self.search, found) {
                    search.at = found;
                }
            }
            None => {
                self.menu = None;
                self.search = Some(HistorySearch { wanted: String::new(), at: None });
            }
        }
    }

    /// The newest prompt before one that holds a text, ignoring case.
    fn found_before(&self, wanted: &str, before: usize) -> Option<usize> {
        let wanted = wanted.to_lowercase();
        if wanted.is_empty() {
            return None;
        }
        let history = &self.options.history[..before.min(self.options.history.len())];
        history.iter().rposition(|it| it.to_lowercase().contains(&wanted))
    }

    /// A key while a search is open; `false` if it ends the search and means something else.
    pub(super) fn press_in_search(&mut self, key: ChatKey) -> bool {
        let Some(search) = &mut self.search else { return false };
        match key {
            ChatKey::Letter(letter) => search.wanted.push(letter),
            ChatKey::Backspace | ChatKey::Ctrl('h') => drop(search.wanted.pop()),
            ChatKey::Ctrl('r') => {
                self.search_history();
                return true;
            }
            ChatKey::Escape | ChatKey::Ctrl('g' | 'c') => {
                self.search = None;
                return true;
            }
            _ => {
                self.accept_search();
                // Return takes the prompt; it is sent by another one.
                return matches!(key, ChatKey::Enter | ChatKey::Tab);
            }
        }
        let wanted = search.wanted.clone();
        let found = self.found_before(&wanted, usize::MAX);
        if let Some(search) = &mut self.search {
            search.at = found;
        }
        true
    }

    fn accept_search(&mut self) {
        let Some(search) = self.search.take() else { return };
        let Some(entry) = search.at.and_then(|at| self.options.history.get(at)) else { return };
        self.input.set(&entry.clone());
        self.history_at = None;
    }

    /// Text that is searched for, and the prompt that was found.
    pub(super) fn shown_search(&self) -> Option<(&str, &str)> {
        let search = self.search.as_ref()?;
        let found = search.at.and_then(|at| self.options.history.get(at));
        Some((&search.wanted, found.map(String::as_str).unwrap_or_default()))
    }
}
