//! The text of one heading up to the next, while it is changed in several steps; and the steps that touch its keyword
//! and its planning line, as Org makes them.

use super::drawer::Plan;
use super::{Edit, EditError, Splice, newline};
use crate::heading::TodoWords;
use crate::line::heading_level;
use crate::lines::Lines;
use crate::property::is_planning;
use crate::syntax::{joins_word, letter_before};
use crate::text::{Span, drop_blanks, is_blank, skip_blanks};
use crate::tree::{NodeId, Tree};

/// Cells of the table that finds the lines that stay: a larger change is shown as one.
const MAX_CELLS: usize = 1 << 20;

/// Columns of a tab.
const TAB_COLUMNS: usize = 8;

/// A heading and its section, to be changed.
pub(super) struct Entry<'w> {
    pub(super) text: Vec<u8>,
    pub(super) words: &'w TodoWords<'w>,
    pub(super) newline: &'static [u8],
    /// Whether the last line had no end: it has one while the entry is changed.
    is_unended: bool,
}

impl<'w> Entry<'w> {
    /// The heading and its section out of a text, and where they are.
    pub(super) fn of(tree: &'w Tree<'_>, headline: NodeId) -> Result<(Self, Span), EditError> {
        let first = tree.headline_line(headline)?;
        let is_heading = |index: &usize| heading_level(tree.lines.content(*index)).is_some();
        let end = (first + 1..tree.lines.count()).find(is_heading).unwrap_or(tree.lines.count());
        let span = tree.lines.span(first, end);
        let mut text = span.of(tree.whole).to_vec();
        let newline = newline(tree.whole);
        let is_unended = !text.ends_with(b"\n");
        if is_unended {
            text.extend_from_slice(newline);
        }
        Ok((Self { text, words: &tree.settings.words, newline, is_unended }, span))
    }

    /// The entry as a tree of its own; its headline is the first one there.
    pub(super) fn tree(&self) -> Tree<'_> {
        let mut tree = Tree::elements(&self.text);
        tree.settings.words = self.words.clone();
        tree
    }

    /// The number of the headline in [`Entry::tree`].
    pub(super) fn headline(tree: &Tree<'_>) -> Result<NodeId, EditError> {
        let is_headline = |id: &NodeId| {
            tree.node(*id).is_some_and(|node| node.kind == crate::kind::Type::Headline)
        };
        tree.ids().find(is_headline).ok_or(EditError::OtherType)
    }

    /// Makes a change that the tree knows how to make.
    pub(super) fn change(
        &mut self,
        change: impl for<'t> FnOnce(&Tree<'t>, NodeId) -> Result<Edit<'t>, EditError>,
    ) -> Result<(), EditError> {
        let changed = {
            let tree = self.tree();
            change(&tree, Self::headline(&tree)?)?.apply()
        };
        self.text = changed;
        Ok(())
    }

    pub(super) fn lines(&self) -> Lines<'_> {
        Lines::new(&self.text)
    }

    /// The keyword of progress.
    pub(super) fn keyword(&self) -> Option<Vec<u8>> {
        let lines = self.lines();
        keyword_of(lines.content(0), self.words).map(<[u8]>::to_vec)
    }

    /// Sets the keyword of progress, or takes it away.
    pub(super) fn set_keyword(&mut self, keyword: Option<&[u8]>) {
        let line = self.lines().content(0).to_vec();
        let Splice { span, text } = keyword_splice(&line, self.words, keyword);
        self.text.splice(span.start..span.end, text);
    }

    /// Returns the place of the planning line, without its end.
    pub(super) fn planning(&self) -> Option<Span> {
        let lines = self.lines();
        let is_line = lines.count() > 1 && is_planning_line(lines.content(1));
        let start = lines.start(1);
        is_line.then(|| Span { start, end: start + lines.content(1).len() })
    }

    /// Plans something, or nothing, and takes other plans away, each with all up to the next word of planning. The line
    /// goes when nothing is left on it.
    pub(super) fn plan(&mut self, what: Option<(Plan, &[u8])>, remove: &[Plan]) {
        let Some(Span { start, end }) = self.planning() else {
            if let Some((plan, stamp)) = what {
                let line = [plan.word(), b" ", stamp].concat();
                self.insert_line(1, &line);
            }
            return;
        };
        let line = &self.text[start..end];
        let indent = line.len() - skip_blanks(line).len();
        let mut rest = line[indent..].to_vec();
        for plan in what.iter().map(|(plan, _)| plan).chain(remove) {
            if let Some(at) = plan_at(&rest, *plan) {
                let behind = next_plan(&rest[at.end..]).map_or(rest.len(), |next| at.end + next);
                rest.drain(at.start..behind);
            }
        }
        rest.truncate(drop_blanks(&rest).len());
        let new = match what {
            None if rest.is_empty() => {
                self.remove_line(1);
                return;
            }
            None => rest,
            Some((plan, stamp)) if rest.is_empty() => [plan.word(), b" ", stamp].concat(),
            Some((plan, stamp)) => [plan.word(), b" ", stamp, b" ", &rest].concat(),
        };
        self.text.splice(start + indent..end, new);
    }

    /// Takes a plan away, and the line when nothing else is on it.
    pub(super) fn unplan(&mut self, plan: Plan) {
        let Some(Span { start, end }) = self.planning() else { return };
        let mut line = self.text[start..end].to_vec();
        // The last one first, as Org does.
        while let Some(at) = last_plan(&line, plan) {
            let behind = line.len() - skip_blanks(&line[at.end..]).len();
            line.drain(at.start..behind);
            let before = &line[..at.start];
            if before.iter().any(|byte| !is_blank(*byte)) && before.ends_with(b" ") {
                line.remove(at.start - 1);
            }
        }
        if skip_blanks(&line).is_empty() {
            self.remove_line(1);
        } else {
            self.text.splice(start..end, line);
        }
    }

    /// Puts lines before that of `index`; the last of them gets an end.
    pub(super) fn insert_line(&mut self, index: usize, line: &[u8]) {
        let at = self.lines().start(index);
        let ended = [line, self.newline].concat();
        self.text.splice(at..at, ended);
    }

    pub(super) fn remove_line(&mut self, index: usize) {
        let span = self.lines().span(index, index + 1);
        self.text.drain(span.start..span.end);
    }

    /// The change of the whole text that the changed entry makes.
    pub(super) fn splices(&self, source: &[u8], span: Span) -> Vec<Splice> {
        let ended = self.text.strip_suffix(self.newline).filter(|_| self.is_unended);
        line_splices(span.of(source), ended.unwrap_or(&self.text))
            .into_iter()
            .map(|splice| Splice {
                span: Span {
                    start: span.start + splice.span.start,
                    end: span.start + splice.span.end,
                },
                text: splice.text,
            })
            .collect()
    }
}

