//! `cargo xtask crowd`: hundreds of sessions that stream at once, and how soon the daemon answers others meanwhile. Starts the
//! real daemon in a folder of its own, with a scripted thinker; prints latencies and memory, and holds them to the targets with
//! `--check`.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::console::{ProgramRun, VerbConsole, root};
use crate::siege::{ask, frame};

pub(crate) const HELP: &str = "\
usage: cargo xtask crowd [--sessions N] [--seconds N] [--dist] [--check]

Sessions that stream 20 pieces a second each, every one to a shell of its own. Meanwhile health is asked for, a
`:complete` is requested in a busy session, and running turns are interrupted; memory is read before and while they
stream.

  --sessions N   how many (500 unless told)
  --seconds N    how long is measured (20 unless told)
  --dist         the daemon as it is released, not as it is debugged
  --check        fail where a target is missed: health p99 10 ms, `:complete` p99 20 ms, interrupt p99 100 ms,
                 256 KiB of memory for each session";

/// Sessions and seconds, by hand.
const SESSIONS: u64 = 500;
const SECONDS: u64 = 20;

/// Pieces of the stream, at 20 a second: more than three minutes.
const PIECES: usize = 4_000;

/// Targets: milliseconds, and KiB.
const HEALTH_MS: f64 = 10.0;
const COMPLETE_MS: f64 = 20.0;
const INTERRUPT_MS: f64 = 100.0;
const SESSION_KIB: f64 = 256.0;

/// Time for all streams to get going.
const SETTLE: Duration = Duration::from_secs(3);

/// Pause between two rounds of questions.
const PAUSE: Duration = Duration::from_millis(20);

/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Stack of a shell's thread, in bytes: it reads and counts.
const SHELL_STACK: usize = 128 << 10;

const HEALTH: &str = "(:type :health-check)";

/// A prompt that is answered for minutes. What a client says under the same id is the same.
fn prompt(round: u64) -> String {
    format!("(:type :EVENT :id \"p-{round}\" :payload (:sensor :user-prompt :text \"stream\"))")
}

#[derive(Debug, PartialEq)]
struct CrowdOptions {
    sessions: u64,
    seconds: u64,
    is_dist: bool,
    is_checked: bool,
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let options = parse(arguments)?;
    let profile: &[&str] = if options.is_dist { &["--profile", "dist"] } else { &[] };
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).args(profile).run(console)?;
    let folder = std::env::temp_dir().join(format!("bridle-crowd-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let result = measure(&folder, &options, console);
    if result.is_ok() {
        drop(fs::remove_dir_all(&folder));
    }
    result.with_context(|| format!("the daemon's files and log are in `{}`", folder.display()))
}

fn parse(arguments: &[String]) -> Result<CrowdOptions> {
    let mut options =
        CrowdOptions { sessions: SESSIONS, seconds: SECONDS, is_dist: false, is_checked: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--sessions" => &mut options.sessions,
            "--seconds" => &mut options.seconds,
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

fn measure(folder: &Path, options: &CrowdOptions, console: &VerbConsole) -> Result<()> {
    let mut daemon = CrowdDaemon::start(folder, options.is_dist)?;
    let crowd = StreamingCrowd::join(&daemon.socket, options.sessions)?;
    let attached = daemon.resident_bytes()?;
    crowd.go.store(true, Ordering::Release);
    thread::sleep(SETTLE);
    let before = crowd.pieces.load(Ordering::Relaxed);
    let began = Instant::now();
    let mut probes = CrowdProbes::open(&daemon.socket, options.sessions)?;
    while began.elapsed() < Duration::from_secs(options.seconds) {
        probes.round()?;
        thread::sleep(PAUSE);
    }
    let seconds = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "counts of one run")]
    let rate = (crowd.pieces.load(Ordering::Relaxed) - before) as f64 / seconds;
    let running = daemon.resident_bytes()?;
    ensure!(daemon.child.try_wait()?.is_none(), "the daemon ended");
    #[expect(clippy::cast_precision_loss, reason = "bytes of one process")]
    let each = running.saturating_sub(attached) as f64 / 1024.0 / options.sessions as f64;
    crowd.leave();
    console.say(format!(
        "crowd: {} sessions, {rate:.0} pieces of text a second; {:.0} MiB attached, {:.0} MiB streaming",
        options.sessions,
        mebibytes(attached),
        mebibytes(running),
    ));
    let mut missed = String::new();
    let rows = [
        ("health p99, ms", p99(&mut probes.health), HEALTH_MS),
        ("`:complete` in a busy session p99, ms", p99(&mut probes.complete), COMPLETE_MS),
        ("interrupt p99, ms", p99(&mut probes.interrupt), INTERRUPT_MS),
        ("memory for each running session, KiB", each, SESSION_KIB),
    ];
    for (name, got, target) in rows {
        console.say(format!("crowd: {name}: {got:.1} (target {target})"));
        if got > target {
            let _ = writeln!(missed, "{name}: {got:.1}, expected at most {target}");
        }
    }
    ensure!(missed.is_empty() || !options.is_checked, "{missed}");
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "bytes of one process")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / 1024.0 / 1024.0
}

