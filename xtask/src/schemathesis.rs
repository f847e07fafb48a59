//! `cargo xtask schemathesis`: random requests of others' making against the OpenAPI document that the
//! daemon serves. Starts the real daemon in a folder of its own, lets schemathesis (from PyPI, in a virtual
//! environment under `target`) ask until the time is over, and looks at the daemon and its record
//! afterwards. `ci` runs it for a short while.

mod watch;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::console::{ProgramRun, VerbConsole, root};
use watch::MemoryWatch;

pub(crate) const HELP: &str = "\
usage: cargo xtask schemathesis [--minutes N | --seconds N] [--seed N]

Sends requests made from the served OpenAPI document to a daemon of its own: no answer may be a 5xx or
differ from its schema, its content type or the statuses of the document.

  --minutes N   how long (10 unless told); --seconds N likewise
  --seed N      what the requests follow from (1 unless told)";

/// Pinned: a new release must not change what passes.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

/// Seconds of a run by hand.
const SECONDS: u64 = 600;

/// Seconds for an answer: far above any on a loaded machine, and still no daemon may hang. What ran out
/// of it is told from a machine that stood still by [`MemoryWatch`].
const PATIENCE: &str = "300";

/// Not asked: that whatever has the right shape is accepted. A request of another major version, one that
/// asks for nothing, a file inside a message: no schema can say that these are refused.
const UNCHECKED: &str = "positive_data_acceptance";

/// Treatment of a request that is not as the document says; and nothing is kept for a next run,
/// which would make it another one.
const SETTINGS: &str = "\
[cache]
enabled = false
[checks]
negative_data_rejection.expected-statuses = [
  400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429,
]
";

struct SchemathesisOptions {
    seconds: u64,
    seed: u64,
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let options = parse(arguments)?;
    let tool = install(console)?;
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let folder = std::env::temp_dir().join(format!("bridle-schemathesis-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let mut daemon = SchemathesisDaemon::start(&folder)?;
    let settings = folder.join("schemathesis.toml");
    fs::write(&settings, SETTINGS)
        .with_context(|| format!("cannot write `{}`", settings.display()))?;
    let run = ProgramRun::new(&tool).args(["--config-file"]).args([&settings]);
    let watch = MemoryWatch::start(daemon.address().to_owned());
    let asked = ask(run, &daemon.url, &options, console);
    let seen = watch.end();
    console.say(format!("schemathesis: {seen}"));
    let asked = asked.with_context(|| seen.verdict());
    let counted = daemon.statuses();
    let alive = daemon.child.try_wait().context("cannot look after the daemon")?;
    drop(daemon);
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let verified =
        ProgramRun::new(binary()).args(["log", "verify", "--state"]).args([&folder]).stdout();
    let count = match (asked, alive) {
        (Ok(count), None) => count,
        (result, ended) => {
            console.say(&log);
            result?;
            bail!("the daemon ended by itself: {ended:?}");
        }
    };
    let complaints: Vec<&str> =
        log.lines().filter(|line| line.contains("ERROR") || line.contains("panicked")).collect();
    ensure!(complaints.is_empty(), "the daemon complained:\n{}", complaints.join("\n"));
    verified.context("the record is not whole")?;
    let counted = counted.context("the daemon does not say what it answered")?;
    ensure!(!counted.iter().any(|(status, _)| *status >= 500), "a 5xx: {counted:?}");
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove `{}`", folder.display()))?;
    let words = counted.iter().map(|(status, count)| format!("{count} of {status}"));
    let words = words.collect::<Vec<_>>().join(", ");
    console.say(format!(
        "schemathesis: {count} cases in {} s, nothing found; answers: {words}",
        options.seconds
    ));
    Ok(())
}

fn parse(arguments: &[String]) -> Result<SchemathesisOptions> {
    let mut options = SchemathesisOptions { seconds: SECONDS, seed: 1 };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> Result<u64> {
            let text = rest.next().with_context(|| format!("`{argument}` without a number"))?;
            text.parse().with_context(|| format!("expected a number, got `{text}`"))
        };
        match argument.as_str() {
            "--minutes" => options.seconds = number()? * 60,
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            _ => bail!("unexpected argument `{argument}`\n\n{HELP}"),
        }
    }
    ensure!(options.seconds > 0, "expected a time, got none");
    Ok(options)
}

/// Returns the program, installed if it is not there in this version.
fn install(console: &VerbConsole) -> Result<PathBuf> {
    let folder = root().join("target/schemathesis");
    let (program, mark) = (folder.join("bin/schemathesis"), folder.join("installed"));
    let is_here = fs::read_to_string(&mark).is_ok_and(|text| text == SCHEMATHESIS);
    if !is_here || !program.exists() {
        console
            .say(format!("installing {SCHEMATHESIS} (makes requests from the OpenAPI document)"));
        ProgramRun::new("python3").args(["-m", "venv", "--clear"]).args([&folder]).run(console)?;
        let pip = folder.join("bin/pip");
        ProgramRun::new(pip).args(["install", "--quiet", SCHEMATHESIS]).run(console)?;
        fs::write(&mark, SCHEMATHESIS)
            .with_context(|| format!("cannot write `{}`", mark.display()))?;
    }
    Ok(program)
}

/// Has schemathesis ask; returns how many cases it made.
fn ask(
    run: ProgramRun,
    url: &str,
    options: &SchemathesisOptions,
    console: &VerbConsole,
) -> Result<u64> {
    let run = run
        .args(["run", &format!("{url}/v1/openharness/openapi.json"), "--no-color"])
        .args(["--max-time", &options.seconds.to_string(), "--seed", &options.seed.to_string()])
        .args(["--checks", "all", "--exclude-checks", UNCHECKED, "--continue-on-failure"])
        .args(["--request-timeout", PATIENCE])
        .env("PYTHONUNBUFFERED", "1");
    let output = run.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    console.say(&text);
    console.say(String::from_utf8_lossy(&output.stderr).trim_end());
    ensure!(output.status.success(), "`{run}` failed: {}", output.status);
    let count = generated(&text).context("schemathesis does not say how many requests it made")?;
    ensure!(count > 0, "schemathesis made no request");
    Ok(count)
}

/// The counts of answers by status, out of metrics.
fn statuses(metrics: &str) -> Vec<(u16, u64)> {
    let count = |line: &str| -> Option<(u16, u64)> {
        let line = line.strip_prefix("bridle_http_responses_total{status=\"")?;
        let (status, count) = line.split_once("\"} ")?;
        Some((status.parse().ok()?, count.trim().parse().ok()?))
    };
    let mut counts: Vec<(u16, u64)> = metrics.lines().filter_map(count).collect();
    counts.sort_unstable();
    counts
}

/// 276 for `  276 generated, 1 found 1 unique failure`.
fn generated(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.trim().split_once(" generated")?.0.parse().ok())
}

