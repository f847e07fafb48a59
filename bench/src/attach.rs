//! What history costs: `bridle-bench attach`. The time from the start of the daemon to its accepting
//! connections, with an empty record and with one of a gibibyte; the time of a shell that comes back and
//! has missed ten thousand events; the time to print them as an Org document.

use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bridle_record::{NewRecord, NewSessionRow, RecordAppend, RecordStore, StoreOptions};

use crate::Options;
use crate::report::{Bound, Cell, Table, Verdict};
use crate::servers::Server;
use crate::shells::{Crowd, attach_one};
use crate::stats::Spread;

/// The large record: at least this many bytes on disk.
const RECORD_BYTES: u64 = 1 << 30;

/// Number of sessions in it.
const SESSIONS: usize = 1_000;
const BODY_BYTES: usize = 2_000;

/// Records made in one commit while it is filled.
const BATCH: usize = 1_000;

/// Events that the shell has missed: half of them prompts, half answers.
const MISSED: u64 = 10_000;

/// Targets in milliseconds.
const START_TARGET: f64 = 50.0;
const REATTACH_TARGET: f64 = 100.0;
const EXPORT_TARGET: f64 = 1_000.0;

/// Name of the session with the missed events.
const SESSION: &str = "missed-0";

/// Measures starts, reattachments and the export.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let mut table = Table::new("What history costs (ms)", ["what", "median", "lowest", "highest"]);
    let mut show = |what: String, samples: &[f64], target: f64| {
        let spread = Spread::of(samples);
        let numbers = [spread.median, spread.low, spread.high];
        let cells = numbers.into_iter().map(|number| Cell::Number(number, 1));
        table.push(std::iter::once(Cell::text(what.as_str())).chain(cells).collect());
        verdicts.push(Verdict {
            what: format!("{what}: ms"),
            target,
            got: spread.median,
            bound: Bound::AtMost,
        });
    };
    let empty = tempfile::tempdir()?;
    let starts = measure(options, || start(options, empty.path()))?;
    show("start to accepting, empty record".to_owned(), &starts, START_TARGET);
    let large = tempfile::tempdir()?;
    let bytes = if options.quick { RECORD_BYTES / 64 } else { RECORD_BYTES };
    fill(&large.path().join("state"), bytes)?;
    let starts = measure(options, || start(options, large.path()))?;
    show(format!("start to accepting, record of {} MiB", bytes >> 20), &starts, START_TARGET);

    let folder = tempfile::tempdir()?;
    let server = Server::bridle_in(&options.bridle, folder.path())?;
    miss(&server)?;
    let warm = measure(options, || reattach(server.exchange.address))?;
    show(format!("reattach, {MISSED} events missed, daemon in use"), &warm, REATTACH_TARGET);
    drop(server);
    let cold = measure(options, || {
        let server = Server::bridle_in(&options.bridle, folder.path())?;
        reattach(server.exchange.address)
    })?;
    show(format!("reattach, {MISSED} events missed, daemon just started"), &cold, REATTACH_TARGET);
    let export = measure(options, || export(options, folder.path()))?;
    show(format!("log export --org, {MISSED} events"), &export, EXPORT_TARGET);
    tables.push(table);
    Ok(())
}

/// Milliseconds of each round; the first is not counted.
fn measure(options: &Options, mut step: impl FnMut() -> Result<Duration>) -> Result<Vec<f64>> {
    step()?;
    let rounds = options.load_rounds();
    (0..rounds).map(|_| step().map(|time| time.as_secs_f64() * 1e3)).collect()
}

/// From the start of the process to the line that says it accepts.
fn start(options: &Options, folder: &Path) -> Result<Duration> {
    let begin = Instant::now();
    let server = Server::bridle_started(&options.bridle, folder)?;
    let time = begin.elapsed();
    drop(server);
    Ok(time)
}

/// Fills a record with sessions that have ended, until it has `bytes`.
fn fill(state: &Path, bytes: u64) -> Result<()> {
    std::fs::create_dir_all(state)?;
    let mut store = RecordStore::open(state, &StoreOptions::default())?;
    let body = format!("(:text \"{}\")", "x".repeat(BODY_BYTES));
    let mut seqs = vec![0; SESSIONS];
    let begin: Vec<RecordAppend> = (0..SESSIONS)
        .map(|index| {
            let name = format!("old-{index}");
            let began = NewRecord::new(&name, "began", 1, "tcp", "()");
            let new = NewSessionRow { name: name.into(), owner: "tcp".into(), at: 1 };
            RecordAppend { session: Some(new), drafts: vec![began], ..RecordAppend::default() }
        })
        .collect();
    store.commit(&begin)?;
    let mut at = 1;
    while std::fs::metadata(state.join("record.db"))?.len() < bytes {
        at += 1;
        let drafts = (0..BATCH).map(|index| {
            let session = index % SESSIONS;
            seqs[session] += 1;
            NewRecord::new(&format!("old-{session}"), "signal", at, "tcp", body.as_str())
                .numbered(seqs[session])
        });
        store.commit(&[RecordAppend { drafts: drafts.collect(), ..RecordAppend::default() }])?;
    }
    Ok(())
}

/// Makes the events to be missed: prompts and their answers.
fn miss(server: &Server) -> Result<()> {
    let mut crowd = Crowd::attach(server.exchange.address, 1, "missed")?;
    let mut answers = Vec::new();
    for _ in 0..MISSED / 2 {
        crowd.ask(0, "help")?;
        while answers.is_empty() {
            crowd.hear(Duration::from_secs(10), &mut answers)?;
        }
        answers.clear();
    }
    Ok(())
}

/// Attaches with the cursor at zero and reads until the last number has come.
fn reattach(address: SocketAddr) -> Result<Duration> {
    let begin = Instant::now();
    let mut stream = attach_one(address, 1, SESSION, Some(0))?;
    // In the meta of the last event, and nowhere else.
    let last = format!(":seq {MISSED} :at ");
    let mut bytes = vec![0; 1 << 20];
    let mut tail: Vec<u8> = Vec::new();
    loop {
        let count = stream.read(&mut bytes).context("the daemon stopped in the middle")?;
        ensure!(count > 0, "the daemon closed the connection");
        tail.extend_from_slice(&bytes[..count]);
        // What was looked at is not looked at again, but for what may be the beginning of the mark.
        if tail.windows(last.len()).any(|window| window == last.as_bytes()) {
            return Ok(begin.elapsed());
        }
        tail.drain(..tail.len().saturating_sub(last.len()));
    }
}

fn export(options: &Options, folder: &Path) -> Result<Duration> {
    let begin = Instant::now();
    let output = Command::new(&options.bridle)
        .args(["log", "export", "--org", "--session", SESSION, "--state"])
        .arg(folder.join("state"))
        .stdin(Stdio::null())
        .output()
        .context("cannot export")?;
    let time = begin.elapsed();
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.stdout.len() as u64 > MISSED, "hardly anything is exported");
    Ok(time)
}
