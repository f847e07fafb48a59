//! Unit tests: names of headings and items, and what has none.

use crate::OrgDefaults;
use bridle_loop::OrgLocation;

use super::{around_line, item, open_below, place};

const TEXT: &[u8] =
    b"* TODO Tax :work:\n** TODO Send\n* House\n** DONE Send\n:PROPERTIES:\n:ID: a\n:END:\n\
    - [ ] milk\n- [X] bread\n* Twice\n* Twice\n- [ ] milk and honey\n- [ ] egg\n- [X] egg\n";

fn at(line: u64) -> Option<String> {
    place(TEXT, &OrgLocation::Line(line), &OrgDefaults::default())
}

#[test]
fn a_heading_is_named_by_its_id_else_by_its_titles() {
    assert_eq!(at(1).as_deref(), Some("outline:(\"Tax\")"));
    assert_eq!(at(2).as_deref(), Some("outline:(\"Tax\" \"Send\")"));
    assert_eq!(at(4).as_deref(), Some("id:a"));
    assert_eq!(
        place(TEXT, &OrgLocation::Id("a".into()), &OrgDefaults::default()).as_deref(),
        Some("id:a")
    );
    assert_eq!(place(TEXT, &OrgLocation::File, &OrgDefaults::default()).as_deref(), Some("file"));
}

#[test]
fn what_two_headings_share_names_none() {
    assert_eq!(at(10), None);
    assert_eq!(at(11), None);
    assert_eq!(at(3).as_deref(), Some("outline:(\"House\")"));
    let twins = b"* A\n:PROPERTIES:\n:ID: x\n:END:\n* B\n:PROPERTIES:\n:ID: x\n:END:\n";
    assert_eq!(place(twins, &OrgLocation::Line(1), &OrgDefaults::default()), None);
}

#[test]
fn an_item_is_named_by_its_text_below_its_heading() {
    assert_eq!(item(TEXT, 8).as_deref(), Some("-  milk"));
    assert_eq!(around_line(TEXT, 8, &OrgDefaults::default()).as_deref(), Some("id:a"));
    assert_eq!(item(TEXT, 13), None, "two of them");
    assert_eq!(
        around_line(TEXT, 13, &OrgDefaults::default()),
        None,
        "below a heading without a name of its own"
    );
}

#[test]
fn open_headings_below_one_that_is_done_are_counted() {
    let open = |text: &str, line| {
        open_below(text.as_bytes(), &OrgLocation::Line(line), &OrgDefaults::default())
    };
    let text = "* DONE A\n** TODO B\n*** TODO C\n** DONE D\n** E\n* TODO F\n";
    assert_eq!(open(text, 1), Some(2));
    assert_eq!(open(text, 2), None, "not done itself");
    assert_eq!(open(text, 4), None, "nothing below");
    assert_eq!(open(text, 5), None, "no task");
}
