//! Every command on a terminal, with hostile text in everything that it shows: nothing moves the
//! cursor, reorders or hides. In a pipe the same data is exact.
//!
//! long: a flat list of all commands.

use crate::attacks::ATTACKS;
use crate::cli_json::scene;
use crate::harness::Home;

/// A right-to-left override, a blank without width, a C1 control, a byte order mark, a tag.
const UNSEEN: &[char] = &[
    '\u{202e}',
    '\u{2066}',
    '\u{200b}',
    '\u{9b}',
    '\u{feff}',
    '\u{e0041}',
    '\u{202a}',
    '\u{202b}',
    '\u{202c}',
    '\u{202d}',
    '\u{2067}',
    '\u{2068}',
    '\u{2069}',
    '\u{200e}',
    '\u{200f}',
    '\u{61c}',
    '\u{2060}',
    '\u{2028}',
    '\u{2029}',
    '\u{fff9}',
    '\u{fffa}',
    '\u{fffb}',
    '\u{85}',
    '\u{90}',
    '\u{9d}',
    '\u{e007f}',
];

/// Whether the escape at the start of this text is one of our own: a color, or the end of a line.
fn is_own(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix('[') else { return false };
    let end = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';');
    end.starts_with('m') || end.starts_with('K')
}

fn is_harmless(args: &[&str], shown: &str) {
    for letter in UNSEEN {
        assert!(!shown.contains(*letter), "{args:?}: U+{:04X} in {shown:?}", u32::from(*letter));
    }
    for (at, _) in shown.match_indices('\u{1b}') {
        let rest = &shown[at + 1..];
        assert!(is_own(rest), "{args:?}: an escape before {:?}", &rest[..rest.len().min(12)]);
    }
    let controls = shown.chars().find(|it| it.is_control() && !"\n\r\t\u{1b}".contains(*it));
    assert_eq!(controls, None, "{args:?}: {shown:?}");
}

/// Says something hostile in a session, by a form, so that it is recorded as it is.
fn say(home: &Home, text: &str) {
    let form = format!("(:type :EVENT :payload (:sensor :user-prompt :text \"{text}\"))");
    let done = home.pipe(&["send", "--session", "work"], form);
    assert_eq!(done.code, 0, "{done:?}");
}

/// Headings with the attacks in everything that is shown of one: title, tags, keyword, property, text.
fn attacks_in_org() -> String {
    let headings = ATTACKS.iter().map(|attack| {
        format!(
            "* TODO roof {attack} roof :{attack}:\nDEADLINE: <2026-12-01 Tue>\n:PROPERTIES:\n:X: {attack}\n:END:\n\
             the roof {attack} is not done\n"
        )
    });
    headings.collect()
}

/// Providers with the attacks in their names, addresses and models.
fn models_in_org() -> String {
    let providers = ATTACKS.iter().map(|attack| {
        format!(
            "* p {attack}\n:PROPERTIES:\n:ADDRESS: http://127.0.0.1:1/{attack}\n:CODEC: {attack}\n:PRIVACY: local\n\
             :END:\n** m {attack} :cognition:\n"
        )
    });
    providers.collect()
}

/// A name that reorders and hides.
const EVIL: &str = "x\u{202e}\u{200b}y";

