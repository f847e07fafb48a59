//! The files: scenarios, and the kinds of lines in them. The notation is described in
//! `vectors/README.md`.

use std::fs;
use std::path::{Path, PathBuf};

/// One scenario.
pub(crate) struct Scenario {
    /// Such as `scenario-0001`.
    pub(crate) id: String,
    /// What it shows.
    pub(crate) title: String,
    /// What happens, in order.
    pub(crate) lines: Vec<Line>,
}

/// One line of a scenario.
pub(crate) enum Line {
    /// `> ...`: something happens.
    Event(String),
    /// `< ...`: something is wanted.
    Effect(String),
    /// `? ...`: something holds.
    State(String),
}

/// Reads all files of a folder, in the order of their names.
pub(crate) fn read_folder(folder: &Path) -> Vec<Scenario> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()))
        .map(|entry| entry.expect("an entry of a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "scn"))
        .collect();
    files.sort();
    let read = |path: &PathBuf| fs::read_to_string(path).expect("a readable scenario file");
    files.iter().flat_map(|path| parse(&read(path))).collect()
}

fn parse(text: &str) -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        if mark == "=" {
            let (id, title) = rest.split_once(' ').expect("an id and a title");
            scenarios.push(Scenario { id: id.into(), title: title.into(), lines: Vec::new() });
            continue;
        }
        let scenario = scenarios.last_mut().expect("a scenario around every line");
        if mark == "|" {
            let (Line::Event(text) | Line::Effect(text) | Line::State(text)) =
                scenario.lines.last_mut().expect("a line to continue");
            text.push('\n');
            text.push_str(rest);
            continue;
        }
        scenario.lines.push(match mark {
            ">" => Line::Event(rest.into()),
            "<" => Line::Effect(rest.into()),
            "?" => Line::State(rest.into()),
            _ => panic!("mark `{mark}`, expected one of `=`, `>`, `<`, `?`, `|` and `#`"),
        });
    }
    scenarios
}
