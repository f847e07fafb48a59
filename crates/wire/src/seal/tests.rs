//! Tests of keys and of both sides of a signed connection, in one process.

use super::*;
use crate::frame::{
    DecodeStep, DecoderOptions, FrameDecoder, FrameEncoder, LengthUnit, UnknownUnitPolicy,
};

const SECRET: &[u8] = b"0123456789abcdef";
const OTHER: &[u8] = b"fedcba9876543210";

fn key(id: &str, secret: &[u8]) -> SigningKey {
    SigningKey::strong(KeyId::new(id), secret).expect("a long secret")
}

fn ring() -> SigningKeyring {
    SigningKeyring::new([key("laptop", SECRET), key("phone", OTHER)]).expect("two keys")
}

fn nonce(byte: u8) -> ConnectionNonce {
    ConnectionNonce::from_random([byte; 16])
}

fn session(id: &str, secret: &[u8]) -> SealSession {
    SealSession { key: key(id, secret), client: nonce(0xC1), server: nonce(0x5E) }
}

fn server() -> FrameDecoder {
    let verifier = FrameVerifier::server(ring(), nonce(0x5E), VersionOnePolicy::Allow);
    FrameDecoder::signed(DecoderOptions::default(), verifier)
}

fn client_hello(id: &str, client: ConnectionNonce, answer: ConnectionNonce) -> String {
    format!(
        "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" \
         :auth (:hmac 2 :key \"{id}\" :nonce \"{}\" :answer \"{}\")))",
        client.as_str(),
        answer.as_str()
    )
}

fn writer(signer: FrameSigner) -> impl FnMut(&str) -> Vec<u8> {
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Pad);
    encoder.set_signer(signer);
    move |payload| {
        let mut out = Vec::new();
        encoder.encode(payload, &mut out).expect("a frame");
        out
    }
}

/// A client that answers: its hello, then two frames.
fn client_frames(signer: FrameSigner, id: &str) -> [Vec<u8>; 3] {
    let mut write = writer(signer);
    let hello = write(&client_hello(id, nonce(0xC1), nonce(0x5E)));
    [hello, write("(:type :health-check)"), write("(:type :LOG :payload (:text \"日本\"))")]
}

/// The code of the fault, or "frame".
fn judge(decoder: &mut FrameDecoder, frame: &[u8]) -> &'static str {
    match decoder.decode(frame) {
        Ok(DecodeStep::Frame { consumed, .. }) if consumed == frame.len() => "frame",
        Ok(DecodeStep::Refused { error, .. }) => error.code().as_str(),
        Ok(other) => panic!("{other:?}"),
        Err(lost) => lost.code().as_str(),
    }
}

#[test]
fn secrets_stay_inside() {
    let ring = ring();
    let shown = format!(
        "{ring:?} {:?} {:?} {:?}",
        FrameSigner::v1(ring.first().clone()),
        session("laptop", SECRET),
        server()
    );
    assert!(shown.contains("laptop"), "{shown}");
    assert!(!shown.contains("0123456789") && !shown.contains("48, 49, 50"), "{shown}");
    let error = SigningKey::strong(KeyId::new("k"), b"topsecret").expect_err("too short");
    assert_eq!(error.to_string(), "expected a secret of at least 16 bytes for key `k`, got 9");
    assert!(!format!("{error:?}").contains("topsecret"));
}

#[test]
fn rings_have_different_names_and_at_least_one() {
    assert_eq!(SigningKeyring::new([]).expect_err("none"), KeyError::NoKey);
    let twice = SigningKeyring::new([key("a", SECRET), key("a", OTHER)]).expect_err("twice");
    assert_eq!(twice, KeyError::Twice { id: KeyId::new("a") });
    assert_eq!(ring().first().id().as_str(), "laptop");
    assert!(ring().get("phone").is_some() && ring().get("Phone").is_none());
}

