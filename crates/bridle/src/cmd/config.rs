//! `bridle config`: what the settings are, where they come from, whether a file is good.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::args;
use crate::exit::{Exit, Failure};
use crate::json::quoted;
use crate::settings::{self, ConfigFile, Origin, Resolved, Settings};

/// What stands in the place of a secret.
const MASK: &str = "********";

pub(crate) fn run(verb: args::Config) -> Result<Exit, Failure> {
    match verb {
        args::Config::Show(show) => {
            let settings = Settings::resolve(&show.given)?;
            let text = if show.json { as_json(&settings) } else { as_text(&settings) };
            print(&text)
        }
        args::Config::Path(file) => print(&format!("{}\n", chosen(file)?.display())),
        args::Config::Check { file } => check(file),
        args::Config::Init(file) => init(&chosen(file)?),
    }
}

fn chosen(file: ConfigFile) -> Result<PathBuf, Failure> {
    file.config.map_or_else(settings::expected_file, Ok)
}

/// Checks the file alone: the environment of the moment must not decide whether it is good.
fn check(file: Option<PathBuf>) -> Result<Exit, Failure> {
    let path = file.map_or_else(settings::expected_file, Ok)?;
    let n_settings = settings::check_file(&path)?;
    let noun = if n_settings == 1 { "setting" } else { "settings" };
    print(&format!("{}: ok, {n_settings} {noun}\n", path.display()))
}

fn init(path: &Path) -> Result<Exit, Failure> {
    let failure = |error: &io::Error| {
        let what = format!("cannot create `{}`", path.display());
        let failure = Failure::because(Exit::CannotCreate, what, error);
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                failure.hint("it is left as it is; name another with --config FILE")
            }
            _ => failure.hint("name a place you may write to with --config FILE"),
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
fn shown(entry: &Resolved) -> Option<&str> {
    if entry.setting.is_secret() {
        entry.text.as_ref().map(|_| MASK)
    } else {
        entry.text.as_deref()
    }
}

fn as_text(settings: &Settings) -> String {
    let width = |column: fn(&Resolved) -> usize| settings.entries().iter().map(column).max();
    let names = width(|entry| entry.setting.name.len()).unwrap_or(0);
    let values = width(|entry| shown(entry).unwrap_or("-").chars().count()).unwrap_or(0);
    let mut text = String::new();
    for entry in settings.entries() {
        let (name, value) = (entry.setting.name, shown(entry).unwrap_or("-"));
        let _ = writeln!(text, "{name:names$}  {value:values$}  {}", entry.origin);
    }
    text
}

fn as_json(settings: &Settings) -> String {
    let mut text = String::from("{");
    for (index, entry) in settings.entries().iter().enumerate() {
        let (source, origin) = match &entry.origin {
            Origin::Flag(_) => ("flag", Some(entry.origin.to_string())),
            Origin::Env(_) => ("env", Some(entry.origin.to_string())),
            Origin::File { .. } => ("file", Some(entry.origin.to_string())),
            Origin::Default => ("default", None),
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

fn print(text: &str) -> Result<Exit, Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::stream("cannot write to stdout", &error))?;
    Ok(Exit::Ok)
}
