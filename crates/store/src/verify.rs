//! Is the record what was written? Reads all of it in order, recomputes every hash, opens every body,
//! and names the first record that is wrong. Called by `log verify` through [`Reader::verify`]; takes
//! no lock, so the daemon may write on.

mod places;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use self::places::Places;
use crate::error::{Broken, Error, Flaw};
use crate::forget;
use crate::leaf::{self, Raw, Records};
use crate::reader::{Opened, Opener, Reader};
use crate::record::{Hash, Head, Number};
use crate::schema::{count, int};
use crate::seal::SALT;
use crate::tail::{self, Tail};

/// Records looked at within one moment: long ones would keep the log from being shortened.
const PAGE: i64 = 1024;

/// What a record without a flaw amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// The last record: worth keeping elsewhere.
    pub head: Head,
    /// How many sessions wrote it, the daemon itself not counted.
    pub sessions: u64,
    /// How many records cannot be read any more, because they were forgotten.
    pub erased: u64,
}

impl Reader {
    /// Checks every record. `kept` is a head that was kept elsewhere: without one, a tail that was cut
    /// off along with all traces of it cannot be noticed. `progress` hears how many records are done,
    /// and of how many.
    ///
    /// # Errors
    ///
    /// [`Error::Broken`] names the first record that is not as it was written. [`Error::Damaged`]: every
    /// record is, but the file's lookup tables are not.
    pub fn verify(
        &self,
        kept: Option<Head>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Verified, Error> {
        let mut check = Check::new(self.origin()?, kept);
        loop {
            let moment = self.moment()?;
            let more = check.page(&moment).map_err(|error| check.place(error))?;
            progress(count(check.last), count(check.last.max(last_leaf(&moment)?)));
            if !more {
                check.end(&moment)?;
                return Ok(check.verified());
            }
        }
    }
}

/// What was seen so far.
struct Check {
    kept: Option<Head>,
    /// Number and hash of the last record seen.
    last: i64,
    hash: Hash,
    sessions: BTreeMap<i64, Seen>,
    erased: u64,
    /// Records without a salt, with the first one that cannot be read for it, and sessions without a key
    /// (by their first record): a `forgot` record must say so.
    lost_records: BTreeMap<i64, i64>,
    lost_sessions: BTreeSet<i64>,
    /// Later records that could not be read, with the first one that shares a part with each.
    unread: BTreeMap<i64, i64>,
    /// Two tables that say whose the records are.
    settled: Places,
    salted: Places,
}

/// What was seen of a session.
#[derive(Default)]
struct Seen {
    first: i64,
    records: i64,
    head_seq: i64,
    last: i64,
    last_at: i64,
}

impl Check {
    fn new(origin: Hash, kept: Option<Head>) -> Self {
        Self {
            kept,
            last: 0,
            hash: origin,
            sessions: BTreeMap::new(),
            erased: 0,
            lost_records: BTreeMap::new(),
            lost_sessions: BTreeSet::new(),
            unread: BTreeMap::new(),
            settled: Places::settled(),
            salted: Places::salted(),
        }
    }

    /// Goes through the next page; `false` if that was the last.
    fn page(&mut self, moment: &Connection) -> Result<bool, Error> {
        let mut opener = Opener::new(moment);
        let mut statement = moment
            .prepare_cached("SELECT first, records FROM record WHERE first > ?1 ORDER BY first")?;
        // Below 1 there is nothing, unless somebody put it there.
        let after = if self.last == 0 { i64::MIN } else { self.last };
        let (mut rows, begin) = (statement.query(params![after])?, self.last);
        let mut more = true;
        while more && self.last - begin < PAGE {
            match rows.next()? {
                Some(row) => {
                    let (first, records) = leaf::of_row(row)?;
                    self.leaf(first, records, &mut opener)?;
                }
                None => more = false,
            }
        }
        self.settled.compare(moment, tail::settled(moment)?)?;
        self.salted.compare(moment, if more { i64::MAX } else { self.last })?;
        Ok(more)
    }

