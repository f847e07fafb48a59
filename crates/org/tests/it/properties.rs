//! What must hold for any text: no panic, no byte lost, spans in order, insertions that change nothing else
//! and whose diff, applied by somebody else, gives the same text.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

use bridle_org::{Document, Edit, Kind};
use proptest::collection;
use proptest::prelude::*;

use crate::lines::LINES;

/// Lines of Org, of anything, and of both mixed.
pub(crate) fn text() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(LINES).prop_map(|line| line.as_bytes().to_vec());
    let piece = prop_oneof![
        6 => known,
        1 => collection::vec(any::<u8>(), 0..12),
        1 => "[ \t]{0,3}[*#+:,\\[\\]<>|\\\\(){}\"a-cé-]{0,12}[ \t]{0,2}".prop_map(String::into_bytes),
    ];
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "", "\r"]);
    collection::vec((piece, end), 0..40).prop_map(|lines| {
        lines.into_iter().flat_map(|(line, end)| [line, end.as_bytes().to_vec()].concat()).collect()
    })
}

fn check(source: &[u8]) {
    let document = Document::read(source);
    let mut at = 0;
    for element in document.elements() {
        assert_eq!(element.span.start, at, "{element:?}");
        assert!(element.span.end > at, "{element:?}");
        assert_eq!(element.line, document.line_at(at));
        at = element.span.end;
    }
    assert_eq!(at, source.len());
    let joined: Vec<u8> =
        document.elements().iter().flat_map(|element| element.span.of(source).to_vec()).collect();
    assert_eq!(joined, source);
    headings(&document);
    for block in document.sources() {
        let raw = block.body_span.of(source);
        assert!(block.span.start < block.body_span.start && block.body_span.end < block.span.end);
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines(&block.body()), lines(raw), "commas change no line");
        assert_eq!(document.line_at(block.body_span.start), block.line_in_file(1));
        assert!(block.arguments().len() <= source.len());
    }
    let found = |wanted: fn(&Kind) -> bool| {
        document.elements().iter().filter(|element| wanted(&element.kind)).count()
    };
    assert_eq!(found(|kind| matches!(kind, Kind::Heading(_))), document.headings().len());
    assert_eq!(found(|kind| matches!(kind, Kind::Source(_))), document.sources().len());
    assert_eq!(found(|kind| *kind == Kind::Keyword), document.keywords().len());
}

/// Sections tile what is behind the first heading; subtrees nest.
fn headings(document: &Document) {
    let all = document.headings();
    for pair in all.windows(2) {
        assert_eq!(pair[0].section.end, pair[1].section.start);
    }
    for heading in all {
        let parent = heading.parent.map(|parent| document.heading(parent).unwrap());
        assert!(parent.is_none_or(|parent| parent.level < heading.level
            && parent.subtree.start < heading.subtree.start
            && heading.subtree.end <= parent.subtree.end));
        for child in &heading.children {
            let child = document.heading(*child).unwrap();
            assert_eq!(document.heading(child.parent.unwrap()).unwrap().span, heading.span);
        }
    }
}

/// The text that `patch` would make: a second opinion on the diff, written from its format alone.
fn patched(source: &[u8], diff: &[u8]) -> Vec<u8> {
    let mut lines = diff.split_inclusive(|byte| *byte == b'\n').skip(2).peekable();
    let rows: Vec<&[u8]> = source.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut made, mut at) = (Vec::new(), 0);
    while let Some(head) = lines.next() {
        let head = String::from_utf8(head.to_vec()).unwrap();
        let numbers: Vec<usize> = head
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        let [start, old, _, new] = numbers[..] else { panic!("{head}") };
        // Without lines of the old text, a hunk stands behind the line that it names.
        let first = if old == 0 { start } else { start - 1 };
        made.extend(rows[at..first].concat());
        let (mut taken, mut given) = (0, 0);
        while (taken, given) != (old, new) {
            let line = lines.next().expect("a hunk is as long as it says");
            let unended = lines.next_if(|next| next.starts_with(b"\\")).is_some();
            let body = &line[1..line.len() - usize::from(unended)];
            if line[0] != b'+' {
                assert_eq!(body, rows[first + taken], "{}", String::from_utf8_lossy(diff));
                taken += 1;
            }
            if line[0] != b'-' {
                made.extend_from_slice(body);
                given += 1;
            }
        }
        at = first + taken;
    }
    made.extend(rows[at..].concat());
    made
}

pub(crate) fn check_edit(source: &[u8], edit: &Edit) {
    let applied = edit.apply();
    let mut at = 0;
    let mut behind = applied.as_slice();
    for splice in edit.splices() {
        let kept = &source[at..splice.span.start];
        behind = behind.strip_prefix(kept).expect("what is before a change stays");
        behind = behind.strip_prefix(splice.text.as_slice()).expect("what is put there is there");
        at = splice.span.end;
    }
    assert_eq!(behind, &source[at..]);
    assert_eq!(patched(source, &edit.diff("policies.org")), applied);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_text_is_tiled(source in text()) {
        check(&source);
    }

    #[test]
    fn insertions_change_nothing_else(source in text(), addition in text(), pick in any::<prop::sample::Index>()) {
        let document = Document::read(&source);
        if !document.elements().is_empty() {
            let span = document.elements()[pick.index(document.elements().len())].span;
            check_edit(&source, &document.insert_after(span, &addition).unwrap());
        }
        let headings = document.elements().iter().filter_map(|element| match element.kind {
            Kind::Heading(id) => Some(id),
            _ => None,
        });
        for id in headings {
            check_edit(&source, &document.append_subtree(id, &addition).unwrap());
        }
    }
}

/// Beginnings of which each could cost a walk to the end of the text.
#[test]
fn many_beginnings_are_read_in_one_go() {
    const SIZE: usize = 1 << 18;
    let pieces = [
        "#+begin_src a\n",
        "#+begin_quote\n",
        "#+begin_x\n#+end_y\n",
        ":d:\n",
        "\\begin{a}\n",
        "[fn:1]\n",
        "#+name: x\n",
        "* a\n",
        " - a\n",
        "#+begin: x\n",
        "\n",
        "*",
        "SCHEDULED: <",
        "#+begin_src a :b (",
        "\" :a ",
        "#+caption[]: ",
        "[fn:",
        "* :a:b",
        ":a:\n#+begin_q\n",
    ];
    for piece in pieces {
        check(piece.repeat(SIZE / piece.len()).as_bytes());
    }
    let nested: String = (0..1000).map(|depth| format!("{}- a\n", " ".repeat(depth))).collect();
    check(nested.as_bytes());
    let one_line = format!("#+begin_src a :b {}\n#+end_src\n", "( \" [ :a ".repeat(SIZE / 9));
    check(one_line.as_bytes());
}
