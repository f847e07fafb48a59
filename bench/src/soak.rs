//! Does memory grow under load: `bridle-bench soak --minutes N`. Shells ask at a steady rate, others come
//! and go, with sessions of their own; the daemon's memory is read all the while, and a straight line is
//! laid through the second half of it.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::Options;
use crate::idle::mebibytes;
use crate::report::{Bound, Cell, Table, Verdict};
use crate::servers::Server;
use crate::shells::{Crowd, attach_one};

/// Shells that stay, and their prompts per second together: half an hour makes a record of a few GB.
const SHELLS: usize = 64;
const PACE: u32 = 500;

/// Shells that come for one session and go, in each step.
const GUESTS: usize = 20;

/// Time between two looks at the memory.
const STEP: Duration = Duration::from_secs(5);

/// Growth that is allowed, in MiB an hour: caches may still settle.
const SLOPE_TARGET: f64 = 4.0;

/// Loads the daemon for as long as asked.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let time = Duration::from_secs(60 * options.minutes);
    let server = Server::bridle(&options.bridle)?;
    let mut crowd = Crowd::attach(server.exchange.address, SHELLS, "soak")?;
    let begin = Instant::now();
    let mut samples: Vec<(f64, f64)> = Vec::new();
    let (mut answers, mut guests) = (0, 0);
    while begin.elapsed() < time {
        answers += crowd.pace(SHELLS, STEP, "help", PACE)?.latencies.len();
        for _ in 0..GUESTS {
            guests += 1;
            drop(attach_one(server.exchange.address, guests, &format!("guest-{guests}"), None)?);
        }
        let hours = begin.elapsed().as_secs_f64() / 3600.0;
        samples.push((hours, mebibytes(server.rss()?)));
    }
    let half = &samples[samples.len() / 2..];
    let growth = slope(half);
    let memory = |index: usize| samples.get(index).map_or(0.0, |(_, memory)| *memory);
    let title = format!("Memory under load for {} minutes", options.minutes);
    let columns = ["what", "answers", "guests", "MiB first", "MiB half", "MiB last", "MiB/hour"];
    let mut table = Table::new(title, columns);
    table.push(vec![
        Cell::text(format!("bridle up, {PACE} prompts a second")),
        Cell::text(answers.to_string()),
        Cell::text(guests.to_string()),
        Cell::Number(memory(0), 1),
        Cell::Number(memory(samples.len() / 2), 1),
        Cell::Number(memory(samples.len().saturating_sub(1)), 1),
        Cell::Number(growth, 2),
    ]);
    tables.push(table);
    verdicts.push(Verdict {
        what: format!("{} minutes of load: MiB of growth an hour", options.minutes),
        target: SLOPE_TARGET,
        got: growth,
        bound: Bound::AtMost,
    });
    Ok(())
}

/// The slope of the line with the least squares through `points`; zero when there are too few.
fn slope(points: &[(f64, f64)]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred samples")]
    let count = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let common: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    if spread > 0.0 { common / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn a_line_has_its_slope() {
        let points: Vec<(f64, f64)> =
            (0..9).map(|x| (f64::from(x), f64::from(x) * 2.5 + 3.0)).collect();
        assert!((slope(&points) - 2.5).abs() < 1e-9);
        assert!(slope(&[(1.0, 1.0)]).abs() < 1e-9);
        assert!(slope(&[]).abs() < 1e-9);
    }
}
