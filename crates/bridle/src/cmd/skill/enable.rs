//! `bridle skill enable`: the owner's yes to the capabilities of a skill.

use std::path::Path;

use bridle_skill_host::SkillStorage;

use super::load;
use crate::cmd::confirm;
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{GivenFlags, ResolvedSettings};

pub(crate) fn run(
    file: &Path,
    yes: bool,
    as_json: bool,
    given: &GivenFlags,
) -> Result<BridleExit, CommandFailure> {
    let storage = SkillStorage::new(&ResolvedSettings::resolve(given)?.state()?);
    let skill = load(file)?.map_err(|fault| {
        CommandFailure::new(BridleExit::Data, &fault)
            .hint("put it in order: bridle skill check FILE")
    })?;
    let manifest = skill.manifest();
    let failed = |error: bridle_skill_host::StorageError| {
        CommandFailure::because(BridleExit::Io, format!("cannot enable `{}`", manifest.id), &error)
    };
    let before = storage.enabled(&manifest.id).map_err(failed)?.unwrap_or_default();
    let wider = manifest.capabilities.wider_than(&before);
    let told = |status: &str, text: String| {
        let all = wider.iter().map(|it| quoted(&it.to_string())).collect::<Vec<_>>();
        let line = [
            ("skill", quoted(manifest.id.as_str())),
            ("status", quoted(status)),
            ("capabilities", format!("[{}]", all.join(","))),
        ];
        print(&if as_json { format!("{}\n", object(&line)) } else { text })
    };
    if wider.is_empty() {
        return told("unchanged", format!("{}: nothing to enable\n", manifest.id));
    }
    let lines: String = wider.iter().map(|it| format!("  {it}\n")).collect();
    if !as_json {
        print(&format!("{} asks to be able to ask for\n{lines}", manifest.id))?;
    }
    if !(yes || confirm::has_person() && confirm::asked("Enable it?")?) {
        return told("asked", "nothing was enabled; run with --yes to do it\n".to_owned());
    }
    storage.enable(&manifest.id, &manifest.capabilities).map_err(failed)?;
    told("enabled", format!("enabled {}\n", manifest.id))
}
