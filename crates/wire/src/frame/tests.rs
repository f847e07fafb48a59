//! Unit tests of the codec: what the vectors cannot say, large messages, and the properties.

mod properties;

use super::*;

/// What a whole stream gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) out: Vec<Result<String, &'static str>>,
    pub(super) end: Result<(), &'static str>,
    pub(super) unit: Option<LengthUnit>,
}

/// Decodes `stream`, given in pieces that end at `cuts`, as a connection would.
pub(super) fn run(mut decoder: FrameDecoder, stream: &[u8], cuts: &[usize]) -> Outcome {
    let mut out = Vec::new();
    let mut end = Ok(());
    // The unconsumed bytes are `stream[done..received]`: no copies, so that long streams in single
    // bytes measure the decoder and not the test.
    let mut done = 0;
    'pieces: for &received in cuts.iter().chain([&stream.len()]) {
        loop {
            let input = &stream[done..received];
            match decoder.decode(input) {
                Err(lost) => {
                    end = Err(lost.code().as_str());
                    assert_eq!(decoder.decode(input), Err(lost), "lost for good");
                    break 'pieces;
                }
                Ok(DecodeStep::Need { skip, more }) => {
                    assert!(more > 0 && skip <= input.len());
                    done += skip;
                    assert_eq!(decoder.inside_frame(), done < received || end_inside(&decoder));
                    break;
                }
                Ok(DecodeStep::Frame { payload, consumed }) => {
                    assert!(payload.end <= consumed && consumed <= input.len());
                    let text = std::str::from_utf8(&input[payload]).expect("a payload is UTF-8");
                    out.push(Ok(text.to_owned()));
                    done += consumed;
                }
                Ok(DecodeStep::Refused { consumed, error }) => {
                    assert!(consumed <= input.len());
                    out.push(Err(error.code().as_str()));
                    done += consumed;
                }
            }
        }
    }
    let rest = &stream[done..];
    let end = end.and_then(|()| decoder.finish(rest).map_err(|lost| lost.code().as_str()));
    Outcome { out, end, unit: decoder.unit() }
}

/// Whether a payload is being thrown away, which keeps no byte in the buffer.
fn end_inside(decoder: &FrameDecoder) -> bool {
    decoder.finish(&[]).is_err()
}

pub(super) fn decoder() -> FrameDecoder {
    FrameDecoder::new(DecoderOptions::default())
}

/// A message of at least 5 MiB in the given text.
fn large(text: &str) -> String {
    let size = 5 << 20;
    format!("(:type :EVENT :payload (:text \"{}\"))", text.repeat(size / text.len() + 1))
}

fn framed(payload: &str, unit: LengthUnit) -> Vec<u8> {
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Pad);
    encoder.set_unit(unit);
    let mut out = Vec::new();
    encoder.encode(payload, &mut out).expect("a frame");
    out
}

fn every(size: usize, stream: &[u8]) -> Vec<usize> {
    (size..stream.len()).step_by(size).collect()
}

#[test]
fn five_mebibytes_in_single_bytes_and_in_thousands() {
    for text in ["plain text, ", "日本語 मिश्र 😀 "] {
        let payload = large(text);
        for unit in [LengthUnit::Bytes, LengthUnit::Chars] {
            let mut stream = framed(&payload, unit);
            stream.extend_from_slice(b"\n000004(:b)");
            for size in [1, 1_000, stream.len()] {
                let got = run(decoder(), &stream, &every(size, &stream));
                assert_eq!(got.out.len(), 2);
                assert!(got.out[0].as_deref() == Ok(payload.as_str()), "{unit:?} in {size}");
                assert_eq!(got.out[1], Ok("(:b)".to_owned()));
                assert_eq!(got.end, Ok(()));
                assert_eq!(got.unit, (!payload.is_ascii()).then_some(unit));
            }
        }
    }
}

