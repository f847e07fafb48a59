//! `cargo xtask turns`: a turn of a thousand tool calls with long results, and what a short turn costs while many
//! sessions have one. Starts the real daemon in a folder of its own, with a scripted thinker and with tools that this
//! program offers as a shell; prints what it measured, and holds it to the targets with `--check`.
//!
//! long: the steps of the long turn stand together.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::console::{ProgramRun, VerbConsole, root};
use crate::crowd::{p99, say};
use crate::siege::{ask, frame};

pub(crate) const HELP: &str = "\
usage: cargo xtask turns [--calls N] [--kib N] [--sessions N] [--seconds N] [--beside PROGRAM] [--dist] [--check]

One turn with many tool calls, ten at a time, each with a long result: time of the first and of the last quarter, bytes on
disk for a byte of results, and whether the record verifies and replays. Then turns of one call in many sessions, at a
steady pace: how long each takes until its answer, durable. Then plain prompts, each asked when the one before is answered.

  --calls N         calls of the long turn (1000 unless told)
  --kib N           KiB of each result (50 unless told)
  --sessions N      sessions with short turns (64 unless told)
  --seconds N       how long short turns and prompts are measured, each (10 unless told)
  --beside PROGRAM  another build of bridle, which is asked the same plain prompts
  --dist            the daemon as it is released, not as it is debugged
  --check           fail where a target is missed: last quarter at most twice the first, 1.5 bytes on disk for a byte of
                    results, a short turn p99 5 ms, 0.8 of the prompts of the other build";

/// Calls of one round of the long turn.
const CALLS_IN_ROUND: u64 = 10;

/// Targets.
const QUARTERS: f64 = 2.0;
const DISK: f64 = 1.5;
const TURN_MS: f64 = 5.0;
const SHARE: f64 = 0.8;

/// Pause of a session between two short turns: 64 sessions have 256 turns a second.
const PACE: Duration = Duration::from_millis(250);

/// Longest wait for one frame.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, PartialEq)]
struct TurnOptions {
    calls: u64,
    kib: u64,
    sessions: u64,
    seconds: u64,
    beside: Option<PathBuf>,
    is_dist: bool,
    is_checked: bool,
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let options = parse(arguments)?;
    let profile: &[&str] = if options.is_dist { &["--profile", "dist"] } else { &[] };
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).args(profile).run(console)?;
    let folder = std::env::temp_dir().join(format!("bridle-turns-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let result = measure(&folder, &options, console);
    if result.is_ok() {
        drop(fs::remove_dir_all(&folder));
    }
    result.with_context(|| format!("the daemon's files and log are in `{}`", folder.display()))
}

fn parse(arguments: &[String]) -> Result<TurnOptions> {
    let mut options = TurnOptions {
        calls: 1_000,
        kib: 50,
        sessions: 64,
        seconds: 10,
        beside: None,
        is_dist: false,
        is_checked: false,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--calls" => &mut options.calls,
            "--kib" => &mut options.kib,
            "--sessions" => &mut options.sessions,
            "--seconds" => &mut options.seconds,
            "--beside" => {
                let program = words.next().context("`--beside` needs a program")?;
                options.beside = Some(program.into());
                continue;
            }
            "--dist" => {
                options.is_dist = true;
                continue;
            }
            "--check" => {
                options.is_checked = true;
                continue;
            }
            other => bail!("no option `{other}`\n\n{HELP}"),
        };
        let number = words.next().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
        *place = number.with_context(|| format!("`{word}` needs a number above 0"))?;
    }
    Ok(options)
}

fn measure(folder: &Path, options: &TurnOptions, console: &VerbConsole) -> Result<()> {
    let build = if options.is_dist { "dist" } else { "debug" };
    let program = root().join("target").join(build).join("bridle");
    let mut rows = long_turn(&program, &folder.join("long"), options, console)?;
    let daemon = TurnDaemon::start(&program, &folder.join("short"), SHORT_RULES)?;
    let mut times = short_turns(&daemon, options)?;
    rows.push(("a turn of one call, durable, p99, ms", p99(&mut times), Bound::Most(TURN_MS)));
    let rate = prompts(&daemon, options)?;
    drop(daemon);
    console
        .say(format!("turns: {rate:.0} plain prompts a second in {} sessions", options.sessions));
    if let Some(other) = &options.beside {
        let daemon = TurnDaemon::start(other, &folder.join("beside"), SHORT_RULES)?;
        let before = prompts(&daemon, options)?;
        console.say(format!("turns: {before:.0} plain prompts a second by the other build"));
        rows.push(("share of the other build", rate / before, Bound::Least(SHARE)));
    }
    let mut missed = String::new();
    for (name, got, bound) in rows {
        let (target, is_met, words) = match bound {
            Bound::Most(target) => (target, got <= target, "at most"),
            Bound::Least(target) => (target, got >= target, "at least"),
        };
        console.say(format!("turns: {name}: {got:.2} ({words} {target})"));
        if !is_met {
            let _ = writeln!(missed, "{name}: {got:.2}, expected {words} {target}");
        }
    }
    ensure!(missed.is_empty() || !options.is_checked, "{missed}");
    Ok(())
}

