//! `bridle skill list`: the skills of the Org folder as the daemon reads them.

use bridle_skill_host::{SkillEntry, SkillProblem};

use super::home;
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::GivenFlags;

pub(crate) fn run(as_json: bool, given: &GivenFlags) -> Result<BridleExit, CommandFailure> {
    let registry = home::registry(given)?;
    let table = registry.table();
    for entry in table.skills() {
        print(&if as_json { entry_line(entry) } else { told(entry) })?;
    }
    for problem in table.problems() {
        print(&if as_json { problem_line(problem) } else { format!("! {}\n", problem.reason) })?;
    }
    Ok(if table.problems().is_empty() { BridleExit::Ok } else { BridleExit::Answered })
}

fn told(entry: &SkillEntry) -> String {
    format!("{}: {}\n", entry.skill.manifest().id, entry.skill.doc())
}

fn entry_line(entry: &SkillEntry) -> String {
    let manifest = entry.skill.manifest();
    let line = object(&[
        ("skill", quoted(manifest.id.as_str())),
        ("status", quoted("serves")),
        ("doc", quoted(entry.skill.doc())),
        ("file", quoted(&entry.file.to_string_lossy())),
        ("hash", quoted(&entry.skill.source().hash)),
    ]);
    format!("{line}\n")
}

fn problem_line(problem: &SkillProblem) -> String {
    let skill = problem.skill.as_ref().map_or_else(|| "null".to_owned(), |id| quoted(id.as_str()));
    let line = object(&[
        ("skill", skill),
        ("status", quoted(if problem.serves_old { "old" } else { "faulty" })),
        ("file", quoted(&problem.file)),
        ("reason", quoted(&problem.reason)),
    ]);
    format!("{line}\n")
}
