//! Flags of `bridle conform engine`.

use std::path::PathBuf;
use std::time::Duration;

use bridle_conform::engine::url::TargetUrl;
use clap::{Args, ValueHint};

use super::ConformOptions;
use crate::args::seconds;

#[derive(Debug, Args)]
pub(crate) struct ConformEngineArgs {
    /// URL to post requests to, such as http://127.0.0.1:8788/v1/openharness
    #[arg(value_name = "URL", required_unless_present = "list")]
    pub(crate) url: Option<TargetUrl>,
    /// File whose first line is a bearer token
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// File with a token of a second principal, for the cases about isolation
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token2_file: Option<PathBuf>,
    /// Prompt that gets a plain answer
    #[arg(long, value_name = "TEXT", default_value = "help")]
    pub(crate) intent: String,
    /// Prompt that leads to an approval
    #[arg(long, value_name = "TEXT")]
    pub(crate) intent_approval: Option<String>,
    /// Prompt that takes some seconds to answer
    #[arg(long, value_name = "TEXT")]
    pub(crate) intent_slow: Option<String>,
    /// Allowed web origin, such as `https://app.example.org`
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Option<String>,
    /// CA certificates to trust over https, a PEM file [default: those of the system]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Timeout for each step
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) how: ConformOptions,
}
