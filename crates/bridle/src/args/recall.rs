//! The flags of `bridle init`, and of the questions of `bridle memory`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::PeerArgs;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The folder of Org files [default: ~/memex]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Do it without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only say what would be read
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// State directory for the index [default: the settings']
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecallCommand {
    /// Find headings and files: by words, tags, keywords, properties, dates
    #[command(
        after_help = "Words must all be there; \"a phrase\", begin* and -without mean what they look like, the\n\
        last behind `--`.\n\n\
        Examples:\n  \
        bridle memory query roof ladder\n  \
        bridle memory query --state open -- roof -ladder\n  \
        bridle memory query --tag house --state open --json\n  \
        bridle memory query --from 2026-11-15 --to 2026-11-21"
    )]
    Query(Box<QueryArgs>),
    /// Print titles in the order of the files
    #[command(after_help = "Examples:\n  \
        bridle memory outline --depth 1\n  \
        bridle memory outline --under projects/roof.org")]
    Outline(OutlineArgs),
    /// Print a point of attention in full, and the rest in outline, within a budget of tokens
    #[command(after_help = "Example:\n  bridle memory focus projects/roof.org --budget 2000")]
    Focus(FocusArgs),
    /// Print one heading or file with its text, by its id or path
    Get(GetArgs),
    /// Say how it stands with the index: what is in it, what is not read and why
    Status(StatusArgs),
}

#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// Words
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// A tag that it has or inherits; may be given again
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// A tag that it must not have
    #[arg(long, value_name = "TAG")]
    pub(crate) without: Vec<String>,
    /// A keyword; one of several
    #[arg(long, value_name = "KEYWORD")]
    pub(crate) todo: Vec<String>,
    /// Whether something is left to do
    #[arg(long, value_name = "open|done", value_parser = ["open", "done"])]
    pub(crate) state: Option<String>,
    /// A priority
    #[arg(long, value_name = "LETTER")]
    pub(crate) priority: Option<String>,
    /// A property, with or without its value
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) property: Vec<String>,
    /// The first day of a span that one of its dates falls into
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// The last day of it
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
    /// Kind of object
    #[arg(long = "type", value_name = "heading|file", value_parser = ["heading", "file"])]
    pub(crate) kind: Option<String>,
    /// Reach of the object
    #[arg(long, value_name = "SCOPE", value_parser = ["memex", "project", "session"])]
    pub(crate) scope: Option<String>,
    /// Only what is below this: an id, a file or a folder
    #[arg(long, value_name = "ID|PATH")]
    pub(crate) under: Option<String>,
    #[command(flatten)]
    pub(crate) paging: PagingArgs,
}

/// Page size, and place to go on from.
#[derive(Debug, Args)]
pub(crate) struct PagingArgs {
    /// Number of results to print [default: 50]
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u32>,
    /// Go on where a page ended; it says so on stderr
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
    /// Only what is below this: an id, a file or a folder
    #[arg(long, value_name = "ID|PATH")]
    pub(crate) under: Option<String>,
    /// Levels of headings; 0 has files alone
    #[arg(long, value_name = "LEVELS")]
    pub(crate) depth: Option<u32>,
    #[command(flatten)]
    pub(crate) paging: PagingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FocusArgs {
    /// The id of a heading, or the path of a file; without it, an overview
    #[arg(value_name = "ID|PATH")]
    pub(crate) at: Option<String>,
    /// Tokens [default: 4000]
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
    /// The id of a heading, or the path of a file
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
