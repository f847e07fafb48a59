//! Lines of the user are told apart from those that edits wrote, whatever happened in between.

use std::fs;

use super::{ChangeCause, Rig, VersionOrigin, why};
use crate::MemoryPreview;

/// The total of the lines that a change to `after` takes away, and those of the user among them.
fn lost(rig: &Rig, after: Option<&str>) -> (usize, Vec<(usize, String)>) {
    let preview = MemoryPreview::open(rig.state.path()).unwrap();
    let lost = preview.lost_lines(&rig.change("a.org", after)).unwrap();
    let text = |text: &[u8]| String::from_utf8(text.to_vec()).unwrap();
    (lost.total, lost.by_user.iter().map(|it| (it.line, text(&it.text))).collect())
}

fn lines(lines: &[(usize, &str)]) -> Vec<(usize, String)> {
    lines.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
}

#[test]
fn lines_of_the_user_are_told_apart_from_those_of_edits() {
    let rig = Rig::new(&[("a.org", "* TODO a\nmine\n")]);
    rig.write(1, "a.org", "* DONE a\nmine\nours\n");
    fs::write(rig.file("a.org"), "top\n* DONE a\nmine\nours\n").unwrap();
    rig.notice("a.org", 2);
    rig.write(3, "a.org", "top\n* DONE a\nmine\nours\nours too\n");
    // Nobody has noticed this yet.
    fs::write(rig.file("a.org"), "top\n* DONE a\nmine\r\nours\nours too\nlate\n").unwrap();
    let users = [(1, "top"), (3, "mine"), (6, "late")];
    assert_eq!(lost(&rig, None), (6, lines(&users)));
    assert_eq!(lost(&rig, Some("")), (6, lines(&users)));
    let kept = "top\n* DONE a\nmine\r\nlate\n";
    assert_eq!(lost(&rig, Some(kept)), (2, Vec::new()), "edits wrote both");
    assert_eq!(lost(&rig, Some(&format!("more\n{}", rig.text("a.org")))), (0, Vec::new()));
}

#[test]
fn what_was_brought_back_or_moved_is_of_whoever_wrote_it_first() {
    let rig = Rig::new(&[("a.org", "mine\nother\n")]);
    let change = |record: u64, origin: VersionOrigin, action: &str, after: &str| {
        let why = ChangeCause { origin, action: action.into(), ..why(record) };
        rig.memory.apply(&[rig.change("a.org", Some(after))], &why).unwrap();
    };
    change(1, VersionOrigin::Edit, "append-subtree", "mine\nother\nours\n");
    change(2, VersionOrigin::Edit, "delete-subtree", "other\n");
    change(3, VersionOrigin::Undo, "undo", "mine\nother\nours\n");
    change(4, VersionOrigin::Edit, "move-up", "ours\nother\nmine\n");
    change(5, VersionOrigin::Edit, "refile", "ours\nother\nmine\nfrom another file\n");
    let users = [(2, "other"), (3, "mine"), (4, "from another file")];
    assert_eq!(lost(&rig, None), (4, lines(&users)));
}
