//! Who thinks: the choice between thinkers, and what each gives while it does.
//!
//! The daemon's settings name a thinker as text; [`crate::Host`] opens it.

use std::path::PathBuf;
use std::str::FromStr;

use crate::error::HostError;

/// Which thinker answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ThinkerChoice {
    /// A few words that the daemon understands by itself.
    #[default]
    Builtin,
    /// The rules of a file.
    Script(PathBuf),
}

impl FromStr for ThinkerChoice {
    type Err = HostError;

    /// Takes `builtin` or `script:FILE`.
    fn from_str(text: &str) -> Result<Self, HostError> {
        match text.split_once(':') {
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
            Self::Builtin => f.write_str("builtin"),
            Self::Script(file) => write!(f, "script:{}", file.display()),
        }
    }
}

/// A piece of an answer that is still being thought of. Shown to shells at once, never recorded:
/// the draft at the end has all of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextDelta {
    /// What comes next.
    pub text: Box<str>,
}

#[cfg(test)]
mod tests;
