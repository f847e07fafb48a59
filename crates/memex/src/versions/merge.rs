//! Two changes of one text brought together, line by line. What only one side changed is taken from
//! that side; where both changed the same lines differently nothing is guessed: it is a conflict.
//!
//! Called to take one change back while keeping what was written since: the text with the change is the
//! base, the present text one side, the text before the change the other. Written here and not taken
//! from a library: it must be exact for any bytes, treat changes that only touch each other as
//! separate, and say where in the present text a conflict is.

use std::ops::Range;

use super::diff::{LineChange, between, lines};
use super::path::FilePath;

/// A place where both sides changed the same lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeConflict {
    /// The file; set by whoever knows it.
    pub path: Option<FilePath>,
    /// The first line in the present text, from 1.
    pub line: usize,
    /// The lines as both sides found them.
    pub base: Vec<u8>,
    /// The lines as they are now.
    pub now: Vec<u8>,
    /// The lines as the other side wants them.
    pub target: Vec<u8>,
}

/// Result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeResult {
    /// A text with both changes.
    Clean(Vec<u8>),
    /// The places that nobody but a person can decide.
    Conflicts(Vec<MergeConflict>),
}

/// Brings the changes from `base` to `now` and from `base` to `wanted` together.
#[must_use]
pub fn merge(base: &[u8], now: &[u8], target: &[u8]) -> MergeResult {
    let sides = MergeSides { base: lines(base), now: lines(now), target: lines(target) };
    let ours = each_line(between(&sides.base, &sides.now));
    let theirs = each_line(between(&sides.base, &sides.target));
    let (mut text, mut conflicts, mut at) = (Vec::new(), Vec::new(), 0);
    for cluster in clusters(&ours, &theirs) {
        let ChangeCluster { range, ours, theirs } = cluster;
        sides.base[at..range.start].iter().for_each(|line| text.extend_from_slice(line));
        at = range.end;
        let now = side(ours, &range);
        let target = side(theirs, &range);
        match (now, target) {
            (Some(now), None) => put(&sides.now[now], &mut text),
            (None, Some(target)) => put(&sides.target[target], &mut text),
            (Some(now), Some(target))
                if has(&sides.now[now.clone()], &sides.target[target.clone()]) =>
            {
                put(&sides.now[now], &mut text);
            }
            (Some(now), Some(target)) => conflicts.push(MergeConflict {
                path: None,
                line: now.start + 1,
                base: sides.base[range].concat(),
                now: sides.now[now].concat(),
                target: sides.target[target].concat(),
            }),
            (None, None) => {}
        }
    }
    put(&sides.base[at..], &mut text);
    if conflicts.is_empty() { MergeResult::Clean(text) } else { MergeResult::Conflicts(conflicts) }
}

/// Changes that put as many lines in the place of others, line by line: who changed a line before the one
/// that the other side changed did not touch that one.
fn each_line(changes: Vec<LineChange>) -> Vec<LineChange> {
    let mut apart = Vec::with_capacity(changes.len());
    for change in changes {
        if change.old.len() == change.new.len() {
            let pairs = change.old.zip(change.new);
            apart.extend(
                pairs.map(|(old, new)| LineChange { old: old..old + 1, new: new..new + 1 }),
            );
        } else {
            apart.push(change);
        }
    }
    apart
}

/// Whether these lines are what is wanted already, perhaps with more before or behind.
fn has(now: &[&[u8]], target: &[&[u8]]) -> bool {
    let is_part = now.starts_with(target) || now.ends_with(target);
    if target.is_empty() { now.is_empty() } else { is_part }
}

struct MergeSides<'t> {
    base: Vec<&'t [u8]>,
    now: Vec<&'t [u8]>,
    target: Vec<&'t [u8]>,
}

fn put(lines: &[&[u8]], text: &mut Vec<u8>) {
    lines.iter().for_each(|line| text.extend_from_slice(line));
}

/// Changes of both sides that cannot be told apart, and the lines of the base that they are about.
struct ChangeCluster<'c> {
    range: Range<usize>,
    ours: &'c [LineChange],
    theirs: &'c [LineChange],
}

/// Returns the lines that a side has in the place of these lines of the base, if it changed any.
fn side(changes: &[LineChange], range: &Range<usize>) -> Option<Range<usize>> {
    let (first, last) = (changes.first()?, changes.last()?);
    let start = first.new.start - (first.old.start - range.start);
    Some(start..last.new.end + (range.end - last.old.end))
}

/// All changes in the order of the base, those together that overlap.
fn clusters<'c>(ours: &'c [LineChange], theirs: &'c [LineChange]) -> Vec<ChangeCluster<'c>> {
    let (mut found, mut i, mut j) = (Vec::new(), 0, 0);
    let key = |change: &LineChange| (change.old.start, change.old.end);
    loop {
        let (first_i, first_j) = (i, j);
        let mut range = match (ours.get(i), theirs.get(j)) {
            (None, None) => return found,
            (Some(a), Some(b)) if key(b) < key(a) => {
                j += 1;
                b.old.clone()
            }
            (None, Some(b)) => {
                j += 1;
                b.old.clone()
            }
            (Some(a), _) => {
                i += 1;
                a.old.clone()
            }
        };
        loop {
            let next = [(ours.get(i), &mut i), (theirs.get(j), &mut j)];
            let joins = next.into_iter().find_map(|(change, at)| {
                change.filter(|it| overlap(&range, &it.old)).zip(Some(at))
            });
            let Some((change, at)) = joins else { break };
            *at += 1;
            range = range.start.min(change.old.start)..range.end.max(change.old.end);
        }
        found.push(ChangeCluster { range, ours: &ours[first_i..i], theirs: &theirs[first_j..j] });
    }
}

/// Whether two changes are about the same lines. Those that only touch each other are not: what is put
/// in at the edge of other lines stays at that edge. Two texts put in at the same point are.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => a.start == b.start,
        (true, false) => b.start < a.start && a.start < b.end,
        (false, true) => a.start < b.start && b.start < a.end,
        (false, false) => a.start < b.end && b.start < a.end,
    }
}

#[cfg(test)]
mod tests;
