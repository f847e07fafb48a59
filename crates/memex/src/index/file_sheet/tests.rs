//! Objects of texts: tags, dates, hashes, what is private and what is encrypted.

use super::{FileSheet, SheetItem, count_headings, shown};
use crate::index::folder::MemexFolder;
use crate::index::rules::{MAX_HEADINGS, MAX_TAGS, ObjectReach, OrgDefaults, ReadRules};
use crate::index::scan::SkipReason;

fn sheet(text: &str) -> FileSheet {
    FileSheet::read("notes/a.org", text.as_bytes(), &ReadRules::default())
}

fn item<'s>(sheet: &'s FileSheet, title: &str) -> &'s SheetItem {
    sheet.items.iter().find(|item| item.title == title).expect(title)
}

fn tags<'s>(sheet: &'s FileSheet, title: &str) -> Vec<&'s str> {
    sheet.tags_of(item(sheet, title)).collect()
}

#[test]
fn headings_have_their_own_tags_and_those_above_them() {
    let sheet = sheet("#+FILETAGS: :all:\n* A :a:\n** B :b:\n*** C\n* D\n");
    assert_eq!(tags(&sheet, "C"), ["b", "a", "all"]);
    assert_eq!(tags(&sheet, "B"), ["b", "a", "all"]);
    assert_eq!(tags(&sheet, "D"), ["all"]);
    assert_eq!(item(&sheet, "B").own_tags, 1);
    assert_eq!(item(&sheet, "C").parent, Some(2));
    assert_eq!(item(&sheet, "a.org").parent, None);
}

#[test]
fn what_is_private_is_so_with_all_below_it() {
    let sheet = sheet(
        "* A :Private:\n** B\n* C\nopen\n:PRIVATE:\nhush\n#+begin_quote\nhush too\n#+end_quote\n:END:\nopen again\n",
    );
    assert!(item(&sheet, "A").private && item(&sheet, "B").private);
    let c = item(&sheet, "C");
    assert!(!c.private);
    assert_eq!(c.text, "open\nopen again\n");
    assert!(c.hidden.contains("hush\n") && c.hidden.contains("hush too"));
    let all = FileSheet::read("x.org", b"#+FILETAGS: :private:\n* A\n", &ReadRules::default());
    assert!(all.items.iter().all(|item| item.private));
}

#[test]
fn private_tags_and_drawers_can_be_others() {
    let rules = ReadRules {
        private_tags: vec!["diary".to_owned()],
        private_drawers: vec!["NOTES".to_owned()],
        ..ReadRules::default()
    };
    let text = b"* A :diary:\n* B :private:\n:notes:\nhush\n:end:\n:private:\nopen\n:end:\n";
    let sheet = FileSheet::read("x.org", text, &rules);
    assert!(item(&sheet, "A").private && !item(&sheet, "B").private);
    assert!(item(&sheet, "B").hidden.contains("hush") && item(&sheet, "B").text.contains("open"));
}

/// Files without keywords of their own have the keywords of the settings; an index made with others is made anew.
#[test]
fn keywords_of_the_settings_hold_where_a_file_has_none() {
    let todo_sequences = vec!["TODO NEXT | DONE(d!) GONE".to_owned()];
    let org = OrgDefaults { todo_sequences, ..OrgDefaults::default() };
    let rules = ReadRules { org, ..ReadRules::default() };
    let of = |text: &str| {
        let sheet = FileSheet::read("x.org", text.as_bytes(), &rules);
        let item = item(&sheet, "a");
        (item.todo.clone(), item.done)
    };
    assert_eq!(of("* NEXT a\n"), (Some("NEXT".to_owned()), false));
    assert_eq!(of("* GONE a\n"), (Some("GONE".to_owned()), true));
    let own = FileSheet::read("x.org", b"#+TODO: OPEN | SHUT\n* NEXT a\n", &rules);
    assert_eq!(item(&own, "NEXT a").todo, None);
    assert_ne!(rules.fingerprint(), ReadRules::default().fingerprint());
}

#[test]
fn what_is_encrypted_is_a_title_and_nothing_else() {
    let sheet = sheet(
        "* Key :crypt:\nSecret <2026-11-15 Sun>\n** Below\n* Pgp\n-----BEGIN PGP MESSAGE-----\nx\n* Open\nText\n",
    );
    let titles: Vec<&str> = sheet.items.iter().map(|item| item.title.as_str()).collect();
    assert_eq!(titles, ["a.org", "Key", "Pgp", "Open"]);
    for title in ["Key", "Pgp"] {
        let item = item(&sheet, title);
        assert!(item.encrypted && item.text.is_empty() && item.hidden.is_empty());
        assert!(item.stamps.is_empty());
    }
    assert_eq!(item(&sheet, "Open").text, "Text\n");
}

#[test]
fn a_hash_follows_from_the_text_and_what_is_below_and_not_from_the_place() {
    let one = sheet("* A\nText\n** B\n* C\n");
    let moved = sheet("* X\n*** A\nText\n**** B\n");
    let (a, b) = (item(&one, "A"), item(&moved, "A"));
    assert_eq!((a.own, a.hash), (b.own, b.hash));
    let crlf = sheet("* A\r\nText\r\n** B\r\n* C\r\n");
    assert_eq!(item(&crlf, "A").hash, a.hash);
    let other = sheet("* A\nText\n** B!\n* C\n");
    assert_eq!(item(&other, "A").own, a.own);
    assert_ne!(item(&other, "A").hash, a.hash);
    assert_ne!(other.items[0].hash, one.items[0].hash);
    let swapped = sheet("* C\n* A\nText\n** B\n");
    assert_ne!(swapped.items[0].hash, one.items[0].hash);
}