/// The keyword of progress of a headline: also one that nothing follows.
pub(super) fn keyword_of<'t>(line: &'t [u8], words: &TodoWords<'_>) -> Option<&'t [u8]> {
    let stars = heading_level(line)?;
    let rest = &line[stars..];
    let inner = &rest[rest.iter().take_while(|byte| **byte == b' ').count()..];
    let word = &inner[..inner.iter().take_while(|byte| !is_blank(**byte)).count()];
    let behind = &inner[word.len()..];
    let ends = behind.starts_with(b" ") || skip_blanks(behind).is_empty();
    (ends && words.has(word)).then_some(word)
}

/// The change of a headline that sets its keyword, or takes it away: one blank before it and one behind, as Org has it.
pub(super) fn keyword_splice(line: &[u8], words: &TodoWords<'_>, keyword: Option<&[u8]>) -> Splice {
    let start = heading_level(line).unwrap_or(0);
    let spaces = |from: usize| line[from..].iter().take_while(|byte| **byte == b' ').count();
    let end = match keyword_of(line, words) {
        None => start + spaces(start),
        Some(word) => {
            let behind = crate::text::offset_in(line, word) + word.len();
            match spaces(behind) {
                0 => line.len(),
                count => behind + count,
            }
        }
    };
    let text = match keyword {
        Some(keyword) => [b" ", keyword, b" "].concat(),
        None => b" ".to_vec(),
    };
    Splice { span: Span { start, end }, text }
}

/// Whether the line below a headline is one of planning, for a change: the words in capitals.
fn is_planning_line(line: &[u8]) -> bool {
    let inner = skip_blanks(line);
    is_planning(line)
        && [Plan::Closed, Plan::Deadline, Plan::Scheduled]
            .iter()
            .any(|plan| inner.starts_with(plan.word()))
}

