//! Edits of Org text: finds the place in one file or two, and asks `bridle_org` for the change. The caller says how
//! files are read; nothing is written here.

use std::path::Path;

use crate::OrgDefaults;
use crate::{FileChange, FilePath, MemoryError, SeenContent};
use bridle_loop::{EditOperation, MemoryEdit, OrgLocation, PlanningKeyword};
use bridle_org::{
    Archived, Document, EditError, Heading, Moment, NodeId, Origin, Plan, Span, StateChange, Tree,
    Type,
};

use super::edit_preview::EditPlan as Change;
use super::{below, check_read, describe_error, suggestion};

/// Plans the file changes of an edit. Text that moves into another file is written there before it is taken away
/// here: whenever the process dies, it is somewhere.
pub(super) fn plan_edit(
    root: &Path,
    read: impl Fn(&FilePath) -> Result<Option<SeenContent>, MemoryError>,
    org: &OrgDefaults,
    edit: &MemoryEdit,
) -> Result<Vec<Change>, String> {
    let now = |path: &str| {
        let path = below(root, path)?;
        check_read(root, &path)?;
        let seen = read(&path).map_err(|error| describe_error(&error))?;
        Ok::<_, String>((path, seen))
    };
    let change = |(path, seen): (FilePath, Option<SeenContent>), after: Vec<u8>| {
        let (before, old) = (seen.as_ref().map(|it| it.hash), seen.map(|it| it.bytes));
        Change { change: FileChange { path, before, after: Some(after) }, old }
    };
    let bytes =
        |(_, seen): &(FilePath, Option<SeenContent>)| seen.as_ref().map(|it| it.bytes.clone());
    let here = now(&edit.path)?;
    let Some(elsewhere) = edit.elsewhere() else {
        let after = made(bytes(&here).as_deref(), org, edit)?;
        return Ok(vec![change(here, after)]);
    };
    let there = now(elsewhere)?;
    let moved = moved(bytes(&here).as_deref(), bytes(&there).as_deref(), org, edit)?;
    Ok(vec![change(there, moved.target), change(here, moved.source)])
}

/// The text after an edit; `None` stands for a file that does not exist.
fn made(source: Option<&[u8]>, org: &OrgDefaults, edit: &MemoryEdit) -> Result<Vec<u8>, String> {
    let text = source.unwrap_or_default();
    if let (EditOperation::Append(more), OrgLocation::File) = (&edit.verb, &edit.spot) {
        return at_end(text, more.as_bytes());
    }
    if source.is_none() {
        return Err(format!("no file `{}`", edit.path));
    }
    let preset = org.preset();
    let tree = Tree::read_with_preset(text, &preset);
    let made = match &edit.verb {
        EditOperation::ToggleCheckbox => tree.toggle_checkbox(item(&tree, &edit.spot)?),
        verb => at_heading(&tree, heading(&tree, &edit.spot)?, verb)?,
    };
    let failed = |error| match (error, &edit.verb) {
        (EditError::UnknownState, EditOperation::SetState { state: Some(state), .. }) => {
            unknown_state(&tree, state)
        }
        (error, _) => why(error, edit.name()),
    };
    Ok(made.map_err(failed)?.apply())
}

/// Says which keywords there are, where one was asked for that is not among them.
fn unknown_state(tree: &Tree<'_>, state: &str) -> String {
    let known: Vec<_> = tree.settings().states().iter().map(|it| it.keyword).collect();
    let known = String::from_utf8_lossy(&known.join(&b", "[..])).into_owned();
    format!(
        "the file has no keyword `{state}`: it has {known}; `#+TODO:` in the file sets others, and the setting \
         `memex-todo-keywords` does for files without that line"
    )
}

/// The texts after a subtree has gone from one file into another.
struct MovedSubtree {
    /// Of the file that it goes into.
    target: Vec<u8>,
    /// Of the file that it was in.
    source: Vec<u8>,
}

