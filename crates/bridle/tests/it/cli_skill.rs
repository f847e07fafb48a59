//! `bridle skill`: a new skill works at once; what is wrong has a place.

use crate::harness::Home;

#[test]
fn a_new_skill_passes_its_tests_and_is_never_overwritten() {
    let home = Home::new();
    let (folder, file) = (home.path("."), home.path("./water-plants.org"));
    let wrote = format!("wrote {file}\ntest it: bridle skill test {file}\n");
    home.run(&["skill", "new", "Water-Plants", "--to", &folder]).prints(&wrote);
    home.run(&["skill", "test", &file]).prints("3 passed, 0 failed\n");
    let done = home.run(&["skill", "check", &file]);
    assert!(done.stdout.contains("command water-plants: Says hello."), "{done:?}");
    assert_eq!(home.run(&["skill", "new", "water-plants", "--to", &folder]).code, 73);
    assert_eq!(home.run(&["skill", "new", "../x", "--to", &folder]).code, 2);
    assert_eq!(home.run(&["skill", "check", "/does-not-exist.org"]).code, 66);
}

#[test]
fn a_fault_has_file_line_column_and_form() {
    let home = Home::new();
    let file = home.path("bad.org");
    let text = "* P\n#+begin_src lisp\n(defskill bad\n  (think (c)\n    (open c)))\n#+end_src\n";
    std::fs::write(&file, text).unwrap();
    for verb in ["check", "test"] {
        let done = home.run(&["skill", verb, &file]);
        assert_eq!(done.code, 1);
        let fault = format!("{file}:5:5: outside the language: OPEN\n  in (open c)))\n");
        assert!(done.stdout.starts_with(&fault), "{done:?}");
        let done = home.run(&["skill", verb, "--json", &file]);
        assert!(done.stdout.contains("\"line\":5,\"column\":5"), "{done:?}");
    }
}

#[test]
fn a_test_that_fails_is_told_and_counted() {
    let home = Home::new();
    let file = home.path("a.org");
    let text = "* P\n#+begin_src lisp\n(defcommand up (text) (string-upcase text))\n#+end_src\n\
                * Tests\n| command | answer |\n| up a    | A      |\n| up b    | b      |\n";
    std::fs::write(&file, text).unwrap();
    let done = home.run(&["skill", "test", &file]);
    let told = format!("{file}:8: up b: expected \"b\", got \"B\"\n1 passed, 1 failed\n");
    assert_eq!((done.code, done.stdout.as_str()), (1, told.as_str()));
}