#[test]
fn texts_are_signed_for_one_purpose() {
    let key = SigningKey::from_bytes(KeyId::new("a"), b"a secret of many bytes");
    let signature = key.sign_text("head", "text");
    assert_eq!(signature.len(), 64);
    assert!(key.has_signed_text("head", "text", &signature));
    assert!(key.has_signed_text("head", "text", &signature.to_ascii_uppercase()));
    let other = SigningKey::from_bytes(KeyId::new("a"), b"another secret of many");
    assert!(!other.has_signed_text("head", "text", &signature));
    for (purpose, text) in [("other", "text"), ("head", "tex"), ("headt", "ext"), ("", "text")] {
        assert!(!key.has_signed_text(purpose, text, &signature), "{purpose} {text}");
    }
    for bad in ["", "00", &signature[1..], &"g".repeat(64), &"é".repeat(32)] {
        assert!(!key.has_signed_text("head", "text", bad), "{bad}");
    }
}

#[test]
fn nonces_are_32_hex_digits() {
    let text = "00FFeedd00112233445566778899aabb";
    assert_eq!(ConnectionNonce::parse(text).expect("a nonce").as_str(), text);
    assert_eq!(nonce(0xAB).as_str(), "ab".repeat(16));
    for bad in ["", "ab", "0x112233445566778899aabbccddeeff00", &"g".repeat(32), &"a".repeat(33)] {
        assert_eq!(ConnectionNonce::parse(bad), Err(KeyError::BadNonce), "{bad}");
    }
}

/// Computed with another implementation from the layout in the module's text.
#[test]
fn version_2_signs_what_the_text_says() {
    let mut client = writer(FrameSigner::client(session("laptop", SECRET)));
    let mut server = writer(FrameSigner::server(session("laptop", SECRET)));
    let sealed = |frame: Vec<u8>| String::from_utf8(frame).expect("ASCII")[6..70].to_owned();
    assert_eq!(sealed(client("(:a)")), KNOWN[0]);
    assert_eq!(sealed(client("(:a)")), KNOWN[1]);
    assert_eq!(sealed(server("(:a)")), KNOWN[2]);
}

const KNOWN: [&str; 3] = [
    "65e80928e263139656f2dcc24d6409ca57c466155c5c2415a734baffcb20913e",
    "3f7cc4c08c1646f47aa7d7479e538da134f902a8fb28282026dc44762440090d",
    "ff0deab5dda0a574d3638a056918df58ca0a55754935f7565c0ba05ee08bdc6d",
];

#[test]
fn version_2_both_ways() {
    // The server greets with its first key; the client holds the second alone.
    let mut server_out = FrameEncoder::new(UnknownUnitPolicy::Pad);
    server_out.set_signer(FrameSigner::v1(ring().first().clone()));
    let mut greeting = Vec::new();
    server_out.encode("(:type :EVENT)", &mut greeting).expect("a frame");

    let phone = session("phone", OTHER);
    let verifier = FrameVerifier::client(SigningKeyring::of(phone.key.clone()));
    let mut client_in = FrameDecoder::signed(DecoderOptions::default(), verifier);
    assert_eq!(judge(&mut client_in, &greeting), "frame");
    let verifier = client_in.verifier_mut().expect("signed");
    assert_eq!(verifier.origin(), Some(&FrameOrigin::Unproven));
    assert!(verifier.key().is_none());
    verifier.answer(phone.clone());

    let mut server_in = server();
    for frame in client_frames(FrameSigner::client(phone), "phone") {
        assert_eq!(judge(&mut server_in, &frame), "frame");
        let verifier = server_in.verifier().expect("signed");
        assert_eq!(verifier.origin(), Some(&FrameOrigin::V2(KeyId::new("phone"))));
    }
    assert_eq!(server_in.unit(), Some(LengthUnit::Bytes));

    let agreed = server_in.verifier().and_then(FrameVerifier::session).expect("version 2").clone();
    let mut write = writer(FrameSigner::server(agreed));
    for payload in ["(:b)", "(:c \"é\")", "(:d)"] {
        assert_eq!(judge(&mut client_in, &write(payload)), "frame");
    }
    assert_eq!(
        client_in.verifier().and_then(FrameVerifier::origin),
        Some(&FrameOrigin::V2(KeyId::new("phone")))
    );
}

