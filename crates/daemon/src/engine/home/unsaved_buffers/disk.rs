//! The AST of a file that no shell has open: made of its text, in one of the two usual shapes.
//!
//! Called by `get` with what whoever asks may see. Nothing here reads a file, and nothing is kept. No recursion: the
//! nodes come in the order of the text.

use std::borrow::Cow;

use bridle_org::{Count, Fact, Shown, Tree};
use bridle_sexp::{Dialect, Value, print};

/// Nodes whose contents are text with objects in it.
const WITH_TEXT: [&str; 13] = [
    "bold",
    "citation",
    "footnote-reference",
    "italic",
    "link",
    "paragraph",
    "radio-target",
    "strike-through",
    "subscript",
    "superscript",
    "table-cell",
    "underline",
    "verse-block",
];

/// Shape in which a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum NodeShape {
    /// `(TYPE (PROPERTIES) CONTENTS..)`, as `org-element-parse-buffer` gives it.
    Element,
    /// `(:type TYPE :properties (..) :contents (..))`.
    Plist,
}

impl NodeShape {
    /// The shape that a payload asks for, else that of the dialect; `None` for one that there is not.
    pub(in crate::engine) fn of(payload: &Value, dialect: Dialect) -> Option<NodeShape> {
        match payload.get("shape") {
            None if dialect == Dialect::Emacs => Some(NodeShape::Element),
            None => Some(NodeShape::Plist),
            Some(word) if word.is_keyword("org-element") => Some(NodeShape::Element),
            Some(word) if word.is_keyword("plist") => Some(NodeShape::Plist),
            Some(_) => None,
        }
    }

    pub(in crate::engine) fn word(self) -> &'static str {
        match self {
            NodeShape::Element => "org-element",
            NodeShape::Plist => "plist",
        }
    }
}

/// The AST of a text; `None` if it is longer than `most` bytes.
pub(in crate::engine) fn ast(
    source: &str,
    shape: NodeShape,
    dialect: Dialect,
    most: usize,
) -> Option<String> {
    let mut writer =
        AstWriter { source, shape, dialect, most, out: String::new(), open: Vec::new() };
    Tree::read(source.as_bytes()).show(Count::Characters, |shown| writer.take(shown));
    writer.close_to(0);
    (writer.out.len() <= most).then_some(writer.out)
}

struct AstWriter<'s> {
    source: &'s str,
    shape: NodeShape,
    dialect: Dialect,
    most: usize,
    out: String,
    open: Vec<OpenNode>,
}

/// A node that is being written. Places are bytes.
struct OpenNode {
    /// From where on there are contents; what comes before is said by a property.
    start: usize,
    end: usize,
    /// Up to where they are written.
    done: usize,
    has_text: bool,
    /// Written at all.
    is_shown: bool,
}

impl AstWriter<'_> {
    fn take(&mut self, shown: &Shown<'_>) {
        self.close_to(shown.depth);
        // Too long already: nobody gets it.
        let is_shown = self.out.len() <= self.most && self.lead_up_to(shown);
        let (start, end) = match shown.node.contents() {
            Some(span) => (span.start, span.end),
            // All of the text is in the first node.
            None if shown.depth == 0 => (0, self.source.len()),
            None => (usize::MAX, 0),
        };
        let has_text = WITH_TEXT.contains(&shown.node.kind.name());
        self.open.push(OpenNode { start, end, done: start, has_text, is_shown });
        if is_shown {
            self.begin(shown);
        }
    }

    /// Writes the text before a node; tells whether the node is among the contents of the one it is in.
    fn lead_up_to(&mut self, shown: &Shown<'_>) -> bool {
        let span = shown.node.span();
        let Some(parent) = self.open.last_mut() else { return true };
        if !parent.is_shown || span.start < parent.start {
            return false;
        }
        let text = parent.done..span.start;
        parent.done = span.end;
        if parent.has_text {
            self.text(text);
        }
        true
    }

    fn begin(&mut self, shown: &Shown<'_>) {
        if !self.out.is_empty() {
            self.out.push(' ');
        }
        let name = shown.node.kind.name();
        self.out.push_str(&match self.shape {
            NodeShape::Element => format!("({name} ("),
            NodeShape::Plist => format!("(:type :{name} :properties ("),
        });
        self.out.push_str(&format!(":begin {} :end {}", shown.span.start, shown.span.end));
        if let Some(span) = shown.contents {
            let (begin, end) = (span.start, span.end);
            self.out.push_str(&format!(" :contents-begin {begin} :contents-end {end}"));
        }
        for (name, fact) in &shown.facts {
            self.out.push_str(&format!(" :{name} "));
            self.fact(fact);
        }
        self.out.push_str(match self.shape {
            NodeShape::Element => ")",
            NodeShape::Plist => ") :contents (",
        });
    }

    /// Ends the nodes that are as deep, or deeper.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(open) = self.open.pop() else { return };
            if !open.is_shown {
                continue;
            }
            if open.has_text {
                self.text(open.done..open.end);
            }
            self.out.push_str(match self.shape {
                NodeShape::Element => ")",
                NodeShape::Plist => "))",
            });
        }
    }

    fn text(&mut self, place: std::ops::Range<usize>) {
        let text = self.source.get(place).filter(|text| !text.is_empty());
        if let Some(text) = text {
            self.out.push(' ');
            print(&Value::str(text), self.dialect, &mut self.out);
        }
    }

    fn fact(&mut self, fact: &Fact<'_>) {
        match fact {
            Fact::List(all) => {
                self.out.push('(');
                for (index, one) in all.iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { " " });
                    // What is in a list is never a list.
                    self.leaf(one);
                }
                self.out.push(')');
            }
            leaf => self.leaf(leaf),
        }
    }

    fn leaf(&mut self, fact: &Fact<'_>) {
        match fact {
            Fact::True => self.out.push('t'),
            Fact::Number(number) => self.out.push_str(&number.to_string()),
            Fact::Word(word) => self.out.push_str(word),
            Fact::Text(text) => {
                let text: Cow<'_, str> = String::from_utf8_lossy(text);
                print(&Value::str(&*text), self.dialect, &mut self.out);
            }
            _ => self.out.push_str("nil"),
        }
    }
}

#[cfg(test)]
mod tests {
    use bridle_sexp::{Dialect, Reader};

    use super::{NodeShape, ast};

    const TEXT: &str = "* TODO /A/ *b*\nOne *two* é.\n** C\n";

    #[test]
    fn both_shapes_have_what_is_there_in_its_order() {
        let element = ast(TEXT, NodeShape::Element, Dialect::Emacs, 1 << 20).unwrap();
        let plist = ast(TEXT, NodeShape::Plist, Dialect::Lisp, 1 << 20).unwrap();
        assert!(element.starts_with("(org-data (:begin 1 :end "), "{element}");
        assert!(plist.starts_with("(:type :org-data :properties (:begin 1 "), "{plist}");
        let bold =
            "\"One \" (bold (:begin 20 :end 26 :contents-begin 21 :contents-end 24) \"two\")";
        assert!(element.contains(bold), "{element}");
        assert_eq!(element.matches("(bold").count(), 1, "a title is a property: {element}");
        assert!(element.contains(":raw-value \"/A/ *b*\""), "{element}");
        for (text, dialect) in [(&element, Dialect::Emacs), (&plist, Dialect::Lisp)] {
            Reader::new().dialect(dialect).read_one(text).unwrap_or_else(|e| panic!("{e}: {text}"));
        }
        assert_eq!(ast(TEXT, NodeShape::Element, Dialect::Emacs, 10), None, "it is too long");
    }
}
