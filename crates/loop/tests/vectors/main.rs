//! Runs every scenario of `vectors/scenario`: events in, effects out, a line each.
//!
//! Each runs twice: straight through, and with the state written as text and read back before every
//! event. Both must say exactly what the file says.

#![allow(clippy::disallowed_methods, reason = "the crate has no IO; its vectors are files")]

mod events;
mod file;
mod shown;

use std::path::PathBuf;

use file::{Line, Scenario};

/// The fewest scenarios that a complete checkout has.
const AT_LEAST: usize = 60;

#[test]
fn scenario_vectors() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/scenario");
    let scenarios = file::read_folder(&folder);
    let mut failed = Vec::new();
    for scenario in &scenarios {
        for keep in [Keep::Memory, Keep::Text] {
            if let Err(what) = check(scenario, keep) {
                failed.push(format!("{} {}\n{what}", scenario.id, scenario.title));
                break;
            }
        }
    }
    let passed = scenarios.len() - failed.len();
    println!("scenario: {passed} passed, {} failed", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    assert!(passed >= AT_LEAST, "{passed} scenarios, expected at least {AT_LEAST}");
}

/// How the state lives between two events.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    Memory,
    Text,
}

/// Runs one scenario; on a difference, the error is what the file would have to say.
fn check(scenario: &Scenario, keep: Keep) -> Result<(), String> {
    let mut stage = events::Stage::new();
    let mut written = Vec::new();
    let mut shown = Vec::new();
    for line in &scenario.lines {
        match line {
            Line::Event(text) => {
                if keep == Keep::Text {
                    stage.restart();
                }
                shown.push(format!("> {text}"));
                written.push(format!("> {text}"));
                let effects = stage.play(text).map_err(|what| format!("`> {text}`: {what}"))?;
                shown.extend(effects.iter().map(|effect| format!("< {effect}")));
            }
            Line::Effect(text) => written.push(format!("< {text}")),
            Line::State(text) => {
                written.push(format!("? {text}"));
                shown.push(format!("? {}", shown::state(text, &stage)?));
            }
        }
    }
    let as_written = |line: &String| line.replace('\n', "\n| ").replace("| \n", "|\n");
    let differs = || shown.iter().map(as_written).collect::<Vec<_>>().join("\n");
    if shown == written { Ok(()) } else { Err(differs()) }
}
