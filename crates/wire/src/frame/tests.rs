//! Unit tests of the codec: one table row each, then the properties.

use super::*;

/// What a whole stream gives.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    out: Vec<Result<String, &'static str>>,
    end: Result<(), &'static str>,
    unit: Option<Unit>,
}

/// Decodes `stream`, given in pieces that end at `cuts`.
fn run(mut decoder: Decoder, stream: &[u8], cuts: &[usize]) -> Outcome {
    let mut out = Vec::new();
    let mut buffer = Vec::new();
    let mut end = Ok(());
    let mut from = 0;
    'pieces: for &to in cuts.iter().chain([&stream.len()]) {
        buffer.extend_from_slice(&stream[from..to]);
        from = to;
        loop {
            match decoder.decode(&buffer) {
                Err(lost) => {
                    end = Err(lost.code().as_str());
                    break 'pieces;
                }
                Ok(Decoded::Need { skip, more }) => {
                    assert!(more > 0);
                    buffer.drain(..skip);
                    break;
                }
                Ok(Decoded::Frame { payload, consumed }) => {
                    let text = std::str::from_utf8(&buffer[payload]).expect("a payload is UTF-8");
                    out.push(Ok(text.to_owned()));
                    buffer.drain(..consumed);
                }
                Ok(Decoded::Refused { consumed, error }) => {
                    out.push(Err(error.code().as_str()));
                    buffer.drain(..consumed);
                }
            }
        }
    }
    let end = end.and_then(|()| decoder.finish(&buffer).map_err(|lost| lost.code().as_str()));
    Outcome { out, end, unit: decoder.unit() }
}

fn plain(stream: &str) -> Outcome {
    run(Decoder::new(DecoderOptions::default()), stream.as_bytes(), &[])
}

#[test]
fn reads_both_hex_cases_and_blanks() {
    let got = plain(" \n00000A(:a \"bcd\")\t\r00000a(:a \"bcd\")\n");
    assert_eq!(got.out, [Ok("(:a \"bcd\")".to_owned()), Ok("(:a \"bcd\")".to_owned())]);
    assert_eq!((got.end, got.unit), (Ok(()), None));
}

#[test]
fn a_character_counter_settles_the_unit() {
    let got = plain("00000a(:a \"日本語\")000004(:b)");
    assert_eq!(got.out, [Ok("(:a \"日本語\")".to_owned()), Ok("(:b)".to_owned())]);
    assert_eq!(got.unit, Some(Unit::Chars));
}

#[test]
fn a_byte_counter_settles_the_unit() {
    let got = plain("000010(:a \"日本語\")000004(:b)");
    assert_eq!(got.out, [Ok("(:a \"日本語\")".to_owned()), Ok("(:b)".to_owned())]);
    assert_eq!(got.unit, Some(Unit::Bytes));
}
