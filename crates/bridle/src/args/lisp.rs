//! The flags of `bridle lisp`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
pub(crate) struct Lisp {
    /// Program file, or - for stdin
    #[arg(value_hint = ValueHint::FilePath, required_unless_present_any = ["forms", "repl"])]
    pub(crate) file: Option<PathBuf>,
    /// Evaluate these forms
    #[arg(short = 'e', value_name = "FORM", conflicts_with = "file", allow_hyphen_values = true)]
    pub(crate) forms: Option<String>,
    /// Read forms from stdin and print the values of each; an error ends only its form
    #[arg(long, conflicts_with_all = ["file", "forms"])]
    pub(crate) repl: bool,
    /// Limit on the steps of one program or form
    #[arg(long, value_name = "STEPS", default_value_t = 500_000_000)]
    pub(crate) fuel: u64,
    /// Limit on live values, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    pub(crate) heap: usize,
}
