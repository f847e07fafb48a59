//! Settings: one precedence, every value with its source, mistakes with a hint.

use std::collections::BTreeMap;

use crate::harness::{Done, Home, finish};

/// `config show` as a map from name to value and source.
fn show(home: &Home, args: &[&str], env: &[(&str, &str)]) -> BTreeMap<String, (String, String)> {
    let args = [&["config", "show"], args].concat();
    let done = finish(home.command(&args).envs(env.iter().copied()), b"");
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let lines = done.stdout.lines().skip(1).map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap().to_owned();
        let value = words.next().unwrap().to_owned();
        (name, (value, words.collect::<Vec<_>>().join(" ")))
    });
    lines.collect()
}

#[test]
fn flag_over_environment_over_file_over_default() {
    let home = Home::new();
    let file = home.write(".config/bridle/config.toml", "# mine\ntcp = \"127.0.0.1:1\"\n");
    let env = [("BRIDLE_TCP", "127.0.0.1:2")];
    let tcp = |args: &[&str], env: &[(&str, &str)]| show(&home, args, env)["tcp"].clone();
    let said = |value: &str, source: &str| (value.to_owned(), source.to_owned());
    assert_eq!(tcp(&["--tcp", "127.0.0.1:3"], &env), said("127.0.0.1:3", "flag --tcp"));
    assert_eq!(tcp(&[], &env), said("127.0.0.1:2", "env BRIDLE_TCP"));
    assert_eq!(tcp(&[], &[("BRIDLE_TCP", "")]), said("127.0.0.1:1", &format!("file {file}:2")));
    let other = home.write("other.toml", "");
    assert_eq!(tcp(&["--config", &other], &[]), said("127.0.0.1:9105", "default"));
}

#[test]
fn places_follow_the_surroundings() {
    let home = Home::new();
    let (state, socket) = (home.path(".local/state/bridle"), home.path("state/bridle.sock"));
    assert_eq!(show(&home, &[], &[])["state"].0, state);
    assert_eq!(show(&home, &[], &[])["unix"].0, format!("{state}/bridle.sock"));
    assert_eq!(show(&home, &["--state", &home.path("state")], &[])["unix"].0, socket);
    let xdg = [("XDG_RUNTIME_DIR", "/run/user/7"), ("XDG_STATE_HOME", "/var/s")];
    assert_eq!(show(&home, &[], &xdg)["unix"].0, "/run/user/7/bridle/bridle.sock");
    assert_eq!(show(&home, &[], &xdg)["state"].0, "/var/s/bridle");
    home.run(&["config", "path"]).prints(&format!("{}\n", home.path(".config/bridle/config.toml")));
}

#[test]
fn secrets_are_masked_and_the_old_names_work() {
    let home = Home::new();
    let env = [
        ("HARNESS_PROTOCOL_ENFORCE_HMAC", "TRUE"),
        ("HARNESS_PROTOCOL_HMAC_SECRET", "a secret of many bytes"),
    ];
    let shown = show(&home, &[], &env);
    assert_eq!(shown["hmac.enforce"].0, "TRUE");
    assert_eq!(shown["hmac.enforce"].1, "env HARNESS_PROTOCOL_ENFORCE_HMAC");
    assert_eq!(shown["hmac.secret"].0, "********");
    let mut command = home.command(&["config", "show", "--json"]);
    let done = finish(command.envs(env), b"");
    assert!(!done.stdout.contains("many bytes") && !done.stderr.contains("many bytes"));
    let json: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(json["hmac.secret"]["value"], "********");
    assert_eq!(json["hmac.secret"]["source"], "env");
    assert_eq!(json["hmac.secret"]["origin"], "HARNESS_PROTOCOL_HMAC_SECRET");
    assert_eq!(json["memex"]["value"], serde_json::Value::Null);
}

fn check_file(text: &str) -> (Done, String) {
    let home = Home::new();
    let file = home.write("c.toml", text);
    (home.run(&["config", "check", &file]), file)
}

fn refuse_file(text: &str, why: &str) {
    let (done, file) = check_file(text);
    done.fails(78, &why.replace("FILE", &file));
}

#[test]
fn good_files_pass() {
    let (done, file) = check_file(
        "tcp = \"off\"\nmax-frame = 1_000_000\nkeepalive = \"off\"\n[oacp]\nunknown-unit = \
         \"bytes\"\n[hmac]\nenforce = true\nkeys = { a = \"/k/a\", b = \"/k/b\" }\n",
    );
    done.prints(&format!("{file}: ok, 6 settings\n"));
}

