//! The flags of `bridle org`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub(crate) enum OrgCommand {
    /// Read files and put them together again: exit 1 and the place where a file does not come back as it was
    #[command(
        after_help = "Any bytes are Org text, so this fails only where the reader has a fault, or a file cannot be\n\
        read: each is named, and the others are read all the same.\n\n\
        Examples:\n  \
        bridle org check notes/*.org\n  \
        bridle org check --json notes/*.org | jq 'select(.status != \"same\")'"
    )]
    Check {
        /// The files; `-` is stdin
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
        files: Vec<PathBuf>,
        /// Print a JSON object for each file, a line each
        #[arg(long)]
        json: bool,
    },
    /// Print what a file is made of: types, nesting, places, and what each thing says
    #[command(
        after_help = "One line for each element and object, in the order of the text. Places are bytes from 0; \
        with --chars,\ncharacters from 1, as Emacs counts them. A form of --sexp is (DEPTH TYPE BEGIN END \
        CONTENTS-BEGIN\nCONTENTS-END POST-AFFILIATED VALUE..).\n\n\
        Examples:\n  \
        bridle org tree notes.org\n  \
        bridle org tree notes.org --json | jq 'select(.type == \"headline\")'\n  \
        bridle org tree notes.org --sexp --chars"
    )]
    Tree(OrgTreeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OrgTreeArgs {
    /// The file; `-` is stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Print a JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print an S-expression a line
    #[arg(long, conflicts_with = "json")]
    pub(crate) sexp: bool,
    /// Count characters from 1 instead of bytes from 0
    #[arg(long)]
    pub(crate) chars: bool,
}
