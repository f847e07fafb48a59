//! Where bridle makes another text than Emacs, on purpose: each difference has a name, and is told by what the case is, not
//! by what came out.

use super::changes::{ChangeCase, compared};

/// Difference between two texts.
pub(super) enum TextDifference {
    None,
    Named(&'static str),
    Other,
}

/// The names, and what each means.
const NAMES: &[(&str, &str)] = &[
    (
        "archive-cookies",
        "archiving updates the cookies of the heading above; Emacs those above whatever comes behind it",
    ),
    (
        "clocks-elsewhere",
        "a new clock leaves older clock lines where they are; Emacs gathers them into the drawer",
    ),
    (
        "unended-refile",
        "a subtree at the end of a file without a last line end is moved; Emacs leaves a copy",
    ),
    (
        "second-planning-line",
        "taking a plan away changes the planning line alone; Emacs every line of the entry that has its word",
    ),
    (
        "unended-log",
        "a note goes behind the drawer that ends a file without a last line end; Emacs puts it into the drawer",
    ),
    ("long-stamp", "a timestamp with much behind its time is moved; Emacs fails half way"),
];

/// Characters behind the time of a timestamp that Emacs can still move.
const EMACS_STAMP_TAIL: usize = 16;

/// Meaning of a name.
pub(super) fn meaning(name: &str) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == name).map_or("", |(_, meaning)| meaning)
}

/// The difference between what Emacs and bridle made of a case.
pub(super) fn between(
    case: &ChangeCase,
    emacs: Option<&[Vec<u8>]>,
    bridle: Option<&[Vec<u8>]>,
) -> TextDifference {
    let (emacs_made, bridle_made) = (compared(case, emacs), compared(case, bridle));
    if emacs_made == bridle_made {
        return TextDifference::None;
    }
    let name = match case.operation.as_str() {
        "archive" if is_last_below(case) && same_but_cookies(&emacs_made, &bridle_made) => {
            "archive-cookies"
        }
        "clock-in" | "clock-out" if same_lines(&emacs_made, &bridle_made) => "clocks-elsewhere",
        "refile" if !case.source.ends_with(b"\n") => "unended-refile",
        "todo" | "scheduled" | "deadline" if has_second_plan(case) => "second-planning-line",
        "todo" if is_unended_drawer(&case.source) => "unended-log",
        "todo" if emacs.is_none() && has_long_stamp(&case.source) => "long-stamp",
        _ => return TextDifference::Other,
    };
    TextDifference::Named(name)
}

/// Whether no heading of the same level follows the subtree below the same parent.
fn is_last_below(case: &ChangeCase) -> bool {
    let text = String::from_utf8_lossy(&case.source);
    let stars = |line: &str| {
        let stars = line.len() - line.trim_start_matches('*').len();
        (stars > 0 && line[stars..].starts_with(' ')).then_some(stars)
    };
    let mut lines = text.lines().skip(case.line.saturating_sub(1));
    let own = lines.next().and_then(stars).unwrap_or(0);
    lines.filter_map(stars).find(|level| *level <= own) != Some(own)
}

/// Whether the texts are the same but for the numbers in cookies.
fn same_but_cookies(left: &[Vec<u8>], right: &[Vec<u8>]) -> bool {
    let masked = |texts: &[Vec<u8>]| -> Vec<String> {
        let mask = |text: &Vec<u8>| {
            let text = String::from_utf8_lossy(text).into_owned();
            text.split('[').map(without_count).collect::<Vec<_>>().join("[")
        };
        texts.iter().map(mask).collect()
    };
    masked(left) == masked(right)
}

/// Text behind an opening bracket, without the numbers of a cookie.
fn without_count(behind: &str) -> &str {
    let rest = behind.trim_start_matches(|letter: char| letter.is_ascii_digit());
    match rest.strip_prefix('/') {
        Some(rest) => rest.trim_start_matches(|letter: char| letter.is_ascii_digit()),
        None if rest.starts_with("%]") => rest,
        None => behind,
    }
}

/// Whether the texts have the same lines, in whatever order, but for those that begin and end drawers.
fn same_lines(left: &[Vec<u8>], right: &[Vec<u8>]) -> bool {
    let sorted = |texts: &[Vec<u8>]| {
        let text = String::from_utf8_lossy(&texts.concat()).into_owned();
        let is_drawer = |line: &&str| line.trim().starts_with(':') && line.trim().ends_with(':');
        let lines = text.lines().filter(|line| !is_drawer(line));
        let mut lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
        lines.sort();
        lines
    };
    sorted(left) == sorted(right)
}

/// Whether the line below the planning line has words of planning too.
fn has_second_plan(case: &ChangeCase) -> bool {
    let text = String::from_utf8_lossy(&case.source);
    let is_plan = |line: &str| {
        let line = line.trim_start();
        ["SCHEDULED:", "DEADLINE:"].iter().any(|word| line.starts_with(word))
    };
    text.lines().nth(case.line + 1).is_some_and(is_plan)
}

/// Whether the text ends in a drawer whose last line has no end.
fn is_unended_drawer(source: &[u8]) -> bool {
    source.ends_with(b":END:")
}

/// Whether a timestamp has more behind its time than Emacs can move.
fn has_long_stamp(source: &[u8]) -> bool {
    let text = String::from_utf8_lossy(source);
    text.split('<').filter_map(|stamp| stamp.split_once('>')).any(|(stamp, _)| {
        let behind = stamp.find(':').map_or("", |colon| stamp.get(colon + 3..).unwrap_or_default());
        behind.chars().count() > EMACS_STAMP_TAIL
    })
}
