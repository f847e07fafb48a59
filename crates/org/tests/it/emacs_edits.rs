//! Changes of a text against those that a real Emacs makes of the same: the cases of `vectors/org/edits`, and what Emacs has
//! recorded for them.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]
// The room does no IO; its tests read files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::Path;

use bridle_org::{Edit, EditError, NodeId, Origin, Plan, Tree, Type};
use bridle_sexp::{Dialect, Reader, Value};

use crate::properties::check_edit;

/// The archive that subtrees are put into, as the counterpart in Emacs has it.
const ARCHIVE: &[u8] = b"* before\n";

fn forms(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/org").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let reader = Reader::new().dialect(Dialect::Emacs);
    let lines = text.lines().filter(|line| !line.starts_with(';'));
    lines.map(|line| reader.read_one(line).unwrap().root().to_value()).collect()
}

fn text(value: &Value) -> Option<Vec<u8>> {
    value.as_str().map(|text| text.as_bytes().to_vec())
}

/// The headline or item of a line, from 1.
fn at_line(tree: &Tree<'_>, line: usize) -> NodeId {
    let source = tree.source();
    let line_of =
        |offset: usize| source[..offset].iter().filter(|byte| **byte == b'\n').count() + 1;
    let found = tree.ids().find(|id| {
        let node = tree.node(*id).unwrap();
        matches!(node.kind, Type::Headline | Type::Item) && line_of(node.span().start) == line
    });
    found.unwrap()
}

/// What the operation makes of the text, and of an archive.
fn made(
    operation: &str,
    line: usize,
    arguments: &[Value],
    source: &[u8],
) -> Result<Vec<Vec<u8>>, EditError> {
    let tree = Tree::read(source);
    let id = at_line(&tree, line);
    let texts: Vec<Option<Vec<u8>>> = arguments.iter().map(text).collect();
    let first = texts.first().and_then(Option::as_deref);
    let second = texts.get(1).and_then(Option::as_deref);
    let applied = |edit: Result<Edit<'_>, EditError>| {
        let edit = edit?;
        check_edit(source, &edit);
        Ok(vec![edit.apply()])
    };
    applied(match operation {
        "todo" => tree.change_state(id, first),
        "priority" => tree.set_priority(id, first.map(|letter| letter[0])),
        "title" => tree.set_title(id, first.unwrap()),
        "tags" => {
            tree.set_tags(id, &texts.iter().map(|tag| tag.as_deref().unwrap()).collect::<Vec<_>>())
        }
        "archive-tag" => tree.archive(id),
        "property" => tree.set_property(id, first.unwrap(), second),
        "scheduled" => tree.set_planning(id, Plan::Scheduled, first),
        "deadline" => tree.set_planning(id, Plan::Deadline, first),
        "checkbox" => tree.toggle_checkbox(id),
        "clock-in" => tree.clock_in(id, first.unwrap()),
        "clock-out" => {
            let began = tree.clock_in(id, first.unwrap())?.apply();
            let tree = Tree::read(&began);
            return Ok(vec![tree.clock_out(at_line(&tree, line), second.unwrap())?.apply()]);
        }
        "move-up" => tree.move_up(id),
        "cut" => tree.cut_subtree(id),
        "refile" => tree
            .refile(id, at_line(&tree, usize::try_from(arguments[0].as_i64().unwrap()).unwrap())),
        "archive" => {
            let origin = Origin { file: first.unwrap(), time: second.unwrap() };
            let archived = tree.archive_subtree(id, &origin)?;
            let put = archived.append_to(ARCHIVE);
            check_edit(ARCHIVE, &put);
            let mut both = applied(Ok(archived.cut.clone()))?;
            both.push(put.apply());
            return Ok(both);
        }
        other => panic!("no operation `{other}`"),
    })
}

#[test]
fn changes_are_those_that_emacs_recorded() {
    let (cases, recorded) = (forms("edits/cases.sexp"), forms("peers/edits.sexp"));
    assert_eq!(cases.len(), recorded.len(), "`cargo xtask peers org --record` after a new case");
    let mut different = String::new();
    for (case, recorded) in cases.iter().zip(&recorded) {
        let [name, operation, line, arguments, source] = case.elements().unwrap() else {
            panic!("{case}")
        };
        let expect = recorded.elements().unwrap();
        assert_eq!(*name, expect[0]);
        let line = usize::try_from(line.as_i64().unwrap()).unwrap();
        let source = text(source).unwrap();
        let arguments = arguments.elements().unwrap_or_default();
        let got = made(&operation.to_string(), line, arguments, &source);
        let refused = expect.get(1) == Some(&Value::symbol("refused"));
        let expect: Option<Vec<Vec<u8>>> =
            (!refused).then(|| expect[1..].iter().map(|value| text(value).unwrap()).collect());
        if got.as_ref().ok() != expect.as_ref() {
            let show = |texts: Option<&Vec<Vec<u8>>>| {
                texts.map(|texts| String::from_utf8_lossy(&texts.join(&b'|')).into_owned())
            };
            different += &format!(
                "{name}\n  emacs  {:?}\n  bridle {:?}\n",
                show(expect.as_ref()),
                show(got.as_ref().ok())
            );
        }
    }
    assert!(different.is_empty(), "{different}");
}
