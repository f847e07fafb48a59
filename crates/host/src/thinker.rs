//! Thinkers: the trait, and the choice between those that are built in.
//!
//! The daemon's settings name a thinker as text; [`crate::Host`] opens it. A thinker proposes and carries
//! nothing out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use bridle_loop::{Draft, KeywordName, ReflexAdvice, SignalContext, ThinkerFault, ThinkerPrompt};

use crate::error::HostError;
use crate::facts::DaemonFacts;
use crate::io::{HostFuture, ThoughtIo};

/// Answers prompts with drafts.
///
/// A session depends on nothing that a thinker keeps: answers are recorded, and replay asks nobody.
pub trait Thinker: Send + Sync {
    /// Advice that needs no thought. Called while a session waits: looks up and prints, and nothing else.
    fn consult(&self, context: &SignalContext, facts: &dyn DaemonFacts) -> ReflexAdvice;

    /// A draft, after as long as it takes. `io` takes pieces of the answer as they come, and ends the wait.
    ///
    /// # Errors
    /// The thinker failed, or was canceled.
    fn think<'a>(
        &'a self,
        prompt: &'a ThinkerPrompt,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>>;

    /// Whether a thought costs something. Then its beginning is recorded before it is asked, and one that is
    /// lost in a crash is told as such and not asked again.
    fn is_paid(&self, prompt: &ThinkerPrompt) -> bool {
        let _ = prompt;
        false
    }

    /// Whether it answers what a person writes. The daemon's own words need a slash then.
    fn answers_prose(&self) -> bool;
}

/// Thinkers by name, beside the one of the settings; replaced as a whole.
#[derive(Default)]
pub(crate) struct ThinkerDirectory(RwLock<BTreeMap<KeywordName, Arc<dyn Thinker>>>);

impl ThinkerDirectory {
    /// The thinker of this name. Whoever has it keeps it, whatever is swapped meanwhile.
    pub(crate) fn find(&self, name: &KeywordName) -> Option<Arc<dyn Thinker>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).map(Arc::clone)
    }

    /// Puts other thinkers in force.
    pub(crate) fn swap(&self, thinkers: BTreeMap<KeywordName, Arc<dyn Thinker>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = thinkers;
    }
}

/// Choice of a thinker in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ThinkerChoice {
    /// The language models of the user's file; without any, the memory is searched, and else as `Builtin`. The
    /// daemon puts them before the built-in words.
    #[default]
    Models,
    /// Answers to a few words that the daemon understands by itself.
    Builtin,
    /// The rules of a file.
    Script(PathBuf),
}

impl FromStr for ThinkerChoice {
    type Err = HostError;

    /// Takes `models`, `builtin` or `script:FILE`.
    fn from_str(text: &str) -> Result<Self, HostError> {
        match text.split_once(':') {
            None if text.eq_ignore_ascii_case("models") => Ok(Self::Models),
            None if text.eq_ignore_ascii_case("builtin") => Ok(Self::Builtin),
            Some((kind, file)) if kind.eq_ignore_ascii_case("script") && !file.is_empty() => {
                Ok(Self::Script(file.into()))
            }
            _ => Err(HostError::UnknownThinker(text.into())),
        }
    }
}

impl std::fmt::Display for ThinkerChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Models => f.write_str("models"),
            Self::Builtin => f.write_str("builtin"),
            Self::Script(file) => write!(f, "script:{}", file.display()),
        }
    }
}

#[cfg(test)]
mod tests;
