//! `bridle relay`: the daemon's socket on standard input and output, for a face on another host.

use std::io::{self, Read, Write};

use bridle_shell::client::ClientStream;

use super::chat::reach;
use crate::args::chat::RelayArgs;
use crate::exit::{BridleExit, CommandFailure};

/// Bytes moved at a time.
const CHUNK_BYTES: usize = 64 << 10;

pub(crate) fn run(args: RelayArgs) -> Result<BridleExit, CommandFailure> {
    let timeout = args.peer.timeout;
    let targets = reach(args.peer, args.no_start)?;
    let addrs: Vec<_> = targets.into_iter().map(|target| target.addr).collect();
    let mut daemon = ClientStream::connect_any(&addrs, timeout)?;
    let mut back = daemon.try_clone().map_err(|error| broken(&error))?;
    // It waits for input without end; the process ends when the daemon has said its last word.
    std::thread::spawn(move || {
        // Either way nothing more is to be sent.
        let _ = pass(&mut io::stdin(), &mut daemon);
        daemon.end_writing();
    });
    match pass(&mut back, &mut io::stdout()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(broken(&error)),
        _ => Ok(BridleExit::Ok),
    }
}

/// Passes on what comes, at once.
fn pass(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&chunk[..count])?;
                to.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn broken(error: &io::Error) -> CommandFailure {
    CommandFailure::because(BridleExit::Io, "the connection broke", error)
        .hint("`bridle health` says whether the daemon is there")
}
