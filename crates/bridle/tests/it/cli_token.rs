//! `bridle token`: what is printed, what is kept, and how it fails.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::harness::{Done, Home};

/// Where the tokens of a home are.
const FILE: &str = ".local/state/bridle/tokens";

/// Where the state of a home is.
const STATE: &str = ".local/state/bridle";

fn create(home: &Home, args: &[&str]) -> String {
    let done = home.run(&[&["token", "create"], args].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    done.stdout
}

fn listed(home: &Home) -> Vec<Value> {
    let done = home.run(&["token", "list", "--json"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_told(done: &Done, code: i32, words: &[&str]) {
    assert_eq!((done.code, done.stdout.as_str()), (code, ""), "{done:?}");
    for word in words.iter().chain(&["hint: "]) {
        assert!(done.stderr.contains(word), "{word}: {done:?}");
    }
}

#[test]
fn a_token_is_printed_once_and_kept_as_a_hash() {
    let home = Home::new();
    home.run(&["token", "list"])
        .prints("no tokens yet: `bridle token create --name NAME` creates one\n");
    let token = create(&home, &["--name", "phone"]);
    let (head, secret) = token.trim_end().rsplit_once('_').unwrap();
    let id = head.strip_prefix("bridle_").unwrap();
    assert_eq!((token.lines().count(), id.len(), secret.len()), (1, 10, 64), "{token}");
    let text = home.run(&["token", "list"]).stdout;
    assert!(text.starts_with("ID          NAME   SCOPES  OWNER"), "{text}");
    assert!(text.contains(&format!("\n{id}  phone  talk    uid:")), "{text}");
    assert!(text.contains("  20") && text.ends_with("  never\n"), "{text}");
    let kept = std::fs::read_to_string(home.path(FILE)).unwrap();
    for shown in [text, kept] {
        assert!(shown.contains(id) && !shown.contains(&secret[..16]), "{shown}");
    }
}

#[test]
fn scopes_and_ends_are_as_asked_for() {
    let home = Home::new();
    let made = create(&home, &["--scope", "approve", "--scope", "talk", "--json"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    create(&home, &["--scope", "admin", "--expires", "never"]);
    let list = listed(&home);
    assert_eq!(list[0]["scopes"], serde_json::json!(["talk", "approve"]));
    assert_eq!((&list[0]["id"], &list[0]["expires"]), (&made["id"], &made["expires"]));
    assert_eq!((&list[0]["expired"], &list[0]["used"]), (&Value::Bool(false), &Value::Null));
    assert_eq!(list[1]["scopes"], serde_json::json!(["admin"]));
    assert_eq!(list[1]["expires"], Value::Null);
    for bad in [&["--scope", "root"][..], &["--expires", "0d"], &["--expires", "soon"]] {
        let done = home.run(&[&["token", "create"], bad].concat());
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{done:?}");
    }
    is_told(&home.run(&["token", "create", "--name", "a\nb"]), 2, &["bad name"]);
    assert_eq!(listed(&home).len(), 2);
}

#[test]
fn a_revoked_token_is_gone() {
    let home = Home::new();
    let token = create(&home, &[]);
    let id = listed(&home)[0]["id"].as_str().unwrap().to_owned();
    home.run(&["token", "revoke", &id]).prints(&format!("revoked {id}\n"));
    assert_eq!(listed(&home), Vec::<Value>::new());
    is_told(&home.run(&["token", "revoke", &id]), 66, &["no token", "bridle token list"]);
    let whole = home.run(&["token", "revoke", token.trim_end()]);
    is_told(&whole, 2, &["expected ten hex digits"]);
    assert!(!whole.stderr.contains("bridle_"), "{whole:?}");
}

#[test]
fn a_file_that_cannot_be_trusted_is_named_and_left_alone() {
    let home = Home::new();
    create(&home, &[]);
    let file = home.path(FILE);
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 9]).unwrap();
    for args in [&["token", "list"][..], &["token", "create"], &["token", "revoke", "0123456789"]] {
        is_told(&home.run(args), 65, &["is damaged at line", &file]);
    }
    std::fs::write(&file, &whole).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    is_told(&home.run(&["token", "list"]), 77, &["has mode 644, expected 600", "chmod 600 "]);
}

#[test]
fn a_code_is_for_scripts_alone_and_for_cameras_drawn() {
    let home = Home::new();
    let url = ["pair", "--url", "https://home.example.org:8788/"];
    let code = home.run(&url);
    assert_eq!((code.code, code.stderr.as_str(), code.stdout.len()), (0, "", 10), "{code:?}");
    let drawn = home.run(&[&url[..], &["--qr"]].concat());
    let lines: Vec<&str> = drawn.stdout.lines().collect();
    let modules = lines[0].chars().count();
    assert!(modules > 30 && lines[..15].iter().all(|line| line.chars().count() == modules));
    assert!(drawn.stdout.contains("\nhttps://home.example.org:8788/v1/pair\n"), "{drawn:?}");
    let made = home.run(&[&url[..], &["--json"]].concat());
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(made["url"], "https://home.example.org:8788/v1/pair");
    assert_eq!(made["code"].as_str().unwrap().len(), 9);
    let kept = std::fs::read_to_string(home.path(".local/state/bridle/pairings")).unwrap();
    assert_eq!(kept.lines().count(), 3);
    assert!(!kept.contains(made["code"].as_str().unwrap()), "{kept}");
    let here = home.run(&["pair"]);
    assert_eq!((here.code, here.stdout.len()), (0, 10), "{here:?}");
    for word in ["warning: `127.0.0.1:8788` is loopback", "--tls-cert", "pair --url https"] {
        assert!(here.stderr.contains(word), "{word}: {here:?}");
    }
    let nowhere = home.run(&["pair", "--url", "http://0.0.0.0:8788"]);
    assert!(nowhere.stderr.contains("names no host"), "{nowhere:?}");
    for bad in ["home.example.org", "ftp://a", "http://", "https://a#b", "https://a b"] {
        is_told(&home.run(&["pair", "--url", bad]), 2, &["bad URL", "https://HOST:PORT"]);
    }
}

#[test]
fn devices_that_show_a_code_are_listed_confirmed_and_denied() {
    let home = Home::new();
    let devices =
        bridle_daemon::pairing::WaitingDevices::new(std::path::Path::new(&home.path(STATE)));
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let now = i64::try_from(since.as_millis()).unwrap();
    let (yes, no) = (devices.create("tv", now).unwrap(), devices.create("car", now).unwrap());
    let run = |args: &[&str]| home.run(&[&["pair"], args].concat());
    let listed = run(&["list"]);
    assert_eq!((listed.code, listed.stdout.lines().count()), (0, 3), "{}", listed.stdout);
    assert!(
        listed.stdout.starts_with("DEVICE") && listed.stdout.contains("  pending  20"),
        "{}",
        listed.stdout
    );
    let confirmed = run(&["confirm", &yes.code.reveal().to_lowercase(), "--name", "television"]);
    assert!(confirmed.stdout.starts_with("confirmed "), "{}", confirmed.stderr);
    assert!(run(&["deny", no.code.reveal()]).stdout.starts_with("denied "));
    let again = run(&["confirm", yes.code.reveal()]);
    assert_eq!((again.code, again.stdout.as_str()), (66, ""));
    assert!(!again.stderr.contains(yes.code.reveal()), "{}", again.stderr);
    let listed = run(&["list", "--json"]);
    assert!(listed.stdout.contains("\"status\":\"confirmed\""), "{}", listed.stdout);
    assert!(listed.stdout.contains("\"status\":\"denied\""), "{}", listed.stdout);
}
