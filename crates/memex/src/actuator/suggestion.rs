//! Headings to choose from, where a name fits none or several. Called by `edit`, which works for owners alone: the
//! texts quote titles of the file. Commands compare names in the same way.

use std::collections::HashSet;

use bridle_loop::OrgLocation;
use bridle_org::{Document, Heading};

/// Headings that are named to choose from.
const MAX_SUGGESTED_HEADINGS: usize = 5;

/// Headings that a name is compared with.
const MAX_COMPARED_HEADINGS: usize = 10_000;

/// Characters of a name that are compared: comparing takes the square of it.
const MAX_COMPARED_CHARS: usize = 64;

/// Characters of a title that are shown.
const MAX_TITLE_CHARS: usize = 80;

/// Says that no heading has the name, and which come nearest.
pub(super) fn no_heading(document: &Document<'_>, spot: &OrgLocation, name: &str) -> String {
    let near = nearest(document, spot);
    match near.is_empty() {
        true => format!("no heading {name}"),
        false => format!("no heading {name}; did you mean {}?", listed(document, &near, " or ")),
    }
}

/// Says that several headings have the name, and which.
pub(super) fn several_headings(
    document: &Document<'_>,
    found: &[&Heading<'_>],
    name: &str,
) -> String {
    let shown = listed(document, found, " and ");
    format!(
        "more than one heading {name}: {shown}; say which by its line, or with all titles from the top"
    )
}

/// Finds the headings whose name is nearest to the one that was asked for, the nearest first.
fn nearest<'d, 't>(document: &'d Document<'t>, spot: &OrgLocation) -> Vec<&'d Heading<'t>> {
    let all = document.headings().iter().take(MAX_COMPARED_HEADINGS);
    let wanted = match spot {
        OrgLocation::File => return Vec::new(),
        // The heading that the line belongs to.
        OrgLocation::Line(line) => {
            let is_before = |it: &&Heading<'_>| u64::try_from(it.line).is_ok_and(|at| at < *line);
            return document.headings().iter().rfind(is_before).into_iter().collect();
        }
        OrgLocation::Id(id) => id,
        OrgLocation::Outline(titles) => titles.last().map_or("", |title| title),
    };
    let mut ranked: Vec<(usize, &Heading<'_>)> = all
        .filter_map(|heading| {
            let names = match spot {
                OrgLocation::Id(_) => ["ID", "CUSTOM_ID"].map(|key| heading.property(key)).to_vec(),
                _ => vec![Some(heading.title.into())],
            };
            let names = names.into_iter().flatten();
            let slips = names.filter_map(|it| count_slips(wanted, &lossy(&it)));
            slips.min().map(|slips| (slips, heading))
        })
        .collect();
    ranked.sort_by_key(|(slips, _)| *slips);
    let mut seen = HashSet::new();
    let ranked = ranked.into_iter().map(|(_, heading)| heading);
    ranked.filter(|it| seen.insert(it.line)).take(MAX_SUGGESTED_HEADINGS).collect()
}

/// Counts the slips between two names, by their beginnings and in whatever case; `None`: they are not alike.
#[must_use]
pub fn count_slips(wanted: &str, name: &str) -> Option<usize> {
    const MIN_PART_CHARS: usize = 3;
    let (wanted, name) = (&*comparable(wanted), &*comparable(name));
    if wanted.is_empty() || name.is_empty() {
        return None;
    }
    let slips = strsim::osa_distance(wanted, name);
    let most = (wanted.chars().count().max(name.chars().count()) / 3).max(1);
    let is_part =
        |part: &str, whole: &str| part.chars().count() >= MIN_PART_CHARS && whole.contains(part);
    (slips <= most || is_part(wanted, name) || is_part(name, wanted)).then_some(slips)
}

/// Gives the beginning of a name, in small letters.
fn comparable(name: &str) -> String {
    name.trim().chars().take(MAX_COMPARED_CHARS).flat_map(char::to_lowercase).collect()
}

/// Names headings by the titles that lead to them, and by their lines.
fn listed(document: &Document<'_>, headings: &[&Heading<'_>], last: &str) -> String {
    let mut shown: Vec<String> = headings
        .iter()
        .take(MAX_SUGGESTED_HEADINGS)
        .map(|heading| format!("`{}` (line {})", path(document, heading), heading.line))
        .collect();
    let more = headings.len().saturating_sub(MAX_SUGGESTED_HEADINGS);
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    let end = shown.pop().unwrap_or_default();
    if shown.is_empty() { end } else { format!("{}{last}{end}", shown.join(", ")) }
}

/// Gives the titles from the top to a heading, as `--outline` and `:outline` name it.
fn path(document: &Document<'_>, heading: &Heading<'_>) -> String {
    let above = |it: &&Heading<'_>| it.parent.and_then(|id| document.heading(id));
    let way = std::iter::successors(Some(heading), |it| above(it));
    let mut titles: Vec<String> = way
        .map(|it| {
            let title = lossy(it.title);
            let cut: String = title.chars().take(MAX_TITLE_CHARS).collect();
            if cut.len() < title.len() { format!("{cut}...") } else { cut }
        })
        .collect();
    titles.reverse();
    titles.join("` / `")
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
