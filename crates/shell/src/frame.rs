//! `bridle frame`: forms to frames and frames to payloads, stream to stream.

use std::io::{Read, Write};

use bridle_wire::frame::{Decoder, DecoderOptions, Encoder, FrameError, Unit, UnknownUnit};
use bridle_wire::seal::{Key, Keyring, Signer, Verifier};

use crate::error::Error;
use crate::frames::{Frames, Item, Stop};
use crate::input::Forms;

/// How frames are written or read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What lengths count. Unsaid, bytes are written, and both are understood.
    pub unit: Option<Unit>,
    /// Signs and verifies with version 1.
    pub key: Option<Key>,
}

/// Reads forms, writes a frame for each.
///
/// # Errors
///
/// At the first text that is no form; frames of the forms before it are written.
pub fn encode(options: Options, source: impl Read, out: &mut dyn Write) -> Result<(), Error> {
    let mut encoder = Encoder::new(UnknownUnit::Bytes);
    encoder.set_unit(options.unit.unwrap_or(Unit::Bytes));
    if let Some(key) = options.key {
        encoder.set_signer(Signer::v1(key));
    }
    let mut forms = Forms::new(source);
    let mut frame = Vec::new();
    loop {
        let form = forms.next_form();
        let Ok(Some(form)) = form else {
            out.flush().map_err(Error::Write)?;
            return form.map(|_| ());
        };
        frame.clear();
        let encoded = encoder.encode(&form, &mut frame).map_err(Error::Encode);
        out.write_all(&frame).map_err(Error::Write)?;
        if encoded.is_err() || !forms.has_buffered() {
            out.flush().map_err(Error::Write)?;
        }
        encoded?;
    }
}

/// Reads frames, writes the payload of each with a newline behind it.
///
/// # Errors
///
/// At the first bad frame; payloads of the frames before it are written.
pub fn decode(options: Options, source: impl Read, out: &mut dyn Write) -> Result<(), Error> {
    let mut frames = Frames::new(source, decoder(options));
    loop {
        let item = frames.next_frame();
        if let Ok(Some(Item::Frame { text, .. })) = &item {
            out.write_all(text.as_bytes()).map_err(Error::Write)?;
            out.write_all(b"\n").map_err(Error::Write)?;
            if !frames.has_buffered() {
                out.flush().map_err(Error::Write)?;
            }
            continue;
        }
        out.flush().map_err(Error::Write)?;
        return match item {
            Ok(Some(Item::Refused { error, offset })) => Err(bad_frame(&error, offset)),
            Ok(_) => Ok(()),
            Err(Stop::Lost { error, offset }) => Err(bad_frame(&error, offset)),
            Err(Stop::Read(error)) => Err(Error::Read(error)),
        };
    }
}

/// A decoder for files of frames.
pub(crate) fn decoder(options: Options) -> Decoder {
    let takes = DecoderOptions { unit: options.unit, ..DecoderOptions::default() };
    match options.key {
        None => Decoder::new(takes),
        Some(key) => Decoder::signed(takes, Verifier::v1(Keyring::of(key))),
    }
}

/// A bad frame as an error.
pub(crate) fn bad_frame(error: &FrameError, offset: u64) -> Error {
    Error::Frame { code: error.code(), offset, reason: error.to_string() }
}
