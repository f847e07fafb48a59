//! Makes the documents that the readers and printers are measured on: a tree with the shape of
//! `org-element` output, and a dense one of short atoms, each as S-expression text and as JSON text.
//!
//! Called by `reader` and `counts`. Deterministic: the same bytes on every machine, from a fixed seed.
//! Not a parser of Org, and not a generator of odd input: that is the work of the fuzz targets.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Seed of every document; a change here changes the numbers that regressions are compared with.
const SEED: u64 = 0x0b71_d1e0_5eed;

/// Size of each document's S-expression text in bytes, the size that the targets speak of.
pub const DOCUMENT_BYTES: usize = 5_000_000;

/// One datum of a document. Both texts are written from it, so both sides read the same tree.
#[derive(Debug, Clone)]
pub enum Tree {
    /// `nil` in Lisp, `null` in JSON.
    Nil,
    /// `t` in Lisp, `true` in JSON.
    T,
    /// `bold` in Lisp, `"bold"` in JSON.
    Symbol(&'static str),
    /// The name without its colon: `:begin` in Lisp, `":begin"` in JSON.
    Keyword(&'static str),
    /// A string in both.
    Text(String),
    /// A number in both.
    Integer(i64),
    /// `(a b)` in Lisp, `[a,b]` in JSON.
    List(Vec<Tree>),
}

/// A document in both notations.
#[derive(Debug, Clone)]
pub struct Document {
    /// Name in the tables.
    pub name: &'static str,
    /// The tree as S-expression text, readable by bridle, Common Lisp and Emacs alike.
    pub sexp: String,
    /// S-expression text with a newline for every blank between elements: no stretch of it is canonical, so a
    /// printer has to write every node.
    pub lines: String,
    /// The tree as JSON text.
    pub json: String,
}

impl Document {
    /// The Org document: headlines, sections, paragraphs, property lists, prose.
    pub fn org() -> Self {
        Self::from_tree("org", &Org::new(SEED).document(DOCUMENT_BYTES))
    }

    /// The dense document: property lists of short symbols and small numbers, hardly any prose.
    pub fn dense() -> Self {
        Self::from_tree("dense", &dense(DOCUMENT_BYTES))
    }

    /// Writes all texts into `folder`.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        std::fs::write(self.lines_path(folder), &self.lines)?;
        std::fs::write(self.sexp_path(folder), &self.sexp)?;
        std::fs::write(self.json_path(folder), &self.json)
    }

    /// Path of the S-expression text that `save` writes.
    pub fn sexp_path(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).with_extension("el")
    }

    /// Path of the S-expression text with newlines that `save` writes.
    pub fn lines_path(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).with_extension("lines.el")
    }

    /// Path of the JSON text that `save` writes.
    pub fn json_path(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).with_extension("json")
    }

    fn from_tree(name: &'static str, tree: &Tree) -> Self {
        let mut sexp = String::new();
        write_sexp(tree, ' ', &mut sexp);
        let mut lines = String::new();
        write_sexp(tree, '\n', &mut lines);
        let mut json = String::new();
        write_json(tree, &mut json);
        Self { name, sexp, lines, json }
    }
}

/// Writes `tree` as S-expression text, with `blank` between elements. Strings escape `"` and `\` only
/// and keep raw newlines, which is what both Lisps print.
fn write_sexp(tree: &Tree, blank: char, out: &mut String) {
    match tree {
        Tree::Nil => out.push_str("nil"),
        Tree::T => out.push('t'),
        Tree::Symbol(name) => out.push_str(name),
        Tree::Keyword(name) => {
            out.push(':');
            out.push_str(name);
        }
        Tree::Integer(number) => write_number(*number, out),
        Tree::Text(text) => {
            out.push('"');
            for character in text.chars() {
                if matches!(character, '"' | '\\') {
                    out.push('\\');
                }
                out.push(character);
            }
            out.push('"');
        }
        Tree::List(items) => {
            out.push('(');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(blank);
                }
                write_sexp(item, blank, out);
            }
            out.push(')');
        }
    }
}

