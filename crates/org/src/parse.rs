//! From lines to the tree of elements, by the rules of Org 9.5.5. One walk with a stack of open containers on the
//! heap; each question for the line that closes something is answered from a table, and what would be looked at
//! again and again is remembered, so the whole is linear. Called by `Tree::read`.

mod block;
mod closers;
mod footnote;
mod list;
mod outline;
mod paragraph;
mod table;

use crate::keyword;
use crate::kind::Type;
use crate::line;
use crate::lines::{Class, Lines, narrow};
use crate::property;
use crate::tree::Node;
use closers::Closers;
use list::{Bullet, Structure};
use outline::Outline;

/// Kind of element that is expected next in a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A section, then headlines.
    Sections,
    /// The first element of the text: a comment, or the drawer of its properties.
    Top,
    /// The first element below a headline.
    Planning,
    /// The element behind the planning line, or behind the comment at the top.
    Properties,
    /// Anything.
    Any,
    /// Items of a list.
    Items,
}

/// A container that is open.
struct ElementFrame {
    node: usize,
    /// The line where the next element begins.
    at: usize,
    /// The line behind the contents.
    limit: usize,
    mode: Mode,
    /// The list whose item this is.
    list: Option<Structure>,
    /// Beginning of the first element when that is not the beginning of a line.
    inside_line: Option<usize>,
}

/// Element that was read, and the place at which to go on.
struct Parsed {
    /// The line where the next element begins.
    behind: usize,
    /// Contents, still to be read.
    contents: Option<ElementFrame>,
    kind: Type,
}

struct Parser<'l, 't> {
    lines: &'l Lines<'t>,
    closers: Closers,
    outline: Outline,
    nodes: Vec<Node>,
    bullets: Vec<Bullet>,
    /// The bullet that was asked for last.
    last_bullet: usize,
    /// The structure of a list that was made last, and the limit it was made for.
    last_list: Option<(Structure, usize)>,
    /// Lines of affiliated keywords, from one to before another, for a limit: looked at once.
    affiliated: (usize, usize, usize),
    /// Lines that look like a table of `table.el`, in the same way, and whether the last one is a rule.
    grid: (usize, usize, usize),
}

/// Reads the elements.
pub(crate) fn parse(lines: &Lines<'_>) -> Vec<Node> {
    let mut parser = Parser {
        lines,
        closers: Closers::new(lines),
        outline: Outline::new(lines),
        nodes: Vec::with_capacity(lines.count() / 2 + 1),
        bullets: Vec::new(),
        last_bullet: 0,
        last_list: None,
        affiliated: (0, 0, 0),
        grid: (0, 0, 0),
    };
    parser.run();
    parser.nodes
}

/// Place of an element: the first of its affiliated keywords, itself, and the limit of its container.
#[derive(Clone, Copy)]
struct Place {
    origin: usize,
    at: usize,
    limit: usize,
}

