//! The daemon's health path without sockets: decode frames, read each form, answer. Used by `counts`.

use anyhow::{Result, bail};
use bridle_wire::frame::{Decoded, Decoder, DecoderOptions, Encoder, UnknownUnit};

/// What the daemon answers to a plain health check.
const ANSWER: &str = "(:type :health-response :status :healthy :checked-p t)";

/// Answers every health check in `input`; returns how many there were.
pub fn answer_all(input: &[u8]) -> Result<usize> {
    let mut decoder = Decoder::new(DecoderOptions::default());
    let mut encoder = Encoder::new(UnknownUnit::Pad);
    let mut out = Vec::new();
    let mut rest = input;
    let mut answered = 0;
    while !rest.is_empty() {
        match decoder.decode(rest)? {
            Decoded::Frame { payload, consumed } => {
                let text = std::str::from_utf8(&rest[payload])?;
                let tree = bridle_sexp::read_one(text)?;
                let kind = tree.root().get("type");
                if !kind.is_some_and(|kind| kind.is_keyword("health-check")) {
                    bail!("not a health check: `{text}`");
                }
                encoder.encode(ANSWER, &mut out)?;
                answered += 1;
                rest = &rest[consumed..];
            }
            other => bail!("expected a frame, got {other:?}"),
        }
    }
    std::hint::black_box(&out);
    Ok(answered)
}
