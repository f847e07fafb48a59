//! `bridle org`: what it prints and how it refuses.

use crate::harness::pipe;

const TEXT: &str = "* TODO [#A] *é* :t:\n- [X] a\n";

#[test]
fn any_bytes_come_back() {
    let bytes = b"* a\xff\r\n\0| b\n#+begin_src".to_vec();
    pipe(&["org", "check", "-"], bytes).prints("1 file, 22 bytes: the same\n");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_are_read() {
    let done = pipe(&["org", "check", "/nowhere/a.org", "-", "/nowhere/b.org"], "* a\n");
    assert_eq!(done.code, 1, "{}", done.stderr);
    for file in ["/nowhere/a.org", "/nowhere/b.org"] {
        assert!(done.stderr.contains(&format!("cannot read `{file}`")), "{}", done.stderr);
    }
    let done = pipe(&["org", "check", "--json", "/nowhere/a.org", "-"], "* a\n");
    assert_eq!(done.code, 1, "{}", done.stderr);
    let lines = done.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<serde_json::Value> = lines.collect();
    assert_eq!(lines[0]["status"], "unreadable");
    assert!(lines[0]["reason"].as_str().unwrap().contains("cannot read"), "{lines:?}");
    assert_eq!((&lines[1]["status"], &lines[1]["bytes"]), (&"same".into(), &4.into()));
    let done = pipe(&["org", "check", "--json", "-"], "* a\n");
    assert_eq!(done.code, 0, "{}", done.stderr);
}

#[test]
fn a_tree_is_shown_for_people() {
    pipe(&["org", "tree", "-"], TEXT).prints(
        "org-data 0-29\n  \
         headline 0-29 level=1 todo-keyword=\"TODO\" todo-type=\"todo\" priority=\"A\" tags=[\"t\"] \
         raw-value=\"*é*\"\n    \
         bold 12-16\n    \
         section 21-29\n      \
         plain-list 21-29 type=\"unordered\"\n        \
         item 21-29 bullet=\"- \" checkbox=\"on\"\n          \
         paragraph 27-29\n",
    );
}

#[test]
fn a_tree_is_forms_with_the_places_of_emacs() {
    pipe(&["org", "tree", "-", "--sexp", "--chars"], "*é* =b=\n").prints(
        "(0 org-data 1 9 nil nil 1)\n\
         (1 section 1 9 1 9 1)\n\
         (2 paragraph 1 9 1 9 1)\n\
         (3 bold 1 5 2 3 1)\n\
         (3 verbatim 5 8 nil nil 5 \"b\")\n",
    );
}

#[test]
fn a_tree_is_json() {
    let done = pipe(&["org", "tree", "-", "--json"], "#+a: b\n");
    let last = done.stdout.lines().last().unwrap();
    let expect = "{\"depth\":2,\"type\":\"keyword\",\"span\":[0,7],\"contents\":null,\
                  \"after_affiliated\":0,\"facts\":{\"key\":\"A\",\"value\":\"b\"}}";
    assert_eq!(last, expect);
    for line in done.stdout.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}
