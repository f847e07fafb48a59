//! `bridle token`: bearer tokens of the state directory, with or without a daemon.

use std::time::{SystemTime, UNIX_EPOCH};

use bridle_daemon::private_file::PrivateFileError as File;
use bridle_daemon::tokens::{
    NewToken, TOKENS_FILE, TokenError, TokenId, TokenInfo, TokenOwner, TokenRegistry, TokenScopes,
    TokenSeed,
};
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable, local_minute};
use bridle_wire::time::rfc3339;

use super::record::print;
use crate::args::token as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted, strings};
use crate::settings::{ResolvedSettings, StateDir};

pub(crate) fn run(verb: args::TokenCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        args::TokenCommand::Create(args) => create(args),
        args::TokenCommand::List(args) => list(&args),
        args::TokenCommand::Revoke(args) => revoke(&args),
    }
}

fn create(args: args::TokenCreateArgs) -> Result<BridleExit, CommandFailure> {
    let tokens = open(&args.state)?;
    let now = now();
    let expires = args.expires.millis().map(|time| now.saturating_add(time));
    let scopes: TokenScopes = args.scopes.into_iter().map(Into::into).collect();
    let new = NewToken { name: args.name.into(), owner: TokenOwner::this_user(), scopes, expires };
    let seed = TokenSeed::from_system().map_err(|error| failure(&error))?;
    let token = tokens.create(new, &seed, now).map_err(|error| failure(&error))?;
    if !args.json {
        return print(&format!("{}\n", token.reveal()));
    }
    let line = object(&[
        ("token", quoted(token.reveal())),
        ("id", quoted(seed.id().as_str())),
        ("scopes", words(scopes)),
        ("expires", moment(expires)),
    ]);
    print(&format!("{line}\n"))
}

fn list(args: &args::TokenListArgs) -> Result<BridleExit, CommandFailure> {
    let all = open(&args.state)?.list().map_err(|error| failure(&error))?;
    let now = now();
    if args.json {
        return print(&all.iter().map(|info| as_json(info, now) + "\n").collect::<String>());
    }
    print(&table(all, now))
}

fn revoke(args: &args::TokenRevokeArgs) -> Result<BridleExit, CommandFailure> {
    let Some(id) = TokenId::parse(&args.id) else {
        // Whoever gives the token itself must not find it on the screen again.
        return Err(CommandFailure::new(BridleExit::Usage, "bad id, expected ten hex digits")
            .hint("`bridle token list` shows the ids"));
    };
    open(&args.state)?.revoke(&id).map_err(|error| failure(&error))?;
    print(&format!("revoked {id}\n"))
}

fn open(state: &StateDir) -> Result<TokenRegistry, CommandFailure> {
    let dir = ResolvedSettings::resolve(state.given())?.state()?;
    TokenRegistry::load(&dir).map_err(|error| failure(&error))
}

pub(super) fn failure(error: &TokenError) -> CommandFailure {
    let (exit, hint) = match error {
        TokenError::Unknown { .. } => {
            (BridleExit::NoInput, "`bridle token list` shows the ids".to_owned())
        }
        TokenError::Damaged { .. } => (
            BridleExit::Data,
            format!(
                "put the file back from a copy, or delete `{TOKENS_FILE}` in the state directory \
                 and create new tokens; until then no token is accepted"
            ),
        ),
        TokenError::File(error) => return file_failure(error),
        TokenError::TooMany => (
            BridleExit::CannotCreate,
            "revoke some: `bridle token list`, `bridle token revoke ID`".into(),
        ),
        TokenError::BadName | TokenError::NoScope | TokenError::BadEnd => {
            (BridleExit::Usage, "see `bridle token create --help`".to_owned())
        }
        TokenError::IdTaken => (BridleExit::Temporary, "try again".to_owned()),
        _ => (BridleExit::Io, "check the process limits: ulimit -a".to_owned()),
    };
    CommandFailure::because(exit, "cannot update tokens", error).hint(hint)
}

/// Explains a fault of a file that should be private, with the way out.
pub(super) fn file_failure(error: &File) -> CommandFailure {
    let (exit, hint) = match error {
        File::OpenToOthers { path, .. } => (
            BridleExit::Permission,
            format!("chmod 600 {}; who could read it learned no token", path.display()),
        ),
        File::NotOurs { .. } => (
            BridleExit::Permission,
            "run this as the user of the daemon, or name --state DIR".to_owned(),
        ),
        _ => {
            (BridleExit::Io, "check the free disk space and the owner of the directory".to_owned())
        }
    };
    CommandFailure::because(exit, "cannot use the state directory", error).hint(hint)
}

/// The tokens for people, those first that were used last.
fn table(mut all: Vec<TokenInfo>, now: i64) -> String {
    let mut table = TextTable::new([
        TableColumn::text("ID"),
        TableColumn::text("NAME").shrinks(),
        TableColumn::text("SCOPES"),
        TableColumn::text("OWNER").optional(),
        TableColumn::text("EXPIRES"),
        TableColumn::text("LAST USED"),
    ]);
    all.sort_by_key(|info| std::cmp::Reverse((info.used, info.created)));
    for info in &all {
        let end = match info.expires {
            None => "never".to_owned(),
            Some(_) if info.is_expired(now) => "expired".to_owned(),
            Some(end) => local_minute(end),
        };
        table.push_row([
            info.id.as_str(),
            &info.name,
            &info.scopes.to_string(),
            info.owner.as_str(),
            &end,
            &info.used.map_or_else(|| "never".to_owned(), local_minute),
        ]);
    }
    table.render(
        OutputScreen::of_stdout(),
        "no tokens yet: `bridle token create --name NAME` creates one",
    )
}

fn as_json(info: &TokenInfo, now: i64) -> String {
    object(&[
        ("id", quoted(info.id.as_str())),
        ("name", quoted(&info.name)),
        ("owner", quoted(info.owner.as_str())),
        ("scopes", words(info.scopes)),
        ("created", moment(Some(info.created))),
        ("expires", moment(info.expires)),
        ("expired", info.is_expired(now).to_string()),
        ("used", moment(info.used)),
    ])
}

fn words(scopes: TokenScopes) -> String {
    let names: Vec<Box<str>> = scopes.iter().map(|scope| scope.name().into()).collect();
    strings(&names)
}

pub(super) fn moment(at: Option<i64>) -> String {
    at.map_or("null".to_owned(), |at| quoted(&rfc3339(at)))
}

/// The present, in milliseconds since 1970.
pub(super) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
