//! `bridle actuators`: everything that the daemon can do, by the names that proposals use.

use bridle_sexp::Value;
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable};
use bridle_shell::system::{self, SystemReply, SystemRequest};

use super::output::print;
use super::session::refused;
use super::talk::find;
use crate::args::effects::ActuatorsArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(crate) fn run(args: ActuatorsArgs) -> Result<BridleExit, CommandFailure> {
    let ask = Value::plist([("action", Value::keyword("actuators"))]);
    let told = match system::ask(&find(args.peer)?, &SystemRequest::Effects(ask))? {
        SystemReply::Done(told) => told,
        SystemReply::Not(answer) => return Err(refused(&answer)),
    };
    let rows = told.get("actuators").and_then(Value::elements).unwrap_or_default();
    let rows: Vec<(String, Vec<&str>)> = rows.iter().map(row).collect();
    if args.json {
        let line = |(name, actions): &(String, Vec<&str>)| {
            let actions: Vec<String> = actions.iter().map(|action| quoted(action)).collect();
            let actions = format!("[{}]", actions.join(","));
            object(&[("name", quoted(name)), ("actions", actions)]) + "\n"
        };
        return print(&rows.iter().map(line).collect::<String>());
    }
    let mut table =
        TextTable::new([TableColumn::text("NAME"), TableColumn::text("ACTIONS").shrinks()]);
    for (name, actions) in &rows {
        table.push_row([name.clone(), actions.join(" ")]);
    }
    print(&table.render(OutputScreen::of_stdout(), "no actuators"))
}

fn row(row: &Value) -> (String, Vec<&str>) {
    let name = row.get("name").and_then(Value::as_keyword).unwrap_or_default();
    let actions = row.get("actions").and_then(Value::elements).unwrap_or_default();
    (name.to_owned(), actions.iter().filter_map(Value::as_keyword).collect())
}
