//! Plays one plan from its first life to the audit. The conductor owns the daemon; the shells are
//! threads that only see the board. Whatever it returns as an error is a finding.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::audit::{self, RecordAudit};
use super::daemon::{ChaosDaemon, ScheduleFolder, StartResult, left_over};
use super::disk;
use super::guest::GuestShell;
use super::patience::BoundedWait;
use super::plan::{ChaosSchedule, DaemonLife, LifeEnd, LifeTrouble, ShellPlan};
use super::script;
use super::shell::{ChaosShell, SayingKind, ScheduleBoard, ShellPart, ShellRoad, ShellSaying};
use super::witness;

/// Time for the last, undisturbed life to bring everything to its end. Far above what is needed, so
/// that only something that never ends reaches it.
const PEACE: Duration = Duration::from_secs(60);

/// Interval between two looks of the conductor.
const LOOK: Duration = Duration::from_millis(3);

/// Report of a schedule that held.
#[derive(Debug, Default, Clone)]
pub(crate) struct ScheduleReport {
    /// Points at which the daemon died.
    pub(crate) points: Vec<String>,
    /// Deaths of other causes.
    pub(crate) kills: u64,
    pub(crate) power_losses: u64,
    /// Sessions that were forgotten.
    pub(crate) forgotten: u64,
    pub(crate) audit: RecordAudit,
}

/// Plays `plan` in `home`.
pub(crate) fn play(home: &ScheduleFolder, plan: &ChaosSchedule) -> Result<ScheduleReport> {
    // What an earlier run left there would be taken up.
    drop(fs::remove_dir_all(&home.folder));
    fs::create_dir_all(&home.folder)
        .with_context(|| format!("cannot make `{}`", home.folder.display()))?;
    fs::write(home.script(), script::RULES).context("cannot write the script")?;
    let board = Arc::new(ScheduleBoard::default());
    let mut cast = PlayingShells::start(home, plan, &board);
    let staged = stage(home, plan, &board, &mut cast);
    if staged.is_err() {
        board.stop.store(true, Ordering::Relaxed);
    }
    let (shells, found) = cast.join(&board);
    let StagedSchedule { daemon, mut story, truths } = match staged {
        Ok(staged) if found.is_empty() => staged,
        Ok(_) => bail!("{}", found.join("\n")),
        Err(error) => {
            let open: Vec<String> = shells.iter().filter_map(ChaosShell::unfinished).collect();
            return Err(error.context([found, open].concat().join("\n")));
        }
    };
    daemon.stop(home)?;
    home.ask(&["log", "verify"])?;
    home.ask(&["replay"])?;
    let tally = fs::read_to_string(home.state().join(script::TALLY)).unwrap_or_default();
    story.audit = audit::check(&truths, &shells, &tally).map_err(|what| anyhow!("{what}"))?;
    let rest = left_over(&home.folder);
    ensure!(rest.is_empty(), "processes left over: {rest:?}");
    Ok(story)
}

/// The stage after the last act: the daemon still runs, everything was said and heard.
struct StagedSchedule {
    daemon: ChaosDaemon,
    story: ScheduleReport,
    /// Events that an observer hears of each session from its beginning.
    truths: Vec<ChaosShell>,
}

fn stage(
    home: &ScheduleFolder,
    plan: &ChaosSchedule,
    board: &ScheduleBoard,
    cast: &mut PlayingShells,
) -> Result<StagedSchedule> {
    let mut story = ScheduleReport::default();
    for (index, life) in plan.lives.iter().enumerate() {
        live(home, life, board, &mut story).with_context(|| format!("in life {}", index + 1))?;
        cast.check()?;
    }
    let StartResult::Up(mut daemon) = ChaosDaemon::start(home, None)? else {
        bail!("no last life")
    };
    home.check_second_is_refused()?;
    board.set_running(Some(daemon.running(home)));
    cast.wait(&mut daemon, board)?;
    story.forgotten = cast.say_goodbye(board)?;
    let mut truths = Vec::new();
    for (session, road) in &cast.sessions {
        let auditor =
            ChaosShell::observer(session, *road).run(board).map_err(|what| anyhow!("{what}"))?;
        board.set_goal(session, auditor.notes.head);
        truths.push(auditor);
    }
    Ok(StagedSchedule { daemon, story, truths })
}

/// One life of the daemon, from its start to its end.
fn live(
    home: &ScheduleFolder,
    life: &DaemonLife,
    board: &ScheduleBoard,
    story: &mut ScheduleReport,
) -> Result<()> {
    drop(fs::remove_dir_all(home.shadow()));
    let result = match ChaosDaemon::start(home, Some(life))? {
        StartResult::Up(daemon) => {
            board.set_running(Some(daemon.running(home)));
            end(home, life, daemon)
        }
        StartResult::Died => Ok(true),
    };
    board.set_running(None);
    match (&life.end, result?) {
        (LifeEnd::Point { name, .. }, true) => story.points.push(name.clone()),
        (LifeEnd::Stop { .. }, _) => {}
        _ => story.kills += 1,
    }
    if let Some(power) = &life.power
        && disk::lose_power(&home.state(), &home.shadow(), power)?
    {
        story.power_losses += 1;
    }
    Ok(())
}

