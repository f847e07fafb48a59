//! The log of a heading: what is noted when its keyword or its plans change, where, and by which settings: `#+STARTUP:`,
//! the properties `LOGGING` and `LOG_INTO_DRAWER`, marks of keywords. As Org does it.

use super::EditError;
use super::entry::{Entry, indent_to, indentation};
use crate::heading::{LogKind, LoggedWord};
use crate::kind::Type;
use crate::lines::Class;
use crate::moment::Moment;
use crate::settings::Settings;
use crate::text::{drop_blanks, is_space, skip_blanks};
use crate::tree::{NodeId, Tree};

/// The drawer of the log where no other is named.
pub(super) const LOGBOOK: &[u8] = b"LOGBOOK";

/// Columns that the name of a state takes in the log.
const STATE_COLUMNS: usize = 12;

/// Rules of logging, by the settings that hold for a heading.
#[derive(Clone, Debug)]
pub(super) struct LogRules<'t> {
    /// Log of a heading that becomes done, `org-log-done`.
    pub(super) done: Option<LogKind>,
    /// Log of a repeating heading that becomes done, `org-log-repeat`.
    pub(super) repeat: Option<LogKind>,
    /// Log of another scheduled day, or of a deadline that moves.
    pub(super) reschedule: Option<LogKind>,
    pub(super) redeadline: Option<LogKind>,
    /// Log of a subtree that is refiled.
    pub(super) refile: Option<LogKind>,
    /// Keywords whose gain or loss is logged.
    pub(super) states: Vec<LoggedWord<'t>>,
    /// The drawer that the log is in.
    pub(super) drawer: Option<Vec<u8>>,
    /// Whether the latest stands first.
    pub(super) latest_first: bool,
    /// The value of `LOGGING`, if the heading has or inherits one.
    pub(super) logging: Option<Vec<u8>>,
}

/// Note that is written once the change is made.
#[derive(Clone, Debug)]
pub(super) struct LogNote {
    pub(super) purpose: LogPurpose,
    pub(super) kind: LogKind,
}

#[derive(Clone, Debug)]
pub(super) enum LogPurpose {
    /// Another keyword: which, and which it was.
    State {
        new: Option<Vec<u8>>,
        old: Option<Vec<u8>>,
    },
    /// Done, with a closing note.
    Done,
    /// A plan changed; the timestamp that it had.
    Rescheduled(Vec<u8>),
    Unscheduled(Vec<u8>),
    NewDeadline(Vec<u8>),
    NoDeadline(Vec<u8>),
    Refiled,
}

impl<'t> LogRules<'t> {
    /// The rules for a headline.
    pub(super) fn of(tree: &'t Tree<'t>, headline: NodeId) -> Self {
        let settings = &tree.settings;
        let mut rules = Self {
            done: None,
            repeat: Some(LogKind::Time),
            reschedule: None,
            redeadline: None,
            refile: None,
            states: settings.words.logged(),
            drawer: None,
            latest_first: true,
            logging: tree.inherited_property(headline, b"LOGGING"),
        };
        rules.set_startup(settings);
        rules.set_drawer(tree.inherited_property(headline, b"LOG_INTO_DRAWER").as_deref());
        rules
    }

    /// Takes the value of `LOG_INTO_DRAWER`, if there is one.
    pub(super) fn set_drawer(&mut self, value: Option<&[u8]>) {
        match value {
            Some(b"nil") => self.drawer = None,
            Some(b"t") => self.drawer = Some(LOGBOOK.to_vec()),
            Some(name) => self.drawer = Some(name.to_vec()),
            None => {}
        }
    }

