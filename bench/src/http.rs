//! Requests over HTTP beside a bare axum handler: `bridle-bench http`.
//!
//! The same client asks both, in turn: 200 kept connections, each asking again at once, and at fixed
//! rates. The daemon records, judges and answers every request durably; the bare handler reads the JSON
//! and writes an answer of the same shape. The same once more from a client that others wrote. Then what a
//! stream costs that waits.

mod bare;
mod load;
mod streams;
mod wrk;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

pub use bare::serve;
use load::{HttpLoad, LoadCrowd, Sessions, post};

use crate::Options;
use crate::client::{self, Greeting};
use crate::idle::{mebibytes, raise_open_files};
use crate::report::{Bound, Cell, Table, Verdict};
use crate::servers::Server;
use crate::shells::Pushed;
use crate::stats::{Spread, quantile};

/// Connections of every load.
const CONNECTIONS: usize = 200;

/// Requests per second of all connections together when they are paced.
const PACES: [u32; 2] = [1_000, 2_000];

/// Measured time of one paced load.
const TIME: Duration = Duration::from_secs(2);

/// Factor on the duration when each asks again at once: it takes a second or two until all is warm again that
/// the others took from the caches.
const LONGER_AT_ONCE: u32 = 3;

/// Number of sides that wrk asks: the bare handler, and a session for each connection.
const ASKED: usize = 2;

/// Targets: the share of the bare handler's rate, milliseconds, and KiB of a stream that waits.
const RATE_TARGET: f64 = 0.3;
const P99_TARGET: f64 = 10.0;
const STREAM_TARGET: f64 = 32.0;

/// Server and client of one measurement. Each has a server of its own: sessions that one way of asking begins
/// would push those of another out of memory.
struct Side {
    name: &'static str,
    server: Server,
    crowd: LoadCrowd,
    pushed: Vec<HttpLoad>,
    asked: Vec<wrk::Asked>,
    paced: [Vec<HttpLoad>; PACES.len()],
}

/// Measures rounds of both, in turn.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    raise_open_files()?;
    let time = if options.quick { TIME / 4 } else { TIME };
    let mut sides = sides(&options.bridle)?;
    for side in &mut sides {
        // Unmeasured: threads start, buffers grow, sessions are created.
        side.crowd.push(time / 4)?;
    }
    // Those that are compared, close together: a shared machine is slower by a third a minute later.
    for _ in 0..options.load_rounds() {
        for side in &mut sides {
            side.pushed.push(side.crowd.push(LONGER_AT_ONCE * time)?);
        }
    }
    for _ in 0..options.load_rounds() {
        for side in &mut sides {
            for (paced, rate) in side.paced.iter_mut().zip(PACES) {
                paced.push(side.crowd.pace(time, rate)?);
            }
        }
    }
    // Last: connections that are not used meanwhile are closed.
    for round in 0..options.load_rounds() {
        for side in sides.iter_mut().take(ASKED) {
            let address = side.server.exchange.address;
            side.asked.push(wrk::ask(address, CONNECTIONS, round, LONGER_AT_ONCE * time)?);
        }
    }
    tables.push(table(&sides, options.load_rounds()));
    tables.push(asked(&sides[..ASKED], options.load_rounds()));
    judge(&sides, verdicts);
    drop(sides);
    hold(&options.bridle, tables, verdicts)
}

/// Has all connections ask a server that is there already, each again at once.
pub fn push(way: &str, address: SocketAddr, time: Duration) -> Result<Pushed> {
    let sessions = match way {
        "own" => Sessions::Own,
        "common" => Sessions::Common,
        "none" => Sessions::None,
        other => bail!("expected loop, own, common or none, got `{other}`"),
    };
    Ok(LoadCrowd::connect(address, CONNECTIONS, sessions)?.push(time)?.answered)
}

fn sides(binary: &Path) -> Result<Vec<Side>> {
    let daemons = [
        ("bridle up, a session each", Sessions::Own),
        ("bridle up, one session for all", Sessions::Common),
        ("bridle up, each request its own session", Sessions::None),
    ];
    let daemon = |(name, sessions)| Side::new(name, Server::bridle_http(binary, &[])?, sessions);
    let mut sides = daemons.into_iter().map(daemon).collect::<Result<Vec<_>>>()?;
    let folder = tempfile::tempdir()?;
    let answer = folder.path().join("answer.json");
    let asked = sides.first().context("no daemon")?;
    std::fs::write(&answer, example(asked.server.exchange.address)?)?;
    sides.insert(0, Side::new("bare axum", Server::bare_http(&answer)?, Sessions::Own)?);
    Ok(sides)
}

impl Side {
    fn new(name: &'static str, server: Server, sessions: Sessions) -> Result<Side> {
        let crowd = LoadCrowd::connect(server.exchange.address, CONNECTIONS, sessions)?;
        let paced = Default::default();
        Ok(Side { name, server, crowd, pushed: Vec::new(), asked: Vec::new(), paced })
    }

    fn asked_rates(&self) -> impl Iterator<Item = f64> {
        self.asked.iter().map(|asked| asked.per_second)
    }
}