/// Troubles a life and ends it as planned; whether it died at its fault point.
fn end(home: &ScheduleFolder, life: &DaemonLife, mut daemon: ChaosDaemon) -> Result<bool> {
    let wait_ms = match life.end {
        LifeEnd::Kill { after_ms } | LifeEnd::Stop { after_ms } => after_ms,
        LifeEnd::Point { patience_ms, .. } => patience_ms,
    };
    // A third of its time it is left alone.
    if daemon.dies_within(Duration::from_millis(wait_ms / 3))? {
        return Ok(true);
    }
    for trouble in &life.meanwhile {
        match trouble {
            LifeTrouble::Clock { offset_ms } => {
                fs::write(home.clock(), offset_ms.to_string()).context("cannot set the clock")?;
            }
            LifeTrouble::Full { ms } => {
                fs::write(home.full(), "").context("cannot fill the disk")?;
                let died = daemon.dies_within(Duration::from_millis(*ms))?;
                drop(fs::remove_file(home.full()));
                if died {
                    return Ok(true);
                }
            }
        }
    }
    if daemon.dies_within(Duration::from_millis(wait_ms * 2 / 3))? {
        return Ok(true);
    }
    match life.end {
        LifeEnd::Stop { .. } => daemon.stop(home)?,
        LifeEnd::Kill { .. } | LifeEnd::Point { .. } => daemon.kill()?,
    }
    Ok(false)
}

/// The shells of a schedule, playing.
struct PlayingShells {
    threads: Vec<JoinHandle<Result<ChaosShell, String>>>,
    done: Vec<Arc<AtomicBool>>,
    sessions: Vec<(String, ShellRoad)>,
    /// Taken when it has left.
    guest: Option<JoinHandle<Result<GuestShell, String>>>,
    guest_leaves: Arc<AtomicBool>,
}

impl PlayingShells {
    fn start(home: &ScheduleFolder, plan: &ChaosSchedule, board: &Arc<ScheduleBoard>) -> Self {
        let guest_leaves = Arc::new(AtomicBool::new(false));
        let guest = plan.guest.then(|| {
            let (board, leaves) = (Arc::clone(board), Arc::clone(&guest_leaves));
            thread::spawn(move || GuestShell::default().run(&board, &leaves))
        });
        let mut cast = Self {
            threads: Vec::new(),
            done: Vec::new(),
            sessions: Vec::new(),
            guest,
            guest_leaves,
        };
        for (index, shell) in plan.shells.iter().enumerate() {
            let road = if (plan.seed + shell.session).is_multiple_of(3) {
                ShellRoad::Tcp
            } else {
                ShellRoad::Unix
            };
            let session = format!("play-{}", shell.session);
            let first = !cast.sessions.iter().any(|(known, _)| *known == session);
            if first {
                cast.sessions.push((session.clone(), road));
            }
            let part = if first { ShellPart::Ringer } else { ShellPart::Talker };
            let language = shell.language;
            let shell = make_shell(index, shell, &session, road, part);
            cast.done.push(Arc::clone(&shell.done));
            let (board, folder) = (Arc::clone(board), home.folder.clone());
            cast.threads.push(thread::spawn(move || match language {
                Some(language) => shell.run_foreign(language, &folder, &board),
                None => shell.run(&board),
            }));
        }
        cast
    }

    /// A thread that has ended before its time has found something.
    fn check(&self) -> Result<()> {
        let early = self.threads.iter().any(JoinHandle::is_finished);
        ensure!(!early, "a shell heard what it must not hear");
        Ok(())
    }

    /// Waits until everything said is acknowledged and answered.
    fn wait(&self, daemon: &mut ChaosDaemon, board: &ScheduleBoard) -> Result<()> {
        let mut patience = BoundedWait::new(PEACE);
        while !self.done.iter().all(|done| done.load(Ordering::Relaxed)) {
            self.check()?;
            ensure!(!daemon.dies_within(Duration::ZERO)?, "the daemon died in peace");
            if patience.is_over() {
                let state = witness::daemon(board);
                bail!("not everything said was acknowledged and answered\n{state}");
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Sends the guest away and checks what it had forgotten.
    fn say_goodbye(&mut self, board: &ScheduleBoard) -> Result<u64> {
        self.guest_leaves.store(true, Ordering::Relaxed);
        let Some(guest) = self.guest.take() else { return Ok(0) };
        let guest = guest.join().map_err(|_| anyhow!("the guest panicked"))?;
        guest.and_then(|guest| guest.check(board)).map_err(|what| anyhow!("{what}"))
    }

    /// Waits for the shells to hear the rest; those that came home, and what the others found.
    fn join(self, board: &ScheduleBoard) -> (Vec<ChaosShell>, Vec<String>) {
        let mut patience = BoundedWait::new(PEACE);
        while !self.threads.iter().all(JoinHandle::is_finished) {
            if patience.is_over() {
                board.stop.store(true, Ordering::Relaxed);
            }
            thread::sleep(LOOK);
        }
        self.guest_leaves.store(true, Ordering::Relaxed);
        let (mut shells, mut found) = (Vec::new(), Vec::new());
        for thread in self.threads {
            match thread.join() {
                Ok(Ok(shell)) => shells.push(shell),
                Ok(Err(what)) => found.push(what),
                Err(_) => found.push("a shell panicked".to_owned()),
            }
        }
        (shells, found)
    }
}

fn make_shell(
    index: usize,
    plan: &ShellPlan,
    session: &str,
    road: ShellRoad,
    part: ShellPart,
) -> ChaosShell {
    let mut random = plan.random.clone();
    let name = format!("shell{index}");
    let sayings = (1..=plan.prompts)
        .map(|number| ShellSaying::new(&name, number, SayingKind::random(&mut random)))
        .collect();
    ChaosShell { sayings, cuts: plan.cuts, random, ..ChaosShell::new(name, session, road, part) }
}