    fn leaf(
        &mut self,
        first: i64,
        records: Records<'_>,
        opener: &mut Opener<'_>,
    ) -> Result<(), Error> {
        if first <= self.last {
            return broken(first.max(0), Flaw::Added);
        }
        let before = self.last;
        if first > before + 1 {
            return broken(before + 1, Flaw::Missing);
        }
        for raw in records {
            self.record(&raw?, opener)?;
        }
        if self.last == before {
            return broken(first, Flaw::Missing);
        }
        Ok(())
    }

    fn record(&mut self, raw: &Raw<'_>, opener: &mut Opener<'_>) -> Result<(), Error> {
        let number = self.last + 1;
        if raw.number != number {
            let flaw = if raw.number > number { Flaw::Missing } else { Flaw::Edited };
            return broken(number, flaw);
        }
        let Some(session) = opener.identity(raw.session)? else {
            return broken(number, Flaw::Session);
        };
        let hash = session.hash(raw.fields);
        if hash != raw.hash {
            return broken(number, Flaw::Edited);
        }
        if raw.prev != self.hash {
            // It is whole, so what it remembers is right: the one before it is not.
            return match number {
                1 => broken(number, Flaw::Edited),
                _ => broken(number - 1, Flaw::Replaced { expected: raw.prev }),
            };
        }
        self.keep_head(number, hash)?;
        self.order(raw)?;
        self.open(raw, opener)?;
        if let Some(first) = self.unread.remove(&number) {
            // It can be read, so the one that shares a part with it is at fault.
            return broken(first, Flaw::Unopened);
        }
        self.settled.see(raw.session);
        self.salted.see(raw.session);
        self.last = number;
        self.hash = hash;
        Ok(())
    }

    fn keep_head(&self, number: i64, hash: Hash) -> Result<(), Error> {
        match self.kept {
            Some(kept) if int(kept.number.0) == number && kept.hash != hash => {
                broken(number, Flaw::NotTheHead { kept: kept.hash })
            }
            _ => Ok(()),
        }
    }