    fn set_startup(&mut self, settings: &Settings<'_>) {
        for option in settings.startup() {
            let option = option.to_ascii_lowercase();
            match option.as_slice() {
                b"logdrawer" => self.drawer = Some(LOGBOOK.to_vec()),
                b"nologdrawer" => self.drawer = None,
                b"logstatesreversed" => self.latest_first = true,
                b"nologstatesreversed" => self.latest_first = false,
                b"logreschedule" => self.reschedule = Some(LogKind::Time),
                b"lognotereschedule" => self.reschedule = Some(LogKind::Note),
                b"nologreschedule" => self.reschedule = None,
                b"logredeadline" => self.redeadline = Some(LogKind::Time),
                b"lognoteredeadline" => self.redeadline = Some(LogKind::Note),
                b"nologredeadline" => self.redeadline = None,
                b"logrefile" => self.refile = Some(LogKind::Time),
                b"lognoterefile" => self.refile = Some(LogKind::Note),
                b"nologrefile" => self.refile = None,
                other => self.set_done_or_repeat(other),
            }
        }
    }

    /// Takes one word that `LOGGING` may have as well.
    fn set_done_or_repeat(&mut self, option: &[u8]) {
        match option {
            b"logdone" => self.done = Some(LogKind::Time),
            b"lognotedone" => self.done = Some(LogKind::Note),
            b"nologdone" => self.done = None,
            b"logrepeat" => self.repeat = Some(LogKind::Time),
            b"lognoterepeat" => self.repeat = Some(LogKind::Note),
            b"nologrepeat" => self.repeat = None,
            _ => {}
        }
    }

    /// The rules with what `LOGGING` says in the place of all other settings for keywords.
    pub(super) fn localized(&self, is_keyword: impl Fn(&[u8]) -> bool) -> LogRules<'_> {
        let Some(logging) = &self.logging else { return self.clone() };
        let mut rules = LogRules { done: None, repeat: None, states: Vec::new(), ..self.clone() };
        for word in logging.split(|byte| is_space(*byte)).filter(|word| !word.is_empty()) {
            rules.set_done_or_repeat(word);
            if let Some(logged) = LoggedWord::read(word).filter(|it| is_keyword(it.keyword)) {
                rules.states.insert(0, logged);
            }
        }
        rules
    }

    /// Returns the kind of log for the change from one keyword to another.
    pub(super) fn state_log(&self, new: Option<&[u8]>, old: Option<&[u8]>) -> Option<LogKind> {
        let of = |word: Option<&[u8]>| self.states.iter().find(|it| Some(it.keyword) == word);
        of(new).and_then(|it| it.entering).or_else(|| of(old).and_then(|it| it.leaving))
    }
}

impl<'t> Tree<'t> {
    /// The value of a property that a headline has itself, or inherits from those above it, from the drawer of the file, or
    /// from `#+PROPERTY:`.
    pub(super) fn inherited_property(&self, headline: NodeId, key: &[u8]) -> Option<Vec<u8>> {
        let above = std::iter::successors(Some(headline), |id| self.headline_above(*id));
        let own = above.map(|id| self.full_property(id, key)).find(Option::is_some).flatten();
        own.or_else(|| self.file_property(key))
    }

    /// The value that the text as a whole gives a property.
    pub(super) fn file_property(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.top_property(key)
            .or_else(|| self.settings.property(key).map(std::borrow::Cow::into_owned))
    }

    /// The value of a property in the drawer at the top of the text.
    fn top_property(&self, key: &[u8]) -> Option<Vec<u8>> {
        let is_top = |index: &usize| self.nodes[*index].kind == Type::PropertyDrawer;
        let is_before = |index: &usize| self.nodes[*index].kind != Type::Headline;
        let drawer = (0..self.nodes.len()).take_while(is_before).find(is_top)?;
        let span = self.nodes[drawer].span();
        let (first, last) = (self.lines.at(span.start), self.lines.at(span.end.max(1) - 1));
        self.joined_values(first + 1..last + 1, key)
    }
}

