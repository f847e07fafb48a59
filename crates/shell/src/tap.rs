//! `bridle tap`: shows frames as they pass, from a file, from a daemon, or between a client and a
//! daemon.
//!
//! Bad frames and bad forms are shown with their place, and the tap goes on as long as it knows
//! where the next frame starts. Between a client and a daemon every byte is passed on unchanged,
//! also when it can no longer be decoded.

mod proxy;
mod show;

use std::io::{Read, Write};

use crate::addr::Addr;
use crate::client::Stream;
use crate::error::Error;
use crate::frame::{self, bad_frame};
use crate::frames::{Frames, Item, Stop};

pub use proxy::run as between;
pub use show::{Output, Side};

use show::Show;

/// Shows the frames of a file.
///
/// # Errors
///
/// Where it cannot be known any more where the next frame starts; or an input or output failed.
pub fn file(
    source: &mut dyn Read,
    options: frame::Options,
    output: Output,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut frames = Frames::new(source, frame::decoder(options));
    follow(&mut frames, Side::File, &mut Show::new(output, out))
}

/// Connects to a daemon and shows what it says, until it closes.
///
/// # Errors
///
/// As for a file, or nobody is there.
pub fn daemon(
    addr: &Addr,
    options: frame::Options,
    output: Output,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let stream = Stream::connect(addr, crate::client::TIMEOUT)?;
    let mut frames = Frames::new(stream, frame::decoder(options));
    follow(&mut frames, Side::Daemon, &mut Show::new(output, out))
}

fn follow<R: Read>(
    frames: &mut Frames<R>,
    side: Side,
    show: &mut Show<&mut dyn Write>,
) -> Result<(), Error> {
    loop {
        match frames.next_frame() {
            Ok(None) => return Ok(()),
            Ok(Some(Item::Frame { text, offset })) => show.frame(side, offset, &text)?,
            Ok(Some(Item::Refused { error, offset })) => show.bad(side, offset, &error)?,
            Err(Stop::Lost { error, offset }) => {
                show.bad(side, offset, &error)?;
                return Err(bad_frame(&error, offset));
            }
            Err(Stop::Read(error)) => return Err(Error::Read(error)),
        }
    }
}
