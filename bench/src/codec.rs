//! The daemon's health path without sockets: decode frames, recognize each check, answer. Used by
//! `counts`. As in the daemon, a check in its plain spelling is told by its bytes, every other one is
//! read as a form.

use anyhow::{Result, bail};
use bridle_sexp::{Reader, Tape};
use bridle_wire::frame::{DecodeStep, DecoderOptions, FrameDecoder};
use bridle_wire::oacp::health::HealthCheck;

/// Answer of the daemon to a health check, in its frame.
const ANSWER: &[u8] = b"000036(:type :health-response :status :healthy :checked-p t)";

/// A health check in its plain spelling, in its frame.
pub const PLAIN_CHECK: &[u8] = b"000015(:type :health-check)";

/// A health check in a spelling that has to be read.
pub const OTHER_CHECK: &[u8] = b"000015(:Type :health-check)";

/// Answers every health check in `input`; returns how many there were.
pub fn answer_all(input: &[u8]) -> Result<usize> {
    let mut decoder = FrameDecoder::new(DecoderOptions::default());
    let mut tape = Tape::new();
    let mut out = Vec::new();
    let mut rest = input;
    let mut answered = 0;
    while !rest.is_empty() {
        match decoder.decode(rest)? {
            DecodeStep::Frame { payload, consumed } => {
                let text = std::str::from_utf8(&rest[payload])?;
                if !HealthCheck::is_plain(text) && !is_check(text, &mut tape)? {
                    bail!("not a health check: `{text}`");
                }
                out.extend_from_slice(ANSWER);
                answered += 1;
                rest = &rest[consumed..];
            }
            other => bail!("expected a frame, got {other:?}"),
        }
    }
    std::hint::black_box(&out);
    Ok(answered)
}

fn is_check(text: &str, tape: &mut Tape) -> Result<bool> {
    let tree = Reader::new().read_one_into(text, tape)?;
    let check = HealthCheck::from_tree(&tree);
    *tape = tree.into_tape();
    Ok(check.is_some())
}
