//! Names of files below the root: relative, plain, UTF-8. Made from what people and models write, so
//! nothing else in this room has to doubt them.

use std::fmt;

/// Longest name with its folders, in bytes: what Linux takes.
const MAX_PATH_BYTES: usize = 4096;

/// Most folders of a name: as many as actions may name.
const MAX_PATH_NAMES: usize = 64;

/// A file below the root, such as `projects/garden.org`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Box<str>);

impl FilePath {
    /// Reads a name; `None` for one that is absolute, empty, too long, or has `.`, `..` or `//` in it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
        let fits = text.len() <= MAX_PATH_BYTES && text.split('/').count() <= MAX_PATH_NAMES;
        (fits && text.split('/').all(is_plain)).then(|| Self(text.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
