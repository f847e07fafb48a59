//! What is kept unchanged for many events, with its hash beside it; and texts that are written once.
//!
//! The state is hashed after every turn. Exchanges and rulings are most of it and never change: each is
//! hashed once, not once a turn, and as it is, not as text. To hash 22 KB of state is 65,000 instructions;
//! so it is 9,000 a turn, and as many for what the turn adds.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crate::effect::{Exchange, Ruling, Verdict};

/// Bytes of the hash of a kept thing: half of a whole one, which is as many as nobody finds a second
/// thing for. There are 48 of them in what is hashed after a turn.
pub(super) const HALF: usize = 16;

/// What can be kept.
pub trait Keep {
    /// All of it in few bytes, which no other has.
    fn bytes(&self) -> Vec<u8>;
}

/// Ends a text, and stands for one that is absent: no text has these bytes.
const END: u8 = 0xFF;
const NONE: u8 = 0xFE;

impl Keep for Exchange {
    fn bytes(&self) -> Vec<u8> {
        let Self { asked, said } = self;
        let mut bytes = Vec::with_capacity(asked.len() + said.len() + 2);
        push(&mut bytes, asked);
        push(&mut bytes, said);
        bytes
    }
}

impl Keep for Ruling {
    fn bytes(&self) -> Vec<u8> {
        let Self { turn, by, target, action, rule, policies, verdict, reason } = self;
        let mut bytes = Vec::with_capacity(USUAL_RULING);
        bytes.extend_from_slice(&turn.0.to_le_bytes());
        push(&mut bytes, by.word());
        for name in [target, action] {
            match name {
                Some(name) => push(&mut bytes, name.as_str()),
                None => bytes.push(NONE),
            }
        }
        push(&mut bytes, rule.word());
        policies.iter().for_each(|policy| push(&mut bytes, policy));
        bytes.push(NONE);
        match verdict {
            Verdict::Allow => push(&mut bytes, "allow"),
            Verdict::Ask => push(&mut bytes, "ask"),
            Verdict::Deny(code) => push(&mut bytes, code.word()),
        }
        push(&mut bytes, reason);
        bytes
    }
}

/// Room for a ruling, in bytes.
const USUAL_RULING: usize = 128;

fn push(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(END);
}

fn hash(thing: &impl Keep) -> [u8; HALF] {
    let hash = blake3::hash(&thing.bytes());
    *hash.as_bytes().first_chunk().expect("a hash is twice as long")
}

/// Things of the past, oldest first. Whoever thinks is shown the same list that the state goes on with,
/// not a copy: to count each of fifty things once more and once less, all of them have to be fetched,
/// which was 2 us of a prompt where many sessions take turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Past<T>(Arc<List<T>>);

/// Things and, at the same places, their hashes.
#[derive(Debug, PartialEq)]
struct List<T> {
    things: VecDeque<Arc<T>>,
    /// Apart, to be hashed in one piece.
    hashes: VecDeque<[u8; HALF]>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { things: VecDeque::new(), hashes: VecDeque::new() }
    }
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self { things: self.things.clone(), hashes: self.hashes.clone() }
    }
}

impl<T> Default for Past<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Past<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.things.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.things.is_empty()
    }

    /// The things, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<T>> {
        self.0.things.iter()
    }

    /// Their hashes, one after the other, in two pieces.
    pub(super) fn hashes(&self) -> [&[u8]; 2] {
        let (first, second) = self.0.hashes.as_slices();
        [first.as_flattened(), second.as_flattened()]
    }
}

impl<T: Keep> Past<T> {
    /// Adds the latest and lets the oldest go that are too many.
    pub(crate) fn push(&mut self, thing: Arc<T>, most: usize) {
        let hash = hash(&*thing);
        // Somebody who still looks at the list keeps the one of before.
        let list = Arc::make_mut(&mut self.0);
        list.things.push_back(thing);
        list.hashes.push_back(hash);
        self.trim(most);
    }

    /// Lets the oldest go that are too many.
    pub(crate) fn trim(&mut self, most: usize) {
        while self.len() > most {
            let list = Arc::make_mut(&mut self.0);
            list.things.pop_front();
            list.hashes.pop_front();
        }
    }
}

impl<T: Keep> FromIterator<Arc<T>> for Past<T> {
    fn from_iter<I: IntoIterator<Item = Arc<T>>>(things: I) -> Self {
        let things: VecDeque<Arc<T>> = things.into_iter().collect();
        let hashes = things.iter().map(|thing| hash(&**thing)).collect();
        Self(Arc::new(List { things, hashes }))
    }
}

/// A text that follows from the state and seldom changes, written when it is first wanted. Part of no
/// comparison: it says nothing that the state does not say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Once(OnceLock<Box<(Box<str>, [u8; 32])>>);

impl Once {
    /// The text, made by `write` the first time.
    pub(super) fn text(&self, write: impl FnOnce() -> String) -> &str {
        &self.get(write).0
    }

    /// Its hash.
    pub(super) fn hash(&self, write: impl FnOnce() -> String) -> &[u8; 32] {
        &self.get(write).1
    }

    /// Forgets it: what it was written from is another now.
    pub(crate) fn reset(&mut self) {
        self.0 = OnceLock::new();
    }

    fn get(&self, write: impl FnOnce() -> String) -> &(Box<str>, [u8; 32]) {
        self.0.get_or_init(|| {
            let text = write();
            let hash = blake3::hash(text.as_bytes()).into();
            Box::new((text.into(), hash))
        })
    }
}

impl PartialEq for Once {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
