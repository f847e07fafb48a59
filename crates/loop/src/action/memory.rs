//! Actions of `:memory`: edits of Org files, and what takes edits back.
//!
//! An edit names a file, a place in it and what becomes of that. Before it is judged, the daemon looks at
//! the files and puts `:prepared` into the payload: which files would hold what, and the diff that a
//! person reads. The approval is bound to the payload, and so to that. What cannot be done is said there,
//! too, and denied. A client or a thinker that says `:prepared` itself is not listened to: the daemon
//! replaces it.

use bridle_sexp::Value;

use super::InvalidAction;
use super::argument::{is_plain_path, natural, path, text};

/// Longest list of titles that leads to a heading, and longest list of tags.
const MAX_NAMES: usize = 64;

/// Files that one action may change.
const MAX_FILES: usize = 4096;

/// The payload's key for what the daemon found out.
pub const PREPARED: &str = "prepared";

/// A change of an Org file.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryEdit {
    /// The file: absolute, without `.` and `..`.
    pub path: Box<str>,
    /// Place in the file.
    pub spot: OrgLocation,
    /// Operation at that place.
    pub verb: EditOperation,
    /// Facts that the daemon found out about it.
    pub prepared: Option<PreparedEdit>,
}

/// A place in an Org file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrgLocation {
    /// The whole file.
    File,
    /// The heading with this `ID` or `CUSTOM_ID`.
    Id(Box<str>),
    /// The heading that these titles lead to, from the top.
    Outline(Vec<Box<str>>),
    /// The heading, or for checkboxes the item, on this line, from 1.
    Line(u64),
}

/// Operation of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditOperation {
    /// Set the title of a heading.
    SetTitle(Box<str>),
    /// Set its `TODO` keyword, or take it away.
    SetState {
        /// The keyword.
        state: Option<Box<str>>,
        /// Time, as an inactive timestamp: for the log, and for what repeats.
        at: Box<str>,
        /// A note for the log, where the settings of the file ask for one.
        note: Option<Box<str>>,
    },
    /// Set its priority, one letter or digit, or take it away.
    SetPriority(Option<u8>),
    /// Set its own tags.
    SetTags(Vec<Box<str>>),
    /// Set one of its properties, or take it away.
    SetProperty {
        /// The name.
        key: Box<str>,
        /// The value.
        value: Option<Box<str>>,
    },
    /// Plan it: `scheduled`, `deadline` or `closed`, with a timestamp or none.
    SetPlanning {
        /// Keyword of the time.
        plan: PlanningKeyword,
        /// The timestamp.
        stamp: Option<Box<str>>,
        /// Time of the change, as an inactive timestamp: for the log.
        at: Box<str>,
    },
    /// Put a text behind its subtree, on the same level.
    Insert(Box<str>),
    /// Put a text at the end of its subtree, one level below; without a heading, at the end of the file,
    /// which is made if it does not exist.
    Append(Box<str>),
    /// Move its subtree before the one above it.
    MoveUp,
    /// Move its subtree below another heading, or to the end of another file.
    Refile {
        /// The other file, absolute; `None`: the same.
        path: Option<Box<str>>,
        /// The heading there; [`OrgLocation::File`]: the end of it.
        to: OrgLocation,
        /// Time, as an inactive timestamp: for the log.
        at: Box<str>,
    },
    /// Mark it as archived.
    Archive,
    /// Move its subtree to the end of an archive, with notes on where it was.
    ArchiveInto {
        /// The archive: absolute. It is made if it does not exist.
        path: Box<str>,
        /// Time, as an inactive timestamp.
        at: Box<str>,
    },
    /// Take its subtree away.
    Delete,
    /// Check or uncheck the box of an item.
    ToggleCheckbox,
    /// Start its clock, at this inactive timestamp.
    ClockIn(Box<str>),
    /// Stop its clock.
    ClockOut(Box<str>),
}

/// Keyword of one of the three times of a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanningKeyword {
    /// Time at which it is to be begun.
    Scheduled,
    /// Time at which it is to be done.
    Deadline,
    /// Time at which it was done.
    Closed,
}

/// Arguments of the actions that take changes back.
#[derive(Clone, Debug, PartialEq)]
pub struct UndoRequest {
    /// Changes to take back.
    pub what: UndoTarget,
    /// Facts that the daemon found out about them.
    pub prepared: Option<PreparedEdit>,
}

