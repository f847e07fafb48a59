//! Places of files: paths made whole, links on the way followed, and where in a project they lie.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The path as the system knows it: links of all that exists are followed, the rest is as it is named.
/// `None` for a path that is not absolute.
pub(crate) fn real_path(path: &Path) -> Option<PathBuf> {
    let mut rest: Vec<OsString> = Vec::new();
    let mut at = normal(path)?;
    loop {
        if let Ok(real) = fs::canonicalize(&at) {
            return Some(rest.into_iter().rev().fold(real, |path, name| path.join(name)));
        }
        // A link that leads nowhere is no name for a new file.
        if fs::symlink_metadata(&at).is_ok() {
            return None;
        }
        rest.push(at.file_name()?.to_owned());
        at = at.parent()?.to_owned();
    }
}

/// The path without `.` and `..`, by its text alone; `None` for one that is not absolute.
pub(crate) fn normal(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::RootDir => out.push("/"),
            Component::Normal(name) => out.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) => return None,
        }
    }
    out.is_absolute().then_some(out)
}

/// The path from a folder, unless it is whole already.
pub(crate) fn absolute(path: &str, folder: Option<&Path>) -> Option<PathBuf> {
    let path = Path::new(path);
    match (path.is_absolute(), folder) {
        (true, _) => normal(path),
        (false, Some(folder)) => normal(&folder.join(path)),
        (false, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{absolute, normal, real_path};

    #[test]
    fn paths_are_made_whole_without_leaving_their_root() {
        let check = |path: &str, expect: &str| {
            assert_eq!(normal(Path::new(path)), Some(PathBuf::from(expect)), "{path}");
        };
        check("/a/./b/../c", "/a/c");
        check("/../../etc", "/etc");
        assert_eq!(normal(Path::new("a")), None);
        assert_eq!(absolute("../x", Some(Path::new("/p/q"))), Some("/p/x".into()));
        assert_eq!(absolute("x", None), None);
    }

    #[test]
    fn links_are_followed_and_new_names_kept() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("a")).unwrap();
        std::os::unix::fs::symlink(real.join("a"), real.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", real.join("broken")).unwrap();
        assert_eq!(real_path(&real.join("link/new/x")), Some(real.join("a/new/x")));
        assert_eq!(real_path(&real.join("broken")), None);
    }
}
