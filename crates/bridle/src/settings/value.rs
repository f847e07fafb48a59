//! Kinds of setting: how the text of a flag, a variable or a file entry becomes a typed value.
//!
//! Every source hands over text, so a value means the same wherever it was written.

use std::path::PathBuf;
use std::time::Duration;

use bridle_daemon::WebOrigin;
use bridle_daemon::config::{EventRate, MAX_RATE, ThinkerChoice};
use bridle_daemon::fetch::AllowedHosts;
use bridle_shell::DaemonAddress;

/// The word that switches a listener off.
pub(crate) const OFF: &str = "off";

/// Kind of value that a setting accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingKind {
    Listen,
    PathOrOff,
    Path,
    Bool,
    Bytes,
    BytesOrOff,
    Count,
    CountOrOff,
    Span,
    SpanOrOff,
    RateOrOff,
    OneOf(&'static [&'static str]),
    LogFilter,
    Thinker,
    Keys,
    Origins,
    Hosts,
    Words,
    Secret,
}

/// A typed value. Which variant a setting has follows from its `SettingKind`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SettingValue {
    Unset,
    Off,
    Path(PathBuf),
    Bool(bool),
    Number(u64),
    Span(Duration),
    Rate(EventRate),
    Word(String),
    Keys(Vec<(String, PathBuf)>),
    Origins(Vec<WebOrigin>),
    Secret(Vec<u8>),
}

impl SettingKind {
    /// The placeholder in help texts.
    pub(crate) fn placeholder(self) -> &'static str {
        match self {
            SettingKind::Listen => "ADDR|off",
            SettingKind::PathOrOff => "PATH|off",
            SettingKind::Path => "PATH",
            SettingKind::Bool => "BOOL",
            SettingKind::Bytes => "BYTES",
            SettingKind::BytesOrOff => "BYTES|off",
            SettingKind::Count => "COUNT",
            SettingKind::CountOrOff => "COUNT|off",
            SettingKind::Span => "TIME",
            SettingKind::SpanOrOff => "TIME|off",
            SettingKind::RateOrOff => "RATE/BURST|off",
            SettingKind::OneOf(_) => "WORD",
            SettingKind::LogFilter => "FILTER",
            SettingKind::Thinker => "models|builtin|script:FILE",
            SettingKind::Keys => "ID=FILE",
            SettingKind::Origins => "ORIGIN",
            SettingKind::Hosts => "HOSTS|off",
            SettingKind::Words => "WORDS",
            SettingKind::Secret => "SECRET",
        }
    }

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// A sentence without the setting's name: what was expected and what came.
    pub(crate) fn parse(self, text: &str) -> Result<SettingValue, String> {
        match self {
            SettingKind::Listen
            | SettingKind::PathOrOff
            | SettingKind::BytesOrOff
            | SettingKind::CountOrOff
            | SettingKind::SpanOrOff
            | SettingKind::RateOrOff
            | SettingKind::Hosts
                if text == OFF =>
            {
                Ok(SettingValue::Off)
            }
            SettingKind::Listen => address(text).map(SettingValue::Word),
            SettingKind::PathOrOff | SettingKind::Path if text.is_empty() => {
                Err("expected a path, got nothing".to_owned())
            }
            // A shell would have expanded it; a directory named `~` is never what was meant.
            SettingKind::PathOrOff | SettingKind::Path if text.starts_with("~/") => {
                Err(format!("expected an absolute path, got `{text}`: `~` is not expanded"))
            }
            SettingKind::PathOrOff | SettingKind::Path => {
                Ok(SettingValue::Path(PathBuf::from(text)))
            }
            SettingKind::Bool => boolean(text).map(SettingValue::Bool),
            SettingKind::Bytes | SettingKind::BytesOrOff => bytes(text).map(SettingValue::Number),
            SettingKind::Count | SettingKind::CountOrOff => count(text).map(SettingValue::Number),
            SettingKind::Span | SettingKind::SpanOrOff => span(text).map(SettingValue::Span),
            SettingKind::RateOrOff => rate(text).map(SettingValue::Rate),
            SettingKind::OneOf(words) => one_of(words, text).map(SettingValue::Word),
            SettingKind::LogFilter => text
                .parse::<tracing_subscriber::filter::Targets>()
                .map(|_| SettingValue::Word(text.to_owned()))
                .map_err(|_| format!("expected a level or TARGET=LEVEL pairs, got `{text}`")),
            SettingKind::Thinker => {
                text.parse::<ThinkerChoice>().map(|_| SettingValue::Word(text.to_owned())).map_err(
                    |_| format!("expected `models`, `builtin` or `script:FILE`, got `{text}`"),
                )
            }
            SettingKind::Keys => keys(text).map(SettingValue::Keys),
            SettingKind::Origins => origins(text).map(SettingValue::Origins),
            SettingKind::Hosts => text
                .parse::<AllowedHosts>()
                .map(|_| SettingValue::Word(text.to_owned()))
                .map_err(|error| error.to_string()),
            SettingKind::Words if text.split(',').any(|word| word.trim().is_empty()) => {
                Err(format!("expected comma-separated words, got `{text}`"))
            }
            SettingKind::Words => Ok(SettingValue::Word(text.to_owned())),
            SettingKind::Secret => secret(text).map(SettingValue::Secret),
        }
    }
}