/// Target of a number.
#[derive(Clone, Copy)]
enum Bound {
    Most(f64),
    Least(f64),
}

/// Name, value and target of a measurement.
type TurnRow = (&'static str, f64, Bound);

/// Rules of the short turns.
const SHORT_RULES: &str = r#"
(rule :when "call" :depth 0 :propose ((:target :log :action :log :text "one" :call "a")))
(rule :when "call" :result t :text "done")
(default :text "answer")"#;

/// One turn with all the calls.
fn long_turn(
    program: &Path,
    folder: &Path,
    options: &TurnOptions,
    console: &VerbConsole,
) -> Result<Vec<TurnRow>> {
    let rounds = options.calls.div_ceil(CALLS_IN_ROUND);
    let mut rules = String::new();
    for round in 0..rounds {
        let condition = if round == 0 { "" } else { " :result t" };
        let _ = write!(rules, "(rule :when \"go\" :depth {round}{condition} :propose (");
        for call in 0..CALLS_IN_ROUND {
            let _ = write!(
                rules,
                "(:target :filler :action :complete :prefix \"{round} {call}\" :call \"{round}-{call}\")"
            );
        }
        rules.push_str("))\n");
    }
    let _ = writeln!(rules, "(rule :when \"go\" :depth {rounds} :result t :text \"all done\")");
    let daemon = TurnDaemon::start(program, folder, &rules)?;
    let before = bytes_of(&daemon.state)?;
    let mut shell = daemon.join("long", ":shell :filler :actuators (:filler)")?;
    say(&mut shell, "(:type :EVENT :id \"p\" :payload (:sensor :user-prompt :text \"go\"))")?;
    let total = rounds * CALLS_IN_ROUND;
    let result = "x".repeat(usize::try_from(options.kib << 10).context("a size")?);
    let mut marks = vec![Instant::now()];
    let mut done = 0;
    loop {
        let text = frame(&mut shell)?;
        if let Some(rest) = text.strip_prefix("(:type :REQUEST :id \"") {
            let id = rest.split('"').next().unwrap_or_default();
            let answer = format!(
                "(:type :RESPONSE :id \"{id}\" :payload (:status :success :text \"{done} {result}\"))"
            );
            say(&mut shell, &answer)?;
            done += 1;
            if done % (total / 4).max(1) == 0 {
                marks.push(Instant::now());
            }
        } else if text.starts_with("(:type :RESPONSE :id \"p\"") {
            ensure!(text.contains("all done"), "got `{}`", &text[..text.len().min(400)]);
            break;
        }
    }
    ensure!(done == total, "{done} calls, expected {total}");
    drop(shell);
    let state = daemon.stop()?;
    let grown = bytes_of(&state)?.saturating_sub(before);
    for verb in [&["replay"][..], &["log", "verify"]] {
        let mut command = Command::new(program);
        command.args(verb).arg("--state").arg(&state);
        let status = command.env("HOME", folder).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "`bridle {}` says no", verb.join(" "));
    }
    let quarter = |number: usize| match (marks.get(number), marks.get(number + 1)) {
        (Some(from), Some(to)) => to.duration_since(*from).as_secs_f64(),
        _ => 0.0,
    };
    let (first, last) = (quarter(0), quarter(3));
    console.say(format!(
        "turns: {total} calls of {} KiB: the first quarter {first:.2} s, the last {last:.2} s; verified and replayed",
        options.kib
    ));
    #[expect(clippy::cast_precision_loss, reason = "bytes of one run")]
    let disk = grown as f64 / (total * (options.kib << 10)) as f64;
    Ok(vec![
        ("last quarter of a long turn, of the first", last / first, Bound::Most(QUARTERS)),
        ("bytes on disk for a byte of results", disk, Bound::Most(DISK)),
    ])
}

/// Times of turns of one call, each from its message to its answer.
fn short_turns(daemon: &TurnDaemon, options: &TurnOptions) -> Result<Vec<Duration>> {
    let until = Duration::from_secs(options.seconds);
    let times = in_sessions(daemon, options, "call", move |shell, began| {
        let mut times = Vec::new();
        let mut id = 0_u64;
        while began.elapsed() < until {
            id += 1;
            let asked = Instant::now();
            prompt(shell, id, "call")?;
            times.push(asked.elapsed());
            thread::sleep(PACE);
        }
        Ok(times)
    })?;
    Ok(times.concat())
}

