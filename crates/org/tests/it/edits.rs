//! Changes of a text: what each makes of small texts, and what must hold for all of them on any text.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

use bridle_org::{Document, Edit, EditError, Moment, NodeId, Plan, StateChange, Tree, Type};
use proptest::prelude::*;

use crate::properties::{check_edit, text};

type Made<'t> = Result<Edit<'t>, EditError>;

fn now() -> Moment {
    Moment::read(b"[2026-11-15 Sun 10:00]").unwrap()
}

/// The node of that type and number in the text.
fn nth(tree: &Tree<'_>, kind: Type, number: usize) -> NodeId {
    let is_kind = |id: &NodeId| tree.node(*id).unwrap().kind == kind;
    tree.ids().filter(is_kind).nth(number).unwrap()
}

/// Changes the first headline.
fn check(source: &str, edit: impl for<'t> Fn(&Tree<'t>, NodeId) -> Made<'t>, expect: &str) {
    let tree = Tree::read(source.as_bytes());
    let edit = edit(&tree, nth(&tree, Type::Headline, 0)).unwrap();
    assert_eq!(String::from_utf8_lossy(&edit.apply()), expect);
    check_edit(source.as_bytes(), &edit);
}

fn refused(source: &str, edit: impl for<'t> Fn(&Tree<'t>, NodeId) -> Made<'t>, expect: EditError) {
    let tree = Tree::read(source.as_bytes());
    let made = edit(&tree, nth(&tree, Type::Headline, 0));
    assert_eq!(made.map(|edit| edit.apply()).unwrap_err(), expect, "{source}");
}

#[test]
fn states_priorities_titles_and_tags() {
    check("*  a\n", |tree, id| tree.set_state(id, Some(b"TODO")), "* TODO a\n");
    check("* TODO  a\r\n", |tree, id| tree.set_state(id, Some(b"DONE")), "* DONE a\r\n");
    check("* TODO  a", |tree, id| tree.set_state(id, None), "* a");
    refused("* a\n", |tree, id| tree.set_state(id, Some(b"NEXT")), EditError::UnknownState);
    check("* TODO a\n", |tree, id| tree.set_priority(id, Some(b'B')), "* TODO [#B] a\n");
    check("* [#A]  a\n", |tree, id| tree.set_priority(id, Some(b'B')), "* [#B]  a\n");
    check("* [#A]  a\n", |tree, id| tree.set_priority(id, None), "*  a\n");
    check("* TODO [#A] a  :t:\n", |tree, id| tree.set_title(id, b"b c"), "* TODO [#A] b c  :t:\n");
    check("* :t:\n", |tree, id| tree.set_title(id, b"b"), "* b :t:\n");
    check("* \n", |tree, id| tree.set_title(id, b"b"), "* b\n");
    refused("* a\n", |tree, id| tree.set_title(id, b"TODO b"), EditError::Unreadable);
    refused("* a\n", |tree, id| tree.set_title(id, b"b\n* c"), EditError::Unreadable);
    refused("* a\n", |tree, id| tree.set_title(id, b"b :t:"), EditError::Unreadable);
    check("* a  :s:\n", |tree, id| tree.set_tags(id, &[b"t", b"u"]), "* a :t:u:\n");
    check("* a  \n", |tree, id| tree.set_tags(id, &[b"t"]), "* a :t:\n");
    check("* a  :s: \n", |tree, id| tree.set_tags(id, &[]), "* a\n");
    refused("* a\n", |tree, id| tree.set_tags(id, &[b"t u"]), EditError::Unreadable);
    check("* a :s:\n", |tree, id| tree.archive(id), "* a :s:ARCHIVE:\n");
}