/// Changes to take back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoTarget {
    /// The changes of one record.
    Record(u64),
    /// The changes of one turn of a session.
    Turn {
        /// The session.
        session: Box<str>,
        /// The turn.
        turn: u64,
    },
    /// All changes of a session.
    Session {
        /// The session.
        session: Box<str>,
    },
    /// All since a snapshot: in all files, or in one.
    Snapshot {
        /// Its name.
        name: Box<str>,
        /// The file: absolute.
        path: Option<Box<str>>,
    },
}

/// Facts that the daemon found out before the action was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreparedEdit {
    /// The files that it would change: absolute.
    pub paths: Vec<Box<str>>,
    /// Heading that the edit is about, by a name that no other heading of the file has; empty if there is none.
    pub heading: Box<str>,
    /// File and heading that a subtree goes to, in the same way.
    pub destination: Box<str>,
    /// Text of the item whose box is checked.
    pub item: Option<Box<str>>,
    /// Reason why it cannot be done.
    pub fault: Option<Box<str>>,
}

/// The names of all edits.
pub const EDITS: [&str; 15] = [
    "set-title",
    "set-state",
    "set-priority",
    "set-tags",
    "set-property",
    "set-planning",
    "insert-subtree",
    "append-subtree",
    "move-up",
    "refile",
    "archive",
    "delete-subtree",
    "toggle-checkbox",
    "clock-in",
    "clock-out",
];

/// The names of what takes changes back.
pub const UNDOS: [&str; 3] = ["undo", "rollback", "restore"];

/// All that `:memory` can do.
pub const ACTIONS: &[&str] = &{
    let mut all = ["snapshot"; EDITS.len() + UNDOS.len() + 1];
    let (edits, rest) = all.split_at_mut(EDITS.len());
    edits.copy_from_slice(&EDITS);
    rest.split_at_mut(UNDOS.len()).0.copy_from_slice(&UNDOS);
    all
};

/// An inactive timestamp of any moment: where an example or a rehearsal needs one.
const SOME_TIME: &str = "[1970-01-01 Thu 00:00]";

impl MemoryEdit {
    /// Reads an edit of this name; `None` if no edit has it.
    pub(super) fn from_payload(name: &str, payload: &Value) -> Result<Option<Self>, InvalidAction> {
        let Some(action) = EDITS.into_iter().find(|edit| *edit == name) else { return Ok(None) };
        let verb = EditOperation::from_payload(action, payload)?;
        let spot = OrgLocation::from_value(action, payload)?;
        let fits = match (&verb, &spot) {
            (EditOperation::Append(_), _) => true,
            (_, OrgLocation::File) => false,
            (EditOperation::ToggleCheckbox, spot) => matches!(spot, OrgLocation::Line(_)),
            _ => true,
        };
        if !fits {
            let expected = match verb {
                EditOperation::ToggleCheckbox => "the line of an item",
                _ => "a heading, by `:id`, `:outline` or `:line`",
            };
            return Err(InvalidAction::Argument { action, key: "line", expected });
        }
        let path = path(payload, action, "path")?;
        Ok(Some(Self { path, spot, verb, prepared: PreparedEdit::of(payload) }))
    }

    /// The name of the action.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.verb.name()
    }

    /// The file into which the text goes, if that is another one.
    #[must_use]
    pub fn elsewhere(&self) -> Option<&str> {
        let (EditOperation::Refile { path: Some(other), .. }
        | EditOperation::ArchiveInto { path: other, .. }) = &self.verb
        else {
            return None;
        };
        (**other != *self.path).then_some(other)
    }
}

impl MemoryEdit {
    /// Whether the text goes to another place.
    pub(crate) fn moves(&self) -> bool {
        matches!(self.verb, EditOperation::Refile { .. } | EditOperation::ArchiveInto { .. })
    }

    /// Whether it is about an item and not about a heading.
    pub(crate) fn is_of_item(&self) -> bool {
        matches!(self.verb, EditOperation::ToggleCheckbox)
    }
}

