//! The flags of `bridle memory` and `bridle undo`.

use clap::{Args, Subcommand, ValueHint};

use super::PeerArgs;
use crate::settings::StateDir;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    #[command(flatten)]
    Recall(super::recall::RecallCommand),
    /// Edit a file: shows the diff and applies it after approval
    #[command(
        after_help = "Name the heading with --id, --outline (once per level, from the top) or --line. Shows the diff and \
        asks for confirmation; --yes does not ask, --dry-run only shows. Without a terminal the edit waits \
        for `bridle approve`, and the exit code is 75.\n\n\
        Examples:\n  \
        bridle memory edit garden.org --outline 'Water the beds' state DONE\n  \
        bridle memory edit garden.org --id water plan deadline '<2026-11-20 Fri>' --dry-run\n  \
        bridle memory edit garden.org append '* Seeds' --yes\n  \
        bridle memory edit garden.org --line 12 refile --to-file old.org\n  \
        bridle memory edit garden.org --line 12 archive --into garden.org_archive"
    )]
    Edit(Box<MemoryEditArgs>),
    /// List versions of your files, latest first: when, who, why
    #[command(
        after_help = "Works with or without a running daemon. Pass RECORD to `bridle undo`.\n\n\
        Examples:\n  \
        bridle memory log\n  \
        bridle memory log projects/garden.org --changes --json"
    )]
    Log(MemoryLogArgs),
    /// Print the change of a version as a unified diff
    #[command(after_help = "Examples:\n  \
        bridle memory show 12\n  \
        bridle memory show --record 4711")]
    Show(MemoryShowArgs),
    /// Compare two versions, or a version with the current file
    #[command(after_help = "Examples:\n  \
        bridle memory diff 12\n  \
        bridle memory diff 12 15")]
    Diff(MemoryDiffArgs),
    /// Print a file as it was at a past time, or list all files of that time
    #[command(
        after_help = "TIME is 2026-11-15 or 2026-11-15T12:30Z, both in UTC, or an age: 30m, 12h, 7d.\n\n\
        Examples:\n  \
        bridle memory at 2026-11-15T12:30Z projects/garden.org\n  \
        bridle memory at 7d --json"
    )]
    At(MemoryAtArgs),
    /// Save all files as they are now under a name
    #[command(after_help = "Example:\n  bridle memory snapshot before-the-move")]
    Snapshot {
        /// Name of the snapshot: 1 to 64 of A-Z a-z 0-9 . _ -
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        peer: PeerArgs,
    },
    /// List snapshots
    #[command(after_help = "Example:\n  bridle memory snapshots")]
    Snapshots {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: StateDir,
    },
    /// Restore files from a snapshot; leaves newer files alone
    #[command(
        after_help = "Shows the change and which of your own lines it removes, then asks for confirmation; --yes does not ask, \
        --dry-run only shows.\n\n\
        Examples:\n  \
        bridle memory restore before-the-move --dry-run\n  \
        bridle memory restore before-the-move --file projects/garden.org"
    )]
    Restore {
        /// Name of the snapshot
        #[arg(value_name = "NAME")]
        name: String,
        /// Restore only this file
        #[arg(long, value_name = "FILE")]
        file: Option<String>,
        #[command(flatten)]
        how: TakeBackArgs,
    },
    /// Undo all changes of one turn and keep later edits
    #[command(
        after_help = "`bridle memory log --json` prints the session and turn of each change.\n\n\
        Example:\n  bridle memory rollback work 12"
    )]
    Rollback {
        /// Session of the turn
        #[arg(value_name = "SESSION")]
        session: String,
        /// Number of the turn
        #[arg(value_name = "TURN")]
        turn: u64,
        #[command(flatten)]
        how: TakeBackArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct MemoryEditArgs {
    /// Path of the file, relative to the Org folder
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Heading with this ID or CUSTOM_ID
    #[arg(long, value_name = "ID", conflicts_with_all = ["outline", "line"])]
    pub(crate) id: Option<String>,
    /// Heading with this title; once per level, from the top
    #[arg(long, value_name = "TITLE", conflicts_with = "line")]
    pub(crate) outline: Vec<String>,
    /// Heading or list item on this line
    #[arg(long, value_name = "N")]
    pub(crate) line: Option<u64>,
    /// Approve the edit without asking
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Only show what would change
    #[arg(long, global = true, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Print one JSON object, with the diff
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
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' title 'Water all beds'"
    )]
    Title { text: String },
    /// Set or remove the state keyword; repeaters and the log are handled as in Org
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' state DONE --note 'It rained'"
    )]
    State {
        keyword: Option<String>,
        /// Note for the log, if the file's settings ask for one
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Set or remove the priority: one letter or digit
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' priority A"
    )]
    Priority { letter: Option<String> },
    /// Set the tags of the heading
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' tags garden weekly"
    )]
    Tags { tags: Vec<String> },
    /// Set or remove a property
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' property EFFORT 0:15"
    )]
    Property { key: String, value: Option<String> },
    /// Set or remove a planning date
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' plan scheduled '<2026-11-20 Fri>'"
    )]
    Plan {
        /// Kind of date
        #[arg(value_parser = ["scheduled", "deadline", "closed"])]
        which: String,
        /// Timestamp, such as '<2026-11-20 Fri>'
        stamp: Option<String>,
    },
    /// Insert text after the subtree, on the same level
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' insert '* Seeds'"
    )]
    Insert { text: String },
    /// Append text at the end of the subtree, one level below, or at the end of the file
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' append '* Seeds'"
    )]
    Append { text: String },
    /// Move the subtree above its previous sibling
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' up"
    )]
    Up,
    /// Move the subtree below another heading, in this file or another
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' refile --to-file old.org"
    )]
    Refile {
        /// Target file; without a heading, append to its end
        #[arg(long, value_name = "FILE")]
        to_file: Option<String>,
        /// Heading with this ID or CUSTOM_ID
        #[arg(long, value_name = "ID", conflicts_with_all = ["to_outline", "to_line"])]
        to_id: Option<String>,
        /// Heading with this title; once per level, from the top
        #[arg(long, value_name = "TITLE", conflicts_with = "to_line")]
        to_outline: Vec<String>,
        /// Heading on this line
        #[arg(long, value_name = "N")]
        to_line: Option<u64>,
    },
    /// Add the tag ARCHIVE, or move the subtree to the end of an archive file
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' archive --into garden.org_archive"
    )]
    Archive {
        /// Archive file; created if missing
        #[arg(long, value_name = "FILE")]
        into: Option<String>,
    },
    /// Delete the subtree
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' delete --dry-run"
    )]
    Delete,
    /// Check or uncheck the box of the item on --line
    #[command(after_help = "Example:\n  bridle memory edit garden.org --line 12 checkbox")]
    Checkbox,
    /// Start the clock
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' clock-in"
    )]
    ClockIn {
        /// Time, such as '[2026-11-15 Sun 10:00]' [default: now, in UTC]
        at: Option<String>,
    },
    /// Stop the clock
    #[command(
        after_help = "Example:\n  bridle memory edit garden.org --outline 'Water the beds' clock-out '[2026-11-15 Sun 10:00]'"
    )]
    ClockOut {
        /// Time, such as '[2026-11-15 Sun 10:00]' [default: now, in UTC]
        at: Option<String>,
    },
}