#[test]
fn properties_and_planning() {
    check(
        "* a",
        |tree, id| tree.set_property(id, b"K", Some(b"v")),
        "* a\n:PROPERTIES:\n:K: v\n:END:\n",
    );
    let drawer = "* a\nDEADLINE: <2026-11-15 Sun>\n  :PROPERTIES:\n  :k:   old \n  :END:\ntext\n";
    check(
        drawer,
        |tree, id| tree.set_property(id, b"K", Some(b"new")),
        &drawer.replace(":k:   old ", ":K: new"),
    );
    check(
        drawer,
        |tree, id| tree.set_property(id, b"L", Some(b"x")),
        &drawer.replace("  :END:", "  :L: x\n  :END:"),
    );
    check(
        drawer,
        |tree, id| tree.set_property(id, b"k", None),
        "* a\nDEADLINE: <2026-11-15 Sun>\ntext\n",
    );
    refused("* a\n", |tree, id| tree.set_property(id, b"a b", Some(b"v")), EditError::Unreadable);
    refused(
        "* a\n",
        |tree, id| tree.set_property(id, b"k", Some(b"v\n* w")),
        EditError::Unreadable,
    );
    let stamp = b"<2026-12-24 Thu>";
    check(
        "* a\n",
        |tree, id| tree.set_planning(id, Plan::Scheduled, Some(stamp), now()),
        "* a\nSCHEDULED: <2026-12-24 Thu>\n",
    );
    check(
        drawer,
        |tree, id| tree.set_planning(id, Plan::Scheduled, Some(stamp), now()),
        &drawer.replace("DEADLINE:", "SCHEDULED: <2026-12-24 Thu> DEADLINE:"),
    );
    check(
        drawer,
        |tree, id| tree.set_planning(id, Plan::Deadline, Some(stamp), now()),
        &drawer.replace("<2026-11-15 Sun>", "<2026-12-24 Thu>"),
    );
    check(
        drawer,
        |tree, id| tree.set_planning(id, Plan::Deadline, None, now()),
        &drawer.replace("DEADLINE: <2026-11-15 Sun>\n", ""),
    );
    check(
        "* a\nCLOSED: [2026-11-15 Sun] DEADLINE: <2026-11-15 Sun>\n",
        |tree, id| tree.set_planning(id, Plan::Closed, None, now()),
        "* a\nDEADLINE: <2026-11-15 Sun>\n",
    );
    refused(
        "* a\n",
        |tree, id| tree.set_planning(id, Plan::Closed, Some(b"now"), now()),
        EditError::Unreadable,
    );
}

#[test]
fn clocks_run_in_the_logbook() {
    let began = "* a\n:LOGBOOK:\nCLOCK: [2026-11-15 Sun 23:10]\n:END:\n";
    check("* a\n", |tree, id| tree.clock_in(id, b"[2026-11-15 Sun 23:10]"), began);
    refused(began, |tree, id| tree.clock_in(id, b"[2026-11-15 Sun 23:10]"), EditError::Missing);
    refused(
        "* a\n",
        |tree, id| tree.clock_in(id, b"<2026-11-15 Sun 23:10>"),
        EditError::Unreadable,
    );
    let ended = began.replace("23:10]", "23:10]--[2026-11-16 Mon 00:15] =>  1:05");
    check(began, |tree, id| tree.clock_out(id, b"[2026-11-16 Mon 00:15]"), &ended);
    refused(began, |tree, id| tree.clock_out(id, b"[2026-11-15 Sun 23:00]"), EditError::Unreadable);
    refused("* a\n", |tree, id| tree.clock_out(id, b"[2026-11-15 Sun 23:00]"), EditError::Missing);
    let again = ended.replace(":LOGBOOK:\n", ":LOGBOOK:\nCLOCK: [2026-11-17 Tue 8:00]\n");
    check(&ended, |tree, id| tree.clock_in(id, b"[2026-11-17 Tue 8:00]"), &again);
}