/// Moves a subtree into another file; `None` stands for one that does not exist.
fn moved(
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    org: &OrgDefaults,
    edit: &MemoryEdit,
) -> Result<MovedSubtree, String> {
    let source = source.ok_or_else(|| format!("no file `{}`", edit.path))?;
    let preset = org.preset();
    let tree = Tree::read_with_preset(source, &preset);
    let node = heading(&tree, &edit.spot)?;
    let failed = |error| why(error, edit.name());
    let there = target.unwrap_or_default();
    let (target, cut) = match &edit.verb {
        EditOperation::ArchiveInto { at, .. } => {
            let time = at.trim_start_matches('[').trim_end_matches(']').as_bytes();
            let origin = Origin { file: edit.path.as_bytes(), time };
            let archived: Archived<'_> = tree.archive_subtree(node, &origin).map_err(failed)?;
            (archived.append_to(there).apply(), archived.cut)
        }
        EditOperation::Refile { to, at, .. } => {
            let text = tree.subtree(node).map_err(failed)?.of(source);
            let tree_there = Tree::read_with_preset(there, &preset);
            let put = match (to, target) {
                (OrgLocation::File, _) => at_end(there, &top_level(text)?)?,
                (_, None) => return Err("no file that has the heading it is to go to".to_owned()),
                (to, Some(_)) => {
                    let into = heading(&tree_there, to)?;
                    let text = tree_there.refiled(into, text.to_vec(), moment(at)?);
                    let text = text.map_err(failed)?;
                    tree_there.append_subtree(into, &text).map_err(failed)?.apply()
                }
            };
            (put, tree.cut_subtree(node).map_err(failed)?)
        }
        _ => return Err(format!("`{}` changes one file", edit.name())),
    };
    Ok(MovedSubtree { target, source: cut.apply() })
}

/// A subtree as it is on the first level: behind an empty heading of that level.
fn top_level(subtree: &[u8]) -> Result<Vec<u8>, String> {
    const BEFORE: &[u8] = b"* \n";
    let tree = Tree::read(BEFORE);
    let first = heading(&tree, &OrgLocation::Line(1))?;
    let text = tree.insert_subtree(first, subtree).map_err(|error| why(error, "refile"))?.apply();
    Ok(text[BEFORE.len()..].to_vec())
}

/// A text with more at its end.
fn at_end(text: &[u8], more: &[u8]) -> Result<Vec<u8>, String> {
    let end = Span { start: text.len(), end: text.len() };
    let edit = Document::read(text).insert_after(end, more);
    Ok(edit.ok_or("the end of the file is not in it")?.apply())
}

fn at_heading<'t>(
    tree: &Tree<'t>,
    node: NodeId,
    verb: &EditOperation,
) -> Result<Result<bridle_org::Edit<'t>, EditError>, String> {
    let bytes = |text: &Option<Box<str>>| text.as_ref().map(|text| text.as_bytes().to_vec());
    Ok(match verb {
        EditOperation::SetTitle(title) => tree.set_title(node, title.as_bytes()),
        EditOperation::SetState { state, at, note } => {
            let keyword = state.as_ref().map(|state| state.as_bytes());
            let note = note.as_ref().map_or(&b""[..], |note| note.as_bytes());
            tree.change_state(node, &StateChange { keyword, now: moment(at)?, note })
        }
        EditOperation::SetPriority(priority) => tree.set_priority(node, *priority),
        EditOperation::SetTags(tags) => {
            let tags: Vec<&[u8]> = tags.iter().map(|tag| tag.as_bytes()).collect();
            tree.set_tags(node, &tags)
        }
        EditOperation::SetProperty { key, value } => {
            tree.set_property(node, key.as_bytes(), bytes(value).as_deref())
        }
        EditOperation::SetPlanning { plan, stamp, at } => {
            let plan = match plan {
                PlanningKeyword::Scheduled => Plan::Scheduled,
                PlanningKeyword::Deadline => Plan::Deadline,
                PlanningKeyword::Closed => Plan::Closed,
            };
            tree.set_planning(node, plan, bytes(stamp).as_deref(), moment(at)?)
        }
        EditOperation::Insert(text) => tree.insert_subtree(node, text.as_bytes()),
        EditOperation::Append(text) => tree.append_subtree(node, text.as_bytes()),
        EditOperation::MoveUp => tree.move_up(node),
        EditOperation::Refile { to: OrgLocation::File, .. } => {
            return Err("a subtree is refiled below a heading of the same file".to_owned());
        }
        EditOperation::Refile { to, at, .. } => tree.refile(node, heading(tree, to)?, moment(at)?),
        EditOperation::Archive => tree.archive(node),
        EditOperation::ArchiveInto { .. } => {
            return Err("a file cannot be its own archive".to_owned());
        }
        EditOperation::Delete => tree.cut_subtree(node),
        EditOperation::ClockIn(now) => tree.clock_in(node, now.as_bytes()),
        EditOperation::ClockOut(now) => tree.clock_out(node, now.as_bytes()),
        EditOperation::ToggleCheckbox => Err(EditError::OtherType),
    })
}

