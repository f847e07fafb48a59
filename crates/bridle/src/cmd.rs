//! The commands, one file for each family; here are the dispatch and what they share.

mod approve;
mod ask;
mod config;
mod confirm;
mod conform;
mod grant;
mod init;
pub(crate) mod jail;
mod lisp;
mod memory;
mod org;
mod output;
mod pages;
mod pair;
mod policy;
mod recall;
mod record;
mod schedules;
mod session;
mod talk;
mod text;
mod token;
mod up;
mod upkeep;
mod why;

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use bridle_shell::error::Kind;
use bridle_shell::pretty::{Color, Controls, Style};

use crate::args::Command;
use crate::exit::{Exit, Failure};
use crate::settings::read_key_file;

pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Up(given) => up::run(&given),
        Command::Health(args) => talk::health(args),
        Command::Ask(args) => ask::run(args),
        Command::Send(args) => talk::send(args),
        Command::Log(args) => record::log(args),
        Command::Tail(args) => session::tail(args),
        Command::Sessions(args) => record::sessions(&args),
        Command::Schedules(args) => schedules::run(args),
        Command::Conform(verb) => conform::run(verb),
        Command::Replay(args) => record::replay(&args),
        Command::Fork(args) => session::fork(args),
        Command::Forget(args) => session::forget(args),
        Command::Record(verb) => upkeep::run(&verb),
        Command::Policy(verb) => policy::run(verb),
        Command::Why(args) => why::why(&args),
        Command::Effects(args) => why::effects(&args),
        Command::Approvals(args) => approve::list(args),
        Command::Approve(args) => approve::approve(args),
        Command::Deny(args) => approve::deny(args),
        Command::Token(verb) => token::run(verb),
        Command::Pair(args) => pair::run(args),
        Command::Tap(args) => talk::tap(args),
        Command::Sexp(args) => text::sexp(&args),
        Command::Init(args) => init::run(args),
        Command::Org(verb) => org::run(&verb),
        Command::Sandbox(verb) => jail::run(&verb),
        Command::Lisp(args) => lisp::run(&args),
        Command::Memory(verb) => memory::run(verb),
        Command::Undo(args) => memory::undo(args),
        Command::Frame(verb) => text::frame(verb),
        Command::Schema(verb) => pages::schema(&verb),
        Command::Config(verb) => config::run(verb),
        Command::Completions { shell } => pages::completions(shell),
        Command::Man { dir } => pages::man(dir.as_deref()),
    }
}

/// A failure of a face, with the exit code of its kind.
impl From<bridle_shell::Error> for Failure {
    fn from(error: bridle_shell::Error) -> Failure {
        let exit = match error.kind() {
            Kind::Data => Exit::Data,
            Kind::Missing => Exit::NoInput,
            Kind::Unavailable => Exit::Unavailable,
            Kind::Timeout => Exit::Temporary,
            Kind::Protocol => Exit::Protocol,
            Kind::Permission => Exit::Permission,
            Kind::Io => Exit::Io,
            Kind::BrokenPipe => Exit::Ok,
        };
        let mut failure = match &error {
            bridle_shell::Error::Syntax(fault) => {
                let lines = fault.excerpt.iter().flatten();
                lines.fold(Failure::bare(exit, fault), Failure::detail)
            }
            bridle_shell::Error::Frame { .. } => Failure::bare(exit, &error),
            _ => Failure::new(exit, &error),
        };
        if let Some(hint) = error.hint() {
            failure = failure.hint(hint);
        }
        failure
    }
}

/// Says on a terminal that it is the person's turn: a command that waits for input looks like one
/// that hangs.
fn hint_stdin(what: &str) {
    if std::io::stdin().is_terminal() {
        let line = format!("type {what}, then Ctrl-D on a line of its own\n");
        // Whoever cannot be told types all the same.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

/// The bytes of a key file, as they are.
fn read_key(path: &Path) -> Result<Vec<u8>, Failure> {
    read_key_file(path).map_err(|error| {
        let what = format!("cannot read key file `{}`", path.display());
        Failure::because(Exit::NoInput, what, &error)
            .hint("name a file that holds the key; make one: head -c 32 /dev/urandom > KEY; chmod 600 KEY")
    })
}

/// How forms are laid out on stdout: colored and tamed on a terminal, exact elsewhere.
fn style() -> Style {
    if !std::io::stdout().is_terminal() {
        return Style::default();
    }
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let color = if plain { Color::Never } else { Color::Always };
    Style { color, controls: Controls::Picture, ..Style::default() }
}
