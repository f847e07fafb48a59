//! What the reader says of small texts, where Emacs has no say: merged properties, places, kinds of
//! elements, bytes that are no text, insertions.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

use bridle_org::{Document, Fact, Kind, Opaque, Span, TodoState, Tree, Type};

/// One word for each element: its kind and how many lines it has.
fn kinds(source: &[u8]) -> String {
    let document = Document::read(source);
    let words = document.elements().iter().map(|element| {
        let word = match element.kind {
            Kind::Heading(_) => "heading",
            Kind::Planning => "planning",
            Kind::Properties => "properties",
            Kind::Keyword => "keyword",
            Kind::Source(_) => "source",
            Kind::Opaque(Opaque::Example) => "example",
            Kind::Opaque(Opaque::Environment) => "environment",
            Kind::Begin => "begin",
            Kind::End => "end",
            Kind::Text => "text",
            other => panic!("{other:?}"),
        };
        let lines = element.span.of(source).split_inclusive(|byte| *byte == b'\n').count();
        format!("{word}:{lines}")
    });
    words.collect::<Vec<_>>().join(" ")
}

fn lossy(bytes: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(bytes.as_ref()).into_owned()
}

#[test]
fn elements_are_whole_lines_of_one_kind() {
    let check =
        |source: &str, expect: &str| assert_eq!(kinds(source.as_bytes()), expect, "{source}");
    check("", "");
    check("a\n\nb\n", "text:3");
    check(
        "* a\nSCHEDULED: <x>\n:PROPERTIES:\n:END:\nb",
        "heading:1 planning:1 properties:2 text:1",
    );
    check("#+name: a\n#+begin_src b\n#+end_src\nc\n", "source:3 text:1");
    check("#+name: a\n\n#+begin_src b\n#+end_src\n", "keyword:1 text:1 source:2");
    check("#+name: a\nb\n", "text:2");
    check("#+begin_quote\n#+begin_src a\n#+end_src\n#+end_quote\n", "begin:1 source:2 end:1");
    check("#+begin_example\n#+begin_src a\n#+end_src\n#+end_example\n", "example:4");
    check("#+begin_example\n* a\n#+end_example\n", "text:1 heading:1 text:1");
    check("\\begin{a}\n#+title: x\n\\end{a}\n", "environment:3");
    check("#+begin_src a\n#+begin_src b\n", "text:2");
}

#[test]
fn headings_have_a_family() {
    let document = Document::read(b"* a\n*** b\n** c\n* d\n** e\n");
    let titles = |of: usize| {
        let children = document.headings()[of].children.iter();
        children.map(|child| lossy(document.heading(*child).unwrap().title)).collect::<Vec<_>>()
    };
    assert_eq!(titles(0), ["b", "c"]);
    assert_eq!(titles(3), ["e"]);
    assert_eq!(document.headings()[0].subtree, Span { start: 0, end: 15 });
    assert_eq!(document.headings()[0].section, Span { start: 0, end: 4 });
    assert!(document.headings()[3].parent.is_none());
}

#[test]
fn properties_are_found_in_any_case_and_added_up() {
    let document = Document::read(
        b"#+PROPERTY: args 1\n#+property: ARGS+ 2\n#+TITLE: a\n#+TITLE: b\n\
          * TODO x\n:PROPERTIES:\n:k+: two\n:K: one\n:K+: three\n:E:\n:END:\n",
    );
    let heading = &document.headings()[0];
    assert_eq!(heading.todo.unwrap().state, TodoState::Open);
    assert_eq!(lossy(heading.property("k").unwrap()), "one two three");
    assert_eq!(lossy(heading.property("e").unwrap()), "");
    assert!(heading.property("none").is_none());
    assert_eq!(heading.properties[1].line, 8);
    assert_eq!(lossy(document.file_property("args").unwrap()), "1 2");
    assert_eq!(lossy(document.title().unwrap()), "a b");
    let drawer = Document::read(b":PROPERTIES:\n:A: drawer\n:END:\n#+PROPERTY: A keyword\n");
    assert_eq!(lossy(drawer.file_property("a").unwrap()), "drawer");
}

#[test]
fn a_block_knows_its_place_in_the_file() {
    let source = b"* a\n#+NAME: n\n  #+begin_src lisp :tangle no :policy-id x :id y :id z\n  (a)\n  ,* b\n  #+end_src\n";
    let document = Document::read(source);
    let [block] = document.sources() else { panic!("{:?}", document.sources()) };
    assert_eq!(lossy(block.language.unwrap()), "lisp");
    assert_eq!(lossy(block.name().unwrap()), "n");
    assert_eq!(lossy(block.argument("policy-id").unwrap()), "x");
    assert_eq!(lossy(block.argument("id").unwrap()), "z");
    assert!(block.argument("none").is_none());
    assert_eq!(lossy(block.body()), "  (a)\n  * b\n");
    assert_eq!((block.line, block.line_in_file(2)), (3, 5));
    assert_eq!(lossy(document.heading(block.heading.unwrap()).unwrap().title), "a");
}

