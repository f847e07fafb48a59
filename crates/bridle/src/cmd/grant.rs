//! `bridle approve --always` and `bridle grants`: permits for what somebody said yes to. A daemon that runs makes,
//! lists and revokes them; without one, what a grant would allow is told from the local record, and the grants of
//! the local file are listed and revoked.

use std::error::Error as _;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use bridle_daemon::grants::{
    self, GrantEntry, GrantError, GrantRequest, PolicyPatch, list_grants, prepare_grant,
};
use bridle_loop::GrantScope;
use bridle_sexp::Value;
use bridle_shell::client::{DaemonClient, DaemonTarget, ErrorAnswer};
use bridle_shell::error::ErrorKind;
use bridle_shell::screen::{local_second, neutral_line, plain_json};
use bridle_shell::system::{self, SystemReply, SystemRequest};

use super::approve::now_seconds;
use super::policy::file_of;
use super::record::{print, state_dir};
use super::session::refused;
use super::talk::find;
use crate::args::guard as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{GivenFlags, ResolvedSettings};

/// Decisions of the past that a grant is tried on without a daemon.
const MAX_REHEARSED_DECISIONS: usize = 100_000;

/// Capability of a daemon that makes grants.
const CAPABILITY: &str = ":grant";

/// A grant that somebody wants.
pub(super) struct GrantWish<'w> {
    /// The question.
    pub(super) id: &'w str,
    pub(super) scope: GrantScope,
    pub(super) span: Duration,
}

/// A grant that is not made yet.
pub(super) struct PlannedGrant {
    /// Offer of the grant, as a daemon tells it.
    told: Value,
    /// The change of the local file; `None` when the daemon makes it.
    patch: Option<PolicyPatch>,
}

impl PlannedGrant {
    /// Asks the daemon what a grant would allow; without one, the local record.
    pub(super) fn find(
        targets: &[DaemonTarget],
        given: &GivenFlags,
        wish: &GrantWish<'_>,
    ) -> Result<PlannedGrant, CommandFailure> {
        if !makes_grants(targets) {
            return PlannedGrant::local(given, wish);
        }
        match system::ask(targets, &request(wish, None, true))? {
            SystemReply::Done(told) => Ok(PlannedGrant { told, patch: None }),
            SystemReply::Not(answer) => Err(not_granted(&answer)),
        }
    }

    fn local(given: &GivenFlags, wish: &GrantWish<'_>) -> Result<PlannedGrant, CommandFailure> {
        let until = now_seconds().saturating_add(i64::try_from(wish.span.as_secs()).unwrap_or(0));
        let file = file_of(&ResolvedSettings::resolve(given)?)?;
        let patch = prepare_grant(&GrantRequest {
            id: wish.id,
            scope: Some(wish.scope),
            until,
            file: &file,
            state: &state_dir(given)?,
            rehearsed: MAX_REHEARSED_DECISIONS,
        });
        let patch = patch.map_err(|error| failure(&error))?;
        Ok(PlannedGrant { told: Value::plist(patch.to_pairs()), patch: Some(patch) })
    }

    /// The hash of what a yes would be for.
    pub(super) fn hash(&self) -> Option<String> {
        self.told.get("hash").and_then(Value::as_str).map(str::to_owned)
    }

    /// The change of the local file, where no daemon makes it.
    pub(super) fn patch(&self) -> Option<&PolicyPatch> {
        self.patch.as_ref()
    }

    /// Has the daemon say yes and make the grant; returns the lines that tell of it.
    pub(super) fn make(
        &self,
        targets: &[DaemonTarget],
        wish: &GrantWish<'_>,
    ) -> Result<String, CommandFailure> {
        match system::ask(targets, &request(wish, self.hash(), false))? {
            SystemReply::Done(told) => {
                let (file, hash) = (text(&told, "file"), text(&told, "installed"));
                Ok(format!("wrote {}\ninstalled {}\n", neutral_line(file), neutral_line(hash)))
            }
            SystemReply::Not(answer) => Err(not_granted(&answer)),
        }
    }

