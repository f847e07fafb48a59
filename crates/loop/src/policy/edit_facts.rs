//! Facts about an edit of the memory that are finer than its file: which heading, what with, and where to.
//!
//! Made with the other facts. A heading is named by what the daemon found under the place that was said, never
//! by the place itself: a line is another heading tomorrow. What the daemon could not tell apart, and what
//! versions before did not look for, has no name, and no policy that names a heading is about it.

use bridle_sexp::Value;

use crate::action::{Action, PREPARED};
use crate::event::ActuatorLocation;
use crate::hash::ActionHash;
use crate::ids::KeywordName;

/// Keys of a payload that are facts of their own, or that the daemon put there: the rest are arguments. The time
/// at which something is done is no argument, either: it is always another.
const NO_ARGUMENTS: [&str; 7] = ["path", "id", "outline", "line", "to", "at", PREPARED];

/// Name of the whole file where a heading could stand.
pub(super) const WHOLE_FILE: &str = "file";

/// Facts about an edit; all are empty for every other action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct EditFacts {
    /// File that the edit is about, whichever of its files is being judged.
    pub(super) file: Box<str>,
    /// Heading of that file, as the daemon names it; empty if nobody can tell.
    pub(super) heading: Box<str>,
    /// File and heading that a subtree goes to; empty if it stays, or if nobody can tell.
    pub(super) destination: Box<str>,
    /// Hash of the arguments, 64 hex digits; empty if nobody can tell.
    pub(super) arguments: Box<str>,
    /// The other file, if two are changed. Policies see it as a resource.
    pub(super) elsewhere: Option<Box<str>>,
}

impl EditFacts {
    pub(super) fn of(
        action: &Action,
        target: &KeywordName,
        place: ActuatorLocation,
        payload: &Value,
    ) -> Self {
        let Action::Edit(edit) = action else { return Self::default() };
        let found = edit.prepared.as_ref();
        let heading = found.map(|found| found.heading.clone()).unwrap_or_default();
        let destination = found.map(|found| found.destination.clone()).unwrap_or_default();
        // What moves to nobody knows where cannot be told from what moves elsewhere.
        let is_told = !heading.is_empty() && (!edit.moves() || !destination.is_empty());
        let item = found.and_then(|found| found.item.as_deref());
        let arguments = match is_told && (edit.is_of_item() == item.is_some()) {
            true => hash_arguments(target, place, payload, item).to_string().into(),
            false => Box::default(),
        };
        let elsewhere = edit.elsewhere().map(Box::from);
        Self { file: edit.path.clone(), heading, destination, arguments, elsewhere }
    }
}

/// The hash of what an edit is told beside its place, in the order of the keys.
fn hash_arguments(
    target: &KeywordName,
    place: ActuatorLocation,
    payload: &Value,
    item: Option<&str>,
) -> ActionHash {
    let pairs = payload.pairs().into_iter().flatten();
    let mut told: Vec<(String, &Value)> = pairs
        .map(|(key, value)| (key.as_keyword().unwrap_or_default().to_ascii_lowercase(), value))
        .filter(|(key, _)| !NO_ARGUMENTS.contains(&key.as_str()))
        .collect();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    let told = told.into_iter().flat_map(|(key, value)| [Value::keyword(&key), value.clone()]);
    let item = item.map(|item| [Value::keyword("item"), Value::str(item)]);
    let arguments = Value::list(told.chain(item.into_iter().flatten()));
    ActionHash::of_action(target, place, &arguments)
}
