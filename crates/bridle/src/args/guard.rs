//! The command line of the guard: policies, why something was decided, what was done, and questions
//! that wait for a yes.

use std::path::PathBuf;
use std::time::Duration;

use bridle_loop::GrantScope;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};

use super::PeerArgs;
use crate::settings::{ConfigFile, StateDir};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check a file of policies: exit 0 if it can be installed, 65 with FILE:LINE: REASON if not
    #[command(
        after_help = "A file that ended the daemon while it was loaded is tried in a process of its own, \
        and freed if that goes well.\n\n\
        Examples:\n  bridle policy check\n  bridle policy check new-policy.org"
    )]
    Check(PolicyCheckArgs),
    /// Run the examples of a file and say how each came out: exit 1 if one fails
    #[command(after_help = "Examples:\n  bridle policy test\n  bridle policy test new-policy.org")]
    Test(PolicySourceArgs),
    /// Show the policies of a file, of the settings, or those that are built in
    #[command(
        after_help = "Examples:\n  bridle policy show\n  bridle policy show policy.org --json"
    )]
    Show(PolicyShowArgs),
    /// Say what a file of policies makes of something that is described, and why
    #[command(
        after_help = "The proposal is written as in an example of the file: who asks, where it goes, and the \
        payload.\n\n\
        Example:\n  \
        bridle policy explain policy.org '(:principal \"owner\" :by :thinker :target :emacs :action :eval :code \"1\")'"
    )]
    Explain(ExplainArgs),
    /// Judge the latest decisions of the record again, by another file: what would have changed
    #[command(after_help = "Nothing is carried out, and no daemon is asked.\n\n\
        Examples:\n  \
        bridle policy rehearse new-policy.org\n  \
        bridle policy rehearse --last 1000 --json")]
    Rehearse(RehearseArgs),
    /// Write the built-in policies to a file, to be changed; never overwrites
    #[command(after_help = "Example:\n  bridle policy init && $EDITOR ~/.config/bridle/policy.org")]
    Init {
        /// The file [default: the one that the settings name]
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        #[command(flatten)]
        settings: ConfigFile,
    },
    /// Let the running daemon read its file of policies again
    #[command(
        after_help = "A file that is not good is not installed: the policies stay as they are, and \
        the daemon says why.\n\nExample:\n  bridle policy install"
    )]
    Install(PeerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicySourceArgs {
    /// The file, or - for stdin [default: the one that the settings name, else what is built in]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyCheckArgs {
    /// Load it here, in quarantine or not
    #[arg(long, hide = true)]
    pub(crate) alone: bool,
    #[command(flatten)]
    pub(crate) source: PolicySourceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyShowArgs {
    /// The file, or - for stdin [default: the one that the settings name, else what is built in]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: ConfigFile,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The file, or - for stdin
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Proposal to judge: (:principal S :action K ..)
    #[arg(value_name = "PLIST")]
    pub(crate) proposal: String,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RehearseArgs {
    #[command(flatten)]
    pub(crate) source: PolicySourceArgs,
    /// At most so many decisions, the latest
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    pub(crate) last: usize,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// Number of the record
    #[arg(value_name = "RECORD")]
    pub(crate) record: u64,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct EffectsArgs {
    /// Only those without an outcome, and those whose outcome nobody knows
    #[arg(long)]
    pub(crate) open: bool,
    /// Only those of this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The question, as `bridle approvals` names it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Allow it from now on, by a policy that ends: shown first, with what it would have changed
    #[arg(long)]
    pub(crate) always: bool,
    /// Scope of that policy: exactly this action, or the same edit with any arguments at this
    /// heading, in this file, or in this folder and below
    #[arg(long, value_name = "SCOPE", default_value = "action", requires = "always")]
    #[arg(value_parser = scopes())]
    pub(crate) scope: GrantScope,
    /// Show what --always would do, for every scope; nothing is answered, and nothing is written
    #[arg(long, requires = "always")]
    pub(crate) preview: bool,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Lifetime of that policy: 30m, 12h, 7d, at most 365d
    #[arg(long = "for", value_name = "TIME", default_value = "7d", requires = "always")]
    #[arg(value_parser = span)]
    pub(crate) span: Duration,
    /// Wait until it is done, and say how that ended; on a terminal it does so anyway
    #[arg(long)]
    pub(crate) wait: bool,
    /// Do not wait, on a terminal either
    #[arg(long, conflicts_with = "wait")]
    pub(crate) no_wait: bool,
    /// Do not ask before the policy is written
    #[arg(long)]
    pub(crate) yes: bool,
    /// State directory that the daemon uses, to read what was asked for
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// The question, as `bridle approvals` names it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

/// The words for the scopes of a grant.
fn scopes() -> impl TypedValueParser<Value = GrantScope> {
    let find = |word: String| GrantScope::ALL.into_iter().find(|scope| scope.word() == word);
    let words = PossibleValuesParser::new(GrantScope::ALL.map(GrantScope::word));
    words.map(move |word| find(word).unwrap_or(GrantScope::Action))
}

/// Longest time that a grant holds: a year. What should hold longer is a policy of its own.
const MAX_SPAN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A whole number of minutes, hours or days, at most [`MAX_SPAN`].
fn span(text: &str) -> Result<Duration, String> {
    let bad = || "expected a time such as 30m, 12h or 7d, at most 365d".to_owned();
    whole_units(text).filter(|span| *span <= MAX_SPAN).ok_or_else(bad)
}

/// A whole number of minutes, hours or days, more than none.
pub(crate) fn whole_units(text: &str) -> Option<Duration> {
    let unit = match text.chars().last()? {
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return None,
    };
    let count: u64 = text[..text.len() - 1].parse().ok()?;
    let span = Duration::from_secs(count.checked_mul(unit)?);
    (!span.is_zero()).then_some(span)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::span;

    #[test]
    fn a_time_has_a_unit_and_an_end() {
        assert_eq!(span("30m"), Ok(Duration::from_secs(1_800)));
        assert_eq!(span("12h"), Ok(Duration::from_secs(43_200)));
        assert_eq!(span("365d"), Ok(Duration::from_secs(31_536_000)));
        for bad in ["", "7", "d", "0d", "366d", "-1d", "1.5h", "99999999999999999999d", "7é"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }
}
