//! The settings file: TOML in, entries by name out; and the commented example that
//! `config init` writes. Both come from the table.

use std::fmt::Write as _;
use std::path::Path;

use toml::de::{DeArray, DeTable, DeValue};

use super::table::{self, SettingPreset, TABLE};
use super::value::SettingKind;
use crate::exit::{BridleExit, CommandFailure};

/// Largest settings file that is read, in bytes: far above any real one, so that a wrong path
/// (a device, a log) ends in a message and not in a full memory.
const MAX_FILE: u64 = 1 << 20;

/// An unknown key is taken for a misspelt one up to one slip (a letter missing, added, other, or
/// two swapped) in so many letters.
const LETTERS_PER_SLIP: usize = 3;

/// One entry of the file.
#[derive(Debug)]
pub(crate) struct FileEntry {
    /// Dotted name, as in the table.
    pub(crate) name: &'static str,
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// Reads a settings file; its first fault is the failure.
pub(crate) fn read(path: &Path) -> Result<Vec<FileEntry>, CommandFailure> {
    let (entries, faults) = read_all(path)?;
    faults.into_iter().next().map_or(Ok(entries), Err)
}

/// Reads a settings file as far as it can be read, and names all that is wrong with it, line by line.
pub(crate) fn read_all(
    path: &Path,
) -> Result<(Vec<FileEntry>, Vec<CommandFailure>), CommandFailure> {
    let text = load(path)?;
    let document = DeTable::parse(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_at(&text, span.start));
        CommandFailure::new(
            BridleExit::Config,
            format!("{}:{line}: {}", path.display(), error.message()),
        )
        .hint("the file is TOML; `bridle config init` writes an example")
    })?;
    let file = SettingsFile { path, text: &text };
    let mut found: Vec<(usize, Result<FileEntry, CommandFailure>)> = Vec::new();
    for (key, value) in document.get_ref() {
        let (name, at) = (key.get_ref().as_ref(), key.span().start);
        match value.get_ref() {
            DeValue::Table(inner) if table::find(name).is_none() => {
                file.walk_table(name, at, inner, &mut found);
            }
            value => found.push((at, file.entry(name, at, value))),
        }
    }
    found.sort_by_key(|(at, _)| *at);
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    for (_, entry) in found {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(fault) => faults.push(fault),
        }
    }
    Ok((entries, faults))
}

fn load(path: &Path) -> Result<String, CommandFailure> {
    let size = std::fs::metadata(path).map(|meta| meta.len());
    let text = size.and_then(|size| {
        if size > MAX_FILE {
            let why = format!("expected at most {MAX_FILE} bytes, got {size}");
            return Err(std::io::Error::other(why));
        }
        std::fs::read_to_string(path)
    });
    text.map_err(|error| {
        CommandFailure::because(
            BridleExit::NoInput,
            format!("cannot read `{}`", path.display()),
            &error,
        )
        .hint("write one with: bridle config init")
    })
}

/// The file while it is read, for messages with a place.
struct SettingsFile<'f> {
    path: &'f Path,
    text: &'f str,
}

