//! `bridle secret`: what is kept, what is shown, and that a running daemon lets no secret out.

use std::os::unix::fs::PermissionsExt as _;

use crate::harness::Home;

/// Where the state of a home is.
const STATE: &str = ".local/state/bridle";

const SECRET: &str = "s3cr3t-value-of-a-test";

fn set(home: &Home, name: &str) {
    home.pipe(&["secret", "set", name, "--host", "api.example.org"], format!("{SECRET}\n"))
        .prints(&format!("kept {name}\n"));
}

/// All files of a folder, as text.
fn contents(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if path.is_file() {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    found
}

fn is_nowhere(home: &Home) {
    for (path, bytes) in contents(std::path::Path::new(&home.path(STATE))) {
        let has = bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
        assert!(!has, "{path} has the secret");
    }
}

#[test]
fn a_secret_is_kept_listed_replaced_and_removed() {
    let home = Home::new();
    home.run(&["secret", "list"])
        .prints("no secrets yet: `bridle secret set NAME --host HOST` keeps one\n");
    set(&home, "openai");
    for file in ["secrets.sealed", "secrets.key"] {
        let meta = std::fs::metadata(home.path(&format!("{STATE}/{file}"))).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{file}");
    }
    is_nowhere(&home);
    let args = ["secret", "set", "openai", "--host", "*.example.org:8443", "--host", "b.example"];
    home.pipe(&args, SECRET).prints("replaced openai\n");
    home.run(&["secret", "list"]).prints("NAME    HOSTS\nopenai  *.example.org:8443 b.example\n");
    home.run(&["secret", "list", "--json"])
        .prints("{\"name\":\"openai\",\"hosts\":[\"*.example.org:8443\",\"b.example\"]}\n");
    home.run(&["secret", "rm", "openai"]).prints("removed openai\n");
    let gone = home.run(&["secret", "rm", "openai"]);
    assert!(gone.code == 66 && gone.stderr.contains("no secret `openai`"), "{gone:?}");
}

#[test]
fn what_is_no_secret_is_refused() {
    let home = Home::new();
    let too_short = home.pipe(&["secret", "set", "a", "--host", "b.example"], "short\n");
    assert!(too_short.code == 2 && too_short.stderr.contains("8 to 65536"), "{too_short:?}");
    let too_long = home.pipe(&["secret", "set", "a", "--host", "b.example"], "x".repeat(70_000));
    assert_eq!(too_long.code, 2, "{too_long:?}");
    assert_eq!(home.pipe(&["secret", "set", "a"], SECRET).code, 2, "no host");
    let address = home.pipe(&["secret", "set", "a", "--host", "127.0.0.1"], SECRET);
    assert!(address.code == 2 && !address.stderr.contains(SECRET), "{address:?}");
    std::fs::write(home.path(&format!("{STATE}/secrets.sealed")), "junk").unwrap();
    let damaged = home.run(&["secret", "list"]);
    assert!(damaged.code == 65 && damaged.stderr.contains("hint: "), "{damaged:?}");
}

#[test]
fn a_secret_is_typed_unseen() {
    let home = Home::new();
    let typed =
        home.at_terminal(&["secret", "set", "key", "--host", "b.example"], &format!("{SECRET}\n"));
    assert!(typed.stdout.contains("kept key"), "{typed:?}");
    let shown = typed.stdout.matches(SECRET).count();
    // What is typed before the command is ready, the terminal shows itself.
    assert!(shown <= 1 && !typed.stdout.contains(&format!("secret key: {SECRET}")), "{typed:?}");
}

#[test]
fn a_passphrase_opens_the_secrets() {
    let home = Home::new();
    let phrase = home.write("phrase", "correct horse battery\n");
    std::fs::set_permissions(&phrase, std::fs::Permissions::from_mode(0o600)).unwrap();
    home.write(".config/bridle/config.toml", format!("secret-passphrase-file = \"{phrase}\"\n"));
    set(&home, "key");
    assert!(!std::path::Path::new(&home.path(&format!("{STATE}/secrets.key"))).exists());
    assert!(home.run(&["secret", "list"]).stdout.contains("key"));
    home.write("phrase", "another horse battery\n");
    assert_eq!(home.run(&["secret", "list"]).code, 65);
    std::fs::set_permissions(&phrase, std::fs::Permissions::from_mode(0o644)).unwrap();
    let exposed = home.run(&["secret", "list"]);
    assert!(exposed.code == 78 && exposed.stderr.contains("others can read it"), "{exposed:?}");
}

#[test]
fn a_running_daemon_masks_a_secret_everywhere() {
    let home = Home::new();
    let socket = home.path("b.sock");
    home.write(".config/bridle/config.toml", format!("unix = \"{socket}\"\n"));
    let daemon = home.up(&["--log", "info"]);
    set(&home, "key");
    // In a prompt, as a bare word of a form, in JSON, and in base64.
    assert_eq!(home.run(&["ask", "--session", "work", "why", SECRET, "?"]).code, 0);
    let form = format!(
        "(:type :EVENT :payload (:sensor :user-prompt :text \"x{SECRET}y\" :token {SECRET}))"
    );
    assert_eq!(home.run(&["send", "--session", "work", &form]).code, 0);
    let basic = "dTpzM2NyM3QtdmFsdWUtb2YtYS10ZXN0";
    assert_eq!(home.run(&["ask", "--session", "work", "Authorization:", "Basic", basic]).code, 0);
    let tail = home.run(&["tail", "--session", "work"]).stdout;
    let log = home.run(&["log", "--session", "work"]).stdout;
    for text in [&tail, &log] {
        assert!(!text.contains(SECRET) && !text.contains(&basic[8..24]), "{text}");
    }
    assert!(log.contains("why [secret key] ?"), "{log}");
    assert!(log.contains("x[secret key]y") && log.contains("\"[secret key]\""), "{log}");
    daemon.signal("TERM");
    let (code, told) = daemon.wait();
    assert!(code == Some(0) && !told.contains(SECRET), "{told}");
    is_nowhere(&home);
}
