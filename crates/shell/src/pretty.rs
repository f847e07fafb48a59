//! Forms laid out for people: short ones on one line, property lists one key a line. Atoms keep
//! their exact spelling. Used by `sexp --pretty`, `health` and `tap`.
//!
//! Not the canonical printer: nothing may be signed or compared in this layout.

use std::iter::Peekable;

use bridle_sexp::{Children, Kind, Node};

use crate::screen::neutral_block;

/// Options of the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutStyle {
    /// Columns a line should keep to.
    pub width: usize,
    /// Columns before every line.
    pub indent: usize,
    /// Whether to color, which is for terminals.
    pub color: ColorChoice,
    /// Whether controls inside strings are shown as they are.
    pub controls: ControlStyle,
}

/// Color or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorChoice {
    /// Text alone.
    Never,
    /// ANSI colors.
    Always,
}

/// Treatment of control characters inside strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlStyle {
    /// Control characters stay: the output can be read back.
    Keep,
    /// All but newline and tab are neutralised, so that a peer cannot drive a terminal.
    Picture,
}

impl Default for LayoutStyle {
    fn default() -> LayoutStyle {
        LayoutStyle {
            width: 100,
            indent: 0,
            color: ColorChoice::Never,
            controls: ControlStyle::Keep,
        }
    }
}

/// A key's value stays beside it up to this column; further right it goes to its own line.
const MAX_HANG: usize = 48;

/// Appends `node`, without a newline at the end.
pub fn write(node: Node<'_>, style: &LayoutStyle, out: &mut String) {
    let blanks = " ".repeat(style.indent);
    out.push_str(&blanks);
    FormLayout { style, out, column: style.indent }.run(node);
}

/// A list that was opened and not yet closed. A stack of these takes the place of recursion on
/// input.
struct OpenForm<'t> {
    children: Peekable<Children<'t>>,
    /// Number of children written.
    written: usize,
    close: &'static str,
    shape: ListShape,
    /// Column at which the lines of a broken list start.
    column: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ListShape {
    Plain,
    Dotted,
    Plist,
}

impl<'t> OpenForm<'t> {
    fn new(node: Node<'t>, close: &'static str, column: usize) -> OpenForm<'t> {
        let shape = match node.kind() {
            Kind::Dotted => ListShape::Dotted,
            Kind::List if node.pairs().is_some() => ListShape::Plist,
            _ => ListShape::Plain,
        };
        OpenForm { children: node.children().peekable(), written: 0, close, shape, column }
    }

    /// The next child, with the number of children before it.
    fn next_child(&mut self) -> Option<(usize, Node<'t>)> {
        let child = self.children.next()?;
        self.written += 1;
        Some((self.written - 1, child))
    }

    /// Whether the child that was just taken is the tail behind a dot.
    fn at_tail(&mut self) -> bool {
        self.shape == ListShape::Dotted && self.children.peek().is_none()
    }
}

struct FormLayout<'a> {
    style: &'a LayoutStyle,
    out: &'a mut String,
    column: usize,
}

impl FormLayout<'_> {
    fn run(&mut self, root: Node<'_>) {
        let mut stack = Vec::new();
        self.node(root, &mut stack);
        while let Some(top) = stack.last_mut() {
            let Some((index, child)) = top.next_child() else {
                self.text(top.close);
                stack.pop();
                continue;
            };
            let is_value = top.shape == ListShape::Plist && index % 2 == 1;
            match index {
                0 => {}
                _ if is_value && self.column <= MAX_HANG => self.text(" "),
                _ if is_value => self.line(top.column + 1),
                _ => self.line(top.column),
            }
            if top.at_tail() {
                self.text(". ");
            }
            self.node(child, &mut stack);
        }
    }

    /// Writes an atom or a form that fits on the line; opens any other.
    fn node<'t>(&mut self, node: Node<'t>, stack: &mut Vec<OpenForm<'t>>) {
        match brackets(node) {
            None => self.atom(node),
            Some(_) if self.fits(node) => flat(node, &mut |piece| {
                match piece {
                    LinePiece::Text(text) => self.text(text),
                    LinePiece::Atom(node) => self.atom(node),
                }
                true
            }),
            Some((open, close)) => {
                self.text(open);
                stack.push(OpenForm::new(node, close, self.column));
            }
        }
    }

    /// Whether the form fits on what is left of the line. Gives up at the edge, so that the whole
    /// layout stays in proportion to the form.
    fn fits(&self, node: Node<'_>) -> bool {
        let room = self.style.width.saturating_sub(self.column);
        let mut width = 0;
        let mut fits = true;
        flat(node, &mut |piece| {
            let text = match piece {
                LinePiece::Text(text) => text,
                LinePiece::Atom(node) => node.source(),
            };
            let mut chars = 0;
            let on_line = text.chars().take(room + 1).all(|c| {
                chars += 1;
                c != '\n'
            });
            width += chars;
            fits = on_line && width <= room;
            fits
        });
        fits
    }

    fn line(&mut self, column: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', column));
        self.column = column;
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
    }

    fn atom(&mut self, node: Node<'_>) {
        let text = node.source();
        let code = match (self.style.color, node.kind()) {
            (ColorChoice::Never, _) => None,
            (_, Kind::Keyword) => Some("36"),
            (_, Kind::String | Kind::Char) => Some("32"),
            (_, Kind::Integer | Kind::Ratio | Kind::Float) => Some("33"),
            _ => None,
        };
        if let Some(code) = code {
            self.out.extend(["\x1b[", code, "m"]);
        }
        match self.style.controls {
            ControlStyle::Keep => self.out.push_str(text),
            ControlStyle::Picture => self.out.push_str(&neutral_block(text)),
        }
        if code.is_some() {
            self.out.push_str("\x1b[0m");
        }
        self.column = match text.rfind('\n') {
            Some(last) => text[last + 1..].chars().count(),
            None => self.column + text.chars().count(),
        };
    }
}

/// The brackets of a form with children. `'x` and its kin are lists, but are shown as written.
fn brackets(node: Node<'_>) -> Option<(&'static str, &'static str)> {
    let source = node.source();
    match node.kind() {
        Kind::List | Kind::Dotted if source.starts_with('(') => Some(("(", ")")),
        Kind::Vector if source.starts_with('[') => Some(("[", "]")),
        Kind::Vector | Kind::Propertized if source.starts_with("#(") => Some(("#(", ")")),
        _ => None,
    }
}

/// A piece of a form on one line.
enum LinePiece<'t> {
    Text(&'static str),
    Atom(Node<'t>),
}

/// Walks a form as it looks on one line, until `take` says that it has enough.
fn flat<'t>(root: Node<'t>, take: &mut dyn FnMut(LinePiece<'t>) -> bool) {
    let mut stack: Vec<OpenForm<'t>> = Vec::new();
    let mut next = Some(root);
    loop {
        if let Some(node) = next.take() {
            let goes_on = match brackets(node) {
                None => take(LinePiece::Atom(node)),
                Some((open, close)) => {
                    stack.push(OpenForm::new(node, close, 0));
                    take(LinePiece::Text(open))
                }
            };
            if !goes_on {
                return;
            }
        }
        let Some(top) = stack.last_mut() else {
            return;
        };
        let goes_on = match top.next_child() {
            None => {
                let close = top.close;
                stack.pop();
                take(LinePiece::Text(close))
            }
            Some((index, child)) => {
                next = Some(child);
                let blank = index == 0 || take(LinePiece::Text(" "));
                blank && (!top.at_tail() || take(LinePiece::Text(". ")))
            }
        };
        if !goes_on {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
