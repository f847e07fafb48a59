//! Actions of `:file`: reading and changing files, those of a project on its stage.

use bridle_sexp::Value;

use super::InvalidAction;
use super::argument::{path, text};
use super::effect_facts::EffectFacts;

/// An act on one file or folder.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRequest {
    /// Its path: absolute, without `.` and `..`.
    pub path: Box<str>,
    /// Operation on it.
    pub operation: FileOperation,
    /// Facts that the daemon found out.
    pub facts: EffectFacts,
}

/// Operation on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// Give its text, or some lines of it.
    Read {
        /// First line, from 1.
        from: Option<u64>,
        /// Number of lines.
        lines: Option<u64>,
    },
    /// Name what is in a folder.
    List {
        /// Levels below the folder.
        depth: Option<u64>,
    },
    /// Find lines that match.
    Search {
        /// Regular expression.
        pattern: Box<str>,
    },
    /// Put this text in its place; made if it is not there.
    Write {
        /// Content of the file.
        text: Box<str>,
    },
    /// Put one text in the place of another.
    Patch {
        /// Text that is there.
        old: Box<str>,
        /// Text in its place.
        new: Box<str>,
        /// Whether each of several places is changed; else there must be one.
        all: bool,
    },
    /// Give it another path.
    Move {
        /// The other path: absolute.
        to: Box<str>,
    },
    /// Take it away; a folder with all that is in it.
    Delete,
}

/// All that `:file` can do.
pub const FILE_ACTIONS: &[&str] = &["read", "list", "search", "write", "patch", "move", "delete"];

impl FileRequest {
    /// Reads the act of this name; `None` if no such act has it.
    pub(super) fn from_payload(name: &str, payload: &Value) -> Result<Option<Self>, InvalidAction> {
        let Some(action) = FILE_ACTIONS.iter().copied().find(|action| *action == name) else {
            return Ok(None);
        };
        let number = |key| match payload.get(key).filter(|number| !number.is_nil()) {
            None => Ok(None),
            Some(number) => {
                let number = number.as_i64().and_then(|it| u64::try_from(it).ok());
                let expected = "a number from 1";
                let number = number.filter(|it| *it > 0);
                number.map(Some).ok_or(InvalidAction::Argument { action, key, expected })
            }
        };
        let operation = match action {
            "read" => FileOperation::Read { from: number("from")?, lines: number("lines")? },
            "list" => FileOperation::List { depth: number("depth")? },
            "search" => FileOperation::Search { pattern: text(payload, action, "pattern")? },
            "write" => FileOperation::Write { text: text(payload, action, "text")? },
            "patch" => FileOperation::Patch {
                old: text(payload, action, "old")?,
                new: text(payload, action, "new")?,
                all: payload.get("all").is_some_and(|flag| !flag.is_nil()),
            },
            "move" => FileOperation::Move { to: path(payload, action, "to")? },
            _ => FileOperation::Delete,
        };
        let path = path(payload, action, "path")?;
        Ok(Some(Self { path, operation, facts: EffectFacts::of(payload) }))
    }

    /// The name of the action.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.operation {
            FileOperation::Read { .. } => "read",
            FileOperation::List { .. } => "list",
            FileOperation::Search { .. } => "search",
            FileOperation::Write { .. } => "write",
            FileOperation::Patch { .. } => "patch",
            FileOperation::Move { .. } => "move",
            FileOperation::Delete => "delete",
        }
    }

    /// Whether it changes something.
    #[must_use]
    pub fn is_change(&self) -> bool {
        !matches!(
            self.operation,
            FileOperation::Read { .. } | FileOperation::List { .. } | FileOperation::Search { .. }
        )
    }

    /// A second file that it changes.
    #[must_use]
    pub fn elsewhere(&self) -> Option<&str> {
        match &self.operation {
            FileOperation::Move { to } => Some(to),
            _ => None,
        }
    }
}