impl<'t> Parser<'_, 't> {
    fn run(&mut self) {
        let count = self.lines.count();
        let first = self.lines.written(0, count);
        let whole = Node::new(Type::OrgData, 0, self.lines.start(count));
        self.nodes.push(whole);
        let mut open = vec![ElementFrame {
            node: 0,
            at: first,
            limit: count,
            mode: Mode::Sections,
            list: None,
            inside_line: None,
        }];
        while let Some(frame) = open.last_mut() {
            if frame.at >= frame.limit {
                self.nodes[frame.node].next = narrow(self.nodes.len());
                open.pop();
                continue;
            }
            let inside_line = frame.inside_line.take();
            let (at, limit, mode, list) = (frame.at, frame.limit, frame.mode, frame.list);
            let node = self.nodes.len();
            let parsed = match inside_line {
                Some(offset) => self.paragraph_from(offset, at, limit),
                None => self.element(at, limit, mode, list),
            };
            frame.mode = next_mode(mode, parsed.kind);
            frame.at = parsed.behind;
            match parsed.contents {
                Some(contents) => open.push(contents),
                None => self.nodes[node].next = narrow(self.nodes.len()),
            }
        }
    }

    fn element(&mut self, at: usize, limit: usize, mode: Mode, list: Option<Structure>) -> Parsed {
        let class = self.lines.class(at);
        if class == Class::Heading {
            return self.headline(at, limit);
        }
        let below_headline = || at > 0 && self.lines.class(at - 1) == Class::Heading;
        match mode {
            Mode::Items => return self.item(at, list),
            Mode::Sections => return self.section(at, limit),
            _ if class == Class::Comment => return self.comment(at, limit),
            Mode::Planning if below_headline() => {
                if property::is_planning(self.lines.content(at)) {
                    return self.planning(at, limit);
                }
                if let Some(parsed) = self.property_drawer(at, limit) {
                    return parsed;
                }
            }
            Mode::Top | Mode::Properties if at == 0 || self.lines.class(at - 1) != Class::Blank => {
                if let Some(parsed) = self.property_drawer(at, limit) {
                    return parsed;
                }
            }
            _ => {}
        }
        if class == Class::Clock {
            return self.lone(Type::Clock, Place { origin: at, at, limit });
        }
        let behind = self.affiliated_end(at, limit);
        if behind == at || self.lines.class(behind) == Class::Blank {
            return self.unaffiliated(Place { origin: at, at, limit }, list);
        }
        if behind >= limit {
            return self.lone(Type::Keyword, Place { origin: at, at, limit });
        }
        self.unaffiliated(Place { origin: at, at: behind, limit }, list)
    }

    /// Reads what stands behind affiliated keywords, or has none.
    fn unaffiliated(&mut self, place: Place, list: Option<Structure>) -> Parsed {
        match self.lines.class(place.at) {
            Class::Environment => self.environment(place),
            Class::Drawer => self.drawer(place),
            Class::Fixed => self.run_of(Type::FixedWidth, place, Class::Fixed),
            Class::Marked => self.marked(place),
            Class::Footnote => self.footnote(place),
            Class::HorizontalRule => self.lone(Type::HorizontalRule, place),
            Class::Diary => self.lone(Type::DiarySexp, place),
            Class::Row => self.table(place),
            Class::Rule if self.is_grid(place.at, place.limit) => self.grid(place),
            Class::Item => self.plain_list(place, list),
            _ => self.paragraph(place),
        }
    }

    /// Reads a line that begins with `#+`.
    fn marked(&mut self, place: Place) -> Parsed {
        let Some(marked) = line::after_mark(self.lines.content(place.at)) else {
            return self.paragraph(place);
        };
        if let Some(name) = line::block_begin(marked) {
            return self.block(place, name);
        }
        if line::is_call(marked) {
            return self.lone(Type::BabelCall, place);
        }
        if line::is_dynamic(marked) {
            return self.dynamic_block(place);
        }
        match keyword::keyword(marked) {
            Some(_) => self.lone(Type::Keyword, place),
            None => self.paragraph(place),
        }
    }

    /// Reads an element of one line.
    fn lone(&mut self, kind: Type, place: Place) -> Parsed {
        self.flat(kind, place, place.at + 1)
    }

    /// Reads an element of all lines of a class.
    fn run_of(&mut self, kind: Type, place: Place, class: Class) -> Parsed {
        let mut end = place.at + 1;
        while end < place.limit && self.lines.class(end) == class {
            end += 1;
        }
        self.flat(kind, place, end)
    }

    fn comment(&mut self, at: usize, limit: usize) -> Parsed {
        self.run_of(Type::Comment, Place { origin: at, at, limit }, Class::Comment)
    }

    /// Adds an element without contents, of the lines to before `end`.
    fn flat(&mut self, kind: Type, place: Place, end: usize) -> Parsed {
        let behind = self.lines.written(end, place.limit);
        let node = self.node(kind, place, behind);
        self.nodes.push(node);
        Parsed { behind, contents: None, kind }
    }

    fn node(&self, kind: Type, place: Place, behind: usize) -> Node {
        let (begin, end) = (self.lines.start(place.origin), self.lines.start(behind));
        Node::new(kind, begin, end).with_affiliated(self.lines.start(place.at))
    }

    fn planning(&mut self, at: usize, limit: usize) -> Parsed {
        self.lone(Type::Planning, Place { origin: at, at, limit })
    }

    fn property_drawer(&mut self, at: usize, limit: usize) -> Option<Parsed> {
        let last = property::drawer_end(self.lines, at, limit)?;
        let parsed = self.flat(Type::PropertyDrawer, Place { origin: at, at, limit }, last + 1);
        let drawer = self.nodes.len() - 1;
        if at + 1 < last {
            let contents = self.lines.span(at + 1, last);
            self.nodes[drawer] = self.nodes[drawer].with_contents(contents.start, contents.end);
        }
        for index in at + 1..last {
            let span = self.lines.span(index, index + 1);
            let mut node = Node::new(Type::NodeProperty, span.start, span.end);
            node.next = narrow(self.nodes.len() + 1);
            self.nodes.push(node);
        }
        Some(parsed)
    }

    /// The line behind the affiliated keywords that begin at `at`.
    fn affiliated_end(&mut self, at: usize, limit: usize) -> usize {
        if self.lines.class(at) != Class::Marked {
            return at;
        }
        let (first, end, known_limit) = self.affiliated;
        if (first..end).contains(&at) && known_limit == limit {
            return end;
        }
        let mut end = at;
        while end < limit && self.is_affiliated(end) {
            end += 1;
        }
        self.affiliated = (at, end, limit);
        end
    }

    fn is_affiliated(&self, index: usize) -> bool {
        self.lines.class(index) == Class::Marked
            && line::after_mark(self.lines.content(index)).and_then(keyword::affiliated).is_some()
    }
}

fn next_mode(mode: Mode, kind: Type) -> Mode {
    match (mode, kind) {
        (Mode::Items, _) => Mode::Items,
        (Mode::Planning, Type::Planning) | (Mode::Top, Type::Comment) => Mode::Properties,
        _ => Mode::Any,
    }
}
