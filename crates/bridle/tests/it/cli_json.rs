//! `--json` of every command against `docs/cli.schema.json`: plain JSON with plain keys, nothing that
//! hides, and an entry of the schema for each command that has the flag.
//!
//! long: a flat list of all commands.

use std::path::Path;

use serde_json::Value;

use crate::harness::Home;

/// Characters that no line may have: they drive a terminal, or hide in it.
const HIDDEN: &str = "\u{1b}\u{9b}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}";

fn schema() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.schema.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// What is wrong with a value, by as much of JSON Schema as the file uses.
fn faults(value: &Value, shape: &Value, root: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(name) = shape["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").unwrap();
        return faults(value, &root["$defs"][name], root, place, found);
    }
    let kinds: Vec<&str> = match &shape["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type `{other}` in the schema"),
    };
    if !kinds.is_empty() && !kinds.iter().any(is) {
        found.push(format!("{place}: expected {kinds:?}, got {value}"));
    }
    if shape["pattern"] == "Z$" && !value.as_str().is_some_and(|text| text.ends_with('Z')) {
        found.push(format!("{place}: expected a time in UTC, got {value}"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        faults(item, &shape["items"], root, &format!("{place}.{index}"), found);
    }
    let Some(members) = value.as_object() else { return };
    for key in shape["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(key) {
            found.push(format!("{place}: no `{key}`"));
        }
    }
    for (key, member) in members {
        if key.starts_with([':', '#']) {
            found.push(format!("{place}: the key `{key}` is not plain"));
        }
        let of = match shape["properties"].get(key) {
            Some(of) => of,
            None => &shape["additionalProperties"],
        };
        faults(member, of, root, &format!("{place}.{key}"), found);
    }
}

/// Checks all that a command printed against its entry.
fn check(name: &str, output: &str, root: &Value) {
    for hidden in HIDDEN.chars() {
        assert!(!output.contains(hidden), "{name}: U+{:04X} in {output}", u32::from(hidden));
    }
    let shape = &root["$defs"][name];
    assert!(!shape.is_null(), "docs/cli.schema.json has no `{name}`");
    let whole = serde_json::from_str::<Value>(output).map(|one| vec![one]);
    let values = whole.unwrap_or_else(|_| {
        let lines = output.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{name}: {error}: {output}"))
    });
    let mut found = Vec::new();
    for value in &values {
        faults(value, shape, root, name, &mut found);
    }
    assert!(found.is_empty(), "{name}: {found:#?}\n{output}");
}

