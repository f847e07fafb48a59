//! Files that run later, outside of the jail: hooks, editor tasks, build and package scripts, CI, and
//! whatever becomes executable. A change of one is always asked about.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::FileChange;
use crate::tree::{PathState, path_text};

/// File that will run outside the jail, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaterRun {
    /// Path below the project, as text.
    pub path: String,
    /// Occasion at which it runs, in words.
    pub occasion: String,
}

/// Folders whose files run, by their names on the way, and when.
const FOLDERS: [(&str, &str); 12] = [
    (".git", "by git: hooks, configuration, filters"),
    (".githooks", "by git, as hooks"),
    (".husky", "by git, as hooks"),
    (".vscode", "by the editor: tasks, settings, launch"),
    (".idea", "by the editor"),
    (".devcontainer", "when a container is built"),
    (".github", "by CI"),
    (".gitlab", "by CI"),
    (".circleci", "by CI"),
    (".buildkite", "by CI"),
    (".cargo", "by cargo: runners, linkers, wrappers"),
    (".direnv", "when the folder is entered"),
];

/// Files that run, by their name in lower case, and when.
const NAMES: [(&str, &str); 49] = [
    (".envrc", "when the folder is entered"),
    (".env", "read by programs at their start"),
    (".gitattributes", "by git: filters, merge drivers"),
    (".gitmodules", "by git: submodules"),
    (".gitconfig", "by git"),
    (".gitlab-ci.yml", "by CI"),
    (".travis.yml", "by CI"),
    ("azure-pipelines.yml", "by CI"),
    ("jenkinsfile", "by CI"),
    (".pre-commit-config.yaml", "by git, as hooks"),
    (".dir-locals.el", "by the editor"),
    (".exrc", "by the editor"),
    (".nvimrc", "by the editor"),
    (".nvim.lua", "by the editor"),
    (".vimrc", "by the editor"),
    (".lldbinit", "by the debugger"),
    (".gdbinit", "by the debugger"),
    (".bashrc", "by the shell"),
    (".profile", "by the shell"),
    (".bash_profile", "by the shell"),
    (".zshrc", "by the shell"),
    (".zshenv", "by the shell"),
    (".npmrc", "by the package manager"),
    (".yarnrc", "by the package manager"),
    (".yarnrc.yml", "by the package manager"),
    (".pnpmfile.cjs", "by the package manager"),
    ("package.json", "by the package manager: scripts"),
    ("makefile", "by make"),
    ("gnumakefile", "by make"),
    ("justfile", "by just"),
    ("taskfile.yml", "by task"),
    ("rakefile", "by rake"),
    ("gemfile", "by bundler"),
    ("build.rs", "by cargo, when it builds"),
    ("cargo.toml", "by cargo: build scripts, dependencies"),
    ("rust-toolchain.toml", "by cargo: the toolchain"),
    ("setup.py", "by pip, when it installs"),
    ("setup.cfg", "by pip, when it installs"),
    ("pyproject.toml", "by pip, when it builds"),
    ("conftest.py", "by pytest"),
    ("noxfile.py", "by nox"),
    ("tox.ini", "by tox"),
    ("sitecustomize.py", "by Python, at every start"),
    ("cmakelists.txt", "by cmake"),
    ("meson.build", "by meson"),
    ("build.gradle", "by gradle"),
    ("pom.xml", "by maven"),
    ("dockerfile", "when an image is built"),
    ("flake.nix", "by nix"),
];

/// Endings of files that run, and when.
const ENDINGS: [(&str, &str); 6] = [
    (".mk", "by make"),
    (".gradle", "by gradle"),
    (".gradle.kts", "by gradle"),
    (".pth", "by Python, at every start"),
    (".desktop", "when it is opened"),
    (".service", "by the service manager"),
];

/// Says whether and when a changed path runs outside of the jail.
pub(super) fn later_run(change: &FileChange) -> Option<LaterRun> {
    if change.after == PathState::Absent {
        // A hook that is gone does not run; that it is gone is a deletion like others.
        return None;
    }
    let occasion = by_place(&change.path).or_else(|| newly_executable(change))?;
    Some(LaterRun { path: path_text::escape(&change.path), occasion: occasion.to_owned() })
}

fn by_place(path: &Path) -> Option<&'static str> {
    let lower = |part: &std::ffi::OsStr| part.to_string_lossy().to_lowercase();
    let name = lower(path.file_name()?);
    let by_folder = path.components().find_map(|part| {
        let part = lower(part.as_os_str());
        FOLDERS.iter().find(|(folder, _)| *folder == part).map(|(_, occasion)| *occasion)
    });
    by_folder
        .or_else(|| NAMES.iter().find(|(it, _)| *it == name).map(|(_, occasion)| *occasion))
        .or_else(|| {
            ENDINGS.iter().find(|(it, _)| name.ends_with(it)).map(|(_, occasion)| *occasion)
        })
}

fn newly_executable(change: &FileChange) -> Option<&'static str> {
    let can_run =
        |state: &PathState| matches!(state, PathState::File { mode, .. } if mode & 0o111 != 0);
    let is_new = can_run(&change.after) && !can_run(&change.before);
    is_new.then_some("when somebody starts it: newly executable")
}
