//! Programs over a stage: what is shown is what is on disk after the commit, byte for byte, and an undo
//! restores the project, byte for byte, with modes and links; a refused stage leaves no trace. Each
//! program is also run on a copy without a stage: the commit must give the same files. The one
//! function that tries a program is long: step after step, told in order.

mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bridle_jail::{ChangeSet, CommitError, CommitJournal, JailEnd, JailLayer, PathState};

use crate::world::{FileEssence, World, essence, listing, option, text};

pub(crate) fn run_as_root(words: &[&str]) -> Result<(), String> {
    run(words)
}

pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let every = option(words, "--every", 1)?.max(1);
    let only = words.iter().position(|it| *it == "--only").and_then(|place| words.get(place + 1));
    let world = World::new("programs")?;
    // Editors make no backups of files below it: not a parent of the project.
    fs::create_dir(world.path("tmp")).map_err(text)?;
    let layer = world.jail.capabilities().layer.ok_or("no layer is in force")?;
    let (mut ran, mut differing, mut missing) = (0, Vec::new(), Vec::new());
    for (index, program) in table::programs().into_iter().enumerate() {
        let is_wanted = only.map_or(index % every == 0, |it| **it == *program.name);
        if !is_wanted {
            continue;
        }
        if !has_all(program.needs) {
            missing.push(program.name);
            continue;
        }
        let differs = try_one(&world, &program.name, &program.script)
            .map_err(|error| format!("{}: {error}", program.name))?;
        if differs {
            differing.push(program.name.clone());
        }
        ran += 1;
    }
    conflicts(&world)?;
    println!(
        "programs: layer {layer}, {ran} programs staged, committed, undone and refused; {} lack a program",
        missing.len()
    );
    if !differing.is_empty() {
        println!("  differ from an unstaged run: {}", differing.join(", "));
    }
    let documented = match layer {
        JailLayer::Full => table::DIFFERENT_IN_FULL,
        JailLayer::Copy => table::DIFFERENT_IN_COPY,
        JailLayer::Root => &[],
    };
    let allowed = |name: &String| documented.iter().any(|it| name.starts_with(it));
    match differing.iter().find(|name| !allowed(name)) {
        Some(name) => Err(format!("{name} differs from an unstaged run")),
        None => Ok(()),
    }
}

fn has_all(needs: &[&str]) -> bool {
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"];
    needs.iter().all(|name| folders.iter().any(|folder| Path::new(folder).join(name).exists()))
}

/// Lays the project anew.
fn lay(project: &Path) -> Result<(), String> {
    crate::world::bridle_remove(project).map_err(text)?;
    fs::create_dir_all(project).map_err(text)?;
    let script = table::PROJECT;
    let status = Command::new("sh")
        .args(["-ec", script])
        .current_dir(project)
        .stdin(Stdio::null())
        .status()
        .map_err(text)?;
    if status.success() { Ok(()) } else { Err("the project cannot be laid".into()) }
}

/// `true` when the end or the committed files are not those of an unstaged run.
fn try_one(world: &World, name: &str, script: &str) -> Result<bool, String> {
    let project = world.project();
    lay(&project)?;
    let before = essence(&project)?;
    let untouched = listing(&project)?;
    let stage = world.stage()?;
    let (outcome, output) = world.run(&world.script(script), Some(&stage))?;
    let set = stage.changes().map_err(text)?;
    if listing(&project)? != untouched {
        return Err("the project changed before the commit".into());
    }
    if !set.conflicts.is_empty() {
        return Err(format!("conflicts with nobody: {:?}", set.conflicts));
    }
    set.patch().map_err(text)?;
    set.facts().map_err(text)?;
    let shown = shown(&before, &set)?;
    let journal = CommitJournal::new(world.path("commits"));
    let done =
        journal.commit(&set, &set.hash(), &mut |_| {}).map_err(|error| format!("{error:?}"))?;
    let after = essence(&project)?;
    let committed: BTreeMap<_, _> =
        after.iter().map(|(path, it)| (path.clone(), (it.0, it.1.clone()))).collect();
    if shown != committed {
        let wrong: Vec<_> = shown
            .iter()
            .filter(|(path, it)| committed.get(*path) != Some(it))
            .map(|it| it.0)
            .collect();
        let more: Vec<_> = committed.keys().filter(|path| !shown.contains_key(*path)).collect();
        return Err(format!("shown is not what is on disk: {wrong:?}, not shown {more:?}"));
    }
    journal.undo(&done.id, &[], &mut |_| {}).map_err(|error| format!("undo: {error:?}"))?;
    let undone = essence(&project)?;
    if undone != before {
        let wrong: Vec<_> = undone
            .iter()
            .filter(|(path, it)| before.get(*path) != Some(it))
            .map(|it| it.0)
            .collect();
        return Err(format!("the undo does not restore {wrong:?}"));
    }
    stage.discard().map_err(text)?;
    lay(&project)?;
    let status = Command::new("timeout")
        .args(["20", "sh", "-c", script])
        .current_dir(&project)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env("HOME", world.path("home"))
        .env("TMPDIR", world.path("tmp"))
        .status()
        .map_err(text)?;
    let is_same_end = matches!(
        (outcome.end, status.code()),
        (JailEnd::Exited(0), Some(0)) | (JailEnd::Exited(1..), Some(1..))
    );
    if !is_same_end {
        let (end, said) = (outcome.end, output.trim_end());
        println!("  {name}: ended as {end:?} staged and as {status} unstaged: {said}");
        return Ok(true);
    }
    let unstaged = essence(&project)?;
    for (path, it) in unstaged.iter().filter(|(path, it)| after.get(*path) != Some(it)) {
        println!(
            "  {name}: {} differs unstaged: mode {:o}, {} bytes, {} links",
            path.display(),
            it.0,
            it.1.len(),
            it.2
        );
    }
    Ok(unstaged != after && !table::UNREPEATABLE.iter().any(|it| name.starts_with(it)))
}