/// The first place where a plan is written: its word, blanks, and a timestamp of the kind that it has.
pub(super) fn plan_at(line: &[u8], plan: Plan) -> Option<Span> {
    let (open, close) = if plan == Plan::Closed { (b'[', b']') } else { (b'<', b'>') };
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&line[from..], plan.word()).map(|at| at + from) {
        from = at + plan.word().len();
        let stamp = from + line[from..].iter().take_while(|byte| **byte == b' ').count();
        let starts_word = at == 0 || !joins_word(letter_before(line, at));
        let end = memchr::memchr(close, &line[stamp..]).map(|end| stamp + end + 1);
        if let Some(end) =
            end.filter(|end| starts_word && line.get(stamp) == Some(&open) && *end > stamp + 2)
        {
            return Some(Span { start: at, end });
        }
    }
    None
}

fn last_plan(line: &[u8], plan: Plan) -> Option<Span> {
    let mut found = None;
    let mut from = 0;
    while let Some(at) = plan_at(&line[from..], plan) {
        let span = Span { start: from + at.start, end: from + at.end };
        // Org wants a blank between the word and what it takes away.
        if line.get(span.start + plan.word().len()) == Some(&b' ') {
            found = Some(span);
        }
        from = span.end;
    }
    found
}

/// Returns the beginning of the next plan of any kind.
fn next_plan(line: &[u8]) -> Option<usize> {
    let all = [Plan::Scheduled, Plan::Deadline, Plan::Closed];
    all.iter().filter_map(|plan| any_plan_at(line, *plan)).min()
}

/// As [`plan_at`], with brackets of either kind.
fn any_plan_at(line: &[u8], plan: Plan) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&line[from..], plan.word()).map(|at| at + from) {
        from = at + plan.word().len();
        let stamp = from + line[from..].iter().take_while(|byte| **byte == b' ').count();
        let starts_word = at == 0 || !joins_word(letter_before(line, at));
        let opens = matches!(line.get(stamp), Some(b'<' | b'['));
        if starts_word
            && opens
            && memchr::memchr2(b'>', b']', &line[stamp..]).is_some_and(|end| end > 1)
        {
            return Some(at);
        }
    }
    None
}

/// The column of the first byte of a line that is no blank.
pub(super) fn indentation(line: &[u8]) -> usize {
    line.iter().take_while(|byte| is_blank(**byte)).fold(0, |column, byte| match byte {
        b'\t' => (column / TAB_COLUMNS + 1) * TAB_COLUMNS,
        _ => column + 1,
    })
}

/// Blanks up to a column, tabs first, as Emacs writes them.
pub(super) fn indent_to(column: usize) -> Vec<u8> {
    let mut blanks = vec![b'\t'; column / TAB_COLUMNS];
    blanks.resize(blanks.len() + column % TAB_COLUMNS, b' ');
    blanks
}

/// The lines that differ between two texts, as splices of the first.
fn line_splices(old: &[u8], new: &[u8]) -> Vec<Splice> {
    let split = |text| <[u8]>::split_inclusive(text, |byte| *byte == b'\n').collect::<Vec<&[u8]>>();
    let (left, right) = (split(old), split(new));
    let front = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    let behind = left[front..]
        .iter()
        .rev()
        .zip(right[front..].iter().rev())
        .take_while(|(left, right)| left == right)
        .count();
    let (left, right) = (&left[front..left.len() - behind], &right[front..right.len() - behind]);
    let start: usize =
        old.split_inclusive(|byte| *byte == b'\n').take(front).map(<[u8]>::len).sum();
    let kept = kept_pairs(left, right);
    let mut splices = Vec::new();
    let (mut i, mut j, mut at) = (0, 0, start);
    for (next_i, next_j) in kept.into_iter().chain([(left.len(), right.len())]) {
        let taken: usize = left[i..next_i].iter().map(|line| line.len()).sum();
        if next_i > i || next_j > j {
            let text = right[j..next_j].concat();
            splices.push(Splice { span: Span { start: at, end: at + taken }, text });
        }
        at += taken + left.get(next_i).map_or(0, |line| line.len());
        (i, j) = (next_i + 1, next_j + 1);
    }
    splices
}

/// Lines that stay, by their numbers on both sides: the longest such sequence.
fn kept_pairs(left: &[&[u8]], right: &[&[u8]]) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    if (left.len() + 1).saturating_mul(width) > MAX_CELLS {
        return Vec::new();
    }
    let mut lengths = vec![0_u32; (left.len() + 1) * width];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            lengths[i * width + j] = if left[i] == right[j] {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut kept) = (0, 0, Vec::new());
    while i < left.len() && j < right.len() {
        if left[i] == right[j] {
            kept.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    kept
}
