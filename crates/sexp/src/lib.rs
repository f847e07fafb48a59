//! The data language of bridle: read, print and walk S-expressions.
//!
//! Text that SBCL or Emacs printed is read into a tape over the text, walked through [`Node`],
//! lifted into an owned [`Value`] where it must outlive the text, and printed back. There is no
//! evaluation, no symbol table, no IO; hostile text costs at most its own length.
//!
//! In reading order:
//! - [`limits`]: how much is accepted, which syntax
//! - [`error`]: categories and places
//! - `read`: text to tape
//! - `tree`: the tape, [`Node`], [`Children`]
//! - `symbol`: one canonical spelling for each symbol
//! - `value`: owned values
//! - `plist`: access by keyword
//! - `print`, `canonical`: text from values and from the tape
//! - [`json`]: the lossless mapping
//! - [`byte_text`]: bytes as hex digits and base64, for every crate above
//! - [`civil_date`]: the arithmetic of the calendar, for every crate above

pub mod limits;

pub mod error;

mod read;
mod tree;

mod symbol;
mod value;

mod canonical;
mod plist;
mod print;

pub mod json;

pub mod byte_text;
pub mod civil_date;

pub use canonical::canonical;
pub use error::{Category, Error, Place};
pub use limits::{Comments, Dialect, Limits};
pub use plist::Pairs;
pub use print::{print, print_count, print_int, print_keyword, print_str};
pub use read::character::Char;
pub use read::{Progress, Reader, read_one};
pub use symbol::{Keyword, Symbol};
pub use tree::{Children, Kind, Node, Tape, Tree};
pub use value::{Float, Value};
