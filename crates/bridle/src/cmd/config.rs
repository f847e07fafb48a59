//! `bridle config`: what the settings are, where they come from, whether a file is good.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bridle_shell::screen::{OutputScreen, TableColumn, TextTable, neutral_block};

use super::output::print;
use crate::args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::quoted;
use crate::settings::{
    self, CheckFindings, ConfigFile, ResolvedSetting, ResolvedSettings, ValueOrigin,
};

/// Text shown in the place of a secret.
const MASK: &str = "********";

pub(crate) fn run(verb: args::ConfigCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        args::ConfigCommand::Show(show) => {
            let settings = ResolvedSettings::resolve(&show.given)?;
            let text = if show.json { as_json(&settings) } else { as_text(&settings) };
            print(&text)
        }
        args::ConfigCommand::Path(file) => print(&format!("{}\n", chosen(file)?.display())),
        args::ConfigCommand::Check { file } => check(file),
        args::ConfigCommand::Init(file) => init(&chosen(file)?),
    }
}

fn chosen(file: ConfigFile) -> Result<PathBuf, CommandFailure> {
    file.config.map_or_else(settings::expected_file, Ok)
}

/// Checks a file that is named alone: the environment of the moment must not decide whether it is
/// good. Without a name everything that `bridle up` would read is checked.
fn check(file: Option<PathBuf>) -> Result<BridleExit, CommandFailure> {
    let is_named = file.is_some();
    let path = file.map_or_else(settings::expected_file, Ok)?;
    let mut faults = Vec::new();
    let mut text = String::new();
    let noun = |count: usize| if count == 1 { "setting" } else { "settings" };
    let shown = path.display();
    if is_named || path.exists() {
        let CheckFindings { count, faults: found } = settings::check_file(&path)?;
        if found.is_empty() {
            let _ = writeln!(text, "{shown}: ok, {count} {}", noun(count));
        }
        faults.extend(found);
    } else {
        let _ = writeln!(text, "{shown}: missing, so the defaults apply");
    }
    if !is_named {
        let CheckFindings { count, faults: found } = settings::check_surroundings();
        if count > 0 && found.is_empty() {
            let _ = writeln!(text, "environment: ok, {count} {}", noun(count));
        }
        faults.extend(found);
    }
    warn_of_strays();
    print(&text)?;
    let mut faults = faults.into_iter();
    match faults.next() {
        None => Ok(BridleExit::Ok),
        Some(first) => Err(first.with(faults)),
    }
}

/// Names the variables that begin with `BRIDLE_` and that nothing reads.
fn warn_of_strays() {
    for name in settings::stray_variables() {
        let hint = match settings::closest_variable(&name) {
            Some(close) => format!("did you mean {close}?"),
            None => "`bridle config show` lists every setting".to_owned(),
        };
        let line = format!("warning: unknown variable {name} is ignored\nhint: {hint}\n");
        // What is wrong with the file is told all the same.
        let _ = io::stderr().lock().write_all(neutral_block(&line).as_bytes());
    }
}

fn init(path: &Path) -> Result<BridleExit, CommandFailure> {
    let failure = |error: &io::Error| {
        let what = format!("cannot create `{}`", path.display());
        let failure = CommandFailure::because(BridleExit::CannotCreate, what, error);
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                failure.hint("the file is unchanged; name another one with --config FILE")
            }
            _ => failure.hint("name a file you can write to with --config FILE"),
        }
    };
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(|error| failure(&error))?;
    }
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(settings::example().as_bytes()));
    written.map_err(|error| failure(&error))?;
    print(&format!("wrote {}\n", path.display()))
}

/// The value as people may see it.
fn shown(entry: &ResolvedSetting) -> Option<&str> {
    if entry.setting.is_secret() {
        entry.text.as_ref().map(|_| MASK)
    } else {
        entry.text.as_deref()
    }
}

fn as_text(settings: &ResolvedSettings) -> String {
    let mut table = TextTable::new([
        TableColumn::text("SETTING"),
        TableColumn::text("VALUE").shrinks(),
        TableColumn::text("FROM").shrinks(),
    ]);
    for entry in settings.entries() {
        let origin = entry.origin.to_string();
        table.push_row([entry.setting.name, shown(entry).unwrap_or("-"), &origin]);
    }
    table.render(OutputScreen::of_stdout(), "no settings")
}

fn as_json(settings: &ResolvedSettings) -> String {
    let mut text = String::from("{");
    for (index, entry) in settings.entries().iter().enumerate() {
        let (source, origin) = match &entry.origin {
            ValueOrigin::Flag(_) => ("flag", Some(entry.origin.to_string())),
            ValueOrigin::Env(_) => ("env", Some(entry.origin.to_string())),
            ValueOrigin::File { .. } => ("file", Some(entry.origin.to_string())),
            ValueOrigin::Default => ("default", None),
        };
        let origin = origin.as_deref().and_then(|origin| origin.split_once(' ')).map(|(_, at)| at);
        let comma = if index == 0 { "\n" } else { ",\n" };
        let _ = write!(
            text,
            "{comma}  {}: {{\"value\": {}, \"source\": {}, \"origin\": {}, \"doc\": {}}}",
            quoted(entry.setting.name),
            shown(entry).map_or("null".to_owned(), quoted),
            quoted(source),
            origin.map_or("null".to_owned(), quoted),
            quoted(entry.setting.doc),
        );
    }
    text.push_str("\n}\n");
    text
}
