//! `bridle skill install`: a file becomes a skill of the home, after its tests and a yes.

use std::fmt::Write as _;
use std::path::Path;

use bridle_shell::screen::neutral_block;
use bridle_skill::SkillId;
use bridle_skill_host::{InstallFault, SkillInstall, SkillRegistry};

use super::{home, read};
use crate::cmd::confirm;
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::GivenFlags;

/// Way in which a person is asked and told.
#[derive(Clone, Copy)]
pub(super) struct InstallTalk {
    pub(super) yes: bool,
    pub(super) json: bool,
}

pub(super) fn install(
    file: &Path,
    talk: InstallTalk,
    given: &GivenFlags,
) -> Result<BridleExit, CommandFailure> {
    let registry = home::registry(given)?;
    let text = read(file)?;
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let plan = SkillInstall::plan(&registry, name, &text).map_err(|fault| failed(&fault))?;
    carry_out(&plan, &registry, talk)
}

pub(super) fn undo(
    name: &Path,
    talk: InstallTalk,
    given: &GivenFlags,
) -> Result<BridleExit, CommandFailure> {
    let registry = home::registry(given)?;
    let name = name.to_string_lossy();
    let id = SkillId::new(&name).map_err(|error| {
        CommandFailure::because(BridleExit::Usage, format!("`{name}`"), &error)
            .hint("names of skills: bridle skill list")
    })?;
    match SkillInstall::go_back(&registry, &id).map_err(|fault| failed(&fault))? {
        Some(plan) => carry_out(&plan, &registry, talk),
        None => told(id.as_str(), "removed", talk),
    }
}

fn carry_out(
    plan: &SkillInstall,
    registry: &SkillRegistry,
    talk: InstallTalk,
) -> Result<BridleExit, CommandFailure> {
    let id = plan.id.as_str();
    if !talk.json {
        let mut shown = plan.diff();
        let tests = if plan.is_tested { "pass" } else { "run once you said yes" };
        let _ = writeln!(shown, "{id}: {} tests, which {tests}", plan.tests);
        for capability in &plan.wider {
            let _ = writeln!(shown, "  asks to be able to ask for {capability}");
        }
        print(&neutral_block(&shown))?;
    }
    if !(talk.yes || confirm::has_person() && confirm::asked(&format!("Install {id}?"))?) {
        if talk.json {
            return told(id, "not installed", talk);
        }
        return print("nothing was installed; run with --yes to do it\n");
    }
    plan.carry_out(registry).map_err(|fault| failed(&fault))?;
    told(id, "installed", talk)
}

fn told(id: &str, status: &str, talk: InstallTalk) -> Result<BridleExit, CommandFailure> {
    print(&match talk.json {
        true => format!("{}\n", object(&[("skill", quoted(id)), ("status", quoted(status))])),
        false => format!("{status} {id}\n"),
    })
}

fn failed(fault: &InstallFault) -> CommandFailure {
    let exit = match fault {
        InstallFault::NoFolder => BridleExit::Config,
        InstallFault::Name(_) => BridleExit::Usage,
        InstallFault::NoPrevious(_) => BridleExit::NoInput,
        InstallFault::Storage(_) => BridleExit::Io,
        InstallFault::Text(_)
        | InstallFault::Taken { .. }
        | InstallFault::Changed(_)
        | InstallFault::TakenBack(_) => BridleExit::Data,
    };
    CommandFailure::new(exit, fault).hint("look at it: bridle skill test FILE")
}
