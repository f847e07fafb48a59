//! What went wrong in an earlier system that kept a memory of Org files, each with a test of what is right. Only what
//! concerns reading; versions and writing have their own tests.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bridle_memex::{
    MemexCatalog, MemexFolder, MemexIndex, MemexObject, MemexQuery, PrivateAccess, ReadRules,
    SearchText,
};
use tempfile::TempDir;

struct Rig {
    folder: TempDir,
    state: TempDir,
    memex: Arc<MemexFolder>,
    index: MemexIndex,
}

impl Rig {
    fn new(files: &[(&str, &str)]) -> Rig {
        let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let memex = Arc::new(MemexFolder::open(folder.path(), ReadRules::default()).unwrap());
        let index = MemexIndex::open(state.path(), &memex).unwrap();
        let mut rig = Rig { folder, state, memex, index };
        files.iter().for_each(|(path, text)| rig.write(path, text));
        rig.sync();
        rig
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.folder.path().join(path), text).unwrap();
    }

    fn sync(&mut self) -> bridle_memex::IndexChanges {
        self.index.sync(&self.memex, &self.memex.scan(), &mut |_| true).unwrap()
    }

    fn catalog(&self) -> MemexCatalog {
        MemexCatalog::open(self.state.path(), Arc::clone(&self.memex)).unwrap()
    }

    fn find(&self, query: &MemexQuery) -> Vec<MemexObject> {
        let page = self.catalog().query(query, PrivateAccess::Owner, SearchText::Snippets).unwrap();
        page.hits.into_iter().map(|hit| hit.object).collect()
    }

    fn headings(&self) -> Vec<MemexObject> {
        let kind = Some(bridle_memex::ObjectKind::Heading);
        self.find(&MemexQuery { kind, limit: 500, ..MemexQuery::default() })
    }

    fn titled(&self, title: &str) -> MemexObject {
        self.headings().into_iter().find(|object| object.title == title).expect(title)
    }
}

#[test]
fn m1_text_of_every_script_is_read_hashed_and_found() {
    let rig = Rig::new(&[("a.org", "* مرحبا\nالعالم\n* 日本語\n東京\n* Ω🚀\nнебо\n")]);
    for (word, title) in [("العالم", "مرحبا"), ("東京", "日本語"), ("небо", "Ω🚀"), ("🚀", "Ω🚀")]
    {
        let found = rig.find(&MemexQuery { text: Some(word.to_owned()), ..MemexQuery::default() });
        assert_eq!(found.iter().map(|o| &o.title[..]).collect::<Vec<_>>(), [title], "{word}");
    }
    let hashes: HashSet<[u8; 32]> = rig.headings().iter().map(|object| object.hash).collect();
    assert_eq!(hashes.len(), 3);
}

#[test]
fn m2_headings_without_an_id_never_become_one() {
    let same = "* Same\n** Same\n* Same\n".repeat(50);
    let mut rig = Rig::new(&[("a.org", &same), ("b.org", &same)]);
    for _ in 0..2 {
        let keys: HashSet<String> = rig.headings().into_iter().map(|object| object.key).collect();
        assert_eq!(keys.len(), 300);
        rig.write("a.org", &format!("* First\n{}", &same["* Same\n".len()..]));
        rig.sync();
    }
    // And none is its own child.
    let catalog = rig.catalog();
    for object in rig.headings() {
        let children = catalog.children(&object, PrivateAccess::Owner, 100).unwrap();
        assert!(children.iter().all(|child| child.key != object.key && child.line > object.line));
    }
}

#[test]
fn m3_moves_and_deletions_are_applied_and_every_object_has_its_place() {
    let mut rig = Rig::new(&[("a.org", "* A\n** X\ntext\n* B\n")]);
    let parent =
        |rig: &Rig| rig.catalog().above(&rig.titled("X")).unwrap().last().unwrap().title.clone();
    assert_eq!(parent(&rig), "A");
    let key = rig.titled("X").key;
    rig.write("a.org", "* A\n* B\n** X\ntext\n");
    rig.sync();
    assert_eq!((parent(&rig), rig.titled("X").key), ("B".to_owned(), key));
    assert_eq!((&rig.titled("X").path[..], rig.titled("X").line), ("a.org", 3));
    rig.write("a.org", "* B\n** X\ntext\n");
    rig.sync();
    let titles: Vec<String> = rig.headings().into_iter().map(|object| object.title).collect();
    assert_eq!(titles, ["X", "B"]);
}

