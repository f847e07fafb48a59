//! The input: text of several lines, the keys of readline, long pastes as one unit.

use unicode_width::UnicodeWidthChar as _;

/// Pastes of more lines, or more characters, are shown as a note and sent in full.
const COLLAPSE_LINES: usize = 6;
const COLLAPSE_CHARS: usize = 800;

/// Characters of the input in all, pastes included: the daemon takes no larger prompt.
pub const MAX_INPUT_BYTES: usize = 1 << 20;

/// Movement of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorMove {
    /// One letter.
    Left,
    /// One letter.
    Right,
    /// To the beginning of a word.
    WordLeft,
    /// Behind the end of a word.
    WordRight,
    /// Beginning of the line.
    LineStart,
    /// End of the line.
    LineEnd,
}

/// A letter or a long paste.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InputUnit {
    Letter(char),
    Paste(String),
}

impl InputUnit {
    fn is_word(&self) -> bool {
        matches!(self, InputUnit::Letter(letter) if letter.is_alphanumeric() || *letter == '_')
    }

    fn is_mark(&self) -> bool {
        let joins = |letter: &char| letter.width() == Some(0) && *letter != '\n';
        matches!(self, InputUnit::Letter(letter) if joins(letter))
    }
}

/// Text being typed.
#[derive(Debug, Clone, Default)]
pub struct InputLine {
    units: Vec<InputUnit>,
    cursor: usize,
    killed: Vec<InputUnit>,
}

