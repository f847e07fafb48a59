//! A follower against a small daemon that loses connections: each event once, in order, and errors
//! that waiting does not mend are errors.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use bridle_shell::attach::{AttachOptions, ConnectionNotice, LostConnection, SessionFollower};
use bridle_shell::client::{ClientOptions, DaemonTarget};
use bridle_shell::tail::{self, TailEnd, TailOrder, TailOutput};
use bridle_shell::{DaemonAddress, ShellError};
use bridle_wire::oacp::ShellRole;

const HELLO: &str = "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :capabilities \
                     (:attach) :server \"test/1\"))";

const AGAIN: LostConnection = LostConnection::AttachAgain;

/// What the daemon does on one connection after it has read the hello.
enum Turn {
    /// Answers that the session's last event is `head`, sends the events of these numbers, closes.
    Events(u64, &'static [u64]),
    /// Sends one event with so many lists inside each other.
    Deep(usize),
    /// Refuses the hello.
    Refuse(&'static str),
    /// Closes without a word.
    Close,
}

/// A daemon with one turn for each connection; hands back the hellos that it read.
fn daemon(turns: Vec<Turn>) -> (Vec<DaemonTarget>, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = DaemonAddress::Tcp(listener.local_addr().unwrap().to_string());
    let serving = thread::spawn(move || {
        turns.iter().map(|turn| serve(listener.accept().unwrap().0, turn)).collect()
    });
    (vec![DaemonTarget { addr, options: ClientOptions::default() }], serving)
}

fn serve(mut stream: TcpStream, turn: &Turn) -> String {
    send(&mut stream, HELLO);
    let hello = receive(&mut stream);
    match turn {
        Turn::Close => {}
        Turn::Refuse(code) => send(
            &mut stream,
            &format!(
                "(:type :RESPONSE :id nil :payload (:status :error :code :{code} :message \"no\"))"
            ),
        ),
        Turn::Deep(depth) => {
            accept(&mut stream, 1);
            let inside = format!("{}{}", "(".repeat(*depth), ")".repeat(*depth));
            send(&mut stream, &format!("(:type :EVENT :meta (:seq 1) :payload {inside})"));
        }
        Turn::Events(head, numbers) => {
            accept(&mut stream, *head);
            send(&mut stream, "(:type :STATUS :meta (:session \"s\") :payload (:status :idle))");
            for seq in *numbers {
                send(&mut stream, &event(*seq));
            }
        }
    }
    hello
}

fn accept(stream: &mut TcpStream, head: u64) {
    let meta = format!("(:session \"s\" :seq {head})");
    send(stream, &format!("(:type :RESPONSE :id nil :meta {meta} :payload (:status :success))"));
}

fn event(seq: u64) -> String {
    format!("(:type :EVENT :meta (:session \"s\" :seq {seq}) :payload (:sensor :focus))")
}

fn send(stream: &mut TcpStream, text: &str) {
    stream.write_all(format!("{:06x}{text}", text.len()).as_bytes()).unwrap();
}

fn receive(stream: &mut TcpStream) -> String {
    let mut header = [0; 6];
    stream.read_exact(&mut header).unwrap();
    let length = usize::from_str_radix(std::str::from_utf8(&header).unwrap(), 16).unwrap();
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).unwrap();
    String::from_utf8(payload).unwrap()
}

fn wish(cursor: Option<u64>) -> AttachOptions {
    AttachOptions { session: Some("s".to_owned()), cursor, role: ShellRole::Observer, client: None }
}

#[test]
fn each_event_comes_once_across_connections() {
    let (targets, serving) = daemon(vec![
        Turn::Events(3, &[1, 2, 3]),
        Turn::Close,
        // A daemon that repeats itself is not believed.
        Turn::Events(5, &[3, 4, 5]),
    ]);
    let mut follower = SessionFollower::new(targets, wish(Some(0)), AGAIN).unwrap();
    let mut notices = Vec::new();
    let mut tell = |notice: ConnectionNotice<'_>| {
        notices.push(match notice {
            ConnectionNotice::Lost(_) => "lost".to_owned(),
            ConnectionNotice::Back(seen) => format!("back behind {seen}"),
        });
    };
    let seen: Vec<u64> = (0..5).map(|_| follower.next_event(&mut tell).unwrap().seq).collect();
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    assert_eq!(notices, ["lost", "back behind 3"]);
    let hellos = serving.join().unwrap();
    let start = "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :length :bytes \
                 :session \"s\" :cursor";
    assert_eq!(hellos[0], format!("{start} 0 :role :observer :shell :cli))"));
    assert_eq!(hellos[2], format!("{start} 3 :role :observer :shell :cli))"));
}

