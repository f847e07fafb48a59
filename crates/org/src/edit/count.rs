//! Cookies that count, `[1/3]` and `[33%]`: what they say, and those of headlines that count what is done below them.

use std::ops::Range;

use super::Splice;
use crate::heading::TodoState;
use crate::kind::Type;
use crate::lines::widen;
use crate::property::pair;
use crate::text::{Span, drop_blanks};
use crate::tree::{Node, NodeId, Tree};

/// Number of items, and of those that are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) all: usize,
    pub(super) done: usize,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.all += other.all;
        self.done += other.done;
    }

    fn of(states: impl Iterator<Item = TodoState>) -> Self {
        states.fold(Self::default(), |counts, state| Self {
            all: counts.all + 1,
            done: counts.done + usize::from(state == TodoState::Done),
        })
    }

    /// The cookie that says so, of the kind of another.
    fn cookie(self, old: &[u8]) -> Vec<u8> {
        let text = if old.ends_with(b"%]") {
            format!("[{}%]", self.done.saturating_mul(100) / self.all.max(1))
        } else {
            format!("[{}/{}]", self.done, self.all)
        };
        text.into_bytes()
    }
}

/// A cookie that says what was counted.
pub(super) fn cookie_splice(source: &[u8], cookie: &Node, counts: Counts) -> Splice {
    let text = drop_blanks(cookie.span().of(source));
    let start = cookie.span().start;
    Splice { span: Span { start, end: start + text.len() }, text: counts.cookie(text) }
}

/// Whether one of the words is this one, in whatever case.
pub(super) fn has_word(text: &[u8], word: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_alphanumeric()).any(|known| known.eq_ignore_ascii_case(word))
}

impl<'t> Tree<'t> {
    /// The headline that another is right below.
    pub(super) fn headline_above(&self, headline: NodeId) -> Option<NodeId> {
        let above = (0..headline.0).rev().find(|index| {
            let node = &self.nodes[*index];
            node.kind == Type::Headline && widen(node.next) > headline.0
        });
        above.map(NodeId)
    }

    /// The cookies in the titles above `changed`, which is counted as if it had that keyword: those right above it, and
    /// under `COOKIE_DATA: recursive` those further up, to the headline that says so.
    pub(super) fn count_states(
        &self,
        changed: NodeId,
        keyword: Option<&[u8]>,
        splices: &mut Vec<Splice>,
    ) {
        let Ok(level) = self.stars(changed) else { return };
        let state = |id: NodeId| match id == changed {
            true => keyword.and_then(|keyword| self.settings.words.state(keyword)),
            false => self.state_of(id),
        };
        self.count_above(changed, level, &state, splices);
    }

    /// The cookies in the titles above a headline that goes, with all below it.
    pub(super) fn count_without(&self, gone: NodeId, splices: &mut Vec<Splice>) {
        let Some(above) = self.headline_above(gone) else { return };
        let behind = gone.0..widen(self.nodes[gone.0].next);
        let is_left = |id: NodeId| !behind.contains(&id.0);
        let mut left = self.headlines_below(above).filter(|id| is_left(*id));
        let Some(level) = left.next().and_then(|first| self.stars(first).ok()) else {
            let none = |old: &[u8]| if old.ends_with(b"%]") { &b"[100%]"[..] } else { b"[0/0]" };
            return self.write_cookies(above, splices, |old| none(old).to_vec());
        };
        let state = |id: NodeId| is_left(id).then(|| self.state_of(id)).flatten();
        self.count_above(gone, level, &state, splices);
    }

