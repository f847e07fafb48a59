//! Skills that come with bridle, in a real daemon: copied by init, used by prompts, judged like everything else; messages
//! leave once, or nobody says that they did.

mod delivery;

use crate::harness::{Done, Home, Shell};
use bridle_test_support::server_process::ServerProcess;

const GARDEN: &str = "#+TITLE: Garden\n* NEXT Cut the hedge\nDEADLINE: <2020-01-02 Thu>\nWith the long ladder.\n\
    * PROJ Build a shed\n** NEXT Draw a plan\n* PROJ Dig a pond\n* WAITING Ladder from Anna\n\
    See [[file:gone.org][the shop]].\n";

/// A home whose folder of Org files has the skills, with a daemon.
struct Desk {
    home: Home,
    daemon: Option<ServerProcess>,
    flags: Vec<String>,
}

impl Desk {
    fn new(files: &[(&str, &str)], flags: &[&str]) -> Desk {
        let home = Home::new();
        for (name, text) in files {
            home.write(&format!("memex/{name}"), text);
        }
        let keywords = "memex-todo-keywords = \"TODO NEXT WAITING PROJ SOMEDAY | DONE\"\n";
        home.write(".config/bridle/config.toml", keywords);
        let done = home.run(&["init", &home.path("memex"), "--yes"]);
        assert_eq!(done.code, 0, "{done:?}");
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let mut desk = Desk { home, daemon: None, flags };
        desk.start();
        desk
    }

    fn start(&mut self) {
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        self.daemon = Some(self.home.up(&flags));
        // The folder may still be about to be read.
        let tries = (0..1000).map(|_| self.ask(&["memory", "query", "xyzzyx"]));
        let ready = tries.into_iter().find(|found| found.code != 75).expect("the index is made");
        assert_eq!(ready.stdout, "nothing found\n", "{ready:?}");
    }

    fn ask(&self, args: &[&str]) -> Done {
        let socket = self.home.path("b.sock");
        self.home.run(&[args, &["--addr", &socket]].concat())
    }

    fn shell(&self) -> Shell {
        Shell::attach(&self.home, "work")
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path(&format!("memex/{name}"))).unwrap_or_default()
    }
}

/// Says something, says yes to every question but whether to do something again, and gives the answer with the questions.
fn talk(shell: &mut Shell, message: &str) -> (String, Vec<String>) {
    shell.send(message);
    let mut asked = Vec::new();
    loop {
        let frame = shell.receive();
        if frame.starts_with("(:type :RESPONSE :id 1 ") {
            return (frame, asked);
        }
        if frame.starts_with("(:type :REQUEST") && frame.contains(":target :approval ") {
            let name = frame.split('"').nth(1).expect("a name").to_owned();
            let verdict = if frame.contains("do it again?") { ":deny" } else { ":allow" };
            asked.push(frame);
            shell.send(&format!("(:type :RESPONSE :id \"{name}\" :payload (:verdict {verdict}))"));
        }
    }
}

fn say(shell: &mut Shell, text: &str) -> (String, Vec<String>) {
    let text = text.replace('"', "\\\"");
    talk(shell, &format!("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"{text}\"))"))
}

#[test]
fn a_day_with_the_shipped_skills() {
    let desk = Desk::new(&[("garden.org", GARDEN)], &[]);
    let mut shell = desk.shell();
    for (prompt, parts) in [
        ("/commands", &["/agenda  What is planned", "/send  Sends a message"][..]),
        ("/agenda", &["NEXT Cut the hedge (", " days late) [garden.org:2]"]),
        ("/find long ladder", &["1. NEXT Cut the hedge [garden.org:2]"]),
        ("/next", &["NEXT Cut the hedge [garden.org:2]", "NEXT Draw a plan [garden.org:6]"]),
        ("/waiting", &["Ladder from Anna [garden.org:8], no date"]),
        ("/weekly", &["Projects without a next step", "Dig a pond"]),
        ("/garden", &["[[file:gone.org]] leads nowhere", "waits without a date"]),
        ("/check-message (:type :LOG)", &["A good :LOG of 12 bytes"]),
    ] {
        let (said, asked) = say(&mut shell, prompt);
        assert!(asked.is_empty(), "{prompt} asks: {asked:?}");
        for part in parts {
            assert!(said.contains(part), "{prompt}: `{part}` in {said}");
        }
    }
}

