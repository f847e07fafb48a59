//! What is there after which facts, and who gives way.

use std::path::Path;

use bridle_record::hash_text;
use bridle_sexp::Dialect;

use super::super::cut::AstSummary;
use super::super::place::BufferPlace;
use super::{
    BufferFact, BufferIndex, BufferState, MAX_OWNER, MAX_OWNER_BYTES, MAX_SESSION, REPORT_MS, Row,
};

const OWNER: &str = "uid:1000";

fn fact(file: &str, at: i64, what: BufferState) -> BufferFact {
    let place = BufferPlace::File(file.into());
    BufferFact { place, owner: OWNER.into(), by: "key:laptop".into(), at, what }
}

fn ast(bytes: usize) -> BufferState {
    BufferState::Ast(AstSummary { dialect: Dialect::Emacs, hash: hash_text("(x)"), bytes })
}

fn row(session: &str, seq: u64) -> Row {
    (session.into(), seq)
}

fn seq(index: &BufferIndex, session: &str, file: &str) -> Option<u64> {
    index.find(session, &BufferPlace::File(file.into())).map(|entry| entry.seq)
}

#[test]
fn a_fact_is_read_as_it_was_written() {
    for what in [ast(7), BufferState::Modified, BufferState::Settled] {
        let written = fact("/m/\"رتّب\".org", -5, what);
        assert_eq!(BufferFact::read(&written.to_string()), Some(written));
    }
    for broken in ["", "(", "nil", "(:file \"a\")", "(:file \"a\" :what :ast :owner \"o\")"] {
        assert_eq!(BufferFact::read(broken), None, "{broken}");
    }
}

#[test]
fn a_newer_one_takes_the_place_and_saving_takes_it_away() {
    let mut index = BufferIndex::default();
    assert_eq!(index.apply("s", 1, fact("/a", 1, ast(1))), []);
    assert_eq!(index.apply("t", 1, fact("/a", 1, ast(1))), []);
    assert_eq!(index.apply("s", 2, fact("/a", 2, ast(1))), [row("s", 1)]);
    assert_eq!(seq(&index, "s", "/a"), Some(2));
    assert_eq!(
        index.apply("s", 3, fact("/a", 3, BufferState::Settled)),
        [row("s", 2), row("s", 3)]
    );
    assert_eq!(seq(&index, "s", "/a"), None);
    assert_eq!(seq(&index, "t", "/a"), Some(1), "another session has its own");
    assert_eq!(index.apply("s", 4, fact("/b", 4, BufferState::Settled)), [row("s", 4)]);
}

#[test]
fn the_buffer_heard_of_least_lately_gives_way_in_a_full_session() {
    let mut index = BufferIndex::default();
    let most = u64::try_from(MAX_SESSION).expect("small");
    for n in 1..=most {
        assert_eq!(index.apply("s", n, fact(&format!("/{n}"), 0, ast(1))), []);
    }
    assert_eq!(index.apply("s", most + 1, fact("/1", 0, ast(1))), [row("s", 1)]);
    assert_eq!(index.apply("s", most + 2, fact("/new", 0, ast(1))), [row("s", 2)]);
    assert_eq!((seq(&index, "s", "/2"), seq(&index, "s", "/1")), (None, Some(most + 1)));
}

#[test]
fn the_oldest_of_an_owner_gives_way_and_never_anybody_elses() {
    let mut index = BufferIndex::default();
    let other =
        BufferFact { owner: "local-tcp:1000".into(), ..fact("/a", 0, ast(MAX_OWNER_BYTES)) };
    index.apply("other", 1, other);
    for n in 0..MAX_OWNER {
        let at = i64::try_from(n).expect("small");
        assert_eq!(index.apply(&format!("s{n}"), 1, fact("/a", at, ast(1))), []);
    }
    assert_eq!(index.apply("last", 1, fact("/a", 9999, ast(1))), [row("s0", 1)]);
    let huge = index.apply("huge", 1, fact("/a", 9999, ast(MAX_OWNER_BYTES)));
    assert_eq!(huge.len(), MAX_OWNER, "all others of the owner make room");
    assert!(seq(&index, "huge", "/a").is_some() && seq(&index, "other", "/a").is_some());
}

#[test]
fn a_modified_file_is_told_to_its_owner_for_a_day() {
    let mut index = BufferIndex::default();
    let path = Path::new("/no/such/dir/a.org");
    let name = path.to_str().expect("text");
    index.apply("s", 1, fact(name, 100, BufferState::Modified));
    index.apply("mine", 1, BufferFact { owner: "local-tcp:7".into(), ..fact("/b", 100, ast(1)) });
    let who = |owner: &str, path: &Path, now| {
        index
            .modified(owner, path, now)
            .map(|found| (found.session.to_string(), found.by.to_string()))
    };
    let told = Some(("s".to_owned(), "key:laptop".to_owned()));
    assert_eq!(who(OWNER, path, 100), told);
    assert_eq!(who("key:phone", path, 100), told, "who acts for the owner is the owner");
    assert_eq!(who("local-tcp:7", path, 100), None);
    assert_eq!(who(OWNER, Path::new("/b"), 100), None, "a stranger locks nothing of the owner's");
    assert!(who("local-tcp:7", Path::new("/b"), 100).is_some());
    assert_eq!(who(OWNER, path, 99 + REPORT_MS), told);
    assert_eq!(who(OWNER, path, 100 + REPORT_MS), None);
}

#[test]
fn what_is_forgotten_is_not_there() {
    let mut index = BufferIndex::default();
    index.apply("s", 1, fact("/a", 1, ast(1)));
    index.apply("s", 2, fact("/b", 1, ast(1)));
    index.forget("s", Some(1));
    assert_eq!((seq(&index, "s", "/a"), seq(&index, "s", "/b")), (None, Some(2)));
    index.forget("s", None);
    assert_eq!(seq(&index, "s", "/b"), None);
}