/// The 99th of a hundred, in milliseconds.
pub(crate) fn p99(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    let place = (times.len() * 99).div_ceil(100).saturating_sub(1);
    times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
}

/// Daemon in a folder of its own, ended with the run.
struct CrowdDaemon {
    child: Child,
    socket: PathBuf,
}

impl CrowdDaemon {
    fn start(folder: &Path, is_dist: bool) -> Result<CrowdDaemon> {
        let pieces: String = (0..PIECES).map(|number| format!(" \"piece {number} \"")).collect();
        let script = folder.join("rules.script");
        fs::write(&script, format!("(rule :when \"stream\" :pace 50 :stream ({pieces}))\n"))
            .context("cannot write the script")?;
        let socket = folder.join("b.sock");
        let log = File::create(folder.join("log")).context("cannot write a log")?;
        let build = if is_dist { "dist" } else { "debug" };
        let mut child = Command::new(root().join("target").join(build).join("bridle"))
            .args(["up", "--tcp", "off", "--policy", "off", "--log", "warn", "--unix"])
            .arg(&socket)
            .arg("--thinker")
            .arg(format!("script:{}", script.display()))
            .arg("--state")
            .arg(folder.join("state"))
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
        Ok(CrowdDaemon { child, socket })
    }

    fn resident_bytes(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).context("the daemon is gone")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        Ok(kib.context("the system does not tell the memory of a process")? << 10)
    }
}

