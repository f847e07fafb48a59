//! `cargo xtask approvals`: kills around one question of the guard. Each round asks for something that
//! needs a yes, says yes from another connection and waits for the outcome, while the daemon dies at
//! fault points and at random instants. Then it must have been done at most once, and the record must
//! say which. Shares the daemon, its fault points and its kills with `chaos`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use bridle_sexp::{Value, read_one};

use super::daemon::{ChaosDaemon, ScheduleFolder, StartResult, log_tail, own_address};
use super::line::{LineInput, ListenPlace, OpenLine};
use super::patience::BoundedWait;
use super::plan::{DaemonLife, LifeEnd};
use super::random::SplitMix;
use super::{build, points, script};
use crate::console::VerbConsole;

pub(crate) const HELP: &str = "\
usage: cargo xtask approvals [--rounds N] [--seed N] [--jobs N]

Kills the real daemon around a question of the guard: while it is asked, answered, carried out and
told. In each round it must be carried out at most once, and the record must say which.

  --rounds N  how many (500 unless told)
  --seed N    the first seed (1 unless told); the next round takes the next one
  --jobs N    rounds at the same time (twice the processors unless told)";

/// Rounds of a full run.
const ROUNDS: u64 = 500;

/// Lives that end badly in a round, before the last one that does not.
const LIVES: (u64, u64) = (1, 3);

/// Milliseconds until a kill from outside: a question takes some ten, from the asking to the end.
const KILL_MS: (u64, u64) = (0, 60);

/// Range of passings of a point that kill: an approval passes each some ten times.
const NTH: (u64, u64) = (1, 12);

/// Wait for a point that may not be passed often enough, in milliseconds.
const POINT_MS: u64 = 250;

/// Time for the last, undisturbed life: far above what is needed, so that only something that never
/// ends reaches it.
const PEACE: Duration = Duration::from_secs(60);

/// Interval between two looks at the list of approvals.
const LOOK: Duration = Duration::from_millis(2);

/// The policies: the built-in ones, and counting needs a yes.
const POLICY: &str = include_str!("../../../crates/loop/src/policy/default.org");
const ASKED_FOR: &str = r#"
* Counting is asked for
#+begin_src cedar
forbid (principal, action == Action::"tally", resource) unless { context.approved };
#+end_src
#+begin_src examples
(ask (:principal "owner" :target :tally :action :tally :file "tally"))
#+end_src
"#;

const HELLO: &str =
    "(:type :EVENT :payload (:action :handshake :session \"work\" :client \"asker\" :cursor 0))";
const ASK: &str = "(:type :REQUEST :id 1 :target :tally :payload (:action :tally :file \"tally\"))";
const LIST: &str = "(:type :REQUEST :id 2 :target :system :payload (:action :approvals))";

/// Progress of the record when a daemon died, or at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DeathPhase {
    Nothing,
    Asked,
    Answered,
    Started,
    Ended,
}

/// Sum of all rounds.
#[derive(Default)]
struct ApprovalSummary {
    rounds: u64,
    deaths: BTreeMap<DeathPhase, u64>,
    done: u64,
    unknown: u64,
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let (mut rounds, mut first) = (ROUNDS, 1);
    let mut jobs = thread::available_parallelism().map_or(2, usize::from) as u64 * 2;
    let (pairs, []) = arguments.as_chunks::<2>() else {
        bail!("an option without a value\n\n{HELP}")
    };
    for [option, value] in pairs {
        let number = value.parse().with_context(|| format!("expected a number, got `{value}`"))?;
        match option.as_str() {
            "--rounds" => rounds = number,
            "--seed" => first = number,
            "--jobs" => jobs = number.max(1),
            other => bail!("no option `{other}`\n\n{HELP}"),
        }
    }
    // Short: the path of a Unix socket has at most 107 bytes.
    let folder = std::env::temp_dir().join(format!("bridle-yes-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let binary = build::faults(&folder, console)?;
    let points: Vec<String> = points::all()?.into_iter().filter(|it| is_passed(it)).collect();
    let (next, sum) = (AtomicU64::new(0), Mutex::new(ApprovalSummary::default()));
    let work = || -> Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= rounds {
                return Ok(());
            }
            let seed = first + index;
            let home = ScheduleFolder {
                binary: binary.clone(),
                folder: folder.join(seed.to_string()),
                address: own_address(std::process::id(), index),
            };
            let played = play(&home, seed, &points);
            let told = played.with_context(|| report(seed, &home.folder)).inspect_err(|_| {
                next.store(rounds, Ordering::Relaxed);
            })?;
            drop(fs::remove_dir_all(&home.folder));
            sum.lock().unwrap_or_else(PoisonError::into_inner).add(told);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        let ended = workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| anyhow!("a round panicked")).flatten());
        ended.collect::<Result<Vec<()>>>()
    })?;
    drop(fs::remove_dir_all(&folder));
    console.say(sum.into_inner().unwrap_or_else(PoisonError::into_inner).summary());
    Ok(())
}