fn binary() -> PathBuf {
    root().join("target/debug/bridle")
}

/// A daemon on a free port, ended with the run.
struct SchemathesisDaemon {
    child: Child,
    url: String,
}

impl SchemathesisDaemon {
    fn start(folder: &Path) -> Result<SchemathesisDaemon> {
        let log = File::create(folder.join("log")).context("cannot write a log")?;
        let mut child = Command::new(binary())
            .args(["up", "--tcp", "off", "--unix", "off", "--http", "127.0.0.1:0", "--state"])
            .arg(folder)
            // No settings of whoever runs this.
            .env("XDG_CONFIG_HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("cannot start the daemon")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("the ready line is text")?;
        let mut daemon = SchemathesisDaemon { child, url: String::new() };
        let address = line.trim().strip_prefix("ready http=");
        daemon.url = format!("http://{}", address.with_context(|| format!("got `{line}`"))?);
        Ok(daemon)
    }

    fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Number of answers by status.
    fn statuses(&self) -> Result<Vec<(u16, u64)>> {
        Ok(statuses(&get(self.address(), "/metrics")?))
    }
}

/// Asks for a document, on a connection of its own.
fn get(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address).context("the daemon is not there")?;
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).context("the daemon does not listen")?;
    let mut text = String::new();
    stream.read_to_string(&mut text).context("the daemon does not answer")?;
    Ok(text)
}

impl Drop for SchemathesisDaemon {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::{generated, parse, statuses};

    #[test]
    fn times_are_in_minutes_or_seconds() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(parse(&[]).unwrap().seconds, 600);
        assert_eq!(parse(&words("--minutes 2 --seed 7")).unwrap().seconds, 120);
        assert_eq!(parse(&words("--seconds 5")).unwrap().seconds, 5);
        for bad in ["--seconds", "--seconds 0", "--hours 1", "--minutes soon"] {
            assert!(parse(&words(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn answers_are_counted_by_status() {
        let text = "# EOF\nbridle_http_responses_total{status=\"400\"} 7\nx 1\n\
                    bridle_http_responses_total{status=\"200\"} 12\n";
        assert_eq!(statuses(text), [(200, 12), (400, 7)]);
    }

    #[test]
    fn the_requests_are_counted() {
        assert_eq!(
            generated("Test cases:\n  276 generated, 1 found 1 unique failure\n"),
            Some(276)
        );
        assert_eq!(generated("Test cases:\n  9 generated, 9 passed\n"), Some(9));
        assert_eq!(generated("nothing"), None);
    }
}
