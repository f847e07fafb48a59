//! `bridle skill disable`: the owner takes back what was enabled for a skill.

use bridle_skill::SkillId;
use bridle_skill_host::SkillStorage;

use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::{GivenFlags, ResolvedSettings};

pub(crate) fn run(name: &str, given: &GivenFlags) -> Result<BridleExit, CommandFailure> {
    let id = SkillId::new(name).map_err(|error| {
        CommandFailure::because(BridleExit::Usage, format!("`{name}`"), &error)
            .hint("names of skills: bridle skill list")
    })?;
    let storage = SkillStorage::new(&ResolvedSettings::resolve(given)?.state()?);
    let was_enabled = storage.disable(&id).map_err(|error| {
        CommandFailure::because(BridleExit::Io, format!("cannot disable `{id}`"), &error)
    })?;
    print(&match was_enabled {
        true => format!("disabled {id}\n"),
        false => format!("{id}: nothing was enabled\n"),
    })
}
