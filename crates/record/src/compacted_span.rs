//! Span of a `compacted` record: which records it stands for, as bytes and as text. Written when records are
//! compacted, read by whoever reads the record. All bytes are hostile: anybody may have changed the file.
//!
//! Bytes, numbers as in `varint.rs`: number of the last record; hash of the first one (32 bytes); how many of
//! the records are of sessions of which nothing is known any more; how many sessions follow; and of each, in the order of their ids: id,
//! numbers of its first and last record, how many records, its first and last seq (0 and 0 without any), time of
//! the last one. Number of the first record, hash of the last one and hash of the one before the first are fields
//! that every record has.

use crate::record::RecordHash;
use crate::varint;

/// Kind of the record that stands in the place of others.
pub const COMPACTED: &str = "compacted";

/// Records that one record stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompactedSpan {
    /// Number of the first.
    pub(crate) from: i64,
    /// Number of the last.
    pub(crate) to: i64,
    /// Hash of the first.
    pub(crate) first: RecordHash,
    /// Hash of the last.
    pub(crate) last: RecordHash,
    /// Records of sessions of which nothing is left.
    pub(crate) forgotten: u64,
    /// Other records, by session.
    pub(crate) sessions: Vec<SessionSpan>,
}

/// Records of one session within a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionSpan {
    pub(crate) session: i64,
    /// Numbers of the first and the last.
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) records: u64,
    /// First and last number in the session's stream; both 0 if none is numbered.
    pub(crate) seqs: (i64, i64),
    /// Time of the last.
    pub(crate) last_at: i64,
}

impl CompactedSpan {
    /// Number of records that it stands for.
    pub(crate) fn records(&self) -> u64 {
        self.to.abs_diff(self.from).saturating_add(1)
    }

    /// Bytes that stand in the place of a body.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64 + 24 * self.sessions.len());
        varint::write(&mut bytes, self.to.cast_unsigned());
        bytes.extend_from_slice(self.first.as_bytes());
        varint::write(&mut bytes, self.forgotten);
        varint::write(&mut bytes, self.sessions.len() as u64);
        for it in &self.sessions {
            let numbers = [it.session, it.first, it.last].map(i64::cast_unsigned);
            numbers.into_iter().for_each(|number| varint::write(&mut bytes, number));
            varint::write(&mut bytes, it.records);
            let rest = [it.seqs.0, it.seqs.1, it.last_at].map(i64::cast_unsigned);
            rest.into_iter().for_each(|number| varint::write(&mut bytes, number));
        }
        bytes
    }

    /// Reads what [`CompactedSpan::write`] made, of a record with this number and hash; `None` if it says what cannot be.
    pub(crate) fn read(from: i64, last: RecordHash, bytes: &[u8]) -> Option<Self> {
        let (to, rest) = number(bytes)?;
        let (first, rest) = rest.split_first_chunk()?;
        let (forgotten, rest) = varint::read(rest)?;
        let (count, mut rest) = varint::read(rest)?;
        let mut sessions: Vec<SessionSpan> = Vec::new();
        for _ in 0..count {
            let (session, after) = SessionSpan::read(rest)?;
            rest = after;
            sessions.push(session);
        }
        let span = Self { from, to, first: RecordHash(*first), last, forgotten, sessions };
        (rest.is_empty() && span.is_possible()).then_some(span)
    }

    fn is_possible(&self) -> bool {
        let ordered = self.sessions.is_sorted_by(|one, other| one.session < other.session);
        let fits = |it: &SessionSpan| {
            let (low, high) = it.seqs;
            let numbered = if low == 0 { 0 } else { high.abs_diff(low).saturating_add(1) };
            it.session > 0
                && self.from <= it.first
                && it.first <= it.last
                && it.last <= self.to
                && it.records > 0
                && it.records <= it.last.abs_diff(it.first).saturating_add(1)
                && (low == 0) == (high == 0)
                && 0 <= low
                && low <= high
                && numbered <= it.records
        };
        let listed =
            self.sessions.iter().fold(self.forgotten, |sum, it| sum.saturating_add(it.records));
        self.from >= 1
            && self.from <= self.to
            && ordered
            && self.sessions.iter().all(fits)
            && listed == self.records()
    }

    /// Body of the record for people, with the names that sessions still have.
    pub(crate) fn text(&self, mut name: impl FnMut(i64) -> Option<String>) -> String {
        let Self { from, to, first, last, .. } = self;
        let (mut forgotten, mut sessions) = (self.forgotten, Vec::new());
        for it in &self.sessions {
            let Some(name) = name(it.session) else {
                forgotten += it.records;
                continue;
            };
            let seqs = match it.seqs {
                (0, _) => "nil".into(),
                (low, high) => format!("({low} {high})"),
            };
            sessions.push(format!("(:session \"{name}\" :records {} :seqs {seqs})", it.records));
        }
        let mut text = format!(
            "(:from {from} :to {to} :records {} :first \"{first}\" :last \"{last}\"",
            self.records()
        );
        if forgotten > 0 {
            text.push_str(&format!(" :forgotten {forgotten}"));
        }
        if !sessions.is_empty() {
            text.push_str(&format!(" :sessions ({})", sessions.join(" ")));
        }
        text.push(')');
        text
    }
}

impl SessionSpan {
    fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (session, rest) = number(bytes)?;
        let (first, rest) = number(rest)?;
        let (last, rest) = number(rest)?;
        let (records, rest) = varint::read(rest)?;
        let (low, rest) = number(rest)?;
        let (high, rest) = number(rest)?;
        let (last_at, rest) = number(rest)?;
        Some((Self { session, first, last, records, seqs: (low, high), last_at }, rest))
    }

    /// Goes on with records of the same session that come later.
    pub(crate) fn add(&mut self, later: &Self) {
        self.last = later.last;
        self.records += later.records;
        self.last_at = later.last_at;
        if later.seqs.0 != 0 {
            let low = if self.seqs.0 == 0 { later.seqs.0 } else { self.seqs.0 };
            self.seqs = (low, later.seqs.1);
        }
    }
}

/// Number of the last record of a span, without the rest of it.
pub(crate) fn end(bytes: &[u8]) -> Option<i64> {
    number(bytes).map(|(to, _)| to)
}

fn number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    varint::read(bytes).map(|(number, rest)| (number.cast_signed(), rest))
}
