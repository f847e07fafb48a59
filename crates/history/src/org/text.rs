//! Org syntax: headings, drawers, blocks and tables around text that may look like any of them.

use bridle_sexp::{Dialect, Value, print};

/// Characters of a heading that come from what people sent.
const MAX_TITLE_CHARS: usize = 60;

/// An Org text that is being written.
#[derive(Debug, Default)]
pub(super) struct OrgDocument(String);

impl OrgDocument {
    /// Text that was written since the last time.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }

    /// Appends what another one holds.
    pub(super) fn append(&mut self, other: &mut OrgDocument) {
        self.0.push_str(&other.0);
        other.0.clear();
    }

    /// A heading. The title is the caller's own word first, so that it cannot be a keyword.
    pub(super) fn heading(&mut self, level: usize, title: &str) {
        self.0.extend(std::iter::repeat_n('*', level));
        self.0.push(' ');
        self.0.push_str(&one_line(title));
        self.0.push('\n');
    }

    /// The property drawer that belongs behind a heading.
    pub(super) fn drawer(&mut self, pairs: &[(&str, String)]) {
        self.0.push_str(":PROPERTIES:\n");
        for (key, value) in pairs {
            self.0.push_str(&format!(":{key}: {}\n", one_line(value)));
        }
        self.0.push_str(":END:\n");
    }

    /// Our own words.
    pub(super) fn paragraph(&mut self, words: &str) {
        self.0.push_str(words);
        self.0.push('\n');
    }

    /// Foreign text, as it is.
    pub(super) fn example(&mut self, text: &str) {
        self.block("example", "example", text);
    }

    /// A form, on one line.
    pub(super) fn form(&mut self, value: &Value) {
        let mut text = String::new();
        print(value, Dialect::Emacs, &mut text);
        self.block("src lisp-data", "src", &text);
    }

    /// A few words of somebody, as fixed-width lines: nothing in them is markup.
    pub(super) fn fixed(&mut self, text: &str) {
        for line in text.lines() {
            self.0.push_str(": ");
            tame(line, &mut self.0);
            self.0.push('\n');
        }
    }

    /// A table whose cells are words of ours.
    pub(super) fn table(&mut self, head: [&str; 2], rows: &[[String; 2]]) {
        self.0.push_str(&format!("| {} | {} |\n|-\n", head[0], head[1]));
        for [left, right] in rows {
            self.0.push_str(&format!("| {} | {} |\n", cell(left), cell(right)));
        }
    }

    fn block(&mut self, begin: &str, end: &str, text: &str) {
        self.0.push_str(&format!("#+begin_{begin}\n"));
        for line in text.split('\n') {
            escaped(line, &mut self.0);
            self.0.push('\n');
        }
        self.0.push_str(&format!("#+end_{end}\n"));
    }
}

/// A line inside a block: one that Org would take for a heading or a keyword gets a comma, and so
/// does one that has commas there already; Org takes one away.
fn escaped(line: &str, out: &mut String) {
    let rest = line.trim_start_matches([' ', '\t']);
    let bare = rest.trim_start_matches(',');
    if bare.starts_with('*') || bare.starts_with("#+") {
        out.push_str(&line[..line.len() - rest.len()]);
        out.push(',');
        tame(rest, out);
    } else {
        tame(line, out);
    }
}

/// Text without what an editor would take for line ends or worse; tabs stay.
fn tame(line: &str, out: &mut String) {
    let picture =
        |c: char| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
    out.extend(line.chars().map(picture));
}

/// Text on one line, without a colon at its end, which could make its last word a tag.
fn one_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(blank).collect::<String>().trim().trim_end_matches(':').to_owned()
}

fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\vert{}")
}

/// The beginning of a text, for a heading.
pub(super) fn title(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = words.char_indices().nth(MAX_TITLE_CHARS) {
        words.truncate(cut);
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{OrgDocument, title};

    fn check(text: &str, block: &str) {
        let mut doc = OrgDocument::default();
        doc.example(text);
        assert_eq!(doc.take(), format!("#+begin_example\n{block}\n#+end_example\n"));
    }

    #[test]
    fn lines_that_look_like_org_get_a_comma() {
        check("* a\n  ** b\n,* c\n,,#+d", ",* a\n  ,** b\n,,* c\n,,,#+d");
        check("#+end_example", ",#+end_example");
        check("# a\n-* b\na * b\n,a", "# a\n-* b\na * b\n,a");
        check("a\u{0}b\rc\td", "a\u{fffd}b\u{fffd}c\td");
    }

    #[test]
    fn headings_are_one_line_without_tags() {
        let mut doc = OrgDocument::default();
        doc.heading(2, "Turn 1: a\nb :tag:");
        assert_eq!(doc.take(), "** Turn 1: a b :tag\n");
        assert_eq!(title(&"word ".repeat(40)).chars().count(), 61);
        assert_eq!(title(" a\n\tb "), "a b");
    }
}
