//! `bridle frame`: forms to frames and frames to payloads, stream to stream.

use std::io::{Read, Write};

use bridle_wire::frame::{
    DecoderOptions, FrameDecoder, FrameEncoder, FrameError, LengthUnit, UnknownUnitPolicy,
};
use bridle_wire::seal::{FrameSigner, FrameVerifier, SigningKey, SigningKeyring};

use crate::error::ShellError;
use crate::form_stream::FormStream;
use crate::frames::{FrameItem, FrameStream, StreamStop};

/// Options for reading or writing frames.
#[derive(Debug, Clone, Default)]
pub struct FrameOptions {
    /// Unit of lengths. Without one, bytes are written, and both are understood.
    pub unit: Option<LengthUnit>,
    /// Signs and verifies with version 1.
    pub key: Option<SigningKey>,
}

/// Reads forms, writes a frame for each.
///
/// # Errors
///
/// At the first text that is no form; frames of the forms before it are written.
pub fn encode(
    options: FrameOptions,
    source: impl Read,
    out: &mut dyn Write,
) -> Result<(), ShellError> {
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Bytes);
    encoder.set_unit(options.unit.unwrap_or(LengthUnit::Bytes));
    if let Some(key) = options.key {
        encoder.set_signer(FrameSigner::v1(key));
    }
    let mut forms = FormStream::new(source);
    let mut frame = Vec::new();
    loop {
        let form = forms.next_form();
        let Ok(Some(form)) = form else {
            out.flush().map_err(ShellError::Write)?;
            return form.map(|_| ());
        };
        frame.clear();
        let encoded = encoder.encode(&form, &mut frame).map_err(ShellError::Encode);
        out.write_all(&frame).map_err(ShellError::Write)?;
        if encoded.is_err() || !forms.has_buffered() {
            out.flush().map_err(ShellError::Write)?;
        }
        encoded?;
    }
}

/// Reads frames, writes the payload of each with a newline behind it.
///
/// # Errors
///
/// At the first bad frame; payloads of the frames before it are written.
pub fn decode(
    options: FrameOptions,
    source: impl Read,
    out: &mut dyn Write,
) -> Result<(), ShellError> {
    let mut frames = FrameStream::new(source, decoder(options));
    loop {
        let item = frames.next_frame();
        if let Ok(Some(FrameItem::Frame { text, .. })) = &item {
            out.write_all(text.as_bytes()).map_err(ShellError::Write)?;
            out.write_all(b"\n").map_err(ShellError::Write)?;
            if !frames.has_buffered() {
                out.flush().map_err(ShellError::Write)?;
            }
            continue;
        }
        out.flush().map_err(ShellError::Write)?;
        return match item {
            Ok(Some(FrameItem::Refused { error, offset })) => Err(bad_frame(&error, offset)),
            Ok(_) => Ok(()),
            Err(StreamStop::Lost { error, offset }) => Err(bad_frame(&error, offset)),
            Err(StreamStop::Read(error)) => Err(ShellError::Read(error)),
        };
    }
}

/// A decoder for files of frames.
pub(crate) fn decoder(options: FrameOptions) -> FrameDecoder {
    let takes = DecoderOptions { unit: options.unit, ..DecoderOptions::default() };
    match options.key {
        None => FrameDecoder::new(takes),
        Some(key) => FrameDecoder::signed(takes, FrameVerifier::v1(SigningKeyring::of(key))),
    }
}

/// A bad frame as an error.
pub(crate) fn bad_frame(error: &FrameError, offset: u64) -> ShellError {
    ShellError::Frame { code: error.code(), offset, reason: error.to_string() }
}
