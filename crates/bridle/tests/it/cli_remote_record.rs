//! The record handed out by a running daemon: what the commands print is the same as from the file.

use crate::harness::{Home, Shell};

fn home() -> Home {
    let home = Home::new();
    home.write(
        ".config/bridle/config.toml",
        format!("tcp = \"off\"\nunix = \"{}\"\n", home.path("b.sock")),
    );
    home
}

#[test]
fn what_a_daemon_hands_out_prints_as_its_file_does() {
    let home = home();
    let _daemon = home.up(&[]);
    let mut shell = Shell::attach(&home, "work");
    shell.prompt("help");
    shell.prompt("status");
    let socket = home.path("b.sock");
    let decided = home.run(&["log", "--json", "--session", "work"]).stdout;
    let decided = decided.lines().find(|line| line.contains("\"kind\":\"decided\"")).unwrap();
    let decided: serde_json::Value = serde_json::from_str(decided).unwrap();
    let decided = decided["number"].to_string();
    let commands: &[&[&str]] = &[
        &["log"],
        &["log", "--json", "--session", "work", "--limit", "5"],
        &["log", "verify"],
        &["log", "head"],
        &["log", "export", "--org", "--session", "work"],
        &["sessions", "--json"],
        &["replay", "--json"],
        &["effects", "--json"],
        &["why", &decided, "--json"],
        &["why", &decided],
    ];
    for command in commands {
        let file = home.run(command);
        let remote = home.run(&[command, &["--addr", &socket][..]].concat());
        assert_eq!((file.code, &*file.stderr), (0, ""), "{command:?}");
        assert_eq!(
            (remote.code, &*remote.stdout),
            (0, &*file.stdout),
            "{command:?}: {}",
            remote.stderr
        );
    }
    let unknown = home.run(&["log", "--session", "nobodys", "--addr", &socket]);
    assert_eq!(unknown.code, home.run(&["log", "--session", "nobodys"]).code);
    let nowhere = home.run(&["log", "--addr", &home.path("no.sock")]);
    assert_ne!(nowhere.code, 0);
    assert!(nowhere.stderr.contains("no.sock"), "{}", nowhere.stderr);
}