impl SettingsFile<'_> {
    fn walk_table(
        &self,
        table_name: &str,
        at: usize,
        inner: &DeTable<'_>,
        found: &mut Vec<(usize, Result<FileEntry, CommandFailure>)>,
    ) {
        let prefix = format!("{table_name}.");
        if !TABLE.iter().any(|setting| setting.name.starts_with(&prefix)) {
            return found.push((at, Err(self.unknown(table_name, at))));
        }
        for (key, value) in inner {
            let name = format!("{prefix}{}", key.get_ref());
            let at = key.span().start;
            found.push((at, self.entry(&name, at, value.get_ref())));
        }
    }

    fn entry(
        &self,
        name: &str,
        at: usize,
        value: &DeValue<'_>,
    ) -> Result<FileEntry, CommandFailure> {
        let Some(setting) = table::find(name).filter(|setting| !setting.is_secret()) else {
            return Err(self.unknown(name, at));
        };
        let line = line_at(self.text, at);
        let text = match value {
            DeValue::String(text) => text.clone().into_owned(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
            DeValue::Table(keys) if setting.kind == SettingKind::Keys => self.keys(keys, line)?,
            DeValue::Array(list)
                if matches!(setting.kind, SettingKind::Origins | SettingKind::Words) =>
            {
                self.list(name, list, line)?
            }
            _ => {
                return Err(self
                    .failure(line, &format!("`{name}`: expected text, a number or a boolean"))
                    .hint(format!("{name}: {}", setting.doc)));
            }
        };
        Ok(FileEntry { name: setting.name, text, line })
    }

    /// `[hmac.keys]` as the text that the environment would hold.
    fn keys(&self, keys: &DeTable<'_>, line: usize) -> Result<String, CommandFailure> {
        let mut entries = Vec::with_capacity(keys.len());
        for (id, file) in keys {
            match file.get_ref() {
                DeValue::String(file)
                    if !file.contains(',') && !id.get_ref().contains(['=', ',']) =>
                {
                    entries.push(format!("{}={file}", id.get_ref()));
                }
                _ => {
                    let why = format!(
                        "`hmac.keys.{}`: expected a file name without a comma",
                        id.get_ref()
                    );
                    return Err(self
                        .failure(line, &why)
                        .hint("[hmac.keys] has lines: ID = \"FILE\""));
                }
            }
        }
        Ok(entries.join(","))
    }

    /// A list of texts as the text that the environment would hold.
    fn list(&self, name: &str, list: &DeArray<'_>, line: usize) -> Result<String, CommandFailure> {
        let texts = list.iter().map(|item| match item.get_ref() {
            DeValue::String(text) if !text.contains(',') => Some(text.as_ref()),
            _ => None,
        });
        let texts: Option<Vec<&str>> = texts.collect();
        let texts = texts.ok_or_else(|| {
            self.failure(line, &format!("`{name}`: expected a list of texts without commas"))
        });
        Ok(texts?.join(","))
    }

    fn unknown(&self, name: &str, at: usize) -> CommandFailure {
        let failure = self.failure(line_at(self.text, at), &format!("unknown setting `{name}`"));
        if name == "hmac.secret" {
            return failure.hint("put the secret into a file and name it: hmac.key-file");
        }
        match closest(name) {
            Some(close) => failure.hint(format!("did you mean `{close}`?")),
            None => failure.hint("`bridle config show` lists every setting"),
        }
    }

    fn failure(&self, line: usize, why: &str) -> CommandFailure {
        CommandFailure::new(BridleExit::Config, format!("{}:{line}: {why}", self.path.display()))
    }
}

/// The name in the table that is most like `name`, if one is near; a table's own name counts.
fn closest(name: &str) -> Option<&'static str> {
    let folded = name.to_ascii_lowercase().replace('_', "-");
    let tables = TABLE.iter().filter_map(|s| s.name.split_once('.')).map(|(table, _)| table);
    let names = TABLE.iter().filter(|setting| !setting.is_secret()).map(|setting| setting.name);
    names
        .chain(tables)
        .map(|known| {
            let last = known.rsplit_once('.').map_or(known, |(_, last)| last);
            let slips = strsim::osa_distance(&folded, known);
            (known, slips.min(strsim::osa_distance(&folded, last)))
        })
        .filter(|(_, slips)| *slips <= (folded.len() / LETTERS_PER_SLIP).max(1))
        .min_by_key(|(_, slips)| *slips)
        .map(|(known, _)| known)
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count()
}

/// A file with every setting, commented out, at its default.
pub(crate) fn example() -> String {
    let mut text = String::from(
        "# Settings of bridle. A flag wins over the environment, the environment over this file.\n\
         # `bridle config show` prints every value and its source.\n",
    );
    let mut open = "";
    let settings = TABLE.iter().filter(|setting| !setting.is_secret());
    for setting in settings {
        let (table, key) = setting.name.split_once('.').unwrap_or(("", setting.name));
        if table != open {
            let _ = write!(text, "\n[{table}]\n");
            open = table;
        }
        let flag = setting.flag.map(|flag| format!("--{flag}, ")).unwrap_or_default();
        let _ = write!(text, "\n# {} ({flag}{})\n", setting.doc, setting.env[0]);
        match (setting.kind, setting.default) {
            (SettingKind::Keys, _) => text.push_str("# keys = { laptop = \"/path/to/key\" }\n"),
            (SettingKind::Origins, _) => {
                let _ = writeln!(text, "# {key} = [\"https://app.example.org\"]");
            }
            (_, SettingPreset::Text(default)) if is_bare(default) => {
                let _ = writeln!(text, "# {key} = {default}");
            }
            (_, SettingPreset::Text(default)) => {
                let _ = writeln!(text, "# {key} = \"{default}\"");
            }
            (_, preset) => {
                if let Some(default) = preset.describe() {
                    let _ = writeln!(text, "# Default: {default}");
                }
                let _ = writeln!(text, "# {key} = \"/path/to/{key}\"");
            }
        }
    }
    text
}

/// Whether TOML writes it without quotes: a boolean or a number.
fn is_bare(text: &str) -> bool {
    matches!(text, "true" | "false") || text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
