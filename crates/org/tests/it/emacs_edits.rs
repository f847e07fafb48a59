//! Changes of a text against those that a real Emacs makes of the same: the cases of `vectors/org/edits`, and what Emacs has
//! recorded for them.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]
// The room does no IO; its tests read files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::Path;

use bridle_sexp::{Dialect, Reader, Value};

use crate::changes::{ChangeCase, compared, recorded};
use crate::properties::check_edit;

fn forms(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/org").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let reader = Reader::new().dialect(Dialect::Emacs);
    let lines = text.lines().filter(|line| !line.starts_with(';'));
    lines.map(|line| reader.read_one(line).unwrap().root().to_value()).collect()
}

#[test]
fn changes_are_those_that_emacs_recorded() {
    let (cases, records) = (forms("edits/cases.sexp"), forms("peers/edits.sexp"));
    assert_eq!(cases.len(), records.len(), "`cargo xtask peers org --record` after a new case");
    let mut different = String::new();
    for (form, record) in cases.iter().zip(&records) {
        let case = ChangeCase::read(form).unwrap_or_else(|| panic!("{form}"));
        assert_eq!(
            Some(case.name.as_str()),
            record.elements().map(|it| it[0].to_string()).as_deref()
        );
        let got = case.carry_out(&check_edit).ok();
        let expect = recorded(record);
        if compared(&case, got.as_deref()) != compared(&case, expect.as_deref()) {
            let show = |texts: Option<&Vec<Vec<u8>>>| {
                texts.map(|texts| String::from_utf8_lossy(&texts.join(&b'|')).into_owned())
            };
            let (emacs, bridle) = (show(expect.as_ref()), show(got.as_ref()));
            different += &format!("{}\n  emacs  {emacs:?}\n  bridle {bridle:?}\n", case.name);
        }
    }
    assert!(different.is_empty(), "{different}");
}
