//! Secrets in a folder of Org files, hidden in every way, and everything that a stranger and a program without a key can
//! ask or propose, over both protocols, in random order. No secret may come out, and what is said of something hidden
//! must be what is said of something that never was.
//!
//! A program of its own: `cargo xtask privacy` runs it with many questions. `BRIDLE_PRIVACY_QUESTIONS` and
//! `BRIDLE_PRIVACY_SEED` say how many and which.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

#[path = "privacy/asking.rs"]
mod asking;
#[path = "privacy/questions.rs"]
mod questions;
#[path = "privacy/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::{Child, Stdio};

use bridle_daemon::config::ThinkerChoice;
use bridle_daemon::{HttpRates, MessageRates};
use bridle_record::{RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::{Value, read_one};
use tempfile::TempDir;

use asking::{Asked, Asker, Way};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::FrameClient;
use bridle_test_support::hang_guard::guard;
use bridle_test_support::other_user::python_of_another_user;
use world::{Dice, Kind, World};

/// Questions, unless told: some seconds.
const QUESTIONS: usize = 600;

/// Answers to whoever asks too often.
const LIMITED: [&str; 2] = ["\"rate_limited\"", ":code :rate-limited"];

/// Passes on what comes, as another user: what arrives is that user's.
const RELAY: &str = r#"
import socket, sys, threading
def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass
def serve(port):
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(64)
    print(server.getsockname()[1], flush=True)
    while True:
        one, _ = server.accept()
        other = socket.create_connection(("127.0.0.1", port))
        for pair in [(one, other), (other, one)]:
            threading.Thread(target=pump, args=pair, daemon=True).start()
for port in sys.argv[1:]:
    threading.Thread(target=serve, args=(int(port),), daemon=True).start()
sys.stdin.read()
"#;

/// A relay that runs as another user, for the ports of the daemon.
struct Relay {
    child: Child,
    to: SocketAddr,
}

impl Relay {
    fn start(to: SocketAddr) -> Relay {
        let mut command = python_of_another_user();
        command.args(["-c", RELAY]).arg(to.port().to_string());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("python3 as another user: run this as root, or with sudo");
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        let port: u16 = line.trim().parse().expect("the relay tells its port");
        Relay { child, to: SocketAddr::from(([127, 0, 0, 1], port)) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test program has no other settings")]
fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect(name))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_comes_out_and_what_is_hidden_is_as_what_is_not_there() {
    let wanted = number("BRIDLE_PRIVACY_QUESTIONS", QUESTIONS);
    let mut dice = Dice::new(u64::try_from(number("BRIDLE_PRIVACY_SEED", 1)).unwrap());
    let folder = TempDir::new().unwrap();
    let mut world = World::plant(folder.path(), &mut dice);
    let root = folder.path().to_owned();
    let daemon = TestDaemon::with(|config, dir| {
        bridle_test_support::http_client::on(config, dir);
        let script = dir.join("rules.script");
        std::fs::write(&script, questions::SCRIPT).unwrap();
        config.thinker = ThinkerChoice::Script(script);
        config.memex = Some(root.clone());
        config.http_rates = HttpRates { remote: None, local: None };
        config.message_rates = MessageRates { remote: None, local: None, stranger: None };
    })
    .await;
    let root = root.canonicalize().unwrap().display().to_string();
    owners_past(&daemon, &mut world, &mut dice).await;
    let relays = [daemon.bound.tcp.unwrap(), daemon.bound.http.unwrap()].map(Relay::start);
    let mut asker = Asker::new(&daemon, root, [relays[0].to, relays[1].to]);
    let mut tally = Tally::default();
    while tally.asked < wanted {
        tally.ask(&mut asker, &world, &mut dice).await;
    }
    let Tally { asked, pairs, compared, differences } = tally;
    println!(
        "{asked} questions, {pairs} pairs of what is hidden and what is not there, {compared} compared"
    );
    assert!(compared * 4 > wanted, "{compared} pairs of {wanted} questions");
    assert!(differences.is_empty(), "what is hidden is not as what is not there: {differences:#?}");
    for stream in asker.streams().await {
        let found = world.secrets.iter().find(|secret| stream.contains(*secret));
        assert_eq!(found, None, "what was recorded is read again: {stream}");
    }
    controls(&daemon, &world).await;
    drop(asker);
    daemon.stop().await.unwrap();
}

/// What was asked, and the answers that differ.
#[derive(Default)]
struct Tally {
    asked: usize,
    pairs: usize,
    compared: usize,
    /// By what was asked, and how.
    differences: BTreeMap<String, String>,
}

impl Tally {
    /// Asks something: about nothing in particular, or about something hidden and about its twin.
    async fn ask(&mut self, asker: &mut Asker, world: &World, dice: &mut Dice) {
        let way = *dice.pick(&Way::ALL);
        let (kind, question) = asker.choose(way, dice);
        let Some(kind) = kind else {
            let told = asker.ask(way, &question, "").await;
            self.asked += 1;
            return check(world, &question, "", &told);
        };
        let things: Vec<_> = world.hidden.iter().filter(|it| it.kind == kind).collect();
        let thing = *dice.pick(&things);
        let mut names = [&thing.name, &thing.twin];
        if dice.below(2) == 1 {
            names.reverse();
        }
        let mut told = Vec::new();
        for name in names {
            let answer = asker.ask(way, &question, name).await;
            check(world, &question, name, &answer);
            told.push(answer.compared.replace(name.as_str(), "NAME"));
        }
        self.asked += 2;
        self.pairs += 1;
        // Who asks too often is told so, whatever there is.
        if told.iter().any(|told| LIMITED.iter().any(|word| told.contains(word))) {
            return;
        }
        self.compared += 1;
        if told[0] != told[1] {
            let difference = format!("{names:?}\n  {}\n  {}", told[0], told[1]);
            self.differences.entry(format!("{way:?} {question}")).or_insert(difference);
        }
    }
}

/// Fails if an answer tells a secret, or the name of something hidden that was not asked about.
fn check(world: &World, question: &str, name: &str, told: &Asked) {
    let found = world.secrets.iter().find(|secret| told.all.contains(*secret));
    assert_eq!(found, None, "{question} {name}: {}", told.all);
    if told.is_history {
        return;
    }
    let is_told = |hidden: &&world::Hidden| {
        let is_word = !matches!(hidden.kind, Kind::Record | Kind::Session | Kind::Snapshot);
        is_word && told.all.contains(&*hidden.name) && !name.contains(&*hidden.name)
    };
    let found = world.hidden.iter().find(is_told);
    assert!(found.is_none(), "{question} {name}: {found:?} in {}", told.all);
}

/// What the owner did before: a change of a private file, and one that conflicts now; a snapshot; open questions.
async fn owners_past(daemon: &TestDaemon, world: &mut World, dice: &mut Dice) {
    let mut owner = daemon.unix_peer().await;
    loop {
        let told = owner
            .ask("(:type :REQUEST :id 1 :target :context :payload (:action :memex-status))")
            .await;
        if told.contains(":state :ready") && told.contains(":whole t") {
            break;
        }
        tokio::task::yield_now().await;
    }
    let private = world.hidden.iter().find(|it| it.kind == Kind::File).unwrap().name.clone();
    let edit = |id: u64, state: &str| {
        format!(
            "(:type :REQUEST :id {id} :target :memory :payload (:action :set-state :path \"{private}\" :line 2 :state {state}))"
        )
    };
    let session = dice.word();
    let hello = format!("(:type :EVENT :payload (:action :handshake :session \"{session}\"))");
    owner.ask(&hello).await;
    owner.say(&edit(2, "\"DONE\"")).await;
    let name = approval(&mut owner).await;
    let mut second = daemon.unix_peer().await;
    let yes = format!(
        "(:type :REQUEST :id 3 :target :system :payload (:action :approve :approval \"{name}\" :verdict :allow))"
    );
    assert!(second.ask(&yes).await.contains(":success"));
    let done = until(&mut owner, ":type :RESPONSE :id 2").await;
    assert!(done.contains(":outcome :done"), "{done}");
    let snapshot = dice.word();
    owner
        .say(&format!(
            "(:type :REQUEST :id 4 :target :memory :payload (:action :snapshot :name \"{snapshot}\"))"
        ))
        .await;
    let done = until(&mut owner, ":type :RESPONSE :id 4").await;
    assert!(done.contains(":files"), "{done}");
    // One more waits for an answer.
    owner.say(&edit(5, "nil")).await;
    approval(&mut owner).await;
    let reader = RecordReader::open(&daemon.dir.path().join("state")).unwrap();
    let filter = RecordFilter { kinds: vec!["act".into()], ..RecordFilter::default() };
    let acts = reader.records(RecordNumber(0), &filter, 100).unwrap();
    let record = acts.first().expect("an act").number.0.to_string();
    world.hide(Kind::Record, record, "99999".to_owned());
    let twin = dice.word();
    world.hide(Kind::Session, session, twin);
    let twin = dice.word();
    world.hide(Kind::Snapshot, snapshot, twin);
}

/// Reads until something is said.
async fn until(peer: &mut FrameClient, word: &str) -> String {
    loop {
        let frame = peer.frame().await.expect("a frame");
        if frame.contains(word) {
            return frame;
        }
    }
}

/// The name of the next question of the guard.
async fn approval(peer: &mut FrameClient) -> String {
    loop {
        let frame = until(peer, ":approve").await;
        let value = read_one(&frame).unwrap().root().to_value();
        if let Some(name) = value.get("id").and_then(Value::as_str) {
            return name.to_owned();
        }
    }
}

/// The owner finds what is private, and others find what is not: the questions are good ones.
async fn controls(daemon: &TestDaemon, world: &World) {
    let ask = |word: &str| {
        format!(
            "(:type :REQUEST :id 1 :target :context :payload (:action :query :text \"{word}\"))"
        )
    };
    let told = daemon.unix_peer().await.ask(&ask(&world.found_by_owner)).await;
    assert!(told.contains(":private t"), "{told}");
    let told = guard(daemon.peer()).await.ask(&ask("openword")).await;
    assert!(told.contains("Visible") && told.contains("Last"), "{told}");
}