/// Writes `tree` as JSON text, as compact as `serde_json` would.
fn write_json(tree: &Tree, out: &mut String) {
    match tree {
        Tree::Nil => out.push_str("null"),
        Tree::T => out.push_str("true"),
        Tree::Symbol(name) => {
            out.push('"');
            out.push_str(name);
            out.push('"');
        }
        Tree::Keyword(name) => {
            out.push_str("\":");
            out.push_str(name);
            out.push('"');
        }
        Tree::Integer(number) => write_number(*number, out),
        Tree::Text(text) => {
            out.push('"');
            for character in text.chars() {
                match character {
                    '"' | '\\' => out.extend(['\\', character]),
                    '\n' => out.push_str("\\n"),
                    other => out.push(other),
                }
            }
            out.push('"');
        }
        Tree::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
    }
}

fn write_number(number: i64, out: &mut String) {
    write!(out, "{number}").expect("a String takes every write");
}

/// SplitMix64: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, as an index.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    /// A number below `bound`, as a datum.
    fn number(&mut self, bound: u32) -> i64 {
        i64::try_from(self.next() % u64::from(bound)).expect("below a u32")
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Words of the prose. About one in twelve is not ASCII, one in twenty carries a character that
/// needs an escape.
const WORDS: &[&str] = &[
    "the",
    "record",
    "is",
    "written",
    "before",
    "anything",
    "acts",
    "on",
    "it",
    "and",
    "a",
    "reader",
    "who",
    "comes",
    "later",
    "finds",
    "every",
    "step",
    "in",
    "order",
    "notes",
    "meeting",
    "with",
    "project",
    "review",
    "next",
    "week",
    "budget",
    "call",
    "draft",
    "garden",
    "train",
    "kitchen",
    "library",
    "letter",
    "answer",
    "λ",
    "café",
    "東京",
    "مرحبا",
    "😀",
    "naïve",
    "\"quoted\"",
    "C:\\path",
    "—",
    "(aside)",
    "don't",
    "50%",
    "x=1",
    "of",
    "to",
    "for",
    "from",
    "that",
    "this",
    "which",
    "not",
    "but",
    "or",
    "as",
];

/// Markup objects that `org-element` nests inside paragraphs.
const MARKUP: &[&str] = &["bold", "italic", "underline", "strike-through"];

/// Walks forward through an imaginary Org buffer, so that positions rise as in a real tree.
struct Org {
    dice: Dice,
    /// Buffer position of the next element, in characters.
    position: i64,
}

impl Org {
    fn new(seed: u64) -> Self {
        Self { dice: Dice(seed), position: 1 }
    }

    /// `(org-data nil (section ..) (headline ..) ..)`, grown until its text passes `bytes`.
    fn document(mut self, bytes: usize) -> Tree {
        let mut children = vec![Tree::Symbol("org-data"), Tree::Nil, self.section()];
        let mut length = 0;
        let mut scratch = String::new();
        while length < bytes {
            let headline = self.headline(1);
            scratch.clear();
            write_sexp(&headline, ' ', &mut scratch);
            length += scratch.len();
            children.push(headline);
        }
        Tree::List(children)
    }

    fn headline(&mut self, level: u8) -> Tree {
        let begin = self.position;
        let title = self.sentence(4);
        let stamp = self.timestamp();
        let section = self.section();
        let mut below = Vec::new();
        if level < 4 {
            for _ in 0..self.dice.below(4) {
                below.push(self.headline(level + 1));
            }
        }
        let todo = self.dice.pick(&[None, Some("TODO"), Some("DONE")]);
        let mut plist = Plist::default();
        plist.text("raw-value", title.clone()).range(begin, self.position);
        plist.int("pre-blank", 0).int("level", i64::from(level)).int("priority", 65);
        plist.put("tags", Tree::List(vec![text("work"), text("@home")]));
        match todo {
            Some(word) => plist.text("todo-keyword", word.to_owned()).symbol("todo-type", "todo"),
            None => plist.nil("todo-keyword").nil("todo-type"),
        };
        plist.int("post-blank", 0).nil("footnote-section-p").nil("archivedp").nil("commentedp");
        plist.int("post-affiliated", begin).put("scheduled", stamp);
        let id =
            format!("{:08x}-{:04x}-4c1e-9e1a-{:012x}", self.dice.number(u32::MAX), level, begin);
        plist.text("ID", id).put("title", Tree::List(vec![Tree::Text(title)]));
        let mut items = vec![section];
        items.append(&mut below);
        node("headline", plist, items)
    }

    fn section(&mut self) -> Tree {
        let begin = self.position;
        let mut items = Vec::new();
        for _ in 0..1 + self.dice.below(4) {
            items.push(match self.dice.below(5) {
                0 => self.keyword(),
                1 => self.plain_list(),
                2 => self.source_block(),
                _ => self.paragraph(),
            });
        }
        let mut plist = Plist::default();
        plist.range(begin, self.position).int("post-blank", 1).int("post-affiliated", begin);
        node("section", plist, items)
    }

    fn paragraph(&mut self) -> Tree {
        let begin = self.position;
        let mut items = Vec::new();
        for _ in 0..1 + self.dice.below(4) {
            let length = 6 + self.dice.below(16);
            items.push(Tree::Text(self.sentence(length)));
            items.push(match self.dice.below(6) {
                0 => self.link(),
                1 => self.timestamp(),
                2 => self.leaf("code"),
                _ => self.markup(),
            });
        }
        let mut last = self.sentence(8);
        last.push_str(".\n");
        items.push(Tree::Text(last));
        let mut plist = Plist::default();
        plist.range(begin, self.position).int("post-blank", 0).int("post-affiliated", begin);
        node("paragraph", plist, items)
    }

    fn plain_list(&mut self) -> Tree {
        let begin = self.position;
        let mut items = Vec::new();
        for _ in 0..2 + self.dice.below(4) {
            let start = self.position;
            let paragraph = self.paragraph();
            let mut plist = Plist::default();
            plist.text("bullet", "- ".to_owned()).range(start, self.position);
            plist.symbol("checkbox", "off").nil("counter").int("pre-blank", 0).int("post-blank", 0);
            plist.int("post-affiliated", start).nil("tag");
            items.push(node("item", plist, vec![paragraph]));
        }
        let mut plist = Plist::default();
        plist.symbol("type", "unordered").range(begin, self.position);
        plist.int("post-blank", 0).int("post-affiliated", begin);
        node("plain-list", plist, items)
    }

    fn source_block(&mut self) -> Tree {
        let begin = self.position;
        let mut code = String::new();
        for _ in 0..2 + self.dice.below(6) {
            let words = self.sentence(3).replace('"', "");
            writeln!(code, "(defun step (x) \"{words}\" (+ x 1)) ; tail")
                .expect("a String takes every write");
        }
        let mut plist = Plist::default();
        plist.text("language", "lisp".to_owned()).nil("switches");
        plist.text("parameters", ":tangle ../src/x.lisp :results output".to_owned());
        plist.span(begin, self.position).nil("number-lines").put("preserve-indent", Tree::Nil);
        plist.put("retain-labels", Tree::T).put("use-labels", Tree::T).nil("label-fmt");
        plist.text("value", code).int("post-blank", 1).int("post-affiliated", begin);
        node("src-block", plist, Vec::new())
    }

    fn keyword(&mut self) -> Tree {
        let begin = self.position;
        let value = self.sentence(3);
        let mut plist = Plist::default();
        plist.text("key", "TITLE".to_owned()).text("value", value).span(begin, self.position);
        plist.int("post-blank", 0).int("post-affiliated", begin);
        node("keyword", plist, Vec::new())
    }

    fn markup(&mut self) -> Tree {
        let begin = self.position;
        let inner = self.sentence(2);
        let mut plist = Plist::default();
        plist.range(begin, self.position).int("post-blank", 1);
        node(self.dice.pick(MARKUP), plist, vec![Tree::Text(inner)])
    }

    fn leaf(&mut self, kind: &'static str) -> Tree {
        let begin = self.position;
        let value = self.sentence(2);
        let mut plist = Plist::default();
        plist.text("value", value).span(begin, self.position).int("post-blank", 1);
        node(kind, plist, Vec::new())
    }

    fn link(&mut self) -> Tree {
        let begin = self.position;
        let page = self.dice.number(100_000);
        let inner = self.sentence(3);
        let mut plist = Plist::default();
        plist
            .text("type", "https".to_owned())
            .text("path", format!("//example.org/page/{page}?b=1"));
        plist
            .symbol("format", "bracket")
            .text("raw-link", format!("https://example.org/page/{page}?b=1"));
        plist
            .nil("application")
            .nil("search-option")
            .range(begin, self.position)
            .int("post-blank", 1);
        node("link", plist, vec![Tree::Text(inner)])
    }

    fn timestamp(&mut self) -> Tree {
        let begin = self.position;
        self.position += 22;
        let (month, day) = (1 + self.dice.number(12), 1 + self.dice.number(28));
        let (hour, minute) = (self.dice.number(24), self.dice.number(60));
        let mut plist = Plist::default();
        plist.symbol("type", "active");
        plist.text("raw-value", format!("<2026-{month:02}-{day:02} Tue {hour:02}:{minute:02}>"));
        for (year_key, month_key, day_key, hour_key, minute_key) in [
            ("year-start", "month-start", "day-start", "hour-start", "minute-start"),
            ("year-end", "month-end", "day-end", "hour-end", "minute-end"),
        ] {
            plist.int(year_key, 2026).int(month_key, month).int(day_key, day);
            plist.int(hour_key, hour).int(minute_key, minute);
        }
        plist.span(begin, self.position).int("post-blank", 1);
        node("timestamp", plist, Vec::new())
    }

    fn sentence(&mut self, words: usize) -> String {
        let mut out = String::new();
        for index in 0..words {
            if index > 0 {
                out.push(' ');
            }
            out.push_str(self.dice.pick(WORDS));
        }
        self.position += i64::try_from(out.chars().count()).expect("a sentence is short") + 1;
        out
    }
}

/// The property list of one node, in the order in which `org-element` writes it.
#[derive(Default)]
struct Plist(Vec<Tree>);

impl Plist {
    fn put(&mut self, key: &'static str, value: Tree) -> &mut Self {
        self.0.extend([Tree::Keyword(key), value]);
        self
    }

    fn int(&mut self, key: &'static str, value: i64) -> &mut Self {
        self.put(key, Tree::Integer(value))
    }

    fn text(&mut self, key: &'static str, value: String) -> &mut Self {
        self.put(key, Tree::Text(value))
    }

    fn symbol(&mut self, key: &'static str, value: &'static str) -> &mut Self {
        self.put(key, Tree::Symbol(value))
    }

    fn nil(&mut self, key: &'static str) -> &mut Self {
        self.put(key, Tree::Nil)
    }

    fn span(&mut self, begin: i64, end: i64) -> &mut Self {
        self.int("begin", begin).int("end", end)
    }

    fn range(&mut self, begin: i64, end: i64) -> &mut Self {
        self.span(begin, end).int("contents-begin", begin + 1).int("contents-end", end - 1)
    }
}

fn node(kind: &'static str, plist: Plist, children: Vec<Tree>) -> Tree {
    let mut items = vec![Tree::Symbol(kind), Tree::List(plist.0)];
    items.extend(children);
    Tree::List(items)
}

fn text(text: &str) -> Tree {
    Tree::Text(text.to_owned())
}

/// A list of `(:a 1 :b x (..))` entries with names of one to five characters and small numbers.
fn dense(bytes: usize) -> Tree {
    const KEYS: &[&str] = &["a", "b", "id", "at", "key", "n", "of", "to", "kind", "level"];
    const SYMBOLS: &[&str] = &["x", "y", "on", "off", "foo", "left", "right", "up"];
    let mut dice = Dice(SEED ^ 1);
    let mut items = vec![Tree::Symbol("rows")];
    let mut length = 0;
    let mut scratch = String::new();
    while length < bytes {
        let mut row = Vec::new();
        for _ in 0..3 + dice.below(6) {
            row.push(Tree::Keyword(dice.pick(KEYS)));
            row.push(match dice.below(8) {
                0 | 1 => Tree::Symbol(dice.pick(SYMBOLS)),
                2 => Tree::Nil,
                3 => Tree::T,
                4 => text(dice.pick(&["ok", "no", "a b", "é"])),
                5 => Tree::List(
                    (0..1 + dice.below(4)).map(|_| Tree::Integer(dice.number(10))).collect(),
                ),
                _ => Tree::Integer(dice.number(1000) - 100),
            });
        }
        let row = Tree::List(row);
        scratch.clear();
        write_sexp(&row, ' ', &mut scratch);
        length += scratch.len() + 1;
        items.push(row);
    }
    Tree::List(items)
}
