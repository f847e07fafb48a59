//! `bridle doctor`, `setup`, `backup` and `restore`.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Done, Home};

/// Where the state of a home is.
const STATE: &str = ".local/state/bridle";

/// Settings under which no test meets another one's daemon.
fn quiet(home: &Home, more: &str) {
    let socket = home.path("b.sock");
    home.write(
        ".config/bridle/config.toml",
        format!("tcp = \"off\"\nhttp = \"off\"\nunix = \"{socket}\"\n{more}"),
    );
}

fn checks(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

fn outcome<'v>(report: &'v Value, name: &str) -> &'v str {
    let all = report["checks"].as_array().unwrap();
    let found =
        all.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {report}"));
    found["outcome"].as_str().unwrap()
}

#[test]
fn doctor_says_what_is_there_and_what_is_not() {
    let home = Home::new();
    quiet(&home, "");
    let before = home.run(&["doctor", "--json"]);
    let report = checks(&before);
    assert_eq!((before.code, outcome(&report, "daemon")), (0, "warning"), "{report}");
    for (name, expected) in [("permissions", "skipped"), ("record", "skipped"), ("tcp", "skipped")]
    {
        assert_eq!(outcome(&report, name), expected, "{report}");
    }
    let _daemon = home.up(&["--tcp", "off"]);
    let running = home.run(&["doctor", "--json"]);
    let report = checks(&running);
    for name in ["settings", "permissions", "disk", "record", "clock", "daemon", "policy"] {
        assert_eq!(outcome(&report, name), "ok", "{report}");
    }
    let text = home.run(&["doctor"]).stdout;
    assert!(text.contains("handshake and health in"), "{text}");
    assert!(text.contains("hash chain intact"), "{text}");
}

#[test]
fn doctor_repairs_what_loses_nothing() {
    let home = Home::new();
    quiet(&home, "");
    drop(home.up(&["--tcp", "off"]));
    let record = home.path(&format!("{STATE}/record.db"));
    std::fs::set_permissions(&record, std::fs::Permissions::from_mode(0o644)).unwrap();
    let found = home.run(&["doctor", "--json"]);
    assert_eq!((found.code, outcome(&checks(&found), "permissions")), (1, "fault"));
    let mode = || std::fs::metadata(&record).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o644, "it only looked");
    let fixed = home.run(&["doctor", "--fix", "--json"]);
    let report = checks(&fixed);
    assert_eq!((fixed.code, outcome(&report, "permissions")), (0, "repaired"), "{report}");
    assert_eq!((mode(), outcome(&report, "daemon")), (0o600, "repaired"), "{report}");
    let pid = std::fs::read_to_string(home.path(&format!("{STATE}/daemon.lock"))).unwrap();
    assert!(std::process::Command::new("kill").arg(pid.trim()).status().unwrap().success());
}

#[test]
fn doctor_names_what_is_wrong() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap();
    let socket = home.path("b.sock");
    let org = home.path("gone");
    home.write(
        ".config/bridle/config.toml",
        format!("tcp = \"{port}\"\nhttp = \"off\"\nunix = \"{socket}\"\nmemex = \"{org}\"\n"),
    );
    home.write(".config/bridle/policy.org", "* Rule\n#+begin_src cedar\npermit(\n#+end_src\n");
    home.write(&format!("{STATE}/secrets.sealed"), "junk");
    std::os::unix::fs::symlink("/etc", home.path(&format!("{STATE}/link"))).unwrap();
    let found = home.run(&["doctor", "--json"]);
    let report = checks(&found);
    assert_eq!((found.code, &report["well"]), (1, &Value::Bool(false)));
    for name in ["tcp", "memory", "policy", "secrets", "permissions"] {
        assert_eq!(outcome(&report, name), "fault", "{report}");
    }
    home.write(".config/bridle/config.toml", "tcp = 5\n");
    assert_eq!(outcome(&checks(&home.run(&["doctor", "--json"])), "settings"), "fault");
}

#[test]
fn doctor_looks_at_models() {
    let home = Home::new();
    let org = home.path("org");
    quiet(&home, &format!("memex = \"{org}\"\n"));
    let model = "* lab\n:PROPERTIES:\n:CODEC: openai-chat\n:ADDRESS: https://lab.example\n\
                 :PRIVACY: remote\n:KEY: secret:lab\n:END:\n** m :cognition:\n";
    home.write("org/models.org", model);
    let missing = home.run(&["doctor"]);
    assert!(missing.code == 1 && missing.stdout.contains("no secret `lab`"), "{missing:?}");
    home.pipe(&["secret", "set", "lab", "--host", "lab.example"], "s3cr3t-value\n");
    let there = home.run(&["doctor"]);
    let waits = "every provider waits for your yes";
    assert!(there.code == 0 && there.stdout.contains(waits), "{there:?}");
    home.write("org/models.org", "* lab\n:PROPERTIES:\n:CODEC: tea\n:END:\n");
    assert_eq!(home.run(&["doctor"]).code, 1);
}

