//! Settings as people wrote them, for shells that ask.

/// A setting, as people wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFact {
    /// Its name.
    pub name: String,
    /// Its value; `None` where there is none, and for a secret.
    pub value: Option<String>,
    /// Whether it has a value that nobody is shown.
    pub is_secret: bool,
    /// Origin of the value: a flag, the environment, a file, the default.
    pub origin: String,
    /// Meaning.
    pub about: String,
}
