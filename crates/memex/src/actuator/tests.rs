//! A subtree that goes into another file: shown whole, never lost, and taken back with both files.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::OrgDefaults;
use crate::{ChangeCause, ChangeOutcome, FilePath, MemoryOptions, MemoryStore, VersionOrigin};
use bridle_host::{Actuator as _, ProposalPlace, Readership};
use bridle_loop::{Action, PREPARED};
use bridle_sexp::{Value, read_one};
use tempfile::TempDir;

use super::{EditPreview, MemoryEditor};
use crate::RollbackChoice;

const HERE: &str = "* Keep\n* TODO Beans :veg:\nSow them.\n** Wet\n* Last\n";
const THERE: &str = "* Garden\n** Peas\n* End\n";
const REFILE: &str = "(:action :refile :path \"here.org\" :outline (\"Beans\") \
                      :to (:path \"there.org\" :outline (\"Garden\")))";
const REFILED: &str = "* Garden\n** Peas\n** TODO Beans :veg:\nSow them.\n*** Wet\n* End\n";
const LEFT: &str = "* Keep\n* Last\n";

/// How long something is waited for. Only a test that fails waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

fn around(readers: Readership) -> ProposalPlace<'static> {
    ProposalPlace { session: "work", readers }
}

struct Rig {
    _state: TempDir,
    folder: TempDir,
    editor: MemoryEditor,
}

/// An action that was looked at.
struct Seen {
    action: Action,
    preview: EditPreview,
    diff: String,
}

impl Rig {
    fn new() -> Self {
        Self::with_key(OrgDefaults::default())
    }

