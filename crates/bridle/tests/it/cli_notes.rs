//! `bridle capture`, `agenda`, `search` and `status`: the commands of every day, with and without a daemon.

use serde_json::Value;

use crate::harness::Home;

const NOTES: &str = "* TODO Mend the roof :house:\nSCHEDULED: <2026-11-17 Tue>\nThe tiles leak.\n\
                     * Yoga\n<2026-11-05 Thu 18:00-19:30 +1w>\n* Diary :private:\nMy secret leak.\n";

/// A home with notes and settings; no daemon.
fn home() -> Home {
    let home = Home::new();
    home.write("org/projects.org", NOTES);
    let (memex, socket) = (home.path("org"), home.path("b.sock"));
    let config =
        format!("unix = \"{socket}\"\nmemex = \"{memex}\"\ntcp = \"off\"\nhttp = \"off\"\n");
    home.write(".config/bridle/config.toml", config);
    home
}

fn read(home: &Home, file: &str) -> String {
    std::fs::read_to_string(home.path(file)).unwrap()
}

#[test]
fn a_note_is_kept_with_a_version_and_can_be_taken_back() {
    let home = home();
    let _daemon = home.up(&[]);
    let done = home.run(&["capture", "Buy", "a", "ladder"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    assert!(read(&home, "org/inbox.org").starts_with("* TODO Buy a ladder\n["));
    let undo = done.stdout.trim().rsplit_once("bridle undo ").expect("a way back").1.to_owned();
    let before = read(&home, "org/inbox.org");
    let second = home.pipe(&["capture", "--json", "-"], "Second\n* not a heading\n");
    let told: Value = serde_json::from_str(&second.stdout).unwrap();
    assert_eq!(told["file"], "inbox.org", "{second:?}");
    assert!(read(&home, "org/inbox.org").ends_with("\n * not a heading\n"));
    let record = told["record"].to_string();
    assert_eq!(home.run(&["undo", "--yes", &record]).code, 0);
    assert_eq!(read(&home, "org/inbox.org"), before);
    assert_eq!(home.run(&["undo", "--yes", &undo]).code, 0);
    assert_eq!(home.run(&["approvals"]).stdout, "no pending approvals\n");
}

#[test]
fn a_template_says_what_is_written_and_where() {
    let home = home();
    home.write(
        "org/templates.org",
        "* call\n:PROPERTIES:\n:FILE: projects.org\n:HEADING: Yoga\n:END:\n#+begin_src org\n,* CALL %?\n%i\n#+end_src\n",
    );
    let _daemon = home.up(&[]);
    let done = home.pipe(&["capture", "-t", "Call", "-"], "Ann\nabout it");
    assert_eq!(done.code, 0, "{done:?}");
    assert!(read(&home, "org/projects.org").contains("+1w>\n** CALL Ann\nabout it\n* Diary"));
    let none = home.run(&["capture", "-t", "none", "x"]);
    assert_eq!(none.code, 66);
    assert!(none.stderr.contains("no template `none` in templates.org"), "{}", none.stderr);
    assert!(none.stderr.contains("it has: call"), "{}", none.stderr);
    let dry = home.run(&["capture", "--dry-run", "--file", "a.org", "x"]);
    assert!(dry.stdout.starts_with("would append to a.org:\n* TODO x\n"), "{dry:?}");
    for (args, code) in [(&["capture", "--file", "run.sh", "x"][..], 1), (&["capture", " "], 2)] {
        assert_eq!(home.run(args).code, code, "{args:?}");
    }
    assert!(!std::path::Path::new(&home.path("org/a.org")).exists());
}

#[test]
fn capture_starts_a_daemon_and_says_so() {
    let home = home();
    let none = home.run(&["capture", "--no-start", "x"]);
    assert_eq!(none.code, 69, "{none:?}");
    let done = home.run(&["capture", "x"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stderr.starts_with("started a daemon; its log is "), "{}", done.stderr);
    let pid = read(&home, ".local/state/bridle/daemon.lock");
    let ended = std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(ended.success());
    while !read(&home, ".local/state/bridle/daemon.lock").is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn the_agenda_is_the_same_with_and_without_a_daemon() {
    let home = home();
    let days = ["agenda", "--from", "2026-11-26", "--to", "+9999"];
    assert_eq!(home.run(&days).code, 65, "too long");
    let span = ["agenda", "--from", "2027-01-07", "--to", "2027-01-07"];
    let offline = home.run(&span);
    assert_eq!(offline.stderr, "no daemon runs; read from your files\n");
    let expected = "Thursday 2027-01-07\n  18:00-19:30                          Yoga  (repeats)  projects.org:4\n";
    assert_eq!(offline.stdout, expected);
    // What changed meanwhile is read first.
    home.write("org/more.org", "* TODO Tax\nDEADLINE: <2027-01-07 Thu>\n");
    assert!(home.run(&span).stdout.contains("deadline                TODO Tax  more.org:1\n"));
    let json = home.run(&[&span[..], &["--json"]].concat()).stdout;
    let _daemon = home.up(&[]);
    let online = home.run(&[&span[..], &["--json"]].concat());
    assert_eq!((online.stdout.as_str(), online.stderr.as_str()), (json.as_str(), ""));
    assert_eq!(home.run(&["agenda", "--from", "soon"]).code, 2);
    assert_eq!(home.run(&["agenda", "--from", "+3", "--to", "today"]).code, 2);
    let today = home.run(&["agenda"]).stdout;
    assert!(today.contains("(today)\n"), "{today}");
    let (week, same) = (home.run(&["agenda", "--week"]), home.run(&["agenda", "--to", "+6"]));
    assert_eq!(week, same);
}

#[test]
fn a_search_says_how_it_searched_and_why() {
    let home = home();
    let words = home.run(&["search", "roof"]);
    assert!(words.stdout.contains("Mend the roof"), "{words:?}");
    assert!(words.stdout.ends_with("searched as words: all of them; as a question: --question\n"));
    let question = home.run(&["search", "--why", "what does leak on the roof?"]);
    assert!(question.stdout.contains("because `roof` is in the title\n"), "{question:?}");
    assert!(question.stdout.contains("as a question: any of the words"), "{question:?}");
    // The mode can be named, whatever the text looks like.
    assert!(home.run(&["search", "-w", "roof?"]).stdout.contains("as words"));
    assert!(home.run(&["search", "-q", "roof"]).stdout.contains("searched as a question"));
    // The owner sees what is private, marked as such.
    assert!(home.run(&["search", "Diary"]).stdout.contains("(private)"));
    assert_eq!(home.run(&["search", "-w", "\""]).code, 65);
    assert_eq!(
        home.run(&["search", "nothing-like-it"]).stdout.lines().next(),
        Some("nothing found")
    );
}

#[test]
fn without_a_folder_the_way_out_is_named() {
    let home = Home::new();
    home.write(".config/bridle/config.toml", "tcp = \"off\"\n");
    for args in [&["agenda"][..], &["search", "x"]] {
        let done = home.run(args);
        assert_eq!(done.code, 66, "{done:?}");
        assert!(done.stderr.contains("bridle setup"), "{done:?}");
    }
}

#[test]
fn status_tells_what_goes_on() {
    let home = home();
    let absent = home.run(&["status"]);
    assert_eq!(absent.code, 69);
    assert!(absent.stdout.starts_with("daemon     does not answer; start it: bridle up\n"));
    let daemon = home.up(&[]);
    assert_eq!(home.run(&["ask", "--session", "desk", "hi"]).code, 0);
    assert_eq!(home.run(&["memory", "edit", "new.org", "append", "* A"]).code, 75);
    let done = home.run(&["status"]);
    assert_eq!(done.code, 0, "{done:?}");
    for line in [
        "daemon     healthy, bridle/",
        "approvals  1 open: bridle approvals",
        "memory     ",
        "\ndesk ",
    ] {
        assert!(done.stdout.contains(line), "{line}: {}", done.stdout);
    }
    assert!(done.stdout.contains("1 waiting for you (1 parked)"), "{}", done.stdout);
    let json: Value = serde_json::from_str(&home.run(&["status", "--json"]).stdout).unwrap();
    assert_eq!((&json["waiting"], &json["approvals"][0]["may-answer"]), (&1.into(), &true.into()));
    // Watching prints at once, and again when something changed.
    let mut watch = home.command(&["status", "--watch", "--json"]).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watch.stdout.take().unwrap()));
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["status"], "healthy");
    drop(daemon);
    while next()["status"] != "absent" {}
    watch.kill().unwrap();
    watch.wait().unwrap();
}
