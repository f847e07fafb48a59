//! Description of a shell, as its requests give it: kind, locale and time zone.

use std::borrow::Cow;

use bridle_loop::KeywordName;
use bridle_wire::openharness::request::ShellIdentity;

/// The kind of a shell whose user reads a terminal.
const COMMAND_SHELL: &str = "command_shell";

/// Kind, locale and time zone of a shell.
#[derive(Clone, Debug, Default)]
pub(super) struct ShellDescription {
    pub(super) kind: Option<KeywordName>,
    pub(super) locale: Option<Box<str>>,
    pub(super) time_zone: Option<Box<str>>,
}

impl ShellDescription {
    /// Reads it from a context.
    pub(super) fn of(shell: Option<&ShellIdentity>) -> ShellDescription {
        let Some(shell) = shell else { return ShellDescription::default() };
        ShellDescription {
            kind: shell.shell_kind.as_ref().map(|kind| KeywordName::new(kind.as_str())),
            locale: shell.locale.as_ref().map(|text| text.as_str().into()),
            time_zone: shell.timezone.as_ref().map(|text| text.as_str().into()),
        }
    }

    /// Tells whether its user reads a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| kind.as_str() == COMMAND_SHELL)
    }

    /// Returns a text as the shell may show it: on a terminal without control characters.
    pub(super) fn printable<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.is_terminal() {
            return text.into();
        }
        let is_plain = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
        text.chars().filter(is_plain).collect::<String>().into()
    }
}