#[test]
fn m4_one_change_reads_one_file() {
    let text: Vec<(String, String)> =
        (0..50).map(|n| (format!("{n}.org"), format!("* H{n}\n"))).collect();
    let files: Vec<(&str, &str)> = text.iter().map(|(path, text)| (&path[..], &text[..])).collect();
    let mut rig = Rig::new(&files);
    rig.write("7.org", "* H7\nmore\n");
    assert_eq!(rig.index.update(&rig.memex, &["7.org".to_owned()]).unwrap().read, 1);
    assert_eq!(rig.sync().read, 0);
}

#[test]
fn m5_an_index_that_cannot_be_read_is_made_anew_and_the_files_stay() {
    let text = "* A\n#+begin_src lisp :eval yes\n#.(delete-file \"a.org\")\n#+end_src\n";
    let rig = Rig::new(&[("a.org", text)]);
    let Rig { folder, state, memex, index } = rig;
    drop(index);
    for junk in [&b"#.(error)"[..], b"", &[0xff; 5000]] {
        fs::write(state.path().join("index.db"), junk).unwrap();
        let mut index = MemexIndex::open(state.path(), &memex).unwrap();
        index.sync(&memex, &memex.scan(), &mut |_| true).unwrap();
        let catalog = MemexCatalog::open(state.path(), Arc::clone(&memex)).unwrap();
        assert_eq!(catalog.status(PrivateAccess::Owner).unwrap().headings, 1);
        assert_eq!(fs::read_to_string(folder.path().join("a.org")).unwrap(), text);
    }
}

#[test]
fn m6_the_index_does_not_grow_with_the_number_of_changes() {
    let mut rig = Rig::new(&[("a.org", "* A\n")]);
    let size = |rig: &mut Rig| {
        rig.index.settle().unwrap();
        fs::metadata(rig.state.path().join("index.db")).unwrap().len()
    };
    let change = |rig: &mut Rig, n: usize| {
        rig.write("a.org", &format!("* H{n}\ntext {n}\n* Kept\n"));
        rig.index.update(&rig.memex, &["a.org".to_owned()]).unwrap();
    };
    (0..200).for_each(|n| change(&mut rig, n));
    let before = size(&mut rig);
    (200..600).for_each(|n| change(&mut rig, n));
    assert_eq!(rig.headings().len(), 2);
    assert!(size(&mut rig) < before * 2, "{before} bytes became {}", size(&mut rig));
}

#[test]
fn m7_readers_see_whole_states_while_it_is_written() {
    let mut rig = Rig::new(&[("a.org", "* N0\n* N0\n")]);
    let stop = Arc::new(AtomicBool::new(false));
    let catalog = rig.catalog();
    let stopped = Arc::clone(&stop);
    let reading = std::thread::spawn(move || {
        let mut seen = 0;
        while !stopped.load(Ordering::Relaxed) || seen == 0 {
            let page = catalog
                .query(&MemexQuery::default(), PrivateAccess::Owner, SearchText::None)
                .unwrap();
            let titles: HashSet<String> = page
                .hits
                .iter()
                .filter(|hit| hit.object.level > 0)
                .map(|hit| hit.object.title.clone())
                .collect();
            assert_eq!((page.hits.len(), titles.len()), (3, 1), "{titles:?}");
            seen += 1;
        }
    });
    for n in 1..100 {
        rig.write("a.org", &format!("* N{n}\n* N{n}\n"));
        rig.index.update(&rig.memex, &["a.org".to_owned()]).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    reading.join().unwrap();
}

#[test]
fn m8_keys_that_are_made_in_the_same_moment_differ_and_a_declared_one_twice_is_told() {
    let with = "* A\n:PROPERTIES:\n:ID: twice\n:END:\n";
    let rig = Rig::new(&[("a.org", with), ("b.org", with), ("c.org", "* A\n* A\n")]);
    let keys: HashSet<String> = rig.headings().into_iter().map(|object| object.key).collect();
    assert_eq!(keys.len(), 4);
    let duplicates = rig.catalog().duplicates(PrivateAccess::Owner).unwrap();
    assert_eq!((duplicates.len(), &duplicates[0].declared[..]), (1, "twice"));
}

#[test]
fn m9_the_folder_is_read_by_itself() {
    let rig = Rig::new(&[("a.org", "* A\n"), ("b.org", "* B\n")]);
    let status = rig.catalog().status(PrivateAccess::Owner).unwrap();
    assert_eq!((status.files, status.headings), (2, 2));
}
