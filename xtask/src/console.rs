//! Where a verb writes, and how it starts other programs. Every verb gets a [`VerbConsole`]: the terminal
//! when a person calls the verb, a log file when `ci` does, so that `ci` shows one line per step. The
//! only file of xtask that prints.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the task runner talks to a terminal"
)]

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the repository: the parent of this package.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies inside the repository")
}

/// The place where a verb and the programs it starts write.
pub(crate) struct VerbConsole {
    /// `None` is the terminal.
    log: Option<File>,
}

impl VerbConsole {
    /// Writes to the terminal; started programs inherit it.
    pub(crate) fn terminal() -> Self {
        Self { log: None }
    }

    /// Writes everything to `file`, output of started programs included.
    pub(crate) fn log(file: File) -> Self {
        Self { log: Some(file) }
    }

    /// One line (or more) for the reader.
    pub(crate) fn say(&self, text: impl Display) {
        match &self.log {
            None => println!("{text}"),
            // A log that cannot be written must not hide the verdict of the step.
            Some(file) => drop(writeln!(&mut &*file, "{text}")),
        }
    }

    /// Text without a line end, shown at once: the left half of a line that waits for its verdict.
    pub(crate) fn begin(&self, text: impl Display) {
        print!("{text}");
        drop(std::io::stdout().flush());
    }

    /// An error with its causes.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        eprintln!("error: {error:#}");
    }

    fn stdio(&self) -> Result<Stdio> {
        match &self.log {
            None => Ok(Stdio::inherit()),
            Some(file) => Ok(file.try_clone().context("cannot share the log file")?.into()),
        }
    }
}

/// A program to start in the root of the repository, without stdin.
pub(crate) struct ProgramRun {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
}

impl ProgramRun {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self { program: program.as_ref().into(), arguments: Vec::new(), environment: Vec::new() }
    }

    /// The cargo that runs us, so that the pinned toolchain is kept.
    pub(crate) fn cargo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self::new(cargo).args(arguments)
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().into()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.into(), Some(value.as_ref().into())));
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// Runs to the end, output to the console; fails when the program does.
    pub(crate) fn run(&self, console: &VerbConsole) -> Result<()> {
        let status = self
            .command()
            .stdout(console.stdio()?)
            .stderr(console.stdio()?)
            .status()
            .with_context(|| format!("cannot start `{self}`"))?;
        if !status.success() {
            bail!("`{self}` failed: {status}");
        }
        Ok(())
    }

    /// Runs to the end and returns what it wrote and how it ended.
    pub(crate) fn output(&self) -> Result<Output> {
        self.command().output().with_context(|| format!("cannot start `{self}`"))
    }

    /// Runs to the end and returns its stdout; fails, with its stderr, when the program does.
    pub(crate) fn stdout(&self) -> Result<String> {
        let output = self.output()?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("`{self}` failed: {}\n{}", output.status, stderr.trim_end());
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` did not write UTF-8"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(root()).stdin(Stdio::null());
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}

/// As a person would type it.
impl Display for ProgramRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in &self.environment {
            if let Some(value) = value {
                write!(f, "{}={} ", name.display(), quote(&value.to_string_lossy()))?;
            }
        }
        let program = Path::new(&self.program);
        let name = program.file_name().unwrap_or(&self.program);
        write!(f, "{}", name.display())?;
        for argument in &self.arguments {
            write!(f, " {}", quote(&argument.to_string_lossy()))?;
        }
        Ok(())
    }
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Whether `program` is on the search path.
pub(crate) fn has_program(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Every file of the repository that is tracked, or new and not ignored; relative to the root.
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let list = ProgramRun::new("git")
        // In a container the clone may belong to another user.
        .args(["-c", "safe.directory=*"])
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .stdout()?;
    let mut files: Vec<PathBuf> = list
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .filter(|path| root().join(path).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}
