//! `bridle memory` and `bridle undo`, with a daemon that looks after a folder.

use bridle_test_support::server_process::ServerProcess;

use crate::harness::{Done, Home};

const TEXT: &str = "* TODO Water the beds\nBefore noon.\n* Seeds\n";

/// Runs a command that asks the daemon of this home.
fn ask(home: &Home, args: &[&str]) -> Done {
    let socket = home.path("b.sock");
    let mut all = args.to_vec();
    all.extend(["--addr", &socket]);
    home.run(&all)
}

/// The one word after `key` in a text.
fn word_after<'t>(text: &'t str, key: &str) -> &'t str {
    let rest = text.split_once(key).unwrap_or_else(|| panic!("`{key}` in {text}")).1;
    rest.split_whitespace().next().unwrap()
}

/// The first word of the first row of a table: the latest version.
fn first_word(table: &str) -> String {
    let row = table.lines().nth(1).unwrap_or_else(|| panic!("no row in {table}"));
    row.split_whitespace().next().unwrap().to_owned()
}

/// The last word of the first row: the record of the latest version.
fn last_word(table: &str) -> String {
    let row = table.lines().nth(1).unwrap_or_else(|| panic!("no row in {table}"));
    row.split_whitespace().last().unwrap().to_owned()
}

/// Asks until the answer is as wanted: a saved file is heard of in its own time.
fn until_told(home: &Home, args: &[&str], wanted: impl Fn(&str) -> bool) -> String {
    let mut last = String::new();
    for _ in 0..2000 {
        last = home.run(args).stdout;
        if wanted(&last) {
            return last;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("never: {args:?}: {last}");
}

#[test]
fn what_the_user_writes_is_kept_while_bridle_changes_nothing() {
    let home = Home::new();
    home.write("memex/garden.org", TEXT);
    home.write("memex/secret.org", "* Box :crypt:\nin the clear\n");
    let daemon = home.up(&["--memex", &home.path("memex")]);
    let log = ["memory", "log", "garden.org"];
    let now = ["memory", "at", "2999-01-01", "garden.org"];
    let latest = || {
        let listed = home.run(&log).stdout;
        assert!(listed.contains("garden.org  seen  user"), "{listed}");
        first_word(&listed)
    };
    until_told(&home, &now, |told| told == TEXT);
    let first = latest();
    home.write("memex/garden.org", "* One\n");
    until_told(&home, &now, |told| told == "* One\n");
    let shown = home.run(&["memory", "diff", &first, &latest()]);
    assert!(shown.stdout.contains("-* TODO Water the beds\n"), "{shown:?}");
    assert!(shown.stdout.contains("+* One\n"), "{shown:?}");
    // Made, and gone.
    home.write("memex/new/beds.org", "* Beds\n");
    let beds = ["memory", "log", "new/beds.org"];
    until_told(&home, &beds, |told| told.contains("beds.org  seen  user"));
    std::fs::remove_file(home.path("memex/new/beds.org")).unwrap();
    until_told(&home, &beds, |told| told.contains("beds.org (gone)  seen  user"));
    // What was written while no daemon ran is kept when one does.
    drop(daemon);
    home.write("memex/garden.org", "* While away\n");
    let _daemon = home.up(&["--memex", &home.path("memex")]);
    until_told(&home, &now, |told| told == "* While away\n");
    // What is to be encrypted is never kept as it is not.
    let all = home.run(&["memory", "log"]);
    assert!(!all.stdout.contains("secret.org"), "{all:?}");
    let kept = ask(&home, &["memory", "snapshot", "monday"]);
    assert!(kept.stdout.starts_with("saved 1 file\n1 left out, "), "{kept:?}");
    assert!(kept.stdout.ends_with(": secret.org\n"), "{kept:?}");
}

#[test]
fn a_change_is_shown_done_listed_and_taken_back() {
    let home = Home::new();
    home.write("memex/garden.org", TEXT);
    let file = || std::fs::read_to_string(home.path("memex/garden.org")).unwrap();
    let _daemon = home.up(&["--memex", &home.path("memex")]);
    ask(&home, &["memory", "snapshot", "monday"]).prints("saved 1 file\n");
    let message = concat!(
        "(:type :REQUEST :id 1 :target :memory :payload (:action :set-state :path \"garden.org\" ",
        ":outline (\"Water the beds\") :state \"DONE\"))"
    );
    let asked = ask(&home, &["send", message]);
    assert!(asked.stdout.contains(":pending-approval"), "{}", asked.stdout);
    let open = ask(&home, &["approvals"]);
    let diff = "  | -* TODO Water the beds\n  | +* DONE Water the beds\n  |  Before noon.\n";
    assert!(open.stdout.contains(diff), "{}", open.stdout);
    let id = open.stdout.split(':').next().unwrap().to_owned();
    let done = ask(&home, &["approve", &id, "--wait"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(file(), TEXT.replace("TODO", "DONE"));

    let listed = home.run(&["memory", "log", "garden.org", "--changes"]);
    let record = last_word(&listed.stdout);
    assert!(listed.stdout.contains("garden.org  set-state  uid:"), "{}", listed.stdout);
    let shown = home.run(&["memory", "show", "--record", &record]);
    assert!(shown.stdout.contains("-* TODO Water the beds\n+* DONE"), "{}", shown.stdout);
    let version = first_word(&listed.stdout);
    home.run(&["memory", "diff", &version]).prints("");
    std::fs::write(home.path("memex/garden.org"), file().replace("noon", "ten")).unwrap();
    let since = home.run(&["memory", "diff", &version]);
    assert!(since.stdout.contains("-Before noon.\n+Before ten.\n"), "{}", since.stdout);
    // What the user wrote is a version, too.
    let users = TEXT.replace("TODO", "DONE").replace("noon", "ten");
    until_told(&home, &["memory", "at", "2999-01-01", "garden.org"], |told| told == users);

    let dry = ask(&home, &["undo", &record, "--dry-run"]);
    assert!(dry.stdout.contains("-* DONE Water the beds\n+* TODO"), "{}", dry.stdout);
    let unasked = ask(&home, &["undo", &record]);
    assert_eq!(unasked.code, 2, "nobody is there to be asked: {}", unasked.stderr);
    assert_eq!(file(), TEXT.replace("TODO", "DONE").replace("noon", "ten"));
    ask(&home, &["undo", &record, "--yes"]).prints("changed garden.org\n");
    assert_eq!(file(), TEXT.replace("noon", "ten"), "what the user wrote since stays");
    ask(&home, &["undo", &record, "--yes"]).prints("nothing to undo: no file would change\n");

    ask(&home, &["memory", "restore", "monday", "--yes"]).prints("changed garden.org\n");
    assert_eq!(file(), TEXT);
    let snapshots = home.run(&["memory", "snapshots", "--json"]);
    assert!(snapshots.stdout.contains("\"name\":\"monday\""), "{}", snapshots.stdout);
}

#[test]
fn an_edit_is_shown_asked_for_and_done() {
    let home = Home::new();
    home.write("memex/garden.org", TEXT);
    let file = |name: &str| std::fs::read_to_string(home.path(&format!("memex/{name}"))).unwrap();
    let _daemon = home.up(&["--memex", &home.path("memex")]);
    let socket = home.path("b.sock");
    let edit = |more: &[&str]| {
        home.run(&[&["memory", "edit", "garden.org", "--addr", &socket], more].concat())
    };
    let diff = "-* TODO Water the beds\n+* DONE Water the beds\n";
    let state = ["--outline", "Water the beds", "state", "DONE"];
    let dry = edit(&[&state[..], &["--dry-run"]].concat());
    assert!(dry.code == 0 && dry.stdout.contains(diff), "{dry:?}");
    let dry = edit(&[&state[..], &["--dry-run", "--json"]].concat());
    assert!(dry.stdout.starts_with("{\"status\":\"would-change\",\"diff\":\"---"), "{dry:?}");
    ask(&home, &["approvals"]).prints("no pending approvals\n");
    // Nobody is there to be asked: the question stays.
    let waits = edit(&state);
    assert!(waits.code == 75 && waits.stderr.contains("bridle approve "), "{waits:?}");
    assert_eq!(file("garden.org"), TEXT);
    let done = edit(&[&state[..], &["--yes"]].concat());
    assert!(done.code == 0 && done.stdout.contains(diff), "{done:?}");
    assert_eq!(file("garden.org"), TEXT.replace("TODO", "DONE"));
    let refile = edit(&["--line", "1", "refile", "--to-file", "old.org", "--yes", "--json"]);
    assert!(refile.stdout.starts_with("{\"status\":\"done\""), "{refile:?}");
    assert!(refile.stdout.contains("old.org") && refile.stdout.contains("garden.org"));
    assert_eq!(file("garden.org"), "* Seeds\n");
    assert_eq!(file("old.org"), "* DONE Water the beds\nBefore noon.\n");
    for (more, code) in [
        (&["--id", "none", "up", "--yes"][..], 1),
        (&["--id", "none", "up", "--dry-run"], 1),
        (&["--line", "1", "plan", "someday"], 2),
        (&["--line", "1", "--id", "x", "up"], 2),
    ] {
        assert_eq!(edit(more).code, code, "{more:?}");
    }
}

#[test]
fn a_conflict_is_shown_and_nothing_is_written() {
    let home = Home::new();
    home.write("memex/garden.org", TEXT);
    let file = home.path("memex/garden.org");
    let _daemon = home.up(&["--memex", &home.path("memex")]);
    ask(&home, &["memory", "snapshot", "monday"]).prints("saved 1 file\n");
    std::fs::write(&file, "* DONE Water the beds\n").unwrap();
    ask(&home, &["memory", "restore", "monday", "--yes"]).prints("changed garden.org\n");
    let listed = home.run(&["memory", "log", "--changes"]);
    let record = last_word(&listed.stdout);
    let users = TEXT.replace("TODO", "WAIT");
    std::fs::write(&file, &users).unwrap();
    let refused = ask(&home, &["undo", &record, "--yes"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("garden.org:1:"), "{}", refused.stderr);
    assert!(refused.stderr.contains("  now: * WAIT Water the beds"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), users);
}

#[test]
fn a_folder_is_shown_before_it_is_set_and_asked_after() {
    let home = Home::new();
    home.write("memex/garden.org", "* TODO Water the beds :out:\nBefore noon.\n* Seeds :out:\n");
    let folder = home.path("memex");
    let shown = home.run(&["init", &folder]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("1 Org file, "), "{}", shown.stdout);
    assert!(!std::path::Path::new(&home.path(".config/bridle/config.toml")).exists());
    assert_eq!(home.run(&["init", &folder, "--yes"]).code, 0);
    let _daemon = home.up(&[]);
    let asked = ["memory", "query", "water", "--tag", "out"];
    // The folder may still be about to be opened; then the answer is to ask again.
    let tries = (0..1000).map(|_| ask(&home, &asked));
    let found = tries.into_iter().find(|found| found.code != 75).expect("it is opened");
    assert!(found.stdout.starts_with("garden.org:1  * TODO Water the beds  :out:"), "{found:?}");
    assert_eq!(found.stdout.matches("garden.org:").count(), 1, "{found:?}");
    let socket = home.path("b.sock");
    let without = ["memory", "query", "--addr", &socket, "--tag", "out", "--", "noon", "-seeds"];
    let found = home.run(&without);
    assert!(found.stdout.contains("Water"), "{found:?}");
    let none = home.run(&[&without[..7], &["noon", "-water"]].concat());
    assert_eq!(none.stdout, "nothing found\n", "{none:?}");
}

#[test]
fn a_grant_for_a_change_of_two_files_covers_both() {
    let home = Home::new();
    home.write("memex/here.org", "* One\n* Two\n* Three\n");
    home.write("memex/there.org", "");
    let _daemon = home.up(&["--memex", &home.path("memex")]);
    let socket = home.path("b.sock");
    let refile = |file: &str| {
        let spot = ["memory", "edit", "here.org", "--addr", &socket, "--line", "1"];
        home.run(&[&spot[..], &["refile", "--to-file", file]].concat())
    };
    let waits = refile("there.org");
    assert!(waits.code == 75, "{waits:?}");
    let id = word_after(&waits.stderr, "approval ").to_owned();
    let always = ["approve", &id, "--always", "--scope", "file", "--for", "1h", "--yes", "--wait"];
    let granted = ask(&home, &always);
    assert_eq!(granted.code, 0, "{granted:?}");
    assert!(granted.stdout.contains("there.org\") &&"), "{granted:?}");
    let text = |name: &str| std::fs::read_to_string(home.path(&format!("memex/{name}"))).unwrap();
    assert_eq!((&*text("here.org"), &*text("there.org")), ("* Two\n* Three\n", "* One\n"));
    let done = refile("there.org");
    assert_eq!(done.code, 0, "it is not asked again: {done:?}");
    assert_eq!((&*text("here.org"), &*text("there.org")), ("* Three\n", "* One\n* Two\n"));
    // A third file is another thing.
    assert_eq!(refile("new.org").code, 75);
}

#[test]
fn a_daemon_that_runs_takes_the_folder_up() {
    let home = Home::new();
    home.write("memex/garden.org", TEXT);
    home.write("other/a.org", "* A\n");
    let _daemon = home.up(&[]);
    let none = ask(&home, &["memory", "query", "water"]);
    assert!(none.stderr.contains("bridle init DIR"), "{none:?}");
    let (folder, other) = (home.path("memex"), home.path("other"));
    // What is no folder is refused.
    let refused = home.run(&[
        "send",
        "--addr",
        &home.path("b.sock"),
        "(:type :REQUEST :id 1 :target \
        :system :payload (:action :open-memex :path \"nowhere\"))",
    ]);
    assert!(refused.stdout.contains(":invalid-value"), "{refused:?}");
    let taken = ask(&home, &["init", &folder, "--yes"]);
    assert!(taken.stdout.ends_with("the running daemon now uses it\n"), "{taken:?}");
    let query = ["memory", "query", "water", "--addr", &home.path("b.sock")];
    until_told(&home, &query, |told| told.contains("garden.org:1  * TODO Water the beds"));
    let socket = home.path("b.sock");
    let spot = ["memory", "edit", "garden.org", "--addr", &socket, "--line", "1"];
    let done = home.run(&[&spot[..], &["state", "DONE", "--yes"]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let text = std::fs::read_to_string(home.path("memex/garden.org")).unwrap();
    assert_eq!(text, TEXT.replace("TODO", "DONE"));
    // The same again is nothing new; another one needs a start.
    let again = ask(&home, &["init", &folder, "--yes", "--json"]);
    assert!(again.stdout.contains("\"daemon\":\"taken\""), "{again:?}");
    let later = ask(&home, &["init", &other, "--yes"]);
    assert!(later.code == 0 && later.stdout.contains("another memex is open"), "{later:?}");
}

#[test]
fn a_daemon_is_found_by_its_state_directory() {
    let home = Home::new();
    home.write("memex/garden.org", TEXT);
    let (state, folder) = (home.path("elsewhere"), home.path("memex"));
    let up = ["up", "--tcp", "off", "--http", "off", "--log", "error", "--state", &state];
    let _daemon = ServerProcess::start(&mut home.command(&up));
    let taken = home.run(&["init", &folder, "--yes", "--state", &state]);
    assert!(taken.stdout.ends_with("the running daemon now uses it\n"), "{taken:?}");
}

#[test]
fn what_is_not_there_is_said() {
    let home = Home::new();
    for (args, code) in [
        (&["memory", "log"][..], 66),
        (&["undo", "7", "--yes"], 66),
        (&["memory", "at", "never"], 66),
    ] {
        assert_eq!(home.run(args).code, code, "{args:?}");
    }
    home.write("memex/a.org", "a\n");
    let daemon = home.up(&["--memex", &home.path("memex")]);
    for (args, code) in [
        (&["undo", "7", "--yes"][..], 66),
        (&["memory", "show", "7"], 66),
        (&["memory", "show", "--record", "7"], 66),
        (&["memory", "at", "never"], 2),
        (&["memory", "at", "7d", "a.org"], 66),
        (&["memory", "log", "../a.org"], 2),
        (&["memory", "restore", "none", "--yes"], 66),
        (&["memory", "rollback", "work", "3", "--yes"], 66),
    ] {
        let done = home.run(args);
        assert_eq!(done.code, code, "{args:?}: {}", done.stderr);
    }
    drop(daemon);
    let none = home.run(&["up", "--memex", &home.path("none"), "--tcp", "off", "--log", "error"]);
    assert_eq!(none.code, 78, "{}", none.stderr);
}

/// What a new user meets: a line of his own that would go is quoted before the question, one of bridle's is not.
#[test]
fn lines_of_the_user_that_would_go_are_quoted() {
    let home = Home::new();
    home.write("memex/garden.org", TEXT);
    let _daemon = home.up(&["--memex", &home.path("memex")]);
    ask(&home, &["memory", "snapshot", "monday"]).prints("saved 1 file\n");
    let socket = home.path("b.sock");
    let edit = ["memory", "edit", "garden.org", "--addr", &socket, "--line", "1"];
    let done = home.run(&[&edit[..], &["state", "DONE", "--yes"]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let file = home.path("memex/garden.org");
    let changed = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{changed}Buy tulips \u{1b}[2J\n")).unwrap();
    let dry = ask(&home, &["memory", "restore", "monday", "--dry-run"]);
    let told = "removes 2 lines of the current files, marked with -; you wrote 1 of them, not bridle:\n  \
                garden.org:4: Buy tulips ";
    assert!(dry.code == 0 && dry.stdout.contains(told), "{dry:?}");
    assert!(dry.stdout.contains("-* DONE Water the beds\n"), "{dry:?}");
    // The diff is for programs, too; what is said of it is for people.
    let said = dry.stdout.split_once("marked with -;").unwrap().1;
    assert!(!said.contains('\u{1b}'), "{said:?}");
    let json = ["memory", "restore", "monday", "--json"];
    let dry = ask(&home, &[&json[..], &["--dry-run"]].concat());
    let told: serde_json::Value = serde_json::from_str(&dry.stdout).unwrap();
    assert_eq!((&told["lost_lines"], &told["lost_user_lines"]), (&2.into(), &1.into()), "{told}");
    assert_eq!(told["user_lines"][0]["line"], 4, "{told}");
    assert_eq!(told["user_lines"][0]["text"], "Buy tulips \u{1b}[2J", "{told}");
    assert_eq!(ask(&home, &json).code, 2, "nobody is asked");
    // What an undo takes back is what bridle wrote.
    let listed = home.run(&["memory", "log", "--changes"]);
    let dry = ask(&home, &["undo", &last_word(&listed.stdout), "--dry-run"]);
    let told = "removes 1 line of the current files, marked with -; you wrote none of them\n";
    assert!(dry.stdout.ends_with(told), "{dry:?}");
    // No more than ten are quoted.
    std::fs::write(&file, format!("{changed}{}", "mine\n".repeat(12))).unwrap();
    let dry = ask(&home, &["memory", "restore", "monday", "--dry-run"]);
    assert!(dry.stdout.contains("marked with -; you wrote 12 of them"), "{dry:?}");
    assert_eq!(dry.stdout.matches(": mine\n").count(), 10, "{dry:?}");
    assert!(dry.stdout.ends_with("\n  and 2 more\n"), "{dry:?}");
    let done = ask(&home, &[&json[..], &["--yes"]].concat());
    let told: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&told["status"], &told["files"][0]), (&"done".into(), &"garden.org".into()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), TEXT);
    let none = ask(&home, &["memory", "restore", "monday", "--file", "nope.org", "--yes"]);
    assert!(none.code == 66 && none.stderr.contains("has no file `nope.org`"), "{none:?}");
}

#[test]
fn a_title_finds_its_heading_and_others_are_suggested() {
    let home = Home::new();
    let text = "* TODO Water the beds\n** Seeds\n* Tools\nA spade.\n** Seeds\n";
    home.write("memex/garden.org", text);
    let _daemon = home.up(&["--memex", &home.path("memex")]);
    let socket = home.path("b.sock");
    let query = ["memory", "query", "spade", "--addr", &socket];
    until_told(&home, &query, |told| told.contains("garden.org:3  * Tools"));
    for verb in ["get", "focus"] {
        let one = ask(&home, &["memory", verb, "tools"]);
        assert!(one.code == 0 && one.stdout.contains("A spade."), "{one:?}");
        let near = ask(&home, &["memory", verb, "Toolz"]);
        let told = "error: no file or heading `Toolz`\nhint: did you mean garden.org:3  * Tools";
        assert!(near.code == 66 && near.stderr.starts_with(told), "{near:?}");
        let file = ask(&home, &["memory", verb, "gardn.org"]);
        assert!(file.stderr.contains("hint: did you mean garden.org "), "{file:?}");
        assert_eq!(file.stderr.matches("did you mean").count(), 1, "{file:?}");
        let two = ask(&home, &["memory", verb, "Seeds"]);
        assert!(two.code == 66 && two.stderr.contains("several headings"), "{two:?}");
        for at in ["garden.org:2  ** Seeds", "garden.org:5  ** Seeds"] {
            assert!(two.stderr.contains(&format!("did you mean {at}")), "{two:?}");
        }
        let none = ask(&home, &["memory", verb, "zzzzzzzz"]);
        assert!(none.code == 66 && !none.stderr.contains("did you mean"), "{none:?}");
    }
    ask(&home, &["memory", "query", "zzzzzzzz"]).prints("nothing found\n");
    let date = ask(&home, &["memory", "query", "--from", "nonsense"]);
    assert!(
        date.code == 65 && date.stderr.contains("`--from nonsense`: expected a date"),
        "{date:?}"
    );
    let edit = |more: &[&str]| {
        home.run(&[&["memory", "edit", "garden.org", "--addr", &socket, "--yes"], more].concat())
    };
    let near = edit(&["--outline", "Toolz", "up"]);
    let told = "no heading `Toolz`; did you mean `Tools` (line 3)?";
    assert!(near.code == 1 && near.stderr.contains(told), "{near:?}");
    let two = edit(&["--outline", "Seeds", "up"]);
    let told = "`Water the beds` / `Seeds` (line 2) and `Tools` / `Seeds` (line 5)";
    assert!(two.code == 1 && two.stderr.contains(told), "{two:?}");
    let none = edit(&["--outline", "Tools", "state", "FOO"]);
    assert!(none.stderr.contains("no keyword `FOO`: it has TODO, DONE"), "{none:?}");
}

#[test]
fn a_note_goes_into_the_log_where_the_file_asks_for_one() {
    let home = Home::new();
    home.write("memex/garden.org", format!("#+STARTUP: lognotedone\n{TEXT}"));
    let _daemon = home.up(&["--memex", &home.path("memex")]);
    let socket = home.path("b.sock");
    let edit = ["memory", "edit", "garden.org", "--addr", &socket, "--outline", "Water the beds"];
    let done = home.run(&[&edit[..], &["state", "DONE", "--note", "It rained.", "--yes"]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let text = std::fs::read_to_string(home.path("memex/garden.org")).unwrap();
    assert!(text.contains("\n* DONE Water the beds\nCLOSED: ["), "{text}");
    assert!(text.contains("\n- CLOSING NOTE ") && text.contains("  It rained.\n"), "{text}");
}

#[test]
fn init_names_the_setting_for_keywords_that_nothing_declares() {
    let home = Home::new();
    home.write("memex/a.org", "* NEXT One\n* WAITING Two\n* API Three\n* API Four\n");
    home.write("memex/b.org", "* NEXT Five\n* WAITING Six\n* CANCELLED Seven\n* CANCELLED Eight\n");
    home.write("memex/own.org", "#+TODO: HOLD | OVER\n* HOLD Nine\n* HOLD Ten\n");
    let folder = home.path("memex");
    let line = "memex-todo-keywords = \"TODO NEXT WAITING | DONE CANCELLED\"\n";
    let shown = home.run(&["init", &folder, "--dry-run"]);
    assert!(shown.code == 0 && shown.stdout.contains(&format!("\n  {line}")), "{shown:?}");
    assert!(shown.stdout.contains("nothing declares NEXT (2 headings), WAITING (2 headings), "));
    let json = home.run(&["init", &folder, "--dry-run", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(told["suggested_setting"], line.trim_end(), "{told}");
    assert_eq!(told["undeclared_keywords"][0]["keyword"], "NEXT", "{told}");
    // The line does what it says.
    home.write(".config/bridle/config.toml", line);
    let shown = home.run(&["init", &folder, "--dry-run"]);
    assert!(shown.code == 0 && !shown.stdout.contains("advice"), "{shown:?}");
}
