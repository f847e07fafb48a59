//! A commit killed at each of its points, and its recovery: before the kill and after it, the project is
//! as it was or as it shall be, and the recovery says which. Then the same with a user who saves a file
//! in between.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use bridle_jail::{CommitJournal, RecoveryVerdict, Stage, StageId};
use rustix::process::Signal;

use crate::world::{FileEssence, World, essence, option, text};

pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let every = option(words, "--every", 1)?.max(1);
    let (mut finished, mut rolled_back, mut points) = (0, 0, 0);
    for point in (1..).step_by(every) {
        let round = one_round(point, Meanwhile::Nothing)?;
        match round {
            None => break,
            Some(RecoveryVerdict::Finished) => finished += 1,
            Some(RecoveryVerdict::RolledBack) => rolled_back += 1,
        }
        one_round(point, Meanwhile::UserSaves)?;
        points += 1;
    }
    println!(
        "crash: a commit killed at {points} points: {finished} finished, {rolled_back} rolled back; as many with a user who saves meanwhile, no byte lost"
    );
    if finished == 0 || rolled_back == 0 { Err("both ends were expected".into()) } else { Ok(()) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    UserSaves,
}

const CHANGE: &str = "echo more >> a; rm b; mkdir n; echo x > n/x; chmod +x c; rm -r gone; mv d e; rm f; mkdir f; echo in > f/in; \
    rm -r g; echo file > g; ln -s a l; echo t > t; rm link; ln -s c link; mkdir ro; echo r > ro/r; chmod 555 ro";

fn lay(project: &Path) -> Result<(), String> {
    for folder in ["gone/deep", "g"] {
        fs::create_dir_all(project.join(folder)).map_err(text)?;
    }
    for file in ["a", "b", "c", "d", "f", "gone/one", "gone/deep/two", "g/in"] {
        fs::write(project.join(file), format!("{file}\n")).map_err(text)?;
    }
    std::os::unix::fs::symlink("a", project.join("link")).map_err(text)
}

/// One kill at the `point`-th point; `None` when the commit has fewer.
fn one_round(point: usize, meanwhile: Meanwhile) -> Result<Option<RecoveryVerdict>, String> {
    let world = World::new("crash")?;
    lay(&world.project())?;
    let before = essence(&world.project())?;
    let stage = world.stage()?;
    let (outcome, output) = world.run(&world.script(CHANGE), Some(&stage))?;
    if outcome.end != bridle_jail::JailEnd::Exited(0) {
        return Err(format!("the change failed: {outcome:?} {output}"));
    }
    let wanted = expected(&world)?;
    let status = Command::new("/proc/self/exe")
        .args(["crash-once", &point.to_string(), &stage.id().to_string()])
        .arg(world.path(""))
        .status()
        .map_err(text)?;
    if status.success() {
        return if essence(&world.project())? == wanted {
            Ok(None)
        } else {
            Err("a whole commit is not what was shown".into())
        };
    }
    if meanwhile == Meanwhile::UserSaves {
        let _ = fs::set_permissions(world.path("project/ro"), fs::Permissions::from_mode(0o755));
        fs::write(world.path("project/a"), "typed by the user\n").map_err(text)?;
    }
    let journal = CommitJournal::new(world.path("commits"));
    let recovered = journal.recover().map_err(text)?;
    let again = journal.recover().map_err(text)?;
    if !again.is_empty() {
        return Err(format!("point {point}: a second recovery found {again:?}"));
    }
    if meanwhile == Meanwhile::UserSaves {
        let saved = fs::read_to_string(world.path("project/a")).map_err(text)?;
        return if saved == "typed by the user\n" {
            Ok(Some(RecoveryVerdict::RolledBack))
        } else {
            Err(format!("point {point}: the user's bytes are lost: {saved}"))
        };
    }
    let now = essence(&world.project())?;
    // Without a verdict the end was marked before the kill.
    let verdict = recovered.first().map_or(RecoveryVerdict::Finished, |it| it.verdict);
    let wanted = if verdict == RecoveryVerdict::Finished { &wanted } else { &before };
    if now == *wanted && recovered.iter().all(|it| it.conflicts.is_empty()) {
        return Ok(Some(verdict));
    }
    let differing: Vec<_> =
        now.iter().filter(|(path, it)| wanted.get(*path) != Some(it)).map(|it| it.0).collect();
    let missing: Vec<_> = wanted.keys().filter(|path| !now.contains_key(*path)).collect();
    Err(format!("point {point}: {recovered:?}, differing {differing:?}, missing {missing:?}"))
}

/// Result of the same script in an unstaged copy.
fn expected(world: &World) -> Result<FileEssence, String> {
    let copy = world.path("unstaged");
    fs::create_dir(&copy).map_err(text)?;
    lay(&copy)?;
    let status =
        Command::new("sh").args(["-c", CHANGE]).current_dir(&copy).status().map_err(text)?;
    if !status.success() {
        return Err("the change fails without a stage, too".into());
    }
    essence(&copy)
}

/// Commits a stage and dies at a point.
pub(crate) fn once(words: &[&str]) -> Result<(), String> {
    let [point, id, base] = words else { return Err("POINT STAGE BASE".into()) };
    let point: usize = point.parse().map_err(text)?;
    let base = Path::new(base);
    let id = StageId::parse(id).ok_or("no name of a stage")?;
    let stage = Stage::reopen(&base.join("stages"), &id).map_err(text)?;
    let set = stage.changes().map_err(text)?;
    let mut seen = 0;
    CommitJournal::new(base.join("commits"))
        .commit(&set, &set.hash(), &mut |_| {
            seen += 1;
            if seen == point {
                let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
            }
        })
        .map(drop)
        .map_err(text)
}
