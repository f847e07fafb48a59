//! Files of a project as programs on a stage see them, read from outside: the upper layer first, then
//! the project. Links are never followed: a program on the stage made some of them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

use super::Stage;
use crate::change::is_opaque;
use crate::error::JailError;
use crate::layer::JailLayer;

/// Layer that has a path.
enum Layered {
    Upper(PathBuf),
    /// Not in the upper layer, which hides nothing of it.
    Lower,
    Gone,
}

impl Stage {
    /// Place of a file, folder or link below the project; `None` if the stage has none there.
    #[must_use]
    pub fn locate(&self, path: &Path) -> Option<PathBuf> {
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        let found = match self.layered(path) {
            Layered::Upper(found) => found,
            Layered::Lower => self.project().join(path),
            Layered::Gone => return None,
        };
        fs::symlink_metadata(&found).is_ok().then_some(found)
    }

    /// Names in a folder of the stage, in order; empty for what is no folder.
    #[must_use]
    pub fn names_in(&self, folder: &Path) -> Vec<OsString> {
        let mut names: BTreeSet<OsString> = BTreeSet::new();
        let is_full = self.layer() == JailLayer::Full;
        let upper = self.contents().join(folder);
        let shows_lower = is_full && self.shows_lower(folder);
        if shows_lower {
            names.extend(read_names(&self.project().join(folder)));
        }
        for name in read_names(&upper) {
            if is_full && is_whiteout(&upper.join(&name)) {
                names.remove(&name);
            } else {
                names.insert(name);
            }
        }
        names.into_iter().collect()
    }

    /// Paths of the project when the stage began.
    pub fn base_paths(&self) -> impl Iterator<Item = &Path> {
        self.base().keys().map(PathBuf::as_path)
    }

    fn shows_lower(&self, folder: &Path) -> bool {
        let is_covered = |part: &Path| is_opaque(&self.contents().join(part));
        match self.layered(folder) {
            Layered::Lower => true,
            Layered::Upper(found) => {
                found.is_dir()
                    && !folder.ancestors().any(|part| part != Path::new("") && is_covered(part))
            }
            Layered::Gone => false,
        }
    }

    fn layered(&self, path: &Path) -> Layered {
        let mut place = self.contents();
        if self.layer() != JailLayer::Full {
            return Layered::Upper(place.join(path));
        }
        let (mut is_covered, mut parts) = (false, path.components().peekable());
        while let Some(part) = parts.next() {
            place.push(part);
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() => is_covered |= is_opaque(&place),
                Ok(_) if is_whiteout(&place) || parts.peek().is_some() => return Layered::Gone,
                Ok(_) => return Layered::Upper(place),
                Err(_) if is_covered => return Layered::Gone,
                Err(_) => return Layered::Lower,
            }
        }
        Layered::Upper(place)
    }
}

fn is_whiteout(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.file_type().is_char_device() && found.rdev() == 0)
}

fn read_names(folder: &Path) -> Vec<OsString> {
    // Through no link: a folder of the stage may have become one.
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Vec::new();
    }
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
}

/// Bytes of a plain file, at most `most`, and its whole length; through no link on the way.
///
/// # Errors
///
/// A path with a link in it, something else than a file, and what cannot be read are refused.
pub fn read_plain_file(path: &Path, most: u64) -> Result<(Vec<u8>, u64), JailError> {
    let file = open_plain(path).map_err(JailError::io("open", path))?;
    let metadata = file.metadata().map_err(JailError::io("look at", path))?;
    if !metadata.is_file() {
        let what = format!("`{}` is no plain file", path.display());
        return Err(JailError::InvalidSpec(what));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(JailError::io("read", path))?;
    Ok((bytes, metadata.len()))
}

#[cfg(target_os = "linux")]
fn open_plain(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(File::from(openat2(CWD, path, flags, Mode::empty(), resolve)?))
}

#[cfg(not(target_os = "linux"))]
fn open_plain(path: &Path) -> std::io::Result<File> {
    if fs::canonicalize(path)? != path {
        return Err(std::io::Error::other("a link is on the way"));
    }
    crate::tree::open_file(path)
}
