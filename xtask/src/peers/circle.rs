//! `cargo xtask peers circle`: what `org-element` makes of Org files, sent to a daemon by a real Emacs as the ASTs of
//! buffers that are not saved, and asked for again. The same text must come back, read as the same data, and Org must
//! write the same of it. The files are those of `peers org`. A few of them are in every `cargo test`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::org;
use crate::clients;
use crate::console::{ProgramRun, VerbConsole, root};

pub(super) const HELP: &str = "\
usage: cargo xtask peers circle [--no-made] [--no-packages] [FOLDER...]

Sends what Org sees in files to a daemon and back, in a real Emacs: the vectors, made texts, the Org files of the
packages that peers/org-corpus.txt pins, and those below each FOLDER.

  --no-made       make no texts
  --no-packages   fetch nothing";

/// Files that one Emacs sends over one connection: enough to make its start cheap.
const BATCH: usize = 50;

/// Seconds of processor time that Emacs gets to start, and bytes of files that it gets another second for: each is
/// read, printed and read again, and Org writes it twice.
const START_SECONDS: u64 = 30;
const BYTES_A_SECOND: u64 = 4_000;

/// Memory that Emacs gets, in KiB.
const MEMORY: &str = "8000000";

pub(super) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let flags: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let sets = org::sets(&flags, console)?;
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let daemon = CircleDaemon::start()?;
    let mut all = CircleScore::default();
    for (name, files) in sets {
        let mut score = CircleScore::default();
        send(&files, &daemon, &mut score)?;
        score.report(name, console);
        all.join(score);
    }
    all.report("all", console);
    all.left_out.iter().chain(&all.different).for_each(|line| console.say(line));
    if !all.different.is_empty() {
        bail!("{} files did not come back as they were sent", all.different.len());
    }
    Ok(())
}

/// Sends files, batch by batch; one that Emacs does not end with is told apart.
fn send(files: &[PathBuf], daemon: &CircleDaemon, score: &mut CircleScore) -> Result<()> {
    let mut left = files;
    while !left.is_empty() {
        let batch = &left[..left.len().min(BATCH)];
        let mut lines = circle(batch, daemon)?;
        // It may have been the last of many: it gets another try, alone.
        if let Some(ended) = batch.get(lines.len()) {
            let alone = circle(std::slice::from_ref(ended), daemon)?;
            let endless = || format!("endless {}", ended.display());
            lines.push(alone.into_iter().next().unwrap_or_else(endless));
        }
        left = &left[lines.len()..];
        lines.into_iter().for_each(|line| score.add(line));
    }
    Ok(())
}

/// A line for each file, up to the one that Emacs did not end with.
fn circle(files: &[PathBuf], daemon: &CircleDaemon) -> Result<Vec<String>> {
    let out = daemon.state.join("circle.out");
    fs::write(&out, "").context("cannot make a file for what Emacs says")?;
    let sizes = files.iter().map(|file| fs::metadata(file).map_or(0, |file| file.len()));
    let seconds = (START_SECONDS + sizes.sum::<u64>() / BYTES_A_SECOND).to_string();
    let script = "ulimit -t \"$1\" && ulimit -v \"$2\" && shift 2 && exec emacs \"$@\"";
    let run = ProgramRun::new("sh")
        .args(["-c", script, "sh", &seconds, MEMORY, "-Q", "--batch"])
        .args(["-l", "peers/emacs/bridle-peer.el", "-l", "peers/emacs/org-circle.el"])
        .args(["-f", "org-circle-main", "--", &daemon.port.to_string()])
        .args([out.as_path()])
        .args(files);
    let output = run.output()?;
    let said = fs::read_to_string(&out).context("cannot read what Emacs says")?;
    if said.is_empty() && files.len() > 1 {
        bail!("Emacs says nothing: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(said.lines().map(str::to_owned).collect())
}

/// Number of forms that came back, and those that did not.
#[derive(Default)]
struct CircleScore {
    same: usize,
    bytes: u64,
    /// Files that Org fails on or does not end with: nothing to send.
    left_out: Vec<String>,
    different: Vec<String>,
}

impl CircleScore {
    fn add(&mut self, line: String) {
        match line.split_once(' ') {
            Some(("same", rest)) => {
                self.same += 1;
                let bytes = rest.rsplit(' ').next().and_then(|bytes| bytes.parse::<u64>().ok());
                self.bytes += bytes.unwrap_or(0);
            }
            Some(("failed" | "endless", _)) => self.left_out.push(line),
            _ => self.different.push(line),
        }
    }

    fn join(&mut self, other: CircleScore) {
        self.same += other.same;
        self.bytes += other.bytes;
        self.left_out.extend(other.left_out);
        self.different.extend(other.different);
    }

    fn report(&self, name: &str, console: &VerbConsole) {
        console.say(format!(
            "{name}: {} files the same, {} KiB of ASTs, {} different, {} that Org fails on",
            self.same,
            self.bytes / 1024,
            self.different.len(),
            self.left_out.len()
        ));
    }
}

/// A daemon with a state of its own; both go when this is dropped.
struct CircleDaemon {
    process: Child,
    port: u16,
    state: PathBuf,
}

impl CircleDaemon {
    fn start() -> Result<CircleDaemon> {
        let state = root().join(format!("target/circle-{}", std::process::id()));
        fs::create_dir_all(&state).context("cannot make a folder for the daemon")?;
        let mut process = command(&state).spawn().context("cannot start the daemon")?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).context("cannot read its first line")?;
        }
        let mut daemon = CircleDaemon { process, port: 0, state };
        let digits = line.trim_end().rsplit(':').next().unwrap_or_default();
        daemon.port = digits
            .parse()
            .with_context(|| format!("the daemon says `{}`, expected a port", line.trim_end()))?;
        Ok(daemon)
    }
}

fn command(state: &Path) -> Command {
    let mut command = Command::new(clients::daemon());
    command
        .args(["up", "--tcp", "127.0.0.1:0", "--unix", "off", "--http", "off", "--state"])
        .arg(state)
        // No settings of whoever runs it.
        .env("XDG_CONFIG_HOME", state)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

impl Drop for CircleDaemon {
    fn drop(&mut self) {
        // It may have ended by itself; its folder is in `target` in any case.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.state);
    }
}