#[test]
fn a_backup_of_a_running_daemon_is_whole_and_goes_back() {
    let home = Home::new();
    let org = home.path("org");
    quiet(&home, &format!("memex = \"{org}\"\n"));
    home.write("org/inbox.org", "* Inbox\n");
    home.pipe(&["secret", "set", "key", "--host", "b.example"], "s3cr3t-value\n");
    let daemon = home.up(&["--tcp", "off"]);
    assert_eq!(home.run(&["capture", "Buy a ladder"]).code, 0);
    let made = home.run(&["backup", "kept"]);
    assert!(made.code == 0 && made.stdout.contains("hash chain intact"), "{made:?}");
    assert_eq!(home.run(&["backup", "kept"]).code, 73, "never over another");
    let mode = std::fs::metadata(home.path("kept/record.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for (name, is_there) in [
        ("memory.db", true),
        ("secrets.sealed", true),
        ("secrets.key", false),
        ("config.toml", true),
    ] {
        assert_eq!(Path::new(&home.path(&format!("kept/{name}"))).exists(), is_there, "{name}");
    }
    assert_eq!(home.run(&["backup", "--with-keys", "keys"]).code, 0);
    assert!(Path::new(&home.path("keys/secrets.key")).exists());
    let checked = home.run(&["restore", "--verify", "--json", "kept"]);
    assert!(checked.code == 0 && checked.stdout.contains("record.db"), "{checked:?}");
    let busy = home.run(&["restore", "kept"]);
    assert_eq!(busy.code, 75, "{busy:?}");
    drop(daemon);
    let over = home.run(&["restore", "kept"]);
    assert!(over.code == 73 && over.stderr.contains("is there already"), "{over:?}");
    let state = home.path("again");
    assert_eq!(home.run(&["restore", "--state", &state, "keys"]).code, 0);
    let log = |state: &str| home.run(&["log", "--state", state, "--limit", "5"]).stdout;
    assert!(log(&state).contains(":kind") && log(&home.path(STATE)).starts_with(&log(&state)));
    let verified = home.run(&["log", "verify", "--state", &state]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(home.run(&["secret", "list", "--state", &state]).stdout.contains("key"));
    let _daemon = home.up(&["--tcp", "off", "--state", &state]);
}

#[test]
fn a_damaged_backup_is_refused() {
    let home = Home::new();
    quiet(&home, "");
    drop(home.up(&["--tcp", "off"]));
    assert_eq!(home.run(&["backup", "kept"]).code, 0);
    let record = home.path("kept/record.db");
    let whole = std::fs::read(&record).unwrap();
    let mut torn = whole.clone();
    *torn.last_mut().unwrap() ^= 1;
    std::fs::write(&record, torn).unwrap();
    let refused = home.run(&["restore", "--verify", "kept"]);
    assert!(refused.code == 65 && refused.stderr.contains("record.db"), "{refused:?}");
    std::fs::write(&record, whole).unwrap();
    let manifest = home.path("kept/MANIFEST");
    let text = std::fs::read_to_string(&manifest).unwrap();
    for bad in [
        text.replace("record.db", "../record.db"),
        text.replace("bridle backup 1", "bridle backup 2"),
        text.lines().filter(|line| !line.ends_with(" record.db")).collect::<Vec<_>>().join("\n"),
        format!("{text}{}", text.lines().last().unwrap()),
        String::new(),
    ] {
        std::fs::write(&manifest, &bad).unwrap();
        assert_eq!(home.run(&["restore", "--verify", "kept"]).code, 65, "{bad}");
    }
    assert_eq!(home.run(&["restore", "--verify", "nowhere"]).code, 66);
}

#[test]
fn setup_asks_little_and_checks_everything() {
    let home = Home::new();
    quiet(&home, "");
    home.write("org/projects.org", "* TODO Mend the roof :house:\n");
    let alone = home.run(&["setup"]);
    assert!(alone.code == 2 && alone.stderr.contains("hint: "), "{alone:?}");
    let typed = home.at_terminal(&["setup", "--no-start"], "~/org\nown\n");
    for words in ["1 Org file", "wrote", "policy.org", "CHECK", "daemon"] {
        assert!(typed.stdout.contains(words), "{words}: {typed:?}");
    }
    let config = std::fs::read_to_string(home.path(".config/bridle/config.toml")).unwrap();
    assert!(config.contains(&format!("memex = \"{}\"", home.path("org"))), "{config}");
    assert!(Path::new(&home.path(".config/bridle/policy.org")).exists());
    // Nothing is left to choose, so nothing is asked.
    let again = home.run(&["setup", "--yes", "--no-start"]);
    assert!(again.code == 0 && !again.stdout.contains("bridle init"), "{again:?}");
}