impl LogNote {
    /// The words of the log.
    fn words(&self, now: Moment) -> Vec<u8> {
        let time = format!("[{}]", now.text(true)).into_bytes();
        let padded = |state: &Option<Vec<u8>>| {
            let mut name = match state {
                None => Vec::new(),
                Some(name) => [b"\"", &name[..], b"\""].concat(),
            };
            let columns: usize = String::from_utf8_lossy(&name).chars().map(columns).sum();
            name.resize(name.len() + STATE_COLUMNS.saturating_sub(columns), b' ');
            name
        };
        let was = |stamp: &[u8]| {
            let inner = stamp.get(1..stamp.len().saturating_sub(1)).unwrap_or_default();
            [b"\"[", inner, b"]\""].concat()
        };
        match &self.purpose {
            LogPurpose::State { new, old } => {
                [b"State ", &padded(new)[..], b" from ", &padded(old), b" ", &time].concat()
            }
            LogPurpose::Done => [b"CLOSING NOTE ", &time[..]].concat(),
            LogPurpose::Rescheduled(old) => {
                [b"Rescheduled from ", &was(old)[..], b" on ", &time].concat()
            }
            LogPurpose::Unscheduled(old) => {
                [b"Not scheduled, was ", &was(old)[..], b" on ", &time].concat()
            }
            LogPurpose::NewDeadline(old) => {
                [b"New deadline from ", &was(old)[..], b" on ", &time].concat()
            }
            LogPurpose::NoDeadline(old) => {
                [b"Removed deadline, was ", &was(old)[..], b" on ", &time].concat()
            }
            LogPurpose::Refiled => [b"Refiled on ", &time[..]].concat(),
        }
    }
}

impl Entry<'_> {
    /// Writes a note into the log.
    pub(super) fn log(
        &mut self,
        log: &LogNote,
        note: &[u8],
        rules: &LogRules<'_>,
        now: Moment,
    ) -> Result<(), EditError> {
        let note = if log.kind == LogKind::Note { note.trim_ascii() } else { b"" };
        let (index, column) = self.log_place(rules)?;
        let mut text = [&indent_to(column)[..], b"- ", &log.words(now)].concat();
        if !note.is_empty() {
            text.extend_from_slice(b" \\\\");
        }
        for line in note.split(|byte| *byte == b'\n').filter(|_| !note.is_empty()) {
            let line = drop_blanks(line.strip_suffix(b"\r").unwrap_or(line));
            text.extend_from_slice(self.newline);
            if !line.is_empty() {
                text.extend_from_slice(&indent_to(column + 2));
                text.extend_from_slice(skip_blanks(line));
            }
        }
        // An empty line that is there already becomes the note.
        let lines = self.lines();
        let is_empty = index < lines.count() && lines.class(index) == Class::Blank;
        if is_empty {
            self.remove_line(index);
        }
        self.insert_line(index, &text);
        Ok(())
    }

    /// The line that the next note is put before, and the column of its dash. Makes the drawer if there is none.
    fn log_place(&mut self, rules: &LogRules<'_>) -> Result<(usize, usize), EditError> {
        let Some(name) = &rules.drawer else { return self.place_in_body(rules.latest_first) };
        let made = {
            let tree = self.tree();
            let below = tree.below(Self::headline(&tree)?)?;
            match tree.drawer_named(below.end, name) {
                Some(drawer) => return Ok(tree.place_in_drawer(drawer, rules.latest_first)),
                None => below.end,
            }
        };
        let drawer = [b":", &name[..], b":", self.newline, b":END:"].concat();
        self.insert_line(made, &drawer);
        Ok((made + 1, 0))
    }

    /// Returns the place of the next note, below the lines right behind the headline.
    fn place_in_body(&self, latest_first: bool) -> Result<(usize, usize), EditError> {
        let tree = self.tree();
        let below = tree.below(Self::headline(&tree)?)?;
        let lines = &tree.lines;
        let above = below.drawer.map(|(first, _)| first).or(below.planning);
        let column = above.map_or(0, |line| indentation(lines.content(line)));
        let first = lines.written(below.end, lines.count());
        if latest_first {
            return Ok((first, column));
        }
        let mut at = first;
        while let Some(end) = tree.state_note_end(at) {
            at = end;
        }
        if at == first {
            return Ok((below.end, column));
        }
        Ok((lines.unblanked(first, at), indentation(lines.content(first))))
    }
}

