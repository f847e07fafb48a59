//! Files of policies that are not what they seem, or not what they were.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::{MAX_FILE, PolicyFileError, READ_TRIES, read, read_after, replace};

const OLD: &str = "* Old\n";
const NEW: &str = "* New\n";

/// A folder with a file of policies.
fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("policy.org");
    fs::write(&file, OLD).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    (folder, file)
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// What can be put in the place of a file.
const GUISES: [fn(&Path); 5] = [
    |path| pipe(path),
    |path| fs::create_dir(path).unwrap(),
    |path| symlink("/dev/null", path).unwrap(),
    |path| symlink("/dev/zero", path).unwrap(),
    |path| symlink(path.with_file_name("nowhere"), path).unwrap(),
];

#[test]
fn what_is_no_plain_file_is_refused_and_nobody_waits_for_it() {
    for (number, disguise) in GUISES.iter().enumerate() {
        let (_folder, file) = folder();
        fs::remove_file(&file).unwrap();
        assert!(matches!(read(&file), Err(PolicyFileError::Missing)));
        disguise(&file);
        let got = read(&file);
        assert!(
            matches!(got, Err(PolicyFileError::NoFile | PolicyFileError::Io(_))),
            "{number}: {got:?}"
        );
    }
}

#[test]
fn a_link_is_judged_by_what_it_leads_to() {
    let (folder, file) = folder();
    let link = folder.path().join("link.org");
    symlink(&file, &link).unwrap();
    assert_eq!(read(&link).unwrap(), OLD);
    fs::set_permissions(&file, Permissions::from_mode(0o646)).unwrap();
    assert!(matches!(read(&link), Err(PolicyFileError::OpenToOthers(0o646))));
}

#[test]
fn a_file_that_others_may_write_is_refused() {
    let (_folder, file) = folder();
    for (mode, is_good) in
        [(0o600, true), (0o644, true), (0o400, true), (0o660, false), (0o602, false)]
    {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        assert_eq!(read(&file).is_ok(), is_good, "{mode:o}");
    }
}

#[test]
fn what_is_too_large_or_no_text_is_refused() {
    let (_folder, file) = folder();
    fs::write(&file, [0xff, 0xfe]).unwrap();
    assert!(matches!(read(&file), Err(PolicyFileError::NoText)));
    // A hole: nothing is on the disk.
    let hole = File::create(&file).unwrap();
    hole.set_len(MAX_FILE + 1).unwrap();
    assert!(matches!(read(&file), Err(PolicyFileError::TooLarge)));
    hole.set_len(1 << 40).unwrap();
    assert!(matches!(read(&file), Err(PolicyFileError::TooLarge)));
}

#[test]
fn half_of_a_file_is_not_read() {
    let (_folder, file) = folder();
    for number in 0..4 {
        let text = format!("* {number}\n").repeat(10_000);
        let (half, rest) = text.split_at(text.len() / 2);
        let mut writer = File::create(&file).unwrap();
        writer.write_all(half.as_bytes()).unwrap();
        let got = std::thread::scope(|scope| {
            let reads = scope.spawn(|| read(&file));
            writer.write_all(rest.as_bytes()).unwrap();
            reads.join().unwrap()
        });
        assert!(got.is_ok_and(|got| got == text), "{number}");
    }
}

#[test]
fn a_file_that_never_rests_is_refused() {
    // Writes until it is written so often; each text is longer than the one before.
    let read_while_written = |most: usize| {
        let (_folder, file) = folder();
        let mut number = 0;
        let got = read_after(&file, &mut |_| {
            if number < most {
                number += 1;
                fs::write(&file, OLD.repeat(number + 1)).unwrap();
            }
        });
        (got, number)
    };
    let (got, number) = read_while_written(usize::MAX);
    assert!(matches!(got, Err(PolicyFileError::Changing)), "{got:?}");
    assert_eq!(number, READ_TRIES);
    for most in 0..READ_TRIES {
        let (got, _) = read_while_written(most);
        assert!(got.is_ok_and(|got| got == OLD.repeat(most + 1)), "rests after {most}");
    }
}

/// The names that a folder has.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_file_is_replaced_with_its_mode_and_a_link_stays_a_link() {
    let (folder, file) = folder();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let link = folder.path().join("link.org");
    symlink(&file, &link).unwrap();
    replace(&link, Some(OLD), NEW).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), NEW);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(folder.path()).len(), 2, "nothing is left beside them");
    let fresh = folder.path().join("a/b/policy.org");
    replace(&fresh, None, NEW).unwrap();
    assert_eq!(fresh.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_somebody_put_there_meanwhile_is_left_alone() {
    let (folder, file) = folder();
    let untouched = |file: &Path, what: &str| {
        assert!(matches!(replace(file, Some(OLD), NEW), Err(PolicyFileError::Changed)), "{what}");
        assert!(!names(folder.path()).iter().any(|name| name.starts_with('.')), "{what}");
    };
    fs::write(&file, "* Olx\n").unwrap();
    untouched(&file, "another text of the same length");
    assert_eq!(fs::read_to_string(&file).unwrap(), "* Olx\n");
    fs::remove_file(&file).unwrap();
    untouched(&file, "nothing");
    assert!(!file.exists());
    pipe(&file);
    untouched(&file, "a pipe");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    untouched(&file, "a folder");
    fs::remove_dir(&file).unwrap();
    let other = folder.path().join("other.org");
    fs::write(&other, "* Theirs\n").unwrap();
    symlink(&other, &file).unwrap();
    untouched(&file, "a link to something else");
    assert_eq!(fs::read_to_string(&other).unwrap(), "* Theirs\n");
    // And where there was none, there is one now.
    assert!(matches!(replace(&other, None, NEW), Err(PolicyFileError::Changed)));
    assert_eq!(fs::read_to_string(&other).unwrap(), "* Theirs\n");
}

#[test]
fn of_two_who_replace_the_same_one_wins_and_the_other_is_told() {
    let (folder, file) = folder();
    let texts: Vec<String> = (0..8).map(|number| format!("* New {number}\n")).collect();
    let won: Vec<&String> = std::thread::scope(|scope| {
        let tries: Vec<_> = texts
            .iter()
            .map(|text| {
                let file = &file;
                scope.spawn(move || replace(file, Some(OLD), text).is_ok().then_some(text))
            })
            .collect();
        tries.into_iter().filter_map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(won.len(), 1);
    assert_eq!(fs::read_to_string(&file).unwrap(), *won[0]);
    assert_eq!(names(folder.path()), ["policy.org"]);
}
