//! `bridle skill disable`: the owner takes back what was enabled for a skill.

use bridle_skill::SkillId;
use bridle_skill_host::SkillStorage;

use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{GivenFlags, ResolvedSettings};

pub(crate) fn run(
    name: &str,
    as_json: bool,
    given: &GivenFlags,
) -> Result<BridleExit, CommandFailure> {
    let id = SkillId::new(name).map_err(|error| {
        CommandFailure::because(BridleExit::Usage, format!("`{name}`"), &error)
            .hint("names of skills: bridle skill list")
    })?;
    let storage = SkillStorage::new(&ResolvedSettings::resolve(given)?.state()?);
    let was_enabled = storage.disable(&id).map_err(|error| {
        CommandFailure::because(BridleExit::Io, format!("cannot disable `{id}`"), &error)
    })?;
    let status = if was_enabled { "disabled" } else { "unchanged" };
    let line = [("skill", quoted(id.as_str())), ("status", quoted(status))];
    print(&match was_enabled {
        _ if as_json => format!("{}\n", object(&line)),
        true => format!("disabled {id}\n"),
        false => format!("{id}: nothing was enabled\n"),
    })
}
