//! `bridle skill diff` and `update`: the skills that come with the program, beside the user's copies of them.

use std::path::{Path, PathBuf};

use bridle_jail::diff_texts;
use bridle_shell::screen::neutral_block;
use bridle_skill_host::{CopyStanding, ShippedCopy, SkillStorage, StorageError, shipped_copies};

use super::home::SKILL_FOLDER;
use crate::cmd::confirm;
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{GivenFlags, ResolvedSettings};

/// Shows how the user's copies differ from what comes with the program; exit 1 if one does.
pub(super) fn diff(
    names: &[String],
    as_json: bool,
    given: &GivenFlags,
) -> Result<BridleExit, CommandFailure> {
    let (copies, _) = wanted(names, given)?;
    let mut differs = false;
    for copy in &copies {
        let is_same = copy.standing == CopyStanding::Same;
        differs |= !is_same;
        if as_json {
            print(&line(copy))?;
        } else if !is_same {
            print(&format!(
                "{}: {}\n{}",
                copy.shipped.name,
                copy.standing.word(),
                neutral_block(&difference(copy))
            ))?;
        }
    }
    Ok(if differs { BridleExit::Answered } else { BridleExit::Ok })
}

/// Puts what comes with the program in the place of the user's copies, each after a yes.
pub(super) fn update(
    names: &[String],
    yes: bool,
    given: &GivenFlags,
) -> Result<BridleExit, CommandFailure> {
    let (copies, storage) = wanted(names, given)?;
    for copy in copies {
        let name = copy.shipped.name;
        let is_due = match copy.standing {
            CopyStanding::Same => false,
            CopyStanding::New | CopyStanding::Outdated => true,
            // What somebody wrote or deleted is touched only by name.
            CopyStanding::Edited | CopyStanding::Deleted => !names.is_empty(),
        };
        if !is_due {
            print(&format!("{name}: {}\n", copy.standing.word()))?;
            continue;
        }
        print(&neutral_block(&difference(&copy)))?;
        if !(yes || confirm::has_person() && confirm::asked(&format!("Write {name}?"))?) {
            print(&format!("{name}: not written; run with --yes to do it\n"))?;
            continue;
        }
        copy.write(&storage).map_err(|error| failed(&error))?;
        print(&format!("{name}: written\n"))?;
    }
    Ok(BridleExit::Ok)
}

/// Copies for `bridle init`: what is missing is written, everything else stays. The names of what was written, and of
/// what differs from what comes with the program.
pub(crate) fn copy_missing(
    memex: &Path,
    state: &Path,
) -> Result<(Vec<&'static str>, Vec<&'static str>), CommandFailure> {
    let storage = SkillStorage::new(state);
    let copies = shipped_copies(&memex.join(SKILL_FOLDER), &storage).map_err(|it| failed(&it))?;
    let (mut written, mut own) = (Vec::new(), Vec::new());
    for copy in copies {
        match copy.standing {
            CopyStanding::New => {
                copy.write(&storage).map_err(|error| failed(&error))?;
                written.push(copy.shipped.name);
            }
            CopyStanding::Outdated | CopyStanding::Edited => own.push(copy.shipped.name),
            CopyStanding::Same => copy.adopt(&storage).map_err(|error| failed(&error))?,
            CopyStanding::Deleted => {}
        }
    }
    Ok((written, own))
}

fn wanted(
    names: &[String],
    given: &GivenFlags,
) -> Result<(Vec<ShippedCopy>, SkillStorage), CommandFailure> {
    let settings = ResolvedSettings::resolve(given)?;
    let memex = settings.path("memex").ok_or_else(|| {
        CommandFailure::new(BridleExit::Config, "no Org folder is chosen")
            .hint("choose one: bridle init DIR")
    })?;
    let storage = SkillStorage::new(&settings.state()?);
    let mut copies =
        shipped_copies(&memex.join(SKILL_FOLDER), &storage).map_err(|error| failed(&error))?;
    let known: Vec<&str> = copies.iter().map(|copy| copy.shipped.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let what = format!("no skill `{name}` comes with bridle");
        return Err(CommandFailure::new(BridleExit::NoInput, what)
            .hint(format!("there are: {}", known.join(", "))));
    }
    if !names.is_empty() {
        copies.retain(|copy| names.iter().any(|name| name == copy.shipped.name));
    }
    Ok((copies, storage))
}

/// Changes that `update` would make to the user's file.
fn difference(copy: &ShippedCopy) -> String {
    let name = PathBuf::from(SKILL_FOLDER).join(format!("{}.org", copy.shipped.name));
    diff_texts(&name, copy.text.as_deref(), Some(copy.shipped.text))
}

fn line(copy: &ShippedCopy) -> String {
    let diff = match copy.standing {
        CopyStanding::Same => String::new(),
        _ => difference(copy),
    };
    let line = object(&[
        ("skill", quoted(copy.shipped.name)),
        ("status", quoted(copy.standing.word())),
        ("file", quoted(&copy.path.to_string_lossy())),
        ("diff", quoted(&diff)),
    ]);
    format!("{line}\n")
}

fn failed(error: &StorageError) -> CommandFailure {
    CommandFailure::because(BridleExit::Io, "a shipped skill cannot be copied", error)
        .hint("check that you can write to the folder `skills` of your Org folder")
}
