//! A folder, its index, and what becomes of it when files change, move, go or cannot be read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::{INDEX_FILE, IndexChanges, MemexIndex};
use crate::{
    IndexCompleteness, MemexCatalog, MemexFolder, MemexObject, MemexQuery, OutlineRequest,
    PrivateAccess, ReadRules, SearchText, SkipReason, resolve,
};

/// A Memex, its index and its reader.
struct Rig {
    folder: TempDir,
    state: TempDir,
    memex: Arc<MemexFolder>,
    index: Option<MemexIndex>,
}

impl Rig {
    fn new() -> Rig {
        Rig::with(ReadRules::default())
    }

    fn with(rules: ReadRules) -> Rig {
        let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let memex = Arc::new(MemexFolder::open(folder.path(), rules).unwrap());
        let index = Some(MemexIndex::open(state.path(), &memex).unwrap());
        Rig { folder, state, memex, index }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn rename(&self, from: &str, to: &str) {
        let at = |path| self.folder.path().join(path);
        fs::create_dir_all(at(to).parent().unwrap()).unwrap();
        fs::rename(at(from), at(to)).unwrap();
    }

    fn sync(&mut self) -> IndexChanges {
        let scan = self.memex.scan();
        self.index.as_mut().unwrap().sync(&self.memex, &scan, &mut |_| true).unwrap()
    }

    fn update(&mut self, paths: &[&str]) -> IndexChanges {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        self.index.as_mut().unwrap().update(&self.memex, &paths).unwrap()
    }

    /// Closes the index and opens it again.
    fn reopen(&mut self) {
        self.index = None;
        self.index = Some(MemexIndex::open(self.state.path(), &self.memex).unwrap());
    }

    fn catalog(&self) -> MemexCatalog {
        MemexCatalog::open(self.state.path(), Arc::clone(&self.memex)).unwrap()
    }

    fn all(&self) -> Vec<MemexObject> {
        let query = MemexQuery { limit: 500, ..MemexQuery::default() };
        let page = self.catalog().query(&query, PrivateAccess::Owner, SearchText::None).unwrap();
        page.hits.into_iter().map(|hit| hit.object).collect()
    }

    fn titled(&self, title: &str) -> MemexObject {
        let mut found: Vec<MemexObject> = self.all();
        found.retain(|object| object.title == title);
        assert_eq!(found.len(), 1, "{title}: {found:?}");
        found.remove(0)
    }

    fn outline(&self) -> String {
        let outline = OutlineRequest { limit: 500, ..OutlineRequest::default() };
        let page = self.catalog().outline(&outline, PrivateAccess::Owner).unwrap();
        let titles: Vec<String> = page.objects.into_iter().map(|object| object.title).collect();
        titles.join(" ")
    }

    fn why(&self, path: &str) -> Option<SkipReason> {
        let skipped = self.catalog().skipped().unwrap();
        skipped.into_iter().find(|skipped| skipped.path == path).map(|skipped| skipped.why)
    }
}

#[test]
fn a_folder_is_read_once_and_then_only_what_changed() {
    let mut rig = Rig::new();
    rig.write("a.org", "* A\n").write("deep/down/b.org", "* B\n** C\n").write("c.txt", "* no\n");
    assert_eq!(rig.sync(), IndexChanges { read: 2, added: 2, ..IndexChanges::default() });
    assert_eq!(rig.outline(), "a.org A b.org B C");
    assert_eq!(rig.sync(), IndexChanges::default());
    rig.reopen();
    assert_eq!(rig.sync(), IndexChanges::default());
    rig.write("a.org", "* A\n* D\n");
    assert_eq!(rig.sync(), IndexChanges { read: 1, ..IndexChanges::default() });
    assert_eq!(rig.outline(), "a.org A D b.org B C");
    let status = rig.catalog().status(PrivateAccess::Owner).unwrap();
    assert_eq!((status.files, status.headings, status.others), (2, 4, 1));
    assert_eq!(status.standing, IndexCompleteness::Whole);
}

#[test]
fn headings_that_go_are_gone_and_so_are_files() {
    let mut rig = Rig::new();
    rig.write("a.org", "* A :x:\nsecret word\n* B\n").write("b.org", "* C\n");
    rig.sync();
    rig.write("a.org", "* B\n");
    fs::remove_file(rig.folder.path().join("b.org")).unwrap();
    assert_eq!(rig.update(&["a.org", "b.org"]).removed, 1);
    assert_eq!(rig.outline(), "a.org B");
    let find = |query: MemexQuery| {
        rig.catalog().query(&query, PrivateAccess::Owner, SearchText::None).unwrap().hits.len()
    };
    assert_eq!(find(MemexQuery { tags: vec!["x".into()], ..MemexQuery::default() }), 0);
    assert_eq!(find(MemexQuery { text: Some("secret".into()), ..MemexQuery::default() }), 0);
}

#[test]
fn objects_keep_their_keys_across_edits_moves_and_renames() {
    let mut rig = Rig::new();
    rig.write("a.org", "* A\ntext\n** B\n").write("b.org", "* Other\n");
    rig.sync();
    let (a, b) = (rig.titled("A"), rig.titled("B"));
    rig.write("a.org", "* New\n* A\nother text\n** B\n");
    rig.sync();
    assert_eq!((&rig.titled("A").key, &rig.titled("B").key), (&a.key, &b.key));
    rig.rename("a.org", "folder/z.org");
    assert_eq!(rig.sync().moved, 1);
    assert_eq!((&rig.titled("A").key, &rig.titled("A").path[..]), (&a.key, "folder/z.org"));
    // Renamed and changed, together.
    rig.rename("folder/z.org", "y.org");
    rig.write("y.org", "* New\n* A\nother text\n** B\n* More\n");
    assert_eq!(rig.sync().moved, 1);
    assert_eq!(rig.titled("A").key, a.key);
    // Refiled into another file, in either order of the two.
    rig.write("y.org", "* New\n* More\n").write("b.org", "* Other\n** A\nother text\n*** B\n");
    rig.sync();
    assert_eq!((&rig.titled("A").key, &rig.titled("A").path[..]), (&a.key, "b.org"));
    rig.write("y.org", "* New\n* More\n* A\nother text\n** B\n").write("b.org", "* Other\n");
    rig.sync();
    assert_eq!((&rig.titled("A").key, &rig.titled("A").path[..]), (&a.key, "y.org"));
    assert_eq!(rig.titled("B").key, b.key);
}

#[test]
fn another_file_that_gets_the_same_number_is_another_file() {
    let mut rig = Rig::new();
    rig.write("a.org", "* A\n* B\n");
    rig.sync();
    let key = rig.titled("A").key;
    let file = rig.titled("a.org").key;
    // The same inode, other headings.
    rig.rename("a.org", "b.org");
    rig.write("b.org", "* X\n* Y\n* Z\n");
    let changes = rig.sync();
    assert_eq!((changes.moved, changes.removed, changes.added), (0, 1, 1));
    assert!(rig.all().iter().all(|object| object.key != key && object.key != file));
}

#[test]
fn an_editor_that_saves_into_a_new_file_and_renames_it_changes_the_file() {
    let mut rig = Rig::new();
    rig.write("a.org", "* A\n");
    rig.sync();
    let key = rig.titled("A").key;
    rig.write(".a.org.tmp", "* A\nmore\n");
    rig.rename(".a.org.tmp", "a.org");
    assert_eq!(rig.update(&["a.org"]).added, 0);
    assert_eq!(rig.titled("A").key, key);
}

#[test]
fn the_same_id_twice_is_told_and_neither_is_lost() {
    let with = |title: &str| format!("* {title}\n:PROPERTIES:\n:ID: same\n:END:\n");
    let mut rig = Rig::new();
    rig.write("a.org", with("A") + &with("B")).write("b.org", with("C"));
    rig.sync();
    let keys: std::collections::HashSet<String> = rig.all().into_iter().map(|o| o.key).collect();
    assert_eq!(keys.len(), 5);
    assert_eq!(rig.catalog().object("same", PrivateAccess::Owner).unwrap().title, "A");
    let double = rig.catalog().duplicates(PrivateAccess::Owner).unwrap();
    assert_eq!(
        double.iter().map(|d| (&d.declared[..], &d.path[..])).collect::<Vec<_>>(),
        [("same", "a.org"), ("same", "b.org")]
    );
    rig.write("a.org", "nothing\n");
    rig.sync();
    assert_eq!(rig.catalog().object("same", PrivateAccess::Owner).unwrap().title, "C");
    assert_eq!(rig.catalog().duplicates(PrivateAccess::Owner).unwrap(), []);
}

#[test]
fn a_new_index_gives_the_same_keys() {
    let mut rig = Rig::new();
    rig.write("a.org", "* A\n* A\n** B\n* A\n").write("b.org", "* A\n");
    rig.sync();
    let before = rig.all();
    let hash = rig.catalog().status(PrivateAccess::Owner).unwrap().hash;
    rig.index = None;
    MemexIndex::throw_away(rig.state.path()).unwrap();
    assert!(!rig.state.path().join(INDEX_FILE).exists());
    rig.reopen();
    rig.sync();
    assert_eq!(rig.all(), before);
    assert_eq!(rig.catalog().status(PrivateAccess::Owner).unwrap().hash, hash);
}

#[test]
fn what_is_not_to_be_read_is_listed_with_the_reason() {
    let rules = ReadRules { max_file: 100, ..ReadRules::default() };
    let mut rig = Rig::with(rules);
    rig.write("a.org", "* A\n").write("big.org", "x".repeat(101)).write("s.org.gpg", "* no\n");
    rig.write(".hidden.org", "* no\n").write(".git/x.org", "* no\n").write("#a.org#", "* no\n");
    rig.write("a.org~", "* no\n").write("bad.org", b"* \xff\n").write("no/x.org", "* no\n");
    rig.write(".bridleignore", "no/\n");
    let at = |path: &str| rig.folder.path().join(path);
    symlink("/etc/hostname", at("out.org")).unwrap();
    symlink(rig.folder.path(), at("loop")).unwrap();
    symlink("a.org", at("in.org")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(at("pipe.org")).status().unwrap();
    assert!(fifo.success());
    symlink(".#lock", at(".#a.org")).unwrap();
    rig.sync();
    for (path, why) in [
        ("big.org", SkipReason::TooLarge),
        ("s.org.gpg", SkipReason::Encrypted),
        ("out.org", SkipReason::Link),
        ("loop", SkipReason::Link),
        ("in.org", SkipReason::Link),
        ("pipe.org", SkipReason::NotAFile),
        ("bad.org", SkipReason::NotUtf8),
        ("no", SkipReason::Ignored),
    ] {
        assert_eq!(rig.why(path), Some(why), "{path}");
    }
    assert_eq!(rig.outline(), "a.org A bad.org \u{fffd}");
    // One that is named by a change is judged the same way.
    rig.update(&[
        "out.org",
        "pipe.org",
        ".git/x.org",
        "no/x.org",
        "../x.org",
        "loop/a.org",
        "s.org.gpg",
    ]);
    assert_eq!(rig.outline(), "a.org A bad.org \u{fffd}");
}

#[test]
fn what_cannot_be_read_is_listed_and_read_when_it_can() {
    let mut rig = Rig::new();
    rig.write("a.org", "* A\n");
    let path = rig.folder.path().join("b.org");
    // Nobody can read it, whoever runs this.
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let skipped = ("a.org A".to_owned(), Some(SkipReason::NotAFile));
    rig.sync();
    assert_eq!((rig.outline(), rig.why("b.org")), skipped);
    rig.update(&["b.org"]);
    assert_eq!((rig.outline(), rig.why("b.org")), skipped);
    fs::remove_file(&path).unwrap();
    rig.write("b.org", "* B\n");
    rig.update(&["b.org"]);
    assert_eq!((rig.outline(), rig.why("b.org")), ("a.org A b.org B".to_owned(), None));
    // A file that becomes unreadable is not shown as it was.
    fs::remove_file(&path).unwrap();
    symlink("a.org", &path).unwrap();
    rig.sync();
    assert_eq!((rig.outline(), rig.why("b.org")), ("a.org A".to_owned(), Some(SkipReason::Link)));
    // What the system refuses for other reasons; here, a name that it does not take.
    let refused = rig.memex.read(&format!("{}.org", "n".repeat(300)));
    assert_eq!(refused.unwrap_err(), Some(SkipReason::Unreadable));
}

#[test]
fn files_that_were_read_or_are_gone_are_told_once() {
    let mut rig = Rig::new();
    rig.write("a.org", "* A\n").write("b.org", "* B\n").write("c.txt", "c\n");
    rig.sync();
    let touched = |rig: &mut Rig| {
        let mut touched = rig.index.as_mut().unwrap().take_touched();
        touched.sort_unstable();
        touched.join(" ")
    };
    // All of it is new: whoever wants all asks for the paths.
    assert_eq!(touched(&mut rig), "");
    assert_eq!(rig.index.as_ref().unwrap().paths().unwrap().len(), 2);
    rig.write("a.org", "* A2\n").write("d.org", "* D\n");
    fs::remove_file(rig.folder.path().join("b.org")).unwrap();
    rig.sync();
    assert_eq!(touched(&mut rig), "a.org b.org d.org");
    rig.update(&["a.org", "c.txt", ".hidden.org", "gone.org"]);
    assert_eq!(touched(&mut rig), "a.org gone.org");
    assert_eq!(touched(&mut rig), "");
}

#[test]
fn more_files_than_may_be_are_counted_and_not_read() {
    let mut rig = Rig::with(ReadRules { max_files: 2, ..ReadRules::default() });
    rig.write("a.org", "").write("b.org", "").write("c.org", "");
    rig.sync();
    assert_eq!(
        (rig.outline(), rig.why("c.org")),
        ("a.org b.org".to_owned(), Some(SkipReason::TooManyFiles))
    );
}

#[test]
fn an_index_that_is_damaged_or_of_something_else_is_made_anew() {
    let mut rig = Rig::new();
    rig.write("a.org", "* A\n");
    rig.sync();
    rig.index = None;
    fs::write(rig.state.path().join(INDEX_FILE), b"this is no database, not at all").unwrap();
    rig.reopen();
    rig.sync();
    assert_eq!(rig.outline(), "a.org A");
    // Other rules make other objects.
    let rules = ReadRules { private_tags: vec!["other".into()], ..ReadRules::default() };
    rig.memex = Arc::new(MemexFolder::open(rig.folder.path(), rules).unwrap());
    rig.reopen();
    assert_eq!(rig.outline(), "");
    // The machine went down while the disk did not have all of it.
    rig.sync();
    rig.index = None;
    fs::write(rig.state.path().join("index.unsynced"), "another run").unwrap();
    rig.reopen();
    assert_eq!(rig.outline(), "");
    rig.sync();
    rig.index.as_mut().unwrap().settle().unwrap();
    assert!(!rig.state.path().join("index.unsynced").exists());
    rig.reopen();
    assert_eq!(rig.outline(), "a.org A");
}

#[test]
fn a_stop_is_heard_and_the_rest_is_done_the_next_time() {
    let mut rig = Rig::new();
    for n in 0..10 {
        rig.write(&format!("{n}.org"), format!("* H{n}\n{}", "text ".repeat(400_000)));
    }
    let scan = rig.memex.scan();
    let mut seen = Vec::new();
    let mut stop = |progress: super::IndexProgress| {
        seen.push(progress);
        false
    };
    let changes = rig.index.as_mut().unwrap().sync(&rig.memex, &scan, &mut stop).unwrap();
    assert!(changes.stopped && changes.read < 10, "{changes:?}");
    assert_eq!((seen.len(), seen[0].all_files), (1, 10));
    assert_eq!(
        rig.catalog().status(PrivateAccess::Owner).unwrap().standing,
        IndexCompleteness::Partial
    );
    rig.sync();
    let status = rig.catalog().status(PrivateAccess::Owner).unwrap();
    assert_eq!((status.files, status.standing), (10, IndexCompleteness::Whole));
}

#[test]
fn a_path_that_somebody_names_stays_below_the_roots() {
    let rig = Rig::new();
    rig.write("a.org", "").write("x/b.org", "");
    let at = |path: &str| rig.folder.path().join(path);
    symlink("/etc", at("out")).unwrap();
    symlink("x", at("in")).unwrap();
    let root = rig.memex.root().to_path_buf();
    let check = |path: &str, expect: Option<&Path>| {
        assert_eq!(resolve(path, std::slice::from_ref(&root)).as_deref(), expect, "{path:?}");
    };
    check("a.org", Some(&root.join("a.org")));
    check("./x/b.org", Some(&root.join("x/b.org")));
    check("in/b.org", Some(&root.join("x/b.org")));
    check(&root.join("a.org").to_string_lossy(), Some(&root.join("a.org")));
    for bad in [
        "",
        "..",
        "../etc/passwd",
        "x/../../etc",
        "x/../a.org",
        "/etc/passwd",
        "out/hostname",
        "out",
        "a.org\0",
        "A.ORG",
        "none.org",
        "~/a.org",
        "/proc/self/root/etc/hostname",
        &"x/".repeat(5000),
    ] {
        check(bad, None);
    }
    let sibling = format!("{}-other", root.display());
    fs::create_dir(&sibling).unwrap();
    check(&sibling, None);
    fs::remove_dir(&sibling).unwrap();
}

#[test]
fn a_setup_file_has_a_say_in_the_tags_of_others_whenever_it_changes() {
    let mut rig = Rig::new();
    rig.write("a.org", "#+SETUPFILE: sub/one.org\n* A\n").write("b.org", "* B\n");
    rig.write("sub/one.org", "#+SETUPFILE: two.org\n").write("sub/two.org", "#+TITLE: Two\n");
    rig.sync();
    let is_private = |rig: &Rig| rig.titled("A").private;
    assert!(!is_private(&rig));
    // The one behind the next, as the system tells it, and as it is found.
    rig.write("sub/two.org", "#+FILETAGS: private\n");
    assert_eq!(rig.update(&["sub/two.org"]).read, 3, "both that it leads to, and itself");
    assert!(is_private(&rig) && !rig.titled("B").private);
    rig.write("sub/two.org", "#+TITLE: Nothing is private\n");
    rig.reopen();
    assert_eq!(rig.sync().read, 3);
    assert!(!is_private(&rig));
    // One that goes, and one that comes back: in between nobody knows.
    rig.rename("sub/two.org", "sub/two.txt");
    rig.update(&["sub/two.org"]);
    assert!(is_private(&rig));
    rig.rename("sub/two.txt", "sub/two.org");
    rig.sync();
    assert!(!is_private(&rig));
    rig.write(".bridleignore", "two.org\n");
    rig.sync();
    assert!(is_private(&rig));
    let public = rig.catalog().object("a.org", PrivateAccess::Public);
    assert!(public.is_err(), "{public:?}");
}

#[test]
fn a_mark_before_the_text_moves_nothing() {
    let mut rig = Rig::new();
    rig.write("a.org", "\u{feff}#+FILETAGS: x\nFirst\n* Open\nText\n* Hidden :private:\nhush\n");
    rig.write("b.org", "\u{feff}* Hidden too :private:\nhush\n* Seen\n");
    rig.sync();
    let catalog = rig.catalog();
    let text = |title: &str, access| catalog.text(&rig.titled(title), access);
    assert_eq!(text("Open", PrivateAccess::Public).as_deref(), Some("* Open\nText\n"));
    assert_eq!(text("Hidden", PrivateAccess::Owner).as_deref(), Some("* Hidden :private:\nhush\n"));
    assert_eq!(text("Hidden", PrivateAccess::Public), None);
    assert_eq!(text("a.org", PrivateAccess::Public).as_deref(), Some("#+FILETAGS: x\nFirst\n"));
    assert!(rig.titled("Hidden too").private && !rig.titled("Seen").private);
}
