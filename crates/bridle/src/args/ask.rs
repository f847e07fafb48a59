//! Flags of `bridle ask`.

use std::path::PathBuf;
use std::time::Duration;

use bridle_shell::DaemonAddress;
use bridle_shell::openharness::http::EngineUrl;
use clap::{Args, ValueHint};

use super::{CONNECTION, seconds};

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// Prompt to send; without it, read stdin to its end
    #[arg(value_name = "TEXT", trailing_var_arg = true)]
    pub(crate) words: Vec<String>,
    /// Session to continue; without it, nothing is remembered
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Thread within the session
    #[arg(long, value_name = "ID", requires = "session")]
    pub(crate) conversation: Option<String>,
    /// Timeout for the whole answer; also sent to the Engine
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Print the answer when it is complete, not as it arrives
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Print everything the shell does as JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print it as property lists
    #[arg(long, conflicts_with = "json")]
    pub(crate) plist: bool,
    /// The Engine: http://HOST:PORT, https://HOST or unix:PATH [default: $BRIDLE_ENGINE, else your own
    /// daemon, on the socket that the settings name]
    #[arg(long, value_name = "URL", help_heading = CONNECTION)]
    pub(crate) engine: Option<EngineUrl>,
    /// File with a bearer token for an Engine over HTTP [default: $BRIDLE_TOKEN is the token, if it is
    /// set]; your own daemon needs none
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CONNECTION)]
    pub(crate) token_file: Option<PathBuf>,
    /// CA certificates to trust, a PEM file [default: those of the system]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CONNECTION)]
    pub(crate) ca: Option<PathBuf>,
    /// Settings file [default: $XDG_CONFIG_HOME/bridle/config.toml]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CONNECTION)]
    pub(crate) config: Option<PathBuf>,
    /// Take commands from stdin, one per line, as `bridle conform shell` sends them
    #[arg(long, conflicts_with_all = ["words", "json", "plist", "timeout", "conversation"])]
    pub(crate) lines: bool,
    /// With --lines, talk the framed protocol to this daemon instead of an Engine, as `bridle
    /// conform oacp-client` does
    #[arg(long, value_name = "ADDR", requires_all = ["lines", "session"], conflicts_with = "engine")]
    pub(crate) addr: Option<DaemonAddress>,
    /// Number of the last event received from it
    #[arg(long, value_name = "SEQ", default_value = "0", requires = "addr")]
    pub(crate) cursor: u64,
    /// Sign frames with the key in this file; an empty name means no key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "addr")]
    pub(crate) key_file: Option<String>,
    /// Id of that key in the daemon's settings
    #[arg(long, value_name = "ID", default_value = "default", requires = "key_file")]
    pub(crate) key_id: String,
}
