//! Standard output of the commands. What they print goes through [`bridle_shell::screen`].

use std::io::{self, Write as _};

use bridle_shell::screen::OutputScreen;

use crate::exit::{BridleExit, CommandFailure};

/// Prints text that is for people, or data that programs read back. On a terminal it is neutralised
/// as a whole, whatever its parts were; in a pipe it is exact.
pub(crate) fn print(text: &str) -> Result<BridleExit, CommandFailure> {
    print_styled(&OutputScreen::of_stdout().data(text))
}

/// Prints the bytes of a file: exact in a pipe, neutralised on a terminal.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<BridleExit, CommandFailure> {
    let screen = OutputScreen::of_stdout();
    match screen.is_terminal() {
        true => write_out(screen.data(&String::from_utf8_lossy(bytes)).as_bytes()),
        false => write_out(bytes),
    }
}

/// Prints text with escapes of our own, whose parts were neutralised before.
pub(crate) fn print_styled(text: &str) -> Result<BridleExit, CommandFailure> {
    write_out(text.as_bytes())
}

fn write_out(bytes: &[u8]) -> Result<BridleExit, CommandFailure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| unwritten(&error))?;
    Ok(BridleExit::Ok)
}

/// Standard output cannot be written.
pub(crate) fn unwritten(error: &io::Error) -> CommandFailure {
    CommandFailure::stream("cannot write to stdout", error)
}
