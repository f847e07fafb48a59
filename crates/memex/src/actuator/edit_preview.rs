//! Preview of an action: the files that would change, and the diff. Written into the payload before the action is
//! judged, and read from it again when it is carried out.

use std::path::Path;

use crate::{FileChange, FilePath, hash_bytes, line_changes, unified};
use bridle_loop::PREPARED;
use bridle_record::RecordHash;
use bridle_sexp::Value;

/// Longest diff that is shown, in bytes: nobody reads more before a yes. What is bound are the hashes.
const MAX_DIFF_BYTES: usize = 256 << 10;

/// Most files in one action.
const MAX_PREVIEWED_FILES: usize = 4096;

/// A change, and what is there now.
#[derive(Clone, Debug)]
pub(super) struct EditPlan {
    pub(super) change: FileChange,
    pub(super) old: Option<Vec<u8>>,
}

impl EditPlan {
    /// The change for people.
    pub(super) fn diff(&self) -> Vec<u8> {
        let Self { change, old } = self;
        unified(change.path.as_str(), old.as_deref(), change.after.as_deref())
    }
}

/// Refuses what changes nothing, and what changes too much at once.
pub(super) fn check_extent(planned: Vec<EditPlan>) -> Result<Vec<EditPlan>, String> {
    let is_news = |it: &EditPlan| it.change.after != it.old;
    match planned.iter().any(is_news) {
        false => Err("nothing would change".to_owned()),
        true if planned.len() > MAX_PREVIEWED_FILES => {
            Err(format!("{} files at once, expected at most {MAX_PREVIEWED_FILES}", planned.len()))
        }
        true => Ok(planned.into_iter().filter(is_news).collect()),
    }
}

/// Changes that were shown with a proposal, by file: an approval is bound to them.
pub(super) struct EditPreview {
    files: Vec<PreviewedFile>,
    diff: String,
}

struct PreviewedFile {
    path: FilePath,
    before: Option<RecordHash>,
    after: Option<RecordHash>,
    /// Of the lines that go and the lines that come.
    touches: RecordHash,
}

impl EditPreview {
    pub(super) fn new(planned: &[EditPlan]) -> Self {
        let mut diff = Vec::new();
        let mut files = Vec::new();
        for plan in planned {
            let EditPlan { change, old } = plan;
            let after = change.after.as_deref();
            if diff.len() <= MAX_DIFF_BYTES {
                diff.extend(plan.diff());
            }
            files.push(PreviewedFile {
                path: change.path.clone(),
                before: change.before,
                after: change.after_hash(),
                touches: touches(old.as_deref(), after),
            });
        }
        Self { files, diff: cut(&diff) }
    }

    /// Reads what was put into a payload.
    pub(super) fn of(payload: &Value, root: &Path) -> Option<Self> {
        let prepared = payload.get(PREPARED)?;
        let hash = |value: &Value, key| match value.get(key)? {
            Value::Nil => Some(None),
            hash => RecordHash::from_hex(hash.as_str()?).map(Some),
        };
        let file = |value: &Value| {
            let path = value.get("path").and_then(Value::as_str)?;
            let path = Path::new(path).strip_prefix(root).ok()?.to_str()?;
            Some(PreviewedFile {
                path: FilePath::parse(path)?,
                before: hash(value, "before")?,
                after: hash(value, "after")?,
                touches: hash(value, "touches")??,
            })
        };
        let files = prepared.get("files").and_then(Value::elements)?;
        let files: Option<Vec<PreviewedFile>> = files.iter().map(file).collect();
        let diff = prepared.get("diff").and_then(Value::as_str).unwrap_or_default().to_owned();
        files.filter(|files| !files.is_empty()).map(|files| Self { files, diff })
    }

    /// As it stands in a payload.
    pub(super) fn to_value(&self, root: &Path) -> Value {
        let hash =
            |hash: Option<RecordHash>| hash.map_or(Value::Nil, |it| Value::str(it.to_string()));
        let file = |file: &PreviewedFile| {
            let path = root.join(file.path.as_str()).display().to_string();
            Value::plist([
                ("path", Value::str(path)),
                ("before", hash(file.before)),
                ("after", hash(file.after)),
                ("touches", hash(Some(file.touches))),
            ])
        };
        Value::plist([
            ("files", Value::list(self.files.iter().map(file))),
            ("diff", Value::str(self.diff.as_str())),
        ])
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &FilePath> {
        self.files.iter().map(|file| &file.path)
    }

    /// Whether a change, as it would be made now, takes away and puts in what was seen.
    pub(super) fn agrees(&self, planned: &EditPlan) -> bool {
        let EditPlan { change, old } = planned;
        let touches = touches(old.as_deref(), change.after.as_deref());
        self.files.iter().any(|file| file.path == change.path && file.touches == touches)
    }

    /// Returns the result of an action that is done now; parts of it may have been done by an earlier attempt.
    pub(super) fn result(&self, seen: &Self) -> Value {
        if self.files.len() == seen.files.len() { self.full_result() } else { seen.full_result() }
    }

    /// Returns the result of an action that a crash interrupted after it was done.
    pub(super) fn full_result(&self) -> Value {
        let files = self.files.iter().map(|file| Value::str(file.path.as_str()));
        Value::plist([("files", Value::list(files)), ("diff", Value::str(self.diff.as_str()))])
    }
}

/// The hash of the lines that go and of those that come, in their order. Where they stand and what is
/// around them makes no difference.
fn touches(old: Option<&[u8]>, new: Option<&[u8]>) -> RecordHash {
    let split = |text: Option<&'_ [u8]>| -> Vec<Vec<u8>> {
        let text = text.unwrap_or_default();
        text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let (old_lines, new_lines) = (split(old), split(new));
    let mut hashed = vec![u8::from(old.is_some()), u8::from(new.is_some())];
    for change in line_changes(old.unwrap_or_default(), new.unwrap_or_default()) {
        for lines in [&old_lines[change.old], &new_lines[change.new]] {
            hashed.extend_from_slice(&(lines.len() as u64).to_le_bytes());
            for line in lines {
                hashed.extend_from_slice(&(line.len() as u64).to_le_bytes());
                hashed.extend_from_slice(line);
            }
        }
    }
    hash_bytes(&hashed)
}

/// A diff as text; a long one is cut at the end of a line, and says so.
fn cut(diff: &[u8]) -> String {
    if diff.len() <= MAX_DIFF_BYTES {
        return String::from_utf8_lossy(diff).into_owned();
    }
    let end = diff[..MAX_DIFF_BYTES].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let shown = String::from_utf8_lossy(&diff[..end]);
    format!("{shown}\\ The diff is longer than {MAX_DIFF_BYTES} bytes; the rest is not shown\n")
}
