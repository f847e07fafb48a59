//! The examples in the help of every command: there is one for each, and each is a command line that the program takes.
//! They run in a home with a daemon, notes and a record; numbers and names in them are made up, so what counts is that
//! none is refused as a command line and none breaks off.

use std::process::{Command, Stdio};

use crate::cli_json::scene;
use crate::harness::{Home, pipe};

/// Longest time for one example; those that go on until they are stopped end here.
const MAX_SECONDS: &str = "4";

/// Exit code of what `timeout` stopped.
const STOPPED: i32 = 124;

/// Commands of a help text, in its lists.
pub(crate) fn commands(help: &str) -> Vec<String> {
    let lists = help.split("Options:").next().unwrap_or_default();
    let name = |line: &str| {
        let rest = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?;
        let (name, about) = rest.split_once(' ').unwrap_or((rest, "  x"));
        let is_name = name.starts_with(|it: char| it.is_ascii_lowercase())
            && name.chars().all(|it| it.is_ascii_lowercase() || it == '-');
        (is_name && about.starts_with(' ') && name != "help").then(|| name.to_owned())
    };
    lists.lines().filter_map(name).collect()
}

/// Examples of a help text: each of its lines, without the remark behind it.
fn examples(help: &str) -> Vec<String> {
    let Some((_, behind)) = help.split_once("\nExample") else { return Vec::new() };
    let lines = behind.lines().skip(1).take_while(|line| line.starts_with("  "));
    let mut found: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in lines {
        let line = line.trim();
        let is_more = is_open || !line.contains("bridle ");
        is_open = line.ends_with('\\');
        match found.last_mut().filter(|_| is_more) {
            Some(last) => last.push_str(&format!(" {}", line.trim_end_matches('\\').trim_end())),
            None => found.push(line.trim_end_matches('\\').trim_end().to_owned()),
        }
    }
    found.iter().map(|line| without_remark(line).to_owned()).collect()
}

/// The line up to two blanks outside of quotes.
fn without_remark(line: &str) -> &str {
    let mut quote = None;
    let mut blanks = 0;
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        blanks = if quote.is_none() && letter == ' ' { blanks + 1 } else { 0 };
        if blanks == 2 {
            return line[..at].trim_end();
        }
    }
    line
}

fn collect(path: &mut Vec<String>, found: &mut Vec<(String, Vec<String>)>) {
    let args: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    let help = pipe(&args, "").stdout;
    let (subs, lines) = (commands(&help), examples(&help));
    if subs.is_empty() || !lines.is_empty() {
        found.push((path.join(" "), lines));
    }
    for sub in subs {
        path.push(sub);
        collect(path, found);
        path.pop();
    }
}

/// Runs an example as a shell would; the exit code and what was said.
fn run(home: &Home, line: &str) -> (i32, String) {
    let bridle = home.command(&["help"]);
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_bridle")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("timeout");
    shell.args(["-k", "30", MAX_SECONDS, "bash", "-o", "pipefail", "-c", line]);
    for (name, value) in bridle.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.env("PATH", path).env("EDITOR", "true").current_dir(home.path(""));
    let out = shell.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code().unwrap_or(-1), said)
}

#[test]
fn every_command_has_an_example_and_every_example_is_taken() {
    let mut found = Vec::new();
    collect(&mut Vec::new(), &mut found);
    assert!(found.len() > 80, "{found:?}");
    let without: Vec<&str> =
        found.iter().filter(|(_, lines)| lines.is_empty()).map(|(name, _)| name.as_str()).collect();
    assert!(without.is_empty(), "no example: {without:?}");
    let (home, _daemon) = scene();
    home.spoil_record();
    for (name, line) in
        found.iter().flat_map(|(name, lines)| lines.iter().map(move |it| (name, it)))
    {
        let (code, said) = run(&home, line);
        // A panic, and no code at all.
        assert!(
            ![101, 134, -1].contains(&code),
            "bridle {name}: `{line}` ends with {code}: {said}"
        );
        assert!(code == STOPPED || !said.contains("Usage:"), "bridle {name}: `{line}`: {said}");
    }
}

#[test]
fn remarks_are_no_part_of_an_example() {
    assert_eq!(without_remark("bridle up  runs"), "bridle up");
    assert_eq!(without_remark("echo '(:a  1)' | bridle sexp"), "echo '(:a  1)' | bridle sexp");
    assert_eq!(
        examples("x\nExamples:\n  bridle a \\\n    --b\n  bridle c   d\n\nmore"),
        ["bridle a --b", "bridle c"]
    );
}
