//! The thought trace of `bridle log export --org`, read by the Org of a real Emacs: the headings are the ones
//! meant, and what anybody said is in the blocks, byte for byte.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use bridle_record::{NewRecord, NewSessionRow, RecordAppend, RecordStore, StoreOptions};
use bridle_sexp::Value;
use tempfile::TempDir;

use crate::support::{bridle, finish, root};

/// Texts that look like Org.
const TEXTS: [&str; 8] = [
    "* TODO not a heading :tag:\n** nor this",
    "#+end_example\n* out of the block",
    "  #+begin_src lisp\n,* commas\n,,#+and more\n#+end_src",
    ":PROPERTIES:\n:ID: forged\n:END:",
    "| a | table |\n<2026-11-15 Sun>\n[[file:x][link]]",
    "",
    "سلام 你好 🐎\n\n\n- item",
    "TODO buy milk :errand:",
];

/// A record with one turn for each text, said and answered.
fn record() -> TempDir {
    let dir = TempDir::new().unwrap();
    let mut store = RecordStore::open(dir.path(), &StoreOptions::default()).unwrap();
    let session = NewSessionRow { name: "TODO".into(), owner: "uid:7".into(), at: 0 };
    let mut drafts = Vec::new();
    for (turn, text) in (1..).zip(TEXTS) {
        let text = Value::str(text);
        let payload = format!("(:sensor :user-prompt :text {text})");
        let draft =
            |kind, seq, body| NewRecord { seq, ..NewRecord::new("TODO", kind, 0, "uid:7", body) };
        let (asked, said) = (2 * turn - 1, 2 * turn);
        drafts.extend([
            draft("signal", Some(asked), format!("(:kind :event :payload {payload})")),
            draft("consult", None, format!("(:effect {turn} :turn {turn} :seq {asked})")),
            draft(
                "decided",
                None,
                format!(
                    "(:turn {turn} :by :reflex :target :asker :action :message :rule :safe :verdict \
                     :allow :reason {text} :payload {payload} :explanation {text})"
                ),
            ),
            draft("say", Some(said), format!("(:answers {asked} :payload (:text {text}))")),
            draft("finish", None, format!("(:turn {turn} :reason :answered)")),
        ]);
    }
    let append = RecordAppend { session: Some(session), drafts, ..RecordAppend::default() };
    store.commit(&[append]).unwrap();
    dir
}

fn outline(file: &std::path::Path) -> Vec<Value> {
    let mut command = Command::new("emacs");
    command.args(["-Q", "--batch", "-l", "peers/emacs/org-outline.el"]).arg(file);
    command.current_dir(root());
    let printed = finish(command, b"");
    let text = String::from_utf8(printed).unwrap();
    let reader = bridle_sexp::Reader::new().dialect(bridle_sexp::Dialect::Emacs);
    text.lines().map(|line| reader.read_one(line).unwrap().root().to_value()).collect()
}

#[test]
fn org_reads_what_was_meant() {
    let dir = record();
    let mut export = bridle();
    export.args(["log", "export", "--org", "--state"]).arg(dir.path());
    let file = dir.path().join("trace.org");
    std::fs::write(&file, finish(export, b"")).unwrap();
    let headings = outline(&file);
    assert_eq!(headings.len(), 1 + 5 * TEXTS.len());
    for heading in &headings {
        assert!(heading.get("todo").unwrap().is_nil(), "{heading}");
        assert!(heading.get("tags").unwrap().is_nil(), "{heading}");
    }
    let title = |heading: &Value| heading.get("title").unwrap().as_str().unwrap().to_owned();
    assert_eq!(title(&headings[0]), "Session TODO");
    for (turn, (text, parts)) in (1..).zip(TEXTS.iter().zip(headings[1..].chunks(5))) {
        let blocks = |index: usize| parts[index].get("blocks").unwrap().clone();
        assert!(title(&parts[0]).starts_with(&format!("Turn {turn}")), "{}", parts[0]);
        let named: Vec<String> = parts[1..].iter().map(title).collect();
        assert_eq!(named, ["Input", "Context", "Proposal: message to asker", "Answer"]);
        let alone = Value::list([Value::str(*text)]);
        assert_eq!((blocks(1), blocks(4)), (alone.clone(), alone), "{text}");
        let mut form = String::new();
        let payload = [("sensor", Value::keyword("user-prompt")), ("text", Value::str(*text))];
        bridle_sexp::print(&Value::plist(payload), bridle_sexp::Dialect::Emacs, &mut form);
        assert_eq!(blocks(3), Value::list([Value::str(form)]));
        let property = |key: &str, value: String| {
            let pair = Value::list([Value::str(key), Value::str(value)]);
            let drawer = parts[0].get("properties").unwrap();
            assert!(drawer.elements().unwrap().contains(&pair), "{key} in {drawer}");
        };
        property("RECORD", (5 * turn - 4).to_string());
        property("PRINCIPAL", "uid:7".to_owned());
        property("OUTCOME", "answered".to_owned());
    }
}

/// The texts of `vectors/org-tags`, and what they say about who is private.
#[test]
fn files_are_private_as_the_vectors_say() {
    let folder = root().join("vectors/org-tags");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "org")).collect();
    files.sort();
    let mut command = Command::new("emacs");
    command.args(["-Q", "--batch", "-l", "peers/emacs/org-tags.el"]).args(&files);
    command.current_dir(root());
    let told = String::from_utf8(finish(command, b"")).unwrap();
    let known = std::fs::read_to_string(folder.join("emacs.txt")).unwrap();
    assert_eq!(told, known, "what Emacs says is not what `emacs.txt` has");
}