#[test]
fn what_a_skill_writes_is_shown_first() {
    let desk = Desk::new(&[("garden.org", GARDEN)], &[]);
    let mut shell = desk.shell();
    let (said, asked) = say(&mut shell, "/capture Buy a rake");
    assert!(said.contains("Kept in inbox.org."), "{said}");
    assert!(asked.len() == 1 && asked[0].contains("+* TODO Buy a rake"), "{asked:?}");
    assert!(
        desk.text("inbox.org").starts_with("* TODO Buy a rake\n["),
        "{}",
        desk.text("inbox.org")
    );
    let (said, _) = loop {
        // What was written is in the index a moment later.
        let told = say(&mut shell, "/inbox");
        if told.0.contains("Buy a rake") {
            break told;
        }
    };
    assert!(said.contains("TODO Buy a rake [inbox.org:1]"), "{said}");
    let (said, _) = say(&mut shell, "/clarify");
    assert!(said.contains("/clarify next"), "{said}");
    let (said, asked) = say(&mut shell, "/clarify next");
    assert!(said.contains("`Buy a rake` is next."), "{said}");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(desk.text("inbox.org").starts_with("* NEXT Buy a rake\n"));
    let (said, asked) = say(&mut shell, "/garden fix");
    assert!(said.contains("Ladder from Anna: mended"), "{said}");
    assert!(asked.iter().all(|frame| frame.contains(":target :memory")), "{asked:?}");
    assert!(desk.text("garden.org").contains("* WAITING Ladder from Anna\nSCHEDULED: <"));
}

#[test]
fn a_parent_is_not_done_while_a_child_is_open() {
    let desk = Desk::new(&[("garden.org", GARDEN)], &[]);
    let mut shell = desk.shell();
    let done = |title: &str| {
        format!(
            "(:type :REQUEST :id 1 :target :memory :payload (:action :set-state :path \"garden.org\" :outline (\"{title}\") :state \"DONE\"))"
        )
    };
    let (said, asked) = talk(&mut shell, &done("Build a shed"));
    assert!(said.contains("1 open heading below it"), "{said}");
    assert!(asked.is_empty() && desk.text("garden.org") == GARDEN, "{asked:?}");
    let (said, _) = say(&mut shell, "/done Build a shed");
    assert!(said.contains("1 open heading below it"), "{said}");
    for title in ["Draw a plan", "Build a shed"] {
        let (said, asked) = talk(&mut shell, &done(title));
        assert!(said.contains(":status :success") && asked.len() == 1, "{title}: {said}");
    }
    assert!(desk.text("garden.org").contains("* DONE Build a shed\n"));
}

#[test]
fn the_users_copy_wins_and_an_update_shows_what_it_changes() {
    let home = Home::new();
    home.write("memex/skills/search.org", "mine\n");
    let memex = home.path("memex");
    let done = home.run(&["init", &memex, "--yes"]);
    assert!(done.stdout.contains("yours differ: search; see bridle skill diff\n"), "{done:?}");
    assert!(done.stdout.contains("skills: agenda, capture, "), "{done:?}");
    assert_eq!(std::fs::read_to_string(home.path("memex/skills/search.org")).unwrap(), "mine\n");
    let diff = home.run(&["skill", "diff"]);
    assert_eq!(diff.code, 1);
    assert!(diff.stdout.starts_with("search: edited\n--- a/skills/search.org\n"), "{diff:?}");
    assert!(diff.stdout.contains("\n-mine\n"), "{diff:?}");
    let all = home.run(&["skill", "update", "--yes"]);
    assert!(all.stdout.contains("search: edited\n"), "an edited copy stays: {all:?}");
    let one = home.run(&["skill", "update", "--yes", "search"]);
    assert!(one.stdout.ends_with("search: written\n"), "{one:?}");
    assert_eq!(home.run(&["skill", "diff"]).code, 0);
    assert_eq!(home.run(&["skill", "diff", "zebra"]).code, 66);
    // What its owner deleted does not come back by itself.
    std::fs::remove_file(home.path("memex/skills/summary.org")).unwrap();
    home.run(&["init", &memex, "--yes"]);
    assert!(!std::path::Path::new(&home.path("memex/skills/summary.org")).exists());
    let none = Home::new();
    none.write("memex/a.org", "* A\n");
    none.run(&["init", &none.path("memex"), "--yes", "--no-skills"]);
    assert!(!std::path::Path::new(&none.path("memex/skills")).exists());
}
