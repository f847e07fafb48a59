//! Files and programs of the agent: the helper is this program, and toolchains in the user's home are what
//! programs in the jail may read of it. Keys beside them are not.

use std::path::{Path, PathBuf};

use bridle_daemon::config::{EffectsSetup, HelperProgram};

use super::{ResolvedSettings, home};
use crate::exit::{BridleExit, CommandFailure};

/// Folders of toolchains below the home, read when they are there.
const TOOLCHAINS: [&str; 10] = [
    ".cargo/bin",
    ".cargo/registry",
    ".cargo/git",
    ".rustup",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".nvm/versions",
    ".pyenv",
    "go/pkg",
];

/// Folders of programs below the home, searched before those of the system.
const PROGRAMS: [&str; 2] = [".cargo/bin", ".local/bin"];

/// Folders of programs of the system.
const SYSTEM_PROGRAMS: &str =
    "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/games";

/// Setup of files and programs, for the daemon.
pub(super) fn effects(settings: &ResolvedSettings) -> Result<EffectsSetup, CommandFailure> {
    let home = home();
    let mut read_roots: Vec<PathBuf> = Vec::new();
    let mut variables: Vec<(String, String)> = Vec::new();
    if let Some(home) = &home {
        read_roots.extend(TOOLCHAINS.iter().map(|name| home.join(name)).filter(|it| it.is_dir()));
        variables = home_variables(home);
    }
    for folder in settings.words("exec-read") {
        let folder = PathBuf::from(folder);
        if !folder.is_absolute() {
            return Err(wrong("exec-read", "folders by their whole paths"));
        }
        read_roots.push(folder);
    }
    for pair in settings.words("exec-env") {
        let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(wrong("exec-env", "variables as NAME=VALUE"));
        };
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_owned(), value.to_owned()));
    }
    Ok(EffectsSetup {
        helper: Some(HelperProgram::own()),
        project: settings.path("project").map(Path::to_path_buf),
        read_roots,
        variables,
        ..EffectsSetup::default()
    })
}

/// Variables that lead programs to the toolchains.
fn home_variables(home: &Path) -> Vec<(String, String)> {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut found = Vec::new();
    let folders = PROGRAMS.iter().map(|name| home.join(name)).filter(|it| it.is_dir());
    let folders: Vec<String> = folders.map(text).chain([SYSTEM_PROGRAMS.to_owned()]).collect();
    found.push(("PATH".to_owned(), folders.join(":")));
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if home.join(folder).is_dir() {
            found.push((name.to_owned(), text(home.join(folder))));
        }
    }
    found
}

fn wrong(name: &str, expected: &str) -> CommandFailure {
    CommandFailure::new(BridleExit::Config, format!("setting `{name}`: expected {expected}"))
        .hint("`bridle config show` shows the source of each value")
}
