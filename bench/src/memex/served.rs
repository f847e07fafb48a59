//! What a daemon's shells notice of a Memex that it reads for the first time: they ask at a steady pace, of a daemon
//! without one, then of one that indexes it, and then keeps the first version of every file. Part of `memex`.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OpenFlags};

use crate::Options;
use crate::idle::mebibytes;
use crate::report::{Cell, Table, Verdict};
use crate::servers::Server;
use crate::shells::{Crowd, Pushed};
use crate::stats::quantile;

/// Shells, and their prompts per second together: a busy day of some people, not a load that fills the machine.
const SHELLS: usize = 16;
const PACE: u32 = 200;
const PROMPT: &str = "help";

/// Time between two looks at what the daemon does, and at its memory.
const STEP: Duration = Duration::from_secs(1);

/// Time without a Memex.
const ALONE: u32 = 10;

/// Time that the daemon may take for all of it.
const PATIENCE: Duration = Duration::from_secs(300);

/// Factor by which the middle answer may be slower while the Memex is read, and the memory, in MiB.
const RATIO: f64 = 1.2;
const RSS_MIB: f64 = 150.0;

/// Measurements of a daemon that serves.
pub(super) struct Served {
    alone: Stretch,
    indexing: Stretch,
    keeping: Stretch,
    settled: Stretch,
}

/// Answers during one stretch of time.
#[derive(Default)]
struct Stretch {
    seconds: f64,
    /// In milliseconds, in order.
    latencies: Vec<f64>,
    /// The most memory that was seen, in MiB.
    rss: f64,
}

impl Stretch {
    fn add(&mut self, pushed: Pushed, time: Duration, server: &Server) -> Result<()> {
        self.seconds += time.as_secs_f64();
        self.latencies.extend(pushed.latencies);
        self.latencies.sort_by(f64::total_cmp);
        self.rss = self.rss.max(mebibytes(server.rss()?));
        Ok(())
    }
}

impl Served {
    /// Starts the daemons and asks them, in turn.
    pub(super) fn measure(options: &Options, memex: &Path, files: usize) -> Result<Self> {
        let alone = {
            let server = Server::bridle(&options.bridle)?;
            let mut crowd = Crowd::attach(server.exchange.address, SHELLS, "memex")?;
            crowd.pace(SHELLS, STEP, PROMPT, PACE)?;
            stretch(&mut crowd, &server, ALONE)?
        };
        let folder = tempfile::tempdir()?;
        let server = Server::bridle_with_memex(&options.bridle, folder.path(), memex)?;
        let state = folder.path().join("state");
        let mut crowd = Crowd::attach(server.exchange.address, SHELLS, "memex")?;
        let index = "SELECT whole FROM meta";
        let indexing = until(&mut crowd, &server, || Ok(counted(&state, "index.db", index) > 0))?;
        let past = "SELECT count(DISTINCT path) FROM version";
        let all = i64::try_from(files)?;
        let keeping = until(&mut crowd, &server, || Ok(counted(&state, "memory.db", past) >= all))?;
        let settled = stretch(&mut crowd, &server, ALONE)?;
        Ok(Self { alone, indexing, keeping, settled })
    }

    pub(super) fn table(&self) -> Table {
        let title = format!(
            "`bridle up` while it reads the Memex, {SHELLS} shells with {PACE} prompts a second"
        );
        let columns = ["what", "s", "answers", "p50, ms", "p99, ms", "most, ms", "memory, MiB"];
        let mut table = Table::new(title, columns);
        for (name, stretch) in [
            ("without a Memex", &self.alone),
            ("while it is indexed", &self.indexing),
            ("while first versions are kept", &self.keeping),
            ("afterwards", &self.settled),
        ] {
            let at = |share| Cell::Number(quantile(&stretch.latencies, share), 2);
            table.push(vec![
                Cell::text(name),
                Cell::Number(stretch.seconds, 1),
                Cell::text(stretch.latencies.len().to_string()),
                at(0.5),
                at(0.99),
                at(1.0),
                Cell::Number(stretch.rss, 0),
            ]);
        }
        table
    }

    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        let alone = quantile(&self.alone.latencies, 0.5);
        let times = |stretch: &Stretch| quantile(&stretch.latencies, 0.5) / alone;
        let rss = [&self.indexing, &self.keeping, &self.settled].map(|stretch| stretch.rss);
        let all = [
            ("answer while indexing, median, times without", RATIO, times(&self.indexing)),
            ("answer while versions are kept, median, times without", RATIO, times(&self.keeping)),
            ("daemon with a memex: MiB", RSS_MIB, rss.into_iter().fold(0.0, f64::max)),
        ];
        all.into_iter().map(Verdict::at_most).collect()
    }
}

/// Asks for so many steps.
fn stretch(crowd: &mut Crowd, server: &Server, steps: u32) -> Result<Stretch> {
    let mut left = steps;
    until(crowd, server, || {
        left -= 1;
        Ok(left == 0)
    })
}

/// Asks until something is over.
fn until(
    crowd: &mut Crowd,
    server: &Server,
    mut is_over: impl FnMut() -> Result<bool>,
) -> Result<Stretch> {
    let mut stretch = Stretch::default();
    let begun = Instant::now();
    loop {
        let step = Instant::now();
        let pushed = crowd.pace(SHELLS, STEP, PROMPT, PACE)?;
        stretch.add(pushed, step.elapsed(), server)?;
        if is_over()? {
            return Ok(stretch);
        }
        ensure!(begun.elapsed() < PATIENCE, "the daemon is not done with the Memex");
    }
}

/// A number out of a file of the daemon's; zero while it cannot be read.
fn counted(state: &Path, file: &str, sql: &str) -> i64 {
    let read = || -> Result<i64> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = Connection::open_with_flags(state.join(file), flags)?;
        connection.query_row(sql, [], |row| row.get(0)).context("not there yet")
    };
    read().unwrap_or(0)
}