impl EditOperation {
    fn from_payload(action: &'static str, payload: &Value) -> Result<Self, InvalidAction> {
        let said = |key| text(payload, action, key);
        let or_none = |key| match payload.get(key) {
            None | Some(Value::Nil) => Ok(None),
            Some(_) => text(payload, action, key).map(Some),
        };
        let now = || match payload.get("at") {
            None => Ok(SOME_TIME.into()),
            Some(_) => text(payload, action, "at"),
        };
        Ok(match action {
            "set-title" => Self::SetTitle(said("title")?),
            "set-state" => {
                Self::SetState { state: or_none("state")?, at: now()?, note: or_none("note")? }
            }
            "set-priority" => Self::SetPriority(priority(action, or_none("priority")?.as_deref())?),
            "set-tags" => Self::SetTags(texts(payload, action, "tags")?),
            "set-property" => Self::SetProperty { key: said("key")?, value: or_none("value")? },
            "set-planning" => Self::SetPlanning {
                plan: PlanningKeyword::from_payload(action, payload)?,
                stamp: or_none("stamp")?,
                at: now()?,
            },
            "insert-subtree" => Self::Insert(said("text")?),
            "append-subtree" => Self::Append(said("text")?),
            "move-up" => Self::MoveUp,
            "refile" => {
                let expected = "a heading, a `:path`, or both";
                let fault = InvalidAction::Argument { action, key: "to", expected };
                match destination(action, payload)? {
                    RefileTarget { path: None, spot: OrgLocation::File } => return Err(fault),
                    RefileTarget { path, spot } => Self::Refile { path, to: spot, at: now()? },
                }
            }
            "archive" => match destination(action, payload)? {
                RefileTarget { path: None, spot: OrgLocation::File } => Self::Archive,
                RefileTarget { path: Some(path), spot: OrgLocation::File } => {
                    Self::ArchiveInto { path, at: now()? }
                }
                RefileTarget { .. } => {
                    let expected = "a `:path` and no heading, or nothing";
                    return Err(InvalidAction::Argument { action, key: "to", expected });
                }
            },
            "delete-subtree" => Self::Delete,
            "toggle-checkbox" => Self::ToggleCheckbox,
            "clock-in" => Self::ClockIn(now()?),
            _ => Self::ClockOut(now()?),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::SetTitle(_) => "set-title",
            Self::SetState { .. } => "set-state",
            Self::SetPriority(_) => "set-priority",
            Self::SetTags(_) => "set-tags",
            Self::SetProperty { .. } => "set-property",
            Self::SetPlanning { .. } => "set-planning",
            Self::Insert(_) => "insert-subtree",
            Self::Append(_) => "append-subtree",
            Self::MoveUp => "move-up",
            Self::Refile { .. } => "refile",
            Self::Archive | Self::ArchiveInto { .. } => "archive",
            Self::Delete => "delete-subtree",
            Self::ToggleCheckbox => "toggle-checkbox",
            Self::ClockIn(_) => "clock-in",
            Self::ClockOut(_) => "clock-out",
        }
    }
}

impl OrgLocation {
    fn from_value(action: &'static str, value: &Value) -> Result<Self, InvalidAction> {
        let given = |key: &&str| value.get(key).is_some_and(|value| !value.is_nil());
        let mut keys = ["id", "outline", "line"].into_iter().filter(given);
        let spot = match keys.next() {
            None => Self::File,
            Some("id") => Self::Id(text(value, action, "id")?),
            Some("outline") => match texts(value, action, "outline")? {
                titles if titles.is_empty() => Self::File,
                titles => Self::Outline(titles),
            },
            Some(_) => match natural(value, action, "line")? {
                0 => {
                    let expected = "the number of a line, from 1";
                    return Err(InvalidAction::Argument { action, key: "line", expected });
                }
                line => Self::Line(line),
            },
        };
        match keys.next() {
            None => Ok(spot),
            // Two places could be two different ones.
            Some(_) => Err(InvalidAction::Argument {
                action,
                key: "id",
                expected: "one of `:id`, `:outline` and `:line`",
            }),
        }
    }
}

impl PlanningKeyword {
    fn from_payload(action: &'static str, payload: &Value) -> Result<Self, InvalidAction> {
        let word = payload.get("plan").and_then(Value::as_keyword).unwrap_or_default();
        match word.to_ascii_lowercase().as_str() {
            "scheduled" => Ok(Self::Scheduled),
            "deadline" => Ok(Self::Deadline),
            "closed" => Ok(Self::Closed),
            _ => Err(InvalidAction::Argument {
                action,
                key: "plan",
                expected: "`:scheduled`, `:deadline` or `:closed`",
            }),
        }
    }
}

impl UndoRequest {
    /// Reads what takes changes back; `None` if no such action has this name.
    pub(super) fn from_payload(name: &str, payload: &Value) -> Result<Option<Self>, InvalidAction> {
        let Some(action) = UNDOS.into_iter().find(|undo| *undo == name) else { return Ok(None) };
        let what = match action {
            "undo" => UndoTarget::Record(natural(payload, action, "record")?),
            "rollback" => {
                let session = text(payload, action, "session")?;
                match payload.get("turn").is_some_and(|turn| !turn.is_nil()) {
                    true => UndoTarget::Turn { session, turn: natural(payload, action, "turn")? },
                    false => UndoTarget::Session { session },
                }
            }
            _ => UndoTarget::Snapshot {
                name: text(payload, action, "name")?,
                path: payload.get("path").map(|_| path(payload, action, "path")).transpose()?,
            },
        };
        Ok(Some(Self { what, prepared: PreparedEdit::of(payload) }))
    }

