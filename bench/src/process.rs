//! A contender in a process of its own: it loads the document once, then does one read or print for
//! every line it gets, and answers with the time that took inside it. Used by `reader`.
//!
//! One process each, because contenders that share a heap slow each other down: among seven others in
//! one process `serde_json` took twice as long as alone, its free memory scattered by the others.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Task for a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Read its text; in Rust, visit its tree as well.
    Read,
    /// Print its tree.
    Print,
}

impl Ask {
    /// The word for it in the line protocol.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Print => "print",
        }
    }
}

/// One step of a contender.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Reading and visiting, or printing.
    pub work: Duration,
    /// Freeing what the work allocated.
    pub free: Duration,
}

/// A running contender.
pub struct Process {
    ask: Ask,
    /// Its own description, behind `ready`.
    pub ready: String,
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<Box<dyn Read>>,
}

impl Process {
    /// Starts this program as the contender `name` on the document at `path`.
    pub fn contender(ask: Ask, name: &str, path: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["contend", ask.word(), name]).arg(path);
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        Self::start(ask, command)
    }

    /// Starts SBCL on the document at `path`.
    pub fn sbcl(ask: Ask, path: &Path) -> Result<Self> {
        let mut command = Command::new("sbcl");
        command.args(["--dynamic-space-size", "2048", "--script"]);
        command.arg(script("sbcl.lisp")).arg(path).stdout(Stdio::piped()).stderr(Stdio::null());
        Self::start(ask, command).context("SBCL: apt-get install sbcl")
    }

    /// Starts a batch Emacs on the document at `path`.
    pub fn emacs(ask: Ask, path: &Path) -> Result<Self> {
        let mut command = Command::new("emacs");
        command.args(["-Q", "--batch", "-l"]).arg(script("emacs.el")).arg(path);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        Self::start(ask, command).context("Emacs: apt-get install emacs-nox")
    }

    fn start(ask: Ask, mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{command:?}`"))?;
        let requests = child.stdin.take();
        // Emacs answers on standard error, the others on standard output.
        let stdout = child.stdout.take().map(|stdout| Box::new(stdout) as Box<dyn Read>);
        let stderr = child.stderr.take().map(|stderr| Box::new(stderr) as Box<dyn Read>);
        let answers = BufReader::new(stdout.or(stderr).context("the process has no output")?);
        let mut process = Self { ask, ready: String::new(), child, requests, answers };
        let line = process.line()?;
        let said = line
            .strip_prefix("ready")
            .with_context(|| format!("expected `ready`, got `{line}`"))?;
        process.ready = said.trim().to_owned();
        Ok(process)
    }

    /// Does one step and returns how long it took inside the process.
    pub fn step(&mut self) -> Result<Sample> {
        let requests = self.requests.as_mut().context("the process has no stdin")?;
        writeln!(requests, "{}", self.ask.word())?;
        requests.flush()?;
        let line = self.line()?;
        let times = line.split_once(' ').and_then(|(work, free)| {
            let nanos = |text: &str| Some(Duration::from_nanos(text.parse().ok()?));
            Some(Sample { work: nanos(work)?, free: nanos(free)? })
        });
        times.with_context(|| format!("expected `WORK FREE` in nanoseconds, got `{line}`"))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.answers.read_line(&mut line)? > 0, "the process ended early");
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // All of them end with their standard input.
        self.requests = None;
        let _status = self.child.wait();
    }
}

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("lisp").join(name)
}