#[test]
fn mistakes_in_a_file_have_a_line_and_a_hint() {
    refuse_file(
        "\nmax_frame = 5\n",
        "error: FILE:2: unknown setting `max_frame`\nhint: did you mean `max-frame`?\n",
    );
    refuse_file(
        "[hmac]\nenforced = true\n",
        "error: FILE:2: unknown setting `hmac.enforced`\nhint: did you mean `hmac.enforce`?\n",
    );
    refuse_file(
        "[hmca]\nenforce = true\n",
        "error: FILE:1: unknown setting `hmca`\nhint: did you mean `hmac`?\n",
    );
    refuse_file(
        "whatever = 1",
        "error: FILE:1: unknown setting `whatever`\nhint: `bridle config show` lists every \
         setting\n",
    );
    refuse_file(
        "[hmac]\nsecret = \"0123456789abcdef\"",
        "error: FILE:2: unknown setting `hmac.secret`\nhint: put the secret into a file and name \
         it: hmac.key-file\n",
    );
    refuse_file(
        "http = \"8788\"",
        "error: FILE:1: `http`: expected HOST:PORT or `off`, got `8788`\nhint: http: HTTP address \
         for OpenHarness shells, or off; loopback only without TLS\n",
    );
    refuse_file(
        "\nmax-frame = 16777216",
        "error: FILE:2: `max-frame`: expected 1024 to 16777215, got 16777216\nhint: max-frame: \
         Maximum size of a frame; at most 16777215, the most that six hex digits can express\n",
    );
    refuse_file(
        "tcp = [1]",
        "error: FILE:1: `tcp`: expected text, a number or a boolean\nhint: tcp: TCP address to \
         listen on, with port 0 for any free port, or off\n",
    );
    let (done, file) = check_file("tcp = \"off\"\ntcp = ");
    assert_eq!(done.code, 78);
    assert!(done.stderr.starts_with(&format!("error: {file}:2: ")), "{}", done.stderr);
}

#[test]
fn every_mistake_is_named_at_once() {
    let (done, file) = check_file(
        "tcp = [1]\nmax-frame = 5\nmax-output = 1\nhttp = \"8788\"\nwhatever = 1\n[hmca]\nx = 1\n",
    );
    assert_eq!((done.code, done.stdout.as_str()), (78, ""));
    for (line, what) in [
        (1, "`tcp`: expected text"),
        (2, "`max-frame`: expected 1024 to"),
        (3, "`max-output`: expected"),
        (4, "`http`: expected HOST:PORT"),
        (5, "unknown setting `whatever`"),
        (6, "unknown setting `hmca`"),
    ] {
        assert!(done.stderr.contains(&format!("error: {file}:{line}: {what}")), "{}", done.stderr);
    }
    assert_eq!(done.stderr.matches("error: ").count(), 6, "{}", done.stderr);
}

#[test]
fn the_environment_is_checked_where_no_file_is_named() {
    let home = Home::new();
    let check = |env: &[(&str, &str)], args: &[&str]| {
        let mut command = home.command(&[&["config", "check"], args].concat());
        finish(command.envs(env.iter().copied()), b"")
    };
    let file = home.path(".config/bridle/config.toml");
    check(&[], &[]).prints(&format!("{file}: missing, so the defaults apply\n"));
    let bad = check(&[("BRIDLE_TCP", "x"), ("BRIDLE_MAX_FRAME", "lots")], &[]);
    assert_eq!(bad.code, 78, "{bad:?}");
    assert!(bad.stderr.contains("error: BRIDLE_TCP: ") && bad.stderr.contains("BRIDLE_MAX_FRAME"));
    let stray =
        check(&[("BRIDLE_TPC", "off"), ("BRIDLE_ENGINE", "http://x"), ("BRIDLE_Q", "1")], &[]);
    assert_eq!(stray.code, 0, "{stray:?}");
    assert_eq!(
        stray.stderr,
        "warning: unknown variable BRIDLE_Q is ignored\nhint: `bridle config show` lists every \
         setting\nwarning: unknown variable BRIDLE_TPC is ignored\nhint: did you mean BRIDLE_TCP?\n"
    );
    // A file that is named is judged alone.
    let named = home.write("c.toml", "tcp = \"off\"\n");
    check(&[("BRIDLE_TCP", "x")], &[&named]).prints(&format!("{named}: ok, 1 setting\n"));
}

#[test]
fn a_missing_file_that_was_named_is_an_error() {
    let home = Home::new();
    let hint = "hint: write one with: bridle config init\n";
    let missing = "error: cannot read `no.toml`: No such file or directory (os error 2)\n";
    home.run(&["config", "check", "no.toml"]).fails(66, &format!("{missing}{hint}"));
    home.run(&["up", "--config", "no.toml"]).fails(66, &format!("{missing}{hint}"));
}

#[test]
fn mistakes_in_the_environment_name_the_variable() {
    let home = Home::new();
    let mut command = home.command(&["config", "show"]);
    finish(command.env("BRIDLE_MAX_FRAME", "lots"), b"").fails(
        78,
        "error: BRIDLE_MAX_FRAME: expected bytes such as `65536`, `64KiB` or `16MiB`, got `lots`\n\
         hint: max-frame: Maximum size of a frame; at most 16777215, the most that six hex digits can express\n",
    );
}

#[test]
fn init_writes_an_example_and_never_overwrites() {
    let home = Home::new();
    let file = home.path(".config/bridle/config.toml");
    home.run(&["config", "init"]).prints(&format!("wrote {file}\n"));
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains("\n# tcp = \"127.0.0.1:9105\"\n"), "{written}");
    assert!(written.contains("\n[hmac]\n"), "{written}");
    home.run(&["config", "check"]).prints(&format!("{file}: ok, 0 settings\n"));
    home.run(&["config", "init"]).fails(
        73,
        &format!(
            "error: cannot create `{file}`: File exists (os error 17)\nhint: the file is unchanged; \
             name another one with --config FILE\n"
        ),
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
}
