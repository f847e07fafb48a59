//! Radio links: text that reads like a radio target somewhere in the file is a link to it. Where a file has no such
//! target, which is nearly always, none of this runs.

use std::collections::{HashMap, HashSet};

use crate::syntax::{is_alphanumeric, is_breakable, is_space, length_at, letter_at, letter_before};

/// Longest target that text is compared with, in bytes: how far is looked ahead from each word of the text. A longer one
/// links from nowhere.
const MAX_TARGET: usize = 256;

/// Stands for any space between two words of a target.
const SPACE: char = ' ';

/// The radio targets of a text, folded, as one tree of characters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Radio {
    /// From a node by a character to another; 0 is the root.
    edges: HashMap<(usize, char), usize>,
    /// The nodes where a target ends, and how late it was added.
    ends: HashMap<usize, usize>,
    nodes: usize,
    known: HashSet<Vec<u8>>,
}

impl Radio {
    /// Adds a target; it links from nowhere when it is no text, or too long.
    pub(crate) fn add(&mut self, target: &[u8]) {
        let Ok(text) = std::str::from_utf8(target) else { return };
        if text.is_empty() || text.len() > MAX_TARGET || !self.known.insert(target.to_vec()) {
            return;
        }
        let mut node = 0;
        let mut spaced = false;
        for letter in text.chars().flat_map(char::to_lowercase) {
            if letter == SPACE && spaced {
                continue;
            }
            spaced = letter == SPACE;
            let next = self.nodes + 1;
            node = *self.edges.entry((node, letter)).or_insert(next);
            self.nodes = self.nodes.max(node);
        }
        self.ends.insert(node, self.known.len());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns the first radio link from `from` on. Objects begin and end beside marks, which part words: whether a
    /// link may begin or end at a place does not depend on the object around it.
    pub(super) fn next(&self, text: &[u8], start: usize, from: usize) -> Option<usize> {
        let mut at = from;
        while at < text.len() {
            let apart = at == start || parts(letter_before(text, at));
            if apart && self.link(text, at, text.len()).is_some() {
                return Some(at);
            }
            at += length_at(text, at);
        }
        None
    }

    /// The end of the link that begins at `at` and ends before `limit`. Of several targets, Org prefers the one that it
    /// met last.
    pub(super) fn link(&self, text: &[u8], at: usize, limit: usize) -> Option<usize> {
        let (mut node, mut place, mut best) = (0, at, None);
        while place < limit {
            let letter = letter_at(text, place)?;
            if is_space(Some(letter)) && self.edges.contains_key(&(node, SPACE)) {
                while place < limit && is_space(letter_at(text, place)) {
                    place += length_at(text, place);
                }
                node = self.edges[&(node, SPACE)];
            } else {
                let folded = letter.to_lowercase().next()?;
                let Some(next) = self.edges.get(&(node, folded)) else { break };
                node = *next;
                place += letter.len_utf8();
            }
            let ends = place >= text.len() || parts(letter_at(text, place));
            let rank = self.ends.get(&node).filter(|_| ends);
            best = rank.map(|rank| (*rank, place)).max(best);
        }
        best.map(|(_, end)| end)
    }
}

/// Whether a link may begin behind this character, and end before it.
fn parts(letter: Option<char>) -> bool {
    !is_alphanumeric(letter) || is_breakable(letter)
}
