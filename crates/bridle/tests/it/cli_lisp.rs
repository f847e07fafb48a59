//! `bridle lisp`: values and output on stdout, conditions on stderr, and the exit code of each ending.

use crate::harness::{Home, pipe};

#[test]
fn prints_values_as_they_are_read() {
    pipe(&["lisp", "-e", "(list 1/2 \"a\" #\\b 'c :d 1.5)"], "")
        .prints("(1/2 \"a\" #\\b C :D 1.5)\n");
    pipe(&["lisp", "-e", "(floor 7 2) (values) nil"], "").prints("3\n1\nNIL\n");
}

#[test]
fn prints_output_before_values() {
    pipe(&["lisp", "-e", "(princ \"x\") (format t \"~%y~%\")"], "").prints("x\ny\n\"x\"\nNIL\n");
}

#[test]
fn runs_a_file_and_standard_input() {
    let home = Home::new();
    let path = home.path("skill.lisp");
    std::fs::write(&path, "(defun twice (x) (* 2 x))\n(twice 21)\n").unwrap();
    pipe(&["lisp", path.as_str()], "").prints("TWICE\n42\n");
    pipe(&["lisp", "-"], "(+ 1 2)").prints("3\n");
}

#[test]
fn a_condition_leaves_with_1_and_says_where() {
    let done = pipe(&["lisp", "-"], "(defun half (x)\n  (/ x 0))\n(half 4)");
    assert_eq!((done.code, done.stdout.as_str()), (1, "HALF\n"));
    assert!(done.stderr.starts_with("-:2:3: DIVISION-BY-ZERO: "), "{}", done.stderr);
    assert!(done.stderr.contains("hint: "), "{}", done.stderr);
    let done = pipe(&["lisp", "--fuel", "10000", "-e", "(loop)"], "");
    assert_eq!(done.code, 1);
    assert!(done.stderr.contains("fuel limit reached"), "{}", done.stderr);
}

#[test]
fn what_is_outside_leaves_with_64_before_anything_runs() {
    let text = "(princ \"never\")\n(defun f ()\n  (open \"x\"))\n";
    pipe(&["lisp", "-"], text).fails(64, "outside the subset: OPEN at -:3:3\n");
    pipe(&["lisp", "-e", "(sb-ext:quit)"], "")
        .fails(64, "outside the subset: SB-EXT:QUIT at -e:1:13\n");
    let done = pipe(&["lisp", "-e", "(sqrt -1)"], "");
    assert_eq!((done.code, done.stdout.as_str()), (64, ""));
}

#[test]
fn text_that_is_no_lisp_leaves_with_65() {
    for text in ["(list 1", ")", "\"open", "(1 . )"] {
        let done = pipe(&["lisp", "-"], text);
        assert_eq!((done.code, done.stdout.as_str()), (65, ""), "{text}: {}", done.stderr);
    }
    assert_eq!(pipe(&["lisp", "-"], b"\xff").code, 65);
}

#[test]
fn a_session_answers_each_form_and_survives_errors() {
    let done = pipe(&["lisp", "--repl"], "(defvar *x* 1)\n(car\n 5)\n(+ *x* 1)\n");
    assert_eq!((done.code, done.stdout.as_str()), (0, "*X*\n2\n"));
    assert!(done.stderr.contains("TYPE-ERROR"), "{}", done.stderr);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let done = pipe(&["lisp", "no-such-file.lisp"], "");
    assert_eq!((done.code, done.stdout.as_str()), (66, ""));
    assert!(done.stderr.contains("no-such-file.lisp"), "{}", done.stderr);
}
