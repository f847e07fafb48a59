//! What is there, without its text: by session and place, within limits.
//!
//! No IO: `overlay` keeps it in step with the disk. The same facts in the same order give the same
//! index, so that it can be made again at a start.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

use bridle_record::RecordHash;
use bridle_sexp::{Dialect, Value, read_one};

use super::cut::AstSummary;
use super::place::BufferPlace;
use crate::access::principal::Principal;

/// Buffers of one session: the one that was heard of least lately gives way.
pub(in crate::engine) const MAX_SESSION: usize = 64;

/// Buffers of all sessions of one principal, and the bytes of their ASTs: likewise.
pub(in crate::engine) const MAX_OWNER: usize = 1024;
pub(in crate::engine) const MAX_OWNER_BYTES: usize = 512 << 20;

/// Time that a report counts that a buffer is modified, in milliseconds: a day. A shell that is there says
/// it again with the next change; one that is gone must not lock a file for ever.
pub(in crate::engine) const REPORT_MS: i64 = 24 * 60 * 60 * 1000;

/// Row on the disk for a message: its session and its number.
pub(in crate::engine) type Row = (Box<str>, u64);

/// Fact from a message about a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BufferFact {
    pub(in crate::engine) place: BufferPlace,
    /// The principal that the session belongs to.
    pub(in crate::engine) owner: Box<str>,
    /// The principal that says it.
    pub(in crate::engine) by: Box<str>,
    /// Milliseconds since 1970.
    pub(in crate::engine) at: i64,
    pub(in crate::engine) what: BufferState,
}

/// State of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferState {
    /// Modified; this is its AST.
    Ast(AstSummary),
    /// Modified; nothing more is known.
    Modified,
    /// As the file, or gone.
    Settled,
}

/// A buffer that somebody is editing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModifiedBuffer {
    /// The session whose shell said so.
    pub(crate) session: Box<str>,
    /// The principal that said so.
    pub(crate) by: Box<str>,
    /// Milliseconds since 1970.
    pub(crate) at: i64,
}

/// Entries by session and place.
#[derive(Debug, Default)]
pub(in crate::engine) struct BufferIndex {
    sessions: HashMap<Box<str>, BTreeMap<BufferPlace, BufferEntry>>,
}

/// A fact that holds, and the number of its message.
#[derive(Clone, Debug)]
pub(in crate::engine) struct BufferEntry {
    pub(in crate::engine) seq: u64,
    pub(in crate::engine) fact: BufferFact,
    /// The shell that has the buffer, while it is there: nothing of that outlives its connection.
    holder: Option<Box<str>>,
}

impl BufferEntry {
    fn bytes(&self) -> usize {
        match self.fact.what {
            BufferState::Ast(about) => about.bytes,
            BufferState::Modified | BufferState::Settled => 0,
        }
    }
}

impl BufferIndex {
    /// Finds the entry of a buffer.
    pub(in crate::engine) fn find(
        &self,
        session: &str,
        place: &BufferPlace,
    ) -> Option<&BufferEntry> {
        self.sessions.get(session)?.get(place)
    }

    /// Takes a fact in; returns the rows that are of no use any more.
    pub(in crate::engine) fn apply(
        &mut self,
        session: &str,
        seq: u64,
        fact: BufferFact,
    ) -> Vec<Row> {
        let places = self.sessions.entry(session.into()).or_default();
        let (owner, place) = (fact.owner.clone(), fact.place.clone());
        let settled = fact.what == BufferState::Settled;
        let old = match settled {
            true => places.remove(&place),
            false => places.insert(place, BufferEntry { seq, fact, holder: None }),
        };
        let mut gone: Vec<u64> =
            old.map(|old| old.seq).filter(|old| *old != seq).into_iter().collect();
        if settled {
            gone.push(seq);
        }
        while places.len() > MAX_SESSION {
            let Some(oldest) = oldest(places) else { break };
            gone.extend(places.remove(&oldest).map(|entry| entry.seq));
        }
        let mut gone: Vec<Row> = gone.into_iter().map(|seq| (session.into(), seq)).collect();
        self.make_room(&owner, (session, seq), &mut gone);
        self.sessions.retain(|_, places| !places.is_empty());
        gone
    }

    /// Drops what one message brought, or everything of a session.
    pub(in crate::engine) fn forget(&mut self, session: &str, seq: Option<u64>) {
        match (seq, self.sessions.get_mut(session)) {
            (Some(seq), Some(places)) => places.retain(|_, entry| entry.seq != seq),
            (None, _) => {
                self.sessions.remove(session);
            }
            _ => {}
        }
    }

    /// Notes that a shell has a buffer.
    pub(in crate::engine) fn hold(&mut self, session: &str, place: &BufferPlace, holder: Box<str>) {
        let places = self.sessions.get_mut(session);
        if let Some(entry) = places.and_then(|places| places.get_mut(place)) {
            entry.holder = Some(holder);
        }
    }

    /// Tells whether nothing was ever said about a buffer, or it is all over.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Takes back what was noted of a shell.
    pub(in crate::engine) fn left(&mut self, holder: &str) {
        let entries = self.sessions.values_mut().flat_map(BTreeMap::values_mut);
        for entry in entries.filter(|entry| entry.holder.as_deref() == Some(holder)) {
            entry.holder = None;
        }
    }

