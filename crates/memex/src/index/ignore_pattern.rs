//! The lines of `.bridleignore`, which mean what they mean in a `.gitignore`: `*`, `?`, `[a-z]`, `**`, a slash at
//! the beginning or inside ties a pattern to the top, one at the end makes it for folders, `!` takes back, the last
//! line that fits counts. Asked by `scan`; knows nothing of files.

/// Most lines that count; the rest is not looked at.
const MAX_PATTERNS: usize = 1000;

/// Longest line that counts, in bytes.
const MAX_PATTERN_BYTES: usize = 1024;

/// The lines of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct IgnorePatterns(Vec<IgnorePattern>);

#[derive(Clone, Debug)]
struct IgnorePattern {
    takes_back: bool,
    folders_only: bool,
    /// The names between the slashes, from the top.
    names: Vec<Box<[u8]>>,
}

impl IgnorePatterns {
    /// Reads the lines.
    pub(crate) fn read(text: &str) -> Self {
        let lines = text.lines().take(MAX_PATTERNS).filter(|line| line.len() <= MAX_PATTERN_BYTES);
        Self(lines.filter_map(IgnorePattern::read).collect())
    }

    /// Whether what is at `path`, from the top and with slashes, is to be left out.
    pub(crate) fn ignores(&self, path: &str, is_folder: bool) -> bool {
        let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        let fits = |pattern: &&IgnorePattern| {
            (is_folder || !pattern.folders_only) && fits_names(&pattern.names, &names)
        };
        self.0.iter().rev().find(fits).is_some_and(|pattern| !pattern.takes_back)
    }
}

impl IgnorePattern {
    fn read(line: &str) -> Option<IgnorePattern> {
        let line = line.trim_end_matches([' ', '\t', '\r']);
        if line.starts_with('#') {
            return None;
        }
        let (takes_back, line) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (folders_only, line) = match line.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let is_tied = line.contains('/');
        let inner = line.strip_prefix('/').unwrap_or(line);
        if inner.is_empty() {
            return None;
        }
        let anywhere = (!is_tied).then(|| Box::from(&b"**"[..]));
        let names = inner.split('/').map(|name| Box::from(name.as_bytes()));
        Some(IgnorePattern {
            takes_back,
            folders_only,
            names: anywhere.into_iter().chain(names).collect(),
        })
    }
}

/// Whether names fit a pattern of names, in which `**` stands for any number of them.
fn fits_names(pattern: &[Box<[u8]>], names: &[&[u8]]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where the last `**` stands, and how many names it has taken.
    let mut star: Option<(usize, usize)> = None;
    while from < names.len() {
        if pattern.get(at).is_some_and(|name| &**name == b"**") {
            star = Some((at, from));
            at += 1;
        } else if pattern.get(at).is_some_and(|name| fits_name(name, names[from])) {
            at += 1;
            from += 1;
        } else if let Some((star_at, taken)) = star {
            star = Some((star_at, taken + 1));
            at = star_at + 1;
            from = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|name| &**name == b"**")
}

/// Whether one name fits a pattern with `*`, `?`, `[..]` and `\`.
fn fits_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, from));
            at += 1;
        } else if let Some(next) = one(pattern, at, name[from]) {
            at = next;
            from += 1;
        } else if let Some((star_at, taken)) = star {
            star = Some((star_at, taken + 1));
            at = star_at + 1;
            from = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Returns the index behind the pattern element at `at` if that element matches this byte.
fn one(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    match *pattern.get(at)? {
        b'?' => Some(at + 1),
        b'\\' => (pattern.get(at + 1) == Some(&byte)).then_some(at + 2),
        b'[' => class(pattern, at, byte),
        other => (other == byte).then_some(at + 1),
    }
}

/// Returns the index behind the class `[a-z]` at `at` if it matches this byte; a bracket without an end is a plain
/// bracket.
fn class(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    let negated = matches!(pattern.get(at + 1), Some(b'!' | b'^'));
    let first = at + 1 + usize::from(negated);
    // A `]` right behind the beginning is one of the class.
    let length = pattern.get(first + 1..).and_then(|rest| rest.iter().position(|b| *b == b']'));
    let Some(end) = length.map(|length| first + 1 + length) else {
        return (byte == b'[').then_some(at + 1);
    };
    let (mut index, mut has) = (first, false);
    while index < end {
        let is_range = pattern[index + 1] == b'-' && index + 2 < end;
        let (high, step) = if is_range { (pattern[index + 2], 3) } else { (pattern[index], 1) };
        has |= (pattern[index]..=high).contains(&byte);
        index += step;
    }
    (has != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests;