fn table(sides: &[Side], rounds: usize) -> Table {
    let title = format!(
        "Requests over HTTP, {CONNECTIONS} kept connections (ms; medians of {rounds} rounds)"
    );
    let columns =
        ["who, and how", "per second", "of bare", "refused", "p50", "p99", "p99.9", "worst"];
    let mut table = Table::new(title, columns);
    for side in sides {
        table.push(row(&format!("{}, at once", side.name), &side.pushed, &sides[0].pushed));
    }
    for (place, pace) in PACES.iter().enumerate() {
        for side in sides {
            let name = format!("{}, {pace} a second", side.name);
            table.push(row(&name, &side.paced[place], &sides[0].paced[place]));
        }
    }
    table
}

fn asked(sides: &[Side], rounds: usize) -> Table {
    let title = format!(
        "The same asked by wrk, {CONNECTIONS} connections, at once (ms; medians of {rounds} rounds)"
    );
    let mut table = Table::new(title, ["who", "per second", "of bare", "p50", "p99"]);
    for side in sides {
        let of = |what: fn(&wrk::Asked) -> f64| median(side.asked.iter().map(what));
        table.push(vec![
            Cell::text(side.name),
            Cell::Number(median(side.asked_rates()), 0),
            Cell::Number(ratio(side.asked_rates(), sides[0].asked_rates()), 2),
            Cell::Number(of(|asked| asked.p50), 2),
            Cell::Number(of(|asked| asked.p99), 2),
        ]);
    }
    table
}

fn judge(sides: &[Side], verdicts: &mut Vec<Verdict>) {
    for side in &sides[1..ASKED] {
        verdicts.push(Verdict {
            what: format!("{}, asked by wrk: rate over bare axum", side.name),
            target: RATE_TARGET,
            got: ratio(side.asked_rates(), sides[0].asked_rates()),
            bound: Bound::AtLeast,
        });
    }
    for side in &sides[1..] {
        verdicts.push(Verdict {
            what: format!("{}: rate over bare axum", side.name),
            target: RATE_TARGET,
            got: ratio(rates(&side.pushed), rates(&sides[0].pushed)),
            bound: Bound::AtLeast,
        });
        let p99 = |what: String, loads: &[HttpLoad]| Verdict {
            what: format!("{}, {what}: p99 ms", side.name),
            target: P99_TARGET,
            got: at(loads, 0.99),
            bound: Bound::AtMost,
        };
        verdicts.push(p99("at once".to_owned(), &side.pushed));
        for (loads, pace) in side.paced.iter().zip(PACES) {
            verdicts.push(p99(format!("{pace} a second"), loads));
        }
    }
}

fn row(name: &str, loads: &[HttpLoad], bare: &[HttpLoad]) -> Vec<Cell> {
    let refused = median(loads.iter().map(|load| load.refused));
    let quantile = |share| Cell::Number(at(loads, share), 2);
    vec![
        Cell::text(name),
        Cell::Number(median(rates(loads)), 0),
        Cell::Number(ratio(rates(loads), rates(bare)), 2),
        Cell::Number(refused, 3),
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        quantile(1.0),
    ]
}

fn rates(loads: &[HttpLoad]) -> impl Iterator<Item = f64> {
    loads.iter().map(|load| load.answered.per_second)
}

/// The median of what each round was of the bare handler in the same round.
fn ratio(rates: impl Iterator<Item = f64>, bare: impl Iterator<Item = f64>) -> f64 {
    median(rates.zip(bare).map(|(rate, bare)| rate / bare))
}

fn at(loads: &[HttpLoad], share: f64) -> f64 {
    median(loads.iter().map(|load| quantile(&load.answered.latencies, share)))
}

fn median(rounds: impl Iterator<Item = f64>) -> f64 {
    Spread::of(&rounds.collect::<Vec<_>>()).median
}

fn hold(binary: &Path, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let held = streams::hold(binary)?;
    let growth = held.with.saturating_sub(held.before);
    #[expect(clippy::cast_precision_loss, reason = "memory sizes are far below what an f64 counts")]
    let each = growth as f64 / streams::MEASURED as f64 / 1024.0;
    let columns = ["streams", "MiB before", "MiB with them", "KiB each"];
    let mut table = Table::new("Memory of streams that wait (RSS)", columns);
    table.push(vec![
        Cell::text(streams::MEASURED.to_string()),
        Cell::Number(mebibytes(held.before), 1),
        Cell::Number(mebibytes(held.with), 1),
        Cell::Number(each, 1),
    ]);
    tables.push(table);
    verdicts.push(Verdict {
        what: "a stream that waits: KiB".to_owned(),
        target: STREAM_TARGET,
        got: each,
        bound: Bound::AtMost,
    });
    Ok(())
}

/// Answer of the daemon, for the bare handler to give too.
fn example(address: SocketAddr) -> Result<Vec<u8>> {
    let body = r#"{"protocol_version":"1.0.0","request_id":"0000000000000000","request":{"context":{"session_id":"http-example","user_intent":"help","shell":{"shell_kind":"bench"}}}}"#;
    let mut stream = client::open(address, Greeting::None)?;
    stream.write_all(post("connection: close\r\n", body).as_bytes())?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    let head = text.windows(4).position(|four| four == b"\r\n\r\n").context("no head")?;
    ensure!(text.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&text));
    Ok(text.split_off(head + 4))
}
