//! `bridle project`: the folder in which a session works, shown or chosen.

use std::path::Path;

use bridle_sexp::Value;
use bridle_shell::screen::neutral_line;
use bridle_shell::system::{self, SystemReply, SystemRequest};

use super::output::print;
use super::session::refused;
use super::talk::find;
use crate::args::effects::ProjectArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(crate) fn run(args: ProjectArgs) -> Result<BridleExit, CommandFailure> {
    let mut pairs =
        vec![("action", Value::keyword("project")), ("session", Value::str(args.session.as_str()))];
    if let Some(folder) = &args.folder {
        let whole = std::path::absolute(Path::new(folder)).map_err(|error| {
            CommandFailure::because(BridleExit::NoInput, format!("no folder `{folder}`"), &error)
        })?;
        pairs.push(("path", Value::str(whole.to_string_lossy())));
    }
    pairs.extend(args.git.map(|git| ("git", Value::bool(git == "on"))));
    let request = SystemRequest::Effects(Value::plist(pairs));
    let told = match system::ask(&find(args.peer)?, &request)? {
        SystemReply::Done(told) => told,
        SystemReply::Not(answer) => return Err(refused(&answer)),
    };
    let path = told.get("path").and_then(Value::as_str);
    if args.json {
        let path = path.map_or("null".to_owned(), quoted);
        let git = told.get("git").is_some_and(|git| !git.is_nil()).to_string();
        let pairs = [("session", quoted(&args.session)), ("path", path), ("git", git)];
        return print(&(object(&pairs) + "\n"));
    }
    match path {
        Some(path) => print(&format!("{}\n", neutral_line(path))),
        None => print("no project: choose one with `bridle project FOLDER`\n"),
    }
}
