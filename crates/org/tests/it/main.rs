//! The reader from outside: against a real Emacs, and against texts that nobody would write.

mod changes;
mod edits;
mod emacs;
mod emacs_edits;
mod lines;
mod properties;
mod reading;
mod trees;
