//! Which buffer an AST is of: that of a file, or one without a file.
//!
//! A name is a key, nothing more: no file is opened for it.

use std::path::{Component, Path, PathBuf};

use bridle_sexp::Value;

/// Longest name of a file or a buffer, in bytes: that of a path on Linux.
pub(in crate::engine) const MAX_PLACE_BYTES: usize = 4096;

/// A buffer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum BufferPlace {
    /// The buffer of a file, by its path.
    File(Box<str>),
    /// A buffer without a file, by its name.
    Buffer(Box<str>),
}

impl BufferPlace {
    /// The place that a payload names; `None` if it names none, or one too long.
    pub(in crate::engine) fn of(payload: &Value) -> Option<BufferPlace> {
        let text = |key| payload.get(key).and_then(Value::as_str);
        let fits = |text: &&str| text.len() <= MAX_PLACE_BYTES;
        match text("file") {
            Some(file) => Some(file).filter(fits).map(|file| BufferPlace::File(plain(file))),
            None => text("buffer").filter(fits).map(|buffer| BufferPlace::Buffer(buffer.into())),
        }
    }

    /// The key and the name, as they stand in a payload.
    pub(in crate::engine) fn pair(&self) -> (&'static str, &str) {
        match self {
            BufferPlace::File(name) => ("file", name),
            BufferPlace::Buffer(name) => ("buffer", name),
        }
    }

    /// Tells whether it is the buffer of the file of this name, whatever is there.
    pub(in crate::engine) fn is_named(&self, path: &Path) -> bool {
        matches!(self, BufferPlace::File(own) if Path::new(&**own) == plain_path(path))
    }

    /// Tells whether it is the buffer of this file, links followed as far as they lead.
    pub(in crate::engine) fn is_of(&self, path: &Path) -> bool {
        let BufferPlace::File(own) = self else { return false };
        let own = Path::new(&**own);
        if self.is_named(path) {
            return true;
        }
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        own.file_name() == path.file_name() && real(own).is_some_and(|own| Some(own) == real(path))
    }
}

/// An absolute path without the steps that lead nowhere; others are left as they are.
fn plain(file: &str) -> Box<str> {
    if !file.starts_with('/') {
        return file.into();
    }
    plain_path(Path::new(file)).to_string_lossy().into()
}

fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for step in path.components() {
        match step {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            step => plain.push(step),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{BufferPlace, MAX_PLACE_BYTES};
    use bridle_sexp::read_one;

    fn place(payload: &str) -> Option<BufferPlace> {
        BufferPlace::of(&read_one(payload).expect("a form").root().to_value())
    }

    #[test]
    fn one_file_has_one_name_however_it_is_reached() {
        let check = |payload: &str, expect: Option<(&'static str, &str)>| {
            assert_eq!(place(payload).as_ref().map(BufferPlace::pair), expect, "{payload}");
        };
        check(r#"(:file "/a/./b//c.org")"#, Some(("file", "/a/b/c.org")));
        check(r#"(:file "/a/../../b.org" :buffer "b")"#, Some(("file", "/b.org")));
        check(r#"(:file "~/b/../c.org")"#, Some(("file", "~/b/../c.org")));
        check(r#"(:buffer "*scratch*")"#, Some(("buffer", "*scratch*")));
        check("(:sensor :x)", None);
        check(&format!("(:file \"{}\")", "x".repeat(MAX_PLACE_BYTES + 1)), None);
    }

    #[test]
    fn a_link_to_a_file_is_that_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::create_dir(&real).expect("made");
        std::fs::write(real.join("a.org"), "* a\n").expect("written");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        let check = |named: &Path, asked: &Path, expect: bool| {
            let place = BufferPlace::File(named.to_string_lossy().into());
            assert_eq!(place.is_of(asked), expect, "{named:?} {asked:?}");
        };
        check(&link.join("a.org"), &real.join("a.org"), true);
        check(&real.join("a.org"), &link.join("a.org"), true);
        check(&real.join("a.org"), &real.join("../real/a.org"), true);
        check(&real.join("b.org"), &real.join("b.org"), true);
        check(&real.join("a.org"), &real.join("b.org"), false);
        assert!(!BufferPlace::Buffer("a.org".into()).is_of(Path::new("a.org")));
    }
}