/// Every command that shows what others wrote.
fn commands<'c>(
    policy: &'c str,
    file: &'c str,
    frames: &'c str,
    decided: &'c str,
    skill: &'c str,
) -> Vec<Vec<&'c str>> {
    let explained = "(:principal \"owner\" :by :thinker :target :emacs :action :eval :code \"\u{1b}[2J\u{202e}\")";
    vec![
        vec!["health", "--detail"],
        vec!["ask", "--session", "work", "hi"],
        vec!["ask", "--no-stream", "--json", "hi"],
        vec![
            "send",
            "--session",
            "work",
            "(:type :EVENT :payload (:sensor :user-prompt :text \"x\"))",
        ],
        vec!["send", "--pretty", "(:type :EVENT :payload (:sensor :user-prompt :text \"x\"))"],
        vec!["tail", "--session", "work"],
        vec!["tail", "--session", "work", "--lisp"],
        vec!["tail", "--session", "work", "--json"],
        vec!["log"],
        vec!["log", "--lisp"],
        vec!["log", "--json"],
        vec!["log", "export", "--org"],
        vec!["log", "verify"],
        vec!["sessions", "--all"],
        vec!["schedules"],
        vec!["schedules", "--json"],
        vec!["replay"],
        vec!["approvals"],
        vec!["effects"],
        vec!["why", decided],
        vec!["policy", "show"],
        vec!["policy", "check", policy],
        vec!["token", "list"],
        vec!["pair", "list"],
        vec!["org", "tree", file],
        vec!["org", "check", file],
        vec!["memory", "query", "roof"],
        vec!["memory", "outline"],
        vec!["memory", "focus", "projects.org"],
        vec!["memory", "get", "roof-1"],
        vec!["memory", "status"],
        vec!["memory", "log"],
        vec!["memory", "show", "1"],
        vec!["memory", "diff", "1"],
        vec!["memory", "at", "2100-01-01", "projects.org"],
        vec!["memory", "snapshots"],
        vec!["tap", frames],
        vec!["config", "show"],
        vec!["config", "check"],
        vec!["agenda", "--from", "2026-11-01", "--to", "2026-12-31"],
        vec!["agenda", "--from", "2026-11-01", "--to", "2026-12-31", "--json"],
        vec!["search", "roof"],
        vec!["search", "--why", "why is the roof not done?"],
        vec!["search", "--json", "roof"],
        vec!["status"],
        vec!["status", "--json"],
        vec!["capture", "--dry-run", EVIL],
        vec!["capture", "--file", "evil.org", EVIL],
        vec!["capture", "--template", EVIL, "x"],
        vec!["model", "list"],
        vec!["model", "test", EVIL],
        vec!["model", "use", EVIL],
        vec!["model", "remove", EVIL],
        vec!["prompt", "preview", EVIL],
        vec!["skill", "list"],
        vec!["skill", "check", skill],
        vec!["skill", "enable", EVIL],
        vec!["cost"],
        vec!["cost", "--by", "model", "--json"],
        vec!["secret", "list"],
        vec!["secret", "rm", EVIL],
        vec!["doctor"],
        vec!["doctor", "--json"],
        vec!["grants"],
        vec!["grants", "revoke", EVIL],
        vec!["project", "--session", "work"],
        vec!["actuators"],
        vec!["sandbox"],
        vec!["diff", "1"],
        vec!["undo", "--dry-run", EVIL],
        vec!["policy", "test"],
        vec!["policy", "explain", policy, explained],
        vec!["policy", "rehearse", policy],
        vec!["record", "size"],
        vec!["schedule", "add", EVIL, "--in", "1h", EVIL],
        vec!["backup", "kept"],
        vec!["restore", "--verify", "kept"],
        vec!["pair", "--url", "https://a.example"],
        vec!["lisp", "eval", EVIL],
        vec!["init", "--dry-run", EVIL],
        vec!["setup", "--memex", EVIL, "--policy", "built-in", "--no-start", "--yes"],
        vec!["sexp", EVIL],
        vec!["fork", EVIL],
        // What is wrong is shown as well.
        vec!["approve", EVIL],
        vec!["deny", EVIL],
        vec!["why", EVIL],
        vec!["why", "--prompt", EVIL],
        vec!["replay", "--session", EVIL],
        vec!["status", "--addr", EVIL],
        vec!["acp", "--addr", EVIL],
        vec!["chat", "--session", EVIL, "--addr", EVIL],
        vec!["up", "--state", EVIL, "--tcp", EVIL],
        vec!["relay", "--addr", EVIL],
        vec!["completions", EVIL],
        vec!["man", EVIL, EVIL],
        vec!["schema", EVIL],
        vec!["frame", "decode", EVIL],
        vec!["agenda", "--from", EVIL],
        vec!["capture", "--file", EVIL, "x"],
        vec!["tail", "--session", EVIL],
        vec!["log", "--session", EVIL],
        vec!["forget", "--yes", EVIL],
        vec!["memory", "focus", EVIL],
        vec!["token", "revoke", EVIL],
        vec!["conform", "shell", "--", EVIL],
    ]
}

