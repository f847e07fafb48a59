//! Tags of files as Emacs sees them: `vectors/org-tags` has the texts, and what Emacs says of each.

use std::fs;
use std::path::{Path, PathBuf};

use crate::index::file_sheet::FileSheet;
use crate::index::folder::MemexFolder;
use crate::index::rules::ReadRules;

/// Texts that are private here and not in Emacs, and the reason.
const STRICTER: [(&str, &str); 8] = [
    ("exclude", "a tag that is not inherited in Emacs is inherited here"),
    ("group-file", "a member of a private group is private"),
    ("group-heading", "a member of a private group is private"),
    ("group-nested", "a member of a private group is private"),
    ("group-regexp", "nobody but Emacs knows the members"),
    ("mixed-ends-block", "such a line counts wherever it stands"),
    ("mixed-ends-heading", "both ends of lines count"),
    ("setup-missing", "nobody knows which tags it will have"),
];

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/org-tags")
}

/// Whether a file and each of its headings are private, as text.
fn privacy(memex: &MemexFolder, name: &str) -> String {
    let (bytes, _) = memex.read(name).expect(name);
    let sheet = FileSheet::of_file(memex, name, &bytes);
    let mark = |private: bool| if private { "private" } else { "open" };
    let all = sheet.items.iter().map(|item| mark(item.private));
    all.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_is_private_wherever_emacs_says_so() {
    let memex = MemexFolder::open(&vectors(), ReadRules::default()).unwrap();
    let told = fs::read_to_string(vectors().join("emacs.txt")).unwrap();
    let mut compared = 0;
    for line in told.lines() {
        let (file, emacs) = line.split_once(": ").expect(line);
        let name = file.strip_suffix(".org").expect(line);
        let mut ours = privacy(&memex, file);
        // What cannot be read has no headings here; all that there is in it is private.
        if ours == "private" {
            ours = emacs.replace("open", "private");
        }
        let reason = STRICTER.iter().find(|(known, _)| *known == name);
        match reason {
            None => assert_eq!(ours, emacs, "{file}"),
            Some(_) => {
                assert_ne!(ours, emacs, "{file} is as in Emacs; it needs no exception");
                for (ours, emacs) in ours.split(' ').zip(emacs.split(' ')) {
                    assert!(ours == "private" || emacs == "open", "{file}: {ours}, {emacs}");
                }
            }
        }
        compared += 1;
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn what_nobody_here_can_read_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let memex = MemexFolder::open(folder.path(), ReadRules::default()).unwrap();
    fs::write(folder.path().join("plain.txt"), "#+TITLE: x\n").unwrap();
    fs::write(folder.path().join(".hidden.org"), "#+TITLE: x\n").unwrap();
    fs::write(folder.path().join("open.org"), "#+TITLE: x\n").unwrap();
    std::os::unix::fs::symlink("open.org", folder.path().join("link.org")).unwrap();
    let check = |text: &str, expect: &str| {
        fs::write(folder.path().join("a.org"), text).unwrap();
        assert_eq!(privacy(&memex, "a.org"), expect, "{text}");
    };
    check("#+SETUPFILE: open.org\n* A\n", "open open");
    check("#+SETUPFILE:\n* A\n", "open open");
    let inside = folder.path().canonicalize().unwrap().join("open.org");
    check(&format!("#+SETUPFILE: {}\n* A\n", inside.display()), "open open");
    for elsewhere in [
        "plain.txt",
        ".hidden.org",
        "link.org",
        "none.org",
        "../open.org",
        "/etc/hosts",
        "/dev/zero",
        "~/open.org",
        "https://example.org/setup.org",
        "file:open.org",
    ] {
        check(&format!("#+SETUPFILE: {elsewhere}\n* A\n"), "private private");
    }
    check("* A\n# Local Variables:\n# org-file-tags: (\"x\")\n# End:\n", "private private");
    // One leads to the next; of too many, the last ones are not known.
    for number in 0..40 {
        let next = format!("#+SETUPFILE: s{}.org\n", number + 1);
        let text = if number == 39 { "#+TITLE: x\n".to_owned() } else { next };
        fs::write(folder.path().join(format!("s{number}.org")), text).unwrap();
    }
    check("#+SETUPFILE: s30.org\n* A\n", "open open");
    check("#+SETUPFILE: s0.org\n* A\n", "private private");
}