#[test]
fn a_proven_greeting_is_told_from_an_unproven_one() {
    let mut write = writer(FrameSigner::v1(key("laptop", SECRET)));
    let greeting = write("(:type :EVENT)");
    let mut reader = FrameDecoder::signed(DecoderOptions::default(), FrameVerifier::client(ring()));
    assert_eq!(judge(&mut reader, &greeting), "frame");
    let origin = reader.verifier().and_then(FrameVerifier::origin);
    assert_eq!(origin, Some(&FrameOrigin::V1(KeyId::new("laptop"))));
    // Nothing more is taken before the client has answered.
    assert_eq!(judge(&mut reader, &greeting), "bad-signature");
}

#[test]
fn repeated_reordered_lost_and_reflected_frames_close() {
    let frames = || client_frames(FrameSigner::client(session("laptop", SECRET)), "laptop");
    let run = |order: &[usize]| -> Vec<&'static str> {
        let mut server = server();
        order.iter().map(|&index| judge(&mut server, &frames()[index])).collect()
    };
    assert_eq!(run(&[0, 1, 2]), ["frame"; 3]);
    assert_eq!(run(&[0, 0]), ["frame", "replayed-frame"]);
    assert_eq!(run(&[0, 1, 1]), ["frame", "frame", "replayed-frame"]);
    assert_eq!(run(&[0, 2]), ["frame", "replayed-frame"]);
    assert_eq!(run(&[1]), ["bad-signature"]);
    let mut reflected = writer(FrameSigner::server(session("laptop", SECRET)));
    let hello = reflected(&client_hello("laptop", nonce(0xC1), nonce(0x5E)));
    assert_eq!(judge(&mut server(), &hello), "bad-signature");
}

#[test]
fn what_a_hello_claims_must_be_proven() {
    let hello = |id: &str, secret, client, answer, session: SealSession| {
        let session = SealSession { key: key(id, secret), ..session };
        let frame = writer(FrameSigner::client(session))(&client_hello(id, client, answer));
        judge(&mut server(), &frame)
    };
    let good = session("laptop", SECRET);
    let (client, server_nonce) = (good.client, good.server);
    assert_eq!(hello("laptop", SECRET, client, server_nonce, good.clone()), "frame");
    assert_eq!(hello("laptop", OTHER, client, server_nonce, good.clone()), "bad-signature");
    assert_eq!(hello("phone", SECRET, client, server_nonce, good.clone()), "bad-signature");
    assert_eq!(hello("nobody", SECRET, client, server_nonce, good.clone()), "bad-signature");
    assert_eq!(hello("laptop", SECRET, nonce(1), server_nonce, good.clone()), "bad-signature");
    assert_eq!(hello("laptop", SECRET, client, nonce(1), good.clone()), "bad-signature");
    // A recorded hello of another connection: its own nonce, its own signature.
    let old = SealSession { server: nonce(1), ..good };
    assert_eq!(hello("laptop", SECRET, client, nonce(1), old), "bad-signature");
}

#[test]
fn the_header_is_signed_in_version_2_as_it_stands() {
    let upper = |mut frame: Vec<u8>| {
        frame[..6].make_ascii_uppercase();
        frame
    };
    let payload = "(:type :LOG :payload nil)!";
    let old = writer(FrameSigner::v1(key("laptop", SECRET)))(payload);
    assert!(old.starts_with(b"00001a"));
    assert_eq!(judge(&mut server(), &upper(old)), "frame");

    let mut write = writer(FrameSigner::client(session("laptop", SECRET)));
    let mut reader = server();
    let hello = write(&client_hello("laptop", nonce(0xC1), nonce(0x5E)));
    assert_eq!(judge(&mut reader, &hello), "frame");
    assert_eq!(judge(&mut reader, &upper(write(payload))), "bad-signature");
}

