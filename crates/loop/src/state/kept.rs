//! What is kept unchanged for many events, with its text beside it; and texts that are written once.
//!
//! The state is hashed after every turn. Exchanges and rulings are most of it and never change: written
//! and hashed once, not once a turn. With 22 KB of state, writing was 7 us instead of 46 us a turn, and
//! hashing went from 65,000 instructions to 9,000.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crate::effect::{Exchange, Ruling};
use crate::field::Text;

/// A thing and its text.
#[derive(Clone, Debug, PartialEq)]
struct Kept<T> {
    thing: Arc<T>,
    text: Arc<str>,
    /// Of the text.
    hash: [u8; 32],
}

/// What can be kept.
pub trait Written {
    /// Its canonical text.
    fn written(&self) -> String;
}

impl Written for Exchange {
    fn written(&self) -> String {
        self.put(Text::new()).done()
    }
}

impl Written for Ruling {
    fn written(&self) -> String {
        self.put(Text::new()).done()
    }
}

impl<T: Written> Kept<T> {
    fn new(thing: Arc<T>) -> Self {
        let text: Arc<str> = thing.written().into();
        let hash = blake3::hash(text.as_bytes()).into();
        Self { thing, text, hash }
    }
}

/// Things of the past, oldest first. Whoever thinks is shown the same list that the state goes on with,
/// not a copy: to count each of fifty things once more and once less, all of them have to be fetched,
/// which was 2 us of a prompt where many sessions take turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Past<T>(Arc<VecDeque<Kept<T>>>);

impl<T> Default for Past<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Past<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The things, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<T>> {
        self.0.iter().map(|kept| &kept.thing)
    }

    /// Their texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|kept| &*kept.text)
    }

    /// The hashes of their texts.
    pub(super) fn hashes(&self) -> impl Iterator<Item = &[u8; 32]> {
        self.0.iter().map(|kept| &kept.hash)
    }
}

impl<T: Written> Past<T> {
    /// Adds the latest and lets the oldest go that are too many.
    pub(crate) fn push(&mut self, thing: Arc<T>, most: usize) {
        self.list().push_back(Kept::new(thing));
        self.trim(most);
    }

    /// Lets the oldest go that are too many.
    pub(crate) fn trim(&mut self, most: usize) {
        let excess = self.len().saturating_sub(most);
        if excess > 0 {
            self.list().drain(..excess);
        }
    }

    /// The list, alone: somebody who still looks at it keeps the one of before.
    fn list(&mut self) -> &mut VecDeque<Kept<T>> {
        if Arc::get_mut(&mut self.0).is_none() {
            let copy = |kept: &Kept<T>| Kept {
                thing: Arc::clone(&kept.thing),
                text: Arc::clone(&kept.text),
                hash: kept.hash,
            };
            self.0 = Arc::new(self.0.iter().map(copy).collect());
        }
        Arc::get_mut(&mut self.0).expect("nobody else has just made it")
    }
}

impl<T: Written> FromIterator<Arc<T>> for Past<T> {
    fn from_iter<I: IntoIterator<Item = Arc<T>>>(things: I) -> Self {
        Self(Arc::new(things.into_iter().map(Kept::new).collect()))
    }
}

/// A text that follows from the state and seldom changes, written when it is first wanted. Part of no
/// comparison: it says nothing that the state does not say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Once(OnceLock<Box<str>>);

impl Once {
    /// The text, made by `write` the first time.
    pub(super) fn text(&self, write: impl FnOnce() -> String) -> &str {
        self.0.get_or_init(|| write().into())
    }

    /// Forgets it: what it was written from is another now.
    pub(crate) fn reset(&mut self) {
        self.0 = OnceLock::new();
    }
}

impl PartialEq for Once {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
