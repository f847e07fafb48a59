//! How many messages a second are admitted durably: `bridle-bench store`. One admission is one signal
//! with its receipt. Many in a commit, as the daemon's keeper does it under load; each in its own; and a
//! bare SQLite table with rows of the same size, in transactions of the same size.

use std::time::{Duration, Instant};

use anyhow::Result;
use bridle_record::{
    MessageReceipt, NewRecord, NewSessionRow, RecordAppend, RecordStore, StoreOptions, hash_text,
};

use crate::Options;
use crate::bare::Bare;
use crate::report::{Bound, Cell, Table, Verdict};
use crate::stats::Spread;

/// Admissions in a commit: the active shells of the other measurements.
const BATCH: usize = 64;

/// Bytes of a body: a prompt of a few lines with its envelope.
const BODY_BYTES: usize = 512;

/// Targets: how many times as fast as a commit each, and as the bare table.
const GROUP_TARGET: f64 = 5.0;
const BARE_TARGET: f64 = 0.5;

/// Measures all four in turn, round by round.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut record = Writer::create(&folder.path().join("record"))?;
    let mut bare = Bare::create(&folder.path().join("bare.db"))?;
    let body = vec![b'x'; BODY_BYTES];
    let many = vec![body.clone(); BATCH];
    let one = vec![body; 1];
    let time = options.store_time();
    let mut rates: [Vec<f64>; 4] = Default::default();
    for _ in 0..options.load_rounds() {
        rates[0].push(rate(BATCH, time, || record.commit(BATCH))?);
        rates[1].push(rate(1, time, || record.commit(1))?);
        rates[2].push(rate(BATCH, time, || bare.commit(&many))?);
        rates[3].push(rate(1, time, || bare.commit(&one))?);
    }
    let names = [
        format!("record, {BATCH} in a commit"),
        "record, one commit each".to_owned(),
        format!("bare SQLite, {BATCH} in a commit"),
        "bare SQLite, one commit each".to_owned(),
    ];
    let title = format!("Durable admissions a second, bodies of {BODY_BYTES} bytes");
    let mut table = Table::new(title, ["what", "median", "lowest", "highest", "us each"]);
    let spreads = rates.map(|samples| Spread::of(&samples));
    for (name, spread) in names.into_iter().zip(&spreads) {
        table.push(vec![
            Cell::Text(name),
            Cell::Number(spread.median, 0),
            Cell::Number(spread.low, 0),
            Cell::Number(spread.high, 0),
            Cell::Number(1e6 / spread.median, 1),
        ]);
    }
    tables.push(table);
    let [grouped, each, bare_grouped, _] = spreads;
    verdicts.push(Verdict {
        what: format!("durable admissions, {BATCH} in a commit over one commit each"),
        target: GROUP_TARGET,
        got: grouped.median / each.median,
        bound: Bound::AtLeast,
    });
    verdicts.push(Verdict {
        what: format!("durable admissions, {BATCH} in a commit over bare SQLite"),
        target: BARE_TARGET,
        got: grouped.median / bare_grouped.median,
        bound: Bound::AtLeast,
    });
    Ok(())
}

/// Things per second, `count` of them in each call of `step`.
fn rate(count: usize, time: Duration, mut step: impl FnMut() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    let mut done = 0;
    while begin.elapsed() < time {
        step()?;
        done += count;
    }
    #[expect(clippy::cast_precision_loss, reason = "far fewer rows than an f64 can count")]
    let done = done as f64;
    Ok(done / begin.elapsed().as_secs_f64())
}

/// The record with one session for each message of a batch, as if each came from another shell.
struct Writer {
    store: RecordStore,
    /// The last number of each session.
    seqs: Vec<u64>,
    at: i64,
}

impl Writer {
    fn create(folder: &std::path::Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let mut store = RecordStore::open(folder, &StoreOptions::default())?;
        let sessions: Vec<RecordAppend> = (0..BATCH)
            .map(|index| {
                let name = session(index);
                let begun = NewRecord::new(&name, "began", 1, "bench", "()");
                let new = NewSessionRow { name: name.into(), owner: "bench".into(), at: 1 };
                RecordAppend { session: Some(new), drafts: vec![begun], ..RecordAppend::default() }
            })
            .collect();
        store.commit(&sessions)?;
        Ok(Self { store, seqs: vec![0; BATCH], at: 1 })
    }

    /// Admits the next message of the first `count` sessions, in one commit. Making the messages is
    /// part of the time.
    fn commit(&mut self, count: usize) -> Result<()> {
        self.at += 1;
        let appends: Vec<RecordAppend> = (0..count).map(|index| self.admission(index)).collect();
        self.store.commit(&appends)?;
        Ok(())
    }

    fn admission(&mut self, index: usize) -> RecordAppend {
        self.seqs[index] += 1;
        let (name, seq) = (session(index), self.seqs[index]);
        let body = "x".repeat(BODY_BYTES);
        let message = hash_text(&format!("bench 00000000-0000-4000-8000-000000000001 {seq}"));
        let receipt = MessageReceipt { message, body: hash_text(&body) };
        let signal = NewRecord::new(&name, "signal", self.at, "bench", body).numbered(seq);
        RecordAppend { drafts: vec![signal.known_by(receipt)], ..RecordAppend::default() }
    }
}

fn session(index: usize) -> String {
    format!("bench-{index}")
}
