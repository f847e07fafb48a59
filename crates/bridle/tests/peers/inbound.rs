//! Peers as clients of the daemon: everything a client can send, in four scripts, on one connection, with one
//! answer for each frame.

use std::process::Command;

use bridle_sexp::Value;

use crate::conversation::{self, TEXTS};
use crate::support::{self, Server};

/// Runs `peer` over a conversation in `texts` at a daemon and checks the answers.
fn converse(who: &str, peer: Command, texts: &[&str]) {
    let sent = conversation::conversation(texts);
    let printed = support::finish(peer, &conversation::script(&sent));
    conversation::check(who, &sent, &support::forms(&printed));
}

#[test]
fn lisp_that_counts_characters_stays_in_sync() {
    let daemon = Server::bridle();
    for dialect in ["000", "001", "002"] {
        let peer = support::sbcl(&["talk", &daemon.port_text(), "--dialect", dialect]);
        converse(dialect, peer, &TEXTS);
    }
}

#[test]
fn lisp_that_counts_bytes_stays_in_sync() {
    let daemon = Server::bridle();
    let peer = support::sbcl(&["talk", &daemon.port_text(), "--dialect", "003"]);
    converse("003", peer, &TEXTS);
}

#[test]
fn emacs_stays_in_sync_whatever_it_counts() {
    let daemon = Server::bridle();
    for unit in ["chars", "bytes"] {
        let peer = support::emacs(&["talk", &daemon.port_text(), "--unit", unit]);
        converse(unit, peer, &TEXTS);
        let peer = support::emacs(&["talk", &daemon.port_text(), "--unit", unit, "--upper"]);
        converse("upper-case digits", peer, &TEXTS);
    }
}

#[test]
fn a_hello_that_states_the_unit_is_answered_and_kept() {
    let daemon = Server::bridle();
    for unit in ["chars", "bytes"] {
        let hello = format!(
            "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :capabilities (:org-ast) :length :{unit}))\n"
        );
        let mut input = hello.into_bytes();
        input.extend_from_slice(
            "(:type :EVENT :id \"你好\" :payload (:sensor :user-prompt :text \"😀\"))".as_bytes(),
        );
        input.extend_from_slice(b"(:type :health-check)");
        let peer = support::emacs(&["talk", &daemon.port_text(), "--unit", unit]);
        let answers = support::forms(&support::finish(peer, &input));
        assert_eq!(answers.len(), 4, "{unit}: a hello and three answers: {answers:?}");
        assert_eq!(answers[2].get("id").and_then(Value::as_str), Some("你好"), "{unit}");
        assert!(
            answers[3].get("type").is_some_and(|kind| kind.is_keyword("health-response")),
            "{unit}"
        );
    }
}

#[test]
fn a_hello_that_an_old_sanitizer_completed_is_taken() {
    let daemon = Server::bridle();
    let peer = support::sbcl(&["talk", &daemon.port_text(), "--dialect", "001"]);
    let hello = "(:TYPE :EVENT :PAYLOAD (:ACTION :HANDSHAKE :VERSION \"0.1.0\" \
                 :CAPABILITIES (:AUTH :SWANK :ORG-AST NIL)))";
    let answers = support::forms(&support::finish(peer, hello.as_bytes()));
    let status = answers[1].get("payload").and_then(|payload| payload.get("status"));
    assert!(status.is_some_and(|status| status.is_keyword("success")), "{}", answers[1]);
}

#[test]
fn python_stays_in_sync() {
    let daemon = Server::bridle();
    let sent = conversation::conversation(&TEXTS);
    let mut peer = support::python(&[&daemon.port_text()]);
    peer.args(sent.iter().map(|sent| &sent.form));
    conversation::check("python", &sent, &support::forms(&support::finish(peer, b"")));
}

#[test]
fn netcat_gets_one_answer_per_frame() {
    let daemon = Server::bridle();
    let sent = conversation::conversation(&TEXTS);
    let mut peer = Command::new("nc");
    peer.args(["-N", "127.0.0.1", &daemon.port_text()]);
    let input: Vec<u8> = sent.iter().flat_map(|sent| support::frame(&sent.form)).collect();
    let payloads = support::payloads(&support::finish(peer, &input));
    conversation::check("netcat", &sent, &support::forms(payloads.join("\n").as_bytes()));
}

#[test]
fn the_examples_work_as_printed() {
    let daemon = Server::bridle();
    let port = daemon.port_text();
    let health = "(:type :health-check)";
    let mut netcat = Command::new("examples/netcat.sh");
    netcat.args([&port, health]).current_dir(support::root());
    let netcat = support::payloads(&support::finish(netcat, b"")).join("\n").into_bytes();
    let mut emacs = Command::new("emacs");
    emacs.args(["-Q", "--batch", "-l", "examples/emacs.el", "--", &port, health]);
    emacs.current_dir(support::root());
    let emacs = support::finish(emacs, b"");
    let python = support::finish(support::python(&[&port]), b"");
    for (who, printed) in [("netcat.sh", netcat), ("emacs.el", emacs), ("client.py", python)] {
        let forms = support::forms(&printed);
        assert_eq!(forms.len(), 2, "{who}: a hello and an answer: {forms:?}");
        assert!(
            forms[1].get("status").is_some_and(|status| status.is_keyword("healthy")),
            "{who}: {forms:?}"
        );
    }
}

#[test]
fn signed_lisp_is_answered() {
    let daemon = Server::bridle_signed();
    // The oldest dialect signs one octet a character: ASCII, and no more than Latin-1.
    let mut peer = support::sbcl(&["talk", &daemon.port_text(), "--dialect", "000"]);
    support::signing(&mut peer);
    converse("000", peer, &TEXTS[..1]);
    let mut peer = support::sbcl(&["talk", &daemon.port_text(), "--dialect", "003"]);
    support::signing(&mut peer);
    converse("003", peer, &TEXTS);
}

#[test]
fn latin_1_signatures_of_the_oldest_dialect_are_accepted() {
    let daemon = Server::bridle_signed();
    let mut peer = support::sbcl(&["talk", &daemon.port_text(), "--dialect", "000"]);
    support::signing(&mut peer);
    let input = "(:type :LOG :id 7 :payload (:text \"déjà vu\"))(:type :health-check)";
    let answers = support::forms(&support::finish(peer, input.as_bytes()));
    assert_eq!(answers.len(), 3, "a hello and two answers: {answers:?}");
    assert_eq!(answers[1].get("id").and_then(Value::as_i64), Some(7));
}

#[test]
fn signed_emacs_and_python_are_answered() {
    let daemon = Server::bridle_signed();
    for unit in ["chars", "bytes"] {
        let peer = support::emacs(&[
            "talk",
            &daemon.port_text(),
            "--unit",
            unit,
            "--key",
            support::SECRET,
        ]);
        converse(unit, peer, &TEXTS);
    }
    let sent = conversation::conversation(&TEXTS);
    let mut peer = support::python(&[&daemon.port_text()]);
    peer.env("BRIDLE_KEY", support::SECRET).args(sent.iter().map(|sent| &sent.form));
    conversation::check("python", &sent, &support::forms(&support::finish(peer, b"")));
}

#[test]
fn a_wrong_key_is_not_answered_as_a_right_one() {
    let daemon = Server::bridle_signed();
    let mut peer = support::python(&[&daemon.port_text(), "(:type :health-check)"]);
    peer.env("BRIDLE_KEY", "another secret than the daemon's");
    let finished = support::attempt(peer, b"");
    assert!(!finished.success, "a client with another key cannot verify the daemon's hello");
}
