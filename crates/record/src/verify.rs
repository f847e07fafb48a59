//! Verifying the record. Reads all of it in order, recomputes every hash, opens every body, and names the first
//! record that is wrong. Called by `log verify` through [`RecordReader::verify`]; takes no lock, so the daemon may
//! write on.

mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, params};

use self::places::TableCheck;
use crate::cipher::SALT_BYTES;
use crate::compact::apply::digest_of;
use crate::compact::{COMPACTION, vouched_for};
use crate::compacted_span::CompactedSpan;
use crate::database::{count, int};
use crate::error::{BrokenRecord, RecordFlaw, StoreError};
use crate::forget;
use crate::reader::{OpenedBody, RecordOpener, RecordReader};
use crate::record::{ChainHead, RecordHash, RecordNumber};
use crate::record_page::{self, PageRecords, RawRecord, StoredBody};
use crate::session_ranges;
use crate::session_tail::{self, SessionTail};

/// Records looked at within one moment: long ones would keep the log from being shortened.
const RECORDS_PER_STEP: i64 = 1024;

/// Result of verifying a record without a flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyReport {
    /// The last record: worth keeping elsewhere.
    pub head: ChainHead,
    /// Number of sessions that wrote it, the daemon itself not counted.
    pub sessions: u64,
    /// Number of records that cannot be read any more, because they were forgotten.
    pub erased: u64,
    /// Number of records that are gone, because they were compacted after that.
    pub compacted: u64,
}

impl RecordReader {
    /// Checks every record. `kept` is a head that was kept elsewhere: without one, a tail that was cut
    /// off along with all traces of it cannot be noticed. `progress` hears how many records are done,
    /// and of how many.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`] names the first record that is not as it was written. [`StoreError::Damaged`]: every
    /// record is, but the file's lookup tables are not.
    pub fn verify(
        &self,
        kept: Option<ChainHead>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<VerifyReport, StoreError> {
        let mut check = ChainCheck::new(self.origin()?, kept);
        loop {
            let moment = self.moment()?;
            if check.is_overtaken(&moment)? {
                check = ChainCheck::new(self.origin()?, kept);
            }
            let more = check.page(&moment).map_err(|error| check.place(error))?;
            progress(count(check.last), count(check.last.max(last_leaf(&moment)?)));
            if !more {
                check.end(&moment)?;
                return Ok(check.verified());
            }
        }
    }
}

/// Records from the first one on that fit each other, however it is with what follows.
pub(crate) struct SoundPrefix {
    /// Number and hash of the last of them.
    pub(crate) last: i64,
    /// Flaw of the next record; `None` at the end of the record.
    pub(crate) flaw: Option<BrokenRecord>,
    /// Sessions that they are of, the daemon itself among them.
    pub(crate) sessions: BTreeMap<i64, SessionCheck>,
    /// Those whose bodies cannot be opened, and no `forgot` record says why.
    pub(crate) unreadable: BTreeSet<i64>,
    /// First records of sessions that cannot be opened, and no `forgot` record says why.
    pub(crate) keyless: BTreeSet<i64>,
    /// Those that stand for compacted ones, and no `compaction` record says why.
    pub(crate) unvouched: BTreeMap<i64, (i64, String)>,
}

/// Reads records as long as they fit each other.
pub(crate) fn sound_prefix(
    connection: &Connection,
    origin: RecordHash,
) -> Result<SoundPrefix, StoreError> {
    let mut check = ChainCheck { unreadable: Some(Vec::new()), ..ChainCheck::new(origin, None) };
    let flaw = loop {
        match check.page(connection).map_err(|error| check.place(error)) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(StoreError::Broken(broken)) => break Some(broken),
            Err(error) => return Err(error),
        }
    };
    let mut unreadable: BTreeSet<i64> =
        check.unreadable.take().unwrap_or_default().into_iter().collect();
    unreadable.extend(check.lost_records.iter().flat_map(|(of, first)| [*of, *first]));
    unreadable.extend(torn_off(connection, check.last)?);
    unreadable.retain(|number| *number <= check.last);
    Ok(SoundPrefix {
        last: check.last,
        flaw,
        sessions: check.sessions,
        unreadable,
        keyless: check.lost_sessions,
        unvouched: check.unvouched,
    })
}

