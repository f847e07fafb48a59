//! The command line of bearer tokens and of pairing.

use std::time::Duration;

use bridle_daemon::tokens::{DEFAULT_DAYS, MAX_DAYS, TokenScope};
use clap::{Args, Subcommand, ValueEnum};

use crate::settings::StateDir;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it; it cannot be shown again
    #[command(after_help = "A daemon that runs on this state directory accepts it at once.\n\n\
        Examples:\n  \
        bridle token create --name phone > token; chmod 600 token\n  \
        bridle token create --scope observe --expires 7d\n  \
        bridle token create --scope talk --scope approve --json")]
    Create(TokenCreateArgs),
    /// List tokens: name, scopes, expiry, last use; never the tokens themselves
    #[command(after_help = "Examples:\n  bridle token list\n  bridle token list --json")]
    List(TokenListArgs),
    /// Revoke a token at once and for ever; exit 66 if no token has this id
    #[command(after_help = "Example:\n  bridle token revoke 3f9a0c41d7")]
    Revoke(TokenRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TokenCreateArgs {
    /// Name of the token in `bridle token list`
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) name: String,
    /// Scope of the token; repeatable
    #[arg(long = "scope", value_name = "SCOPE", value_enum, default_value = "talk")]
    pub(crate) scopes: Vec<ScopeWord>,
    /// Lifetime: 30m, 12h, 7d, or never [default: 90d]
    #[arg(long, value_name = "TIME", value_parser = lifetime, hide_default_value = true)]
    #[arg(default_value_t = TokenLifetime::For(Duration::from_secs(u64::from(DEFAULT_DAYS) * DAY_SECONDS)))]
    pub(crate) expires: TokenLifetime,
    /// Print one JSON object: token, id, scopes and expiry
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PairArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<PairVerb>,
    /// Name of the device in `bridle token list`
    #[arg(long, value_name = "NAME", default_value = "paired")]
    pub(crate) name: String,
    /// Scope of its token; repeatable
    #[arg(long = "scope", value_name = "SCOPE", value_enum, default_value = "talk")]
    pub(crate) scopes: Vec<ScopeWord>,
    /// Lifetime of its token: 30m, 12h, 7d, or never [default: 90d]
    #[arg(long, value_name = "TIME", value_parser = lifetime, hide_default_value = true)]
    #[arg(default_value_t = TokenLifetime::For(Duration::from_secs(u64::from(DEFAULT_DAYS) * DAY_SECONDS)))]
    pub(crate) expires: TokenLifetime,
    /// URL at which the device reaches the daemon [default: the setting `http`]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Draw the QR code even if stdout is not a terminal
    #[arg(long, conflicts_with = "json")]
    pub(crate) qr: bool,
    /// Print one JSON object: code, URL and expiry
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PairVerb {
    /// Approve a device that shows this code; exit 66 if none does
    #[command(after_help = "The device fetches its token itself, within five minutes.\n\n\
        Example:\n  bridle pair confirm ABCD-EFGH --name tv")]
    Confirm(PairConfirmArgs),
    /// Deny a device that shows this code; exit 66 if none does
    #[command(after_help = "Example:\n  bridle pair deny ABCD-EFGH")]
    Deny(PairDenyArgs),
    /// List devices that wait for approval; never their codes
    #[command(after_help = "Examples:\n  bridle pair list\n  bridle pair list --json")]
    List(TokenListArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PairConfirmArgs {
    /// Code that the device shows
    #[arg(value_name = "CODE")]
    pub(crate) code: String,
    /// Name of the device in `bridle token list` [default: the name it gives itself]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Scope of its token; repeatable
    #[arg(long = "scope", value_name = "SCOPE", value_enum, default_value = "talk")]
    pub(crate) scopes: Vec<ScopeWord>,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct PairDenyArgs {
    /// Code that the device shows
    #[arg(value_name = "CODE")]
    pub(crate) code: String,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct TokenListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct TokenRevokeArgs {
    /// Id of the token, from `bridle token list`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

/// The scopes as words of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeWord {
    /// See sessions and their events
    Observe,
    /// Also send messages to sessions
    Talk,
    /// Also answer approvals
    Approve,
    /// Everything the owner may do
    Admin,
}

impl From<ScopeWord> for TokenScope {
    fn from(word: ScopeWord) -> TokenScope {
        match word {
            ScopeWord::Observe => TokenScope::Observe,
            ScopeWord::Talk => TokenScope::Talk,
            ScopeWord::Approve => TokenScope::Approve,
            ScopeWord::Admin => TokenScope::Admin,
        }
    }
}

/// Lifetime of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenLifetime {
    For(Duration),
    Never,
}

impl TokenLifetime {
    /// In milliseconds; `None` for ever.
    pub(crate) fn millis(self) -> Option<i64> {
        match self {
            TokenLifetime::For(time) => Some(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)),
            TokenLifetime::Never => None,
        }
    }
}

impl std::fmt::Display for TokenLifetime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TokenLifetime::For(time) => write!(f, "{}m", time.as_secs() / 60),
            TokenLifetime::Never => f.write_str(NEVER),
        }
    }
}

/// The word for a token without an end.
const NEVER: &str = "never";

/// Seconds of a day.
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// A whole number of minutes, hours or days, or `never`.
fn lifetime(text: &str) -> Result<TokenLifetime, String> {
    if text == NEVER {
        return Ok(TokenLifetime::Never);
    }
    let most = Duration::from_secs(u64::from(MAX_DAYS) * DAY_SECONDS);
    let found = super::guard::whole_units(text).filter(|time| *time <= most);
    let bad = || format!("expected a time such as 30m, 12h or 7d, at most {MAX_DAYS}d, or never");
    found.map(TokenLifetime::For).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{TokenLifetime, lifetime};

    #[test]
    fn a_lifetime_is_a_time_or_never() {
        assert_eq!(lifetime("never"), Ok(TokenLifetime::Never));
        assert_eq!(lifetime("7d"), Ok(TokenLifetime::For(Duration::from_secs(604_800))));
        assert!(lifetime("3660d").is_ok());
        for bad in ["", "0d", "3661d", "Never", "-1d", "7", "7é", "99999999999999999999d"] {
            assert!(lifetime(bad).is_err(), "{bad}");
        }
    }
}
