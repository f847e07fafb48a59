//! Lines that differ between two texts, and a unified diff of them. Bytes all the way: a line is what
//! ends with a newline, whatever it is made of. Called by `merge`, and by whoever shows a change.

use std::collections::HashMap;
use std::ops::Range;

/// Lines that may differ before the shortest edit is no longer looked for, which takes quadratic room: then
/// lines that each text has once hold the texts together, and between two of those it is looked for again.
const MAX_EDIT_DISTANCE: usize = 1500;

/// Most lines between two unique common lines that are compared one by one: so that the time grows with the text
/// alone.
const MAX_EDIT_DISTANCE_BETWEEN: usize = 256;

/// Lines shown before and behind a change, as `diff -u` does.
const CONTEXT_LINES: usize = 3;

/// Lines put in the place of others; counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineChange {
    /// Of the old text.
    pub old: Range<usize>,
    /// Of the new text.
    pub new: Range<usize>,
}

/// The lines of a text, each with its end.
pub(super) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Compares two texts by lines. Returns few changes, in order, at least one common line apart.
#[must_use]
pub fn changes(old: &[u8], new: &[u8]) -> Vec<LineChange> {
    between(&lines(old), &lines(new))
}

pub(super) fn between<'t>(old: &[&'t [u8]], new: &[&'t [u8]]) -> Vec<LineChange> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let ends = old.iter().rev().zip(new.iter().rev());
    let tail = ends.take(rest).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut number = |line: &&'t [u8]| {
        let next = known.len();
        *known.entry(*line).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(&mut number).collect();
    let new: Vec<usize> = new.iter().map(&mut number).collect();
    let same = common(&old, &new, MAX_EDIT_DISTANCE).unwrap_or_else(|| anchored(&old, &new));
    let found = gaps(&same, &old, &new);
    let moved = |range: Range<usize>| range.start + head..range.end + head;
    let moved = |change: LineChange| LineChange { old: moved(change.old), new: moved(change.new) };
    found.into_iter().map(moved).collect()
}

/// The pairs of common lines of a shortest edit, after Myers; nothing if too much differs.
fn common(old: &[usize], new: &[usize], limit: usize) -> Option<Vec<(usize, usize)>> {
    let (n, m) = (old.len().cast_signed(), new.len().cast_signed());
    let most = (old.len() + new.len()).min(limit);
    let middle = most + 1;
    let at = |diagonal: isize| middle.wrapping_add_signed(diagonal);
    let mut reach: Vec<isize> = vec![0; 2 * middle + 1];
    let mut steps: Vec<Vec<isize>> = Vec::new();
    for distance in 0..=most {
        let d = distance.cast_signed();
        steps.push(reach[at(-d) - 1..=at(d) + 1].to_vec());
        for k in (-d..=d).step_by(2) {
            let down = k == -d || (k != d && reach[at(k - 1)] < reach[at(k + 1)]);
            let mut x = if down { reach[at(k + 1)] } else { reach[at(k - 1)] + 1 };
            while x < n && x - k < m && old[x.cast_unsigned()] == new[(x - k).cast_unsigned()] {
                x += 1;
            }
            reach[at(k)] = x;
            if x >= n && x - k >= m {
                return Some(back(&steps, n, m));
            }
        }
    }
    None
}

/// Common lines of texts that differ a lot: those that each has once, as many as stand in the same order in
/// both, and between two of them what [`common`] finds. Where even that is too much, nothing is common.
fn anchored(old: &[usize], new: &[usize]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut a, mut b) = (0, 0);
    for (x, y) in in_order(&unique(old, new)).into_iter().chain([(old.len(), new.len())]) {
        let between = common(&old[a..x], &new[b..y], MAX_EDIT_DISTANCE_BETWEEN).unwrap_or_default();
        pairs.extend(between.into_iter().map(|(i, j)| (a + i, b + j)));
        if x < old.len() {
            pairs.push((x, y));
        }
        (a, b) = (x + 1, y + 1);
    }
    pairs
}

/// Returns the places of the lines that both texts have exactly once, in the order of the old one.
fn unique(old: &[usize], new: &[usize]) -> Vec<(usize, usize)> {
    let places = |text: &[usize]| -> HashMap<usize, Option<usize>> {
        let mut found = HashMap::new();
        for (at, line) in text.iter().enumerate() {
            found.entry(*line).and_modify(|it| *it = None).or_insert(Some(at));
        }
        found
    };
    let (olds, news) = (places(old), places(new));
    let once = |(at, line): (usize, &usize)| {
        olds.get(line).copied().flatten()?;
        Some((at, news.get(line).copied().flatten()?))
    };
    old.iter().enumerate().filter_map(once).collect()
}