#[test]
fn version_1_only_where_allowed_and_then_for_good() {
    let mut write = writer(FrameSigner::v1(key("phone", OTHER)));
    let old = write("(:type :health-check)");
    let mut reader = server();
    assert_eq!(judge(&mut reader, &old), "frame");
    assert_eq!(judge(&mut reader, &old), "frame");
    let verifier = reader.verifier().expect("signed");
    assert_eq!(verifier.origin(), Some(&FrameOrigin::V1(KeyId::new("phone"))));
    assert_eq!(verifier.key().map(|key| key.id().as_str()), Some("phone"));
    assert!(verifier.session().is_none());
    let [hello, ..] = client_frames(FrameSigner::client(session("laptop", SECRET)), "laptop");
    assert_eq!(judge(&mut reader, &hello), "bad-signature");

    let strict = FrameVerifier::server(ring(), nonce(0x5E), VersionOnePolicy::Refuse);
    let mut strict = FrameDecoder::signed(DecoderOptions::default(), strict);
    assert_eq!(judge(&mut strict, &old), "bad-signature");
    let mut strict = FrameDecoder::signed(
        DecoderOptions::default(),
        FrameVerifier::server(ring(), nonce(0x5E), VersionOnePolicy::Refuse),
    );
    assert_eq!(judge(&mut strict, &hello), "frame");
    assert_eq!(judge(&mut strict, &old), "bad-signature");
}

#[test]
fn a_rotated_key_is_read_until_it_is_dropped() {
    let frame = writer(FrameSigner::v1(key("old", SECRET)))("(:a)");
    let both = SigningKeyring::new([key("new", OTHER), key("old", SECRET)]).expect("two keys");
    let new = SigningKeyring::of(key("new", OTHER));
    for (ring, verdict) in [(both, "frame"), (new, "bad-signature")] {
        let mut reader = FrameDecoder::signed(DecoderOptions::default(), FrameVerifier::v1(ring));
        assert_eq!(judge(&mut reader, &frame), verdict);
    }
}

#[test]
fn a_hello_in_characters_settles_the_unit_by_its_signature() {
    let hello = client_hello("laptop", nonce(0xC1), nonce(0x5E)).replace("0.3.0", "日本語");
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Chars);
    encoder.set_signer(FrameSigner::client(session("laptop", SECRET)));
    let mut frame = Vec::new();
    encoder.encode(&hello, &mut frame).expect("a frame");
    let mut reader = server();
    for received in 0..frame.len() {
        let need = reader.decode(&frame[..received]);
        assert!(matches!(need, Ok(DecodeStep::Need { skip: 0, .. })), "{received}: {need:?}");
    }
    assert_eq!(judge(&mut reader, &frame), "frame");
    assert_eq!(reader.unit(), Some(LengthUnit::Chars));
}

#[test]
fn a_large_first_frame_is_not_searched_for_a_name() {
    let mut hello = client_hello("laptop", nonce(0xC1), nonce(0x5E));
    hello.push_str(&" ".repeat(64 * 1024));
    let frame = writer(FrameSigner::client(session("laptop", SECRET)))(&hello);
    assert_eq!(judge(&mut server(), &frame), "bad-signature");
}

#[test]
fn five_signed_mebibytes_in_single_bytes() {
    let payload = format!("(:text \"{}\")", "日本".repeat(1 << 20));
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Chars);
    encoder.set_signer(FrameSigner::v1(key("laptop", SECRET)));
    let mut frame = Vec::new();
    encoder.encode(&payload, &mut frame).expect("a frame");
    let mut reader = FrameDecoder::signed(DecoderOptions::default(), FrameVerifier::v1(ring()));
    for received in 0..frame.len() {
        assert!(matches!(reader.decode(&frame[..received]), Ok(DecodeStep::Need { .. })));
    }
    assert_eq!(judge(&mut reader, &frame), "frame");
    assert_eq!(reader.unit(), Some(LengthUnit::Chars));
}