#[test]
fn scopes_are_declared_or_inherited() {
    let sheet =
        sheet("* P :project:\n** Q\n** R\n:PROPERTIES:\n:SCOPE: Session\n:END:\n*** S\n* T\n");
    let scope = |title| item(&sheet, title).scope;
    assert_eq!([scope("P"), scope("Q")], [ObjectReach::Project; 2]);
    assert_eq!([scope("R"), scope("S")], [ObjectReach::Session; 2]);
    assert_eq!(scope("T"), ObjectReach::Memex);
}

#[test]
fn dates_come_from_planning_titles_and_prose_and_not_from_code() {
    let sheet = sheet(
        "* A <2026-01-01 Thu>\nSCHEDULED: <2026-01-02 Fri> DEADLINE: <2026-01-03 Sat>\nat [2026-01-04 Sun]\n\
         #+begin_src sh\n<2026-01-05 Mon>\n#+end_src\n",
    );
    let starts: Vec<String> =
        sheet.items[1].stamps.iter().map(|stamp| stamp.start.to_string()).collect();
    assert_eq!(starts, ["2026-01-02", "2026-01-03", "2026-01-01", "2026-01-04"]);
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_told() {
    let sheet = FileSheet::read("x.org", b"* A\xff\nText \xfe\n", &ReadRules::default());
    assert_eq!(sheet.flaw, Some(SkipReason::NotUtf8));
    assert_eq!(sheet.items[1].title, "A\u{fffd}");
}

#[test]
fn hostile_files_cost_no_more_than_their_limits() {
    let deep: String =
        (1..3000).map(|level| format!("{} h :t{level}:\n", "*".repeat(level))).collect();
    let deep = sheet(&deep);
    assert!(deep.items.iter().all(|item| item.tags.len() <= MAX_TAGS));
    let many = "* \n".repeat(MAX_HEADINGS + 1);
    assert_eq!(count_headings(many.as_bytes()), MAX_HEADINGS + 1);
    let many = sheet(&many);
    assert_eq!((many.flaw, many.items.len()), (Some(SkipReason::TooManyHeadings), 0));
    let long = sheet(&format!("* {}\n", "é".repeat(10_000)));
    assert!(long.items[1].title.len() <= 1024);
}

#[test]
fn text_is_shown_without_private_drawers() {
    let text = b"* A\nopen\n  :private:\n  hush\n  :end:\nmore\n";
    assert_eq!(shown(text, &ReadRules::default(), false), "* A\nopen\nmore\n");
    assert!(shown(text, &ReadRules::default(), true).contains("hush"));
}

#[test]
fn what_is_to_be_encrypted_and_is_not_is_noticed() {
    let check = |text: &str, expect: bool| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("setup.org"), "#+FILETAGS: :crypt:\n").unwrap();
        let memex = MemexFolder::open(folder.path(), ReadRules::default()).unwrap();
        assert_eq!(super::is_in_clear(&memex, "a.org", text.as_bytes()), expect, "{text}");
    };
    let sealed = "-----BEGIN PGP MESSAGE-----\nabc\n-----END PGP MESSAGE-----\n";
    check("* A\ntext about crypt\n", false);
    check("* A :crypt:\n", false);
    check(&format!("* A :crypt:\n{sealed}"), false);
    check(&format!("* A :crypt:\n:PROPERTIES:\n:ID: x\n:END:\n{sealed}* B\ntext\n"), false);
    check("* A :x:CRYPT:\nin the clear\n", true);
    check("* A :crypt:\n** below\n", true);
    check("#+FILETAGS: :crypt:\n* A\n", true);
    check(&format!("* A :crypt:\n{sealed}written behind it\n"), true);
    check(&format!("* A :crypt:\n{sealed}{sealed}"), true);
    check(&format!("* A :crypt:\n{sealed}** below\n"), true);
    check("* A :crypt:\n:private:\nin the clear\n:end:\n", true);
    check("#+SETUPFILE: setup.org\n* A\n", true);
}

#[test]
fn what_stands_in_the_clear_is_not_called_encrypted() {
    let sealed = "-----BEGIN PGP MESSAGE-----\nabc\n-----END PGP MESSAGE-----\n";
    let sheet = sheet(&format!(
        "* Clear :crypt:\nhush\n* Sealed :crypt:\n{sealed}* Both :crypt:\n{sealed}** below\n* Empty :crypt:\n"
    ));
    let label = |title| (item(&sheet, title).encrypted, item(&sheet, title).in_clear);
    assert_eq!(label("Clear"), (true, true));
    assert_eq!(label("Sealed"), (true, false));
    assert_eq!(label("Both"), (true, true));
    assert_eq!(label("Empty"), (true, false));
    assert!(sheet.items.iter().all(|item| !item.text.contains("hush") && item.title != "below"));
}
