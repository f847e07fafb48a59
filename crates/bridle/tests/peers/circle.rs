//! The full circle: what Org sees in a file goes from a real Emacs to the daemon and comes back as it was. Here with
//! the texts of `vectors/org` and one of every script; `cargo xtask peers circle` does it with a thousand real files.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Server, finish, root};

/// Arabic, Chinese, emoji with joiners, marks that combine, and every text that a printer could spoil.
const SCRIPTS: &str = "\
#+TITLE: رتّب هذه المهام — λ 😀
* TODO [#A] 请整理 *这个* 子树 :عمل:@家:
SCHEDULED: <2026-11-15 Sun 10:00-11:00 +1w>
:PROPERTIES:
:ID: \"quoted\" \\ back
:END:
- [X] 👩🏽‍💻 /ship it/ 🚀 :: e\u{301}\u{200f}\u{202e}
  1. [@5] ~(a . b)~ =\"c\"= #1=x #.y ;z
| a\\vert{}b | <<target>> |
#+begin_src emacs-lisp :tangle \"x y\"
(message \"%s\\n\" ?\\( '(a . b)) ; #1=
#+end_src
A\u{0}\u{7f}\ttab[fn:: 注 *b*] \\alpha{} a_{b}^c $x$ [[file:a b.org::*h][*d* e]] {{{m(a,b)}}} <2026-11-15>--<2026-11-16>
";

fn org_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            org_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "org") {
            found.push(path);
        }
    }
}

#[test]
fn what_org_sees_comes_back_from_the_daemon_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let scripts = folder.path().join("نصوص 文 😀.org");
    fs::write(&scripts, SCRIPTS).unwrap();
    fs::write(folder.path().join("empty.org"), "").unwrap();
    let mut files = vec![scripts, folder.path().join("empty.org")];
    org_files(&root().join("vectors/org"), &mut files);
    assert!(files.len() > 5, "the vectors are there: {files:?}");
    let (server, out) = (Server::bridle(), folder.path().join("out"));
    let mut emacs = Command::new("emacs");
    emacs.args(["-Q", "--batch", "-l", "peers/emacs/bridle-peer.el"]);
    emacs.args(["-l", "peers/emacs/org-circle.el", "-f", "org-circle-main", "--"]);
    emacs.arg(server.port_text()).arg(&out).args(&files).current_dir(root());
    finish(emacs, b"");
    let said = fs::read_to_string(&out).unwrap();
    let wrong: Vec<&str> = said.lines().filter(|line| !line.starts_with("same ")).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(said.lines().count(), files.len());
}
