//! `bridle skill`: skills as files; here are the dispatch and what the verbs share.

mod check;
mod disable;
mod enable;
mod home;
mod install;
mod list;
mod new;
mod rehearse;
pub(super) mod shipped;
mod show;
mod test;
mod trace;

use std::path::Path;
use std::sync::Arc;

use bridle_skill::{MAX_SKILL_BYTES, Skill, SkillFault, SkillLimits, SkillSource};

use crate::args::skill::SkillCommand;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::GivenFlags;

pub(crate) fn run(verb: &SkillCommand) -> Result<BridleExit, CommandFailure> {
    let done = dispatch(verb);
    home::clean();
    done
}

fn dispatch(verb: &SkillCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        SkillCommand::New { name, to, json } => new::run(name, to, *json),
        SkillCommand::Check { files, json } => check::run(files, *json),
        SkillCommand::List { json, state, file } => {
            list::run(*json, &GivenFlags::with_state(file.clone(), state.clone()))
        }
        SkillCommand::Enable { skill, yes, json, state, file } => {
            let given = GivenFlags::with_state(file.clone(), state.clone());
            enable::run(skill, *yes, *json, &given)
        }
        SkillCommand::Disable { name, json, state, file } => {
            disable::run(name, *json, &GivenFlags::with_state(file.clone(), state.clone()))
        }
        SkillCommand::Show { name, json, state, file } => {
            show::show(name, *json, &GivenFlags::with_state(file.clone(), state.clone()))
        }
        SkillCommand::Source { name, version, json, state, file } => {
            let given = GivenFlags::with_state(file.clone(), state.clone());
            show::source(name, version.as_deref(), *json, &given)
        }
        SkillCommand::Trace { name, session, json, state } => {
            trace::run(name, session.as_deref(), *json, state)
        }
        SkillCommand::Rehearse { skill, session, json, state } => {
            rehearse::run(skill, session.as_deref(), *json, state)
        }
        SkillCommand::Install { skill, undo, yes, json, state, file } => {
            let given = GivenFlags::with_state(file.clone(), state.clone());
            let talk = install::InstallTalk { yes: *yes, json: *json };
            match undo {
                true => install::undo(skill, talk, &given),
                false => install::install(skill, talk, &given),
            }
        }
        SkillCommand::Diff { names, json, state, file } => {
            shipped::diff(names, *json, &GivenFlags::with_state(file.clone(), state.clone()))
        }
        SkillCommand::Update { names, yes, state, file } => {
            shipped::update(names, *yes, &GivenFlags::with_state(file.clone(), state.clone()))
        }
        SkillCommand::Test { files, json } => test::run(files, *json),
    }
}

/// Text of a skill's file.
fn read(file: &Path) -> Result<String, CommandFailure> {
    let shown = file.display();
    let failed = |error: &std::io::Error| {
        CommandFailure::because(BridleExit::NoInput, format!("cannot read `{shown}`"), error)
    };
    let size = std::fs::metadata(file).map_err(|error| failed(&error))?.len();
    if size > MAX_SKILL_BYTES as u64 {
        let what = format!("`{shown}` has {size} bytes, expected at most {MAX_SKILL_BYTES}");
        return Err(CommandFailure::new(BridleExit::Data, what));
    }
    let bytes = std::fs::read(file).map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| {
        CommandFailure::because(BridleExit::Data, format!("`{shown}` is not UTF-8 text"), &error)
    })
}

/// A skill's file, loaded.
fn load(file: &Path) -> Result<Result<Arc<Skill>, SkillFault>, CommandFailure> {
    let text = read(file)?;
    let loaded = SkillSource::read(&text, &file.display().to_string())
        .and_then(|source| Skill::load_with(source, SkillLimits::default(), &home::processes()));
    Ok(loaded.map(Arc::new))
}

/// A fault as JSON.
fn fault_json(fault: &SkillFault) -> String {
    let mut pairs = vec![("kind", quoted(fault.kind.name())), ("message", quoted(&fault.message))];
    if let Some(place) = &fault.place {
        pairs.push(("line", place.line.to_string()));
        pairs.push(("column", place.column.to_string()));
        pairs.push(("form", quoted(&place.form)));
    }
    object(&pairs)
}
