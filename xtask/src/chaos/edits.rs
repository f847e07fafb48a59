//! The second half of `cargo xtask memory`: an agent changes Org files through the real daemon, while a
//! user saves the same files and the daemon is killed at fault points and at random instants. Then every
//! change is taken back through the daemon, which is killed as before: what is left must be what the user
//! wrote, byte by byte. Shares the daemon, its fault points and its kills with `chaos`.

mod agent;
mod user;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};

use self::agent::{AgentAnswer, EditAgent};
use super::daemon::{ChaosDaemon, ScheduleFolder, StartResult, log_tail, own_address};
use super::line::ListenPlace;
use super::plan::{DaemonLife, LifeEnd};
use super::random::SplitMix;
use super::{build, points, script};
use crate::console::VerbConsole;

/// Files that both write.
const FILES: usize = 8;

/// Milliseconds until a kill from outside: some tens of edits.
const KILL_MS: (u64, u64) = (50, 2500);

/// Range of passings of a point that kill.
const NTH: (u64, u64) = (1, 60);

/// Wait for a point that may not be passed often enough, in milliseconds.
const POINT_MS: u64 = 4000;

/// Times that all changes are gone through to take them back: those that another builds on come later.
const PASSES: usize = 12;

/// Versions of one file that a list has: more than there can be.
const LISTED: &str = "10000";

/// Whoever runs the daemon may do everything, without being asked.
const POLICY: &str = r#"#+title: Policy
* The owner may do everything
:PROPERTIES:
:CUSTOM_ID: owner
:END:
#+begin_src cedar
permit (principal in Group::"owner", action, resource);
#+end_src
#+begin_src examples
(allow (:principal "owner" :target :memory :action :undo :record 7))
#+end_src
"#;

/// Sum of a run.
#[derive(Default)]
struct EditSummary {
    kills: u64,
    asked: u64,
    done: u64,
    refused: BTreeMap<String, u64>,
    saves: u64,
    changes: usize,
    undone: usize,
    over: usize,
}

