//! Health round trips against an echo, Redis and a Lisp daemon: `bridle-bench health`.
//!
//! All servers run at the same time and are pushed one after another, in turn, round after round, by the
//! same client; an idle server costs nothing. Medians over the rounds.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::Options;
use crate::client::{self, Exchange, Load, Rate};
use crate::codec::OTHER_CHECK;
use crate::report::{Bound, Cell, Table, Verdict};
use crate::servers::Server;
use crate::stats::Spread;

/// Connections and depth of each measurement.
const SHAPES: [(usize, usize); 6] = [(1, 1), (1, 16), (1, 100), (50, 1), (50, 16), (50, 100)];

/// Most requests of one run, so that a fast server does not fill the memory with latencies.
const MAX_REQUESTS: u64 = 20_000_000;

/// Room for the load client's connections and a few more.
const CONNECTIONS: usize = 1_000;

/// The daemon's row with the check in its plain spelling; the one after it has another spelling.
const BRIDLE: &str = "bridle up";

/// Rows that are the daemon's own; the echo comes next.
const OWN_RUNS: usize = 2;

/// Samples by server (as its place in the list) and shape.
type Samples = BTreeMap<(usize, (usize, usize)), Vec<Rate>>;

/// Runs all servers through all shapes.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let bridle = Server::bridle(&options.bridle)?;
    let mut servers = vec![Server::echo()?, Server::redis(CONNECTIONS)?];
    match Server::sbcl() {
        Ok(server) => servers.push(server),
        Err(error) => options.note(&format!("without the SBCL daemon: {error:#}")),
    }
    let other = Exchange { request: OTHER_CHECK.to_vec(), ..bridle.exchange.clone() };
    let mut runs = vec![(BRIDLE, &bridle.exchange), ("bridle up, check to be read", &other)];
    runs.extend(servers.iter().map(|server| (server.name, &server.exchange)));
    let mut samples = Samples::new();
    for _ in 0..options.health_rounds() {
        for shape in SHAPES {
            for (index, (name, exchange)) in runs.iter().enumerate() {
                let load = Load {
                    connections: shape.0,
                    depth: shape.1,
                    warm_up: options.health_time() / 5,
                    time: options.health_time(),
                    requests: MAX_REQUESTS,
                };
                let rate = client::push(exchange, load)
                    .with_context(|| format!("{name} at {} x {}", shape.0, shape.1))?;
                samples.entry((index, shape)).or_default().push(rate);
            }
        }
    }
    let names: Vec<&str> = runs.iter().map(|(name, _)| *name).collect();
    tables.push(rates(&names, &samples));
    tables.push(latencies(&names, &samples));
    judge(&names, &samples, verdicts);
    Ok(())
}

fn median(samples: &Samples, server: usize, shape: (usize, usize), value: fn(&Rate) -> f64) -> f64 {
    let rates = samples.get(&(server, shape)).map(Vec::as_slice).unwrap_or_default();
    Spread::of(&rates.iter().map(value).collect::<Vec<_>>()).median
}

fn rates(names: &[&str], samples: &Samples) -> Table {
    let mut columns = vec!["thousands of answers per second".to_owned()];
    columns.extend(SHAPES.map(|(connections, depth)| format!("{connections} x {depth}")));
    let mut table = Table::new("Health round trips (connections x depth)", columns);
    let rate = |server, shape| median(samples, server, shape, |rate| rate.per_second);
    for (server, name) in names.iter().enumerate() {
        let mut row = vec![Cell::text(*name)];
        row.extend(SHAPES.map(|shape| Cell::Number(rate(server, shape) / 1e3, 1)));
        table.push(row);
    }
    for (server, name) in names.iter().enumerate().skip(OWN_RUNS) {
        for (own, own_name) in names.iter().enumerate().take(OWN_RUNS) {
            let mut row = vec![Cell::text(format!("{own_name} / {name}"))];
            row.extend(SHAPES.map(|shape| Cell::Number(rate(own, shape) / rate(server, shape), 2)));
            table.push(row);
        }
    }
    table
}

fn latencies(names: &[&str], samples: &Samples) -> Table {
    let columns =
        ["microseconds at depth 1", "1 conn p50", "1 conn p99", "50 conn p50", "50 conn p99"];
    let mut table = Table::new("Latency of a round trip", columns);
    for (server, name) in names.iter().enumerate() {
        let mut row = vec![Cell::text(*name)];
        for shape in [(1, 1), (50, 1)] {
            row.push(Cell::Number(median(samples, server, shape, |rate| rate.p50_us), 1));
            row.push(Cell::Number(median(samples, server, shape, |rate| rate.p99_us), 1));
        }
        table.push(row);
    }
    table
}

fn judge(names: &[&str], samples: &Samples, verdicts: &mut Vec<Verdict>) {
    let p50 = |server| median(samples, server, (1, 1), |rate| rate.p50_us);
    for (own, own_name) in names.iter().enumerate().take(OWN_RUNS) {
        let what = format!("{own_name}, 1 x 1: p50 over tokio echo");
        let got = p50(own) / p50(OWN_RUNS);
        verdicts.push(Verdict { what, target: 1.2, got, bound: Bound::AtMost });
        for (server, name) in names.iter().enumerate().skip(OWN_RUNS + 1) {
            let target = if *name == "Redis GET" { 1.0 } else { 3.0 };
            for shape in [(50, 16), (50, 100)] {
                let rate = |server| median(samples, server, shape, |rate| rate.per_second);
                let what = format!("{own_name}, {} x {}: rate over {name}", shape.0, shape.1);
                let got = rate(own) / rate(server);
                verdicts.push(Verdict { what, target, got, bound: Bound::AtLeast });
            }
        }
    }
}

/// Time of one run at full length and in a quick look.
pub const FULL_TIME: Duration = Duration::from_millis(800);
/// See `FULL_TIME`.
pub const QUICK_TIME: Duration = Duration::from_millis(150);