    /// The cookies above a headline: those of one level are counted, or all under `COOKIE_DATA: recursive`.
    fn count_above(
        &self,
        below: NodeId,
        level: usize,
        state: &dyn Fn(NodeId) -> Option<TodoState>,
        splices: &mut Vec<Splice>,
    ) {
        let Some(first) = self.headline_above(below) else { return };
        let chain = || std::iter::successors(Some(first), |id| self.headline_above(*id));
        let inherited = chain()
            .find_map(|id| self.full_property(id, b"COOKIE_DATA").map(|value| (value, Some(id))))
            .or_else(|| self.file_property(b"COOKIE_DATA").map(|value| (value, None)));
        let is_recursive =
            inherited.as_ref().is_some_and(|(data, _)| has_exact(data, b"recursive"));
        let last = inherited.and_then(|(_, id)| id);
        for above in chain() {
            let own = self.full_property(above, b"COOKIE_DATA").unwrap_or_default();
            if has_word(&own, b"checkbox") {
                return;
            }
            let counted = self.headlines_below(above);
            let counted = counted.filter(|id| is_recursive || self.stars(*id) == Ok(level));
            let counts = Counts::of(counted.filter_map(state));
            self.write_cookies(above, splices, |old| counts.cookie(old));
            if !is_recursive || last == Some(above) {
                return;
            }
        }
    }

    fn headlines_below(&self, above: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let below = above.0 + 1..widen(self.nodes[above.0].next);
        below.filter(|index| self.nodes[*index].kind == Type::Headline).map(NodeId)
    }

    /// Puts other cookies in the place of those in a title.
    fn write_cookies(
        &self,
        headline: NodeId,
        splices: &mut Vec<Splice>,
        new: impl Fn(&[u8]) -> Vec<u8>,
    ) {
        let Ok(line) = self.headline_line(headline) else { return };
        let start = self.lines.start(line);
        for Span { start: at, end } in cookies_in(self.lines.content(line)) {
            let span = Span { start: start + at, end: start + end };
            splices.push(Splice { span, text: new(span.of(self.whole)) });
        }
    }

    pub(super) fn state_of(&self, headline: NodeId) -> Option<TodoState> {
        self.keyword_of(headline).ok()?.and_then(|keyword| self.settings.words.state(keyword))
    }

    /// The value of a property in the drawer of a headline itself.
    pub(super) fn own_property(&self, headline: usize, key: &[u8]) -> Option<&'t [u8]> {
        let (first, last) = self.below(NodeId(headline)).ok()?.drawer?;
        (first + 1..last).find_map(|index| {
            let (known, value) = pair(self.lines.content(index))?;
            known.eq_ignore_ascii_case(key).then_some(value)
        })
    }

    /// Returns a property with all that lines `:KEY+:` add to it.
    pub(super) fn full_property(&self, headline: NodeId, key: &[u8]) -> Option<Vec<u8>> {
        let (first, last) = self.below(headline).ok()?.drawer?;
        self.joined_values(first + 1..last, key)
    }

    /// The values that lines of a drawer have for a key: of the first `:KEY:`, and of every `:KEY+:`.
    pub(super) fn joined_values(&self, lines: Range<usize>, key: &[u8]) -> Option<Vec<u8>> {
        let pairs = || lines.clone().filter_map(|index| pair(self.lines.content(index)));
        let base = pairs().find(|(known, _)| known.eq_ignore_ascii_case(key));
        let added = pairs().filter(|(known, _)| {
            known.strip_suffix(b"+").is_some_and(|known| known.eq_ignore_ascii_case(key))
        });
        let values: Vec<&[u8]> = base.into_iter().chain(added).map(|(_, value)| value).collect();
        (!values.is_empty()).then(|| values.join(&b' '))
    }
}

/// The cookies in a line, whatever they stand in.
fn cookies_in(line: &[u8]) -> Vec<Span> {
    let mut cookies = Vec::new();
    let mut from = 0;
    while let Some(open) = memchr::memchr(b'[', &line[from..]).map(|at| from + at) {
        from = open + 1;
        let digits = |at: usize| line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let behind = from + digits(from);
        let end = match line.get(behind) {
            Some(b'%') => behind + 1,
            Some(b'/') => behind + 1 + digits(behind + 1),
            _ => continue,
        };
        if line.get(end) == Some(&b']') {
            cookies.push(Span { start: open, end: end + 1 });
            from = end + 1;
        }
    }
    cookies
}

/// Whether one of the words is this one, as written.
fn has_exact(text: &[u8], word: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_alphanumeric()).any(|known| known == word)
}
