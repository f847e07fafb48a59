//! Flags of `bridle conform`.

pub(crate) mod engine;

use std::path::PathBuf;
use std::time::Duration;

use bridle_shell::DaemonAddress;
use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::seconds;

#[derive(Debug, Subcommand)]
pub(crate) enum ConformCommand {
    /// Test a daemon of the framed protocol
    #[command(
        after_help = "Acts as good and bad clients of the daemon. Creates sessions whose names begin with \
        `kit-`; your own daemon forgets them at the end. Each failure shows what was sent, what came back \
        and why it matters.\n\n\
        Examples:\n  \
        bridle conform oacp 127.0.0.1:9105\n  \
        bridle conform oacp unix:/run/user/1000/bridle.sock --only S\n  \
        bridle conform oacp 127.0.0.1:9105 --junit report.xml --expect known.txt"
    )]
    Oacp(ConformOacpArgs),
    /// Test an engine of the OpenHarness Protocol
    #[command(
        after_help = "Acts as good and bad shells of the engine, over HTTP/1.1. Creates sessions \
        whose names begin with `kit-` and sends a few bodies of 32 MiB. Judges the body of an answer, \
        whatever its status, and counts features that the engine does not offer separately.\n\n\
        Examples:\n  \
        bridle conform engine http://127.0.0.1:8788/v1/openharness\n  \
        bridle conform engine https://engine.example/harness/v1 --token-file token --only P\n  \
        bridle conform engine http://127.0.0.1:8788/v1/openharness --intent-approval 'delete it'"
    )]
    Engine(engine::ConformEngineArgs),
    /// Test an OpenHarness shell: a command that reads lines
    #[command(
        after_help = "The kit acts as the Engine: it listens on this machine, starts the command for each \
        case with OPENHARNESS_URL, OPENHARNESS_TOKEN and OPENHARNESS_SESSION in its environment, sends it \
        commands on stdin, and checks its requests and output. `docs/conformance.md` describes the lines. \
        {OPENHARNESS_URL} and the others are replaced in arguments.\n\n\
        Examples:\n  \
        bridle conform shell -- python3 my_shell.py\n  \
        bridle conform shell -- env BRIDLE_TOKEN={OPENHARNESS_TOKEN} bridle ask --lines \\\n      \
        --engine {OPENHARNESS_URL} --session {OPENHARNESS_SESSION}"
    )]
    Shell(DrivenProgramArgs),
    /// Test a client of the framed protocol: a command that reads lines
    #[command(
        after_help = "The kit acts as the daemon: it listens on this machine, starts the command for each case \
        with OACP_ADDR, OACP_SESSION and OACP_CURSOR in its environment (OACP_KEY_FILE and OACP_KEY_ID if \
        it must sign), sends it commands on stdin, and checks its frames and output. \
        `docs/conformance.md` describes the lines. {OACP_ADDR} and the others are replaced in arguments.\n\n\
        Examples:\n  \
        bridle conform oacp-client -- python3 my_client.py\n  \
        bridle conform oacp-client -- bridle ask --lines --addr {OACP_ADDR} --session {OACP_SESSION} \\\n      \
        --cursor {OACP_CURSOR} --key-file {OACP_KEY_FILE}"
    )]
    OacpClient(DrivenProgramArgs),
    /// Test an agent of the Agent Client Protocol: a command that an editor would start
    #[command(
        after_help = "The kit acts as the editor: it starts the command for each case, speaks version 1 of the \
        protocol on its standard input and output, and judges every line. What takes long or needs a permission \
        is tested with prompts that you name; without them those cases count as not offered. The sessions \
        are about a new folder, which is removed at the end.\n\n\
        Examples:\n  \
        bridle conform acp -- bridle acp\n  \
        bridle conform acp --prompt 'say hello' --prompt-slow 'count to 500' -- codex-acp\n  \
        bridle conform acp --prompt-tool 'create the file x' --only T -- my-agent --acp"
    )]
    Acp(ConformAcpArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConformAcpArgs {
    /// Prompt that is answered with a text
    #[arg(long, value_name = "TEXT", default_value = "help")]
    pub(crate) prompt: String,
    /// Prompt that takes some seconds
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt_slow: Option<String>,
    /// Prompt that leads to a question for a permission, each time anew
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt_tool: Option<String>,
    /// Folder of the sessions, instead of a new one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) program: DrivenProgramArgs,
}

/// A program that a kit starts and drives.
#[derive(Debug, Args)]
pub(crate) struct DrivenProgramArgs {
    /// Program to test, and its arguments
    #[arg(value_name = "CMD", required_unless_present = "list", trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
    /// Timeout for each step
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) how: ConformOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ConformOacpArgs {
    /// Address that accepts unsigned frames: HOST:PORT, unix:PATH or a path
    #[arg(value_name = "ADDR", required_unless_present = "list")]
    pub(crate) addr: Option<DaemonAddress>,
    /// Address of the same daemon that requires signed frames
    #[arg(long, value_name = "ADDR", requires = "key_file")]
    pub(crate) signed: Option<DaemonAddress>,
    /// File with a key for it: its bytes, unchanged
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "signed")]
    pub(crate) key_file: Option<PathBuf>,
    /// Id of that key in the daemon's settings
    #[arg(long, value_name = "ID", default_value = "default", requires = "key_file")]
    pub(crate) key_id: String,
    /// Timeout for each step
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) how: ConformOptions,
}

/// Options that all kits share.
#[derive(Debug, Args)]
pub(crate) struct ConformOptions {
    /// List the cases without running them
    #[arg(long)]
    pub(crate) list: bool,
    /// Run only cases whose id begins with this; repeatable
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,
    /// File of expected failures, an id and a reason per line; one that passes counts as a failure
    #[arg(long, visible_alias = "known", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) expect: Option<PathBuf>,
    /// Lowest level that makes the run fail
    #[arg(long, value_name = "LEVEL", default_value = "must")]
    pub(crate) fail_on: FailOnArg,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a JUnit report to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// Also print the cases that pass
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnArg {
    /// Binding cases: MUST, and profiles that are offered
    Must,
    /// Also SHOULD
    Should,
}
