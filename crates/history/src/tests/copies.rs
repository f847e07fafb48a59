//! Mirrors: they go on where they stopped, and touch nothing that is no mirror.

use std::fs;
use std::path::PathBuf;

use super::super::HistoryError;
use super::super::mirror::RecordMirror;
use super::Fixture;

fn written(n_records: u64) -> (Fixture, PathBuf) {
    let mut fixture = Fixture::new();
    for number in 1..=n_records {
        fixture.write("", &[("log", None, &format!("(:n {number})"))]);
    }
    let path = fixture.path().join("copy");
    (fixture, path)
}

fn catch_up(fixture: &Fixture, path: &std::path::Path) -> Result<u64, HistoryError> {
    let history = fixture.history();
    let mut mirror = RecordMirror::open(path, &history)?;
    while mirror.catch_up(&history)? > 0 {}
    Ok(mirror.last())
}

fn numbers(path: &std::path::Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn it_goes_on_where_it_stopped() {
    let (mut fixture, path) = written(2);
    assert_eq!(catch_up(&fixture, &path).unwrap(), 2);
    fixture.write("", &[("log", None, "(:n 3)")]);
    assert_eq!(catch_up(&fixture, &path).unwrap(), 3);
    assert_eq!(catch_up(&fixture, &path).unwrap(), 3);
    assert_eq!(numbers(&path), ["1", "2", "3"]);
}

#[test]
fn half_a_line_is_written_again() {
    let (fixture, path) = written(3);
    catch_up(&fixture, &path).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    for end in 0..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        assert_eq!(catch_up(&fixture, &path).unwrap(), 3, "cut at {end}");
        assert_eq!(fs::read_to_string(&path).unwrap(), whole, "cut at {end}");
    }
}

#[test]
fn other_files_are_left_alone() {
    let (fixture, path) = written(1);
    catch_up(&fixture, &path).unwrap();
    let copy = fs::read_to_string(&path).unwrap();
    let later = copy.replace(":number 1 ", ":number 2 ");
    let other = copy.replace("uid:7", "uid:8");
    let more = format!("{copy}not ours");
    for text in ["not ours", "not ours\n", "\n", "(:a\n", &later, &other, &more] {
        fs::write(&path, text).unwrap();
        let error = catch_up(&fixture, &path).unwrap_err();
        assert!(matches!(error, HistoryError::NotAMirror { .. }), "{text}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn one_process_keeps_a_copy() {
    let (fixture, path) = written(1);
    let history = fixture.history();
    let first = RecordMirror::open(&path, &history).unwrap();
    let error = RecordMirror::open(&path, &history).unwrap_err();
    assert!(matches!(error, HistoryError::MirrorTaken { .. }), "{error}");
    drop(first);
    RecordMirror::open(&path, &history).unwrap();
}
