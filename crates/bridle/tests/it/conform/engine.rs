//! `bridle conform engine` against the real daemon: everything passes, in the clear and over TLS.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use crate::harness::{Daemon, Done, Home};

/// The cases as they were published with their revision; a change of this list is a new revision.
const FROZEN: &str = include_str!("engine-1.0.0-draft.txt");

/// A thinker for the kit: plain words in pieces, something that takes long, something that needs a
/// yes.
pub(crate) const RULES: &str = r#"
(rule :when "kit slow" :delay 1500 :say "That took long.")
(rule :when "kit approve" :propose ((:target :system :action :forget :session "kit-nothing" :then-think t)))
(rule :when "kit approve" :result (:outcome :denied) :say "It was denied.")
(rule :when "kit approve" :result t :say "It was allowed.")
(default :stream ("You said " "something.") :say "You said something.")
"#;

/// What the kit is told about that thinker.
pub(crate) const INTENTS: [&str; 4] =
    ["--intent-approval", "kit approve", "--intent-slow", "kit slow"];

const ORIGIN: &str = "https://app.example.org";

/// A daemon with that thinker, and two tokens for it.
pub(crate) struct Scene {
    pub(crate) home: Home,
    pub(crate) daemon: Daemon,
    pub(crate) tokens: [String; 2],
}

impl Scene {
    pub(crate) fn new(more: &[&str]) -> Scene {
        let home = Home::new();
        let tokens = ["one", "other"].map(|name| {
            let made = home.run(&["token", "create", "--scope", "talk", "--scope", "approve"]);
            assert_eq!(made.code, 0, "{made:?}");
            let path = home.write(name, &made.stdout);
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            path
        });
        let thinker = format!("script:{}", home.write("kit.script", RULES));
        let socket = home.path("b.sock");
        let mut args = vec!["up", "--tcp", "off", "--unix", &socket, "--log", "error"];
        args.extend(["--http", "127.0.0.1:0", "--http-origin", ORIGIN, "--thinker", &thinker]);
        args.extend(more);
        let daemon = Daemon::start(&mut home.command(&args));
        Scene { home, daemon, tokens }
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/v1/openharness", self.daemon.word("http"))
    }

    /// Runs the kit with all that it can be told.
    fn kit(&self, url: &str, more: &[&str]) -> Done {
        let [one, other] = &self.tokens;
        let mut args = vec!["conform", "engine", url, "--token-file", one, "--token2-file", other];
        args.extend(["--origin", ORIGIN, "--fail-on", "should"]);
        args.extend(INTENTS);
        args.extend(more);
        self.home.run(&args)
    }
}

#[test]
fn the_daemon_passes_every_case() {
    let scene = Scene::new(&[]);
    let done = scene.kit(&scene.url("http"), &[]);
    assert_eq!(done.code, 0, "{}", done.stdout);
    assert!(done.stdout.ends_with("conforms to engine 1.0.0-draft\n"), "{}", done.stdout);
    assert!(!done.stdout.contains("not offered"), "all is offered: {}", done.stdout);
}

#[test]
fn the_daemon_passes_over_tls() {
    let data =
        |name: &str| format!("{}/../daemon/tests/data/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let key = std::fs::read(data("server.key")).unwrap();
    let home = Home::new();
    let key = home.write("server.key", key);
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let scene = Scene::new(&["--tls-cert", &data("server.pem"), "--tls-key", &key]);
    let ca = data("ca.pem");
    let areas = ["--only", "E-0", "--only", "V", "--only", "B", "--only", "M", "--only", "W-1"];
    let told = [&["--ca", ca.as_str()][..], &areas].concat();
    let done = scene.kit(&scene.url("https"), &told);
    assert_eq!(done.code, 0, "{}", done.stdout);
    // Without the authority nobody is believed.
    let stranger =
        scene.kit(&scene.url("https"), &["--ca", &data("stranger.pem"), "--only", "E-01"]);
    assert_eq!(stranger.code, 1, "{}", stranger.stdout);
    assert!(stranger.stdout.contains("no TLS"), "{}", stranger.stdout);
}

#[test]
fn an_engine_that_offers_less_is_not_held_to_more() {
    let scene = Scene::new(&[]);
    let done =
        scene.home.run(&["conform", "engine", &scene.url("http"), "--only", "T", "--only", "B"]);
    assert_eq!(done.code, 0, "{}", done.stdout);
    assert!(done.stdout.contains("not offered"), "{}", done.stdout);
    assert!(done.stdout.contains("--intent-approval TEXT"), "{}", done.stdout);
}

#[test]
fn the_cases_of_a_revision_stay_what_they_are() {
    let listed = crate::harness::pipe(&["conform", "engine", "--list"], "");
    assert_eq!(listed.stdout, FROZEN);
    let ids: BTreeSet<&str> = FROZEN.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids.len(), FROZEN.lines().count(), "an id is there twice");
}

#[test]
fn reports_hold_no_credential() {
    let scene = Scene::new(&[]);
    let junit = scene.home.path("report.xml");
    let wrong = scene.url("http").replace("/v1/openharness", "/nowhere");
    let done = scene.kit(&wrong, &["--only", "E-0", "--json", "--junit", &junit]);
    assert_eq!(done.code, 1, "{}", done.stdout);
    let token = std::fs::read_to_string(&scene.tokens[0]).unwrap();
    let xml = std::fs::read_to_string(&junit).unwrap();
    for text in [&done.stdout, &done.stderr, &xml] {
        assert!(!text.contains(token.trim()), "{text}");
    }
    assert!(
        done.stdout
            .starts_with("{\"kit\":\"engine\",\"revision\":\"1.0.0-draft\",\"conforms\":false")
    );
}

#[test]
fn what_cannot_be_used_is_said_before_the_run() {
    let home = Home::new();
    let nobody = home.run(&["conform", "engine", "http://127.0.0.1:1/x"]);
    assert_eq!(nobody.code, 69, "{}", nobody.stderr);
    let scheme = home.run(&["conform", "engine", "127.0.0.1:1"]);
    assert!(scheme.code != 0 && scheme.stderr.contains("http://"), "{}", scheme.stderr);
    let blank = home.write("blank", "\n");
    let args = ["conform", "engine", "http://127.0.0.1:1/x", "--token-file", &blank];
    let refused = home.run(&args);
    assert_eq!(refused.code, 65, "{}", refused.stderr);
}
