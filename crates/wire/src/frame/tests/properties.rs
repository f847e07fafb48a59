//! Properties of the codec: pieces do not matter, what is written is read, nothing panics.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::*;
use super::{decoder, run};
use crate::seal::{FrameSigner, FrameVerifier, KeyId, SigningKey, SigningKeyring};

/// The inside of a string in mixed scripts, with what could confuse a scan for brackets.
fn text() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "a",
        "Z",
        " ",
        "0",
        "\n",
        "é",
        "ÿ",
        "日本",
        "مرحبا",
        "λ",
        "😀",
        "e\u{301}",
        "(",
        ")",
        "[",
        "]",
        "\\\"",
        "\\\\",
        "|",
        "#",
        ";",
        "'",
        "\\é",
        "\u{0}",
        "\u{10FFFF}",
    ]);
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A message: one list.
fn message() -> impl Strategy<Value = String> {
    (text(), text()).prop_map(|(one, two)| {
        format!("(:type :EVENT :payload (:text \"{one}\" #\\( |{}| \"{two}\"))", "b)é")
    })
}

fn unit() -> impl Strategy<Value = LengthUnit> {
    select(vec![LengthUnit::Bytes, LengthUnit::Chars])
}

/// Pieces of streams, good and bad, that meet in any order.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let fixed: Vec<&'static [u8]> = vec![
        b" ",
        b"\n\t\r ",
        b"000000",
        b"0",
        b"00000",
        b"000004(:b)",
        b"ffffff",
        b"000005\xff(:b)",
        b"000006(:a \"\xc3",
        b"000003(\xe6\x97",
        b"00001e",
        b"zzzzzz",
        b"\x80",
        b"(",
        b")",
        b"\"",
    ];
    prop_oneof![
        2 => select(fixed).prop_map(<[u8]>::to_vec),
        2 => (message(), unit()).prop_map(|(payload, unit)| encoded(&payload, Some(unit))),
        1 => message().prop_map(|payload| encoded(&payload, None)),
        1 => (text(), unit()).prop_map(|(text, unit)| encoded(&format!("x{text}"), Some(unit))),
        1 => vec(any::<u8>(), 0..20),
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    vec(fragment(), 0..8).prop_map(|fragments| fragments.concat())
}

fn cuts(stream: &[u8], at: &[Index]) -> Vec<usize> {
    let mut cuts: Vec<usize> = at.iter().map(|index| index.index(stream.len() + 1)).collect();
    cuts.sort_unstable();
    cuts
}

fn encoded(payload: &str, unit: Option<LengthUnit>) -> Vec<u8> {
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Pad);
    if let Some(unit) = unit {
        encoder.set_unit(unit);
    }
    let mut out = Vec::new();
    encoder.encode(payload, &mut out).expect("a frame");
    out
}

fn small(max_frame: usize) -> FrameDecoder {
    FrameDecoder::new(DecoderOptions { max_frame, unit: None })
}

fn key() -> SigningKey {
    SigningKey::from_bytes(KeyId::new("k"), b"a secret of some length")
}

fn signed() -> FrameDecoder {
    FrameDecoder::signed(DecoderOptions::default(), FrameVerifier::v1(SigningKeyring::of(key())))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn pieces_do_not_matter(stream in stream(), at in vec(any::<Index>(), 0..12)) {
        let cuts = cuts(&stream, &at);
        let bytewise: Vec<usize> = (0..stream.len()).collect();
        for make in [decoder, || small(40), || small(3), signed] {
            let whole = run(make(), &stream, &[]);
            prop_assert_eq!(&run(make(), &stream, &cuts), &whole);
            prop_assert_eq!(&run(make(), &stream, &bytewise), &whole);
        }
    }

    #[test]
    fn garbage_never_panics(stream in vec(any::<u8>(), 0..400), at in vec(any::<Index>(), 0..6)) {
        // `run` checks that nothing is consumed that was not given.
        let cuts = cuts(&stream, &at);
        prop_assert_eq!(run(decoder(), &stream, &cuts), run(decoder(), &stream, &[]));
        prop_assert_eq!(run(signed(), &stream, &cuts), run(signed(), &stream, &[]));
    }

    #[test]
    fn garbage_behind_a_header_never_panics(
        length in 1usize..60,
        bytes in vec(select(b"()\"\\|#; a0\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80".to_vec()), 0..200),
        told in proptest::option::of(unit()),
        at in vec(any::<Index>(), 0..6),
    ) {
        let mut stream = format!("{length:06x}").into_bytes();
        stream.extend_from_slice(&bytes);
        for max_frame in [MAX_FRAME, 8] {
            let make = || FrameDecoder::new(DecoderOptions { max_frame, unit: told });
            let whole = run(make(), &stream, &[]);
            prop_assert_eq!(run(make(), &stream, &cuts(&stream, &at)), whole);
        }
    }

    #[test]
    fn what_is_written_is_read(messages in vec(message(), 1..6), unit in unit(), told: bool) {
        let mut stream = Vec::new();
        for message in &messages {
            stream.extend(encoded(message, Some(unit)));
        }
        let mut decoder = decoder();
        if told {
            decoder.set_unit(unit);
        }
        let got = run(decoder, &stream, &[]);
        prop_assert_eq!(got.out, messages.into_iter().map(Ok).collect::<Vec<_>>());
        prop_assert_eq!((got.end, got.unit), (Ok(()), Some(unit)));
    }

    #[test]
    fn a_signed_frame_is_read_in_either_unit(
        messages in vec(message(), 1..6),
        unit in unit(),
        at in vec(any::<Index>(), 0..12),
    ) {
        let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Pad);
        encoder.set_unit(unit);
        encoder.set_signer(FrameSigner::v1(key()));
        let mut stream = Vec::new();
        for message in &messages {
            encoder.encode(message, &mut stream).expect("a frame");
        }
        let got = run(signed(), &stream, &cuts(&stream, &at));
        prop_assert_eq!(got.out, messages.into_iter().map(Ok).collect::<Vec<_>>());
        prop_assert_eq!((got.end, got.unit), (Ok(()), Some(unit)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    /// Byte counters skip the padding, character counters find it inside the frame.
    #[test]
    fn padded_frames_suit_every_reader(messages in vec(message(), 1..4)) {
        let mut stream = Vec::new();
        for message in &messages {
            stream.extend(encoded(message, None));
        }
        for told in [None, Some(LengthUnit::Bytes), Some(LengthUnit::Chars)] {
            let reader = FrameDecoder::new(DecoderOptions { unit: told, ..Default::default() });
            let got = run(reader, &stream, &[]);
            prop_assert_eq!(got.end, Ok(()));
            prop_assert_eq!(got.out.len(), messages.len());
            for (read, written) in got.out.iter().zip(&messages) {
                let read = read.as_deref().expect("a frame");
                prop_assert_eq!(read.trim_end_matches(' '), written);
                prop_assert_eq!(read == written, told != Some(LengthUnit::Chars));
            }
        }
    }
}