    /// The name of the action.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.what {
            UndoTarget::Record(_) => "undo",
            UndoTarget::Turn { .. } | UndoTarget::Session { .. } => "rollback",
            UndoTarget::Snapshot { .. } => "restore",
        }
    }
}

impl PreparedEdit {
    /// Reads the facts that the daemon put there. Anything that it does not write is a fault.
    fn of(payload: &Value) -> Option<Self> {
        let prepared = payload.get(PREPARED)?;
        if let Some(fault) = prepared.get("fault").and_then(Value::as_str) {
            return Some(Self { fault: Some(fault.into()), ..Self::default() });
        }
        let files = prepared.get("files").and_then(Value::elements).unwrap_or_default();
        let path = |file: &Value| file.get("path").and_then(Value::as_str).map(Box::from);
        let paths: Option<Vec<Box<str>>> = files.iter().map(path).collect();
        let paths = paths.filter(|paths| {
            paths.len() <= MAX_FILES && paths.iter().all(|path| is_plain_path(path))
        });
        let fault = paths.is_none().then(|| "nobody has looked at the files".into());
        let name = |key| prepared.get(key).and_then(Value::as_str).map(Box::from);
        Some(Self {
            paths: paths.unwrap_or_default(),
            heading: name("heading").unwrap_or_default(),
            destination: name("destination").unwrap_or_default(),
            item: name("item"),
            fault,
        })
    }
}

/// Target of `:to`: a file, a heading, or a heading of a file.
struct RefileTarget {
    path: Option<Box<str>>,
    spot: OrgLocation,
}

fn destination(action: &'static str, payload: &Value) -> Result<RefileTarget, InvalidAction> {
    let Some(to) = payload.get("to").filter(|to| !to.is_nil()) else {
        return Ok(RefileTarget { path: None, spot: OrgLocation::File });
    };
    if to.pairs().is_none() {
        let expected = "a plist with a `:path`, a heading, or both";
        return Err(InvalidAction::Argument { action, key: "to", expected });
    }
    let path = to.get("path").map(|_| path(to, action, "path")).transpose()?;
    Ok(RefileTarget { path, spot: OrgLocation::from_value(action, to)? })
}

fn priority(action: &'static str, said: Option<&str>) -> Result<Option<u8>, InvalidAction> {
    match said.map(str::as_bytes) {
        None => Ok(None),
        Some([letter]) if letter.is_ascii_alphanumeric() => Ok(Some(*letter)),
        Some(_) => {
            let expected = "one letter or digit, or nothing";
            Err(InvalidAction::Argument { action, key: "priority", expected })
        }
    }
}

/// A list of strings, perhaps an empty one.
fn texts(
    payload: &Value,
    action: &'static str,
    key: &'static str,
) -> Result<Vec<Box<str>>, InvalidAction> {
    let fault = InvalidAction::Argument { action, key, expected: "a list of at most 64 strings" };
    let value = payload.get(key).unwrap_or(&Value::Nil);
    let words = if value.is_nil() { &[] } else { value.elements().ok_or(fault.clone())? };
    let word = |word: &Value| word.as_str().map(Box::from);
    let words: Option<Vec<Box<str>>> = words.iter().map(word).collect();
    words.filter(|words| words.len() <= MAX_NAMES).ok_or(fault)
}
