//! The command line of everything that has to do with the record: reading, checking, repeating and
//! erasing it, and following a session live.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueHint};

use super::PeerArgs;
use crate::settings::StateDir;

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
    /// At most so many
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Go on with new records as they are written, until interrupted
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) output: RecordOutputArgs,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

/// Form in which a record or an event is printed.
#[derive(Debug, Clone, Copy, Args)]
#[command(group = ArgGroup::new("form").args(["json", "lisp"]))]
pub(crate) struct RecordOutputArgs {
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Strings as Common Lisp reads them, line breaks inside them kept
    #[arg(long)]
    pub(crate) lisp: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogVerb {
    /// Check the chain of hashes: exit 0 if whole, 65 with the number of the first record that is not
    #[command(
        after_help = "A line that `bridle log head` printed earlier, kept elsewhere, also finds a record \
        that was rewritten as a whole or cut at its end.\n\n\
        Examples:\n  \
        bridle log verify\n  \
        bridle log verify --head head.txt --key signing.key"
    )]
    Verify(VerifyArgs),
    /// Print number and hash of the last record, to be kept elsewhere
    #[command(after_help = "Example:\n  bridle log head --sign signing.key > head.txt")]
    Head(HeadArgs),
    /// Write what was thought and done as an Org file on stdout
    #[command(after_help = "Examples:\n  \
        bridle log export --org > trace.org\n  \
        bridle log export --org --session work > work.org")]
    Export(ExportArgs),
    /// Keep a text copy of the record in a file, for grep or an editor, until interrupted
    #[command(
        after_help = "Only whole lines are appended, one a record; started again, it goes on where the file \
        ends.\n\n\
        Examples:\n  \
        bridle log mirror ~/record.lisp\n  \
        bridle log mirror --once ~/record.lisp                    bring it up to date and end"
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
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct HeadArgs {
    /// Sign the line with the bytes of this file, at least 16
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// As Org; the one format there is
    #[arg(long, required = true)]
    pub(crate) org: bool,
    /// Only this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorArgs {
    /// The copy; created with mode 0600 if missing
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// End when the copy is up to date
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// The session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: String,
    /// Begin behind the event of this number
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
    /// Include sessions that you did not name, and forgotten ones
    #[arg(long)]
    pub(crate) all: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Compare nothing before this record; what went before is still fed, since it makes the state
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) from: u64,
    /// End with this record
    #[arg(long, value_name = "NUMBER")]
    pub(crate) to: Option<u64>,
    /// Only this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Number of the last record that the new session shares with the old one
    #[arg(value_name = "RECORD")]
    pub(crate) record: u64,
    /// Name of the new session [default: one that the daemon makes up]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("forgettable").required(true).args(["what", "anonymous", "before"]))]
pub(crate) struct ForgetArgs {
    /// A session by its name, or one record by its number
    #[arg(value_name = "SESSION|RECORD")]
    pub(crate) what: Option<String>,
    /// All sessions that nobody known began; no daemon may run
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// All sessions last used before this day or time (UTC), or so long ago; no daemon may run
    #[arg(long, value_name = "DATE|AGO")]
    pub(crate) before: Option<String>,
    /// One JSON object, with --anonymous or --before: what would be forgotten, or was
    #[arg(long, conflicts_with = "what")]
    pub(crate) json: bool,
    /// Read the argument as a session name, even if it looks like a number
    #[arg(long)]
    pub(crate) session: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Work on this state directory, in which no daemon runs, and ask nobody
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath, conflicts_with = "addr")]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

/// `bridle record`: the file itself.
#[derive(Debug, Subcommand)]
pub(crate) enum RecordCommand {
    /// Show how much room the record takes: by principal, session and kind
    #[command(after_help = "Works while the daemon runs and when it does not.\n\n\
        Examples:\n  bridle record size\n  bridle record size --json")]
    Size(SizeArgs),
    /// Give the room of forgotten records back to the disk; no daemon may run
    #[command(
        after_help = "Forget first what is to go: a `compacted` record takes its place, and `bridle log verify` still \
        passes.\n\n\
        Examples:\n  \
        bridle forget --before 2026-01-01 && bridle record compact\n  \
        bridle forget --anonymous --yes && bridle record compact --json"
    )]
    Compact(CompactArgs),
    /// Keep what can be read of a damaged record, and put the damaged file aside; no daemon may run
    #[command(
        after_help = "Everything before the first damaged record is kept; what follows is gone, and so are bodies that \
        cannot be\nopened. The damaged file stays as record.db.damaged-TIME. A record that is whole is left alone. \
        Where record.db\nis missing or older than memory.db, a new beginning is made of what is there.\n\n\
        Examples:\n  bridle record repair --dry-run\n  bridle record repair --json"
    )]
    Repair(RepairArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// Only say what would be kept and what is gone
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}
