//! The steward against real git: its ref has the agent's changes, and the user's own are as they were.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{STEWARD_REF, record};
use crate::workspace::{EffectsSetup, Workspace};

fn git(project: &Path, words: &[&str]) -> String {
    let user = ["-c", "user.name=u", "-c", "user.email=u@localhost", "-c", "commit.gpgSign=false"];
    let done = Command::new("git").arg("-C").arg(project).args(user).args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// What must not change: branch, index, status, reflog.
fn of_user(project: &Path) -> [String; 4] {
    [&["rev-parse", "HEAD"][..], &["ls-files", "--stage"], &["status", "--porcelain"], &["reflog"]]
        .map(|words| git(project, words))
}

#[test]
fn changes_are_committed_on_a_ref_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let project = root.join("p");
    fs::create_dir_all(project.join("src")).unwrap();
    git(&project, &["init", "-q", "-b", "main"]);
    fs::write(project.join("a"), "one\n").unwrap();
    fs::write(project.join("gone"), "x\n").unwrap();
    git(&project, &["add", "."]);
    git(&project, &["commit", "-q", "-m", "first"]);
    // A hook and a filter that would leave traces.
    fs::write(project.join(".git/hooks/reference-transaction"), "#!/bin/sh\ntouch ran\n").unwrap();
    fs::write(project.join(".gitattributes"), "* filter=bad\n").unwrap();
    git(&project, &["config", "filter.bad.clean", "touch ran; cat"]);
    let workspace =
        Workspace::open(EffectsSetup { folder: root.join("state"), ..EffectsSetup::default() })
            .unwrap();
    let paths = ["a", "src/new", "gone", "link", ".git/config"].map(PathBuf::from);
    assert!(record(&workspace, &project, &paths, "turn 1").is_none(), "not unasked");
    workspace.set_steward(&project, true).unwrap();
    fs::write(project.join("of-user"), "mine\n").unwrap();
    fs::write(project.join("a"), "two\n").unwrap();
    fs::write(project.join("src/new"), "new\n").unwrap();
    fs::remove_file(project.join("gone")).unwrap();
    std::os::unix::fs::symlink("a", project.join("link")).unwrap();
    let before = of_user(&project);
    // The user's own status runs the filter.
    let _ = fs::remove_file(project.join("ran"));
    let (key, told) = record(&workspace, &project, &paths, "turn 1").unwrap();
    assert_eq!(key, "git", "{told}");
    assert!(!project.join("ran").exists(), "nothing of the repository runs");
    assert_eq!(of_user(&project), before);
    assert_eq!(git(&project, &["ls-tree", "-r", "--name-only", STEWARD_REF]), "a\nlink\nsrc/new");
    assert_eq!(git(&project, &["show", &format!("{STEWARD_REF}:a")]), "two");
    assert_eq!(git(&project, &["rev-parse", &format!("{STEWARD_REF}^")]), before[0]);
    // A second one follows the first; after a commit of the user both are its parents.
    fs::write(project.join("a"), "three\n").unwrap();
    record(&workspace, &project, &paths[..1], "turn 2").unwrap();
    assert_eq!(git(&project, &["rev-list", "--count", STEWARD_REF]), "3");
    fs::remove_file(project.join(".git/hooks/reference-transaction")).unwrap();
    fs::remove_file(project.join(".gitattributes")).unwrap();
    git(&project, &["commit", "-q", "-m", "second", "a"]);
    record(&workspace, &project, &paths[..1], "turn 3").unwrap();
    assert_eq!(git(&project, &["rev-list", "--count", "--merges", STEWARD_REF]), "1");
    git(&project, &["merge-base", "--is-ancestor", "HEAD", STEWARD_REF]);
    let again = Workspace::open(workspace.setup().clone()).unwrap();
    assert!(again.has_steward(&project), "kept across a restart");
    again.set_steward(&project, false).unwrap();
    assert!(record(&again, &project, &paths[..1], "turn 4").is_none());
}

#[test]
fn a_folder_without_git_says_so_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("p")).unwrap();
    let setup = EffectsSetup { folder: root.join("state"), ..EffectsSetup::default() };
    let workspace = Workspace::open(setup).unwrap();
    workspace.set_steward(&root.join("p"), true).unwrap();
    let (key, told) = record(&workspace, &root.join("p"), &["a".into()], "turn 1").unwrap();
    assert_eq!(key, "git-fault", "{told}");
}
