//! `cargo xtask chaos`: the promise "nothing lost, nothing twice", tried. Each schedule starts the real
//! daemon in its faults build, lets shells talk to it, kills it at random instants and at every fault
//! point, cuts connections, loses power, fills the disk and moves the clock; then compares everything
//! that anybody was told with the record. A schedule follows from its seed; a failing one prints it.
//!
//! - `build`: makes the daemon; `plan`: what a seed means; `random`: where it gets its numbers; `points`: where one can die
//! - `schedule`: plays a plan; `daemon`, `disk`: the daemon and its files; `script`: what it thinks
//! - `shell`, `guest`, `line`: who talks to it; `proxy`: cuts what others say; `audit`: what must hold at the end
//! - `approvals`: the same daemon, killed around one question of the guard
//! - `patience`: how long to wait; `witness`: what is known of a daemon that does not answer

pub(crate) mod approvals;
mod audit;
mod build;
mod daemon;
mod disk;
pub(crate) mod edits;
mod guest;
mod line;
mod patience;
mod plan;
mod points;
mod proxy;
pub(crate) mod random;
mod schedule;
mod script;
mod shell;
mod witness;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::clients;
use crate::console::VerbConsole;
use daemon::{ScheduleFolder, own_address};
use plan::ChaosSchedule;
use schedule::ScheduleReport;

pub(crate) const HELP: &str = "\
usage: cargo xtask chaos [--schedules N] [--seed N] [--point NAME] [--jobs N] [--keep DIR] [--clients]

Plays random schedules of faults against the real daemon: SIGKILL at random and at every fault point,
loss of power, a full disk, a moving clock, cut connections. Then checks that nothing acknowledged was
lost, nothing was heard twice or out of order, and every effect ran once or is recorded as unknown.

  --schedules N  how many (1000 unless told)
  --seed N       the first seed (1 unless told); the next schedule takes the next one
  --point NAME   only this fault point
  --jobs N       schedules at the same time (twice the processors unless told)
  --keep DIR     play in DIR and remove nothing
  --clients      two shells of each schedule are the clients in Python and TypeScript

A failing schedule prints its seed: `--seed N --schedules 1` plays it again.";

/// Schedules of a full run.
const SCHEDULES: u64 = 1000;

/// Lines of progress in a run.
const PROGRESS_LINES: u64 = 20;

/// Every point must have killed a daemon when it had its turn this many times.
const TURNS: u64 = 8;

/// Options of a run.
struct ChaosOptions {
    schedules: u64,
    seed: u64,
    point: Option<String>,
    jobs: usize,
    keep: Option<PathBuf>,
    clients: bool,
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let options = parse(arguments)?;
    let points = chosen_points(options.point.as_deref())?;
    let folder = options.keep.clone().unwrap_or_else(|| {
        // Short: the path of a Unix socket has at most 107 bytes.
        std::env::temp_dir().join(format!("bridle-chaos-{}", std::process::id()))
    });
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    if options.clients {
        clients::compile(console)?;
    }
    let binary = build::faults(&folder, console)?;
    let (count, at) = (options.schedules, points.len());
    console.say(format!("chaos: {count} schedules from seed {}, {at} points", options.seed));
    let began = Instant::now();
    let sum = play_all(&options, &points, &binary, &folder, console)?;
    if options.keep.is_none() {
        drop(fs::remove_dir_all(&folder));
    }
    let missed: Vec<&str> = points
        .iter()
        .map(String::as_str)
        .filter(|point| !sum.points.contains_key(*point))
        .collect();
    ensure!(
        missed.is_empty() || count < TURNS * at as u64,
        "no daemon ever died at {}",
        missed.join(", ")
    );
    console.say(sum.summary(at, began.elapsed().as_secs()));
    Ok(())
}

fn parse(arguments: &[String]) -> Result<ChaosOptions> {
    let jobs = std::thread::available_parallelism().map_or(2, usize::from) * 2;
    let mut options = ChaosOptions {
        schedules: SCHEDULES,
        seed: 1,
        point: None,
        jobs,
        keep: None,
        clients: false,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value =
            || rest.next().with_context(|| format!("`{argument}` without a value\n\n{HELP}"));
        let number = |text: &String| {
            text.parse::<u64>().with_context(|| format!("expected a number, got `{text}`"))
        };
        match argument.as_str() {
            "--schedules" => options.schedules = number(value()?)?,
            "--seed" => options.seed = number(value()?)?,
            "--point" => options.point = Some(value()?.clone()),
            "--jobs" => options.jobs = usize::try_from(number(value()?)?)?.max(1),
            "--keep" => options.keep = Some(value()?.into()),
            "--clients" => options.clients = true,
            other => bail!("no option `{other}`\n\n{HELP}"),
        }
    }
    Ok(options)
}

