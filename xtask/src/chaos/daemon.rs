//! The daemon under test: the real binary in its faults build, in a folder of its own. Starts it, knows
//! whether it died by itself, ends it, and asks the other commands of the binary about the record.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::line::ListenPlace;
use super::patience::BoundedWait;
use super::plan::{DaemonLife, LifeEnd};
use super::shell::RunningDaemon;
use super::witness;

/// Time that a start may take, or an end that was asked for: far above what either takes on a busy
/// machine, for nothing here is a measurement.
const PATIENCE: Duration = Duration::from_secs(30);

/// Interval between two looks at whether a child has ended.
const POLL: Duration = Duration::from_millis(2);

/// Exit code of a daemon that finds another one in its directory.
const REFUSED: i32 = 75;

/// The number of the signal that cannot be caught.
const SIGKILL: i32 = 9;

/// A folder in which one schedule is played.
#[derive(Debug, Clone)]
pub(crate) struct ScheduleFolder {
    pub(crate) binary: PathBuf,
    pub(crate) folder: PathBuf,
    /// The schedule's own, so that nobody else takes over the port of a daemon that has just ended,
    /// while shells still look for it there.
    pub(crate) address: Ipv4Addr,
}

/// The address of the `index`th schedule of this run, in the network that is all loopback. Runs at the
/// same time differ by their process.
pub(crate) fn own_address(process: u32, index: u64) -> Ipv4Addr {
    // 0 and 255 have a meaning of their own at either end.
    let octet = |number: u64| u8::try_from(number % 254).unwrap_or_default() + 1;
    Ipv4Addr::new(127, octet(process.into()), octet(index / 254), octet(index))
}

impl ScheduleFolder {
    /// Any free port of the schedule's address.
    fn tcp(&self) -> String {
        SocketAddrV4::new(self.address, 0).to_string()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub(crate) fn shadow(&self) -> PathBuf {
        self.folder.join("shadow")
    }

    /// The rules of the scripted thinker.
    pub(crate) fn script(&self) -> PathBuf {
        self.folder.join("script.lisp")
    }

    /// While this file exists, the record cannot grow.
    pub(crate) fn full(&self) -> PathBuf {
        self.folder.join("disk-full")
    }

    /// Milliseconds by which the clock is off; read whenever the daemon asks for the time.
    pub(crate) fn clock(&self) -> PathBuf {
        self.state().join("clock-offset")
    }

    /// The binary with these words, the settings of this machine's user left out.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["BRIDLE_", "HARNESS_", "XDG_"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        command.args(words).arg("--state").arg(self.state());
        command.env("HOME", &self.folder).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    fn up(&self) -> Command {
        let socket = self.folder.join("b.sock");
        let mut command = self.command(&["up", "--tcp", &self.tcp(), "--log", "warn"]);
        command.args(["--http", "off"]).arg("--unix").arg(socket);
        command.arg("--thinker").arg(format!("script:{}", self.script().display()));
        command
    }

    /// Whether a second daemon is kept out while one runs here.
    pub(crate) fn check_second_is_refused(&self) -> Result<()> {
        let mut second =
            self.command(&["up", "--tcp", &self.tcp(), "--unix", "off", "--http", "off"]);
        let output = second.output().context("cannot start a second daemon")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.code() == Some(REFUSED) && stderr.contains("is in use by process"),
            "a second daemon on the same state: expected exit code {REFUSED} and a reason, got {}: {stderr}",
            output.status
        );
        Ok(())
    }

    /// Runs a command of the binary over the record to its end; it must succeed.
    pub(crate) fn ask(&self, words: &[&str]) -> Result<String> {
        let output = self.command(words).output().context("cannot start the binary")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("`bridle {}`: {}\n{text}{stderr}", words.join(" "), output.status);
        }
        Ok(text)
    }
}

/// A running daemon; killed when dropped.
pub(crate) struct ChaosDaemon {
    child: Child,
    tcp: ListenPlace,
    unix: ListenPlace,
}

/// Result of a start.
pub(crate) enum StartResult {
    Up(ChaosDaemon),
    /// The daemon died of its fault point before it was up.
    Died,
}

