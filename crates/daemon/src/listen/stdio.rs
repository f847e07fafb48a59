//! Standard input and output as one more connection.
//!
//! Two plain threads copy between the process's own streams and a socket pair, whose other end
//! is served like any accepted stream: the same limits and back pressure hold, files and pipes
//! work alike, and a read that blocks for ever on standard input cannot hold up the runtime.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as Pipe;
use std::thread;

use tokio::net::UnixStream;
use tokio::sync::oneshot;

use crate::error::DaemonError;

/// Bytes copied at a time: one pipe buffer of Linux.
const CHUNK_BYTES: usize = 64 << 10;

/// Served standard streams.
#[derive(Debug)]
pub(crate) struct StdioStreams {
    /// The end that a connection task serves.
    pub(crate) stream: UnixStream,
    /// Fires when everything written to the stream has reached standard output.
    pub(crate) flushed: oneshot::Receiver<()>,
}

impl StdioStreams {
    /// Starts the copying threads.
    pub(crate) fn open() -> Result<StdioStreams, DaemonError> {
        StdioStreams::over(io::stdin(), io::stdout()).map_err(DaemonError::Stdio)
    }

    fn over(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> io::Result<StdioStreams> {
        let (ours, theirs) = Pipe::pair()?;
        ours.set_nonblocking(true)?;
        let to_daemon = theirs.try_clone()?;
        let (done, flushed) = oneshot::channel();
        thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            // Either end may go away first; both mean that there is no more input.
            let _ = copy(input, &to_daemon);
            let _ = to_daemon.shutdown(Shutdown::Write);
        })?;
        thread::Builder::new().name("stdout".to_owned()).spawn(move || {
            let _ = copy(&theirs, output);
            // A parent that closed its end must not leave the daemon writing for ever.
            let _ = theirs.shutdown(Shutdown::Both);
            let _ = done.send(());
        })?;
        Ok(StdioStreams { stream: UnixStream::from_std(ours)?, flushed })
    }
}

/// Copies until the end of `from`, flushing after each read: answers must not wait for more.
fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&buffer[..n])?;
        to.flush()?;
    }
}