#[test]
fn subtrees_go_where_they_are_told() {
    let source = "* a\ntext\n** b\n*** c\n* d\n** e";
    let tree = Tree::read(source.as_bytes());
    let headline = |number| nth(&tree, Type::Headline, number);
    let made = |edit: Made<'_>| {
        let edit = edit.unwrap();
        check_edit(source.as_bytes(), &edit);
        String::from_utf8(edit.apply()).unwrap()
    };
    assert_eq!(
        made(tree.refile(headline(1), headline(4), now())),
        "* a\ntext\n* d\n** e\n*** b\n**** c\n"
    );
    assert_eq!(
        made(tree.refile(headline(4), headline(1), now())),
        "* a\ntext\n** b\n*** c\n*** e\n* d\n"
    );
    assert_eq!(tree.refile(headline(0), headline(2), now()).unwrap_err(), EditError::IntoItself);
    assert_eq!(made(tree.move_up(headline(3))), "* d\n** e\n* a\ntext\n** b\n*** c\n");
    assert_eq!(tree.move_up(headline(1)).unwrap_err(), EditError::Missing);
    assert_eq!(made(tree.cut_subtree(headline(0))), "* d\n** e");
    assert_eq!(
        made(tree.append_subtree(headline(0), b"*** x\n**** y")),
        source.replace("* d", "** x\n*** y\n* d")
    );
    assert_eq!(made(tree.insert_subtree(headline(4), b"* x")), format!("{source}\n** x\n"));
    assert_eq!(tree.cut_subtree(tree.root()).unwrap_err(), EditError::OtherType);
}

#[test]
fn a_checkbox_is_one_byte() {
    let source = b"- [ ] a\n- [X] b\n- [-] c\n- d\n";
    let tree = Tree::read(source);
    let toggled =
        |number| tree.toggle_checkbox(nth(&tree, Type::Item, number)).map(|edit| edit.apply());
    assert_eq!(toggled(0).unwrap(), b"- [X] a\n- [X] b\n- [-] c\n- d\n");
    assert_eq!(toggled(1).unwrap(), b"- [ ] a\n- [ ] b\n- [-] c\n- d\n");
    assert_eq!(toggled(2).unwrap(), b"- [ ] a\n- [X] b\n- [X] c\n- d\n");
    assert_eq!(toggled(3).unwrap_err(), EditError::Missing);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A change is read back as what was asked for, and touches nothing else.
    #[test]
    fn what_is_set_is_read_back(source in text(), pick in any::<prop::sample::Index>()) {
        let tree = Tree::read(&source);
        let headlines: Vec<NodeId> =
            tree.ids().filter(|id| tree.node(*id).unwrap().kind == Type::Headline).collect();
        if headlines.is_empty() {
            return Ok(());
        }
        let number = pick.index(headlines.len());
        let id = headlines[number];
        let read = |edit: Made<'_>| {
            let edit = edit.ok()?;
            check_edit(&source, &edit);
            Some(edit.apply())
        };
        if let Some(after) = read(tree.set_property(id, b"some-key", Some(b"value"))) {
            let document = Document::read(&after);
            assert_eq!(document.headings()[number].property("some-key").as_deref(), Some(&b"value"[..]));
        }
        if let Some(after) = read(tree.set_tags(id, &[b"x", b"y"])) {
            assert_eq!(Document::read(&after).headings()[number].tags, [b"x", b"y"]);
        }
        if let Some(after) = read(tree.set_title(id, b"some title")) {
            assert_eq!(Document::read(&after).headings()[number].title, b"some title");
        }
        if let Some(after) = read(tree.set_planning(id, Plan::Deadline, Some(b"<2026-11-15 Sun>"), now())) {
            let document = Document::read(&after);
            let planning = document.headings()[number].planning.clone().unwrap();
            // A repeater that was there stays.
            assert!(planning.deadline.is_some_and(|stamp| stamp.starts_with(b"<2026-11-15 Sun")));
        }
        let done = StateChange { keyword: Some(b"DONE"), now: now(), note: b"a note" };
        read(tree.change_state(id, &done));
        for edit in [tree.clock_in(id, b"[2026-11-15 Sun 10:00]"), tree.archive(id), tree.cut_subtree(id), tree.move_up(id)] {
            read(edit);
        }
        if let Some(other) = headlines.first() {
            read(tree.refile(id, *other, now()));
        }
    }
}
