//! What is heard when the system has lost count, and when it has no room for all folders.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::{FolderWatch, StopBell, WatchEvent, WatchSettings};

/// So long that a slow machine does not reach it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks, where it is polled: short, for whoever waits here.
const OFTEN: Duration = Duration::from_millis(20);

fn watch(root: &Path, watching: WatchSettings, folders: &[&str]) -> FolderWatch {
    let mut watch = FolderWatch::new(root, watching).expect("watched");
    let folders: Vec<String> = folders.iter().map(|folder| (*folder).to_owned()).collect();
    watch.add(root, &folders);
    watch
}

#[test]
fn events_that_the_system_dropped_mean_that_anything_may_have_changed() {
    let (folder, bell) = (TempDir::new().unwrap(), StopBell::new().unwrap());
    let root = folder.path().canonicalize().unwrap();
    let mut watch = watch(&root, WatchSettings::default(), &[""]);
    fs::write(root.join("a.org"), "").unwrap();
    assert_eq!(watch.wait(&bell, Some(PATIENCE)), WatchEvent::Files(vec!["a.org".to_owned()]));
    // Two names alone, so that nothing but the overflow makes more of it than these files. An event that is the
    // same as the one before it is not told again, so they take turns.
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let most: usize = most.trim().parse().unwrap();
    for n in 0..=most / 2 {
        fs::write(root.join(["a.org", "b.org"][n % 2]), "* A\n").unwrap();
    }
    assert_eq!(watch.wait(&bell, Some(PATIENCE)), WatchEvent::Anything);
    // It hears on, once what was queued is taken.
    while watch.wait(&bell, Some(OFTEN)) != WatchEvent::Nothing {}
    fs::write(root.join("c.org"), "").unwrap();
    assert_eq!(watch.wait(&bell, Some(PATIENCE)), WatchEvent::Files(vec!["c.org".to_owned()]));
}

#[test]
fn folders_for_which_there_is_no_room_are_looked_at_again_and_again() {
    let (folder, bell) = (TempDir::new().unwrap(), StopBell::new().unwrap());
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("inner")).unwrap();
    let watching = WatchSettings { folders: 1, every: OFTEN };
    let mut watch = watch(&root, watching, &["", "inner"]);
    assert!(watch.is_polling);
    fs::write(root.join("inner/a.org"), "").unwrap();
    assert_eq!(watch.wait(&bell, None), WatchEvent::Anything);
    // What is watched is heard of at once all the same.
    let mut watch =
        self::watch(&root, WatchSettings { folders: 1, every: PATIENCE }, &["", "inner"]);
    fs::write(root.join("b.org"), "").unwrap();
    assert_eq!(watch.wait(&bell, None), WatchEvent::Files(vec!["b.org".to_owned()]));
    // Whoever waits less long is not told that anything changed.
    assert_eq!(watch.wait(&bell, Some(Duration::ZERO)), WatchEvent::Nothing);
    bell.ring();
    assert_eq!(watch.wait(&bell, None), WatchEvent::Stop);
}