#[test]
fn bytes_that_are_no_text_survive() {
    let source =
        b"* TODO [#\xff] \xfe\xff :t\xff:\r\n#+begin_src \xc3\r\n,*\xff\r\n#+end_src\r\n\xff";
    let document = Document::read(source);
    let heading = &document.headings()[0];
    assert_eq!((heading.priority, heading.title), (Some(&b"\xff"[..]), &b"\xfe\xff :t\xff:"[..]));
    assert!(heading.tags.is_empty());
    assert_eq!(document.sources()[0].body().as_ref(), b"*\xff\r\n");
    assert_eq!(kinds(source), "heading:1 source:3 text:1");
}

fn check_append(source: &str, addition: &str, expect: &str) {
    let document = Document::read(source.as_bytes());
    let id = document.elements().iter().find_map(|element| element.heading).unwrap();
    let edit = document.append_subtree(id, addition.as_bytes()).unwrap();
    assert_eq!(lossy(edit.diff("p.org")), expect);
}

#[test]
fn a_subtree_grows_at_its_end() {
    check_append(
        "* a\n1\n2\n3\n4\n* b\n5\n",
        "** c\n6",
        "--- a/p.org\n+++ b/p.org\n@@ -3,5 +3,7 @@\n 2\n 3\n 4\n+** c\n+6\n * b\n 5\n",
    );
    check_append("* a\n", "b\n", "--- a/p.org\n+++ b/p.org\n@@ -1,1 +1,2 @@\n * a\n+b\n");
    check_append(
        "* a",
        "b",
        "--- a/p.org\n+++ b/p.org\n@@ -1,1 +1,2 @@\n-* a\n\\ No newline at end of file\n+* a\n+b\n",
    );
    check_append(
        "* a\r\n* b",
        "c",
        "--- a/p.org\n+++ b/p.org\n@@ -1,2 +1,3 @@\n * a\r\n+c\r\n * b\n\\ No newline at end of file\n",
    );
    check_append("* a\n", "", "");
}

#[test]
fn insertions_go_between_lines() {
    let document = Document::read(b"ab\ncd\n");
    let edit = document.insert_after(Span { start: 0, end: 1 }, b"x").unwrap();
    assert_eq!(edit.apply(), b"ab\nx\ncd\n");
    let edit = document.insert_after(Span { start: 0, end: 0 }, b"x\n").unwrap();
    assert_eq!(edit.apply(), b"x\nab\ncd\n");
    assert!(document.insert_after(Span { start: 0, end: 7 }, b"x").is_none());
    assert!(document.insert_after(Span { start: 2, end: 1 }, b"x").is_none());
    let empty = Document::read(b"");
    let edit = empty.insert_after(Span { start: 0, end: 0 }, b"x").unwrap();
    assert_eq!(
        lossy(edit.diff("a\"\n")),
        "--- \"a/a\\042\\012\"\n+++ \"b/a\\042\\012\"\n@@ -0,0 +1,1 @@\n+x\n"
    );
}

#[test]
fn setup_files_are_asked_for_and_change_what_is_read() {
    let source = b"#+SETUPFILE: \"a.org\"\n#+STARTUP: oddeven\n* NEXT x\n";
    assert_eq!(Tree::read(source).settings().setup_files(), [b"a.org"]);
    let mut asked = Vec::new();
    let tree = Tree::read_with_setup(source, |name| {
        asked.push(lossy(name));
        match name {
            b"a.org" => Some(
                b"#+setupfile: b.org\n#+TODO: NEXT | GONE\n#+FILETAGS: :s: t\n#+STARTUP: odd\n",
            ),
            // One that leads back is not asked for again.
            b"b.org" => Some(b"#+SETUPFILE: a.org\n#+CATEGORY: c\n#+ARCHIVE: x::\n* not in here\n"),
            _ => None,
        }
    });
    assert_eq!(asked, ["a.org", "b.org"]);
    let settings = tree.settings();
    let states: Vec<_> = settings.states().iter().map(|todo| lossy(todo.keyword)).collect();
    assert_eq!(states, ["NEXT", "GONE"]);
    assert_eq!(settings.file_tags().map(lossy).collect::<Vec<_>>(), ["s", "t"]);
    assert_eq!(settings.category().map(lossy).as_deref(), Some("c"));
    assert_eq!(settings.archive().map(lossy).as_deref(), Some("x::"));
    assert_eq!(settings.level(3), 3, "what the text itself says last counts");
    let headlines: Vec<_> =
        tree.nodes().iter().filter(|node| node.kind == Type::Headline).collect();
    let [headline] = headlines[..] else { panic!("nothing of another file is in the tree") };
    assert!(tree.facts(headline).contains(&("todo-type", Fact::Word("todo"))));
}

#[test]
fn no_more_setup_files_are_asked_for_than_may_be() {
    let chain: Vec<Vec<u8>> =
        (0..100).map(|number| format!("#+SETUPFILE: {}\n", number + 1).into_bytes()).collect();
    let mut asked = 0;
    let tree = Tree::read_with_setup(&chain[0], |name| {
        asked += 1;
        chain.get(lossy(name).parse::<usize>().unwrap()).map(Vec::as_slice)
    });
    assert_eq!((asked, tree.settings().setup_files().len()), (32, 32));
}
