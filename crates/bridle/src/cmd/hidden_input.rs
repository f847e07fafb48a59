//! A line typed at the terminal without being shown.

use std::io::{self, BufRead as _, Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Reads one line of at most `most` bytes from the terminal on stdin, its newline included.
pub(super) fn read_line(most: u64) -> io::Result<Vec<u8>> {
    let _quiet = EchoOff::begin()?;
    let mut line = Vec::new();
    let read = io::stdin().lock().take(most).read_until(b'\n', &mut line);
    // The newline that was typed did not move the cursor.
    let _ = io::stderr().lock().write_all(b"\n");
    read.map(|_| line)
}

/// A terminal that shows nothing of what is typed, until it is dropped.
struct EchoOff(Termios);

impl EchoOff {
    fn begin() -> io::Result<EchoOff> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &quiet)?;
        Ok(EchoOff(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