#[test]
fn no_command_lets_a_terminal_be_driven() {
    let (home, _daemon) = scene();
    for attack in ATTACKS {
        let text = format!("roof {attack}").replace('\\', "\\\\").replace('"', "\\\"");
        say(&home, &text);
    }
    say(&home, "a\u{1b}[2J\u{202e}b\u{200b}\u{9b}31m\u{feff}\u{e0041}");
    assert_eq!(home.run(&["token", "create", "--name", EVIL]).code, 0);
    home.write(&format!("org/{EVIL}.org"), "* Hidden\u{2066} title\n");
    home.write("org/attacks.org", attacks_in_org());
    home.write(
        "org/templates.org",
        format!("* {EVIL}\n#+begin_src org\n,* \u{1b}[2J%?\n#+end_src\n"),
    );
    let policy = home.path(".config/bridle/policy.org");
    let file = home.path("org/projects.org");
    let frames = home.write("frames.bin", "00000c(:a \"\u{202e}\u{1b}[2J\")");
    let decided = home.run(&["log", "--json"]).stdout;
    let decided = decided.lines().rev().find(|line| line.contains("\"kind\":\"decided\"")).unwrap();
    let decided: serde_json::Value = serde_json::from_str(decided).unwrap();
    let decided = decided["number"].to_string();
    let skill = home.write(
        "org/skills/evil.org",
        format!("#+TITLE: {EVIL}\n* {EVIL} \u{1b}[2J\n#+begin_src lisp\n(defcommand \"{EVIL}\" (\u{1b}[2J\n#+end_src\n"),
    );
    home.write("org/models.org", models_in_org());
    let all = commands(&policy, &file, &frames, &decided, &skill);
    let shown: Vec<&str> = all.iter().filter_map(|args| args.first().copied()).collect();
    let help = home.run(&["--help"]).stdout;
    for name in crate::cli_examples::commands(&help) {
        assert!(shown.contains(&&*name), "no attack on `bridle {name}`");
    }
    for args in all {
        let done = home.at_terminal(&args, "");
        is_harmless(&args, &done.stdout);
    }
    let form = home.write("form.lisp", "(:a \"\u{202e}\u{1b}[2J\")");
    for line in ["sexp", "sexp --pretty", "sexp --json", "frame encode | {} frame decode"] {
        let binary = env!("CARGO_BIN_EXE_bridle");
        let line = format!("{binary} {} < {form}", line.replace("{}", binary));
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).stdin(std::process::Stdio::null());
        let shown = String::from_utf8(script.output().unwrap().stdout).unwrap();
        assert!(!shown.is_empty(), "{line}");
        is_harmless(&[&line], &shown);
    }
}

#[test]
fn in_a_pipe_data_is_exact() {
    let (home, _daemon) = scene();
    say(&home, "a\u{202e}b\u{200b}");
    let log = home.run(&["log", "--lisp"]).stdout;
    assert!(log.contains("\"a\u{202e}b\u{200b}\""), "{log}");
    let file = home.run(&["memory", "at", "2100-01-01", "projects.org"]).stdout;
    assert!(file.contains("Tiles\u{202e}\u{1b}[2J."), "{file}");
    home.pipe(&["sexp"], "\"\u{202e}\"").prints("\"\u{202e}\"\n");
    let json = home.run(&["log", "--json"]).stdout;
    assert!(json.contains("\"a\\u202eb\\u200b\"") && !json.contains('\u{202e}'), "{json}");
}
