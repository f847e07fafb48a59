//! SBCL and Emacs as contenders: child processes that load the document once and then, on request,
//! read or print it and answer with the time that took, start-up excluded. Used by `reader`.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// A Lisp process that answers `read` and `print`.
pub struct Lisp {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<Box<dyn Read>>,
}

/// What to ask a Lisp for.
#[derive(Debug, Clone, Copy)]
pub enum Ask {
    /// Read the document's text.
    Read,
    /// Print the document's tree.
    Print,
}

impl Lisp {
    /// Starts SBCL on the document at `path`.
    pub fn sbcl(path: &Path) -> Result<Self> {
        let mut command = Command::new("sbcl");
        command
            .args(["--dynamic-space-size", "2048", "--script"])
            .arg(script("sbcl.lisp"))
            .arg(path);
        let mut child = start(command, Stdio::piped(), Stdio::null())
            .context("cannot start `sbcl`: apt-get install sbcl")?;
        let answers = child.stdout.take().context("sbcl has no stdout")?;
        Self::ready(child, Box::new(answers))
    }

    /// Starts a batch Emacs on the document at `path`.
    pub fn emacs(path: &Path) -> Result<Self> {
        let mut command = Command::new("emacs");
        command.args(["-Q", "--batch", "-l"]).arg(script("emacs.el")).arg(path);
        let mut child = start(command, Stdio::null(), Stdio::piped())
            .context("cannot start `emacs`: apt-get install emacs-nox")?;
        let answers = child.stderr.take().context("emacs has no stderr")?;
        Self::ready(child, Box::new(answers))
    }

    fn ready(mut child: Child, answers: Box<dyn Read>) -> Result<Self> {
        let requests = child.stdin.take();
        let mut lisp = Self { child, requests, answers: BufReader::new(answers) };
        let line = lisp.line()?;
        ensure!(line.starts_with("ready "), "expected `ready`, got `{line}`");
        Ok(lisp)
    }

    /// Does one step and returns how long it took inside the process.
    pub fn ask(&mut self, ask: Ask) -> Result<Duration> {
        let word = match ask {
            Ask::Read => "read",
            Ask::Print => "print",
        };
        let requests = self.requests.as_mut().context("the process has no stdin")?;
        writeln!(requests, "{word}")?;
        requests.flush()?;
        let line = self.line()?;
        let (micros, _) = line
            .split_once(' ')
            .with_context(|| format!("expected `MICROS LENGTH`, got `{line}`"))?;
        Ok(Duration::from_micros(micros.parse().with_context(|| format!("bad time `{micros}`"))?))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.answers.read_line(&mut line)? > 0, "the process ended early");
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Lisp {
    fn drop(&mut self) {
        // Both scripts end with their standard input.
        self.requests = None;
        let _status = self.child.wait();
    }
}

fn start(mut command: Command, stdout: Stdio, stderr: Stdio) -> Result<Child> {
    Ok(command.stdin(Stdio::piped()).stdout(stdout).stderr(stderr).spawn()?)
}

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("lisp").join(name)
}
