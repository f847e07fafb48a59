//! The command line of forms, frames and schemas.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

#[derive(Debug, Args)]
pub(crate) struct SexpArgs {
    /// Print the canonical form
    #[arg(long, group = "output")]
    pub(crate) canonical: bool,
    /// Print the lossless JSON mapping
    #[arg(long, group = "output")]
    pub(crate) json: bool,
    /// Print the form indented
    #[arg(long, group = "output")]
    pub(crate) pretty: bool,
    /// Dialect of string escapes in the input
    #[arg(long, value_enum, default_value = "lisp", conflicts_with = "from_json")]
    pub(crate) dialect: DialectArg,
    /// Allow and skip comments
    #[arg(long, conflicts_with = "from_json")]
    pub(crate) comments: bool,
    /// Read JSON and print it as a form
    #[arg(long)]
    pub(crate) from_json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// Common Lisp, and the wire
    Lisp,
    /// Emacs Lisp
    Emacs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FrameCommand {
    /// Read forms and write one frame for each
    #[command(
        after_help = "Example:\n  echo '(:type :health-check)' | bridle frame encode | nc -q1 127.0.0.1 9105"
    )]
    Encode(FramingArgs),
    /// Read frames and write each payload with a newline
    #[command(
        after_help = "On an invalid frame: exit 65 and `CODE at byte N: reason` on stderr, after the payloads before it.\n\n\
        Example:\n  echo '(:a 1)' | bridle frame encode | bridle frame decode"
    )]
    Decode(FramingArgs),
}

/// Options for reading or writing frames.
#[derive(Debug, Args)]
pub(crate) struct FramingArgs {
    /// Signature version of the frames; unsigned without it
    #[arg(long, value_name = "VERSION", requires = "key_file")]
    pub(crate) hmac: Option<FileVersionArg>,
    /// File with the key: its bytes, unchanged, of any length
    #[arg(long, value_name = "FILE", requires = "hmac", value_hint = ValueHint::FilePath)]
    pub(crate) key_file: Option<PathBuf>,
    /// Unit of frame lengths [default: bytes when encoding, detected when decoding]
    #[arg(long, value_enum)]
    pub(crate) count: Option<CountArg>,
}

/// Version 2 binds a frame to its connection, so a file of frames knows only version 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileVersionArg {
    /// A signature of the payload alone
    V1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountArg {
    /// Bytes of UTF-8
    Bytes,
    /// Characters, as Lisp peers count them
    Chars,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchemaArgs {
    /// The messages of the OpenHarness Protocol
    #[command(
        after_help = "Without --direction the schema covers requests and responses. It describes valid messages to send; \
        --lenient describes everything that is accepted, including nulls and unknown enum values.\n\n\
        Examples:\n  \
        bridle schema openharness > openharness.schema.json\n  \
        bridle schema openharness --direction request"
    )]
    Openharness {
        /// Only messages in this direction
        #[arg(long, value_enum)]
        direction: Option<DirectionArg>,
        /// Describe everything that is accepted, not only what is valid to send
        #[arg(long)]
        lenient: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionArg {
    /// From a shell to the engine
    Request,
    /// From the engine to a shell
    Response,
}