impl Tree<'_> {
    /// The first drawer of that name from a line on.
    pub(super) fn drawer_named(&self, from: usize, name: &[u8]) -> Option<usize> {
        (0..self.nodes.len()).find(|index| {
            let node = &self.nodes[*index];
            let line = self.lines.at(node.after_affiliated());
            let text = drop_blanks(skip_blanks(self.lines.content(line)));
            let inner = text.strip_prefix(b":").and_then(|text| text.strip_suffix(b":"));
            node.kind == Type::Drawer
                && line >= from
                && inner.is_some_and(|inner| inner.eq_ignore_ascii_case(name))
        })
    }

    pub(super) fn place_in_drawer(&self, drawer: usize, latest_first: bool) -> (usize, usize) {
        let node = &self.nodes[drawer];
        let first = self.lines.at(node.after_affiliated());
        let column = indentation(self.lines.content(first));
        let Some(contents) = node.contents().filter(|_| !latest_first) else {
            return (first + 1, column);
        };
        let end = self.lines.at(contents.end);
        let last = self.lines.unblanked(first + 1, end).max(first + 1) - 1;
        // Behind a list, as another item of it; otherwise as the line above.
        let is_item = |index: &usize| {
            let node = &self.nodes[*index];
            node.kind == Type::PlainList
                && node.span().start <= self.lines.start(last)
                && node.span().end > self.lines.start(last)
        };
        let list = (drawer + 1..self.nodes.len()).find(is_item);
        let line = list.map_or(last, |list| self.lines.at(self.nodes[list].after_affiliated()));
        (end, indentation(self.lines.content(line)))
    }

    /// The line behind a note on a state that begins there.
    fn state_note_end(&self, line: usize) -> Option<usize> {
        if line >= self.lines.count() || !is_state_note(self.lines.content(line)) {
            return None;
        }
        let start = self.lines.start(line);
        let is_item =
            |node: &&crate::tree::Node| node.kind == Type::Item && node.span().start == start;
        let item = self.nodes.iter().find(is_item)?;
        let end = item.span().end;
        Some(if end >= self.whole.len() { self.lines.count() } else { self.lines.at(end) })
    }
}

/// Columns that a character takes on a screen.
fn columns(letter: char) -> usize {
    let wide = matches!(u32::from(letter),
        0x1100..=0x115f | 0x2e80..=0x303e | 0x3041..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f900..=0x1f9ff
        | 0x2_0000..=0x3_fffd);
    if wide { 2 } else { 1 }
}

/// Whether a line begins a note on a state: `- State "DONE" from "TODO" [2026-11-15 Sun 10:00]`.
fn is_state_note(line: &[u8]) -> bool {
    let word = |rest: &mut &[u8], expect: &[u8]| {
        *rest = skip_blanks(rest);
        let fits = rest.strip_prefix(expect).map(|behind| *rest = behind).is_some();
        fits && rest.first() == Some(&b' ')
    };
    let state = |rest: &mut &[u8]| {
        *rest = skip_blanks(rest);
        if let Some(inner) = rest.strip_prefix(b"\"") {
            let length = inner.iter().take_while(|byte| !is_space(**byte)).count();
            *rest = if inner[..length].ends_with(b"\"") { &inner[length..] } else { rest };
        }
    };
    let mut rest = line;
    if !word(&mut rest, b"-") || !word(&mut rest, b"State") {
        return false;
    }
    state(&mut rest);
    if !word(&mut rest, b"from") {
        return false;
    }
    state(&mut rest);
    let rest = skip_blanks(rest);
    rest.starts_with(b"[") && Moment::read(rest).is_some()
}
