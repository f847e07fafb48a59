//! Memory as a prompt sees it: who may be told what, and the questions that are asked before a thought.
//!
//! The daemon implements the trait over its index; nothing here opens it. What only the owner may see is asked for
//! apart, so that a model elsewhere is never given it.

use std::path::PathBuf;

use bridle_host::HostFuture;
use bridle_loop::{Privacy, RoundCall, SessionId, SignalContext};
use bridle_sexp::Value;

/// Part of the memory that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecallReach {
    /// Without what is private.
    Open,
    /// With what is the owner's alone.
    Whole,
}

/// Question to the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecallQuestion {
    /// The best hits for a whole question.
    Ask {
        /// The question, as the user put it.
        text: String,
        /// Hits at most.
        limit: usize,
    },
    /// Titles and words that begin with a text.
    Begin {
        /// The text.
        prefix: String,
        /// Hits at most.
        limit: usize,
    },
    /// One object with its text, by its id or path.
    Object(String),
    /// The text of a file, by its path.
    Source(String),
}

/// Memory of a home.
pub trait MemoryRecall: Send + Sync {
    /// Whether there is a memory.
    fn is_open(&self) -> bool;

    /// Folder of the memory.
    fn folder(&self) -> Option<PathBuf>;

    /// Most that everybody who reads the session may be told; nothing if the policies forbid it.
    fn reach<'a>(&'a self, context: &'a SignalContext) -> HostFuture<'a, Option<RecallReach>>;

    /// The label of what a call brought back that says none itself: of a file, a program, an edit.
    fn act_label<'a>(
        &'a self,
        session: &'a SessionId,
        call: &'a RoundCall,
    ) -> HostFuture<'a, Privacy>;

    /// Answers a question as `:context` does; `None` where the memory has no answer now.
    fn answer(&self, question: RecallQuestion, reach: RecallReach)
    -> HostFuture<'_, Option<Value>>;
}

/// Home without a memory.
#[derive(Clone, Copy, Debug)]
pub struct NoMemory;

impl MemoryRecall for NoMemory {
    fn is_open(&self) -> bool {
        false
    }

    fn folder(&self) -> Option<PathBuf> {
        None
    }

    fn reach<'a>(&'a self, _: &'a SignalContext) -> HostFuture<'a, Option<RecallReach>> {
        Box::pin(async { None })
    }

    fn act_label<'a>(&'a self, _: &'a SessionId, _: &'a RoundCall) -> HostFuture<'a, Privacy> {
        Box::pin(async { Privacy::default() })
    }

    fn answer(&self, _: RecallQuestion, _: RecallReach) -> HostFuture<'_, Option<Value>> {
        Box::pin(async { None })
    }
}
