//! `bridle config check`: everything that is wrong with a file and with the environment, not only the
//! first thing.

use std::path::Path;

use super::{
    ResolvedSetting, ResolvedSettings, TABLE, ValueOrigin, checked, file, file_or_default,
    from_environment,
};
use crate::exit::CommandFailure;

/// Findings of a check.
#[derive(Debug, Default)]
pub(crate) struct CheckFindings {
    /// Settings that the source has.
    pub(crate) count: usize,
    /// All that is wrong, in the order of the source.
    pub(crate) faults: Vec<CommandFailure>,
}

/// Reads one file, without the other sources, and checks its values.
pub(crate) fn check_file(path: &Path) -> Result<CheckFindings, CommandFailure> {
    let (from_file, mut faults) = file::read_all(path)?;
    let count = from_file.len() + faults.len();
    let mut entries = Vec::with_capacity(TABLE.len());
    for setting in TABLE {
        match file_or_default(setting, &from_file, Some(path)) {
            Ok(entry) => entries.push(entry),
            Err(fault) => {
                faults.push(fault);
                entries.extend(file_or_default(setting, &[], None));
            }
        }
    }
    check_limits(entries, &mut faults);
    Ok(CheckFindings { count, faults })
}

/// Checks the values of the environment.
pub(crate) fn check_surroundings() -> CheckFindings {
    let mut found = CheckFindings::default();
    let mut entries = Vec::with_capacity(TABLE.len());
    for setting in TABLE {
        let entry = from_environment(setting).and_then(|value| match value {
            Some((name, text)) => {
                found.count += 1;
                checked(setting, text, ValueOrigin::Env(name))
            }
            None => file_or_default(setting, &[], None),
        });
        match entry {
            Ok(entry) => entries.push(entry),
            Err(fault) => {
                found.faults.push(fault);
                entries.extend(file_or_default(setting, &[], None));
            }
        }
    }
    check_limits(entries, &mut found.faults);
    found
}

/// Names every limit that is out of its range: one that is found is set to its default, and the rest
/// is checked again.
fn check_limits(entries: Vec<ResolvedSetting>, faults: &mut Vec<CommandFailure>) {
    let mut settings = ResolvedSettings { entries, file: None };
    for _ in 0..TABLE.len() {
        let Err(fault) = settings.check_limits() else { return };
        let Some(name) = fault.setting() else { return faults.push(fault) };
        let Some(entry) = settings.entries.iter_mut().find(|it| it.setting.name == name) else {
            return faults.push(fault);
        };
        let Ok(default) = file_or_default(entry.setting, &[], None) else {
            return faults.push(fault);
        };
        *entry = default;
        faults.push(fault);
    }
}
