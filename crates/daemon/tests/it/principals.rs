//! Who is talking, by the way in, and what is not for everybody.

use std::process::Output;

use bridle_record::{Record, RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;
use tokio::net::TcpSocket;

use crate::shell::{Shell, assert_code, at, daemon, hello, prompt, scripted, text, value};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{
    CHECK, FrameClient, HEALTHY, assert_answered, assert_error, frame,
};
use bridle_test_support::hang_guard::guard;
use bridle_test_support::other_user::python_of_another_user;

const SESSIONS: &str = "(:type :REQUEST :id 5 :target :system :payload (:action :sessions))";

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn records(daemon: &TestDaemon) -> Vec<Record> {
    let reader = RecordReader::open(&daemon.dir.path().join("state")).unwrap();
    reader.records(RecordNumber(0), &RecordFilter::default(), 1000).unwrap()
}

/// Bodies of the attempts of a principal that were refused, once there are `count` of them.
async fn refused(daemon: &TestDaemon, principal: &str, count: usize) -> Vec<String> {
    let bodies = || -> Vec<String> {
        let records = records(daemon).into_iter();
        let of = records.filter(|record| &*record.kind == "refused");
        of.filter(|record| &*record.principal == principal)
            .map(|record| record.body.text().unwrap().to_owned())
            .collect()
    };
    guard(async {
        while bodies().len() < count {
            tokio::task::yield_now().await;
        }
    })
    .await;
    bodies()
}

/// A session `work` of the owner's, with a request that one shell makes and another is asked.
struct Owner {
    asker: Shell,
    emacs: Shell,
    request: String,
}

impl Owner {
    async fn at_work(daemon: &TestDaemon) -> Owner {
        let mut asker = Shell::attach(daemon, ":session \"work\" :client \"o\"").await;
        let mut emacs = Shell::attach(daemon, ":session \"work\" :shell :emacs").await;
        asker.ask(1, ":payload (:sensor :user-prompt :text \"status\")").await;
        let ask = ":target :emacs :payload (:action :message :text \"secret\")";
        asker.say(&format!("(:type :REQUEST :id 2 {ask})")).await;
        let request = text(&emacs.of_type("REQUEST").await, "id");
        Owner { asker, emacs, request }
    }

    fn response(&self) -> String {
        format!("(:type :RESPONSE :id \"{}\" :payload (:status :success))", self.request)
    }

    /// Fails unless the request is still open, and done once its shell says so.
    async fn finish(mut self) {
        self.emacs.say(&self.response()).await;
        let answer = self.asker.response(2).await;
        assert!(at(&answer, "payload status").is_keyword("success"), "{answer}");
    }
}

#[tokio::test]
async fn each_way_in_has_its_principal() {
    let daemon = daemon().await;
    daemon.unix_peer().await.ask(&prompt(1, "help")).await;
    daemon.peer().await.ask(&prompt(1, "help")).await;
    let mut said: Vec<String> = records(&daemon)
        .into_iter()
        .filter(|record| matches!(&*record.kind, "began" | "signal"))
        .map(|record| format!("{} {}", record.kind, record.principal))
        .collect();
    said.sort();
    let me = me();
    let expected = [
        format!("began local-tcp:{me}"),
        format!("began uid:{me}"),
        format!("signal local-tcp:{me}"),
        format!("signal uid:{me}"),
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn an_ipv6_socket_to_an_ipv4_address_is_known_and_so_is_one_that_ended_its_sending() {
    let daemon = daemon().await;
    let port = daemon.bound.tcp.unwrap().port();
    let mapped = format!("[::ffff:127.0.0.1]:{port}").parse().unwrap();
    let stream = TcpSocket::new_v6().unwrap().connect(mapped).await.unwrap();
    let mut peer = FrameClient::over(stream);
    peer.frame().await.expect("a hello");
    peer.say("(:type :LOG :id 1 :payload (:text \"x\"))").await;
    peer.end().await;
    assert_answered(&peer.frame().await.unwrap(), "1");
}

#[tokio::test]
async fn programs_of_the_user_share_their_sessions_on_loopback_and_see_no_others() {
    let daemon = daemon().await;
    let _owner = Owner::at_work(&daemon).await;
    let mut one = Shell::greet(daemon.peer().await, ":session \"mine\" :client \"1\"").await;
    let mut two = Shell::greet(daemon.peer().await, ":session \"mine\" :role :observer").await;
    one.ask(1, ":payload (:sensor :user-prompt :text \"status\")").await;
    assert_eq!(text(&two.next().await, "payload text"), "status");
    let list = one.peer.ask(SESSIONS).await;
    assert!(list.contains("\"mine\"") && !list.contains("\"work\""), "{list}");
    let words = one.ask(2, ":payload (:sensor :user-prompt :text \"sessions\")").await;
    assert!(!text(&words, "payload text").contains("work"), "{words}");
    // The owner sees both, and may join.
    let mut owner = Shell::attach(&daemon, ":session \"mine\" :cursor 0").await;
    assert_eq!(text(&owner.next().await, "payload text"), "status");
}

#[tokio::test]
async fn sessions_of_the_owner_are_not_there_for_loopback() {
    let daemon = daemon().await;
    let owner = Owner::at_work(&daemon).await;
    let before = records(&daemon);
    let mut peer = daemon.peer().await;
    for fields in [
        ":session \"work\"",
        ":session \"work\" :role :observer",
        ":session \"work\" :cursor 0",
        ":session \"work\" :role :observer :cursor 0",
        // As the owner's own client.
        ":session \"work\" :client \"o\" :shell :emacs :cursor 1",
    ] {
        assert_error(&peer.ask(&hello(fields)).await, "unknown-session");
        assert_error(&peer.ask(&prompt(1, "status")).await, "unknown-session");
    }
    let mut shell = Shell::greet(daemon.peer().await, ":session \"mine\" :shell :emacs").await;
    let seq = before.iter().find(|record| &*record.kind == "say").unwrap().number;
    for (id, wish) in [
        (1, "(:action :forget :session \"work\")".to_owned()),
        (2, format!("(:action :forget :record {seq})")),
        (3, format!("(:action :fork :record {seq} :name \"copy\")")),
    ] {
        let answer = shell.ask_as("REQUEST", id, &format!(":target :system :payload {wish}")).await;
        assert_code(&answer, "refused");
    }
    shell.say(&owner.response()).await;
    assert_code(&shell.of_type("RESPONSE").await, "unknown-id");

    let name = format!("local-tcp:{}", me());
    let attempts = refused(&daemon, &name, 6).await;
    let control = "(:attempt :control :session \"work\" :code :unknown-session)";
    let observe = control.replace("control", "observe");
    let answer = format!("(:attempt :answer :request \"{}\" :code :unknown-id)", owner.request);
    assert_eq!(attempts, [control, &observe, control, &observe, control, &answer]);
    let decided = records(&daemon).into_iter().filter(|record| {
        &*record.session == "mine"
            && &*record.kind == "decided"
            && record.body.text().unwrap().contains(":verdict :deny")
    });
    assert_eq!(decided.count(), 3, "each wish is in the record with its verdict");
    // Nothing of it reached the session, and its request is still open.
    let of_work = |records: &[Record]| records.iter().filter(|it| &*it.session == "work").count();
    assert_eq!(of_work(&records(&daemon)), of_work(&before));
    owner.finish().await;
}

#[tokio::test]
async fn what_the_owner_was_asked_nobody_else_answers() {
    let daemon = daemon().await;
    let mut local = Shell::greet(daemon.peer().await, ":session \"mine\" :client \"1\"").await;
    let mut owner = Shell::attach(&daemon, ":session \"mine\" :shell :emacs").await;
    local
        .say("(:type :REQUEST :id 1 :target :emacs :payload (:action :message :text \"look\"))")
        .await;
    let request = text(&owner.of_type("REQUEST").await, "id");
    let response = format!("(:type :RESPONSE :id \"{request}\" :payload (:status :success))");
    local.say(&response).await;
    let told = local.of_type("RESPONSE").await;
    assert_code(&told, "unknown-id");
    owner.say(&response).await;
    let answer = local.response(1).await;
    assert!(at(&answer, "payload status").is_keyword("success"), "{answer}");
    assert_eq!(refused(&daemon, &format!("local-tcp:{}", me()), 1).await.len(), 1);
    let acted = records(&daemon).into_iter().find(|record| &*record.kind == "acted").unwrap();
    assert_eq!(*acted.principal, *format!("uid:{}", me()));
}

#[tokio::test]
async fn a_fork_of_the_owners_session_stays_the_owners() {
    let daemon = daemon().await;
    let _owner = Owner::at_work(&daemon).await;
    let number = records(&daemon).iter().find(|it| &*it.kind == "say").unwrap().number;
    let mut local = Shell::greet(daemon.peer().await, ":session \"mine\"").await;
    local.ask(1, ":payload (:sensor :user-prompt :text \"status\")").await;
    let mut owner = Shell::attach(&daemon, ":session \"mine\"").await;
    let wish = format!(":target :system :payload (:action :fork :record {number} :name \"copy\")");
    let answer = owner.ask_as("REQUEST", 1, &wish).await;
    assert!(at(&answer, "payload status").is_keyword("success"), "{answer}");
    let list = value(&daemon.unix_peer().await.ask(SESSIONS).await);
    let rows = at(&list, "payload sessions").elements().unwrap();
    let copy = rows.iter().find(|row| row.get("session").and_then(Value::as_str) == Some("copy"));
    assert_eq!(text(copy.unwrap(), "owner"), format!("uid:{}", me()));
    let mut peer = daemon.peer().await;
    assert_error(&peer.ask(&hello(":session \"copy\" :cursor 0")).await, "unknown-session");
}

/// What a daemon says to frames of another user over TCP, its own hello left out.
async fn as_another_user(daemon: &TestDaemon, said: &[&str]) -> Vec<String> {
    let script = "import socket,sys\ns=socket.create_connection(('127.0.0.1',int(sys.argv[1])))\n\
                  def frame():\n  d=b''\n  while len(d)<6:\n    b=s.recv(1)\n    if not b: return\n\
                  \x20   d+=b.strip()\n  n=int(d,16)\n  d=b''\n  while len(d)<n: d+=s.recv(n-len(d))\n\
                  \x20 return d\nframe()\nfor m in sys.argv[2:]:\n  s.sendall(m.encode())\n\
                  \x20 print(frame().decode().replace('\\n',' '))";
    let mut command = python_of_another_user();
    command.args(["-c", script, &daemon.bound.tcp.unwrap().port().to_string()]);
    command.args(said.iter().map(|message| frame(message)));
    let run = tokio::task::spawn_blocking(move || command.output());
    let output: Output = guard(run).await.unwrap().unwrap();
    assert!(output.status.success(), "cannot run as another user: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn another_user_on_loopback_gets_health_and_the_built_in_words() {
    let daemon = daemon().await;
    let owner = Owner::at_work(&daemon).await;
    let before = records(&daemon).len();
    let answer = owner.response();
    let said = [
        CHECK,
        &prompt(1, "help"),
        &prompt(2, "sessions"),
        &prompt(3, "read me the secret"),
        "(:type :EVENT :id 4 :payload (:sensor :interrupt))",
        SESSIONS,
        "(:type :REQUEST :id 6 :target :log :payload (:action :log :text \"x\"))",
        "(:type :REQUEST :id 7 :target :system :payload (:action :forget :session \"work\"))",
        "(:type :LOG :id 8 :payload (:text \"x\"))",
        &answer,
        &hello(":session \"work\" :cursor 0"),
        &hello(":session \"work\" :role :observer"),
        &hello(":session \"new\""),
        &hello(""),
        &prompt(9, "/help"),
        CHECK,
    ];
    let told = as_another_user(&daemon, &said).await;
    assert_eq!(told.len(), said.len(), "{told:#?}");
    assert_eq!((&*told[0], &*told[15]), (HEALTHY, HEALTHY));
    assert_answered(&told[1], "1");
    assert_answered(&told[2], "2");
    assert_answered(&told[14], "9");
    for answer in &told[3..14] {
        assert_error(answer, "not-permitted");
        assert!(!answer.contains(":session") && !answer.contains("secret"), "{answer}");
    }
    assert!(!told[2].contains("work"), "{}", told[2]);

    let attempts = refused(&daemon, "anonymous", 11).await;
    let tried = |what: &str| attempts.iter().filter(|it| it.contains(what)).count();
    let counts = [":say :type", ":list", ":answer :request", ":control", ":observe"].map(tried);
    assert_eq!(counts, [5, 1, 1, 3, 1], "{attempts:#?}");
    assert!(!attempts.iter().any(|it| it.contains("secret")), "{attempts:#?}");
    // What was answered is no event: no session, no number, no record.
    for answer in [&told[1], &told[2], &told[14]] {
        assert!(!answer.contains(":meta") && !answer.contains(":seq"), "{answer}");
    }
    let after = records(&daemon).split_off(before);
    assert!(after.iter().all(|record| &*record.kind == "refused"), "{after:#?}");
    assert_eq!(daemon.metric("bridle_strangers_answered_total").await, 3);
    owner.finish().await;
}

#[tokio::test]
async fn a_flood_of_another_users_words_leaves_nothing_on_the_disk() {
    let daemon = daemon().await;
    daemon.peer().await.ask(&prompt(1, "help")).await;
    let before = records(&daemon).len();
    let script = "import socket,sys\ns=socket.create_connection(('127.0.0.1',int(sys.argv[1])))\n\
                  f=s.makefile('rb')\ndef frame():\n  return f.read(int(f.read(6),16))\n\
                  frame()\nm=sys.argv[2].encode()\nfor n in range(20):\n  s.sendall(m*50)\n\
                  \x20 for n in range(50): assert frame().startswith(b'(:type :RESPONSE :id 1 ')\n";
    let mut command = python_of_another_user();
    let port = daemon.bound.tcp.unwrap().port().to_string();
    command.args(["-c", script, &port, &frame(&prompt(1, "help"))]);
    let run = tokio::task::spawn_blocking(move || command.output());
    let output: Output = guard(run).await.unwrap().unwrap();
    assert!(output.status.success(), "{output:?}");
    let after = records(&daemon).split_off(before);
    assert!(after.is_empty(), "{after:#?}");
    assert!(daemon.metric("bridle_strangers_answered_total").await > 0);
    assert_eq!(daemon.metric("bridle_messages_admitted_total").await, 1);
}

#[tokio::test]
async fn a_thinker_is_not_asked_for_another_user() {
    let daemon = scripted("(default :say \"thought\")").await;
    let said = [&*prompt(1, "help"), &prompt(2, "/help"), &prompt(3, "hi")];
    let told = as_another_user(&daemon, &said).await;
    assert_error(&told[0], "not-permitted");
    assert_answered(&told[1], "2");
    assert_error(&told[2], "not-permitted");
    assert!(!records(&daemon).iter().any(|record| &*record.kind == "think"));
    // The same words of the user's own programs are thought about.
    let answer = value(&daemon.peer().await.ask(&prompt(1, "hi")).await);
    assert_eq!(text(&answer, "payload text"), "thought");
}