/// The files that the change set says there will be.
fn shown(
    before: &FileEssence,
    set: &ChangeSet,
) -> Result<BTreeMap<PathBuf, (u32, Vec<u8>)>, String> {
    let mut files: BTreeMap<PathBuf, (u32, Vec<u8>)> =
        before.iter().map(|(path, it)| (path.clone(), (it.0, it.1.clone()))).collect();
    for change in &set.changes {
        let content = set.contents.join(&change.path);
        match &change.after {
            PathState::Absent => {
                files.remove(&change.path);
            }
            PathState::File { mode, bytes, .. } => {
                let read = fs::read(&content).map_err(text)?;
                if read.len() as u64 != *bytes {
                    return Err(format!("{}: another size than shown", change.path.display()));
                }
                files.insert(change.path.clone(), (0o100_000 | mode, read));
            }
            PathState::Link { target } => {
                files.insert(
                    change.path.clone(),
                    (0o120_777, target.as_os_str().as_encoded_bytes().to_vec()),
                );
            }
            PathState::Folder { mode } => {
                let group = before.get(&change.path).map_or(0, |it| it.0 & 0o2000);
                files.insert(change.path.clone(), (0o040_000 | mode | group, Vec::new()));
            }
            PathState::Special => return Err("a special file in a change set".into()),
        }
    }
    Ok(files)
}

/// The user edits meanwhile: nothing is overwritten, and an undo says what is in the way.
fn conflicts(world: &World) -> Result<(), String> {
    let project = world.project();
    lay(&project)?;
    let journal = CommitJournal::new(world.path("commits"));
    for (script, file) in [
        ("echo staged > a.txt", "a.txt"),
        ("rm a.txt", "a.txt"),
        ("echo staged > fresh", "fresh"),
        ("rm -r src", "src/new-of-user"),
    ] {
        let stage = world.stage()?;
        world.run(&world.script(script), Some(&stage))?;
        fs::write(project.join(file), "of the user\n").map_err(text)?;
        let early = stage.changes().map_err(text)?;
        let refused = journal.commit(&early, &early.hash(), &mut |_| {});
        if !matches!(refused, Err(CommitError::Conflicts(_)))
            || fs::read_to_string(project.join(file)).map_err(text)? != "of the user\n"
        {
            return Err(format!("a conflict is not told: {script}: {refused:?}"));
        }
        stage.discard().map_err(text)?;
        lay(&project)?;
        // Between the question and the commit.
        let stage = world.stage()?;
        world.run(&world.script(script), Some(&stage))?;
        let set = stage.changes().map_err(text)?;
        fs::write(project.join(file), "of the user\n").map_err(text)?;
        let before = essence(&project)?;
        let refused = journal.commit(&set, &set.hash(), &mut |_| {});
        if !matches!(refused, Err(CommitError::Conflicts(_))) || essence(&project)? != before {
            return Err(format!("a late conflict is not told: {script}: {refused:?}"));
        }
        stage.discard().map_err(text)?;
        lay(&project)?;
    }
    let stage = world.stage()?;
    world.run(&world.script("echo staged > a.txt; echo n > fresh"), Some(&stage))?;
    let set = stage.changes().map_err(text)?;
    let done = journal.commit(&set, &set.hash(), &mut |_| {}).map_err(text)?;
    fs::write(project.join("a.txt"), "since\n").map_err(text)?;
    match journal.undo(&done.id, &[], &mut |_| {}) {
        Err(CommitError::Conflicts(found))
            if found.len() == 1 && found[0].path == Path::new("a.txt") => {}
        other => return Err(format!("an undo over the user's work: {other:?}")),
    }
    let kept = fs::read_to_string(project.join("a.txt")).map_err(text)? == "since\n"
        && project.join("fresh").exists();
    stage.discard().map_err(text)?;
    if kept { Ok(()) } else { Err("an undo changed something although it was refused".into()) }
}