/// Plain prompts that are answered in a second.
fn prompts(daemon: &TurnDaemon, options: &TurnOptions) -> Result<f64> {
    let until = Duration::from_secs(options.seconds);
    let counts = in_sessions(daemon, options, "plain", move |shell, began| {
        let mut count = 0_u32;
        while began.elapsed() < until {
            count += 1;
            prompt(shell, u64::from(count), "hello")?;
        }
        Ok(count)
    })?;
    #[expect(clippy::cast_precision_loss, reason = "seconds of one run")]
    Ok(f64::from(counts.iter().sum::<u32>()) / options.seconds as f64)
}

/// Does the same in each session, all at once.
fn in_sessions<T: Send + 'static>(
    daemon: &TurnDaemon,
    options: &TurnOptions,
    name: &str,
    work: impl Fn(&mut UnixStream, Instant) -> Result<T> + Clone + Send + 'static,
) -> Result<Vec<T>> {
    let mut shells = Vec::new();
    for session in 0..options.sessions {
        shells.push(daemon.join(&format!("{name}{session}"), ":shell :turns")?);
    }
    let began = Instant::now();
    let each = shells.into_iter().map(|mut shell| {
        let work = work.clone();
        thread::spawn(move || work(&mut shell, began))
    });
    let each: Vec<_> = each.collect();
    each.into_iter()
        .map(|it| it.join().map_err(|_| anyhow::anyhow!("a shell broke off"))?)
        .collect()
}

/// Says something and waits for its answer.
fn prompt(shell: &mut UnixStream, id: u64, text: &str) -> Result<()> {
    say(
        shell,
        &format!("(:type :EVENT :id {id} :payload (:sensor :user-prompt :text \"{text}\"))"),
    )?;
    let answer = format!("(:type :RESPONSE :id {id} ");
    loop {
        let text = frame(shell)?;
        if text.starts_with(&answer) {
            ensure!(text.contains(":status :success"), "got `{text}`");
            return Ok(());
        }
    }
}

fn bytes_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("no `{}`", folder.display()))? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += if found.is_dir() { bytes_of(&entry.path())? } else { found.len() };
    }
    Ok(bytes)
}

/// Daemon in a folder of its own, ended with its measurement.
struct TurnDaemon {
    child: Child,
    socket: PathBuf,
    state: PathBuf,
}

impl TurnDaemon {
    fn start(program: &Path, folder: &Path, rules: &str) -> Result<TurnDaemon> {
        fs::create_dir_all(folder).context("cannot make a folder")?;
        let (script, socket, state) =
            (folder.join("rules.script"), folder.join("b.sock"), folder.join("state"));
        fs::write(&script, rules).context("cannot write the script")?;
        let log = File::create(folder.join("log")).context("cannot write a log")?;
        let mut child = Command::new(program)
            .args(["up", "--tcp", "off", "--policy", "off", "--log", "warn", "--unix"])
            .arg(&socket)
            .arg("--thinker")
            .arg(format!("script:{}", script.display()))
            .arg("--state")
            .arg(&state)
            // No settings of whoever runs this.
            .env("XDG_CONFIG_HOME", folder)
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("cannot start the daemon")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("the ready line is text")?;
        Ok(TurnDaemon { child, socket, state })
    }

    fn join(&self, session: &str, terms: &str) -> Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket).context("the socket takes nobody")?;
        stream.set_read_timeout(Some(PATIENCE)).context("no time limit")?;
        stream.set_write_timeout(Some(PATIENCE)).context("no time limit")?;
        frame(&mut stream)?;
        let hello = format!(
            "(:type :EVENT :payload (:action :handshake :session \"{session}\" :client \"{session}\" {terms}))"
        );
        let welcome = ask(&mut stream, &hello)?;
        ensure!(welcome.contains(":status :success"), "got `{welcome}`");
        Ok(stream)
    }

    /// Has the daemon end in order; its state folder.
    fn stop(mut self) -> Result<PathBuf> {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        self.child.wait().context("the daemon does not end")?;
        Ok(self.state.clone())
    }
}

impl Drop for TurnDaemon {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn options_are_numbers_and_words() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let options = parse(&words("--calls 40 --kib 2 --beside /a/b --check")).unwrap();
        assert_eq!((options.calls, options.kib, options.sessions), (40, 2, 64));
        assert_eq!(options.beside.as_deref(), Some(std::path::Path::new("/a/b")));
        assert!(options.is_checked && !options.is_dist);
        for bad in ["--calls", "--calls 0", "--hours 1", "--beside"] {
            assert!(parse(&words(bad)).is_err(), "{bad}");
        }
    }
}
