//! The user of `cargo xtask memory`: saves files as editors do, and finds all that was saved whenever it
//! looks again. Every line of the user's is a heading; what the agent adds to one of them is a tag.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::super::patience::BoundedWait;
use super::super::random::SplitMix;

/// Time for which saved text may be out of sight: a daemon that dies while it puts a text back does so at
/// its next start.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two saves: no person is quicker.
const PAUSE: Duration = Duration::from_millis(2);

/// Lines that the user wrote.
pub(super) struct UserLines {
    files: Vec<Vec<String>>,
    pub(super) saves: u64,
}

/// The name of a file.
pub(super) fn name(file: usize) -> String {
    format!("{file}.org")
}

/// Whether a line is the user's.
pub(super) fn is_own(line: &str) -> bool {
    line.starts_with("* user ")
}

/// A line of the user's without the tag that the agent gave it.
fn plain(line: &str) -> String {
    let text = line.trim_end_matches('\n');
    match text.rsplit_once(|it: char| it.is_ascii_whitespace()) {
        Some((head, tag)) if tag.starts_with(":a") && tag.ends_with(':') => {
            format!("{}\n", head.trim_end())
        }
        _ => line.to_owned(),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn first(file: usize) -> String {
    format!("* user 0 of {file} \u{1f333}\n")
}

/// Makes the files.
pub(super) fn begin(memex: &Path, files: usize) -> Result<()> {
    for file in 0..files {
        fs::write(memex.join(name(file)), first(file)).context("cannot make a file")?;
    }
    Ok(())
}

/// Saves at least so often, and until it is told to stop.
pub(super) fn save(
    memex: &Path,
    files: usize,
    mut random: SplitMix,
    least: u64,
    stop: &AtomicBool,
) -> Result<UserLines> {
    let mut own = UserLines { files: (0..files).map(|file| vec![first(file)]).collect(), saves: 0 };
    while own.saves < least || !stop.load(Ordering::SeqCst) {
        own.saves += 1;
        let file = random.index(files);
        let path = memex.join(name(file));
        let save = SaveMethod::ALL[random.index(SaveMethod::ALL.len())];
        save.begin(&path)?;
        let mut text = own.read(file, &path)?;
        let theirs: Vec<usize> = (0..text.len()).filter(|at| is_own(&text[*at])).collect();
        let line = format!("* user {} \u{1f333}\n", own.saves);
        let lines = &mut own.files[file];
        match random.below(6) {
            0 | 1 if theirs.len() > 1 => {
                let which = random.index(theirs.len());
                text.remove(theirs[which]);
                lines.remove(which);
            }
            2 | 3 => {
                let which = random.index(theirs.len());
                text[theirs[which]].clone_from(&line);
                lines[which] = line;
            }
            _ => {
                let which = random.index(theirs.len() + 1);
                let at = theirs.get(which).copied().unwrap_or(text.len());
                text.insert(at, line.clone());
                lines.insert(which, line);
            }
        }
        save.end(&path, &text.concat())?;
        thread::sleep(PAUSE);
    }
    Ok(own)
}

impl UserLines {
    /// Reads a file; the user's lines are all there, in their order, and no others.
    fn read(&self, file: usize, path: &Path) -> Result<Vec<String>> {
        let mut patience = BoundedWait::new(PATIENCE);
        loop {
            let text = lines(&fs::read_to_string(path).context("a file of the user's")?);
            let found: Vec<String> =
                text.iter().filter(|it| is_own(it)).map(|it| plain(it)).collect();
            if found == self.files[file] {
                return Ok(text);
            }
            if patience.is_over() {
                bail!("`{}`: expected {:?}, got {found:?}", path.display(), self.files[file]);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Nothing of the user's is lost.
    pub(super) fn check(&self, memex: &Path) -> Result<()> {
        (0..self.files.len())
            .try_for_each(|file| self.read(file, &memex.join(name(file))).map(drop))
    }

    /// Nothing is there but what the user wrote.
    pub(super) fn check_alone(&self, memex: &Path) -> Result<()> {
        for (file, own) in self.files.iter().enumerate() {
            let text = lines(&fs::read_to_string(memex.join(name(file)))?);
            let odd = text.iter().find(|line| !own.contains(line));
            ensure!(text == *own, "`{}` has more or less: {odd:?}", name(file));
        }
        for entry in fs::read_dir(memex)? {
            let found = entry?.file_name().to_string_lossy().into_owned();
            let is_own = (0..self.files.len()).any(|file| name(file) == found);
            ensure!(is_own || found.ends_with(".org~"), "`{found}` is left");
        }
        Ok(())
    }
}

/// Way in which a user saves.
#[derive(Clone, Copy)]
enum SaveMethod {
    /// A new file in the place of the old one.
    Rename,
    /// The old file becomes a backup, and a new one is written under its name, while a lock says so: as
    /// Emacs does.
    Emacs,
    /// Into the file itself, under such a lock.
    Locked,
    /// Into the file itself, and nobody is told.
    InPlace,
}

impl SaveMethod {
    const ALL: [Self; 4] = [Self::Rename, Self::Emacs, Self::Locked, Self::InPlace];

    fn is_locked(self) -> bool {
        matches!(self, Self::Emacs | Self::Locked)
    }

    fn begin(self, path: &Path) -> Result<()> {
        if self.is_locked() {
            let host = fs::read_to_string("/proc/sys/kernel/hostname")?;
            let owner = format!("me@{}.{}:1", host.trim(), std::process::id());
            symlink(owner, lock(path)).context("cannot lock")?;
        }
        Ok(())
    }

    fn end(self, path: &Path, text: &str) -> Result<()> {
        match self {
            Self::Rename => {
                let beside = path.with_extension("saving");
                fs::write(&beside, text)?;
                fs::rename(&beside, path)?;
            }
            Self::Emacs => {
                fs::rename(path, path.with_extension("org~"))?;
                fs::write(path, text)?;
            }
            Self::Locked | Self::InPlace => fs::write(path, text)?,
        }
        if self.is_locked() {
            fs::remove_file(lock(path))?;
        }
        Ok(())
    }
}

/// Path of the lock that Emacs makes for a file.
fn lock(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".#{name}"))
}
