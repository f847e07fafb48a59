//! The conversations of the README, run as a reader would paste them: every `console` block against a
//! fresh daemon, its output compared with what the README promises. Only the port differs, and what
//! the README shows as `…`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The ports that the README uses: the defaults.
const DEFAULT_PORT: &str = "9105";
const DEFAULT_HTTP: &str = "8788";

#[test]
fn conversations_of_the_readme_are_true() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let conversations = conversations(&readme);
    assert!(!conversations.is_empty(), "the README has no conversation");
    let daemon = Daemon::start();
    for (command, promised) in conversations {
        let command =
            command.replace(DEFAULT_PORT, &daemon.port).replace(DEFAULT_HTTP, &daemon.http);
        let output = daemon.client().args(["-c", &command]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        // The terminal's own line end behind the last frame is not part of it.
        assert!(
            fits(said.trim_end(), &promised),
            "{command}\nsaid     {said}\npromised {promised}"
        );
    }
}

/// Whether `said` is what was promised, with any text in the place of each `…`.
fn fits(said: &str, promised: &str) -> bool {
    let (start, rest) = promised.split_once('…').unwrap_or((promised, ""));
    let Some(mut said) = said.strip_prefix(start) else { return false };
    if start.len() == promised.len() {
        return said.is_empty();
    }
    let mut pieces: Vec<&str> = rest.split('…').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some((_, after)) = said.split_once(piece) else { return false };
        said = after;
    }
    said.ends_with(end)
}

#[test]
fn an_ellipsis_fits_anything() {
    for (said, promised, expected) in [
        ("abc", "abc", true),
        ("abc", "ab", false),
        ("abc", "a…c", true),
        ("abc", "a…", true),
        ("abcd", "…b…d", true),
        ("abc", "a…d", false),
        ("abc", "b…", false),
    ] {
        assert_eq!(fits(said, promised), expected, "{said} {promised}");
    }
}

/// Commands (lines that start with `$ `) of the `console` blocks, each with the lines below it.
fn conversations(readme: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            found.push((command.into(), String::new()));
        } else if let Some((_, promised)) = found.last_mut().filter(|_| inside) {
            if !promised.is_empty() {
                promised.push('\n');
            }
            promised.push_str(line);
        }
    }
    found
}

/// A daemon on a free port, ended with the test.
struct Daemon {
    child: Child,
    port: String,
    http: String,
    state: tempfile::TempDir,
}

impl Daemon {
    fn start() -> Self {
        let state = tempfile::tempdir().expect("a scratch folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_bridle"))
            .args([
                "up",
                "--tcp",
                "127.0.0.1:0",
                "--unix",
                "off",
                "--http",
                "127.0.0.1:0",
                "--state",
            ])
            .arg(state.path())
            // No settings of whoever runs the test.
            .env("XDG_CONFIG_HOME", state.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the daemon starts");
        let mut ready = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut ready).expect("the ready line is UTF-8");
        let port = |way: &str| -> String {
            let (_, after) = ready.split_once(way).unwrap_or_else(|| panic!("got `{ready}`"));
            after.chars().take_while(char::is_ascii_digit).collect()
        };
        let (port, http) = (port("tcp=127.0.0.1:"), port("http=127.0.0.1:"));
        Self { child, port, http, state }
    }

    /// A shell in which `bridle` is the binary under test, and finds this daemon.
    fn client(&self) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_bridle"));
        let dir = binary.parent().expect("a binary is in a directory").to_str().expect("UTF-8");
        let mut command = Command::new("sh");
        command
            .env("PATH", format!("{dir}:{}", std::env::var("PATH").unwrap_or_default()))
            .env("XDG_CONFIG_HOME", self.state.path())
            .env("BRIDLE_ADDR", format!("127.0.0.1:{}", self.port))
            .env("BRIDLE_STATE", self.state.path());
        command
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
