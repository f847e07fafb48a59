//! The flags of `bridle memory` and `bridle undo`.

use clap::{Args, Subcommand, ValueHint};

use super::PeerArgs;
use crate::settings::StateDir;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    #[command(flatten)]
    Recall(super::recall::RecallCommand),
    /// Change a file: the daemon shows the diff, and does it after a yes
    #[command(
        after_help = "The heading is named by --id, --outline (once for each level, from the top) or --line. Shows what\n\
        would change and asks; --yes does not ask, --dry-run only shows. Where nobody can be asked, the\n\
        question waits for `bridle approve`, and the exit code is 75.\n\n\
        Examples:\n  \
        bridle memory edit garden.org --outline 'Water the beds' state DONE\n  \
        bridle memory edit garden.org --id water plan deadline '<2026-11-20 Fri>' --dry-run\n  \
        bridle memory edit garden.org append '* Seeds' --yes\n  \
        bridle memory edit garden.org --line 12 refile --to-file old.org\n  \
        bridle memory edit garden.org --line 12 archive --into garden.org_archive"
    )]
    Edit(Box<MemoryEditArgs>),
    /// List versions of your files, the latest first: when, who, why
    #[command(
        after_help = "Works while the daemon runs and when it does not. RECORD is what `bridle undo` takes.\n\n\
        Examples:\n  \
        bridle memory log\n  \
        bridle memory log projects/garden.org --changes --json"
    )]
    Log(MemoryLogArgs),
    /// Print what a version changed, as a unified diff
    #[command(after_help = "Examples:\n  \
        bridle memory show 12\n  \
        bridle memory show --record 4711")]
    Show(MemoryShowArgs),
    /// Compare two versions, or one with the file as it is now
    #[command(after_help = "Examples:\n  \
        bridle memory diff 12\n  \
        bridle memory diff 12 15")]
    Diff(MemoryDiffArgs),
    /// Print a file as it was at a time, or list all files of that time
    #[command(
        after_help = "A time is 2026-11-15, 2026-11-15T12:30Z (all in UTC), or so long ago: 30m, 12h, 7d.\n\n\
        Examples:\n  \
        bridle memory at 2026-11-15T12:30Z projects/garden.org\n  \
        bridle memory at 7d --json"
    )]
    At(MemoryAtArgs),
    /// Keep all files as they are now under a name
    #[command(after_help = "Example:\n  bridle memory snapshot before-the-move")]
    Snapshot {
        /// 1 to 64 of A-Z a-z 0-9 . _ -
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        peer: PeerArgs,
    },
    /// List the snapshots
    Snapshots {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: StateDir,
    },
    /// Bring files back as a snapshot has them; what came since is left alone
    #[command(
        after_help = "Shows what would change, and which lines that you wrote would go, and asks first; --yes does not ask, --dry-run only shows.\n\n\
        Examples:\n  \
        bridle memory restore before-the-move --dry-run\n  \
        bridle memory restore before-the-move --file projects/garden.org"
    )]
    Restore {
        /// The snapshot
        #[arg(value_name = "NAME")]
        name: String,
        /// Only this file
        #[arg(long, value_name = "FILE")]
        file: Option<String>,
        #[command(flatten)]
        how: TakeBackArgs,
    },
    /// Take all changes of one turn back, and keep what others wrote since
    #[command(
        after_help = "`bridle memory log --json` has the session and the turn of each change.\n\n\
        Example:\n  bridle memory rollback work 12"
    )]
    Rollback {
        /// The session
        #[arg(value_name = "SESSION")]
        session: String,
        /// The turn
        #[arg(value_name = "TURN")]
        turn: u64,
        #[command(flatten)]
        how: TakeBackArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct MemoryEditArgs {
    /// The file, by its name below the folder
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// The heading with this ID or CUSTOM_ID
    #[arg(long, value_name = "ID", conflicts_with_all = ["outline", "line"])]
    pub(crate) id: Option<String>,
    /// The heading with this title; once for each level, from the top
    #[arg(long, value_name = "TITLE", conflicts_with = "line")]
    pub(crate) outline: Vec<String>,
    /// The heading, or the item of a list, on this line
    #[arg(long, value_name = "N")]
    pub(crate) line: Option<u64>,
    /// Do not ask
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Show what would change, and ask for nothing
    #[arg(long, global = true, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// One JSON object, with the diff
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// State directory of the daemon, for --dry-run
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    #[command(subcommand)]
    pub(crate) verb: EditVerbArg,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EditVerbArg {
    /// Set the title
    Title { text: String },
    /// Set the keyword, or take it away; what repeats moves on, and the log is kept, as Org does
    State {
        keyword: Option<String>,
        /// A note for the log, where the file's settings ask for one
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Set the priority, one letter or digit, or take it away
    Priority { letter: Option<String> },
    /// Set the heading's own tags
    Tags { tags: Vec<String> },
    /// Set a property, or take it away
    Property { key: String, value: Option<String> },
    /// Set a time, or take it away
    Plan {
        /// Name of the property
        #[arg(value_parser = ["scheduled", "deadline", "closed"])]
        which: String,
        /// Such as '<2026-11-20 Fri>'
        stamp: Option<String>,
    },
    /// Put a text behind the subtree, on the same level
    Insert { text: String },
    /// Put a text at the end of the subtree, one level below, or at the end of the file
    Append { text: String },
    /// Move the subtree before the one above it
    Up,
    /// Move the subtree below another heading, perhaps of another file
    Refile {
        /// The other file; without a heading, to its end
        #[arg(long, value_name = "FILE")]
        to_file: Option<String>,
        /// The heading with this ID or CUSTOM_ID
        #[arg(long, value_name = "ID", conflicts_with_all = ["to_outline", "to_line"])]
        to_id: Option<String>,
        /// The heading with this title; once for each level, from the top
        #[arg(long, value_name = "TITLE", conflicts_with = "to_line")]
        to_outline: Vec<String>,
        /// The heading on this line
        #[arg(long, value_name = "N")]
        to_line: Option<u64>,
    },
    /// Give it the tag ARCHIVE, or move the subtree to the end of an archive
    Archive {
        /// The archive; it may be new
        #[arg(long, value_name = "FILE")]
        into: Option<String>,
    },
    /// Take the subtree away
    Delete,
    /// Check or uncheck the box of the item on --line
    Checkbox,
    /// Start the clock
    ClockIn {
        /// Such as '[2026-11-15 Sun 10:00]' [default: now, in UTC]
        at: Option<String>,
    },
    /// Stop the clock
    ClockOut {
        /// Such as '[2026-11-15 Sun 10:00]' [default: now, in UTC]
        at: Option<String>,
    },
}

/// Options for undoing something.
#[derive(Debug, Args)]
pub(crate) struct TakeBackArgs {
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show what would change, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// One JSON object, with the diff and your lines that go; with --dry-run or --yes
    #[arg(long)]
    pub(crate) json: bool,
    /// State directory of the daemon, for what is shown
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The record of the change, as `bridle memory log` and `bridle effects` name it
    #[arg(value_name = "RECORD")]
    pub(crate) record: u64,
    #[command(flatten)]
    pub(crate) how: TakeBackArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryLogArgs {
    /// Only this file, by its name below the folder
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Only what bridle changed, not what was written by others
    #[arg(long)]
    pub(crate) changes: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryShowArgs {
    /// The version
    #[arg(value_name = "VERSION", required_unless_present = "record")]
    pub(crate) version: Option<u64>,
    /// All files that one record changed
    #[arg(long, value_name = "RECORD", conflicts_with = "version")]
    pub(crate) record: Option<u64>,
    /// One JSON object a line, with the diff
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryDiffArgs {
    /// The older version
    #[arg(value_name = "VERSION")]
    pub(crate) from: u64,
    /// The newer one [default: the file as it is now]
    #[arg(value_name = "VERSION")]
    pub(crate) to: Option<u64>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryAtArgs {
    /// Point in time
    #[arg(value_name = "TIME")]
    pub(crate) time: String,
    /// The file whose text is printed
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// One JSON object a line, of the versions
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}
