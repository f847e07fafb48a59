//! `bridle secret`: the sealed secrets of the state directory, with or without a daemon. A secret comes in on stdin,
//! never as an argument, and never comes out.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use bridle_daemon::private_file;
use bridle_jail::{SecretError, SecretStore, SecretValue};
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable};
use zeroize::Zeroizing;

use super::hidden_input;
use super::output::print;
use crate::args::secret as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted, strings};
use crate::settings::{ResolvedSettings, StateDir};

/// Bytes of a secret on standard input that are read: one more than a secret may have, with its newline.
const MAX_INPUT_BYTES: u64 = (64 << 10) + 2;

pub(crate) fn run(verb: args::SecretCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        args::SecretCommand::Set(args) => set(args),
        args::SecretCommand::List(args) => list(&args),
        args::SecretCommand::Rm(args) => remove(&args),
    }
}

fn set(args: args::SecretSetArgs) -> Result<BridleExit, CommandFailure> {
    let store = open(&args.state)?;
    let value = read_secret(&args.name)?;
    let is_replaced = store.set(&args.name, value, args.hosts).map_err(|error| failure(&error))?;
    let verb = if is_replaced { "replaced" } else { "kept" };
    print(&format!("{verb} {}\n", args.name))
}

fn list(args: &args::SecretListArgs) -> Result<BridleExit, CommandFailure> {
    let all = open(&args.state)?.list().map_err(|error| failure(&error))?;
    let hosts_of = |rules: &[bridle_jail::HostRule]| -> Vec<Box<str>> {
        rules.iter().map(|rule| rule.to_string().into()).collect()
    };
    if args.json {
        let line = |(name, rules): &(String, Vec<_>)| {
            let hosts = strings(&hosts_of(rules));
            object(&[("name", quoted(name)), ("hosts", hosts)]) + "\n"
        };
        return print(&all.iter().map(line).collect::<String>());
    }
    let mut table =
        TextTable::new([TableColumn::text("NAME"), TableColumn::text("HOSTS").shrinks()]);
    for (name, rules) in &all {
        table.push_row([name.as_str(), &hosts_of(rules).join(" ")]);
    }
    print(&table.render(
        OutputScreen::of_stdout(),
        "no secrets yet: `bridle secret set NAME --host HOST` keeps one",
    ))
}

fn remove(args: &args::SecretRmArgs) -> Result<BridleExit, CommandFailure> {
    open(&args.state)?.remove(&args.name).map_err(|error| failure(&error))?;
    print(&format!("removed {}\n", args.name))
}

fn open(state: &StateDir) -> Result<SecretStore, CommandFailure> {
    open_store(&ResolvedSettings::resolve(state.given())?)
}

/// The secrets of a state directory, which is made if it is not there.
pub(super) fn open_store(settings: &ResolvedSettings) -> Result<SecretStore, CommandFailure> {
    private_file::create_private_folder(&settings.state()?)
        .map_err(|error| super::token::file_failure(&error))?;
    settings.secret_store()
}

fn read_secret(name: &str) -> Result<SecretValue, CommandFailure> {
    let mut bytes = read_bytes(&format!("secret {name}: "))?;
    Ok(SecretValue::new(std::mem::take(&mut *bytes)))
}

/// Reads a secret: typed unseen behind a question, or from a pipe, without the newline at its end.
pub(super) fn read_bytes(question: &str) -> Result<Zeroizing<Vec<u8>>, CommandFailure> {
    let cannot = |error: io::Error| CommandFailure::stream("cannot read the secret", &error);
    let mut bytes = Zeroizing::new(Vec::new());
    if io::stdin().is_terminal() {
        let mut err = io::stderr().lock();
        write!(err, "{question}").and_then(|()| err.flush()).map_err(cannot)?;
        *bytes = hidden_input::read_line(MAX_INPUT_BYTES).map_err(cannot)?;
    } else {
        io::stdin().lock().take(MAX_INPUT_BYTES).read_to_end(&mut bytes).map_err(cannot)?;
    }
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    Ok(bytes)
}

/// Explains a fault of the secrets, with the way out.
pub(super) fn failure(error: &SecretError) -> CommandFailure {
    let (exit, hint) = match error {
        SecretError::NotOpened => (
            BridleExit::Data,
            "name the key that sealed them: the setting `secret-key-file` or `secret-passphrase-file`; else put \
             `secrets.sealed` back from a backup, or delete it and set the secrets again",
        ),
        SecretError::KeyExposed { .. } => (
            BridleExit::Permission,
            "who could read the key could read the secrets: replace those too",
        ),
        SecretError::Invalid(_) => (BridleExit::Usage, "see `bridle secret set --help`"),
        SecretError::Unknown(_) => (BridleExit::NoInput, "`bridle secret list` shows the names"),
        SecretError::WrongHost { .. } => {
            (BridleExit::Permission, "`bridle secret set NAME --host HOST` names its hosts")
        }
        SecretError::Io { .. } => {
            (BridleExit::Io, "check the free disk space and the owner of the state directory")
        }
    };
    CommandFailure::because(exit, "cannot use the secrets", error).hint(hint)
}