/// `HOST:PORT`. A host name is left for the daemon to look up.
fn address(text: &str) -> Result<String, String> {
    match text.parse::<DaemonAddress>() {
        Ok(DaemonAddress::Tcp(address)) => Ok(address),
        _ => Err(format!("expected HOST:PORT or `off`, got `{text}`")),
    }
}

fn boolean(text: &str) -> Result<bool, String> {
    // The old peers compare with "true" ignoring case.
    if text.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if text.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(format!("expected `true` or `false`, got `{text}`"))
    }
}

fn count(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(0) | Err(_) => Err(format!("expected a whole number above 0, got `{text}`")),
        Ok(number) => Ok(number),
    }
}

/// Splits `30s` into `30` and `s`.
fn split_unit(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    (number, unit.trim_start())
}

fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let factor: Option<u64> = match unit {
        "" | "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    factor
        .and_then(|factor| number.parse::<u64>().ok()?.checked_mul(factor))
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| format!("expected bytes such as `65536`, `64KiB` or `16MiB`, got `{text}`"))
}

fn span(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let millis: Option<u64> = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    millis
        .and_then(|millis| number.parse::<u64>().ok()?.checked_mul(millis))
        .filter(|&millis| millis > 0)
        .map(Duration::from_millis)
        .ok_or_else(|| format!("expected a time such as `30s`, `500ms` or `2m`, got `{text}`"))
}

/// Times a second and times at once: `20/100`.
fn rate(text: &str) -> Result<EventRate, String> {
    let number = |text: &str| {
        let number = text.parse::<u32>().ok();
        number.filter(|number| (1..=MAX_RATE).contains(number))
    };
    let found = text.split_once('/').and_then(|(per_second, burst)| {
        Some(EventRate { per_second: number(per_second)?, burst: number(burst)? })
    });
    found.ok_or_else(|| {
        format!(
            "expected RATE/BURST such as `20/100`, each up to {MAX_RATE}, or `off`, got `{text}`"
        )
    })
}

fn one_of(words: &[&str], text: &str) -> Result<String, String> {
    if words.contains(&text) {
        return Ok(text.to_owned());
    }
    let choices = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    Err(format!("expected one of {choices}, got `{text}`"))
}

/// The bytes of a secret as the old peers take them: one for each character. They fail above
/// U+00FF, so such a secret would lock them out. The text itself is never repeated.
fn secret(text: &str) -> Result<Vec<u8>, String> {
    let bytes = text.chars().map(u8::try_from).collect::<Result<Vec<u8>, _>>();
    bytes.map_err(|_| "expected characters up to U+00FF, got one above".to_owned())
}

fn keys(text: &str) -> Result<Vec<(String, PathBuf)>, String> {
    let mut keys: Vec<(String, PathBuf)> = Vec::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let Some((id, path)) = entry.split_once('=').filter(|(id, path)| {
            !id.is_empty() && !path.is_empty() && id.bytes().all(|b| b.is_ascii_graphic())
        }) else {
            return Err(format!("expected ID=FILE, got `{entry}`"));
        };
        if keys.iter().any(|(known, _)| known == id) {
            return Err(format!("duplicate key id `{id}`"));
        }
        keys.push((id.to_owned(), PathBuf::from(path)));
    }
    Ok(keys)
}

/// Origins of web pages, with commas between them.
fn origins(text: &str) -> Result<Vec<WebOrigin>, String> {
    let origins = text.split(',').map(str::trim).filter(|origin| !origin.is_empty());
    origins.map(|text| text.parse().map_err(|why| format!("{why}, got `{text}`"))).collect()
}

#[cfg(test)]
mod tests;
