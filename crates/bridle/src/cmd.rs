//! The commands, one file for each family; here are the dispatch and what they share.

mod acp;
mod actuators;
mod agenda;
mod approve;
mod ask;
mod backup;
mod capture;
mod chat;
mod commit_undo;
mod completion;
mod config;
mod confirm;
mod conform;
mod cost;
mod diff;
mod doctor;
mod grant;
mod hidden_input;
mod init;
pub(crate) mod jail;
mod launch;
mod lisp;
mod memex_source;
mod memory;
mod model;
mod org;
mod output;
mod pages;
mod pair;
mod policy;
mod project;
mod prompt;
mod recall;
mod record;
mod relay;
mod remote_record;
mod rethink;
mod schedules;
mod search;
mod secret;
mod session;
mod setup;
mod skill;
mod status;
mod talk;
mod text;
mod token;
mod up;
mod upkeep;
mod why;

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use bridle_shell::error::ErrorKind;
use bridle_shell::pretty::{ColorChoice, ControlStyle, LayoutStyle};

use crate::args::BridleCommand;
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::read_key_file;

pub(crate) fn run(command: BridleCommand) -> Result<BridleExit, CommandFailure> {
    match command {
        BridleCommand::Up(given) => up::run(&given),
        BridleCommand::Health(args) => talk::health(args),
        BridleCommand::Status(args) => status::run(args),
        BridleCommand::Chat(args) => chat::run(args),
        BridleCommand::Relay(args) => relay::run(args),
        BridleCommand::Ask(args) => ask::run(args),
        BridleCommand::Setup(args) => setup::run(args),
        BridleCommand::Doctor(args) => doctor::run(args),
        BridleCommand::Backup(args) => backup::backup(&args),
        BridleCommand::Restore(args) => backup::restore(&args),
        BridleCommand::Capture(args) => capture::run(args),
        BridleCommand::Agenda(args) => agenda::run(args),
        BridleCommand::Search(args) => search::run(args),
        BridleCommand::Acp(args) => acp::run(args),
        BridleCommand::Send(args) => talk::send(args),
        BridleCommand::Log(args) => record::log(args),
        BridleCommand::Tail(args) => session::tail(args),
        BridleCommand::Sessions(args) => record::sessions(&args),
        BridleCommand::Schedule(args) => schedules::run(args),
        BridleCommand::Conform(verb) => conform::run(verb),
        BridleCommand::Replay(args) => record::replay(&args),
        BridleCommand::Fork(args) => session::fork(args),
        BridleCommand::Forget(args) => session::forget(args),
        BridleCommand::Record(verb) => upkeep::run(&verb),
        BridleCommand::Policy(verb) => policy::run(verb),
        BridleCommand::Why(args) => why::why(&args),
        BridleCommand::Effects(args) => why::effects(&args),
        BridleCommand::Approvals(args) => approve::list(args),
        BridleCommand::Approve(args) => approve::approve(args),
        BridleCommand::Deny(args) => approve::deny(args),
        BridleCommand::Grants(args) => grant::run(args),
        BridleCommand::Token(verb) => token::run(verb),
        BridleCommand::Secret(verb) => secret::run(verb),
        BridleCommand::Pair(args) => pair::run(args),
        BridleCommand::Tap(args) => talk::tap(args),
        BridleCommand::Sexp(args) => text::sexp(&args),
        BridleCommand::Init(args) => init::run(args),
        BridleCommand::Org(verb) => org::run(&verb),
        BridleCommand::Project(args) => project::run(args),
        BridleCommand::Actuators(args) => actuators::run(args),
        BridleCommand::Diff(args) => diff::run(args),
        BridleCommand::Sandbox(verb) => jail::run(&verb),
        BridleCommand::Lisp(args) => lisp::run(&args),
        BridleCommand::Skill(verb) => skill::run(&verb),
        BridleCommand::Model(verb) => model::run(verb),
        BridleCommand::Prompt(verb) => prompt::run(verb),
        BridleCommand::Cost(args) => cost::run(&args),
        BridleCommand::Memory(verb) => memory::run(verb),
        BridleCommand::Undo(args) => memory::undo(args),
        BridleCommand::Frame(verb) => text::frame(verb),
        BridleCommand::Schema(verb) => pages::schema(&verb),
        BridleCommand::Config(verb) => config::run(verb),
        BridleCommand::Completions { shell } => completion::script(shell),
        BridleCommand::CompleteWords { kind } => completion::words(kind),
        BridleCommand::Man { dir } => pages::man(dir.as_deref()),
    }
}

/// A failure of a face, with the exit code of its kind.
impl From<bridle_shell::ShellError> for CommandFailure {
    fn from(error: bridle_shell::ShellError) -> CommandFailure {
        let exit = match error.kind() {
            ErrorKind::Data => BridleExit::Data,
            ErrorKind::Missing => BridleExit::NoInput,
            ErrorKind::Unavailable => BridleExit::Unavailable,
            ErrorKind::Timeout => BridleExit::Temporary,
            ErrorKind::Protocol => BridleExit::Protocol,
            ErrorKind::Permission => BridleExit::Permission,
            ErrorKind::Io => BridleExit::Io,
            ErrorKind::BrokenPipe => BridleExit::Ok,
        };
        let mut failure = match &error {
            bridle_shell::ShellError::Syntax(fault) => {
                let lines = fault.excerpt.iter().flatten();
                lines.fold(CommandFailure::bare(exit, fault), CommandFailure::detail)
            }
            bridle_shell::ShellError::Frame { .. } => CommandFailure::bare(exit, &error),
            _ => CommandFailure::new(exit, &error),
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
fn read_key(path: &Path) -> Result<Vec<u8>, CommandFailure> {
    read_key_file(path).map_err(|error| {
        let what = format!("cannot read key file `{}`", path.display());
        CommandFailure::because(BridleExit::NoInput, what, &error)
            .hint("name a file that holds the key; make one: head -c 32 /dev/urandom > KEY; chmod 600 KEY")
    })
}

/// `bridle __prices`: answers for the catalog of prices, a line for each line.
pub(crate) fn prices() -> std::process::ExitCode {
    let mut lines = String::new();
    let mut input =
        std::io::Read::take(std::io::stdin().lock(), bridle_model_host::MAX_PRICE_LIST_BYTES);
    let read = std::io::Read::read_to_string(&mut input, &mut lines);
    let answer = bridle_model_host::answer_price_questions(&lines);
    let written = read.and_then(|_| std::io::stdout().lock().write_all(answer.as_bytes()));
    if written.is_ok() { BridleExit::Ok.into() } else { BridleExit::Io.into() }
}

/// Layout of forms on stdout: colored and tamed on a terminal, exact elsewhere.
fn style() -> LayoutStyle {
    if !std::io::stdout().is_terminal() {
        return LayoutStyle::default();
    }
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let color = if plain { ColorChoice::Never } else { ColorChoice::Always };
    LayoutStyle { color, controls: ControlStyle::Picture, ..LayoutStyle::default() }
}
