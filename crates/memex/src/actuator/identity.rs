//! Names of the places that an edit is about, which stay what they are while a file changes around them.
//!
//! Put into a payload with what else was found out before it is judged: policies that are about one heading
//! compare these. A name belongs to one place of its file, or there is none.

use std::path::Path;

use crate::OrgDefaults;
use bridle_loop::{EditOperation, MemoryEdit, OrgLocation};
use bridle_org::{Document, Heading, TodoState};
use bridle_sexp::Value;

use super::edit_preview::EditPlan;

/// Name of the whole file.
const WHOLE_FILE: &str = "file";

/// Returns the facts about the places of an edit that are put into its payload, by key.
pub(super) fn of_edit(
    edit: &MemoryEdit,
    planned: &[EditPlan],
    root: &Path,
    org: &OrgDefaults,
) -> Vec<(&'static str, Value)> {
    let text = |path: &str| {
        let is_it = |it: &&EditPlan| {
            Path::new(path)
                .strip_prefix(root)
                .is_ok_and(|below| below == Path::new(it.change.path.as_str()))
        };
        planned.iter().find(is_it).and_then(|it| it.old.as_deref()).unwrap_or_default()
    };
    let here = text(&edit.path);
    let mut found = Vec::new();
    match (&edit.verb, &edit.spot) {
        (EditOperation::ToggleCheckbox, OrgLocation::Line(line)) => {
            found.extend(around_line(here, *line, org).map(|name| ("heading", Value::str(name))));
            found.extend(item(here, *line).map(|text| ("item", Value::str(text))));
        }
        (_, spot) => found.extend(place(here, spot, org).map(|name| ("heading", Value::str(name)))),
    }
    let destination = match &edit.verb {
        EditOperation::Refile { path, to, .. } => {
            let path = path.as_deref().unwrap_or(&edit.path);
            place(text(path), to, org).map(|name| format!("{path} {name}"))
        }
        EditOperation::ArchiveInto { path, .. } => Some(format!("{path} {WHOLE_FILE}")),
        _ => None,
    };
    found.extend(destination.map(|name| ("destination", Value::str(name))));
    if matches!(edit.verb, EditOperation::SetState { .. }) {
        let after = planned.iter().find_map(|it| it.change.after.as_deref()).unwrap_or_default();
        let open = open_below(after, &edit.spot, org);
        found.extend(open.map(|open| ("open-below", Value::int(open))));
    }
    found
}

/// Number of open headings below one that an edit leaves done; `None` where none is open, or it is not done.
fn open_below(after: &[u8], spot: &OrgLocation, org: &OrgDefaults) -> Option<i64> {
    let preset = org.preset();
    let document = Document::read_with_preset(after, &preset);
    let [heading] = super::edit::meant(&document, spot)[..] else { return None };
    let is = |it: &Heading<'_>, state| it.todo.is_some_and(|todo| todo.state == state);
    let is_below = |it: &&Heading<'_>| {
        heading.subtree.start < it.span.start && it.span.start < heading.subtree.end
    };
    let all = document.headings().iter().filter(is_below);
    let open = all.filter(|it| is(it, TodoState::Open)).count();
    let open = i64::try_from(open).ok().filter(|open| *open > 0)?;
    is(heading, TodoState::Done).then_some(open)
}

/// The name of a place.
fn place(text: &[u8], spot: &OrgLocation, org: &OrgDefaults) -> Option<String> {
    if matches!(spot, OrgLocation::File) {
        return Some(WHOLE_FILE.to_owned());
    }
    let preset = org.preset();
    let document = Document::read_with_preset(text, &preset);
    match super::edit::meant(&document, spot)[..] {
        [only] => name(&document, only),
        _ => None,
    }
}

/// The name of a heading: its id, else the titles that lead to it. None that another heading has, too.
fn name(document: &Document<'_>, heading: &Heading<'_>) -> Option<String> {
    let named = named(document, heading)?;
    let is_same = |it: &&Heading<'_>| self::named(document, it).as_ref() == Some(&named);
    (document.headings().iter().filter(is_same).count() == 1).then_some(named)
}

fn named(document: &Document<'_>, heading: &Heading<'_>) -> Option<String> {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    for (key, word) in [("ID", "id"), ("CUSTOM_ID", "custom-id")] {
        if let Some(id) = heading.property(key).filter(|id| !id.is_empty()) {
            return Some(format!("{word}:{}", text(&id)?));
        }
    }
    let above = |heading: &&Heading<'_>| heading.parent.and_then(|id| document.heading(id));
    let way = std::iter::successors(Some(heading), |heading| above(heading));
    let titles: Option<Vec<Value>> = way.map(|it| Some(Value::str(text(it.title)?))).collect();
    let titles = titles?.into_iter().rev();
    Some(format!("outline:{}", Value::list(titles)))
}

/// The name of the heading that a line is below; of the file, if it is below none.
fn around_line(text: &[u8], line: u64, org: &OrgDefaults) -> Option<String> {
    let preset = org.preset();
    let document = Document::read_with_preset(text, &preset);
    let is_before = |it: &&Heading<'_>| u64::try_from(it.line).is_ok_and(|at| at <= line);
    match document.headings().iter().rfind(is_before) {
        None => Some(WHOLE_FILE.to_owned()),
        Some(heading) => name(&document, heading),
    }
}

/// The text of the item on a line, without its box, if no other line has the same.
fn item(text: &[u8], line: u64) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let bare =
        |line: &str| line.replacen("[ ]", "", 1).replacen("[X]", "", 1).replacen("[-]", "", 1);
    let wanted = bare(text.lines().nth(usize::try_from(line.checked_sub(1)?).ok()?)?);
    let wanted = wanted.trim();
    let same = text.lines().filter(|line| bare(line).trim() == wanted).count();
    (same == 1).then(|| wanted.to_owned())
}

#[cfg(test)]
mod tests;