#[test]
fn without_a_cursor_it_begins_with_what_comes_next() {
    let (targets, serving) = daemon(vec![Turn::Events(7, &[8])]);
    let mut follower = SessionFollower::new(targets, wish(None), AGAIN).unwrap();
    assert_eq!((follower.head(), follower.seen()), (7, 7));
    assert_eq!(follower.next_event(&mut |_| {}).unwrap().text, event(8));
    assert!(!serving.join().unwrap()[0].contains(":cursor"));
}

#[test]
fn what_waiting_does_not_mend_is_an_error() {
    let (targets, _serving) = daemon(vec![Turn::Refuse("unknown-session")]);
    let error = SessionFollower::new(targets, wish(Some(0)), AGAIN).unwrap_err();
    assert!(
        matches!(&error, ShellError::Refused { code, .. } if code == "unknown-session"),
        "{error}"
    );
    // Forgotten while it was followed: the second connection is refused.
    let (targets, _serving) = daemon(vec![Turn::Events(0, &[]), Turn::Refuse("unknown-session")]);
    let error = SessionFollower::new(targets, wish(Some(0)), AGAIN)
        .unwrap()
        .next_event(&mut |_| {})
        .unwrap_err();
    assert!(
        matches!(&error, ShellError::Refused { code, .. } if code == "unknown-session"),
        "{error}"
    );
}

#[test]
fn a_refusal_that_passes_is_waited_out() {
    let (targets, _serving) = daemon(vec![
        Turn::Events(0, &[]),
        Turn::Refuse("too-many-connections"),
        Turn::Events(1, &[1]),
    ]);
    let mut follower = SessionFollower::new(targets, wish(Some(0)), AGAIN).unwrap();
    assert_eq!(follower.next_event(&mut |_| {}).unwrap().seq, 1);
}

#[test]
fn a_lost_connection_can_be_an_error() {
    let (targets, _serving) = daemon(vec![Turn::Events(5, &[1, 2])]);
    let session = "s".to_owned();
    let order =
        TailOrder { targets, session, after: 0, until: TailEnd::Head, output: TailOutput::Lisp };
    let mut out = Vec::new();
    let error = tail::run(order, &mut out, &mut |_| {}).unwrap_err();
    assert!(matches!(error, ShellError::Closed { .. }), "{error}");
    assert_eq!(String::from_utf8(out).unwrap(), format!("{}\n{}\n", event(1), event(2)));
}

#[test]
fn events_may_be_deeper_than_messages() {
    let (targets, _serving) = daemon(vec![Turn::Deep(600)]);
    let mut follower = SessionFollower::new(targets, wish(Some(0)), AGAIN).unwrap();
    assert_eq!(follower.next_event(&mut |_| {}).unwrap().seq, 1);
}

#[test]
fn tail_ends_at_the_head_unless_it_follows() {
    let (targets, _serving) = daemon(vec![Turn::Events(2, &[1, 2, 3])]);
    let session = "s".to_owned();
    let order =
        TailOrder { targets, session, after: 0, until: TailEnd::Head, output: TailOutput::Lisp };
    let mut out = Vec::new();
    tail::run(order, &mut out, &mut |_| {}).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), format!("{}\n{}\n", event(1), event(2)));
}
