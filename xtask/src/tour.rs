//! `cargo xtask tour`: holds `docs/tour.md` to the program. Every file that the page names must exist, the
//! page must stay short, and a prompt that is traced through the debug build must pass every file that the
//! page lists for its way in. Valgrind traces: it sees each function that runs, and needs no change of the code.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask tour

Traces a prompt over the framed protocol and an OpenHarness request through the debug build under
valgrind, and compares the files that they pass with the two lists in docs/tour.md.";

const PAGE: &str = "docs/tour.md";

/// Ways in, with the heading of their list and the most files that it may name.
const WAYS: [(&str, TraceWay, usize); 2] = [
    ("## A prompt in a frame", TraceWay::Frame, 28),
    ("## A request over HTTP", TraceWay::Http, 30),
];

/// Longest silence of a daemon that runs fifty times slower than usual.
const ANSWER_WAIT: Duration = Duration::from_secs(120);

#[derive(Clone, Copy)]
enum TraceWay {
    Frame,
    Http,
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    if !arguments.is_empty() {
        bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" "));
    }
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let page = fs::read_to_string(root().join(PAGE)).with_context(|| format!("no `{PAGE}`"))?;
    for (heading, way, most) in WAYS {
        let listed = listed_files(&page, heading)?;
        ensure!(
            listed.len() < most,
            "{heading}: {} files are listed, expected fewer than {most}",
            listed.len()
        );
        let passed = trace(way)?;
        let missed: Vec<&String> = listed.difference(&passed).collect();
        ensure!(missed.is_empty(), "{heading}: listed, and not passed: {missed:?}");
        console.say(format!(
            "{}: all {} files of the page are passed, {} in all",
            heading.trim_start_matches("## "),
            listed.len(),
            passed.len()
        ));
    }
    Ok(())
}

/// Source files that the page names under a heading, up to the next one; each must exist.
fn listed_files(page: &str, heading: &str) -> Result<BTreeSet<String>> {
    let (_, below) =
        page.split_once(heading).with_context(|| format!("{PAGE} has no heading `{heading}`"))?;
    let section = below.split("\n## ").next().unwrap_or_default();
    let files: BTreeSet<String> = section
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| code.starts_with("crates/") && code.ends_with(".rs"))
        .map(str::to_owned)
        .collect();
    ensure!(!files.is_empty(), "{PAGE} names no file under `{heading}`");
    for file in &files {
        ensure!(root().join(file).is_file(), "{PAGE} names `{file}`, which does not exist");
    }
    Ok(files)
}

/// Source files whose code runs between a request and its answer.
fn trace(way: TraceWay) -> Result<BTreeSet<String>> {
    let folder = std::env::temp_dir().join(format!("bridle-tour-{}", std::process::id()));
    fs::create_dir_all(&folder).context("cannot make a scratch folder")?;
    let passed = trace_in(&folder, way);
    fs::remove_dir_all(&folder).context("cannot remove the scratch folder")?;
    passed
}

fn trace_in(folder: &Path, way: TraceWay) -> Result<BTreeSet<String>> {
    let out = folder.join("callgrind.out");
    let mut daemon = TracedDaemon::start(folder, &out)?;
    // The first request loads and begins things; the second one is an ordinary one.
    daemon.ask(way, 1)?;
    daemon.instrument("on")?;
    daemon.ask(way, 2)?;
    daemon.instrument("off")?;
    daemon.stop()?;
    let profile = fs::read_to_string(&out).context("valgrind has left no profile")?;
    Ok(source_files(&profile))
}

/// Paths of our own sources that a profile names.
fn source_files(profile: &str) -> BTreeSet<String> {
    let lines = profile.lines().filter(|line| {
        ["fl=", "fi=", "fe=", "cfi=", "cfl="].iter().any(|key| line.starts_with(key))
    });
    lines
        .filter_map(|line| {
            let at = line.find("crates/")?;
            let path = &line[at..];
            (path.contains("/src/") && path.ends_with(".rs")).then(|| path.to_owned())
        })
        .collect()
}

/// The debug build under valgrind, with a state of its own; killed when dropped.
struct TracedDaemon {
    child: Child,
    socket: PathBuf,
    http: String,
    token: String,
}

