//! Flags of `bridle conform`.

pub(crate) mod engine;

use std::path::PathBuf;
use std::time::Duration;

use bridle_shell::DaemonAddress;
use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::seconds;

#[derive(Debug, Subcommand)]
pub(crate) enum ConformCommand {
    /// A daemon of the framed protocol
    #[command(after_help = "Talks to the daemon as clients would, good ones and bad ones; makes \
        sessions whose names begin\nwith `kit-`, which your own daemon forgets when it is over. Each failure shows what was sent, what came back, \
        and why it matters.\n\n\
        Examples:\n  \
        bridle conform oacp 127.0.0.1:9105\n  \
        bridle conform oacp unix:/run/user/1000/bridle.sock --only S\n  \
        bridle conform oacp 127.0.0.1:9105 --junit report.xml --expect known.txt")]
    Oacp(ConformOacpArgs),
    /// An engine of the OpenHarness Protocol
    #[command(after_help = "Talks to the engine as shells would, good ones and bad ones, over \
        HTTP/1.1; makes sessions whose names\nbegin with `kit-`, and sends a few bodies of 32 MiB. \
        What the body says is judged, whatever the status;\nwhat the engine does not offer is \
        counted apart.\n\n\
        Examples:\n  \
        bridle conform engine http://127.0.0.1:8788/v1/openharness\n  \
        bridle conform engine https://engine.example/harness/v1 --token-file token --only P\n  \
        bridle conform engine http://127.0.0.1:8788/v1/openharness --intent-approval 'delete it'")]
    Engine(engine::ConformEngineArgs),
    /// A Shell of OpenHarness: a command that is driven by lines
    #[command(
        after_help = "The kit is the Engine: it listens on this machine, starts the command for each \
        case with OPENHARNESS_URL,\nOPENHARNESS_TOKEN and OPENHARNESS_SESSION in its environment, tells it on \
        standard input what to ask,\nand judges what it sends and says. `docs/conformance.md` has the lines. \
        {OPENHARNESS_URL} and the like\nin arguments are replaced.\n\n\
        Examples:\n  \
        bridle conform shell -- python3 my_shell.py\n  \
        bridle conform shell -- env BRIDLE_TOKEN={OPENHARNESS_TOKEN} bridle ask --lines \\\n      \
        --engine {OPENHARNESS_URL} --session {OPENHARNESS_SESSION}"
    )]
    Shell(DrivenProgramArgs),
    /// A client of the framed protocol: a command that is driven by lines
    #[command(
        after_help = "The kit is the daemon: it listens on this machine, starts the command for each case \
        with OACP_ADDR,\nOACP_SESSION and OACP_CURSOR in its environment (OACP_KEY_FILE and OACP_KEY_ID where \
        it is to sign),\ntells it on standard input what to say, and judges what it sends and tells. \
        `docs/conformance.md` has the\nlines. {OACP_ADDR} and the like in arguments are replaced.\n\n\
        Examples:\n  \
        bridle conform oacp-client -- python3 my_client.py\n  \
        bridle conform oacp-client -- bridle ask --lines --addr {OACP_ADDR} --session {OACP_SESSION} \\\n      \
        --cursor {OACP_CURSOR} --key-file {OACP_KEY_FILE}"
    )]
    OacpClient(DrivenProgramArgs),
}

/// A program that a kit starts and drives.
#[derive(Debug, Args)]
pub(crate) struct DrivenProgramArgs {
    /// The program and its arguments
    #[arg(value_name = "CMD", required_unless_present = "list", trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
    /// Longest wait for anything
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) how: ConformOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ConformOacpArgs {
    /// HOST:PORT, unix:PATH or a path, where no signatures are demanded
    #[arg(value_name = "ADDR", required_unless_present = "list")]
    pub(crate) addr: Option<DaemonAddress>,
    /// Another address of the daemon, where signatures are demanded
    #[arg(long, value_name = "ADDR", requires = "key_file")]
    pub(crate) signed: Option<DaemonAddress>,
    /// A key for it: the bytes of this file, as they are
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "signed")]
    pub(crate) key_file: Option<PathBuf>,
    /// Name of that key at the daemon
    #[arg(long, value_name = "ID", default_value = "default", requires = "key_file")]
    pub(crate) key_id: String,
    /// Longest wait for anything
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) how: ConformOptions,
}

/// Options that all kits share.
#[derive(Debug, Args)]
pub(crate) struct ConformOptions {
    /// Print the cases and run none
    #[arg(long)]
    pub(crate) list: bool,
    /// Only cases whose id begins so; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,
    /// Failures that are known: a line each, an id and the reason; one that passes is a failure
    #[arg(long, visible_alias = "known", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) expect: Option<PathBuf>,
    /// The least that counts
    #[arg(long, value_name = "LEVEL", default_value = "must")]
    pub(crate) fail_on: FailOnArg,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a JUnit document to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// Print the cases that pass, too
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnArg {
    /// Binding cases: MUST, and profiles that are offered
    Must,
    /// SHOULD too
    Should,
}
