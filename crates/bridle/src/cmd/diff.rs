//! `bridle diff`: what a commit changed, from the contents that its journal keeps.

use bridle_sexp::Value;
use bridle_shell::client::DaemonTarget;
use bridle_shell::system::{self, SystemReply, SystemRequest};

use super::output::{print, print_styled};
use super::session::refused;
use super::talk::find;
use crate::args::effects::DiffArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(crate) fn run(args: DiffArgs) -> Result<BridleExit, CommandFailure> {
    let targets = find(args.peer)?;
    let what = [("record", number(args.record))];
    match asked(&targets, &what, &args.files)? {
        SystemReply::Not(answer) => Err(refused(&answer)),
        SystemReply::Done(told) => {
            let diff = diff_of(&told);
            match args.json {
                true => print(&(object(&[("diff", quoted(diff))]) + "\n")),
                false => print_styled(&super::memory::colored(diff.as_bytes())),
            }
        }
    }
}

/// Asks what the commits of a record, turn or session changed.
pub(super) fn asked(
    targets: &[DaemonTarget],
    what: &[(&'static str, Value)],
    files: &[String],
) -> Result<SystemReply, CommandFailure> {
    let files = Value::list(files.iter().map(|file| Value::str(file.as_str())));
    let head = [("action", Value::keyword("diff")), ("paths", files)];
    let ask = Value::plist(head.into_iter().chain(what.iter().cloned()));
    Ok(system::ask(targets, &SystemRequest::Effects(ask))?)
}

/// A number of a record or turn.
pub(super) fn number(number: u64) -> Value {
    Value::int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The diff in an answer.
pub(super) fn diff_of(told: &Value) -> &str {
    told.get("diff").and_then(Value::as_str).unwrap_or_default()
}
