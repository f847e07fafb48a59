//! The flags of `bridle init`, and of the questions of `bridle memory`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::PeerArgs;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Org folder [default: ~/memex]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only show what would be read
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do not copy the skills that come with bridle into the folder
    #[arg(long)]
    pub(crate) no_skills: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// State directory for the index [default: the setting `state`]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecallCommand {
    /// Find headings and files: by words, tags, keywords, properties, dates
    #[command(
        after_help = "Results contain all words. Also \"a phrase\", a prefix* and, after `--`, an -excluded word.\n\n\
        Examples:\n  \
        bridle memory query roof ladder\n  \
        bridle memory query --state open -- roof -ladder\n  \
        bridle memory query --tag house --state open --json\n  \
        bridle memory query --from 2026-11-15 --to 2026-11-21"
    )]
    Query(Box<QueryArgs>),
    /// Print the titles of headings, in file order
    #[command(after_help = "Examples:\n  \
        bridle memory outline --depth 1\n  \
        bridle memory outline --under projects/roof.org")]
    Outline(OutlineArgs),
    /// Print a heading or file in full and the rest in outline, within a token budget
    #[command(after_help = "Example:\n  bridle memory focus projects/roof.org --budget 2000")]
    Focus(FocusArgs),
    /// Print the text of a heading or file
    #[command(after_help = "Example:\n  bridle memory get roof-1 --json")]
    Get(GetArgs),
    /// Show the state of the index: its contents, and files it could not read and why
    #[command(after_help = "Examples:\n  bridle memory status\n  bridle memory status --json")]
    Status(StatusArgs),
}

#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// Words to find
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Has or inherits this tag; repeatable
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Does not have this tag; repeatable
    #[arg(long, value_name = "TAG")]
    pub(crate) without: Vec<String>,
    /// Has this keyword, such as NEXT; repeat for any of several
    #[arg(long, value_name = "KEYWORD")]
    pub(crate) todo: Vec<String>,
    /// Is open or done
    #[arg(long, value_name = "open|done", value_parser = ["open", "done"])]
    pub(crate) state: Option<String>,
    /// Has this priority
    #[arg(long, value_name = "LETTER")]
    pub(crate) priority: Option<String>,
    /// Has this property, with any value or this one; repeatable
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) property: Vec<String>,
    /// Has a date on or after this day
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// Has a date on or before this day
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
    /// Kind of result
    #[arg(long = "type", value_name = "heading|file", value_parser = ["heading", "file"])]
    pub(crate) kind: Option<String>,
    /// Scope of the result
    #[arg(long, value_name = "SCOPE", value_parser = ["memex", "project", "session"])]
    pub(crate) scope: Option<String>,
    /// Only results below this id, file or folder
    #[arg(long, value_name = "ID|PATH")]
    pub(crate) under: Option<String>,
    #[command(flatten)]
    pub(crate) paging: PagingArgs,
}

/// Page size, and place to go on from.
#[derive(Debug, Args)]
pub(crate) struct PagingArgs {
    /// Print at most this many results [default: 50]
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u32>,
    /// Continue after a page, with the cursor that it printed on stderr
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OutlineArgs {
    /// Only results below this id, file or folder
    #[arg(long, value_name = "ID|PATH")]
    pub(crate) under: Option<String>,
    /// Levels of headings to print; 0 prints files only
    #[arg(long, value_name = "LEVELS")]
    pub(crate) depth: Option<u32>,
    #[command(flatten)]
    pub(crate) paging: PagingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FocusArgs {
    /// Id of a heading or path of a file; without it, an overview
    #[arg(value_name = "ID|PATH")]
    pub(crate) at: Option<String>,
    /// Token budget [default: 4000]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<u32>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// Id of a heading or path of a file
    #[arg(value_name = "ID|PATH")]
    pub(crate) id: String,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}
