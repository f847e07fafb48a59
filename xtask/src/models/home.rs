//! A home for a daemon that asks models, and its commands: nothing of the user's own settings is seen.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::clients::daemon;

/// Longest wait for anything: far above any on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Notes of the home.
const NOTES: &str = "* Mend the roof\nThe ladder is with Anna, who brings it on Sunday.\n* Log\n";

/// A home in a scratch folder; gone with the value.
pub(super) struct RoadHome {
    folder: PathBuf,
    running: Option<Child>,
}

/// Output of a command.
pub(super) struct Said {
    pub(super) is_well: bool,
    pub(super) out: String,
    pub(super) err: String,
}

impl RoadHome {
    pub(super) fn new(name: &str) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("bridle-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        let home = Self { folder, running: None };
        let (notes, config) = (home.path("org"), home.path(".config/bridle"));
        fs::create_dir_all(&notes)?;
        fs::create_dir_all(&config)?;
        fs::write(notes.join("notes.org"), NOTES)?;
        fs::write(notes.join("log.org"), "* Log\n")?;
        let text = format!(
            "tcp = \"off\"\nhttp = \"off\"\nunix = \"{}\"\nhttp-unix = \"{}\"\nmemex = \"{}\"\n\
             turn-rounds = 3\nlog = \"error\"\n",
            home.path("b.sock").display(),
            home.path("h.sock").display(),
            notes.display(),
        );
        fs::write(config.join("config.toml"), text)?;
        Ok(home)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(daemon());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["BRIDLE_", "HARNESS_", "XDG_"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        command.args(words).env("HOME", &self.folder).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(super) fn run(&self, words: &[&str]) -> Result<Said> {
        let output = self.command(words).output().with_context(|| format!("bridle {words:?}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        Ok(Said { is_well: output.status.success(), out, err })
    }

    /// Runs a command that has to go well; returns its output.
    pub(super) fn must(&self, words: &[&str]) -> Result<String> {
        let said = self.run(words)?;
        ensure!(said.is_well, "bridle {words:?}: {}{}", said.out, said.err);
        Ok(said.out)
    }

    /// Starts a daemon, and waits until it is ready.
    pub(super) fn up(&mut self) -> Result<()> {
        let mut command = self.command(&["up"]);
        command.stderr(Stdio::inherit());
        let mut child = command.spawn().context("cannot start the daemon")?;
        let output = child.stdout.take().context("a daemon without output")?;
        self.running = Some(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line.starts_with("ready"), "the daemon said `{line}`");
        Ok(())
    }

    /// Ends the daemon by a signal; tells how long that took.
    pub(super) fn end(&mut self, signal: &str) -> Result<Duration> {
        let mut child = self.running.take().context("no daemon runs")?;
        let begun = Instant::now();
        let id = child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().context("kill")?;
        ensure!(sent.success(), "kill {signal} {id}");
        let status = child.wait()?;
        ensure!(signal == "-KILL" || status.success(), "the daemon ended with {status}");
        Ok(begun.elapsed())
    }

    /// Chooses a model, and waits until the daemon would ask it.
    pub(super) fn choose(&self, model: &str) -> Result<()> {
        self.must(&["model", "use", model])?;
        let wanted = format!("\"model\":\"{model}\"");
        self.until(&format!("the model {model}"), || {
            let said = self.run(&["prompt", "preview", "--json", "hi"])?;
            Ok(said.out.replace(": ", ":").contains(&wanted))
        })
    }

    /// Waits until something holds.
    pub(super) fn until(&self, what: &str, holds: impl Fn() -> Result<bool>) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if holds()? {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        bail!("waited in vain for {what}")
    }
}

pub(super) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

impl Drop for RoadHome {
    fn drop(&mut self) {
        if let Some(child) = &mut self.running {
            drop(child.kill());
            drop(child.wait());
        }
        drop(fs::remove_dir_all(&self.folder));
    }
}
