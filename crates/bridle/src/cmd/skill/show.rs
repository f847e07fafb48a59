//! `bridle skill show` and `source`: one skill of the home.

use std::fmt::Write as _;

use bridle_shell::screen::neutral_block;
use bridle_skill_host::{SkillEntry, SkillRegistry};

use super::{check, home};
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::GivenFlags;

pub(super) fn show(
    name: &str,
    as_json: bool,
    given: &GivenFlags,
) -> Result<BridleExit, CommandFailure> {
    let registry = home::registry(given)?;
    let entry = find(&registry, name)?;
    let manifest = entry.skill.manifest();
    let enabled = registry.storage().enabled(&manifest.id).ok().flatten().unwrap_or_default();
    let saved = registry.storage().saved_for(&manifest.id);
    if as_json {
        let fields = [
            ("enabled", list(enabled.iter().map(|it| quoted(&it.to_string())))),
            ("saved-for", list(saved.iter().map(|it| quoted(it)))),
            ("process", entry.skill.is_process().to_string()),
        ];
        return print(&format!("{}\n", check::as_object(&entry.file, &entry.skill, &fields)));
    }
    let mut text = check::told(&entry.file, &entry.skill);
    let _ = writeln!(text, "  version {}", entry.skill.source().hash);
    let _ = writeln!(text, "  {} tests", entry.skill.source().tests.len());
    if entry.skill.is_process() {
        text.push_str("  runs in a process of its own, in the jail\n");
    }
    for principal in saved {
        let _ = writeln!(text, "  saved something for {principal}");
    }
    print(&neutral_block(&text))
}

/// Prints a text as it is.
pub(super) fn source(
    name: &str,
    version: Option<&str>,
    as_json: bool,
    given: &GivenFlags,
) -> Result<BridleExit, CommandFailure> {
    let registry = home::registry(given)?;
    let (hash, text) = match version {
        Some(hash) => {
            let text = registry.storage().read_version(hash);
            let what = format!("no version `{hash}` was kept");
            (hash.to_owned(), text.ok_or_else(|| missing(what))?)
        }
        None => {
            let entry = find(&registry, name)?;
            let source = entry.skill.source();
            (source.hash.clone(), source.text.clone())
        }
    };
    match as_json {
        true => {
            let line =
                [("skill", quoted(name)), ("hash", quoted(&hash)), ("source", quoted(&text))];
            print(&format!("{}\n", object(&line)))
        }
        false => print(&text),
    }
}

fn find(registry: &SkillRegistry, name: &str) -> Result<SkillEntry, CommandFailure> {
    let table = registry.table();
    let id = bridle_skill::SkillId::new(name).ok();
    let found = id.and_then(|id| table.find(&id).cloned());
    found.ok_or_else(|| missing(format!("no skill `{name}` serves")))
}

fn missing(what: String) -> CommandFailure {
    CommandFailure::new(BridleExit::NoInput, what).hint("names of skills: bridle skill list")
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}
