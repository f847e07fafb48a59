//! `bridle approve --always`: the scopes of a grant, their sentences, and what none is given for.

use std::path::Path;

use crate::harness::Home;
use crate::written::Written;

const POLICY: &str = ".config/bridle/policy.org";

/// An edit as the daemon prepares it, at one of two headings.
fn edit(heading: &str, state: &str) -> String {
    format!(
        "(:action :set-state :path \"/m/a.org\" :line 1 :state \"{state}\" :prepared (:files ((:path \
         \"/m/a.org\" :before \"00\" :after \"00\" :touches \"00\")) :diff \"-a\\n+b\\n\" :heading \
         \"outline:(\\\"{heading}\\\")\"))"
    )
}

/// A home whose owner asked for three edits, the first of which is `work-1`.
fn home() -> Home {
    let home = Home::new();
    let mut written = Written::new(&home);
    written.asked_of_memory("work", &edit("Tax", "DONE"));
    written.asked_of_memory("later", &edit("Tax", "TODO"));
    written.asked_of_memory("last", &edit("House", "DONE"));
    home
}

fn preview(home: &Home, more: &[&str]) -> crate::harness::Done {
    let addr = home.path("nobody.sock");
    let args = ["approve", "work-1", "--always", "--preview", "--addr", &addr];
    home.run(&[&args[..], more].concat())
}

#[test]
fn every_scope_is_offered_with_its_sentence_and_what_it_would_have_matched() {
    let home = home();
    let done = preview(&home, &[]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    for part in [
        "--scope action: Until ",
        "\"set-state\" by \"memory\" with just the arguments asked for (hash ",
        ") at the heading \"Tax\" of \"/m/a.org\".\n  would have matched 1 of 3 recorded decisions\n",
        "with any arguments at the heading \"Tax\" of \"/m/a.org\".\n  would have matched 2 of 3 recorded decisions",
        "with any arguments anywhere in \"/m/a.org\".\n  would have matched 3 of 3 recorded decisions",
        "with any arguments in any file below \"/m\".\n  would have matched 3 of 3 recorded decisions",
        "of last: set-state /m/a.org outline:(\"House\")",
        "Chosen scope: action.",
    ] {
        assert!(done.stdout.contains(part), "{part} in {}", done.stdout);
    }
    assert!(!Path::new(&home.path(POLICY)).exists(), "nothing is written");
    let done = preview(&home, &["--scope", "heading", "--json"]);
    for part in
        ["\"chosen\":{\"scope\":\"heading\"", "\"matched\":2", "\"written\":false", "\"diff\":"]
    {
        assert!(done.stdout.contains(part), "{part} in {}", done.stdout);
    }
}

#[test]
fn a_grant_for_one_heading_is_none_for_the_next() {
    for (scope, again, other_state, other_heading) in [
        ("action", "allow", "ask", "ask"),
        ("heading", "allow", "allow", "ask"),
        ("file", "allow", "allow", "allow"),
    ] {
        let home = home();
        let done = preview(&home, &["--scope", scope]);
        let added: String = done
            .stdout
            .lines()
            .skip_while(|line| !line.starts_with("@@"))
            .filter_map(|line| line.strip_prefix('+'))
            .map(|line| format!("{line}\n"))
            .collect();
        home.run(&["policy", "init"]);
        let text = std::fs::read_to_string(home.path(POLICY)).unwrap() + &added;
        home.write(POLICY, text);
        let verdict = |payload: &str| {
            let proposal = format!(
                "(:principal \"uid:7\" :owner t :session-owner \"uid:7\" :target :memory :payload {payload})"
            );
            let done = home.run(&["policy", "explain", &home.path(POLICY), &proposal]);
            done.stdout.lines().next().unwrap_or(&done.stderr).to_owned()
        };
        assert_eq!(verdict(&edit("Tax", "DONE")), again, "{scope}");
        assert_eq!(verdict(&edit("Tax", "WAIT")), other_state, "{scope}");
        assert_eq!(verdict(&edit("Garden", "DONE")), other_heading, "{scope}");
    }
}

#[test]
fn what_a_forbid_overrides_is_not_granted() {
    let home = home();
    let forbid = "* Asked each time\n:PROPERTIES:\n:CUSTOM_ID: each-time\n:END:\n#+begin_src cedar\n\
        forbid (principal, action == Action::\"edit\", resource) unless { context.approved };\n#+end_src\n\
        #+begin_src examples\n(ask (:principal \"owner\" :target :memory :action :archive :path \"/a.org\" :line \
        1))\n#+end_src\n";
    home.run(&["policy", "init"]);
    let text = std::fs::read_to_string(home.path(POLICY)).unwrap() + forbid;
    home.write(POLICY, &text);
    let done = preview(&home, &[]);
    assert_eq!((done.code, &*done.stdout), (2, ""), "{}", done.stderr);
    let told = "a grant for this could never apply: `each-time` requires approval each time";
    assert!(done.stderr.contains(told), "{}", done.stderr);
    assert_eq!(std::fs::read_to_string(home.path(POLICY)).unwrap(), text);
}

#[test]
fn a_scope_that_there_is_not_is_told_with_those_that_there_are() {
    let home = Home::new();
    Written::new(&home).asked("work", "(:action :eval :code \"1\")");
    let done = preview(&home, &["--scope", "folder"]);
    assert_eq!(done.code, 2, "{}", done.stderr);
    assert!(done.stderr.contains("no scope `folder`"), "{}", done.stderr);
    assert!(done.stderr.contains("possible: --scope action"), "{}", done.stderr);
    assert_eq!(home.run(&["approve", "work-1", "--scope", "file"]).code, 2, "only with --always");
}

#[test]
fn a_daemon_asks_again_for_what_is_not_in_the_scope() {
    for (scope, next_state, next_heading) in
        [("action", 75, 75), ("heading", 0, 75), ("file", 0, 0)]
    {
        let home = Home::new();
        home.write("memex/a.org", "* TODO One\n* TODO Two\n");
        let _daemon = home.up(&["--memex", &home.path("memex")]);
        let socket = home.path("b.sock");
        let set = |line: &str, state: &str| {
            let spot = ["memory", "edit", "a.org", "--addr", &socket, "--line", line];
            home.run(&[&spot[..], &["state", state]].concat())
        };
        let waits = set("1", "DONE");
        assert_eq!(waits.code, 75, "{waits:?}");
        let id = waits.stderr.split("approval ").nth(1).unwrap();
        let id = id.split_whitespace().next().unwrap().trim_end_matches(['`', ',']);
        let always = ["approve", id, "--always", "--scope", scope, "--yes", "--wait"];
        let granted = home.run(&[&always[..], &["--addr", &socket]].concat());
        assert_eq!(granted.code, 0, "{scope}: {granted:?}");
        assert_eq!(set("1", "TODO").code, next_state, "{scope}: the same heading, another state");
        assert_eq!(set("2", "DONE").code, next_heading, "{scope}: the next heading");
    }
}
