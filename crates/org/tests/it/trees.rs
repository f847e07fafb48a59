//! The tree: against what a real Emacs has recorded for the texts of `vectors/org`, and for texts that nobody would write.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]
// The room does no IO; its tests read files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::path::Path;

use bridle_org::{Count, Scratch, Tree, Type};
use proptest::collection;
use proptest::prelude::*;

use crate::lines::{LINES, PIECES};

#[path = "../../../../fuzz/org.rs"]
mod property;

fn vectors() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/org")
}

fn shown(source: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    Tree::read(source).show(Count::Characters, |node| {
        lines.push(String::from_utf8_lossy(&node.sexp()).into_owned());
    });
    lines
}

/// What Emacs saw in each text, by the name of its file.
fn recorded() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(vectors().join("peers/emacs.sexp")).unwrap();
    let mut trees: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        match line.strip_prefix("FILE ") {
            Some(file) => file.clone_into(&mut name),
            None => trees.entry(name.clone()).or_default().push(line.to_owned()),
        }
    }
    trees
}

#[test]
fn every_vector_has_the_tree_that_emacs_recorded() {
    let recorded = recorded();
    let mut different = String::new();
    let mut files = 0;
    for entry in std::fs::read_dir(vectors()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "org") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let expect = recorded.get(&name).unwrap_or_else(|| panic!("no record of {name}"));
        let got = shown(&std::fs::read(&path).unwrap());
        for (expect, got) in expect.iter().zip(&got).filter(|(expect, got)| expect != got) {
            different += &format!("{name}\n  emacs  {expect}\n  bridle {got}\n");
        }
        assert_eq!(expect.len(), got.len(), "{name}: {expect:#?} {got:#?}");
        files += 1;
    }
    assert!(different.is_empty(), "{different}");
    assert_eq!(files, recorded.len(), "a record of a text that is not there");
}

/// Texts of lines and pieces that Org knows, and of bytes that it does not.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(LINES).prop_map(|line| line.as_bytes().to_vec());
    let pieces = collection::vec(prop::sample::select(PIECES), 1..12)
        .prop_map(|pieces| pieces.concat().into_bytes());
    let piece = prop_oneof![4 => line, 4 => pieces, 1 => collection::vec(any::<u8>(), 0..12)];
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "", "\r"]);
    collection::vec((piece, end), 0..40).prop_map(|lines| {
        lines.into_iter().flat_map(|(line, end)| [line, end.as_bytes().to_vec()].concat()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_becomes_a_tree_and_back(source in text()) {
        property::org_read(&source);
    }
}

/// Pieces that, said again and again, could make each place look at all that follows it.
const HOSTILE: &[&str] = &[
    "*a ",
    "/a ",
    "=a ",
    "*a /b _c ",
    "[[a][b ",
    "<http:",
    "\\(",
    "$$",
    "$a ",
    "{{{a(",
    "@@a:",
    "src_x.",
    "call_x.",
    "[fn:a:",
    "[cite:@a ",
    "a_{",
    "a^(",
    "[2020-01-01 ",
    "<2020-01-01+",
    "<%%(",
    "http:(",
    "<<a",
    "_",
    "a_",
    "*",
    "|",
    "+-+\n",
    "#+begin_x\n",
    ":d:\n",
    "- a\n- b\n",
    "| a | b |\n",
    "#+caption: x\n",
    "[[a]]",
    "<<<a>>> a ",
    "\\end{a}\n",
    "a_{{{",
    "- a\n  #+begin_src\n",
    "[fn:1] a\n\n",
    "* a\n** b\n",
    "\n",
    "[1/",
    "[@",
    "::",
    " :: ",
    "\\begin{a}\n",
    "[cite:",
    "[cite:@ ",
    "#+caption: *a [[\n",
    "<<<a a>>> ",
];

/// A reader that is not linear does not end here in time.
#[test]
fn hostile_texts_are_read_in_one_go() {
    const SIZE: usize = 1 << 16;
    for piece in HOSTILE {
        property::org_read(piece.repeat(SIZE / piece.len()).as_bytes());
    }
    let nested: String = (0..3000).map(|depth| format!("{}- a\n", " ".repeat(depth))).collect();
    property::org_read(nested.as_bytes());
    let outward: String =
        (0..1000).rev().map(|depth| format!("{}- a\n", " ".repeat(depth))).collect();
    property::org_read((outward + &"- b\n".repeat(SIZE / 4)).as_bytes());
    property::org_read(("a*".repeat(1 << 12) + &"*a".repeat(1 << 12)).as_bytes());
    property::org_read(("[cite:".repeat(1 << 13) + &"]".repeat(1 << 13)).as_bytes());
    let verse = format!("#+begin_verse\n{}\n\n>\n#+end_verse\n", "<http:".repeat(1 << 13));
    property::org_read(verse.as_bytes());
    let nested = format!("<<<r>>>\n{}a{}\n", "*/".repeat(1 << 12), "/*".repeat(1 << 12));
    property::org_read(nested.as_bytes());
    // Many beginnings of timestamps that share what could have made one of them.
    let stamps = "<2020-01-01".repeat(1 << 13) + " x" + &"0".repeat(SIZE) + "w>";
    property::org_read(stamps.as_bytes());
    let plans = format!("* a\n{}<2020-01-01>\n", "SCHEDULED: <2020-01-01 ".repeat(1 << 12));
    property::org_read(plans.as_bytes());
    let targets: String = (0..1 << 12).map(|number| format!("<<<a{number}>>> a a ")).collect();
    property::org_read(targets.as_bytes());
}

/// As Emacs prints it; it would not be Lisp otherwise.
#[test]
fn bytes_that_are_no_text_are_shown_by_their_numbers() {
    let lines = shown(b"* T\xe9st \xc3\n");
    assert_eq!(lines[1], r#"(1 headline 1 10 nil nil 1 1 nil nil nil nil nil nil "T\351st \303")"#);
}

#[test]
fn a_list_of_objects_can_be_used_again() {
    let source = b"*a* /b/\n\n=c=\n";
    let tree = Tree::read(source);
    let (mut scratch, mut objects) = (Scratch::default(), bridle_org::Objects::default());
    let mut kinds = Vec::new();
    for id in tree.ids() {
        tree.objects_into(id, &mut scratch, &mut objects);
        kinds.push(objects.nodes().iter().map(|object| object.kind).collect::<Vec<_>>());
        assert_eq!(tree.objects(id).nodes(), objects.nodes());
    }
    let expect = [vec![], vec![], vec![Type::Bold, Type::Italic], vec![Type::Verbatim]];
    assert_eq!(kinds, expect);
}