/// Points that only forgetting and a copy of the disk pass are not on the way.
fn is_passed(point: &str) -> bool {
    !["forg", "scrub", "shadow"].iter().any(|word| point.contains(word))
}

fn report(seed: u64, folder: &Path) -> String {
    let again = format!("again: cargo xtask approvals --seed {seed} --rounds 1");
    format!("seed {seed}; {again}\nfiles: {}\n{}", folder.display(), log_tail(folder))
}

impl ApprovalSummary {
    fn add(&mut self, told: RoundReport) {
        self.rounds += 1;
        for phase in told.deaths {
            *self.deaths.entry(phase).or_default() += 1;
        }
        match told.outcome {
            RoundOutcome::Done => self.done += 1,
            RoundOutcome::Unknown => self.unknown += 1,
        }
    }

    fn summary(&self) -> String {
        let died = |phase| self.deaths.get(&phase).copied().unwrap_or_default();
        format!(
            "approvals: {} rounds, {} kills: {} before the question, {} while it was open, {} \
             between the yes and the start, {} between start and outcome, {} after it; {} done \
             once, {} recorded as unknown",
            self.rounds,
            self.deaths.values().sum::<u64>(),
            died(DeathPhase::Nothing),
            died(DeathPhase::Asked),
            died(DeathPhase::Answered),
            died(DeathPhase::Started),
            died(DeathPhase::Ended),
            self.done,
            self.unknown,
        )
    }
}

/// Report of a round that held.
struct RoundReport {
    deaths: Vec<DeathPhase>,
    outcome: RoundOutcome,
}

/// Outcome of the act, as the record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoundOutcome {
    Done,
    Unknown,
}

fn play(home: &ScheduleFolder, seed: u64, points: &[String]) -> Result<RoundReport> {
    let settings = home.folder.join(".config/bridle");
    fs::create_dir_all(&settings).context("cannot make its folder")?;
    fs::write(settings.join("policy.org"), format!("{POLICY}{ASKED_FOR}"))?;
    fs::write(home.script(), script::RULES).context("cannot write the script")?;
    let mut random = SplitMix::new(seed);
    let mut deaths = Vec::new();
    for _ in 0..random.between(LIVES.0, LIVES.1) {
        let end = if random.chance(70) {
            let name = points[random.index(points.len())].clone();
            LifeEnd::Point { name, nth: random.between(NTH.0, NTH.1), patience_ms: POINT_MS }
        } else {
            LifeEnd::Kill { after_ms: random.between(KILL_MS.0, KILL_MS.1) }
        };
        live(home, &DaemonLife { meanwhile: Vec::new(), end, power: None })?;
        let phase = SessionRecords::read(home)?.phase();
        deaths.push(phase);
        if phase == DeathPhase::Ended {
            break;
        }
    }
    let StartResult::Up(daemon) = ChaosDaemon::start(home, None)? else { bail!("no last life") };
    let (place, mut patience) = (place(home), BoundedWait::new(PEACE));
    while !errand(&place)? {
        ensure!(!patience.is_over(), "the question came to no end");
    }
    daemon.stop(home)?;
    home.ask(&["log", "verify"])?;
    home.ask(&["replay"])?;
    let tally = fs::read_to_string(home.state().join(script::TALLY)).unwrap_or_default();
    let outcome = SessionRecords::read(home)?.check(tally.lines().count())?;
    Ok(RoundReport { deaths, outcome })
}

/// Place at which the daemon of a home listens.
fn place(home: &ScheduleFolder) -> ListenPlace {
    ListenPlace::Unix(home.folder.join("b.sock"))
}

/// One life of the daemon, from its start to its end.
fn live(home: &ScheduleFolder, life: &DaemonLife) -> Result<()> {
    let StartResult::Up(mut daemon) = ChaosDaemon::start(home, Some(life))? else { return Ok(()) };
    let place = place(home);
    let wait = match life.end {
        LifeEnd::Kill { after_ms } | LifeEnd::Stop { after_ms } => after_ms,
        LifeEnd::Point { patience_ms, .. } => patience_ms,
    };
    thread::scope(|scope| -> Result<()> {
        let asker = scope.spawn(|| errand(&place));
        let died = daemon.dies_within(Duration::from_millis(wait))?;
        if !died {
            daemon.kill()?;
        }
        asker.join().map_err(|_| anyhow!("the asker panicked"))??;
        Ok(())
    })
}

