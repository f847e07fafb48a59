//! `bridle policy`: files of policies, checked, tried and judged by the past.

use bridle_loop::Outcome;
use bridle_sexp::Value;

use crate::harness::Home;
use crate::written::Written;

/// A file of one policy.
fn file(cedar: &str, examples: &str) -> String {
    format!(
        "* All\n#+begin_src cedar\n{cedar}\n#+end_src\n#+begin_src examples\n{examples}\n#+end_src\n"
    )
}

const PERMIT_ALL: &str = "permit (principal, action, resource);";
const ALLOWED: &str = "(allow (:principal \"x\" :action :log :text \"x\"))";

/// Lines of the file at which a rule of Cedar begins.
fn built_in_policies(text: &str) -> usize {
    let count = text
        .lines()
        .filter(|line| line.starts_with("permit (") || line.starts_with("forbid ("))
        .count();
    assert!(count >= 11, "{text}");
    count
}

#[test]
fn the_built_in_policies_are_written_once_and_are_good() {
    let home = Home::new();
    let path = home.path(".config/bridle/policy.org");
    home.run(&["policy", "init"]).prints(&format!("wrote {path}\n"));
    let done = home.run(&["policy", "check", &path]);
    assert_eq!((done.code, &*done.stderr), (0, ""));
    let count = built_in_policies(&std::fs::read_to_string(&path).unwrap());
    assert!(done.stdout.starts_with(&format!("{path}: ok, {count} policies, ")), "{}", done.stdout);
    home.write(".config/bridle/policy.org", "mine");
    let again = home.run(&["policy", "init"]);
    assert_eq!(again.code, 73, "{}", again.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    home.run(&["policy", "init", "other.org"]).prints("wrote other.org\n");
}

#[test]
fn faults_are_lines_that_an_editor_can_jump_to() {
    let home = Home::new();
    let bad = file("permit (principal, action, resource) when { context.nope };", ALLOWED);
    home.write("bad.org", &bad);
    let done = home.run(&["policy", "check", "bad.org"]);
    assert_eq!((done.code, &*done.stdout), (65, ""));
    assert!(done.stderr.starts_with("bad.org:3: "), "{}", done.stderr);
    let piped = home.pipe(&["policy", "check", "-"], &bad);
    assert!(piped.stderr.starts_with("stdin:3: "), "{}", piped.stderr);
    let failing = file(PERMIT_ALL, "\n(ask (:principal \"x\" :action :log :text \"x\"))");
    let done = home.pipe(&["policy", "check", "-"], failing);
    done.fails(65, "stdin:7: the example fails: expected `ask`, got `allow` (by `all`)\n");
    assert_eq!(home.run(&["policy", "check", "missing.org"]).code, 66);
    assert_eq!(home.pipe(&["policy", "check", "-"], b"\xff").code, 65);
}

#[test]
fn examples_say_how_they_came_out() {
    let home = Home::new();
    let refused = "(refuse (:principal \"x\" :action :log :text \"x\"))";
    let text = file(PERMIT_ALL, &format!("{ALLOWED}\n{refused}"));
    let done = home.pipe(&["policy", "test", "-"], text);
    done.check(
        1,
        &format!(
            "pass line 6: {ALLOWED}\n     allow, by all\n\
             FAIL line 7: {refused}\n     expected refuse, got allow, by all\n\
             1 passed, 1 failed\n"
        ),
        "",
    );
    let good = home.pipe(&["policy", "test", "-"], file(PERMIT_ALL, ALLOWED));
    assert_eq!((good.code, good.stdout.lines().last()), (0, Some("1 passed, 0 failed")));
}

#[test]
fn policies_are_shown_from_a_file_from_the_settings_or_built_in() {
    let home = Home::new();
    let shown = home.run(&["policy", "show"]);
    assert!(shown.stdout.starts_with("built in, "), "{}", shown.stdout);
    for part in
        ["dangerous: Dangerous things are refused", "built-in.protected: built in, always in force"]
    {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    let path = home.write(".config/bridle/policy.org", file(PERMIT_ALL, ALLOWED));
    let shown = home.run(&["policy", "show"]);
    assert!(shown.stdout.starts_with(&format!("{path}, ")), "{}", shown.stdout);
    let lines = home.run(&["policy", "show", &path, "--json"]).stdout;
    let ids: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].clone())
        .collect();
    assert_eq!(ids[0], "all");
    assert_eq!(ids.len(), 4, "with those that are built in");
}

#[test]
fn a_described_proposal_is_judged_and_explained() {
    let home = Home::new();
    home.run(&["policy", "init", "p.org"]);
    let eval = "(:principal \"owner\" :by :thinker :target :emacs :action :eval :code \"1\")";
    let done = home.run(&["policy", "explain", "p.org", eval]);
    assert_eq!((done.code, &*done.stderr), (0, ""));
    for part in [
        "ask\nallowed without approval: no, no policy permits it\nallowed after approval: yes, by dangerous\n",
        "dangerous: Dangerous things are refused unless approved\n",
        "facts: (:asker \"owner\"",
    ] {
        assert!(done.stdout.contains(part), "{part} in {}", done.stdout);
    }
    let stranger = "(:principal \"anonymous\" :target :log :action :log :text \"x\")";
    let done = home.run(&["policy", "explain", "p.org", stranger, "--json"]);
    let explained: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(explained["verdict"], "refuse");
    assert_eq!(explained["after-a-yes"]["policies"][0], "anonymous");
    let done = home.run(&["policy", "explain", "p.org", "(:action"]);
    assert_eq!((done.code, &*done.stdout), (65, ""));
}

