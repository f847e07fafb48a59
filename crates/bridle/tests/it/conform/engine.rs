//! `bridle conform engine` against the real daemon: everything passes, in the clear and over TLS; with
//! one fault planted between the two, the cases that are meant for it fail.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bridle_conform::report::CaseEnd;
use bridle_conform::{self as conform, RunOptions, engine};

use super::middle::{Fault, Habit, Honest, Middle};
use super::sloppy::plants;
use bridle_test_support::server_process::ServerProcess;

use crate::harness::{Done, Home};

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
    pub(crate) daemon: ServerProcess,
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
        let daemon = ServerProcess::start(&mut home.command(&args));
        Scene { home, daemon, tokens }
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/v1/openharness", self.daemon.word("http"))
    }

    /// Runs the kit with all that it can be told.
    fn kit(&self, url: &str, more: &[&str]) -> Done {
        let [one, other] = &self.tokens;
        let mut args = vec!["conform", "engine", url, "--token-file", one, "--token2-file", other];
        // A busy machine is no fault of the daemon.
        args.extend(["--origin", ORIGIN, "--fail-on", "should", "--timeout", "120"]);
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
    let done = scene.kit(&wrong, &["--only", "E-0", "--only", "H", "--json", "--junit", &junit]);
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

/// Talks to an engine through the one in between.
fn through(scene: &Scene, fault: Arc<dyn Fault>, tokens: &[String; 2]) -> engine::EngineUnderTest {
    // One who looks at one connection at a time is waited for in vain; anything else answers, and a
    // busy machine is no fault.
    let is_awaited = fault.habit() == Habit::OneByOne;
    let timeout = Duration::from_secs(if is_awaited { 3 } else { 120 });
    let middle = Middle::start(&scene.daemon.word("http"), fault);
    let url = format!("http://{}/v1/openharness", middle.addr).parse().unwrap();
    let [token, token2] = tokens.clone().map(Some);
    let text = |text: &str| Some(text.to_owned());
    let setup = engine::KitSetup {
        token,
        token2,
        origin: text(ORIGIN),
        intent: "help".to_owned(),
        approval: text("kit approve"),
        slow: text("kit slow"),
        nonce: middle.addr.replace([':', '.'], ""),
    };
    engine::EngineUnderTest::new(engine::http::HttpRoute { url, trust: None, timeout }, setup)
}

fn tokens_of(scene: &Scene) -> [String; 2] {
    scene.tokens.clone().map(|path| std::fs::read_to_string(path).unwrap().trim().to_owned())
}

#[test]
fn every_planted_fault_is_found_by_the_cases_that_are_meant_for_it() {
    let scene = Scene::new(&[]);
    let tokens = tokens_of(&scene);
    let cases = engine::cases();
    let (mut missed, mut caught) = (String::new(), BTreeSet::new());
    let plants = plants(&tokens);
    let names: BTreeSet<&str> = plants.iter().map(|plant| plant.name).collect();
    assert_eq!(names.len(), plants.len(), "a name is there twice");
    for plant in plants {
        let mut peer = through(&scene, plant.fault, &tokens);
        for id in plant.cases {
            let options = RunOptions { only: vec![(*id).to_owned()], ..RunOptions::default() };
            let report = conform::run(engine::KIT, &cases, &mut peer, &options, &mut |_| {});
            let [outcome] = report.outcomes.as_slice() else { panic!("no case `{id}`") };
            if matches!(outcome.ended, CaseEnd::Failed(_)) {
                caught.insert(outcome.id);
            } else {
                missed.push_str(&format!("`{}`: {}", plant.name, outcome.to_text()));
            }
        }
    }
    assert!(missed.is_empty(), "not found:\n{missed}");
    let idle: Vec<&str> = cases.iter().map(|it| it.id).filter(|id| !caught.contains(id)).collect();
    assert!(idle.is_empty(), "these find no planted fault: {idle:?}");
}

#[test]
fn one_in_between_who_spoils_nothing_is_found_by_no_case() {
    let scene = Scene::new(&[]);
    let tokens = tokens_of(&scene);
    let mut peer = through(&scene, Arc::new(Honest), &tokens);
    let cases = engine::cases();
    let report = conform::run(engine::KIT, &cases, &mut peer, &RunOptions::default(), &mut |_| {});
    let failed = report.outcomes.iter().filter(|it| !matches!(it.ended, CaseEnd::Passed));
    let shown: String = failed.map(conform::report::CaseOutcome::to_text).collect();
    assert!(shown.is_empty(), "{shown}");
}

/// The tutorial's engine, in a language of its own.
struct Stranger {
    child: Child,
    url: String,
}

impl Stranger {
    fn start() -> Stranger {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/engine.py");
        let mut command = Command::new("python3");
        let mut child = command.args([script, "0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let addr = ready.trim().strip_prefix("ready http=").unwrap().to_owned();
        Stranger { child, url: format!("http://{addr}/") }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_engine_of_the_tutorial_conforms() {
    let stranger = Stranger::start();
    let home = Home::new();
    let done = home.run(&["conform", "engine", &stranger.url, "--timeout", "120"]);
    assert_eq!(done.code, 0, "{}", done.stdout);
    let all = FROZEN.lines().filter(|line| line.contains(" MUST ")).count();
    assert!(
        done.stdout.contains(&format!("MUST     {all:>4} passed    0 failed")),
        "{}",
        done.stdout
    );
    let offered =
        FROZEN.lines().filter(|line| !line.contains(" MUST ") && !line.contains(" SHOULD "));
    let words = format!("profiles    0 passed    0 failed {:>4} not offered", offered.count());
    assert!(done.stdout.contains(&words), "{}", done.stdout);
}
