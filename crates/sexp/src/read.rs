//! The reader: text to tape, one forward pass, no recursion.
//!
//! [`Reader`] holds the settings; [`scan`] does the work. Atoms are classified here and decoded
//! by the tree when asked. Nothing is interned, resolved or run.

mod atom;
mod blank;
pub(crate) mod character;
mod dispatch;
pub(crate) mod number;
mod run;
mod scan;
pub(crate) mod string;
pub(crate) mod token;

use crate::error::{Category, Error, Fault};
use crate::limits::{Comments, DEPTH_CEILING, Dialect, Limits};
use crate::tree::{Tape, Tree};
use scan::Scan;

/// Either a result, or the news that the text ends too early to have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<T> {
    /// The whole form was there.
    Done(T),
    /// More text is needed; what is there so far may still become a form.
    Incomplete,
}

/// Reads forms. Cheap to copy; holds no text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reader {
    dialect: Dialect,
    comments: Comments,
    limits: Limits,
}

/// Reads exactly one form with the settings of the wire.
///
/// # Errors
/// As [`Reader::read_one`].
pub fn read_one(text: &str) -> Result<Tree<'_>, Error> {
    Reader::new().read_one(text)
}

impl Reader {
    /// The settings of the wire: Lisp, no comments, default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the syntax of `dialect`.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Refuses or skips comments.
    pub fn comments(mut self, comments: Comments) -> Self {
        self.comments = comments;
        self
    }

    /// Applies these limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Limits { depth: limits.depth.min(DEPTH_CEILING), ..limits };
        self
    }

    /// Reads the first form of `text` and leaves what follows it alone. An atom that ends with
    /// the text is complete.
    ///
    /// # Errors
    /// Text that no continuation makes a form, or that is over a limit.
    pub fn read<'s>(&self, text: &'s str) -> Result<Progress<Tree<'s>>, Error> {
        self.read_into(text, &mut Tape::new())
    }

    /// As [`read`](Self::read), writing into the memory of `tape`, which
    /// [`Tree::into_tape`] gives back. Without a tree the memory stays in `tape`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_into<'s>(
        &self,
        text: &'s str,
        tape: &mut Tape,
    ) -> Result<Progress<Tree<'s>>, Error> {
        match self.scan(text, tape) {
            Ok(tree) => Ok(Progress::Done(tree)),
            Err(fault) if fault.curable => Ok(Progress::Incomplete),
            Err(fault) => Err(fault.in_text(text)),
        }
    }

    /// Reads the one form of `text`, which may have blanks around it and nothing else.
    ///
    /// # Errors
    /// Also text that ends early ([`Category::Incomplete`]), holds nothing
    /// ([`Category::Empty`]) or goes on after the form ([`Category::Trailing`]).
    pub fn read_one<'s>(&self, text: &'s str) -> Result<Tree<'s>, Error> {
        self.read_one_into(text, &mut Tape::new())
    }

    /// As [`read_one`](Self::read_one), with the memory of `tape` as in
    /// [`read_into`](Self::read_into).
    ///
    /// # Errors
    /// As [`read_one`](Self::read_one).
    pub fn read_one_into<'s>(&self, text: &'s str, tape: &mut Tape) -> Result<Tree<'s>, Error> {
        let tree = self.scan(text, tape).map_err(|fault| fault.in_text(text))?;
        let after = match blank::skip_blanks(text.as_bytes(), tree.consumed, self.comments) {
            Ok(after) => after,
            Err(fault) => {
                *tape = tree.into_tape();
                return Err(fault.in_text(text));
            }
        };
        if after < text.len() {
            *tape = tree.into_tape();
            let reason = "expected the end of the text after the form";
            return Err(Fault::new(Category::Trailing, after, reason).in_text(text));
        }
        Ok(tree)
    }

    fn scan<'s>(&self, text: &'s str, tape: &mut Tape) -> Result<Tree<'s>, Fault> {
        if u32::try_from(text.len()).is_err() {
            let reason = "expected less than 4 GiB of text";
            return Err(Fault::new(Category::LimitText, 0, reason));
        }
        Scan::new(self, text, std::mem::take(&mut tape.0)).run().map_err(|(fault, entries)| {
            tape.0 = entries;
            fault
        })
    }
}

impl Fault {
    fn in_text(self, text: &str) -> Error {
        Error::at(self.category, text, self.at, self.reason)
    }
}
