//! Flags of `bridle ask`.

use std::path::PathBuf;
use std::time::Duration;

use bridle_shell::DaemonAddress;
use bridle_shell::openharness::http::EngineUrl;
use clap::{Args, ValueHint};

use super::{CONNECTION, seconds};

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The question; without it, standard input is read to its end
    #[arg(value_name = "TEXT", trailing_var_arg = true)]
    pub(crate) words: Vec<String>,
    /// Session to go on with; without it, nothing is remembered
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Thread within the session
    #[arg(long, value_name = "ID", requires = "session")]
    pub(crate) conversation: Option<String>,
    /// Longest wait for all of it; the Engine is told, too
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Wait for the whole answer, instead of showing it as it comes
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Print everything that the Shell does as JSON, an object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// The Engine: http://HOST:PORT, https://HOST or unix:PATH [default: $BRIDLE_ENGINE, else your own
    /// daemon, on the socket that the settings name]
    #[arg(long, value_name = "URL", help_heading = CONNECTION)]
    pub(crate) engine: Option<EngineUrl>,
    /// File with a bearer token for an Engine over HTTP [default: $BRIDLE_TOKEN is the token, if it is
    /// set]; your own daemon needs none
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CONNECTION)]
    pub(crate) token_file: Option<PathBuf>,
    /// PEM file of the authorities that certificates are checked with [default: the system's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CONNECTION)]
    pub(crate) ca: Option<PathBuf>,
    /// Settings file [default: $XDG_CONFIG_HOME/bridle/config.toml]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CONNECTION)]
    pub(crate) config: Option<PathBuf>,
    /// Be driven by lines on standard input, as `bridle conform shell` does
    #[arg(long, conflicts_with_all = ["words", "json", "timeout", "conversation"])]
    pub(crate) lines: bool,
    /// With --lines, a daemon of the framed protocol instead of an Engine, as `bridle conform
    /// oacp-client` is
    #[arg(long, value_name = "ADDR", requires_all = ["lines", "session"], conflicts_with = "engine")]
    pub(crate) addr: Option<DaemonAddress>,
    /// Number of the last event seen there
    #[arg(long, value_name = "SEQ", default_value = "0", requires = "addr")]
    pub(crate) cursor: u64,
    /// Sign frames with the bytes of this file; an empty name is none
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "addr")]
    pub(crate) key_file: Option<String>,
    /// Name of that key at the daemon
    #[arg(long, value_name = "ID", default_value = "default", requires = "key_file")]
    pub(crate) key_id: String,
}
