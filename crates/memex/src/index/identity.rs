//! Matching the headings of a file with those of its version before. Headings without an `:ID:` are recognized by
//! their text and their place, the surest sign first; each old heading matches at most one new heading, so two never
//! become one.
//!
//! Called by `apply` for one file at a time. Linear but for sorting.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Features by which a heading is recognized after a change.
#[derive(Clone, Debug)]
pub(crate) struct HeadingFace<'f> {
    /// Its `:ID:`.
    pub(crate) declared: Option<&'f str>,
    pub(crate) title: &'f str,
    /// The hash of its own text.
    pub(crate) own: &'f [u8],
    /// The hash of what is below its title, if there is anything.
    pub(crate) body: Option<&'f [u8]>,
    /// The heading that it is below, in the same list.
    pub(crate) parent: Option<usize>,
}

/// For each face of now, the one of before.
pub(crate) fn pair(old: &[HeadingFace<'_>], new: &[HeadingFace<'_>]) -> Vec<Option<usize>> {
    let mut pairs =
        HeadingPairs { of_new: vec![None; new.len()], is_taken: vec![false; old.len()], old, new };
    if !old.is_empty() && !new.is_empty() {
        // The file itself.
        pairs.take(0, 0);
    }
    let (old_paths, new_paths) = (paths(old), paths(new));
    let path = |side: MatchSide, index: usize| match side {
        MatchSide::Old => old_paths[index],
        MatchSide::New => new_paths[index],
    };
    pairs.round(|_, _, face| face.declared.map(|id| hash(&id)));
    pairs.round(|side, index, face| Some(hash(&(path(side, index), face.own))));
    pairs.round(|_, _, face| Some(hash(&face.own)));
    pairs.round(|side, index, face| Some(hash(&(path(side, index), face.title))));
    pairs.round_below_pairs();
    pairs.round_unique(|face| Some(hash(&face.title)));
    pairs.round_unique(|face| face.body.map(|body| hash(&body)));
    pairs.round_between();
    pairs.of_new
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchSide {
    Old,
    New,
}

struct HeadingPairs<'p, 'f> {
    of_new: Vec<Option<usize>>,
    is_taken: Vec<bool>,
    old: &'p [HeadingFace<'f>],
    new: &'p [HeadingFace<'f>],
}

impl<'f> HeadingPairs<'_, 'f> {
    fn take(&mut self, new: usize, old: usize) {
        self.of_new[new] = Some(old);
        self.is_taken[old] = true;
    }

    /// Whether the two can be one: two different `:ID:`s never are.
    fn may(&self, new: usize, old: usize) -> bool {
        match (self.new[new].declared, self.old[old].declared) {
            (Some(new), Some(old)) => new == old,
            _ => true,
        }
    }

    /// Pairs those that have the same sign, in their order.
    fn round(&mut self, sign: impl Fn(MatchSide, usize, &HeadingFace<'f>) -> Option<u64>) {
        let mut free: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for (index, face) in self.old.iter().enumerate().filter(|(index, _)| !self.is_taken[*index])
        {
            if let Some(sign) = sign(MatchSide::Old, index, face) {
                free.entry(sign).or_default().push_back(index);
            }
        }
        for index in 0..self.new.len() {
            if self.of_new[index].is_some() {
                continue;
            }
            let Some(sign) = sign(MatchSide::New, index, &self.new[index]) else { continue };
            let Some(queue) = free.get_mut(&sign) else { continue };
            if let Some(old) = queue.front().copied().filter(|old| self.may(index, *old)) {
                queue.pop_front();
                self.take(index, old);
            }
        }
    }

    /// Pairs those that have another title, the same text, and are below the same.
    fn round_below_pairs(&mut self) {
        let mut of_old: Vec<Option<usize>> = vec![None; self.old.len()];
        for (new, old) in self.of_new.iter().enumerate() {
            if let Some(old) = old {
                of_old[*old] = Some(new);
            }
        }
        self.round(|side, _, face| {
            let below = match side {
                MatchSide::Old => of_old[face.parent?]?,
                MatchSide::New => face.parent?,
            };
            Some(hash(&(below, face.body?)))
        });
    }

    /// Pairs those whose sign nobody else has.
    fn round_unique(&mut self, sign: impl Fn(&HeadingFace<'f>) -> Option<u64>) {
        let only = |free: &mut dyn Iterator<Item = (usize, &HeadingFace<'f>)>| {
            let mut found: HashMap<u64, Option<usize>> = HashMap::new();
            for (index, face) in free {
                if let Some(sign) = sign(face) {
                    found.entry(sign).and_modify(|only| *only = None).or_insert(Some(index));
                }
            }
            found
        };
        let (is_taken, of_new) = (&self.is_taken, &self.of_new);
        let old = only(&mut self.old.iter().enumerate().filter(|(index, _)| !is_taken[*index]));
        let new = only(&mut self.new.iter().enumerate().filter(|(i, _)| of_new[*i].is_none()));
        let mut both: Vec<(usize, usize)> = new
            .into_iter()
            .filter_map(|(sign, index)| Some((index?, (*old.get(&sign)?)?)))
            .collect();
        both.sort_unstable();
        for (new, old) in both {
            if self.may(new, old) {
                self.take(new, old);
            }
        }
    }

    /// Pairs one that stands alone between the same neighbors.
    fn round_between(&mut self) {
        for index in 1..self.new.len() {
            let Some(before) = self.of_new[index - 1].filter(|_| self.of_new[index].is_none())
            else {
                continue;
            };
            let candidate = before + 1;
            let is_free = self.is_taken.get(candidate) == Some(&false);
            let next_old = Some(candidate + 1).filter(|next| *next < self.old.len());
            let next_new = (index + 1 < self.new.len()).then(|| self.of_new[index + 1]);
            let same_next = match (next_old, next_new) {
                (None, None) => true,
                (Some(old), Some(Some(new))) => old == new,
                _ => false,
            };
            if is_free && same_next && self.may(index, candidate) {
                self.take(index, candidate);
            }
        }
    }
}

/// For each face, the hash of the titles that it is below.
fn paths(faces: &[HeadingFace<'_>]) -> Vec<u64> {
    let mut paths: Vec<u64> = Vec::with_capacity(faces.len());
    for face in faces {
        let above = face.parent.map(|parent| (paths[parent], faces[parent].title));
        // The title of the file may change without making everything in it something else.
        paths.push(match face.parent {
            None | Some(0) => 0,
            Some(_) => hash(&above),
        });
    }
    paths
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