/// The one heading that is meant.
fn heading(tree: &Tree<'_>, spot: &OrgLocation) -> Result<NodeId, String> {
    let document = Document::of_tree(tree);
    let found = meant(&document, spot);
    let first = match found[..] {
        [] => return Err(suggestion::no_heading(&document, spot, &named(spot))),
        [only] => only,
        _ => return Err(suggestion::several_headings(&document, &found, &named(spot))),
    };
    let is_it = |id: &NodeId| {
        tree.node(*id).is_some_and(|node| {
            node.kind == Type::Headline && node.span().start == first.span.start
        })
    };
    tree.ids().find(is_it).ok_or_else(|| format!("no heading {}", named(spot)))
}

/// The headings that are meant. A title alone may also be that of a heading further down, if no other has it.
pub(super) fn meant<'d, 't>(
    document: &'d Document<'t>,
    spot: &OrgLocation,
) -> Vec<&'d Heading<'t>> {
    let all = || document.headings().iter();
    let exact: Vec<_> = all().filter(|it| is_meant(document, it, spot)).collect();
    match spot {
        OrgLocation::Outline(titles) if exact.is_empty() && titles.len() == 1 => {
            all().filter(|it| it.title == titles[0].as_bytes()).collect()
        }
        _ => exact,
    }
}

fn is_meant(document: &Document<'_>, heading: &Heading<'_>, spot: &OrgLocation) -> bool {
    match spot {
        OrgLocation::File => false,
        OrgLocation::Line(line) => u64::try_from(heading.line).is_ok_and(|it| it == *line),
        OrgLocation::Id(id) => ["ID", "CUSTOM_ID"]
            .iter()
            .any(|key| heading.property(key).is_some_and(|it| *it == *id.as_bytes())),
        OrgLocation::Outline(titles) => {
            let mut titles = titles.iter().rev();
            let mut at = Some(heading);
            while let Some(heading) = at {
                if titles.next().is_none_or(|title| title.as_bytes() != heading.title) {
                    return false;
                }
                at = heading.parent.and_then(|parent| document.heading(parent));
            }
            titles.next().is_none()
        }
    }
}

/// The item on a line.
fn item(tree: &Tree<'_>, spot: &OrgLocation) -> Result<NodeId, String> {
    let OrgLocation::Line(wanted) = spot else {
        return Err("a checkbox is named by its line".to_owned());
    };
    let source = tree.source();
    let line = |start: usize| 1 + source[..start].iter().filter(|byte| **byte == b'\n').count();
    let is_it = |id: &NodeId| {
        tree.node(*id).is_some_and(|node| {
            let is_item = node.kind == Type::Item;
            is_item && u64::try_from(line(node.span().start)).is_ok_and(|line| line == *wanted)
        })
    };
    // Counting lines for every item is quadratic; only items near the line are looked at.
    let start = source.split_inclusive(|byte| *byte == b'\n');
    let before = usize::try_from(wanted - 1).unwrap_or(usize::MAX);
    let start: usize = start.take(before).map(<[u8]>::len).sum();
    let starts_there = |id: &NodeId| tree.node(*id).is_some_and(|it| it.span().start == start);
    let found = tree.ids().filter(starts_there).find(is_it);
    found.ok_or_else(|| format!("no item {}", named(spot)))
}

fn named(spot: &OrgLocation) -> String {
    match spot {
        OrgLocation::File => "without a name".to_owned(),
        OrgLocation::Id(id) => format!("with the id `{id}`"),
        OrgLocation::Outline(titles) => format!("`{}`", titles.join("` / `")),
        OrgLocation::Line(line) => format!("on line {line}"),
    }
}

/// The moment that a payload says an edit is made at.
fn moment(at: &str) -> Result<Moment, String> {
    let read = Moment::read(at.as_bytes());
    read.ok_or_else(|| {
        format!("`:at` is `{at}`, expected a timestamp such as [2026-11-15 Sun 10:00]")
    })
}

fn why(error: EditError, action: &str) -> String {
    format!("`{action}` cannot be done: {error}")
}