impl InputLine {
    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The whole text, pastes included.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for unit in &self.units {
            match unit {
                InputUnit::Letter(letter) => text.push(*letter),
                InputUnit::Paste(paste) => text.push_str(paste),
            }
        }
        text
    }

    /// Takes the text out.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.clear();
        text
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.units.clear();
        self.cursor = 0;
    }

    /// Replaces everything, the cursor at the end.
    pub fn set(&mut self, text: &str) {
        self.clear();
        self.insert_letters(text);
    }

    /// Types a letter.
    pub fn insert(&mut self, letter: char) {
        if letter == '\n' || !letter.is_control() {
            self.units.insert(self.cursor, InputUnit::Letter(letter));
            self.cursor += 1;
        }
    }

    fn insert_letters(&mut self, text: &str) {
        let letters = text.chars().filter(|letter| *letter == '\n' || !letter.is_control());
        let units: Vec<InputUnit> = letters.map(InputUnit::Letter).collect();
        let count = units.len();
        self.units.splice(self.cursor..self.cursor, units);
        self.cursor += count;
    }

    /// Pastes a text: as one unit if it is long. What is beyond the largest prompt is cut; `false`
    /// says so.
    pub fn paste(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let room = MAX_INPUT_BYTES.saturating_sub(self.text().len());
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let piece = &text[..end];
        let is_long =
            piece.lines().count() > COLLAPSE_LINES || piece.chars().count() > COLLAPSE_CHARS;
        if is_long {
            self.units.insert(self.cursor, InputUnit::Paste(piece.to_owned()));
            self.cursor += 1;
        } else {
            self.insert_letters(&piece.replace('\t', "    "));
        }
        end == text.len()
    }

    /// Moves the cursor.
    pub fn go(&mut self, how: CursorMove) {
        self.cursor = self.target(how);
    }

    fn target(&self, how: CursorMove) -> usize {
        let units = &self.units;
        let mut at = self.cursor;
        match how {
            CursorMove::Left => {
                at = at.saturating_sub(1);
                while at > 0 && (units[at].is_mark() || self.is_joined(at)) {
                    at -= 1;
                }
            }
            CursorMove::Right => {
                at = (at + 1).min(units.len());
                while at < units.len() && (units[at].is_mark() || self.is_joined(at)) {
                    at += 1;
                }
            }
            CursorMove::WordLeft => {
                while at > 0 && !units[at - 1].is_word() {
                    at -= 1;
                }
                while at > 0 && units[at - 1].is_word() {
                    at -= 1;
                }
            }
            CursorMove::WordRight => {
                while at < units.len() && !units[at].is_word() {
                    at += 1;
                }
                while at < units.len() && units[at].is_word() {
                    at += 1;
                }
            }
            CursorMove::LineStart => {
                while at > 0 && units[at - 1] != InputUnit::Letter('\n') {
                    at -= 1;
                }
            }
            CursorMove::LineEnd => {
                while at < units.len() && units[at] != InputUnit::Letter('\n') {
                    at += 1;
                }
            }
        }
        at
    }

    /// Whether a joiner ties this letter to the one before.
    fn is_joined(&self, at: usize) -> bool {
        at > 0 && self.units[at - 1] == InputUnit::Letter('\u{200d}')
    }

    /// Deletes from the cursor to the end of a movement.
    pub fn delete(&mut self, how: CursorMove) {
        self.cut(how);
    }

    /// Deletes as [`InputLine::delete`] does, and keeps it for [`InputLine::yank`].
    pub fn kill(&mut self, how: CursorMove) {
        let cut = self.cut(how);
        if !cut.is_empty() {
            self.killed = cut;
        }
    }

    fn cut(&mut self, how: CursorMove) -> Vec<InputUnit> {
        let target = self.target(how);
        let (from, to) = (target.min(self.cursor), target.max(self.cursor));
        self.cursor = from;
        self.units.drain(from..to).collect()
    }

    /// Kills the word before the cursor as a shell does: up to a blank.
    pub fn kill_to_blank(&mut self) {
        let is_blank =
            |unit: &InputUnit| matches!(unit, InputUnit::Letter(letter) if letter.is_whitespace());
        let mut from = self.cursor;
        while from > 0 && is_blank(&self.units[from - 1]) {
            from -= 1;
        }
        while from > 0 && !is_blank(&self.units[from - 1]) {
            from -= 1;
        }
        let killed: Vec<InputUnit> = self.units.drain(from..self.cursor).collect();
        self.cursor = from;
        if !killed.is_empty() {
            self.killed = killed;
        }
    }

    /// Puts what was killed last at the cursor.
    pub fn yank(&mut self) {
        let killed = self.killed.clone();
        let count = killed.len();
        self.units.splice(self.cursor..self.cursor, killed);
        self.cursor += count;
    }

    /// Exchanges the two letters before the cursor, or around it.
    pub fn transpose(&mut self) {
        let at = if self.cursor == self.units.len() { self.cursor } else { self.cursor + 1 };
        if at >= 2 && self.cursor > 0 {
            self.units.swap(at - 2, at - 1);
            self.cursor = at;
        }
    }

    /// Moves to the row above or below, in rows of the text; `false` if there is none.
    pub fn go_row(&mut self, down: bool) -> bool {
        let start = self.target(CursorMove::LineStart);
        let column = self.cursor - start;
        if down {
            let end = self.target(CursorMove::LineEnd);
            if end == self.units.len() {
                return false;
            }
            self.cursor = end + 1;
            let next_end = self.target(CursorMove::LineEnd);
            self.cursor = (end + 1 + column).min(next_end);
        } else {
            if start == 0 {
                return false;
            }
            self.cursor = start - 1;
            let above = self.target(CursorMove::LineStart);
            self.cursor = (above + column).min(start - 1);
        }
        true
    }

    /// The word before the cursor, up to a blank.
    pub fn word_before(&self) -> String {
        let mut word: Vec<char> = Vec::new();
        for unit in self.units[..self.cursor].iter().rev() {
            match unit {
                InputUnit::Letter(letter) if !letter.is_whitespace() => word.push(*letter),
                _ => break,
            }
        }
        word.into_iter().rev().collect()
    }

    /// Whether the word before the cursor is the first one.
    pub fn is_first_word(&self) -> bool {
        let is_blank = |unit: &InputUnit| !matches!(unit, InputUnit::Letter(letter) if !letter.is_whitespace());
        !self.units[..self.cursor].iter().any(is_blank)
    }

    /// Replaces the word before the cursor.
    pub fn replace_word(&mut self, text: &str) {
        let count = self.word_before().chars().count();
        let from = self.cursor - count;
        self.units.drain(from..self.cursor);
        self.cursor = from;
        self.insert_letters(text);
    }

    /// Text as it is shown, and the place of the cursor in it, in bytes. A long paste is a note.
    pub fn shown(&self) -> (String, usize) {
        let mut text = String::new();
        let mut cursor = 0;
        for (at, unit) in self.units.iter().enumerate() {
            if at == self.cursor {
                cursor = text.len();
            }
            match unit {
                InputUnit::Letter(letter) => text.push(*letter),
                InputUnit::Paste(paste) => {
                    let (lines, bytes) = (paste.lines().count(), paste.len());
                    text.push_str(&format!("[pasted {lines} lines, {bytes} bytes]"));
                }
            }
        }
        if self.cursor == self.units.len() {
            cursor = text.len();
        }
        (text, cursor)
    }
}

#[cfg(test)]
mod tests;