impl ChaosDaemon {
    /// Starts it for a life and waits until it accepts.
    pub(crate) fn start(home: &ScheduleFolder, life: Option<&DaemonLife>) -> Result<StartResult> {
        let mut command = home.up();
        command.env("BRIDLE_FAULT_FULL", home.full());
        if let Some(DaemonLife { end: LifeEnd::Point { name, nth, .. }, .. }) = life {
            command.env("BRIDLE_FAULT", format!("{name}:{nth}"));
        }
        if life.is_some_and(|life| life.power.is_some()) {
            command.env("BRIDLE_FAULT_SHADOW", home.shadow());
        }
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(home.folder.join("daemon.log"))
            .context("cannot open its log")?;
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start `{}`", home.binary.display()))?;
        let stdout = child.stdout.take().context("the daemon has no stdout")?;
        let Some(ready) = ready_line(stdout) else {
            // Closed without a word: it is about to end.
            let status = child.wait()?;
            ensure!(
                life.is_some() && status.signal() == Some(SIGKILL),
                "the daemon did not start: {status}\n{}",
                log_tail(&home.folder)
            );
            return Ok(StartResult::Died);
        };
        let word = |name: &str| {
            let prefix = format!("{name}=");
            let found = ready.split_whitespace().find_map(|word| word.strip_prefix(&prefix));
            found.map(str::to_owned).with_context(|| format!("no `{name}` in `{ready}`"))
        };
        let (tcp, unix) = (ListenPlace::Tcp(word("tcp")?), ListenPlace::Unix(word("unix")?.into()));
        Ok(StartResult::Up(Self { child, tcp, unix }))
    }

    /// Facts about the daemon for the threads of a schedule.
    pub(crate) fn running(&self, home: &ScheduleFolder) -> RunningDaemon {
        let (tcp, unix) = (self.tcp.clone(), self.unix.clone());
        RunningDaemon { tcp, unix, pid: self.child.id(), folder: home.folder.clone() }
    }

    /// Waits for its end by itself, at most this long; whether it came, and by a fault point.
    pub(crate) fn dies_within(&mut self, wait: Duration) -> Result<bool> {
        let Some(status) = self.ends_within(wait)? else { return Ok(false) };
        ensure!(status.signal() == Some(SIGKILL), "the daemon ended by itself: {status}");
        Ok(true)
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill().context("cannot kill the daemon")?;
        self.child.wait().context("cannot wait for the daemon")?;
        Ok(())
    }

    /// SIGTERM; it must end in good order.
    pub(crate) fn stop(mut self, home: &ScheduleFolder) -> Result<()> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-s", "TERM", &pid]).status().context("cannot run `kill`")?;
        let Some(status) = self.ends_within(PATIENCE)? else {
            let state = witness::process(&self.running(home));
            bail!("the daemon does not end on SIGTERM\n{state}");
        };
        ensure!(status.success(), "after SIGTERM: {status}");
        Ok(())
    }

    fn ends_within(&mut self, wait: Duration) -> Result<Option<ExitStatus>> {
        let mut patience = BoundedWait::new(wait);
        loop {
            if let Some(status) = self.child.try_wait().context("cannot ask for the daemon")? {
                return Ok(Some(status));
            }
            if patience.is_over() {
                return Ok(None);
            }
            std::thread::sleep(POLL.min(wait));
        }
    }
}

impl Drop for ChaosDaemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The line that says where it listens; `None` when it ended first or says nothing for too long. A
/// thread drains what follows, so that the daemon never blocks on a full pipe.
fn ready_line(stdout: impl Read + Send + 'static) -> Option<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let ready = lines.find(|line| line.starts_with("ready "));
        // Nobody waits any more when the start took too long.
        let _ = sender.send(ready);
        lines.for_each(drop);
    });
    let mut patience = BoundedWait::new(PATIENCE);
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(ready) => return ready,
            Err(RecvTimeoutError::Timeout) if !patience.is_over() => {}
            Err(_) => return None,
        }
    }
}

/// The last lines that the daemon logged.
pub(crate) fn log_tail(folder: &Path) -> String {
    const LINES: usize = 30;
    let text = fs::read_to_string(folder.join("daemon.log")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// Processes that still work in this folder, by their command lines.
pub(crate) fn left_over(folder: &Path) -> Vec<String> {
    // To the end of its name: one seed's may begin with another's.
    let needle = format!("{}/", folder.display());
    let Ok(list) = fs::read_dir("/proc") else { return Vec::new() };
    list.filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&needle))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::Ipv4Addr;

    use super::own_address;

    #[test]
    fn schedules_have_addresses_of_their_own() {
        let addresses: BTreeSet<_> = (0..64_516).map(|index| own_address(77, index)).collect();
        assert_eq!(addresses.len(), 64_516);
        assert!(addresses.iter().all(Ipv4Addr::is_loopback));
        assert!(
            addresses.iter().flat_map(Ipv4Addr::octets).all(|octet| ![0, 255].contains(&octet))
        );
        assert_ne!(own_address(77, 0), own_address(78, 0));
    }
}