/// A longest part of these pairs in which the second number grows, too.
fn in_order(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length the pair with the smallest end, and for each pair the one before it.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (at, (_, y)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *y);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut found = Vec::new();
    let mut at = ends.last().copied();
    while let Some(pair) = at {
        found.push(pairs[pair]);
        at = before[pair];
    }
    found.reverse();
    found
}

/// Walks back from the end, and notes the common lines on the way.
fn back(steps: &[Vec<isize>], mut x: isize, mut y: isize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (distance, reach) in steps.iter().enumerate().rev() {
        let d = distance.cast_signed();
        // Each step holds the diagonals from -d-1 to d+1.
        let at = |k: isize| reach[(k + d + 1).cast_unsigned()];
        let k = x - y;
        let down = k == -d || (k != d && at(k - 1) < at(k + 1));
        let from = if down { k + 1 } else { k - 1 };
        let (start_x, start_y) = if distance == 0 { (0, 0) } else { (at(from), at(from) - from) };
        while x > start_x && y > start_y {
            x -= 1;
            y -= 1;
            pairs.push((x.cast_unsigned(), y.cast_unsigned()));
        }
        (x, y) = (start_x, start_y);
    }
    pairs.reverse();
    pairs
}

/// Returns the changes between common lines.
fn gaps(same: &[(usize, usize)], old: &[usize], new: &[usize]) -> Vec<LineChange> {
    let (mut found, mut a, mut b) = (Vec::new(), 0, 0);
    for &(x, y) in same.iter().chain([&(old.len(), new.len())]) {
        if (a, b) != (x, y) {
            found.push(LineChange { old: a..x, new: b..y });
        }
        (a, b) = (x + 1, y + 1);
    }
    found
}

/// A unified diff of a file; empty if nothing differs. `None` stands for a file that does not exist.
#[must_use]
pub fn unified(name: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<u8> {
    if old == new {
        return Vec::new();
    }
    let side = |letter: char, text: Option<&[u8]>| match text {
        Some(_) => quoted(letter, name),
        None => "/dev/null".to_owned(),
    };
    let mut out = format!("--- {}\n+++ {}\n", side('a', old), side('b', new)).into_bytes();
    let (old, new) = (lines(old.unwrap_or_default()), lines(new.unwrap_or_default()));
    let found = between(&old, &new);
    let mut near: Vec<Vec<LineChange>> = Vec::new();
    for change in found {
        match near.last_mut() {
            Some(hunk)
                if hunk
                    .last()
                    .is_some_and(|l| change.old.start <= l.old.end + 2 * CONTEXT_LINES) =>
            {
                hunk.push(change);
            }
            _ => near.push(vec![change]),
        }
    }
    near.iter().for_each(|hunk| write(hunk, &old, &new, &mut out));
    out
}

fn write(hunk: &[LineChange], old: &[&[u8]], new: &[&[u8]], out: &mut Vec<u8>) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let before = first.old.start.min(CONTEXT_LINES);
    let behind = (old.len() - last.old.end).min(CONTEXT_LINES);
    let (a, b) = (first.old.start - before, first.new.start - before);
    let (olds, news) = (last.old.end + behind - a, last.new.end + behind - b);
    let start = |count: usize, first: usize| if count == 0 { first } else { first + 1 };
    let head = format!("@@ -{},{olds} +{},{news} @@\n", start(olds, a), start(news, b));
    out.extend_from_slice(head.as_bytes());
    let mut at = a;
    for change in hunk {
        old[at..change.old.start].iter().for_each(|line| show(b' ', line, out));
        old[change.old.clone()].iter().for_each(|line| show(b'-', line, out));
        new[change.new.clone()].iter().for_each(|line| show(b'+', line, out));
        at = change.old.end;
    }
    old[at..at + behind].iter().for_each(|line| show(b' ', line, out));
}

fn show(sign: u8, line: &[u8], out: &mut Vec<u8>) {
    out.push(sign);
    out.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        out.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

/// The name as `git` writes it: between quotes where a byte could be mistaken for a part of the diff.
fn quoted(side: char, name: &str) -> String {
    let is_plain = |letter: char| !letter.is_control() && !matches!(letter, '"' | '\\');
    if name.chars().all(is_plain) {
        return format!("{side}/{name}");
    }
    let escape = |letter: char| match letter {
        letter if is_plain(letter) => letter.to_string(),
        letter => letter.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect(),
    };
    format!("\"{side}/{}\"", name.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests;
