//! Cookies that count, `[1/3]` and `[33%]`: what they say, and those of headlines that count what is done below them.

use super::{Edit, EditError, Splice};
use crate::heading::{TodoState, title};
use crate::kind::Type;
use crate::line::heading_level;
use crate::lines::widen;
use crate::property::pair;
use crate::text::{Span, drop_blanks};
use crate::tree::{Node, NodeId, Tree};

/// How many there are, and how many of them are done.
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
}

/// A cookie that says what was counted.
pub(super) fn cookie_splice(source: &[u8], cookie: &Node, counts: Counts) -> Splice {
    let text = drop_blanks(cookie.span().of(source));
    let start = cookie.span().start;
    let new = if text.ends_with(b"%]") {
        format!("[{}%]", counts.done.saturating_mul(100) / counts.all.max(1))
    } else {
        format!("[{}/{}]", counts.done, counts.all)
    };
    Splice { span: Span { start, end: start + text.len() }, text: new.into_bytes() }
}

/// Whether one of the words is this one, in whatever case.
pub(super) fn has_word(text: &[u8], word: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_alphanumeric()).any(|known| known.eq_ignore_ascii_case(word))
}

impl<'t> Tree<'t> {
    /// Sets the keyword of progress of a headline, or takes it away, and brings the cookies of the headline above up to
    /// date: they count the headlines right below it that have a keyword.
    ///
    /// # Errors
    ///
    /// The node is no headline, or the text has no such keyword.
    pub fn change_state(
        &self,
        headline: NodeId,
        keyword: Option<&[u8]>,
    ) -> Result<Edit<'t>, EditError> {
        let mut splices = self.set_state(headline, keyword)?.splices().to_vec();
        if let Some(above) = self.headline_above(headline) {
            self.count_states(above, headline, keyword, &mut splices);
        }
        Ok(Edit::new(self.whole, splices))
    }

    /// The headline that another is right below.
    pub(super) fn headline_above(&self, headline: NodeId) -> Option<NodeId> {
        let above = (0..headline.0).rev().find(|index| {
            let node = &self.nodes[*index];
            node.kind == Type::Headline && widen(node.next) > headline.0
        });
        above.map(NodeId)
    }

    /// The cookies in the title of `above`, with `changed` counted as if it had that keyword.
    fn count_states(
        &self,
        above: NodeId,
        changed: NodeId,
        keyword: Option<&[u8]>,
        splices: &mut Vec<Splice>,
    ) {
        let data = self.own_property(above.0, b"COOKIE_DATA").unwrap_or_default();
        if has_word(data, b"checkbox") {
            return;
        }
        let is_cookie = |node: &&Node| node.kind == Type::StatisticsCookie;
        let objects = self.objects(above);
        let mut cookies = objects.nodes().iter().filter(is_cookie).peekable();
        if cookies.peek().is_none() {
            return;
        }
        let recursive = has_word(data, b"recursive");
        let level = self.stars(changed).unwrap_or(0);
        let mut counts = Counts::default();
        for index in above.0 + 1..widen(self.nodes[above.0].next) {
            if self.nodes[index].kind != Type::Headline {
                continue;
            }
            let id = NodeId(index);
            if !recursive && self.stars(id) != Ok(level) {
                continue;
            }
            let state = match (id == changed, keyword) {
                (true, None) => None,
                (true, Some(keyword)) => self.settings.words.state(keyword),
                (false, _) => self.state_of(id),
            };
            counts.all += usize::from(state.is_some());
            counts.done += usize::from(state == Some(TodoState::Done));
        }
        cookies.for_each(|cookie| splices.push(cookie_splice(self.whole, cookie, counts)));
    }

    fn state_of(&self, headline: NodeId) -> Option<TodoState> {
        let line = self.lines.content(self.headline_line(headline).ok()?);
        let stars = heading_level(line)?;
        title(&line[stars..], &self.settings.words).todo.map(|todo| todo.state)
    }

    /// The value of a property in the drawer of a headline itself.
    pub(super) fn own_property(&self, headline: usize, key: &[u8]) -> Option<&'t [u8]> {
        let (first, last) = self.below(NodeId(headline)).ok()?.drawer?;
        (first + 1..last).find_map(|index| {
            let (known, value) = pair(self.lines.content(index))?;
            known.eq_ignore_ascii_case(key).then_some(value)
        })
    }
}