impl TracedDaemon {
    fn start(folder: &Path, out: &Path) -> Result<TracedDaemon> {
        let socket = folder.join("b.sock");
        let binary = root().join("target/debug/bridle");
        let token = Command::new(&binary)
            .args(["token", "create", "--scope", "talk", "--scope", "approve", "--state"])
            .arg(folder.join("state"))
            .env("XDG_CONFIG_HOME", folder)
            .env("HOME", folder)
            .output()
            .context("cannot run bridle")?;
        let token = String::from_utf8(token.stdout).context("a token is text")?;
        let mut child = Command::new("valgrind")
            .args(["--tool=callgrind", "--instr-atstart=no"])
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(binary)
            .args(["up", "--tcp", "off", "--http", "127.0.0.1:0", "--http-unix", "off", "--unix"])
            .arg(&socket)
            .arg("--state")
            .arg(folder.join("state"))
            .arg("--thinker")
            .arg(format!("script:{}", root().join("examples/deploy.script").display()))
            .env("XDG_CONFIG_HOME", folder)
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("log")).context("cannot write a log")?)
            .spawn()
            .context("cannot start valgrind; `cargo xtask setup` installs it")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut ready = String::new();
        BufReader::new(stdout).read_line(&mut ready).context("the ready line is text")?;
        let http = ready.split_whitespace().find_map(|word| word.strip_prefix("http="));
        let http = http.with_context(|| format!("expected a ready line, got `{ready}`"))?;
        Ok(TracedDaemon { child, socket, http: http.to_owned(), token: token.trim().to_owned() })
    }

    fn ask(&self, way: TraceWay, number: u32) -> Result<()> {
        match way {
            TraceWay::Frame => {
                let text = format!(
                    "(:type :EVENT :id {number} :meta (:session \"tour\") :payload (:sensor :user-prompt :text \"help\"))"
                );
                let frame = format!("{:06x}{text}", text.len());
                let mut stream = UnixStream::connect(&self.socket).context("cannot connect")?;
                stream.set_read_timeout(Some(ANSWER_WAIT))?;
                stream.write_all(frame.as_bytes())?;
                read_until(&mut stream, &format!(":id {number}"))
            }
            TraceWay::Http => self.ask_and_approve(number),
        }
    }

    /// Asks for something that needs an approval, and approves it with the continuation.
    fn ask_and_approve(&self, number: u32) -> Result<()> {
        if number == 1 {
            for old in ["old1", "old2"] {
                self.post(&json!({"session_id": old, "user_intent": "hello"}), old)?;
            }
        }
        let wanted = format!("clean up old{number}");
        let asked = self
            .post(&json!({"session_id": "tour", "user_intent": wanted}), &format!("ask{number}"))?;
        let response = &asked["response"];
        let token = &response["continuation"]["continuation_token"];
        let directive = response["action_directives"]
            .as_array()
            .and_then(|directives| {
                directives
                    .iter()
                    .find_map(|it| it["extensions"]["dev.bridle"]["directive_id"].as_str())
            })
            .with_context(|| format!("no approval is asked for: {asked}"))?;
        let approved = json!({
            "session_id": "tour",
            "continuation": {"continuation_token": token},
            "extensions": {"dev.bridle": {"directive_results": [
                {"directive_id": directive, "outcome": "completed",
                 "decision": {"by": "user", "option_id": "allow_once"}}]}}
        });
        let done = self.post(&approved, &format!("approve{number}"))?;
        ensure!(done["response"]["status"] == "success", "the approval did not count: {done}");
        Ok(())
    }

    /// Posts one request and reads the whole answer.
    fn post(&self, context: &Value, request_id: &str) -> Result<Value> {
        let body = json!({
            "protocol_version": "1.0.0",
            "request_id": request_id,
            "capabilities": {
                "openharness.ui.approval": true,
                "dev.bridle.feedback": {"version": 1}
            },
            "request": {"context": context},
        })
        .to_string();
        let head = format!(
            "POST /v1/openharness HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            self.http,
            self.token,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.http).context("cannot connect")?;
        stream.set_read_timeout(Some(ANSWER_WAIT))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).context("no answer in time")?;
        let (_, body) = answer.split_once("\r\n\r\n").context("an answer has a head")?;
        serde_json::from_str(body).with_context(|| format!("expected JSON, got `{answer}`"))
    }

    fn instrument(&self, state: &str) -> Result<()> {
        let control = ProgramRun::new("callgrind_control");
        let output = control.args(["-i", state, &self.child.id().to_string()]).output()?;
        ensure!(output.status.success(), "callgrind_control failed: {}", output.status);
        Ok(())
    }

    /// Ends the daemon in order, so that valgrind writes its profile.
    fn stop(&mut self) -> Result<()> {
        ProgramRun::new("kill").args(["-s", "TERM", &self.child.id().to_string()]).output()?;
        self.child.wait().context("the daemon does not end")?;
        Ok(())
    }
}

impl Drop for TracedDaemon {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Reads until the text is there; more may follow.
fn read_until(stream: &mut UnixStream, end: &str) -> Result<()> {
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece).context("no answer in time")?;
        ensure!(read > 0, "closed before `{end}`: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&piece[..read]);
        if seen.windows(end.len()).any(|window| window == end.as_bytes()) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{listed_files, source_files};

    #[test]
    fn a_profile_names_our_sources() {
        let profile = "fl=(1) /x/crates/loop/src/step.rs\nfn=(2) step\nfi=(3) /rustc/core.rs\ncfi=(4) crates/wire/src/frame/decoder.rs\n";
        let files: Vec<String> = source_files(profile).into_iter().collect();
        assert_eq!(files, ["crates/loop/src/step.rs", "crates/wire/src/frame/decoder.rs"]);
    }

    #[test]
    fn the_page_names_files_that_exist() {
        let page =
            "## A\n1. `crates/loop/src/step.rs` steps; `x` and `docs/a.md` are no files.\n\n## B\n";
        let files: Vec<String> = listed_files(page, "## A").unwrap().into_iter().collect();
        assert_eq!(files, ["crates/loop/src/step.rs"]);
        assert!(listed_files(page, "## B").is_err());
        assert!(listed_files("## A\n`crates/loop/src/gone.rs`\n", "## A").is_err());
    }
}