    fn order(&mut self, raw: &Raw<'_>) -> Result<(), Error> {
        let seen = self.sessions.entry(raw.session).or_default();
        if let Some(seq) = raw.seq {
            if seq != seen.head_seq + 1 {
                let expected = count(seen.head_seq + 1);
                return broken(raw.number, Flaw::Seq { expected, got: count(seq) });
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

    fn open(&mut self, raw: &Raw<'_>, opener: &mut Opener<'_>) -> Result<(), Error> {
        match opener.body(raw)? {
            Opened::Text(text) => self.hear(raw, &text),
            Opened::NoKey => {
                self.erased += 1;
                let first = self.sessions.get(&raw.session).map_or(raw.number, |seen| seen.first);
                self.lost_sessions.insert(first);
            }
            Opened::NoSalt(of) => {
                self.erased += 1;
                self.lost_records.entry(of).or_insert(raw.number);
            }
            // If it is at fault, that one is named: it comes later.
            Opened::NoOther(number) if number > raw.number => {
                self.unread.entry(number).or_insert(raw.number);
            }
            Opened::Wrong | Opened::NoOther(_) => return broken(raw.number, Flaw::Unopened),
            Opened::NoBlob => return broken(raw.number, Flaw::Blob),
        }
        Ok(())
    }

    /// A `forgot` record explains a loss, which always comes before it.
    fn hear(&mut self, raw: &Raw<'_>, text: &[u8]) {
        if raw.session != 0 || raw.kind != forget::KIND.as_bytes() {
            return;
        }
        let Some(cause) = raw.cause else { return };
        if text.starts_with(forget::WHOLE_SESSION.as_bytes()) {
            self.lost_sessions.remove(&cause);
        } else {
            self.lost_records.remove(&cause);
        }
    }

    /// After the last record: is anything missing, and do the tables agree?
    fn end(&self, moment: &Connection) -> Result<(), Error> {
        if let Some(kept) = self.kept
            && int(kept.number.0) > self.last
        {
            return broken(self.last + 1, Flaw::Missing);
        }
        let lost = self.lost_records.values().chain(self.unread.values());
        let lost = lost.chain(&self.lost_sessions).min();
        if let Some(lost) = lost {
            return broken(*lost, Flaw::Unopened);
        }
        self.compare_salts(moment)?;
        self.compare_sessions(moment)?;
        self.compare_milestones(moment)?;
        let flaws = [self.settled.end(moment)?, self.salted.end(moment)?];
        if let Some(number) = flaws.into_iter().flatten().min() {
            return broken(number, Flaw::Place);
        }
        let answer: String =
            moment.query_row("PRAGMA integrity_check('record')", [], |row| row.get(0))?;
        if answer != "ok" {
            return Err(Error::Damaged(answer.into()));
        }
        Ok(())
    }

    /// Every record has a salt: more salts than records means that the last ones were cut off.
    fn compare_salts(&self, moment: &Connection) -> Result<(), Error> {
        let (first, bytes): (i64, i64) = moment
            .prepare_cached("SELECT first, length(salts) FROM salt ORDER BY first DESC LIMIT 1")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?
            .unwrap_or_default();
        let salts = bytes / int(SALT as u64);
        if first.saturating_add(salts) > self.last + 1 {
            return broken(self.last + 1, Flaw::Missing);
        }
        Ok(())
    }

    fn compare_sessions(&self, moment: &Connection) -> Result<(), Error> {
        let mut statement = moment.prepare_cached(
            "SELECT id, records, head_seq, last, last_at FROM session ORDER BY id",
        )?;
        let tails = tail::all(moment)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let none = Seen::default();
            let seen = self.sessions.get(&row.get(0)?).unwrap_or(&none);
            let (records, head_seq) = (row.get(1)?, row.get(2)?);
            let mut told = Tail { records, head_seq, last: row.get(3)?, last_at: row.get(4)? };
            if told.last > self.last {
                return broken(self.last + 1, Flaw::Missing);
            }
            if let Some(tail) = tails.of.get(&row.get(0)?) {
                told.add(tail);
            }
            let agrees = told.records == seen.records
                && told.head_seq == seen.head_seq
                && told.last == seen.last
                && (told.last_at == seen.last_at || seen.records == 0);
            if !agrees {
                return broken(seen.last.max(1), Flaw::Session);
            }
        }
        Ok(())
    }

    /// Milestones that are missing only make readers slower; one that is wrong would hide records.
    fn compare_milestones(&self, moment: &Connection) -> Result<(), Error> {
        let mut statement =
            moment.prepare_cached("SELECT session, seq, number FROM milestone ORDER BY number")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (session, seq, number): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let there = leaf::whose(moment, number)?;
            let first = self.sessions.get(&session).map(|seen| seen.first);
            if !(there == Some((session, Some(seq))) || seq == 0 && first == Some(number)) {
                return broken(number, Flaw::Session);
            }
        }
        Ok(())
    }

    /// Where the file itself is damaged, the next record is the one that cannot be read.
    fn place(&self, error: Error) -> Error {
        match error {
            Error::Damaged(what) => {
                Broken { number: Number(count(self.last + 1)), flaw: Flaw::Damaged(what) }.into()
            }
            error => error,
        }
    }

    fn verified(&self) -> Verified {
        Verified {
            head: Head { number: Number(count(self.last)), hash: self.hash },
            sessions: self.sessions.keys().filter(|id| **id != 0).count() as u64,
            erased: self.erased,
        }
    }
}

/// Where the last leaf begins: near enough to the last record to say how far one is, and told without
/// reading what may be damaged.
fn last_leaf(moment: &Connection) -> Result<i64, Error> {
    let sql = "SELECT coalesce(max(first), 0) FROM record";
    Ok(moment.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

fn broken<T>(number: i64, flaw: Flaw) -> Result<T, Error> {
    Err(Broken { number: Number(count(number)), flaw }.into())
}