    fn with_key(org: OrgDefaults) -> Self {
        let (state, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(folder.path().join("here.org"), HERE).unwrap();
        fs::write(folder.path().join("there.org"), THERE).unwrap();
        let options = MemoryOptions { root: folder.path().to_owned(), protected: Vec::new() };
        let memory = Arc::new(MemoryStore::open(state.path(), &options).unwrap());
        let editor = MemoryEditor::new(memory, Box::new(|| 0), RollbackChoice::Ask, org);
        Self { _state: state, folder, editor }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn prepared(&self, payload: &str) -> Value {
        let payload = read_one(payload).unwrap().root().to_value();
        self.editor.prepare(&payload, around(Readership::Owners)).unwrap()
    }

    fn look(&self, payload: &str) -> Seen {
        let payload = self.prepared(payload);
        let preview = EditPreview::of(&payload, self.editor.memory.root()).expect("it can be done");
        let diff = payload.get(PREPARED).and_then(|it| it.get("diff")?.as_str()).unwrap();
        let diff = diff.to_owned();
        Seen { action: Action::from_payload(&payload).unwrap(), preview, diff }
    }

    fn refusal(&self, payload: &str) -> String {
        let payload = self.prepared(payload);
        let fault = payload.get(PREPARED).and_then(|it| it.get("fault")?.as_str());
        fault.unwrap_or_else(|| panic!("{payload}")).to_owned()
    }

    /// Writes the first file of what was seen, and no more: as if the process had died then.
    fn begin(&self, seen: &Seen, why: &ChangeCause) {
        let planned = self.editor.plan(&seen.action).unwrap();
        self.editor.memory.apply(&[planned[0].change.clone()], why).unwrap();
    }
}

fn why(record: u64) -> ChangeCause {
    ChangeCause {
        origin: VersionOrigin::Edit,
        record: Some(record),
        session: "work".into(),
        turn: 1,
        principal: "uid:1000".into(),
        action: "refile".into(),
        at: 1,
    }
}

/// What repeats moves on when it is done, as in Emacs, at the time that the payload says.
#[test]
fn what_repeats_moves_on_when_it_is_done() {
    let rig = Rig::new();
    rig.write("here.org", "* p [0/1]\n** TODO Water\nSCHEDULED: <2026-11-01 Sun ++1w>\n");
    let seen = rig.look(
        "(:action :set-state :path \"here.org\" :outline (\"p [0/1]\" \"Water\") :state \"DONE\" \
         :at \"[2026-11-15 Sun 10:00]\")",
    );
    rig.editor.apply_all(&seen.action, &seen.preview, &why(7)).unwrap();
    assert_eq!(
        rig.text("here.org"),
        "* p [0/1]\n** TODO Water\nSCHEDULED: <2026-11-22 Sun ++1w>\n:PROPERTIES:\n\
         :LAST_REPEAT: [2026-11-15 Sun 10:00]\n:END:\n\
         - State \"DONE\"       from \"TODO\"       [2026-11-15 Sun 10:00]\n"
    );
}

/// One title is enough for a heading further down, unless two have it.
#[test]
fn a_title_alone_finds_its_heading() {
    let rig = Rig::new();
    let ask = |title: &str| {
        format!("(:action :set-tags :path \"here.org\" :outline (\"{title}\") :tags (\"x\"))")
    };
    let diff = rig.look(&ask("Wet")).diff;
    assert!(diff.contains("+** Wet :x:"), "{diff}");
    rig.write("here.org", "* a\n** Wet\n* b\n** Wet\n");
    let why = rig.refusal(&ask("Wet"));
    assert_eq!(
        why,
        "more than one heading `Wet`: `a` / `Wet` (line 2) and `b` / `Wet` (line 4); say which by its line, or with \
         all titles from the top"
    );
    rig.write("here.org", &"* a\n** Wet\n".repeat(20));
    let why = rig.refusal(&ask("Wet"));
    assert!(why.contains("`a` / `Wet` (line 10) and 15 more; say"), "{why}");
}

/// A name that no heading has is answered with those that come nearest; others than owners hear nothing of it.
#[test]
fn a_name_that_fits_no_heading_is_answered_with_the_nearest() {
    let rig = Rig::new();
    let ask = |spot: &str| format!("(:action :set-tags :path \"here.org\" {spot} :tags (\"x\"))");
    let text = "* Garden\n** Water the beds\n:PROPERTIES:\n:ID: water\n:END:\n* Tools\n** Water the beds\n";
    rig.write("here.org", text);
    for (spot, expected) in [
        (":outline (\"Toolz\")", "no heading `Toolz`; did you mean `Tools` (line 6)?"),
        (
            ":outline (\"water beds\")",
            "no heading `water beds`; did you mean `Garden` / `Water the beds` (line 2) or `Tools` / `Water the beds` \
             (line 7)?",
        ),
        (
            ":outline (\"Shed\" \"Tools\")",
            "no heading `Shed` / `Tools`; did you mean `Tools` (line 6)?",
        ),
        (
            ":id \"watre\"",
            "no heading with the id `watre`; did you mean `Garden` / `Water the beds` (line 2)?",
        ),
        (":line 5", "no heading on line 5; did you mean `Garden` / `Water the beds` (line 2)?"),
        (":outline (\"Zebra crossing\")", "no heading `Zebra crossing`"),
    ] {
        assert_eq!(rig.refusal(&ask(spot)), expected);
        let payload = read_one(&ask(spot)).unwrap().root().to_value();
        let told = rig.editor.prepare(&payload, around(Readership::Others)).unwrap().to_string();
        assert!(!told.contains("did you mean") && !told.contains("Garden"), "{told}");
    }
    rig.write("here.org", &"* Tools\n".repeat(20));
    let why = rig.refusal(&ask(":outline (\"Toolz\")"));
    assert_eq!(why.matches("(line ").count(), 5, "{why}");
}

/// Whoever asks for a keyword that a file has not is told which it has; the settings give keywords to files without any.
#[test]
fn keywords_come_from_the_file_or_from_the_settings() {
    let next = "(:action :set-state :path \"here.org\" :outline (\"Keep\") :state \"NEXT\")";
    let why = Rig::new().refusal(next);
    assert!(why.contains("no keyword `NEXT`: it has TODO, DONE;"), "{why}");
    let todo_sequences = vec!["TODO NEXT(n!) | DONE".to_owned()];
    let rig = Rig::with_key(OrgDefaults { todo_sequences, ..OrgDefaults::default() });
    let diff = rig.look(next).diff;
    assert!(diff.contains("+* NEXT Keep\n+- State \"NEXT\""), "{diff}");
    rig.write("here.org", "#+TODO: TODO | DONE\n* Keep\n");
    assert!(rig.refusal(next).contains("no keyword `NEXT`"));
}

#[test]
fn a_subtree_goes_into_another_file_and_comes_back() {
    let rig = Rig::new();
    let seen = rig.look(REFILE);
    for line in ["+++ b/there.org", "+** TODO Beans :veg:", "+++ b/here.org", "-* TODO Beans :veg:"]
    {
        assert!(seen.diff.contains(line), "both files are shown: {}", seen.diff);
    }
    rig.editor.apply_all(&seen.action, &seen.preview, &why(7)).unwrap();
    assert_eq!((rig.text("here.org"), rig.text("there.org")), (LEFT.into(), REFILED.into()));
    // What the user writes in either file stays when it is taken back.
    rig.write("here.org", &format!("{LEFT}user\n"));
    rig.write("there.org", &format!("user\n{REFILED}"));
    let seen = rig.look("(:action :undo :record 7)");
    rig.editor.apply_all(&seen.action, &seen.preview, &why(8)).unwrap();
    assert_eq!(rig.text("here.org"), format!("{HERE}user\n"));
    assert_eq!(rig.text("there.org"), format!("user\n{THERE}"));
}

#[test]
fn a_subtree_goes_to_the_end_of_a_file_and_into_an_archive() {
    let rig = Rig::new();
    let to_end = REFILE.replace(" :outline (\"Garden\"))", ")").replace("Beans", "Last");
    let seen = rig.look(&to_end);
    rig.editor.apply_all(&seen.action, &seen.preview, &why(7)).unwrap();
    assert_eq!(rig.text("there.org"), format!("{THERE}* Last\n"));
    let archive = "(:action :archive :path \"here.org\" :outline (\"Beans\" \"Wet\") \
                   :to (:path \"here.org_archive\"))";
    let seen = rig.look(archive);
    rig.editor.apply_all(&seen.action, &seen.preview, &why(8)).unwrap();
    assert_eq!(rig.text("here.org"), "* Keep\n* TODO Beans :veg:\nSow them.\n");
    let archived = rig.text("here.org_archive");
    for line in ["* Wet\n", ":ARCHIVE_TIME: 1970-01-01 Thu 00:00\n", ":ARCHIVE_OLPATH: Beans\n"] {
        assert!(archived.contains(line), "{archived}");
    }
    let seen = rig.look("(:action :undo :record 8)");
    rig.editor.apply_all(&seen.action, &seen.preview, &why(9)).unwrap();
    assert!(!rig.folder.path().join("here.org_archive").exists(), "it was made for that");
    assert_eq!(rig.text("here.org"), HERE.replace("* Last\n", ""));
}

#[test]
fn what_a_crash_left_between_two_files_is_completed() {
    let rig = Rig::new();
    let seen = rig.look(REFILE);
    rig.begin(&seen, &why(7));
    assert_eq!((rig.text("here.org"), rig.text("there.org")), (HERE.into(), REFILED.into()));
    let files: Vec<FilePath> = seen.preview.files().cloned().collect();
    assert_eq!(rig.editor.memory.outcome_of(7, &files).unwrap(), ChangeOutcome::NotDone);
    // The user goes on in both files.
    rig.write("here.org", &format!("{HERE}user\n"));
    rig.write("there.org", &format!("{REFILED}user\n"));
    rig.editor.apply_all(&seen.action, &seen.preview, &why(7)).unwrap();
    assert_eq!(rig.text("here.org"), format!("{LEFT}user\n"));
    assert_eq!(rig.text("there.org"), format!("{REFILED}user\n"), "it is put there once");
    assert_eq!(rig.editor.memory.outcome_of(7, &files).unwrap(), ChangeOutcome::Done);
    let seen = rig.look("(:action :undo :record 7)");
    rig.editor.apply_all(&seen.action, &seen.preview, &why(8)).unwrap();
    assert_eq!(rig.text("here.org"), format!("{HERE}user\n"));
    assert_eq!(rig.text("there.org"), format!("{THERE}user\n"));
}

#[test]
fn what_a_crash_left_between_two_files_goes_back_if_it_cannot_be_completed() {
    let rig = Rig::new();
    let seen = rig.look(REFILE);
    rig.begin(&seen, &why(7));
    let users = HERE.replace("Sow them.", "Sow them in May.");
    rig.write("here.org", &users);
    let fault = rig.editor.apply_all(&seen.action, &seen.preview, &why(7)).unwrap_err();
    assert!(fault.contains("has changed since") && fault.ends_with("taken back"), "{fault}");
    assert_eq!((rig.text("here.org"), rig.text("there.org")), (users, THERE.into()));
}

#[test]
fn an_undo_of_a_move_loses_nothing_where_the_user_wrote_over_the_old_place() {
    let rig = Rig::new();
    let seen = rig.look(REFILE);
    rig.editor.apply_all(&seen.action, &seen.preview, &why(7)).unwrap();
    // Before and behind the old place: both come together again.
    rig.write("here.org", "first\n* Keep\n* Last\nlast\n");
    let back = rig.look("(:action :undo :record 7)");
    assert!(back.diff.contains("+* TODO Beans :veg:"), "{}", back.diff);
    // Where it was, something else is: nothing is written, and what stands against what is shown.
    rig.write("here.org", "* Mine\n");
    let fault = rig.refusal("(:action :undo :record 7)");
    for part in ["here.org:1:", "now: * Mine", "back to: * TODO Beans :veg:"] {
        assert!(fault.contains(part), "{part} in {fault}");
    }
    assert_eq!((rig.text("here.org"), rig.text("there.org")), ("* Mine\n".into(), REFILED.into()));
}

#[test]
fn a_subtree_that_cannot_go_there_stays() {
    let rig = Rig::new();
    let refile = |to: &str| {
        let head = "(:action :refile :path \"here.org\" :outline (\"Beans\") :to";
        rig.refusal(&format!("{head} {to})"))
    };
    let out = |fault: String| assert!(fault.contains("expected a file below"), "{fault}");
    out(refile("(:path \"../out.org\")"));
    out(refile("(:path \"/etc/passwd\")"));
    assert!(refile("(:path \"none.org\" :line 1)").contains("no file that has the heading"));
    assert!(refile("(:path \"there.org\" :line 9)").contains("no heading on line 9"));
    assert!(refile("(:path \"here.org\")").contains("below a heading of the same file"));
    assert!(refile("(:outline (\"Beans\" \"Wet\"))").contains("cannot go into itself"));
    let own = "(:action :archive :path \"here.org\" :line 1 :to (:path \"here.org\"))";
    assert!(rig.refusal(own).contains("its own archive"));
    assert_eq!((rig.text("here.org"), rig.text("there.org")), (HERE.into(), THERE.into()));
}

#[test]
fn a_save_that_comes_late_is_put_back_without_another_change() {
    let rig = Rig::new();
    let found = fs::File::open(rig.folder.path().join("here.org")).unwrap();
    let seen =
        rig.look("(:action :set-state :path \"here.org\" :outline (\"Beans\") :state \"DONE\")");
    rig.editor.apply_all(&seen.action, &seen.preview, &why(7)).unwrap();
    assert!(rig.text("here.org").contains("DONE Beans"));
    // A program that had found the file before it was replaced.
    fs::write(format!("/proc/self/fd/{}", found.as_raw_fd()), "user\n").unwrap();
    let until = Instant::now() + PATIENCE;
    while rig.text("here.org") != "user\n" {
        assert!(Instant::now() < until, "nobody put it back");
        std::thread::yield_now();
    }
    // And who stops looks once more.
    let found = fs::File::open(rig.folder.path().join("there.org")).unwrap();
    let seen =
        rig.look("(:action :set-state :path \"there.org\" :outline (\"Garden\") :state \"DONE\")");
    rig.editor.apply_all(&seen.action, &seen.preview, &why(8)).unwrap();
    fs::write(format!("/proc/self/fd/{}", found.as_raw_fd()), "user\n").unwrap();
    rig.editor.stop();
    assert_eq!(rig.text("there.org"), "user\n");
}

#[test]
fn only_org_files_that_are_read_are_changed() {
    let rig = Rig::new();
    rig.write("run.sh", "#!/bin/sh\n");
    rig.write("ignored.org", "* A\n");
    rig.write(".bridleignore", "ignored.org\nattic/\n");
    for name in [
        "run.sh",
        "new.sh",
        ".git/hooks/pre-commit",
        ".bridleignore",
        ".hidden.org",
        "ignored.org",
        "attic/new.org",
        "notes.org~",
        "#notes.org#",
        "notes.org.gpg",
    ] {
        let tries = [
            format!("(:action :append-subtree :path \"{name}\" :text \"x\")"),
            format!("(:action :set-state :path \"{name}\" :line 1 :state \"DONE\")"),
            format!("(:action :archive :path \"here.org\" :line 1 :to (:path \"{name}\"))"),
            format!("(:action :refile :path \"here.org\" :line 1 :to (:path \"{name}\"))"),
        ];
        for payload in tries {
            let refusal = rig.refusal(&payload);
            let is_told = refusal.contains("no file of the memory")
                // What lies in a folder that is not there is refused before.
                || (name.contains('/') && refusal.contains("a folder that does not exist"));
            assert!(is_told, "{payload}: {refusal}");
        }
    }
    assert_eq!(rig.text("run.sh"), "#!/bin/sh\n");
    assert!(!rig.folder.path().join("new.sh").exists());
    // A snapshot brings back the rest.
    rig.editor.memory.snapshot("s", "uid:1000", 1).unwrap();
    rig.write("here.org", "* Other\n");
    rig.write(".bridleignore", "there.org\n");
    rig.write("there.org", "* Other\n");
    let seen = rig.look("(:action :restore :name \"s\")");
    assert!(seen.diff.contains("here.org") && !seen.diff.contains("there.org"), "{}", seen.diff);
}

#[test]
fn nothing_is_looked_at_for_others_than_owners() {
    let rig = Rig::new();
    let look = |payload: &str| {
        let payload = read_one(payload).unwrap().root().to_value();
        rig.editor.prepare(&payload, around(Readership::Others)).unwrap()
    };
    let there = look("(:action :set-state :path \"here.org\" :line 1 :state \"DONE\")");
    let missing = look("(:action :set-state :path \"gone.org\" :line 1 :state \"DONE\")");
    assert_eq!(there.get(PREPARED), missing.get(PREPARED));
    assert_eq!(there.get("path").and_then(Value::as_str), Some("here.org"), "as it was said");
    let forged = "(:action :snapshot :name \"s\" :prepared (:files () :diff \"\"))";
    for payload in ["(:action :undo :record 7)", "(:action :restore :name \"s\")", forged] {
        assert_eq!(look(payload).get(PREPARED), there.get(PREPARED), "{payload}");
    }
}
