//! From an event to its answer through the whole loop, every record durable before it is acted on:
//! `bridle-bench turns`. A thousand shells are attached, 64 of them talk; beside them, in the same run,
//! a bare SQLite loop that commits each row by itself, which is what one answer without group commit
//! would cost at least.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::Options;
use crate::bare::Bare;
use crate::report::{Bound, Cell, Table, Verdict};
use crate::servers::Server;
use crate::shells::{Crowd, Pushed};
use crate::stats::{Spread, quantile};

/// Attached shells, and those of them that talk.
const ATTACHED: usize = 1_000;
const ACTIVE: usize = 64;

/// Prompts per second of all active shells together when they are paced: each asks about every 64 ms, then
/// 13, then 6.
const PACES: [u32; 3] = [1_000, 5_000, 10_000];

/// Prompt of the shells; the built-in thinker answers it without a model.
const PROMPT: &str = "help";

/// Bytes of a row of the bare loop: about what the records of one prompt and its answer hold.
const ROW_BYTES: usize = 1_024;

/// Target for the answers of all rounds, in milliseconds.
const P99_TARGET: f64 = 5.0;

/// Measures rounds of both, in turn.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let time = options.load_time();
    let server = Server::bridle(&options.bridle)?;
    let mut crowd = Crowd::attach(server.exchange.address, ATTACHED, "turn")?;
    let folder = tempfile::tempdir()?;
    let mut bare = Bare::create(&folder.path().join("bare.db"))?;
    // Unmeasured: threads start, buffers grow, sessions are created.
    crowd.push(ACTIVE, time / 4, PROMPT)?;
    let (mut pushed, mut alone) = (Vec::new(), Vec::new());
    let mut paced: [Vec<Pushed>; PACES.len()] = Default::default();
    for _ in 0..options.load_rounds() {
        pushed.push(crowd.push(ACTIVE, time, PROMPT)?);
        for (rounds, pace) in paced.iter_mut().zip(PACES) {
            rounds.push(crowd.pace(ACTIVE, time, PROMPT, pace)?);
        }
        alone.push(commit_each(&mut bare, time)?);
    }
    let title = format!(
        "Event to answer, durable: {ATTACHED} shells attached, {ACTIVE} of them active (ms; medians of {} rounds)",
        options.load_rounds()
    );
    let mut table = Table::new(title, ["what", "per second", "p50", "p99", "p99.9", "worst"]);
    table.push(row("bridle up, each asks again at once", &pushed));
    for (rounds, pace) in paced.iter().zip(PACES) {
        table.push(row(&format!("bridle up, {pace} prompts a second"), rounds));
    }
    table.push(row("bare SQLite, one row a commit, one writer", &alone));
    tables.push(table);
    let paced =
        paced.iter().zip(PACES).map(|(rounds, pace)| (format!("at {pace} a second"), rounds));
    for (what, rounds) in [("asking at once".to_owned(), &pushed)].into_iter().chain(paced) {
        verdicts.push(Verdict {
            what: format!("event to answer, {ACTIVE} of {ATTACHED} shells {what}: p99 ms"),
            target: P99_TARGET,
            got: median(rounds, |round| quantile(&round.latencies, 0.99)),
            bound: Bound::AtMost,
        });
    }
    Ok(())
}

/// Has all active shells ask a daemon that is there already, each again at once.
pub fn push(address: SocketAddr, time: Duration) -> Result<Pushed> {
    Crowd::attach(address, ATTACHED, "turn")?.push(ACTIVE, time, PROMPT)
}

fn commit_each(bare: &mut Bare, time: Duration) -> Result<Pushed> {
    let body = vec![b'x'; ROW_BYTES];
    let begin = Instant::now();
    let mut latencies = Vec::new();
    while begin.elapsed() < time {
        let start = Instant::now();
        bare.commit(std::slice::from_ref(&body))?;
        latencies.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Pushed::new(latencies, begin.elapsed()))
}

fn row(name: &str, rounds: &[Pushed]) -> Vec<Cell> {
    let at = |share| Cell::Number(median(rounds, |round| quantile(&round.latencies, share)), 2);
    vec![
        Cell::text(name),
        Cell::Number(median(rounds, |round| round.per_second), 0),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
    ]
}

fn median(rounds: &[Pushed], of: impl Fn(&Pushed) -> f64) -> f64 {
    Spread::of(&rounds.iter().map(of).collect::<Vec<_>>()).median
}
