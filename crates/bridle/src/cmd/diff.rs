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
    match asked(&targets, args.record, &args.files)? {
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

/// Asks what the commits of a record changed.
pub(super) fn asked(
    targets: &[DaemonTarget],
    record: u64,
    files: &[String],
) -> Result<SystemReply, CommandFailure> {
    let ask = Value::plist([
        ("action", Value::keyword("diff")),
        ("record", Value::int(i64::try_from(record).unwrap_or(i64::MAX))),
        ("paths", Value::list(files.iter().map(|file| Value::str(file.as_str())))),
    ]);
    Ok(system::ask(targets, &SystemRequest::Effects(ask))?)
}

/// The diff in an answer.
pub(super) fn diff_of(told: &Value) -> &str {
    told.get("diff").and_then(Value::as_str).unwrap_or_default()
}
