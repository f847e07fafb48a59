//! How much text the reader takes before it refuses, and which syntax it reads.
//!
//! Every limit is a named number with its reason. Called by anyone who builds a
//! [`Reader`](crate::Reader). This is not the frame limit: that one belongs to the wire.

/// Nested lists, vectors and quote marks. The deepest Org tree seen is below 60.
pub const DEFAULT_DEPTH: usize = 512;

/// The most that [`Limits::depth`] can ask for. `Drop`, `Clone`, `Eq` and `Hash` of a
/// [`Value`](crate::Value) recurse once a level, and 4096 levels fit any thread's stack.
pub const DEPTH_CEILING: usize = 4096;

/// Bytes of one atom that is not a string: 1 MiB, far above any real symbol.
pub const DEFAULT_ATOM_BYTES: usize = 1 << 20;

/// Values in one form, atoms and lists alike: 64 MB of tape at 16 bytes each.
pub const DEFAULT_ELEMENTS: usize = 4_000_000;

/// Digits of one integer: conversion between radixes takes quadratic time.
pub const DEFAULT_INTEGER_DIGITS: usize = 4096;

/// Limits of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Nested lists, vectors and quote marks; values above [`DEPTH_CEILING`] count as that.
    pub depth: usize,
    /// Bytes of one atom, strings excepted.
    pub atom_bytes: usize,
    /// Values in one form.
    pub elements: usize,
    /// Digits of one integer, or of either part of a ratio.
    pub integer_digits: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: DEFAULT_DEPTH,
            atom_bytes: DEFAULT_ATOM_BYTES,
            elements: DEFAULT_ELEMENTS,
            integer_digits: DEFAULT_INTEGER_DIGITS,
        }
    }
}

/// Dialect: the Lisp whose syntax a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Common Lisp, the language of the wire.
    #[default]
    Lisp,
    /// Emacs Lisp: its string escapes, `?a` characters, and colons inside symbols.
    Emacs,
}

/// Treatment of `;` and `#| |#`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Comments {
    /// Refuses them, as the wire does.
    #[default]
    Refuse,
    /// Reads over them, as files need.
    Skip,
}