/// Makes so many edits; fails if one byte of the user's is lost, or one of the agent's is left.
pub(crate) fn run(edits: u64, seed: u64, console: &VerbConsole) -> Result<()> {
    // Short: the path of a Unix socket has at most 107 bytes.
    let folder = std::env::temp_dir().join(format!("bridle-edits-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let folder = folder.canonicalize().context("the folder was just made")?;
    let binary = build::faults(&folder, console)?;
    let address = own_address(std::process::id(), 0);
    let home = ScheduleFolder { binary, folder: folder.join("home"), address };
    let sum = play(&home, edits, seed, console).with_context(|| {
        let log = log_tail(&home.folder);
        format!("seed {seed}; files: {}\n{log}", home.folder.display())
    })?;
    drop(fs::remove_dir_all(&folder));
    console.say(sum.summary());
    Ok(())
}

impl EditSummary {
    fn summary(&self) -> String {
        let Self { kills, asked, done, refused, saves, changes, undone, over } = self;
        let refused: Vec<String> = refused.iter().map(|(why, n)| format!("{n} {why}")).collect();
        format!(
            "memory: {asked} edits asked of the daemon, {done} heard done, others: {}; {saves} saves by \
             the user; {kills} kills; {changes} changes in the past, {undone} taken back, {over} written \
             over by the user; exactly the user's text is left",
            refused.join(", ")
        )
    }
}

fn play(
    home: &ScheduleFolder,
    edits: u64,
    seed: u64,
    console: &VerbConsole,
) -> Result<EditSummary> {
    let memex = home.folder.join("memex");
    let settings = home.folder.join(".config/bridle");
    fs::create_dir_all(&settings)
        .and_then(|()| fs::create_dir_all(&memex))
        .context("its folders")?;
    fs::write(settings.join("policy.org"), POLICY)?;
    fs::write(
        settings.join("config.toml"),
        format!("memex = {:?}\n", memex.display().to_string()),
    )?;
    fs::write(home.script(), script::RULES).context("cannot write the script")?;
    user::begin(&memex, FILES)?;
    let mut lives = DaemonLives::new(home, seed, console)?;
    let stop = AtomicBool::new(false);
    let mut sum = EditSummary::default();
    let own = thread::scope(|scope| -> Result<_> {
        let user = scope.spawn(|| user::save(&memex, FILES, SplitMix::new(seed ^ 1), edits, &stop));
        let made = make(&mut lives, &memex, edits, seed, &mut sum);
        stop.store(true, Ordering::SeqCst);
        let own = user.join().map_err(|_| anyhow!("the user panicked"))??;
        made.map(|()| own)
    })?;
    sum.saves = own.saves;
    own.check(&memex)?;
    let daemon = lives.peace()?;
    let records = settled(home, &memex)?;
    sum.changes = records.len();
    daemon.stop(home)?;
    take_back(&mut lives, home, &memex, records, &mut sum)?;
    sum.kills = lives.kills;
    own.check_alone(&memex)?;
    home.ask(&["log", "verify"])?;
    Ok(sum)
}

/// One life of the daemon after the other.
struct DaemonLives<'h> {
    home: &'h ScheduleFolder,
    random: SplitMix,
    points: Vec<String>,
    kills: u64,
    console: &'h VerbConsole,
    /// Progress that was reported last, in thousands.
    told: u64,
}

impl<'h> DaemonLives<'h> {
    fn new(home: &'h ScheduleFolder, seed: u64, console: &'h VerbConsole) -> Result<Self> {
        let points = points::all()?.into_iter().filter(|it| it.starts_with("memory.")).collect();
        Ok(Self { home, random: SplitMix::new(seed), points, kills: 0, console, told: 0 })
    }

    /// Says now and then how far it is.
    fn tell(&mut self, done: u64, of: u64, what: &str) {
        if done / 1000 != self.told {
            self.told = done / 1000;
            self.console.say(format!("{done} of {of} {what}, {} kills", self.kills));
        }
    }

    /// Does something with a daemon that dies meanwhile, unless it is done before. Whether it is done.
    fn live(&mut self, work: impl FnOnce(&ListenPlace) -> Result<bool> + Send) -> Result<bool> {
        let random = &mut self.random;
        let end = if random.chance(60) {
            let name = self.points[random.index(self.points.len())].clone();
            LifeEnd::Point { name, nth: random.between(NTH.0, NTH.1), patience_ms: POINT_MS }
        } else {
            LifeEnd::Kill { after_ms: random.between(KILL_MS.0, KILL_MS.1) }
        };
        let wait = match end {
            LifeEnd::Kill { after_ms } | LifeEnd::Stop { after_ms } => after_ms,
            LifeEnd::Point { patience_ms, .. } => patience_ms,
        };
        self.kills += 1;
        let life = DaemonLife { meanwhile: Vec::new(), end, power: None };
        let StartResult::Up(mut daemon) = ChaosDaemon::start(self.home, Some(&life))? else {
            return Ok(false);
        };
        let place = place(self.home);
        thread::scope(|scope| {
            let worker = scope.spawn(|| work(&place));
            let mut left = wait;
            while left > 0 && !worker.is_finished() {
                let step = left.min(20);
                if daemon.dies_within(Duration::from_millis(step))? {
                    break;
                }
                left -= step;
            }
            daemon.kill()?;
            worker.join().map_err(|_| anyhow!("the agent panicked"))?
        })
    }

    /// A daemon that is left in peace.
    fn peace(&self) -> Result<ChaosDaemon> {
        match ChaosDaemon::start(self.home, None)? {
            StartResult::Up(daemon) => Ok(daemon),
            StartResult::Died => bail!("the daemon did not start"),
        }
    }
}

fn place(home: &ScheduleFolder) -> ListenPlace {
    ListenPlace::Unix(home.folder.join("b.sock"))
}

/// Has the agent's edits made.
fn make(
    lives: &mut DaemonLives<'_>,
    memex: &Path,
    edits: u64,
    seed: u64,
    sum: &mut EditSummary,
) -> Result<()> {
    let mut agent = EditAgent::new(memex, FILES, SplitMix::new(seed ^ 2));
    while sum.asked < edits {
        lives.live(|place| {
            let Some(mut line) = agent::open(place) else { return Ok(false) };
            while sum.asked < edits {
                let Some(request) = agent.next()? else { continue };
                sum.asked += 1;
                match agent::ask(&mut line, &request)? {
                    None => return Ok(false),
                    Some(AgentAnswer::Done) => sum.done += 1,
                    Some(AgentAnswer::Not(why)) => {
                        *sum.refused.entry(agent::in_short(&why).to_owned()).or_default() += 1;
                    }
                }
            }
            Ok(true)
        })?;
        lives.tell(sum.asked, edits, "edits asked");
    }
    Ok(())
}

/// The records of all changes, once nothing is under way any more; an edit is never of unknown outcome.
fn settled(home: &ScheduleFolder, memex: &Path) -> Result<Vec<u64>> {
    let mut line = agent::open(&place(home)).context("the daemon is up")?;
    let mut before = None;
    loop {
        // What was interrupted is taken up at the start, and is done when nothing more comes.
        agent::idle(&mut line)?;
        let found = records(home, memex)?;
        if before.as_ref() == Some(&found) {
            let log = home.ask(&["log"])?;
            let unknown = log.lines().find(|it| it.contains(":outcome :unknown-outcome"));
            ensure!(
                unknown.is_none(),
                "an edit of unknown outcome: {}",
                unknown.unwrap_or_default()
            );
            return Ok(found.into_iter().collect());
        }
        before = Some(found);
    }
}

fn records(home: &ScheduleFolder, memex: &Path) -> Result<BTreeSet<u64>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(memex)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || name.ends_with('~') || name.ends_with(".saving") {
            continue;
        }
        let words = ["memory", "log", &name, "--changes", "--json", "--limit", LISTED];
        for line in home.ask(&words)?.lines() {
            let rest = line.split_once("\"record\":").context("a version with a record")?.1;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            found.insert(digits.parse().with_context(|| format!("a record in `{line}`"))?);
        }
    }
    Ok(found)
}