    /// The change for people: all scopes, the chosen one, its diff and its rehearsal.
    pub(super) fn shown(&self) -> String {
        let mut out = String::new();
        self.scopes().for_each(|scope| show(scope, &mut out));
        let Some(chosen) = self.chosen() else { return out };
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            out,
            "\nChosen scope: {}. Change to the policy file:\n\n{}\nWith this grant, {} of {} decisions would \
             change\n",
            word(chosen, "scope"),
            text(&self.told, "diff"),
            number(chosen, "changed"),
            number(chosen, "decisions"),
        );
        out
    }

    /// The change for programs.
    pub(super) fn json(&self, id: &str, is_written: bool) -> String {
        let scopes: Vec<String> = self.scopes().map(plain_json).collect();
        object(&[
            ("approval", quoted(id)),
            ("file", quoted(text(&self.told, "file"))),
            ("chosen", self.chosen().map_or_else(|| "null".to_owned(), plain_json)),
            ("scopes", format!("[{}]", scopes.join(","))),
            ("diff", quoted(text(&self.told, "diff"))),
            ("written", is_written.to_string()),
        ])
    }

    fn scopes(&self) -> impl Iterator<Item = &Value> {
        self.told.get("scopes").and_then(Value::elements).unwrap_or_default().iter()
    }

    fn chosen(&self) -> Option<&Value> {
        let chosen = self.told.get("chosen").and_then(Value::as_keyword)?;
        self.scopes().find(|scope| word(scope, "scope").eq_ignore_ascii_case(chosen))
    }
}

fn show(scope: &Value, out: &mut String) {
    let sentence = neutral_line(text(scope, "sentence"));
    let _ = writeln!(out, "--scope {}: {sentence}", neutral_line(word(scope, "scope")));
    let (matched, all) = (number(scope, "matched"), number(scope, "decisions"));
    let _ = writeln!(out, "  would have matched {matched} of {all} recorded decisions");
    let named = scope.get("examples").and_then(Value::elements).unwrap_or_default();
    for it in named.iter().filter_map(Value::as_str) {
        let _ = writeln!(out, "  {}", neutral_line(it));
    }
}

/// Tells whether there is a daemon, and it makes grants.
fn makes_grants(targets: &[DaemonTarget]) -> bool {
    let client = DaemonClient::connect_any(targets);
    client.is_ok_and(|client| client.hello().to_ascii_lowercase().contains(CAPABILITY))
}

fn request(wish: &GrantWish<'_>, hash: Option<String>, is_preview: bool) -> SystemRequest {
    SystemRequest::Grant {
        approval: wish.id.to_owned(),
        scope: Some(wish.scope.word().to_owned()),
        span: format!("{}m", wish.span.as_secs() / 60),
        hash,
        is_preview,
    }
}

/// A refusal of the daemon to make a grant.
fn not_granted(answer: &ErrorAnswer) -> CommandFailure {
    match answer.code.as_str() {
        "invalid-value" => CommandFailure::new(BridleExit::Usage, &answer.message)
            .hint("nothing was written; approve without --always, or see docs/policy.md"),
        _ => super::approve::unanswered(answer),
    }
}

/// Reason for no grant from the local record and file, with a hint.
pub(super) fn failure(error: &GrantError) -> CommandFailure {
    let (exit, hint) = match error {
        GrantError::History(source) => return super::record::failure(source),
        GrantError::UnknownQuestion(_) => {
            (BridleExit::NoInput, "`bridle approvals` lists pending approvals")
        }
        GrantError::UnknownGrant(_) => (BridleExit::NoInput, "`bridle grants` lists them"),
        GrantError::Inexpressible | GrantError::Unjudged(_) => (
            BridleExit::Data,
            "approve without --always, or write a policy by hand: docs/policy.md",
        ),
        GrantError::Unreadable { .. } => {
            (BridleExit::NoInput, "`bridle policy check` shows the error; nothing was written")
        }
        GrantError::Policies(_) => {
            (BridleExit::Data, "`bridle policy check` lists them; nothing was written")
        }
        GrantError::Allowed => (BridleExit::Usage, "approve without --always"),
        GrantError::NoScope { possible, .. } => {
            let hint = format!("possible: --scope {}", possible.join(", --scope "));
            return CommandFailure::new(BridleExit::Usage, error.to_string()).hint(hint);
        }
        GrantError::Overridden(_) => {
            (BridleExit::Usage, "a forbid wins over every permit; approve without --always")
        }
        GrantError::Unwritten { .. } => {
            (BridleExit::CannotCreate, "the file is as it was; try again, or change it by hand")
        }
        _ => (BridleExit::Software, "change the policy file by hand: docs/policy.md"),
    };
    let what = error.to_string();
    match error.source() {
        Some(source) => CommandFailure::because(exit, what, source),
        None => CommandFailure::new(exit, what),
    }
    .hint(hint)
}

