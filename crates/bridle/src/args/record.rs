//! The command line of everything that has to do with the record: reading, checking, repeating and
//! erasing it, and following a session live.

use std::path::PathBuf;

use bridle_shell::DaemonAddress;
use clap::{ArgGroup, Args, Subcommand, ValueHint};

use super::{CONNECTION, PeerArgs};
use crate::settings::StateDir;

/// Place of a record: a state directory, or a daemon that hands it out.
#[derive(Debug, Args)]
pub(crate) struct RecordPlace {
    #[command(flatten)]
    pub(crate) dir: StateDir,
    /// Ask the daemon at this address instead of reading the file: HOST:PORT, unix:PATH or a path
    #[arg(long, value_name = "ADDR", help_heading = CONNECTION)]
    pub(crate) addr: Option<DaemonAddress>,
}

/// `bridle log`: without a verb it prints records.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LogCommand {
    #[command(subcommand)]
    pub(crate) verb: Option<LogVerb>,
    #[command(flatten)]
    pub(crate) list: LogListArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LogListArgs {
    /// Only records of this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Only records after this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) after: u64,
    /// Print at most this many
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Keep printing new records until interrupted
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) output: RecordOutputArgs,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

/// Form in which a record or an event is printed.
#[derive(Debug, Clone, Copy, Args)]
#[command(group = ArgGroup::new("form").args(["json", "lisp"]))]
pub(crate) struct RecordOutputArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print strings as Common Lisp reads them, with their line breaks
    #[arg(long)]
    pub(crate) lisp: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogVerb {
    /// Check the hash chain: exit 0 if intact, 65 with the number of the first bad record
    #[command(
        after_help = "With a line from an earlier `bridle log head`, kept elsewhere, this also detects a record that was \
        rewritten as a whole or truncated.\n\n\
        Examples:\n  \
        bridle log verify\n  \
        bridle log verify --head head.txt --key signing.key"
    )]
    Verify(VerifyArgs),
    /// Print the number and hash of the last record, to keep elsewhere
    #[command(after_help = "Example:\n  bridle log head --sign signing.key > head.txt")]
    Head(HeadArgs),
    /// Export the record as an Org file to stdout
    #[command(after_help = "Examples:\n  \
        bridle log export --org > trace.org\n  \
        bridle log export --org --session work > work.org")]
    Export(ExportArgs),
    /// Copy the record to a text file, for grep or an editor, until interrupted
    #[command(
        after_help = "Appends whole lines, one per record. A restart continues where the file ends.\n\n\
        Examples:\n  \
        bridle log mirror ~/record.lisp\n  \
        bridle log mirror --once ~/record.lisp                    update the copy and exit"
    )]
    Mirror(MirrorArgs),
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// File with the line of an earlier `bridle log head`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) head: Option<PathBuf>,
    /// File with the key that signed that line
    #[arg(long, value_name = "FILE", requires = "head", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

#[derive(Debug, Args)]
pub(crate) struct HeadArgs {
    /// Sign the line with the key in this file: its bytes, at least 16
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Export as Org, the only format
    #[arg(long, required = true)]
    pub(crate) org: bool,
    /// Only this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorArgs {
    /// File to append to; created with mode 0600 if missing
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Exit when the copy is up to date
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// The session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: String,
    /// Start after the event with this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    /// Wait for more, across restarts of the daemon, until interrupted
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) output: RecordOutputArgs,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Include unnamed and forgotten sessions
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Compare from this record on; earlier events still run, to build the state
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) from: u64,
    /// Stop after this record
    #[arg(long, value_name = "NUMBER")]
    pub(crate) to: Option<u64>,
    /// Only this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Ask this model each recorded thought, and show which decisions would differ; carries nothing out
    #[arg(long, value_name = "MODEL")]
    pub(crate) with_model: Option<String>,
    /// Print one JSON object; with --with-model, one per thought
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Last record that the new session shares with the old one
    #[arg(value_name = "RECORD")]
    pub(crate) record: u64,
    /// Name of the new session [default: generated]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("forgettable").required(true).args(["what", "anonymous", "before"]))]
pub(crate) struct ForgetArgs {
    /// Name of a session or number of a record
    #[arg(value_name = "SESSION|RECORD")]
    pub(crate) what: Option<String>,
    /// All sessions started by unknown peers; stop the daemon first
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// All sessions last used before this UTC day or time, or longer ago than this; stop the daemon
    /// first
    #[arg(long, value_name = "DATE|AGO")]
    pub(crate) before: Option<String>,
    /// Print one JSON object, with --anonymous or --before: the sessions it would forget, or forgot
    #[arg(long, conflicts_with = "what")]
    pub(crate) json: bool,
    /// Treat the argument as a session name, even if it looks like a number
    #[arg(long)]
    pub(crate) session: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Work on this state directory itself; no daemon may use it
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath, conflicts_with = "addr")]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

/// `bridle record`: the file itself.
#[derive(Debug, Subcommand)]
pub(crate) enum RecordCommand {
    /// Show the disk space of the record: by principal, session and kind
    #[command(after_help = "Works with or without a running daemon.\n\n\
        Examples:\n  bridle record size\n  bridle record size --json")]
    Size(SizeArgs),
    /// Free the disk space of forgotten records; stop the daemon first
    #[command(
        after_help = "Run `bridle forget` first. A `compacted` record replaces forgotten ones, and `bridle log verify` still \
        passes.\n\n\
        Examples:\n  \
        bridle forget --before 2026-01-01 && bridle record compact\n  \
        bridle forget --anonymous --yes && bridle record compact --json"
    )]
    Compact(CompactArgs),
    /// Salvage a damaged record and move the damaged file aside; stop the daemon first
    #[command(
        after_help = "Keeps everything before the first damaged record. Later records are lost, and so are bodies that \
        cannot be decrypted. The damaged file stays as record.db.damaged-TIME. An intact record is not changed. \
        If record.db is missing or older than memory.db, repair starts a new record from what is there.\n\n\
        Examples:\n  bridle record repair --dry-run\n  bridle record repair --json"
    )]
    Repair(RepairArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// Only show what would be kept and what is lost
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}
