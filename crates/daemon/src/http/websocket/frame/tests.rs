//! Frames: whole, in pieces, hostile; what is written.

use super::{WebSocketDecoder, WebSocketFault, WebSocketInput, close, pong, text};

/// Largest message in these tests.
const MOST: usize = 100_000;

/// A frame as a client writes it, under a mask.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..=125 => frame.push(0x80 | u8::try_from(length).unwrap()),
        length @ 126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&u64::try_from(length).unwrap().to_be_bytes());
        }
    }
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    frame.extend_from_slice(&mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// What is heard in bytes that come in pieces of this size.
fn heard(bytes: &[u8], piece: usize) -> Result<Vec<WebSocketInput>, WebSocketFault> {
    let mut decoder = WebSocketDecoder::new(MOST);
    let mut all = Vec::new();
    for piece in bytes.chunks(piece) {
        decoder.push(piece);
        while let Some(heard) = decoder.next()? {
            all.push(heard);
        }
    }
    Ok(all)
}

fn said(text: &str) -> WebSocketInput {
    WebSocketInput::Text(text.to_owned())
}

#[test]
fn messages_are_the_same_however_they_are_cut() {
    let long = "x".repeat(70_000);
    let bytes = [
        // The example of RFC 6455.
        vec![0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58],
        masked(0x01, b"Hel"),
        masked(0x89, b"are you there?"),
        masked(0x00, "l\u{f6}".as_bytes()),
        masked(0x80, b""),
        masked(0x8a, b""),
        masked(0x81, "y".repeat(300).as_bytes()),
        masked(0x81, long.as_bytes()),
        masked(0x88, &[0x03, 0xe8]),
    ]
    .concat();
    let expected = vec![
        said("Hello"),
        WebSocketInput::Ping(b"are you there?".to_vec()),
        said("Hell\u{f6}"),
        WebSocketInput::Pong,
        said(&"y".repeat(300)),
        said(&long),
        WebSocketInput::Close(Some(1000)),
    ];
    for piece in [1, 2, 7, 1_000, bytes.len()] {
        assert_eq!(heard(&bytes, piece).as_ref(), Ok(&expected), "{piece}");
    }
}

#[test]
fn what_is_wrong_shows_in_the_header() {
    let check = |bytes: &[u8], fault| assert_eq!(heard(bytes, 1), Err(fault), "{bytes:x?}");
    check(b"\x81\x05Hello", WebSocketFault::Protocol);
    check(&masked(0xc1, b"x"), WebSocketFault::Protocol);
    check(&masked(0x83, b"x"), WebSocketFault::Protocol);
    check(&masked(0x80, b"x"), WebSocketFault::Protocol);
    check(&[masked(0x01, b"x"), masked(0x81, b"y")].concat(), WebSocketFault::Protocol);
    check(&masked(0x09, b"half a ping"), WebSocketFault::Protocol);
    check(&masked(0x89, &[0; 126]), WebSocketFault::Protocol);
    check(&masked(0x82, b"x"), WebSocketFault::Binary);
    check(&masked(0x81, b"\xff"), WebSocketFault::NotUtf8);
    check(b"\x81\xff\x00\x00\x00\x00\xff\xff\xff\xff", WebSocketFault::TooLarge);
    // A length with its first bit set, and lengths in more bytes than they need.
    check(b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", WebSocketFault::Protocol);
    check(b"\x81\xff\x00\x00\x00\x00\x00\x00\xff\xff", WebSocketFault::Protocol);
    check(b"\x81\xfe\x00\x7d", WebSocketFault::Protocol);
    let half = vec![b'x'; MOST / 2 + 1];
    check(&[masked(0x01, &half), masked(0x80, &half)].concat(), WebSocketFault::TooLarge);
}

#[test]
fn a_close_says_what_may_be_said() {
    let close = |payload: &[u8]| heard(&masked(0x88, payload), 1);
    let coded = |code: u16, words: &[u8]| close(&[&code.to_be_bytes()[..], words].concat());
    assert_eq!(close(b""), Ok(vec![WebSocketInput::Close(None)]));
    for code in [1000, 1001, 1002, 1003, 1007, 1008, 1011, 1014, 3000, 4999] {
        assert_eq!(coded(code, b"why"), Ok(vec![WebSocketInput::Close(Some(code))]), "{code}");
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65_535] {
        assert_eq!(coded(code, b""), Err(WebSocketFault::Protocol), "{code}");
    }
    assert_eq!(close(b"\x03"), Err(WebSocketFault::Protocol));
    assert_eq!(coded(1000, b"\xce\xba\xff"), Err(WebSocketFault::NotUtf8));
    assert_eq!(close(&[3; 126]), Err(WebSocketFault::Protocol));
}

#[test]
fn what_is_held_is_what_was_not_taken() {
    let mut decoder = WebSocketDecoder::new(MOST);
    assert_eq!(decoder.held(), 0);
    decoder.push(&masked(0x01, b"half"));
    assert_eq!(decoder.held(), 10);
    assert_eq!(decoder.next(), Ok(None));
    assert_eq!(decoder.held(), 4);
    decoder.push(&masked(0x80, b"")[..3]);
    assert_eq!((decoder.next(), decoder.held()), (Ok(None), 7));
    decoder.push(&masked(0x80, b"")[3..]);
    assert_eq!((decoder.next(), decoder.held()), (Ok(Some(said("half"))), 0));
}

#[test]
fn a_connection_that_rests_holds_nothing() {
    let mut decoder = WebSocketDecoder::new(MOST);
    decoder.push(&masked(0x81, &vec![b'x'; MOST]));
    assert!(matches!(decoder.next(), Ok(Some(WebSocketInput::Text(_)))));
    assert_eq!(decoder.bytes.capacity(), 0);
}

#[test]
fn what_is_written_has_the_shortest_header() {
    assert_eq!(text("Hello"), b"\x81\x05Hello");
    assert_eq!(pong(b"ab"), b"\x8a\x02ab");
    assert_eq!(close(1001, "bye"), b"\x88\x05\x03\xe9bye");
    assert_eq!(text(&"x".repeat(126))[..4], [0x81, 126, 0, 126]);
    assert_eq!(text(&"x".repeat(65_536))[..10], [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
}
