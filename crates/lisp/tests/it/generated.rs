//! The property of the fuzz target `lisp_run` on texts made of Lisp's own pieces, for seconds in every test run.

use proptest::prelude::{ProptestConfig, Strategy, prop, proptest};

use crate::fuzz_property::lisp_run;

/// Pieces that programs, and what only looks like one, are made of.
const PIECES: &[&str] = &[
    "(",
    "(",
    ")",
    ")",
    "'",
    "`",
    ",",
    ",@",
    "#'",
    "\"a\"",
    "1",
    "-7",
    "1/2",
    "1.5",
    "2d0",
    "x",
    "nil",
    "t",
    ":k",
    "#\\a",
    "lambda ",
    "let ",
    "((x 1)) ",
    "loop ",
    "for ",
    "in ",
    "collect ",
    "defun f ",
    "(x) ",
    "format nil ",
    "\"~a~{~}\" ",
    "car ",
    "list ",
    "mapcar ",
    "handler-case ",
    "(error () 1)",
    "block b ",
    "return-from b ",
    "unwind-protect ",
    "throw ",
    "catch ",
    "setf ",
    "gethash ",
    "(make-hash-table)",
    "defstruct s ",
    "make-s ",
    "expt ",
    "100000 ",
    "sort ",
    "#(1 2) ",
    "dotimes ",
    "(i 9) ",
    "macrolet ",
    "((m () 1)) ",
    "read-from-string ",
    "concatenate 'string ",
    "make-array ",
    " ",
    "\n",
    ";",
    "#|",
    "|#",
    "|",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_text_ends_within_its_limits(pieces in prop::collection::vec(prop::sample::select(PIECES), 1..60)) {
        lisp_run(pieces.concat().as_bytes());
    }

    #[test]
    fn any_balanced_form_ends_within_its_limits(text in form()) {
        lisp_run(text.as_bytes());
    }
}

/// A balanced form of the pieces.
fn form() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(PIECES)
        .prop_filter("no brackets", |piece| !piece.contains(['(', ')', '|', ';', '"']))
        .prop_map(str::to_owned);
    leaf.prop_recursive(6, 80, 6, |inner| {
        prop::collection::vec(inner, 0..6).prop_map(|parts| format!("({})", parts.join(" ")))
    })
}
