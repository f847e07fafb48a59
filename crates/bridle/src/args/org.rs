//! The flags of `bridle org`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub(crate) enum OrgCommand {
    /// Parse files and write them back: exit 1 with the position if a byte differs
    #[command(
        after_help = "Any bytes are valid Org, so this fails only on a parser bug or an unreadable file. It names each such \
        file and goes on with the others.\n\n\
        Examples:\n  \
        bridle org check notes/*.org\n  \
        bridle org check --json notes/*.org | jq 'select(.status != \"same\")'"
    )]
    Check {
        /// Files to check, or - for stdin
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
        files: Vec<PathBuf>,
        /// Print one JSON object per file, one per line
        #[arg(long)]
        json: bool,
    },
    /// Print the syntax tree of a file: type, depth, position and value of each node
    #[command(
        after_help = "One line per element and object, in text order. Positions are bytes from 0; with --chars, \
        characters from 1, as Emacs counts them. Each line of --sexp is (DEPTH TYPE BEGIN END \
        CONTENTS-BEGIN CONTENTS-END POST-AFFILIATED VALUE..).\n\n\
        Examples:\n  \
        bridle org tree notes.org\n  \
        bridle org tree notes.org --json | jq 'select(.type == \"headline\")'\n  \
        bridle org tree notes.org --sexp --chars"
    )]
    Tree(OrgTreeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OrgTreeArgs {
    /// File to parse, or - for stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one S-expression per line
    #[arg(long, conflicts_with = "json")]
    pub(crate) sexp: bool,
    /// Count characters from 1 instead of bytes from 0
    #[arg(long)]
    pub(crate) chars: bool,
}
