//! Help, completions and manual pages.

use std::path::Path;

use crate::harness::{Home, pipe};

#[test]
fn help_lists_commands_and_exit_codes() {
    let help = pipe(&["--help"], "");
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    for word in [
        "up",
        "health",
        "send",
        "token",
        "tap",
        "sexp",
        "frame",
        "schema",
        "config",
        "completions",
        "man",
    ] {
        assert!(help.stdout.contains(&format!("\n  {word} ")), "{word}");
    }
    assert!(help.stdout.contains("  65  bad input"), "{}", help.stdout);
    let nothing = pipe(&[], "");
    assert_eq!(nothing.code, 2);
}

#[test]
fn version_names_the_program() {
    pipe(&["--version"], "").prints(&format!("bridle {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn unknown_flags_are_usage_errors() {
    let done = pipe(&["up", "--max-frames", "9"], "");
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    assert!(done.stderr.contains("'--max-frame'"), "{}", done.stderr);
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = pipe(&["completions", shell], "");
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{shell}");
        assert!(done.stdout.contains("unknown-unit"), "{shell}");
    }
}

/// What a bash with the script offers for a line.
fn offered(home: &Home, line: &str) -> Vec<String> {
    let script = home.write("bridle.bash", pipe(&["completions", "bash"], "").stdout);
    let program = Path::new(env!("CARGO_BIN_EXE_bridle")).parent().unwrap().to_str().unwrap();
    let code = format!(
        "PATH={program}:$PATH; source {script}; COMP_WORDS=({line} ''); \
         COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _bridle_dynamic bridle; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let bridle = home.command(&["help"]);
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", &code]);
    for (name, value) in bridle.get_envs() {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    }
    let out = bash.output().unwrap();
    assert!(out.status.success(), "{out:?}");
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_sessions_approvals_models_and_secrets() {
    let home = Home::new();
    let (socket, org) = (home.path("b.sock"), home.path("org"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/deploy.script");
    home.write(
        ".config/bridle/config.toml",
        format!("unix = \"{socket}\"\nmemex = \"{org}\"\nthinker = \"script:{script}\"\n"),
    );
    home.write(
        "org/models.org",
        "* lab\n:PROPERTIES:\n:CODEC: openai-chat\n:ADDRESS: https://lab.example\n\
         :PRIVACY: remote\n:END:\n** quick :cognition:\n",
    );
    home.pipe(&["secret", "set", "key", "--host", "b.example"], "s3cr3t-value\n");
    let _daemon = home.up(&["--tcp", "off"]);
    assert_eq!(home.run(&["ask", "--session", "old", "hi"]).code, 0);
    assert_eq!(home.run(&["ask", "--session", "work", "clean up old"]).code, 0);
    assert_eq!(offered(&home, "bridle tail --session"), ["work", "old"]);
    assert_eq!(offered(&home, "bridle secret rm"), ["key"]);
    let approvals = offered(&home, "bridle approve");
    assert!(approvals.len() == 1 && approvals[0].starts_with("work-"), "{approvals:?}");
    home.run(&["__complete", "models"]).prints("lab/quick\n");
    assert!(offered(&home, "bridle").contains(&"doctor".to_owned()));
    for (shell, words) in [("zsh", "_bridle_words approvals"), ("fish", "__complete secrets")] {
        let script = pipe(&["completions", shell], "").stdout;
        assert!(script.contains(words) && script.contains("__complete"), "{shell}");
    }
}

#[test]
fn manual_pages() {
    let page = pipe(&["man"], "");
    assert!(page.stdout.contains(".TH bridle 1"), "{}", page.stdout);
    assert!(page.stdout.contains("Exit codes"), "{}", page.stdout);
    let home = Home::new();
    let dir = home.path("share/man1");
    home.run(&["man", &dir]).prints("");
    for page in ["bridle.1", "bridle-up.1", "bridle-frame-decode.1"] {
        assert!(Path::new(&dir).join(page).exists(), "{page}");
    }
    let file = home.write("file", "");
    assert_eq!(home.run(&["man", &file]).code, 73);
}

#[test]
fn the_schema_of_openharness() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openharness.schema.json");
    pipe(&["schema", "openharness"], "").prints(&std::fs::read_to_string(golden).unwrap());
    let root = |direction: &str, lenient: &[&str]| {
        let arguments = [&["schema", "openharness", "--direction", direction], lenient].concat();
        let done = pipe(&arguments, "");
        assert_eq!((done.code, done.stderr.as_str()), (0, ""));
        serde_json::from_str::<serde_json::Value>(&done.stdout).unwrap()
    };
    let request = root("request", &[]);
    assert_eq!(request["$ref"], "#/$defs/requestMessage");
    assert_eq!(request["$defs"]["responseMessage"], serde_json::Value::Null);
    assert_eq!(root("response", &[])["$ref"], "#/$defs/responseMessage");
    let words = &root("request", &["--lenient"])["$defs"]["privacyTier"];
    assert_eq!((&words["type"], &words["enum"]), (&"string".into(), &serde_json::Value::Null));
    assert_eq!(pipe(&["schema", "openharness", "--direction", "sideways"], "").code, 2);
}
