//! Reasons why a conversation cannot be held on this terminal.

use std::io;

/// Reason why the conversation did not begin, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// Input or output is no terminal.
    #[error("expected a terminal on standard input and output")]
    NoTerminal,
    /// The terminal cannot be read, written or set.
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
    /// Nobody could be reached to begin with.
    #[error("cannot attach: {0}")]
    Unreached(String),
}