#[test]
fn the_past_is_judged_again() {
    let home = Home::new();
    let mut written = Written::new(&home);
    let mut asked = written.asked("work", "(:action :eval :code \"1\")");
    written.allowed(&mut asked, Outcome::Done(Value::T));
    home.run(&["policy", "init", "same.org"]);
    home.run(&["policy", "rehearse", "same.org"]).prints("0 of 3 decisions would change\n");
    home.write("all.org", file(PERMIT_ALL, ALLOWED));
    home.run(&["policy", "rehearse", "all.org"]).prints(
        "1 of 3 decisions would change\n  ask -> allow: 1\n\
         record 4 of work: eval to emacs: ask -> allow (all)\n",
    );
    home.write(
        "none.org",
        file(
            "forbid (principal, action == Action::\"eval\", resource);",
            "(refuse (:principal \"x\" :target :emacs :action :eval :code \"1\"))",
        ),
    );
    let done = home.run(&["policy", "rehearse", "none.org", "--json"]);
    let rehearsed: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&rehearsed["decisions"], &rehearsed["unreadable"]), (&3.into(), &0.into()));
    let changed = rehearsed["changed"].as_array().unwrap();
    let records: Vec<u64> = changed.iter().map(|it| it["record"].as_u64().unwrap()).collect();
    assert_eq!(records, [4, 7, 9], "asked, answered and approved");
    let last = home.run(&["policy", "rehearse", "none.org", "--last", "1"]);
    assert!(last.stdout.starts_with("1 of 1 decisions would change\n"), "{}", last.stdout);
}

#[test]
fn nobody_is_there_to_install() {
    let home = Home::new();
    let addr = home.path("nobody.sock");
    assert_eq!(home.run(&["policy", "install", "--addr", &addr]).code, 69);
}

/// A file that is nested so deeply, by parentheses and by a chain.
fn deep(condition: &str) -> String {
    file(&format!("permit (principal, action, resource) when {{ {condition} }};"), ALLOWED)
}

#[test]
fn a_deep_policy_ends_no_command() {
    let home = Home::new();
    Written::new(&home).session("work");
    let parentheses = format!("{}true{}", "(".repeat(300), ")".repeat(300));
    let chain = vec!["true"; 5_000].join(" && ");
    for condition in [parentheses, chain] {
        home.write(".config/bridle/policy.org", deep(&condition));
        for verb in ["check", "test", "show", "rehearse"] {
            let done = home.run(&["policy", verb]);
            assert_eq!((done.code, &*done.stdout), (65, ""), "{verb}: {}", done.stderr);
            assert!(done.stderr.contains("policy.org:3: "), "{verb}: {}", done.stderr);
            assert!(done.stderr.contains("deeper than"), "{verb}: {}", done.stderr);
        }
    }
}

#[test]
fn commands_are_about_the_file_that_the_settings_name() {
    let home = Home::new();
    Written::new(&home).session("work");
    let done = home.run(&["policy", "check"]);
    assert!(done.stdout.starts_with("built in: ok, "), "{}", done.stdout);
    home.write(".config/bridle/policy.org", file(PERMIT_ALL, ALLOWED));
    let path = home.path(".config/bridle/policy.org");
    home.run(&["policy", "check"]).prints(&format!("{path}: ok, 1 policies, 1 examples\n"));
    let done = home.run(&["policy", "test"]);
    assert_eq!(done.stdout.lines().last(), Some("1 passed, 0 failed"));
    let done = home.run(&["policy", "rehearse"]);
    assert!(done.stdout.contains("decisions would change"), "{}{}", done.stdout, done.stderr);
    let writable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(&path, writable).unwrap();
    let done = home.run(&["policy", "check"]);
    assert_eq!(done.code, 65, "{}", done.stderr);
    assert!(done.stderr.contains("its mode is 666"), "{}", done.stderr);
}

#[test]
fn a_file_in_quarantine_is_tried_apart_and_freed() {
    let home = Home::new();
    let text = file(PERMIT_ALL, ALLOWED);
    home.write(".config/bridle/policy.org", &text);
    let marker = ".local/state/bridle/policy.loading";
    home.write(marker, format!("{}\n", bridle_loop::PolicyHash::of(&text)));
    let done = home.run(&["policy", "check"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout.contains("released from quarantine"), "{}", done.stdout);
    assert!(!std::path::Path::new(&home.path(marker)).exists());
    let again = home.run(&["policy", "check"]);
    assert!(!again.stdout.contains("quarantine"), "{}", again.stdout);
    // Another file's marker stays where it is.
    home.write(marker, format!("{}\n", bridle_loop::PolicyHash::of("another")));
    home.run(&["policy", "check"]);
    assert!(std::path::Path::new(&home.path(marker)).exists());
}
