//! Large messages in small pieces, and many frames in one piece: where a reader loses its place.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use bridle_sexp::Value;
use bridle_wire::frame::{DecodeStep, DecoderOptions, FrameDecoder};

use crate::conversation::{self, TEXTS};
use crate::support::{self, Server};

/// Characters of the free text of a large message; each of its four bytes in UTF-8.
const LARGE: usize = 5 * 1024 * 1024 / 4;

/// A request of 5 MiB with an id to know its answer by.
fn large() -> String {
    format!("(:type :REQUEST :id 5 :payload (:action :message :text \"{}\"))", "😀".repeat(LARGE))
}

/// The large message between two small ones; the answers show that the reader kept its place.
fn large_script() -> String {
    format!("(:type :health-check)\n{}\n(:type :health-check)\n", large())
}

fn check_large(who: &str, printed: &[u8]) {
    let answers = support::forms(printed);
    assert_eq!(answers.len(), 4, "{who}: a hello and three answers");
    assert_eq!(answers[2].get("id").and_then(Value::as_i64), Some(5), "{who}: {}", answers[2]);
    for health in [&answers[1], &answers[3]] {
        assert!(
            health.get("type").is_some_and(|kind| kind.is_keyword("health-response")),
            "{who}: {health}"
        );
    }
}

#[test]
fn five_mebibytes_in_pieces_of_a_thousand_bytes() {
    let daemon = Server::bridle();
    let port = daemon.port_text();
    let script = large_script();
    for dialect in ["002", "003"] {
        let peer = support::sbcl(&["talk", &port, "--dialect", dialect, "--fragment", "1000"]);
        check_large(dialect, &support::finish(peer, script.as_bytes()));
    }
    for unit in ["chars", "bytes"] {
        let peer = support::emacs(&["talk", &port, "--unit", unit, "--fragment", "1000"]);
        check_large(unit, &support::finish(peer, script.as_bytes()));
    }
}

#[test]
fn five_mebibytes_a_byte_at_a_time_through_the_codec() {
    let message = large();
    for dialect in ["002", "003"] {
        let frames =
            support::finish(support::sbcl(&["encode", "--dialect", dialect]), message.as_bytes());
        let mut decoder = FrameDecoder::new(DecoderOptions::default());
        let mut found = Vec::new();
        let mut start = 0;
        for end in 1..=frames.len() {
            match decoder.decode(&frames[start..end]).expect("the framing is whole") {
                DecodeStep::Need { skip, .. } => start += skip,
                DecodeStep::Frame { payload, consumed } => {
                    found.push(frames[start..end][payload].len());
                    start += consumed;
                }
                DecodeStep::Refused { error, .. } => panic!("{dialect}: refused: {error}"),
            }
        }
        assert_eq!((found, start), (vec![message.len()], frames.len()), "{dialect}");
    }
}

#[test]
fn a_byte_at_a_time_over_a_socket() {
    let sent = conversation::conversation(&TEXTS);
    let frames: Vec<u8> = sent.iter().flat_map(|sent| support::frame(&sent.form)).collect();
    conversation::check("a byte at a time", &sent, &support::forms(&dribble(&frames)));
}

#[test]
fn five_mebibytes_a_byte_at_a_time_over_a_socket() {
    let health = support::frame("(:type :health-check)");
    let frames = [health.clone(), support::frame(&large()), health].concat();
    check_large("a byte at a time", &dribble(&frames));
}

/// Writes `frames` to a daemon one byte at a time and returns the payloads of its answers, one a line.
fn dribble(frames: &[u8]) -> Vec<u8> {
    let daemon = Server::bridle();
    let mut connection = TcpStream::connect(daemon.address()).expect("the daemon listens");
    connection.set_nodelay(true).expect("loopback sockets take the option");
    for byte in frames {
        connection.write_all(&[*byte]).expect("the daemon reads on");
    }
    connection.shutdown(Shutdown::Write).expect("the sending side can be ended");
    let mut answers = Vec::new();
    connection.read_to_end(&mut answers).expect("the daemon answers and closes");
    support::payloads(&answers).join("\n").into_bytes()
}

#[test]
fn pipelined_frames_are_answered_in_order() {
    let daemon = Server::bridle();
    let port = daemon.port_text();
    // Enough that neither side's buffers hold everything.
    let sent: Vec<_> = (0..20).flat_map(|_| conversation::conversation(&TEXTS)).collect();
    let script = conversation::script(&sent);
    for dialect in ["000", "001", "002", "003"] {
        let peer = support::sbcl(&["talk", &port, "--dialect", dialect, "--pipeline"]);
        conversation::check(dialect, &sent, &support::forms(&support::finish(peer, &script)));
    }
    for unit in ["chars", "bytes"] {
        let peer = support::emacs(&["talk", &port, "--unit", unit, "--pipeline"]);
        conversation::check(unit, &sent, &support::forms(&support::finish(peer, &script)));
    }
}