/// Asks, says yes from a second connection, waits for the outcome. Everything may have happened in an
/// earlier life; whether the outcome was heard, or a connection ended first.
fn errand(place: &ListenPlace) -> Result<bool> {
    let (Ok(mut asker), Ok(mut other)) = (OpenLine::open(place), OpenLine::open(place)) else {
        return Ok(false);
    };
    if asker.send(&form(HELLO)).and_then(|()| asker.send(&form(ASK))).is_err() {
        return Ok(false);
    }
    loop {
        let LineInput::Messages(messages) = asker.hear().map_err(|what| anyhow!(what))? else {
            return Ok(false);
        };
        if messages.iter().any(|it| is_answer(it, 1) && word(it, "outcome").is_some()) {
            return Ok(true);
        }
        let Some(list) = ask(&mut other, &form(LIST))? else { return Ok(false) };
        let open = list.get("payload").and_then(|it| it.get("approvals")).cloned();
        let name = open.as_ref().and_then(Value::elements).and_then(|open| open.first());
        let Some(name) = name.and_then(|it| it.get("approval")).and_then(Value::as_str) else {
            thread::sleep(LOOK);
            continue;
        };
        let yes = format!(
            "(:type :REQUEST :id 3 :target :system \
             :payload (:action :approve :approval \"{name}\" :verdict :allow))"
        );
        if ask(&mut other, &form(&yes))?.is_none() {
            return Ok(false);
        }
    }
}

/// The answer to a message with an id; `None` when the connection ended.
fn ask(line: &mut OpenLine, message: &Value) -> Result<Option<Value>> {
    let id = message.get("id").and_then(Value::as_i64).context("a message with an id")?;
    if line.send(message).is_err() {
        return Ok(None);
    }
    let mut patience = BoundedWait::new(PEACE);
    loop {
        let LineInput::Messages(messages) = line.hear().map_err(|what| anyhow!(what))? else {
            return Ok(None);
        };
        if let Some(answer) = messages.into_iter().find(|it| is_answer(it, id)) {
            return Ok(Some(answer));
        }
        ensure!(!patience.is_over(), "no answer to {message}");
    }
}

fn is_answer(message: &Value, id: i64) -> bool {
    message.get("type").is_some_and(|it| it.is_keyword("RESPONSE"))
        && message.get("id").and_then(Value::as_i64) == Some(id)
}

fn word<'v>(message: &'v Value, key: &str) -> Option<&'v Value> {
    message.get("payload").and_then(|payload| payload.get(key))
}

fn form(text: &str) -> Value {
    read_one(text).expect("a form of this file").root().to_value()
}

/// The records of the session, as their kinds and bodies.
struct SessionRecords(Vec<(String, Value)>);

impl SessionRecords {
    fn read(home: &ScheduleFolder) -> Result<Self> {
        if !home.state().join("record.db").exists() {
            return Ok(Self(Vec::new()));
        }
        let text = home.ask(&["log"])?;
        let of_session = text.lines().filter(|line| line.contains(":session \"work\""));
        let records = of_session.map(|line| {
            let tree = read_one(line).map_err(|error| anyhow!("{error}: {line}"))?;
            let record = tree.root().to_value();
            let kind = record.get("kind").map(Value::to_string).unwrap_or_default();
            let body = record.get("body").cloned().unwrap_or(Value::Nil);
            Ok((kind.trim_start_matches(':').to_ascii_lowercase(), body))
        });
        Ok(Self(records.collect::<Result<_>>()?))
    }

    fn of<'r>(&'r self, kind: &'r str) -> impl Iterator<Item = &'r Value> {
        self.0.iter().filter(move |(name, _)| name == kind).map(|(_, body)| body)
    }

    fn count(&self, kind: &str) -> usize {
        self.of(kind).count()
    }

    /// The outcome of the act, once there is one.
    fn outcome(&self) -> Option<&Value> {
        let act = self.of("act").next()?.get("effect")?;
        let ends = self.of("acted").chain(self.of("settled"));
        { ends }.find(|end| end.get("effect") == Some(act))
    }

    fn phase(&self) -> DeathPhase {
        if self.outcome().is_some() {
            DeathPhase::Ended
        } else if self.count("started") > 0 {
            DeathPhase::Started
        } else if self.count("act") > 0 {
            DeathPhase::Answered
        } else if self.count("ask") > 0 {
            DeathPhase::Asked
        } else {
            DeathPhase::Nothing
        }
    }

    /// Checks what must hold at the end, if it was carried out so often.
    fn check(&self, executions: usize) -> Result<RoundOutcome> {
        for (kind, most) in [("ask", 1), ("act", 1), ("started", 1)] {
            let count = self.count(kind);
            ensure!(count <= most, "{count} records of kind `{kind}`, expected at most {most}");
        }
        ensure!(self.count("ask") == 1 && self.count("answered") > 0, "no question, or no answer");
        let end = self.outcome().context("no outcome in the record")?;
        let says = |word: &str| end.get("outcome").is_some_and(|it| it.is_keyword(word));
        match executions {
            1 if says("done") => Ok(RoundOutcome::Done),
            0 | 1 if says("unknown-outcome") => Ok(RoundOutcome::Unknown),
            _ => bail!("carried out {executions} times, and the record says {end}"),
        }
    }
}