#[test]
fn a_thrown_away_payload_leaves_nothing_in_the_buffer() {
    let payload = large("日本語");
    for unit in [LengthUnit::Bytes, LengthUnit::Chars] {
        let stream = framed(&payload, unit);
        let mut decoder = FrameDecoder::new(DecoderOptions { max_frame: 1_000, unit: None });
        let mut kept = Vec::new();
        let mut most = 0;
        let mut refused = 0;
        for piece in stream.chunks(1_000) {
            kept.extend_from_slice(piece);
            loop {
                match decoder.decode(&kept).expect("not lost") {
                    DecodeStep::Need { skip, .. } => {
                        kept.drain(..skip);
                        break;
                    }
                    DecodeStep::Refused { consumed, error } => {
                        assert_eq!(error.code().as_str(), "frame-too-large");
                        refused += 1;
                        kept.drain(..consumed);
                    }
                    frame @ DecodeStep::Frame { .. } => panic!("{frame:?}"),
                }
            }
            most = most.max(kept.len());
        }
        assert_eq!((refused, decoder.unit(), decoder.inside_frame()), (1, Some(unit), false));
        assert!(most < 4, "kept {most} bytes");
    }
}

#[test]
fn more_never_asks_for_bytes_behind_the_frame() {
    for (payload, unit) in
        [("(:a \"日本\")", LengthUnit::Bytes), ("(:a \"日本\")", LengthUnit::Chars)]
    {
        let stream = framed(payload, unit);
        let mut decoder = decoder();
        for received in 0..stream.len() {
            match decoder.decode(&stream[..received]).expect("not lost") {
                DecodeStep::Need { skip: 0, more } => assert!(received + more <= stream.len()),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_deadline_runs_only_inside_a_frame() {
    let mut decoder = decoder();
    let mut inside = |input: &str| {
        decoder.decode(input.as_bytes()).expect("not lost");
        decoder.inside_frame()
    };
    assert!(!inside(""));
    assert!(!inside(" \n"));
    assert!(inside("0"));
    assert!(inside("000004(:b"));
    assert!(!inside("000004(:b)"));
    let mut decoder = FrameDecoder::new(DecoderOptions { max_frame: 2, unit: None });
    decoder.decode(b"000004").expect("refused");
    assert!(decoder.inside_frame(), "the payload to throw away is still to come");
    decoder.decode(b"(:b)").expect("skipped");
    assert!(!decoder.inside_frame());
}

#[test]
fn padding_does_not_count_as_blanks() {
    // 40,000 characters of three bytes: 80,000 spaces behind the frame, over the limit on blanks.
    let payload = format!("(:text \"{}\")", "日".repeat(40_000));
    let mut stream = Vec::new();
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Pad);
    encoder.encode(&payload, &mut stream).expect("a frame");
    encoder.encode("(:b)", &mut stream).expect("a frame");
    assert!(stream.len() > payload.len() + MAX_BLANKS);
    let got = run(decoder(), &stream, &every(1_000, &stream));
    assert_eq!(got.out, [Ok(payload), Ok("(:b)".to_owned())]);
    assert_eq!((got.end, got.unit), (Ok(()), Some(LengthUnit::Bytes)));
}

#[test]
fn a_unit_told_in_mid_stream_counts_from_the_next_frame() {
    let mut decoder = decoder();
    let hello = "00000e(:length :utf)00000a(:a \"日本語\")";
    let Ok(DecodeStep::Frame { consumed, .. }) = decoder.decode(hello.as_bytes()) else {
        panic!("a frame");
    };
    decoder.set_unit(LengthUnit::Chars);
    let rest = &hello.as_bytes()[consumed..];
    let whole = DecodeStep::Frame { payload: 6..rest.len(), consumed: rest.len() };
    assert_eq!(decoder.decode(rest), Ok(whole));
}

#[test]
fn errors_say_expected_and_got_and_quote_no_payload() {
    let mut decoder = decoder();
    let lost = decoder.decode(b"00zz secret").expect_err("lost");
    assert_eq!(lost.to_string(), "expected six hex digits of length, got byte `0x7a` as digit 3");
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Pad);
    encoder.set_max_frame(3);
    let error = encoder.encode("secret", &mut Vec::new()).expect_err("too large");
    assert_eq!(error.to_string(), "expected a payload of at most `3` bytes, got `6`");
}

#[test]
fn limits_above_six_digits_are_six_digits() {
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Pad);
    encoder.set_max_frame(usize::MAX);
    assert_eq!(encoder.max_frame(), MAX_FRAME);
    let mut out = Vec::new();
    encoder.encode(&"a".repeat(MAX_FRAME), &mut out).expect("the largest frame");
    assert!(out.starts_with(b"ffffffaaa"));
    let options = DecoderOptions { max_frame: usize::MAX, unit: None };
    let got = run(FrameDecoder::new(options), &out, &[]);
    assert_eq!((got.out.len(), got.end), (1, Ok(())));
}
