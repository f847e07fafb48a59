//! A client in two halves, for programs that read on one thread and write on another.
//!
//! Used by faces that have other things to do than to wait for frames. Signatures go on in both halves: each
//! direction counts for itself.

use std::io::Write as _;
use std::time::{Duration, Instant};

use bridle_wire::frame::{FrameEncoder, LengthUnit, UnknownUnitPolicy};

use super::{ClientStream, DaemonClient, is_gone};
use crate::address::DaemonAddress;
use crate::error::ShellError;

/// Receiving half of a client.
#[derive(Debug)]
pub struct DaemonReader(DaemonClient);

/// Sending half of a client.
#[derive(Debug)]
pub struct DaemonWriter {
    addr: DaemonAddress,
    stream: ClientStream,
    encoder: FrameEncoder,
    timeout: Duration,
}

impl DaemonClient {
    /// Splits the client; each half may go to a thread of its own.
    ///
    /// # Errors
    ///
    /// The system has no handle left.
    pub fn split(mut self) -> Result<(DaemonReader, DaemonWriter), ShellError> {
        let addr = self.addr.clone();
        let stream = self.frames.source_mut().try_clone();
        let stream = stream.map_err(|error| ShellError::Broken { addr: addr.clone(), error })?;
        let mut unused = FrameEncoder::new(UnknownUnitPolicy::Bytes);
        unused.set_unit(LengthUnit::Bytes);
        let encoder = std::mem::replace(&mut self.encoder, unused);
        let writer = DaemonWriter { addr, stream, encoder, timeout: self.timeout };
        Ok((DaemonReader(self), writer))
    }
}

impl DaemonReader {
    /// The next frame, within `wait`. After [`ShellError::Timeout`] one may try again.
    ///
    /// # Errors
    ///
    /// None came in time, or none will ever come.
    pub fn receive_within(&mut self, wait: Duration) -> Result<String, ShellError> {
        self.0.receive_within(wait)
    }
}

impl DaemonWriter {
    /// Sends a payload.
    ///
    /// # Errors
    ///
    /// The payload does not fit a frame, or the connection broke. A daemon that has closed is found by the
    /// other half, which may still find its last words.
    pub fn send(&mut self, payload: &str) -> Result<(), ShellError> {
        let mut frame = Vec::new();
        self.encoder.encode(payload, &mut frame)?;
        self.stream.set_deadline(Some(Instant::now() + self.timeout));
        match self.stream.write_all(&frame) {
            Ok(()) => Ok(()),
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) => Err(ShellError::Broken { addr: self.addr.clone(), error }),
        }
    }

    /// Closes the connection in both directions; the other half finds it closed.
    pub fn close(&self) {
        self.stream.close();
    }
}