const RULES: &str = "
(rule :when \"clean up *\" :propose ((:target :system :action :forget :session $1)))
(default :say \"hello\u{202e}\u{200b}\u{1b}]0;x\u{7} there\")
";

const NOTES: &str = "* TODO Mend the roof :house:\n:PROPERTIES:\n:ID: roof-1\n:END:\nTiles\u{202e}\u{1b}[2J.\n* Garden\nDEADLINE: <2026-12-01 Tue>\nRoses\u{200b}.\n";

/// A daemon with sessions, a question, memory, tokens and a device; every command finds something.
pub(crate) fn scene() -> (Home, bridle_test_support::server_process::ServerProcess) {
    let home = Home::new();
    home.write("org/projects.org", NOTES);
    let (memex, socket) = (home.path("org"), home.path("b.sock"));
    let script = home.write("rules.script", RULES);
    let config =
        format!("unix = \"{socket}\"\nmemex = \"{memex}\"\nthinker = \"script:{script}\"\n");
    home.write(".config/bridle/config.toml", config);
    let daemon = home.up(&[]);
    for words in [["old", "hi"], ["work", "clean up old"], ["tidy", "clean up old"]] {
        assert_eq!(home.run(&["ask", "--session", words[0], words[1]]).code, 0);
    }
    let open = home.run(&["approvals", "--json"]).stdout;
    let open: Value = serde_json::from_str(open.lines().next().unwrap()).unwrap();
    let id = open["approval"].as_str().unwrap().to_owned();
    assert_eq!(home.run(&["approve", "--wait", &id]).code, 0);
    let edit = ["memory", "edit", "projects.org", "--yes", "--outline", "Garden", "state", "TODO"];
    assert_eq!(home.run(&edit).code, 0);
    assert_eq!(home.run(&["memory", "snapshot", "monday"]).code, 0);
    assert_eq!(home.run(&["policy", "init"]).code, 0);
    let secret =
        home.pipe(&["secret", "set", "key", "--host", "api.example.org"], "s3cr3t-value\n");
    assert_eq!(secret.stdout, "kept key\n", "{secret:?}");
    let plan = "(:type :REQUEST :target :system :payload (:action :schedule :name \"tea\u{202e}\u{200b}\" \
                :every 86400000 :payload (:sensor :tea)))";
    assert_eq!(home.run(&["send", "--session", "tidy", plan]).code, 0);
    (home, daemon)
}

/// The number of the latest record of a decision.
fn latest_decision(home: &Home) -> String {
    let records = home.run(&["log", "--json"]).stdout;
    let records: Vec<Value> =
        records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let decided = records.iter().rev().find(|it| it["kind"] == "decided").unwrap();
    decided["number"].to_string()
}

/// The record of the latest change of a file.
fn latest_change(home: &Home) -> String {
    let changed = home.run(&["memory", "log", "--changes", "--json"]).stdout;
    let changed: Value = serde_json::from_str(changed.lines().next().unwrap()).unwrap();
    changed["record"].to_string()
}

#[test]
fn what_every_command_prints_is_as_the_schema_says() {
    let root = schema();
    let (home, _daemon) = scene();
    let policy = home.path(".config/bridle/policy.org");
    let (org, file) = (home.path("org"), home.path("org/projects.org"));
    let proposal = "(:principal \"owner\" :by :thinker :target :emacs :action :eval :code \"1\")";
    let socket = home.path("b.sock");
    let (decided, changed) = (latest_decision(&home), latest_change(&home));
    let commands: &[(&str, &[&str])] = &[
        ("health", &["health"]),
        ("health", &["health", "--detail"]),
        ("ask", &["ask", "--json", "--session", "work", "hi"]),
        ("send", &["send", "(:type :EVENT :payload (:sensor :user-prompt :text \"hi\"))"]),
        ("tail", &["tail", "--session", "work"]),
        ("log", &["log"]),
        ("sessions", &["sessions", "--all"]),
        ("schedules", &["schedules"]),
        ("record-size", &["record", "size"]),
        ("replay", &["replay"]),
        ("approvals", &["approvals"]),
        ("effects", &["effects"]),
        ("why", &["why", &decided]),
        ("policy-show", &["policy", "show"]),
        ("policy-explain", &["policy", "explain", &policy, proposal]),
        ("policy-rehearse", &["policy", "rehearse", &policy]),
        ("token-create", &["token", "create", "--name", "a\u{202e}b"]),
        ("token-list", &["token", "list"]),
        ("doctor", &["doctor"]),
        ("backup", &["backup", "kept"]),
        ("restore", &["restore", "--verify", "kept"]),
        ("secret-list", &["secret", "list"]),
        ("pair", &["pair", "--url", "https://a.example"]),
        ("init", &["init", "--dry-run", &org]),
        ("org-check", &["org", "check", &file]),
        ("org-tree", &["org", "tree", &file]),
        ("memory-query", &["memory", "query", "roof"]),
        ("memory-outline", &["memory", "outline"]),
        ("memory-focus", &["memory", "focus", "projects.org"]),
        ("memory-get", &["memory", "get", "roof-1"]),
        ("memory-status", &["memory", "status"]),
        ("memory-log", &["memory", "log"]),
        ("memory-show", &["memory", "show", "1"]),
        ("memory-diff", &["memory", "diff", "1"]),
        ("memory-at", &["memory", "at", "2100-01-01"]),
        ("memory-snapshots", &["memory", "snapshots"]),
        ("memory-restore", &["memory", "restore", "monday", "--dry-run"]),
        ("undo", &["undo", &changed, "--dry-run"]),
        ("capture", &["capture", "Buy a ladder"]),
        ("agenda", &["agenda", "--from", "2026-11-01", "--to", "2026-12-31"]),
        ("search", &["search", "roof"]),
        ("search", &["search", "where does the roof leak?"]),
        ("status", &["status"]),
        ("conform-oacp", &["conform", "oacp", &socket, "--only", "F-01"]),
        ("config-show", &["config", "show"]),
    ];
    for (name, args) in commands {
        // What follows the words of a prompt is part of it.
        let flag: &[&str] = if args.contains(&"--json") { &[] } else { &["--json"] };
        let done = home.run(&[args, flag].concat());
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{name}: {done:?}");
        assert!(!done.stdout.is_empty(), "{name} found nothing");
        check(name, &done.stdout, &root);
    }
    let skill = home.path("hello.org");
    let new = home.run(&["skill", "new", "hello", "--json", "--to", &home.path(".")]);
    check("skill-new", &new.stdout, &root);
    for verb in [&["skill", "enable", "--yes", &skill][..], &["skill", "disable", "hello"]] {
        let done = home.run(&[verb, &["--json"]].concat());
        check(&format!("skill-{}", verb[1]), &done.stdout, &root);
    }
    let installed = home.run(&["skill", "install", "--yes", "--json", &skill]);
    check("skill-install", &installed.stdout, &root);
    for verb in ["show", "source"] {
        let done = home.run(&["skill", verb, "hello", "--json"]);
        check(&format!("skill-{verb}"), &done.stdout, &root);
    }
    for verb in ["check", "test"] {
        let done = home.run(&["skill", verb, "--json", &skill]);
        check(&format!("skill-{verb}"), &done.stdout, &root);
    }
    let tapped = home.pipe(&["tap", "--json"], "00000a(:a \"\u{202e}\")000000");
    check("tap", &tapped.stdout, &root);
    assert!(tapped.stdout.contains("\\u202e"), "{tapped:?}");
}

#[test]
fn what_commands_without_a_daemon_print_is_as_the_schema_says() {
    let root = schema();
    let (home, daemon) = scene();
    drop(daemon);
    // These have the record for themselves.
    for (name, args) in [
        ("forget", &["forget", "--before", "2100-01-01", "--json"][..]),
        ("forget", &["forget", "--before", "2100-01-01", "--yes", "--json"]),
        ("record-compact", &["record", "compact", "--json"]),
        ("record-repair", &["record", "repair", "--dry-run", "--json"]),
    ] {
        let done = home.run(args);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{name}: {done:?}");
        check(name, &done.stdout, &root);
    }
}

#[test]
fn every_command_with_json_is_in_the_schema() {
    let root = schema();
    let home = Home::new();
    let pages = home.path("pages");
    home.run(&["man", &pages]).prints("");
    let mut missing = Vec::new();
    for page in std::fs::read_dir(&pages).unwrap() {
        let path = page.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        // All edits print the same.
        let name = if name.starts_with("bridle-memory-edit") { "bridle-memory-edit" } else { name };
        let has_flag = text.lines().any(|line| line.starts_with("\\fB\\-\\-json\\fR"));
        let entry = name.strip_prefix("bridle-").unwrap_or(name);
        if has_flag && root["$defs"][entry].is_null() {
            missing.push(entry.to_owned());
        }
    }
    assert!(missing.is_empty(), "not in docs/cli.schema.json: {missing:?}");
}