/// Lists grants, or revokes some.
pub(crate) fn run(args: args::GrantsCommand) -> Result<BridleExit, CommandFailure> {
    let args::GrantsCommand { verb, json, peer } = args;
    match verb {
        Some(args::GrantsVerb::Rm(removal)) => remove(removal),
        None => {
            let file = GivenFlags::with_state(peer.file.clone(), None);
            let listed = ask_or(&find(peer)?, &SystemRequest::Grants, &file, |file, now| {
                let listed = list_grants(file)?;
                Ok(listed.iter().map(|grant| entry(grant, now)).collect())
            })?;
            print(&listing(&listed, json, "no grants\n"))
        }
    }
}

fn remove(removal: args::GrantRemoval) -> Result<BridleExit, CommandFailure> {
    let args::GrantRemoval { id, expired, json, peer } = removal;
    let id = id.filter(|_| !expired).unwrap_or_else(|| "expired".to_owned());
    let file = GivenFlags::with_state(peer.file.clone(), None);
    let wanted = SystemRequest::RevokeGrant(id.clone());
    let gone = ask_or(&find(peer)?, &wanted, &file, |file, now| {
        let gone = grants::revoke_grants(file, |grant| match expired {
            true => grant.until <= now,
            false => *grant.id == *id,
        })?;
        match gone.is_empty() && !expired {
            true => Err(GrantError::UnknownGrant(id.clone())),
            false => Ok(gone.iter().map(|grant| entry(grant, now)).collect()),
        }
    })?;
    if json {
        return print(&listing(&gone, true, ""));
    }
    let told = gone.iter().map(|grant| format!("revoked {}\n", neutral_line(text(grant, "grant"))));
    let told: String = told.collect();
    print(if told.is_empty() { "no grant has expired\n" } else { &told })
}

/// The grants that the daemon tells of; where none runs, those of the local file.
fn ask_or(
    targets: &[DaemonTarget],
    wanted: &SystemRequest,
    given: &GivenFlags,
    local: impl FnOnce(&Path, i64) -> Result<Vec<Value>, GrantError>,
) -> Result<Vec<Value>, CommandFailure> {
    match system::ask(targets, wanted) {
        Ok(SystemReply::Done(told)) => {
            Ok(told.get("grants").and_then(Value::elements).unwrap_or_default().to_vec())
        }
        Ok(SystemReply::Not(answer)) if answer.message.starts_with("no grant ") => {
            Err(CommandFailure::new(BridleExit::NoInput, &answer.message)
                .hint("`bridle grants` lists them"))
        }
        Ok(SystemReply::Not(answer)) => Err(refused(&answer)),
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            let file = file_of(&ResolvedSettings::resolve(given)?)?;
            local(&file, now_seconds()).map_err(|error| failure(&error))
        }
        Err(error) => Err(error.into()),
    }
}

fn listing(grants: &[Value], is_json: bool, none: &str) -> String {
    let mut out = String::new();
    for grant in grants {
        if is_json {
            out.push_str(&plain_json(grant));
            out.push('\n');
            continue;
        }
        let is_over = grant.get("expired").is_some_and(|it| !it.is_nil());
        let until = local_second(number(grant, "until").saturating_mul(1_000));
        let ends = if is_over { "expired" } else { "expires" };
        let _ = writeln!(out, "{}: {ends} {until}", neutral_line(text(grant, "grant")));
        let _ = writeln!(out, "  {}", neutral_line(text(grant, "sentence")));
    }
    if out.is_empty() && !is_json {
        out.push_str(none);
    }
    out
}

fn entry(grant: &GrantEntry, now: i64) -> Value {
    Value::plist([
        ("grant", Value::str(&*grant.id)),
        ("title", Value::str(&*grant.title)),
        ("sentence", Value::str(grant.sentence.as_str())),
        ("owner", Value::str(&*grant.owner)),
        ("until", Value::int(grant.until)),
        ("expired", Value::bool(grant.until <= now)),
    ])
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_keyword).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> i64 {
    value.get(key).and_then(Value::as_i64).unwrap_or_default()
}
