//! The command line of the guard: policies, why something was decided, what was done, and questions
//! that wait for a yes.

use std::path::PathBuf;
use std::time::Duration;

use bridle_daemon::grants::grant_span;
use bridle_loop::GrantScope;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};

use super::PeerArgs;
use super::record::RecordPlace;
use crate::settings::{ConfigFile, StateDir};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check a policy file: exit 0 if it can be installed, 65 with FILE:LINE: REASON if not
    #[command(
        after_help = "A policy file that crashed the daemon is in quarantine. This loads it in a separate process \
        and releases it from quarantine if that works.\n\n\
        Examples:\n  bridle policy check\n  bridle policy check new-policy.org"
    )]
    Check(PolicyCheckArgs),
    /// Run the examples in a policy file and print each result: exit 1 if one fails
    #[command(after_help = "Examples:\n  bridle policy test\n  bridle policy test new-policy.org")]
    Test(PolicySourceArgs),
    /// Show the policies in a file, in force, or built in
    #[command(
        after_help = "Examples:\n  bridle policy show\n  bridle policy show policy.org --json"
    )]
    Show(PolicyShowArgs),
    /// Show how a policy file judges a proposal, and why
    #[command(
        after_help = "Write the proposal as in the examples of a policy file: principal, target and payload.\n\n\
        Example:\n  \
        bridle policy explain policy.org '(:principal \"owner\" :by :thinker :target :emacs :action :eval :code \"1\")'"
    )]
    Explain(ExplainArgs),
    /// Show which past decisions another policy file would change
    #[command(after_help = "Reads the record only: carries nothing out and needs no daemon.\n\n\
        Examples:\n  \
        bridle policy rehearse new-policy.org\n  \
        bridle policy rehearse --last 1000 --json")]
    Rehearse(RehearseArgs),
    /// Write the built-in policies to a file for you to edit; never overwrites
    #[command(after_help = "Example:\n  bridle policy init && $EDITOR ~/.config/bridle/policy.org")]
    Init {
        /// File to write [default: the setting `policy`]
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        #[command(flatten)]
        settings: ConfigFile,
    },
    /// Make the running daemon reload its policy file
    #[command(
        after_help = "If the file has an error, the policies in force stay and the daemon reports the error.\n\nExample:\n  bridle policy install"
    )]
    Install(PeerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicySourceArgs {
    /// Policy file, or - for stdin [default: the setting `policy`, else the built-in policies]
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
    /// Policy file, or - for stdin [default: the setting `policy`, else the built-in policies]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: ConfigFile,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Policy file, or - for stdin
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Proposal to judge: (:principal S :action K ..)
    #[arg(value_name = "PLIST")]
    pub(crate) proposal: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RehearseArgs {
    #[command(flatten)]
    pub(crate) source: PolicySourceArgs,
    /// Judge at most this many decisions, the latest
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    pub(crate) last: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// Number of the record
    #[arg(value_name = "RECORD")]
    pub(crate) record: u64,
    /// Show what the model was told instead: parts, sizes, labels, what was left out
    #[arg(long)]
    pub(crate) prompt: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

#[derive(Debug, Args)]
pub(crate) struct EffectsArgs {
    /// Only effects without an outcome, or with an unknown one
    #[arg(long)]
    pub(crate) open: bool,
    /// Only effects of this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// Id of the approval, from `bridle approvals`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Also allow it from now on, by a grant that expires; shows its effect first
    #[arg(long)]
    pub(crate) always: bool,
    /// Scope of the grant: exactly this action, or the same edit with any arguments at this
    /// heading, in this file, or in this folder and below
    #[arg(long, value_name = "SCOPE", default_value = "action", requires = "always")]
    #[arg(value_parser = scopes())]
    pub(crate) scope: GrantScope,
    /// Show what --always would do for every scope, without answering or writing
    #[arg(long, requires = "always")]
    pub(crate) preview: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Lifetime of the grant: 30m, 12h, 7d, at most 365d
    #[arg(long = "for", value_name = "TIME", default_value = "7d", requires = "always")]
    #[arg(value_parser = grant_span)]
    pub(crate) span: Duration,
    /// Wait for the action to finish and print its outcome; the default on a terminal
    #[arg(long)]
    pub(crate) wait: bool,
    /// Do not wait for the outcome
    #[arg(long, conflicts_with = "wait")]
    pub(crate) no_wait: bool,
    /// Write the grant without asking for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// State directory of the daemon, to read the proposal from
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// Id of the approval, from `bridle approvals`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

/// `bridle grants`: without a verb it lists them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GrantsCommand {
    #[command(subcommand)]
    pub(crate) verb: Option<GrantsVerb>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsVerb {
    /// Revoke a grant; exit 66 if no grant has this id
    #[command(
        after_help = "Deletes its heading from the policy file, and nothing else. What it allowed needs \
        approval again at once.\n\n\
        Examples:\n  \
        bridle grants rm grant-9f2c01d4aa37-file-1794749858\n  \
        bridle grants rm --expired"
    )]
    Rm(GrantRemoval),
}

#[derive(Debug, Args)]
pub(crate) struct GrantRemoval {
    /// Id of the grant, from `bridle grants`
    #[arg(value_name = "ID", required_unless_present = "expired", conflicts_with = "expired")]
    pub(crate) id: Option<String>,
    /// Revoke every grant whose time is over
    #[arg(long)]
    pub(crate) expired: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

/// The words for the scopes of a grant.
fn scopes() -> impl TypedValueParser<Value = GrantScope> {
    let find = |word: String| GrantScope::ALL.into_iter().find(|scope| scope.word() == word);
    let words = PossibleValuesParser::new(GrantScope::ALL.map(GrantScope::word));
    words.map(move |word| find(word).unwrap_or(GrantScope::Action))
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
