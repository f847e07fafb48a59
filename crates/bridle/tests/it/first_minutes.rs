//! `examples/first-minutes.sh` in an empty home: from nothing to an answer over one's own notes.

use std::process::Stdio;

use crate::harness::Home;

#[test]
fn the_first_minutes_lead_to_an_answer_over_notes() {
    let home = Home::new();
    let socket = home.path("b.sock");
    // Ports that no other test has; nothing else is chosen.
    home.write(
        ".config/bridle/config.toml",
        format!("tcp = \"off\"\nhttp = \"off\"\nunix = \"{socket}\"\n"),
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/first-minutes.sh");
    let bridle = home.command(&["help"]);
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_bridle")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = std::process::Command::new("sh");
    shell.arg(script);
    for (name, value) in bridle.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let out = shell.env("PATH", path).stdin(Stdio::null()).output().unwrap();
    let pid = std::fs::read_to_string(home.path(".local/state/bridle/daemon.lock")).unwrap();
    assert!(std::process::Command::new("kill").arg(pid.trim()).status().unwrap().success());
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{said}\n{}", String::from_utf8_lossy(&out.stderr));
    for words in ["made ", "CHECK", "Mend the roof before winter", "I am bridle", "records, head"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