/// Takes all changes back, in an order of its own, until nothing more can be.
fn take_back(
    lives: &mut DaemonLives<'_>,
    home: &ScheduleFolder,
    memex: &Path,
    mut left: Vec<u64>,
    sum: &mut EditSummary,
) -> Result<()> {
    let mut random = lives.random.split();
    for _ in 0..PASSES {
        for at in (1..left.len()).rev() {
            left.swap(at, random.index(at + 1));
        }
        let (mut queue, mut kept, before) = (left.clone(), Vec::new(), sum.undone);
        while !queue.is_empty() {
            lives.live(|place| {
                let Some(mut line) = agent::open(place) else { return Ok(false) };
                while let Some(record) = queue.last().copied() {
                    let Some(answer) = agent::ask(&mut line, &agent::undo(record))? else {
                        return Ok(false);
                    };
                    queue.pop();
                    match answer {
                        AgentAnswer::Done => sum.undone += 1,
                        AgentAnswer::Not(_) => kept.push(record),
                    }
                }
                Ok(true)
            })?;
            lives.tell(sum.undone as u64, sum.changes as u64, "changes taken back");
        }
        left = kept;
        if sum.undone == before {
            sum.over = left.len();
            // What was begun when it was killed is done at the next start.
            let daemon = lives.peace()?;
            settled(home, memex)?;
            return daemon.stop(home);
        }
    }
    bail!("{} changes were still taken back after {PASSES} times", sum.undone)
}