/// Options for undoing something.
#[derive(Debug, Args)]
pub(crate) struct TakeBackArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only show what would change
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Print one JSON object with the diff and your lines that it removes; needs --dry-run or --yes
    #[arg(long)]
    pub(crate) json: bool,
    /// State directory of the daemon, to compute the diff from
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// Record of the change, from `bridle memory log` or `bridle effects`
    #[arg(value_name = "RECORD", required_unless_present_any = ["turn", "session"])]
    pub(crate) record: Option<u64>,
    /// Undo only these files of a project, by their paths in it
    #[arg(value_name = "FILE", requires = "record")]
    pub(crate) files: Vec<String>,
    /// Undo all changes of this turn of the session
    #[arg(long, value_name = "N", conflicts_with = "record")]
    pub(crate) turn: Option<u64>,
    /// Undo all changes of this session; with --turn, of that turn of it [default with --turn: main]
    #[arg(long, value_name = "SESSION", conflicts_with = "record")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) how: TakeBackArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryLogArgs {
    /// Only this file, by its path relative to the Org folder
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// Print at most this many
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Only changes by bridle
    #[arg(long)]
    pub(crate) changes: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryShowArgs {
    /// Number of the version
    #[arg(value_name = "VERSION", required_unless_present = "record")]
    pub(crate) version: Option<u64>,
    /// Show all files that this record changed
    #[arg(long, value_name = "RECORD", conflicts_with = "version")]
    pub(crate) record: Option<u64>,
    /// Print one JSON object per line, with the diff
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryDiffArgs {
    /// Older version
    #[arg(value_name = "VERSION")]
    pub(crate) from: u64,
    /// Newer version [default: the current file]
    #[arg(value_name = "VERSION")]
    pub(crate) to: Option<u64>,
    /// Print one JSON object
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
    /// File to print
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// Print the versions, one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}