    /// The shell that has a buffer of this file and has not saved it.
    pub(in crate::engine) fn held_by(&self, path: &Path) -> Option<Box<str>> {
        let held = self.entries().filter(|(_, entry)| entry.holder.is_some());
        let mut found = held.filter(|(_, entry)| entry.fact.place.is_of(path));
        found.next().and_then(|(_, entry)| entry.holder.clone())
    }

    /// Finds the report that a buffer of this file is modified, as far as that is this owner's business.
    pub(in crate::engine) fn modified(
        &self,
        owner: &str,
        path: &Path,
        now: i64,
    ) -> Option<ModifiedBuffer> {
        let is_owners = Principal::is_owners_alone(owner);
        let concerns = |entry: &BufferEntry| {
            let whose = &*entry.fact.owner;
            whose == owner || (is_owners && Principal::is_owners_alone(whose))
        };
        let found = self.entries().filter(|(_, entry)| {
            now.saturating_sub(entry.fact.at) < REPORT_MS
                && concerns(entry)
                && match is_owners {
                    true => entry.fact.place.is_of(path),
                    // Links are not followed for others: where one leads tells what there is.
                    false => entry.fact.place.is_named(path),
                }
        });
        let (session, entry) = found.max_by_key(|(_, entry)| entry.fact.at)?;
        let BufferFact { by, at, .. } = &entry.fact;
        Some(ModifiedBuffer { session: session.into(), by: by.clone(), at: *at })
    }

    /// Lets the oldest of an owner give way until the rest is within its limits; the latest stays.
    fn make_room(&mut self, owner: &str, latest: (&str, u64), gone: &mut Vec<Row>) {
        loop {
            let of_owner = || self.entries().filter(|(_, entry)| *entry.fact.owner == *owner);
            let bytes: usize = of_owner().map(|(_, entry)| entry.bytes()).sum();
            if of_owner().count() <= MAX_OWNER && bytes <= MAX_OWNER_BYTES {
                return;
            }
            let others = of_owner().filter(|(session, entry)| (*session, entry.seq) != latest);
            let oldest = others.min_by_key(|(session, entry)| (entry.fact.at, *session, entry.seq));
            let Some((session, entry)) = oldest else { return };
            let (row, place) = ((Box::from(session), entry.seq), entry.fact.place.clone());
            if let Some(places) = self.sessions.get_mut(&row.0) {
                places.remove(&place);
            }
            gone.push(row);
        }
    }

    fn entries(&self) -> impl Iterator<Item = (&str, &BufferEntry)> {
        self.sessions
            .iter()
            .flat_map(|(session, places)| places.values().map(move |entry| (&**session, entry)))
    }
}

/// The place that was heard of least lately.
fn oldest(places: &BTreeMap<BufferPlace, BufferEntry>) -> Option<BufferPlace> {
    places.iter().min_by_key(|(_, entry)| entry.seq).map(|(place, _)| place.clone())
}

impl fmt::Display for BufferFact {
    /// As it stands on the disk.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, name) = self.place.pair();
        let mut pairs = vec![
            (key, Value::str(name)),
            ("owner", Value::str(&*self.owner)),
            ("by", Value::str(&*self.by)),
            ("at", Value::int(self.at)),
        ];
        match self.what {
            BufferState::Ast(AstSummary { dialect, hash, bytes }) => pairs.extend([
                ("what", Value::keyword("ast")),
                ("dialect", Value::keyword(word(dialect))),
                ("hash", Value::str(hash.to_string())),
                ("bytes", Value::int(i64::try_from(bytes).unwrap_or(i64::MAX))),
            ]),
            BufferState::Modified => pairs.push(("what", Value::keyword("modified"))),
            BufferState::Settled => pairs.push(("what", Value::keyword("settled"))),
        }
        Value::plist(pairs).fmt(f)
    }
}

impl BufferFact {
    /// Reads what [`Display`](fmt::Display) wrote; `None` for anything else.
    pub(in crate::engine) fn read(text: &str) -> Option<BufferFact> {
        let value = read_one(text).ok()?.root().to_value();
        let string = |key| value.get(key).and_then(Value::as_str);
        let says = |key, name| value.get(key).is_some_and(|word| word.is_keyword(name));
        let what = if says("what", "ast") {
            let dialect = match says("dialect", word(Dialect::Emacs)) {
                true => Dialect::Emacs,
                false => Dialect::Lisp,
            };
            let bytes = usize::try_from(value.get("bytes")?.as_i64()?).ok()?;
            BufferState::Ast(AstSummary {
                dialect,
                hash: RecordHash::from_hex(string("hash")?)?,
                bytes,
            })
        } else if says("what", "modified") {
            BufferState::Modified
        } else if says("what", "settled") {
            BufferState::Settled
        } else {
            return None;
        };
        Some(BufferFact {
            place: BufferPlace::of(&value)?,
            owner: string("owner")?.into(),
            by: string("by")?.into(),
            at: value.get("at")?.as_i64()?,
            what,
        })
    }
}

fn word(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Lisp => "lisp",
        Dialect::Emacs => "emacs",
    }
}

#[cfg(test)]
mod tests;
