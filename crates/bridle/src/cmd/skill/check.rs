//! `bridle skill check`: whether files are skills, and what they define.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bridle_skill::Skill;

use super::{fault_json, load};
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(crate) fn run(files: &[PathBuf], as_json: bool) -> Result<BridleExit, CommandFailure> {
    let mut is_good = true;
    for file in files {
        let loaded = load(file)?;
        is_good &= loaded.is_ok();
        print(&match (&loaded, as_json) {
            (Ok(skill), false) => told(file, skill),
            (Err(fault), false) => format!("{fault}\n"),
            (Ok(skill), true) => format!("{}\n", as_object(file, skill, &[])),
            (Err(fault), true) => {
                let name = quoted(&file.to_string_lossy());
                let status = quoted("faulty");
                let line = [("file", name), ("status", status), ("fault", fault_json(fault))];
                format!("{}\n", object(&line))
            }
        })?;
    }
    Ok(if is_good { BridleExit::Ok } else { BridleExit::Answered })
}

pub(super) fn told(file: &Path, skill: &Skill) -> String {
    let manifest = skill.manifest();
    let mut text = format!("{}: {}, {}\n", file.display(), manifest.id, manifest.title);
    for part in skill.parts() {
        let _ = writeln!(text, "  {} {}: {}", part.kind.name(), part.name, part.doc);
    }
    for trigger in &manifest.triggers {
        let _ = writeln!(text, "  wakes on {trigger}");
    }
    for capability in manifest.capabilities.iter() {
        let _ = writeln!(text, "  may ask for {capability}");
    }
    text
}

/// A skill as JSON, with more fields behind its own.
pub(super) fn as_object(file: &Path, skill: &Skill, more: &[(&str, String)]) -> String {
    let manifest = skill.manifest();
    let list = |texts: Vec<String>| format!("[{}]", texts.join(","));
    let parts = skill.parts().iter().map(|part| {
        let doc = ("doc", quoted(&part.doc));
        object(&[("kind", quoted(part.kind.name())), ("name", quoted(&part.name)), doc])
    });
    let capabilities = manifest.capabilities.iter().map(|it| quoted(&it.to_string()));
    let triggers = manifest.triggers.iter().map(|it| quoted(&it.to_string()));
    let own = [
        ("file", quoted(&file.to_string_lossy())),
        ("status", quoted("good")),
        ("skill", quoted(manifest.id.as_str())),
        ("title", quoted(&manifest.title)),
        ("priority", manifest.priority.to_string()),
        ("hash", quoted(&skill.source().hash)),
        ("parts", list(parts.collect())),
        ("triggers", list(triggers.collect())),
        ("capabilities", list(capabilities.collect())),
        ("depends-on", list(manifest.depends_on.iter().map(|it| quoted(it.as_str())).collect())),
        ("tests", skill.source().tests.len().to_string()),
    ];
    object(&[&own, more].concat())
}
