//! Radio links: text that reads like a radio target somewhere in the file is a link to it. Where a file has no such
//! target, which is nearly always, none of this runs.

use crate::syntax::{is_alphanumeric, is_breakable, is_space, length_at, letter_at, letter_before};

/// The radio targets of a text, folded, their words apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Radio {
    targets: Vec<Vec<String>>,
    /// First characters of all of them.
    firsts: String,
}

impl Radio {
    /// Adds a target; it links from nowhere when it is no text.
    pub(crate) fn add(&mut self, target: &[u8]) {
        let Ok(text) = std::str::from_utf8(target) else { return };
        let words: Vec<String> =
            text.split(' ').filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
        let Some(first) = words.first().and_then(|word| word.chars().next()) else { return };
        self.firsts.push(first);
        self.targets.push(words);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Where the first radio link from `from` on begins and ends.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize)> {
        let text = &text[..end];
        let mut at = from;
        while at < end {
            let letter = letter_at(text, at);
            let folded = letter.and_then(|letter| letter.to_lowercase().next());
            if folded.is_some_and(|letter| self.firsts.contains(letter)) {
                let apart = at == start || parts(letter_before(text, at));
                let matched = self.targets.iter().filter(|_| apart);
                let mut ends = matched.filter_map(|words| reads(text, at, words));
                if let Some(end) =
                    ends.find(|end| *end >= text.len() || parts(letter_at(text, *end)))
                {
                    return Some((at, end));
                }
            }
            at += length_at(text, at);
        }
        None
    }
}

/// Whether a link may begin behind this character, and end before it.
fn parts(letter: Option<char>) -> bool {
    !is_alphanumeric(letter) || is_breakable(letter)
}

/// The end of the words that `text` has at `at`, if it has them.
fn reads(text: &[u8], at: usize, words: &[String]) -> Option<usize> {
    let mut place = at;
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            let first = place;
            while place < text.len() && is_space(letter_at(text, place)) {
                place += length_at(text, place);
            }
            (place > first).then_some(())?;
        }
        for wanted in word.chars() {
            let letter = (place < text.len()).then(|| letter_at(text, place)).flatten()?;
            letter.to_lowercase().next().filter(|letter| *letter == wanted)?;
            place += letter.len_utf8();
        }
    }
    Some(place)
}