fn chosen_points(only: Option<&str>) -> Result<Vec<String>> {
    let points = points::passed()?;
    let Some(name) = only else { return Ok(points) };
    ensure!(points.iter().any(|point| point == name), "no point `{name}`: {}", points.join(" "));
    Ok(vec![name.to_owned()])
}

/// Sum of all schedules.
#[derive(Default)]
struct ChaosSummary {
    schedules: u64,
    points: BTreeMap<String, u64>,
    kills: u64,
    power_losses: u64,
    forgotten: u64,
    audit: audit::RecordAudit,
}

impl ChaosSummary {
    fn add(&mut self, story: ScheduleReport) {
        self.schedules += 1;
        for point in story.points {
            *self.points.entry(point).or_default() += 1;
        }
        self.kills += story.kills;
        self.power_losses += story.power_losses;
        self.forgotten += story.forgotten;
        self.audit.events += story.audit.events;
        self.audit.sayings += story.audit.sayings;
        self.audit.effects += story.audit.effects;
        self.audit.unknown += story.audit.unknown;
        self.audit.rings += story.audit.rings;
    }

    fn summary(&self, points: usize, seconds: u64) -> String {
        let died: u64 = self.points.values().sum();
        let hits: Vec<String> =
            self.points.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let audit = self.audit;
        format!(
            "died at: {}\nchaos: {} schedules in {seconds} s: {} kills, {died} at {} of {points} \
             points, {} power losses; {} events, {} sayings, {} effects ({} by shells, {} unknown), {} \
             sessions forgotten",
            hits.join(", "),
            self.schedules,
            self.kills + died,
            self.points.len(),
            self.power_losses,
            audit.events,
            audit.sayings,
            audit.effects,
            audit.rings,
            audit.unknown,
            self.forgotten,
        )
    }
}

fn play_all(
    options: &ChaosOptions,
    points: &[String],
    binary: &Path,
    folder: &Path,
    console: &VerbConsole,
) -> Result<ChaosSummary> {
    let next = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let sum = Mutex::new(ChaosSummary::default());
    let findings = Mutex::new(Vec::new());
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= options.schedules {
                return;
            }
            let plan = ChaosSchedule::new(options.seed + index, points);
            let plan = if options.clients { plan.with_clients() } else { plan };
            let home = ScheduleFolder {
                binary: binary.to_owned(),
                folder: folder.join(format!("seed-{}", plan.seed)),
                address: own_address(std::process::id(), index),
            };
            match schedule::play(&home, &plan) {
                Ok(story) => {
                    if options.keep.is_none() {
                        drop(fs::remove_dir_all(&home.folder));
                    }
                    sum.lock().unwrap_or_else(PoisonError::into_inner).add(story);
                }
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    let text = report(&plan, &home, &error);
                    findings.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        let step = (options.schedules / PROGRESS_LINES).max(1);
        let mut shown = 0;
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let played = sum.lock().unwrap_or_else(PoisonError::into_inner).schedules;
            if played >= shown + step {
                shown = played - played % step;
                console.say(format!("{played} of {} schedules held", options.schedules));
            }
        }
    });
    let findings = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !findings.is_empty() {
        bail!("after {} schedules that held:\n{}", sum.schedules, findings.join("\n"));
    }
    Ok(sum)
}

fn report(plan: &ChaosSchedule, home: &ScheduleFolder, error: &anyhow::Error) -> String {
    let clients =
        if plan.shells.iter().any(|shell| shell.language.is_some()) { " --clients" } else { "" };
    format!(
        "seed {}: {error:#}\n  plan: {plan}\n  files: {}\n  again: cargo xtask chaos --seed {} --schedules 1{clients}\n  the end of its log:\n{}",
        plan.seed,
        home.folder.display(),
        plan.seed,
        daemon::log_tail(&home.folder),
    )
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read() {
        let options = parse(&words("--schedules 5 --seed 9 --point a --jobs 0")).unwrap();
        assert_eq!((options.schedules, options.seed, options.jobs), (5, 9, 1));
        assert_eq!(options.point.as_deref(), Some("a"));
        assert!(parse(&words("--schedules many")).is_err());
        assert!(parse(&words("--seed")).is_err());
        assert!(parse(&words("--sead 1")).is_err());
    }
}
