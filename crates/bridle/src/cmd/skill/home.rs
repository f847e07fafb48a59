//! The skills of the user's home, as the verbs of `bridle skill` open them.

use std::path::PathBuf;

use bridle_jail::HelperProgram;
use bridle_skill_host::{SkillProcesses, SkillRegistry, SkillStorage};

use crate::exit::{BridleExit, CommandFailure};
use crate::settings::{GivenFlags, ResolvedSettings};

/// Folder of skills in the Org folder.
pub(super) const SKILL_FOLDER: &str = "skills";

/// The registry of the settings' home, read.
pub(super) fn registry(given: &GivenFlags) -> Result<SkillRegistry, CommandFailure> {
    let settings = ResolvedSettings::resolve(given)?;
    let memex = settings.path("memex").ok_or_else(|| {
        CommandFailure::new(BridleExit::Config, "no Org folder is chosen")
            .hint("choose one: bridle init DIR")
    })?;
    let storage = SkillStorage::new(&settings.state()?);
    let registry = SkillRegistry::new(Some(memex.join(SKILL_FOLDER)), storage);
    let registry = registry.with_runtime(Box::new(processes()));
    registry.refresh();
    Ok(registry)
}

/// Starter of programs that run in processes, apart from that of a daemon.
pub(super) fn processes() -> SkillProcesses {
    SkillProcesses::new(Some(HelperProgram::own()), scratch())
}

/// Folder of the jail of this command.
fn scratch() -> PathBuf {
    std::env::temp_dir().join(format!("bridle-skill-{}", std::process::id()))
}

/// Removes what the jail of this command left; most commands have none.
pub(super) fn clean() {
    // What cannot be removed harms nobody.
    let _ = std::fs::remove_dir_all(scratch());
}
