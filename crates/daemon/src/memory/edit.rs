//! What an edit makes of a text: finds the place, and asks `bridle_org` for the change. Nothing is read
//! or written here.

use bridle_loop::{Edit, Planned, Spot, Verb};
use bridle_org::{Document, EditError, Heading, NodeId, Plan, Span, Tree, Type};

/// The text after an edit; `None` stands for a file that does not exist.
pub(super) fn made(source: Option<&[u8]>, edit: &Edit) -> Result<Vec<u8>, String> {
    let text = source.unwrap_or_default();
    if let (Verb::Append(more), Spot::File) = (&edit.verb, &edit.spot) {
        let end = Span { start: text.len(), end: text.len() };
        let edit = Document::read(text).insert_after(end, more.as_bytes());
        return Ok(edit.ok_or("the end of the file is not in it")?.apply());
    }
    if source.is_none() {
        return Err(format!("no file `{}`", edit.path));
    }
    let tree = Tree::read(text);
    let made = match &edit.verb {
        Verb::ToggleCheckbox => tree.toggle_checkbox(item(&tree, &edit.spot)?),
        verb => at_heading(&tree, heading(&tree, &edit.spot)?, verb)?,
    };
    Ok(made.map_err(|error| why(error, edit.name()))?.apply())
}

fn at_heading<'t>(
    tree: &Tree<'t>,
    node: NodeId,
    verb: &Verb,
) -> Result<Result<bridle_org::Edit<'t>, EditError>, String> {
    let bytes = |text: &Option<Box<str>>| text.as_ref().map(|text| text.as_bytes().to_vec());
    Ok(match verb {
        Verb::SetTitle(title) => tree.set_title(node, title.as_bytes()),
        Verb::SetState(state) => tree.set_state(node, bytes(state).as_deref()),
        Verb::SetPriority(priority) => tree.set_priority(node, *priority),
        Verb::SetTags(tags) => {
            let tags: Vec<&[u8]> = tags.iter().map(|tag| tag.as_bytes()).collect();
            tree.set_tags(node, &tags)
        }
        Verb::SetProperty { key, value } => {
            tree.set_property(node, key.as_bytes(), bytes(value).as_deref())
        }
        Verb::SetPlanning { plan, stamp } => {
            let plan = match plan {
                Planned::Scheduled => Plan::Scheduled,
                Planned::Deadline => Plan::Deadline,
                Planned::Closed => Plan::Closed,
            };
            tree.set_planning(node, plan, bytes(stamp).as_deref())
        }
        Verb::Insert(text) => tree.insert_subtree(node, text.as_bytes()),
        Verb::Append(text) => tree.append_subtree(node, text.as_bytes()),
        Verb::MoveUp => tree.move_up(node),
        Verb::Refile(to) => tree.refile(node, heading(tree, to)?),
        Verb::Archive => tree.archive(node),
        Verb::Delete => tree.cut_subtree(node),
        Verb::ClockIn(now) => tree.clock_in(node, now.as_bytes()),
        Verb::ClockOut(now) => tree.clock_out(node, now.as_bytes()),
        Verb::ToggleCheckbox => Err(EditError::OtherType),
    })
}

/// The one heading that is meant.
fn heading(tree: &Tree<'_>, spot: &Spot) -> Result<NodeId, String> {
    let document = Document::read(tree.source());
    let mut found = document.headings().iter().filter(|it| is_meant(&document, it, spot));
    let (first, second) = (found.next(), found.next());
    let first = first.ok_or_else(|| format!("no heading {}", named(spot)))?;
    if let Some(second) = second {
        return Err(format!(
            "more than one heading {}: on lines {} and {}; say which with `:line`",
            named(spot),
            first.line,
            second.line
        ));
    }
    let is_it = |id: &NodeId| {
        tree.node(*id).is_some_and(|node| {
            node.kind == Type::Headline && node.span().start == first.span.start
        })
    };
    tree.ids().find(is_it).ok_or_else(|| format!("no heading {}", named(spot)))
}

fn is_meant(document: &Document<'_>, heading: &Heading<'_>, spot: &Spot) -> bool {
    match spot {
        Spot::File => false,
        Spot::Line(line) => u64::try_from(heading.line).is_ok_and(|it| it == *line),
        Spot::Id(id) => ["ID", "CUSTOM_ID"]
            .iter()
            .any(|key| heading.property(key).is_some_and(|it| *it == *id.as_bytes())),
        Spot::Outline(titles) => {
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
fn item(tree: &Tree<'_>, spot: &Spot) -> Result<NodeId, String> {
    let Spot::Line(wanted) = spot else { return Err("a checkbox is named by its line".to_owned()) };
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

fn named(spot: &Spot) -> String {
    match spot {
        Spot::File => "without a name".to_owned(),
        Spot::Id(id) => format!("with the id `{id}`"),
        Spot::Outline(titles) => format!("`{}`", titles.join("` / `")),
        Spot::Line(line) => format!("on line {line}"),
    }
}

fn why(error: EditError, action: &str) -> String {
    format!("`{action}` cannot be done: {error}")
}