/// Records up to this one that share a part with one behind it.
fn torn_off(connection: &Connection, last: i64) -> Result<Vec<i64>, StoreError> {
    let (mut opener, mut torn) = (RecordOpener::new(connection), Vec::new());
    let near = last.saturating_sub(RECORDS_PER_STEP).max(1)..=last;
    let _ = record_page::each(connection, &near, &mut |raw| {
        if opener.shares_with(raw)?.is_some_and(|other| other > last) {
            torn.push(raw.number);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(torn)
}

/// State of the check of the chain.
struct ChainCheck {
    kept: Option<ChainHead>,
    /// Number and hash of the last record seen.
    last: i64,
    hash: RecordHash,
    sessions: BTreeMap<i64, SessionCheck>,
    erased: u64,
    compacted: u64,
    /// Records that stand for compacted ones, with their digests: a `compaction` record must vouch for them.
    unvouched: BTreeMap<i64, (i64, String)>,
    /// Records without a salt, with the first one that cannot be read for it, and sessions without a key
    /// (by their first record): a `forgot` record must say so.
    lost_records: BTreeMap<i64, i64>,
    lost_sessions: BTreeSet<i64>,
    /// Later records that could not be read, with the first one that shares a part with each.
    unread: BTreeMap<i64, i64>,
    /// Records whose bodies cannot be opened, where that is no reason to stop.
    unreadable: Option<Vec<i64>>,
    /// Two tables that say whose the records are.
    settled: TableCheck,
    salted: TableCheck,
}

/// State of the check of one session.
#[derive(Default)]
pub(crate) struct SessionCheck {
    pub(crate) first: i64,
    pub(crate) records: i64,
    pub(crate) head_seq: i64,
    pub(crate) last: i64,
    pub(crate) last_at: i64,
}

impl ChainCheck {
    fn new(origin: RecordHash, kept: Option<ChainHead>) -> Self {
        Self {
            kept,
            last: 0,
            hash: origin,
            sessions: BTreeMap::new(),
            erased: 0,
            compacted: 0,
            unvouched: BTreeMap::new(),
            lost_records: BTreeMap::new(),
            lost_sessions: BTreeSet::new(),
            unread: BTreeMap::new(),
            unreadable: None,
            settled: TableCheck::settled(),
            salted: TableCheck::salted(),
        }
    }

    /// Goes through the next page; `false` if that was the last.
    fn page(&mut self, moment: &Connection) -> Result<bool, StoreError> {
        let mut opener = RecordOpener::new(moment);
        let mut statement = moment
            .prepare_cached("SELECT first, records FROM record WHERE first > ?1 ORDER BY first")?;
        // Below 1 there is nothing, unless somebody put it there.
        let after = if self.last == 0 { i64::MIN } else { self.last };
        let (mut rows, begin) = (statement.query(params![after])?, self.last);
        let mut more = true;
        while more && self.last - begin < RECORDS_PER_STEP {
            match rows.next()? {
                Some(row) => {
                    let (first, records) = record_page::of_row(row)?;
                    self.row(first, records, &mut opener)?;
                }
                None => more = false,
            }
        }
        if self.unreadable.is_some() {
            // The tables are made anew.
            return Ok(more);
        }
        self.settled.compare(moment, session_ranges::settled_up_to(moment)?)?;
        self.salted.compare(moment, if more { i64::MAX } else { self.last })?;
        Ok(more)
    }

    fn row(
        &mut self,
        first: i64,
        records: PageRecords<'_>,
        opener: &mut RecordOpener<'_>,
    ) -> Result<(), StoreError> {
        if first <= self.last {
            return broken(first.max(0), RecordFlaw::Added);
        }
        let before = self.last;
        if first > before + 1 {
            return broken(before + 1, RecordFlaw::Missing);
        }
        for raw in records {
            self.record(&raw?, opener)?;
        }
        if self.last == before {
            return broken(first, RecordFlaw::Missing);
        }
        Ok(())
    }

    fn record(
        &mut self,
        raw: &RawRecord<'_>,
        opener: &mut RecordOpener<'_>,
    ) -> Result<(), StoreError> {
        let number = self.last + 1;
        if raw.number != number {
            let flaw = if raw.number > number { RecordFlaw::Missing } else { RecordFlaw::Edited };
            return broken(number, flaw);
        }
        if let StoredBody::Compacted(bytes) = raw.stored {
            return self.compacted(raw, bytes, opener);
        }
        let Some(session) = opener.identity(raw.session)? else {
            return broken(number, RecordFlaw::Session);
        };
        let hash = session.hash(raw.fields);
        if hash != raw.hash {
            return broken(number, RecordFlaw::Edited);
        }
        if raw.prev != self.hash {
            // It is whole, so what it remembers is right: the one before it is not.
            return match number {
                1 => broken(number, RecordFlaw::Edited),
                _ => broken(number - 1, RecordFlaw::Replaced { expected: raw.prev }),
            };
        }
        self.keep_head(number, hash)?;
        self.order(raw)?;
        self.open(raw, opener)?;
        if let Some(first) = self.unread.remove(&number) {
            // It can be read, so the one that shares a part with it is at fault.
            return broken(first, RecordFlaw::Unopened);
        }
        self.settled.see(raw.session);
        self.salted.see(raw.session);
        self.last = number;
        self.hash = hash;
        Ok(())
    }

    /// A record that stands for others. Its neighbors fit its hashes; that nobody else wrote it is for a later
    /// record to say.
    fn compacted(
        &mut self,
        raw: &RawRecord<'_>,
        bytes: &[u8],
        opener: &mut RecordOpener<'_>,
    ) -> Result<(), StoreError> {
        let Some(span) = CompactedSpan::read(raw.number, raw.hash, bytes) else {
            return broken(raw.number, RecordFlaw::Edited);
        };
        if raw.prev != self.hash {
            return match raw.number {
                1 => broken(1, RecordFlaw::Edited),
                number => broken(number - 1, RecordFlaw::Replaced { expected: raw.prev }),
            };
        }
        self.keep_head(span.from, span.first)?;
        self.keep_head(span.to, span.last)?;
        let kept = self.kept.map_or(0, |kept| int(kept.number.0));
        if span.from < kept && kept < span.to {
            return broken(kept, RecordFlaw::Compacted);
        }
        for it in &span.sessions {
            if opener.identity(it.session)?.is_none() {
                // Nothing is known of it any more, and other spans need not name it.
                continue;
            }
            let seen = self.sessions.entry(it.session).or_default();
            if it.seqs.0 != 0 && it.seqs.0 != seen.head_seq + 1 {
                let expected = count(seen.head_seq + 1);
                return broken(span.from, RecordFlaw::Seq { expected, got: count(it.seqs.0) });
            }
            seen.head_seq = seen.head_seq.max(it.seqs.1);
            seen.first = if seen.records == 0 { it.first } else { seen.first };
            seen.records += int(it.records);
            (seen.last, seen.last_at) = (it.last, it.last_at);
        }
        let digest = digest_of(raw.fields, &raw.hash).to_string();
        self.unvouched.insert(span.from, (span.to, digest));
        self.compacted += span.records();
        let sessions: Vec<i64> = span.sessions.iter().map(|it| it.session).collect();
        self.settled.see_gap(span.to, sessions);
        self.salted.see_gap(span.to, Vec::new());
        (self.last, self.hash) = (span.to, span.last);
        Ok(())
    }

    /// Whether records that were looked at were compacted meanwhile, with some that were not.
    fn is_overtaken(&self, moment: &Connection) -> Result<bool, StoreError> {
        let (next, mut overtaken) = (self.last.saturating_add(1), false);
        let damaged = record_page::each_reaching(moment, &(next..=next), &mut |raw| {
            overtaken = raw.number < next;
            Ok(ControlFlow::Break(()))
        });
        match damaged {
            // What is damaged is found in its place.
            Ok(_) | Err(StoreError::Damaged(_)) => Ok(overtaken),
            Err(error) => Err(error),
        }
    }

    fn keep_head(&self, number: i64, hash: RecordHash) -> Result<(), StoreError> {
        match self.kept {
            Some(kept) if int(kept.number.0) == number && kept.hash != hash => {
                broken(number, RecordFlaw::NotTheHead { kept: kept.hash })
            }
            _ => Ok(()),
        }
    }

    fn order(&mut self, raw: &RawRecord<'_>) -> Result<(), StoreError> {
        let seen = self.sessions.entry(raw.session).or_default();
        if let Some(seq) = raw.seq {
            if seq != seen.head_seq + 1 {
                let expected = count(seen.head_seq + 1);
                return broken(raw.number, RecordFlaw::Seq { expected, got: count(seq) });
            }
            seen.head_seq = seq;
        }
        if seen.records == 0 {
            seen.first = raw.number;
        }
        seen.records += 1;
        seen.last = raw.number;
        seen.last_at = raw.at;
        Ok(())
    }

    fn open(
        &mut self,
        raw: &RawRecord<'_>,
        opener: &mut RecordOpener<'_>,
    ) -> Result<(), StoreError> {
        match opener.body(raw)? {
            OpenedBody::Text(text) => self.hear(raw, &text),
            OpenedBody::NoKey => {
                self.erased += 1;
                let first = self.sessions.get(&raw.session).map_or(raw.number, |seen| seen.first);
                self.lost_sessions.insert(first);
            }
            OpenedBody::NoSalt(of) => {
                self.erased += 1;
                self.lost_records.entry(of).or_insert(raw.number);
            }
            OpenedBody::Wrong | OpenedBody::NoOther(_) | OpenedBody::NoBlob
                if self.unreadable.is_some() =>
            {
                self.unreadable.get_or_insert_default().push(raw.number);
            }
            // If it is at fault, that one is named: it comes later.
            OpenedBody::NoOther(number) if number > raw.number => {
                self.unread.entry(number).or_insert(raw.number);
            }
            OpenedBody::Wrong | OpenedBody::NoOther(_) => {
                return broken(raw.number, RecordFlaw::Unopened);
            }
            OpenedBody::NoBlob => return broken(raw.number, RecordFlaw::Blob),
        }
        Ok(())
    }

    /// A `forgot` record explains a loss, which always comes before it.
    fn hear(&mut self, raw: &RawRecord<'_>, text: &[u8]) {
        if raw.session == 0 && raw.kind == COMPACTION.as_bytes() {
            return self.vouch(text);
        }
        if raw.session != 0 || raw.kind != forget::FORGOT_KIND.as_bytes() {
            return;
        }
        if let Some(firsts) = text.strip_prefix(forget::MANY_SESSIONS.as_bytes()) {
            let firsts = String::from_utf8_lossy(firsts);
            let firsts = firsts.trim_end_matches(')').split(' ');
            for first in firsts.filter_map(|first| first.parse::<i64>().ok()) {
                self.lost_sessions.remove(&first);
            }
            return;
        }
        if let Some(numbers) = text.strip_prefix(forget::MANY_RECORDS.as_bytes()) {
            let numbers = String::from_utf8_lossy(numbers);
            let numbers = numbers.trim_end_matches(')').split(' ');
            for number in numbers.filter_map(|number| number.parse::<i64>().ok()) {
                self.lost_records.remove(&number);
            }
            return;
        }
        let Some(cause) = raw.cause else { return };
        if text.starts_with(forget::WHOLE_SESSION.as_bytes()) {
            self.lost_sessions.remove(&cause);
        } else {
            self.lost_records.remove(&cause);
        }
    }

    /// A `compaction` record vouches for those that it names, which always come before it.
    fn vouch(&mut self, text: &[u8]) {
        for (from, to, digest) in vouched_for(&String::from_utf8_lossy(text)) {
            if self.unvouched.get(&from).is_some_and(|it| *it == (to, digest)) {
                self.unvouched.remove(&from);
            }
        }
    }

    /// After the last record: is anything missing, and do the tables agree?
    fn end(&self, moment: &Connection) -> Result<(), StoreError> {
        if let Some(kept) = self.kept
            && int(kept.number.0) > self.last
        {
            return broken(self.last + 1, RecordFlaw::Missing);
        }
        let lost = self.lost_records.values().chain(self.unread.values());
        let lost = lost.chain(&self.lost_sessions).min();
        if let Some(lost) = lost {
            return broken(*lost, RecordFlaw::Unopened);
        }
        if let Some(unvouched) = self.unvouched.keys().next() {
            return broken(*unvouched, RecordFlaw::Unvouched);
        }
        self.compare_salts(moment)?;
        self.compare_sessions(moment)?;
        self.compare_milestones(moment)?;
        let flaws = [self.settled.end(moment)?, self.salted.end(moment)?];
        if let Some(number) = flaws.into_iter().flatten().min() {
            return broken(number, RecordFlaw::Place);
        }
        let answer: String =
            moment.query_row("PRAGMA integrity_check('record')", [], |row| row.get(0))?;
        if answer != "ok" {
            return Err(StoreError::Damaged(answer.into()));
        }
        Ok(())
    }

    /// Every record has a salt: more salts than records means that the last ones were cut off.
    fn compare_salts(&self, moment: &Connection) -> Result<(), StoreError> {
        let (first, bytes): (i64, i64) = moment
            .prepare_cached("SELECT first, length(salts) FROM salt ORDER BY first DESC LIMIT 1")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?
            .unwrap_or_default();
        let salts = bytes / int(SALT_BYTES as u64);
        if first.saturating_add(salts) > self.last + 1 {
            return broken(self.last + 1, RecordFlaw::Missing);
        }
        Ok(())
    }

    fn compare_sessions(&self, moment: &Connection) -> Result<(), StoreError> {
        let mut statement = moment.prepare_cached(
            "SELECT id, records, head_seq, last, last_at, forgotten FROM session ORDER BY id",
        )?;
        let tails = session_tail::all(moment)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let none = SessionCheck::default();
            let seen = self.sessions.get(&row.get(0)?).unwrap_or(&none);
            let (records, head_seq) = (row.get(1)?, row.get(2)?);
            if row.get(5)? && records == 0 && self.compacted > 0 {
                // All that is left of it is its id.
                continue;
            }
            let mut told =
                SessionTail { records, head_seq, last: row.get(3)?, last_at: row.get(4)? };
            if told.last > self.last {
                return broken(self.last + 1, RecordFlaw::Missing);
            }
            if let Some(tail) = tails.of.get(&row.get(0)?) {
                told.add(tail);
            }
            let agrees = told.records == seen.records
                && told.head_seq == seen.head_seq
                && told.last == seen.last
                && (told.last_at == seen.last_at || seen.records == 0);
            if !agrees {
                return broken(seen.last.max(1), RecordFlaw::Session);
            }
        }
        Ok(())
    }

    /// Milestones that are missing only make readers slower; one that is wrong would hide records.
    fn compare_milestones(&self, moment: &Connection) -> Result<(), StoreError> {
        let mut statement =
            moment.prepare_cached("SELECT session, seq, number FROM milestone ORDER BY number")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (session, seq, number): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let there = record_page::whose(moment, number)?;
            let first = self.sessions.get(&session).map(|seen| seen.first);
            if !(there == Some((session, Some(seq))) || seq == 0 && first == Some(number)) {
                return broken(number, RecordFlaw::Session);
            }
        }
        Ok(())
    }

    /// Names the record that cannot be read: where the file itself is damaged, it is the next one.
    fn place(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Damaged(what) => BrokenRecord {
                number: RecordNumber(count(self.last + 1)),
                flaw: RecordFlaw::Damaged(what),
            }
            .into(),
            error => error,
        }
    }

    fn verified(&self) -> VerifyReport {
        VerifyReport {
            head: ChainHead { number: RecordNumber(count(self.last)), hash: self.hash },
            sessions: self.sessions.keys().filter(|id| **id != 0).count() as u64,
            erased: self.erased,
            compacted: self.compacted,
        }
    }
}

/// Returns the number of the last page: near enough to the last record to report progress, and found without
/// reading bytes that may be damaged.
fn last_leaf(moment: &Connection) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(max(first), 0) FROM record";
    Ok(moment.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

fn broken<T>(number: i64, flaw: RecordFlaw) -> Result<T, StoreError> {
    Err(BrokenRecord { number: RecordNumber(count(number)), flaw }.into())
}