impl Drop for CrowdDaemon {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Joins a session, as an editor that carries out requests.
fn join(socket: &Path, session: u64, client: &str) -> Result<UnixStream> {
    let mut stream = UnixStream::connect(socket).context("the socket takes nobody")?;
    stream.set_read_timeout(Some(PATIENCE)).context("no time limit")?;
    stream.set_write_timeout(Some(PATIENCE)).context("no time limit")?;
    frame(&mut stream)?;
    let hello = format!(
        "(:type :EVENT :payload (:action :handshake :session \"c{session}\" :client \"{client}\" :shell :emacs \
         :render-rate 60))"
    );
    let welcome = ask(&mut stream, &hello)?;
    ensure!(welcome.contains(":status :success"), "got `{welcome}`");
    Ok(stream)
}

pub(crate) fn say(stream: &mut UnixStream, text: &str) -> Result<()> {
    let said = format!("{:06x}{text}", text.len());
    stream.write_all(said.as_bytes()).context("the daemon does not listen")
}

/// Shells that read streams, a thread each.
struct StreamingCrowd {
    go: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    pieces: Arc<AtomicU64>,
    shells: Vec<JoinHandle<()>>,
}

impl StreamingCrowd {
    fn join(socket: &Path, sessions: u64) -> Result<StreamingCrowd> {
        let mut crowd = StreamingCrowd {
            go: Arc::default(),
            ends: Arc::default(),
            pieces: Arc::default(),
            shells: Vec::new(),
        };
        for session in 0..sessions {
            let mut stream = join(socket, session, "crowd")?;
            let (go, ends) = (Arc::clone(&crowd.go), Arc::clone(&crowd.ends));
            let pieces = Arc::clone(&crowd.pieces);
            let shell = thread::Builder::new().stack_size(SHELL_STACK).spawn(move || {
                while !go.load(Ordering::Acquire) {
                    thread::sleep(PAUSE);
                }
                if say(&mut stream, &prompt(0)).is_err() {
                    return;
                }
                while !ends.load(Ordering::Relaxed) {
                    let Ok(text) = frame(&mut stream) else { return };
                    if text.contains(":action :delta") {
                        pieces.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            crowd.shells.push(shell.context("no thread")?);
        }
        Ok(crowd)
    }

    /// Lets the shells end with their next piece; the daemon is ended after them.
    fn leave(self) {
        self.ends.store(true, Ordering::Relaxed);
        for shell in self.shells {
            drop(shell.join());
        }
    }
}

/// Questions beside the streams, and how long their answers took.
struct CrowdProbes {
    socket: PathBuf,
    sessions: u64,
    health_link: UnixStream,
    editor: UnixStream,
    round: u64,
    health: Vec<Duration>,
    complete: Vec<Duration>,
    interrupt: Vec<Duration>,
}

impl CrowdProbes {
    fn open(socket: &Path, sessions: u64) -> Result<CrowdProbes> {
        let mut health_link = UnixStream::connect(socket).context("the socket takes nobody")?;
        health_link.set_read_timeout(Some(PATIENCE)).context("no time limit")?;
        frame(&mut health_link)?;
        Ok(CrowdProbes {
            socket: socket.to_owned(),
            sessions,
            health_link,
            editor: join(socket, 0, "probe")?,
            round: 0,
            health: Vec::new(),
            complete: Vec::new(),
            interrupt: Vec::new(),
        })
    }

    fn round(&mut self) -> Result<()> {
        self.round += 1;
        let began = Instant::now();
        let health = ask(&mut self.health_link, HEALTH)?;
        self.health.push(began.elapsed());
        ensure!(health.starts_with("(:type :health-response"), "got `{health}`");
        self.complete()?;
        if self.sessions > 1 {
            self.interrupt()?;
        }
        Ok(())
    }

    /// Requests a completion of the editor that asks, and answers it.
    fn complete(&mut self) -> Result<()> {
        let id = format!("q-{}", self.round);
        let began = Instant::now();
        say(
            &mut self.editor,
            &format!(
                "(:type :REQUEST :id \"{id}\" :target :emacs :payload (:action :complete :prefix \"de\"))"
            ),
        )?;
        let answer = format!("(:type :RESPONSE :id \"{id}\"");
        loop {
            let text = frame(&mut self.editor)?;
            if text.starts_with(&answer) {
                ensure!(text.contains(":status :success"), "got `{text}`");
                self.complete.push(began.elapsed());
                return Ok(());
            }
            let asked = text.strip_prefix("(:type :REQUEST :id \"");
            if let Some(asked) = asked.and_then(|rest| rest.split('"').next()) {
                let response = format!(
                    "(:type :RESPONSE :id \"{asked}\" :payload (:status :success :suggestions (\"def\")))"
                );
                say(&mut self.editor, &response)?;
            }
        }
    }

    /// Interrupts one of the others, and has it stream again.
    fn interrupt(&mut self) -> Result<()> {
        let mut shell = join(&self.socket, 1 + self.round % (self.sessions - 1), "stopper")?;
        let began = Instant::now();
        say(&mut shell, "(:type :EVENT :id \"i\" :payload (:sensor :interrupt))")?;
        while !frame(&mut shell)?.starts_with("(:type :RESPONSE :id \"i\"") {}
        self.interrupt.push(began.elapsed());
        say(&mut shell, &prompt(self.round))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CrowdOptions, p99, parse};

    #[test]
    fn options_are_numbers_and_words() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let options = parse(&words("--sessions 40 --seconds 6 --check")).unwrap();
        let expected = CrowdOptions { sessions: 40, seconds: 6, is_dist: false, is_checked: true };
        assert_eq!(options, expected);
        for bad in ["--seconds", "--seconds 0", "--hours 1"] {
            assert!(parse(&words(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn one_of_a_hundred_may_be_slow() {
        let mut times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert!((p99(&mut times) - 198.0).abs() < 0.001);
        assert!(p99(&mut []).abs() < 0.001);
    }
}
