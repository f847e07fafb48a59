//! `bridle tap`: shows frames as they pass, from a file, from a daemon, or between a client and a
//! daemon.
//!
//! Bad frames and bad forms are shown with their place, and the tap goes on as long as it knows
//! where the next frame starts. Between a client and a daemon every byte is passed on unchanged,
//! also when it can no longer be decoded.

mod proxy;
mod show;

use std::io::{Read, Write};

use crate::address::DaemonAddress;
use crate::client::ClientStream;
use crate::error::ShellError;
use crate::frame::{self, bad_frame};
use crate::frames::{FrameItem, FrameStream, StreamStop};

pub use proxy::run as between;
pub use show::{TapOutput, TapSide};

use show::FrameDisplay;

/// Shows the frames of a file.
///
/// # Errors
///
/// Where it cannot be known any more where the next frame starts; or an input or output failed.
pub fn file(
    source: &mut dyn Read,
    options: frame::FrameOptions,
    output: TapOutput,
    out: &mut dyn Write,
) -> Result<(), ShellError> {
    let mut frames = FrameStream::new(source, frame::decoder(options));
    follow(&mut frames, TapSide::File, &mut FrameDisplay::new(output, out))
}

/// Connects to a daemon and shows what it says, until it closes.
///
/// # Errors
///
/// As for a file, or nobody is there.
pub fn daemon(
    addr: &DaemonAddress,
    options: frame::FrameOptions,
    output: TapOutput,
    out: &mut dyn Write,
) -> Result<(), ShellError> {
    let stream = ClientStream::connect(addr, crate::client::ANSWER_TIMEOUT)?;
    let mut frames = FrameStream::new(stream, frame::decoder(options));
    follow(&mut frames, TapSide::Daemon, &mut FrameDisplay::new(output, out))
}

fn follow<R: Read>(
    frames: &mut FrameStream<R>,
    side: TapSide,
    show: &mut FrameDisplay<&mut dyn Write>,
) -> Result<(), ShellError> {
    loop {
        match frames.next_frame() {
            Ok(None) => return Ok(()),
            Ok(Some(FrameItem::Frame { text, offset })) => show.frame(side, offset, &text)?,
            Ok(Some(FrameItem::Refused { error, offset })) => show.bad(side, offset, &error)?,
            Err(StreamStop::Lost { error, offset }) => {
                show.bad(side, offset, &error)?;
                return Err(bad_frame(&error, offset));
            }
            Err(StreamStop::Read(error)) => return Err(ShellError::Read(error)),
        }
    }
}
