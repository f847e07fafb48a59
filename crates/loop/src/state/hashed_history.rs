//! What is kept unchanged for many events, with its hash beside it; and texts that are written once.
//!
//! The state is hashed after every turn. Exchanges and rulings are most of it and never change: each is
//! hashed once, not once a turn, and as it is, not as text; and of all that are kept there is one sum, to
//! which the latest is added and from which the oldest is taken. To hash 22 KB of state is 65,000
//! instructions; so it is 3,000 a turn, and three times as many for what the turn adds.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crate::effect::{PastExchange, RememberedRuling, Verdict};
use crate::plist_codec::PlistText;
use crate::privacy::Privacy;

/// The hash of a kept thing: half of a whole one, which is as much as nobody finds a second thing for.
type Hash = u128;

/// Factor of the sum of hashes for each one added, so that their order counts: odd, and its
/// powers look like any numbers.
const HASH_SUM_FACTOR: Hash = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

/// Element of a history.
pub trait HashedEntry {
    /// All of it in few bytes, which no other has.
    fn bytes(&self) -> Vec<u8>;
}

/// Ends a text, and stands for one that is absent: no text has these bytes.
const END: u8 = 0xFF;
const NONE: u8 = 0xFE;

/// Room for the ends of an exchange and its label.
const USUAL_LABEL_BYTES: usize = 10;

impl HashedEntry for PastExchange {
    fn bytes(&self) -> Vec<u8> {
        let Self { asked, said, privacy } = self;
        let mut bytes = Vec::with_capacity(asked.len() + said.len() + USUAL_LABEL_BYTES);
        push(&mut bytes, asked);
        push(&mut bytes, said);
        // The hashes of records from before there were labels stay the same.
        if *privacy != Privacy::default() {
            push(&mut bytes, privacy.word());
        }
        bytes
    }
}

impl HashedEntry for RememberedRuling {
    fn bytes(&self) -> Vec<u8> {
        let Self { turn, by, model, target, action, rule, policies, verdict, reason } = self;
        let mut bytes = Vec::with_capacity(USUAL_RULING_BYTES);
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
        // A ruling without one has the hash that it always had.
        if let Some(model) = model {
            push(&mut bytes, &model.put(PlistText::new()).done());
        }
        bytes
    }
}

/// Room for a ruling, in bytes.
const USUAL_RULING_BYTES: usize = 128;

fn push(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(END);
}

fn hash(thing: &impl HashedEntry) -> Hash {
    let hash = blake3::hash(&thing.bytes());
    Hash::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash is twice as long"))
}

/// Things of the past, oldest first. Whoever thinks is shown the same list that the state goes on with,
/// not a copy: to count each of fifty things once more and once less, all of them have to be fetched,
/// which was 2 us of a prompt where many sessions take turns.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedHistory<T>(Arc<HashedList<T>>);

/// Things, each with its hash.
#[derive(Debug, PartialEq)]
struct HashedList<T> {
    things: VecDeque<(Arc<T>, Hash)>,
    /// Of the hashes: the latest once, the one before it [`HASH_SUM_FACTOR`] times, and so on.
    sum: Hash,
}

impl<T> Default for HashedList<T> {
    fn default() -> Self {
        Self { things: VecDeque::new(), sum: 0 }
    }
}

impl<T> Clone for HashedList<T> {
    fn clone(&self) -> Self {
        Self { things: self.things.clone(), sum: self.sum }
    }
}

impl<T: HashedEntry> HashedList<T> {
    fn push(&mut self, thing: Arc<T>) {
        let hash = hash(&*thing);
        self.things.push_back((thing, hash));
        self.sum = self.sum.wrapping_mul(HASH_SUM_FACTOR).wrapping_add(hash);
    }

    /// Lets the oldest go.
    fn pop(&mut self) {
        let Some((_, hash)) = self.things.pop_front() else { return };
        let later = u32::try_from(self.things.len()).expect("few things are kept");
        self.sum = self.sum.wrapping_sub(hash.wrapping_mul(HASH_SUM_FACTOR.wrapping_pow(later)));
    }
}

impl<T> Default for SharedHistory<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> SharedHistory<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.things.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.things.is_empty()
    }

    /// The things, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<T>> {
        self.0.things.iter().map(|(thing, _)| thing)
    }

    /// One number for all of them in their order.
    pub(super) fn sum(&self) -> u128 {
        self.0.sum
    }
}

impl<T: HashedEntry> SharedHistory<T> {
    /// Adds the latest and lets the oldest go that are too many.
    pub(crate) fn push(&mut self, thing: Arc<T>, most: usize) {
        // Somebody who still looks at the list keeps the one of before.
        Arc::make_mut(&mut self.0).push(thing);
        self.trim(most);
    }

    /// Lets the oldest go that are too many.
    pub(crate) fn trim(&mut self, most: usize) {
        while self.len() > most {
            Arc::make_mut(&mut self.0).pop();
        }
    }
}

impl<T: HashedEntry> FromIterator<Arc<T>> for SharedHistory<T> {
    fn from_iter<I: IntoIterator<Item = Arc<T>>>(things: I) -> Self {
        let mut list = HashedList::default();
        things.into_iter().for_each(|thing| list.push(thing));
        Self(Arc::new(list))
    }
}

/// A text that follows from the state and seldom changes, written when it is first wanted. Part of no
/// comparison: it says nothing that the state does not say.
#[derive(Clone, Debug, Default)]
pub(crate) struct LazyText(OnceLock<Box<(Box<str>, [u8; 32])>>);

impl LazyText {
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

impl PartialEq for LazyText {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
