//! Values of single properties. Each reader returns what to write instead when it does not like a value; none repeats
//! the value itself where it could be a key.

use std::time::Duration;

use super::{KeySource, ModelTier};
use crate::key_text::looks_like_key;

/// Longest time that may be written: a day.
const MAX_DURATION: Duration = Duration::from_secs(86_400);

/// Most tokens that may be written.
const MAX_TOKENS: u32 = 100_000_000;

const KEY_SOURCES: &str =
    "write `env:NAME`, `file:PATH`, `command:PROGRAM ARGUMENTS` or `secret:NAME`";

const KEY_ITSELF: &str = "this looks like a key itself: take it out of the file, make a new one at the provider, and \
                          write where it is found: `env:NAME`, `file:PATH`, `command:PROGRAM ARGUMENTS` or \
                          `secret:NAME`";

/// `10s`, `500ms`, `2m`.
pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    let instead = "write a time such as `500ms`, `30s` or `5m`, at most a day";
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or(instead)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| instead)?;
    let time = match unit.trim() {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.saturating_mul(60)),
        _ => return Err(instead),
    };
    if time.is_zero() || time > MAX_DURATION { Err(instead) } else { Ok(time) }
}

/// `128000`, `128_000`, `128k`.
pub(super) fn tokens(text: &str) -> Result<u32, &'static str> {
    let instead = "write a number of tokens such as `128000` or `128k`";
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1000),
        None => (text, 1),
    };
    let digits = digits.replace(['_', ','], "");
    let number =
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>().ok());
    let number = number.flatten().and_then(|number| number.checked_mul(factor));
    number.filter(|number| (1..=MAX_TOKENS).contains(number)).ok_or(instead)
}

/// `yes` or `no`.
pub(super) fn flag(text: &str) -> Result<bool, &'static str> {
    match text {
        "yes" | "t" | "true" => Ok(true),
        "no" | "nil" | "false" => Ok(false),
        _ => Err("write `yes` or `no`"),
    }
}

/// Reads where a key is to be found.
pub(super) fn key(text: &str) -> Result<KeySource, &'static str> {
    if looks_like_key(text) {
        return Err(KEY_ITSELF);
    }
    let Some((kind, value)) = text.split_once(':') else { return Err(KEY_SOURCES) };
    let value = value.trim();
    if kind != "file" && value.split_whitespace().any(looks_like_key) {
        return Err(KEY_ITSELF);
    }
    match kind {
        "env" if is_variable(value) => Ok(KeySource::Environment(value.to_owned())),
        "env" => Err("write `env:` and the name of a variable, such as `env:OPENAI_API_KEY`"),
        "file" if value.starts_with(['/', '~']) => Ok(KeySource::File(value.to_owned())),
        "file" => {
            Err("write `file:` and a path from `/` or `~`, such as `file:~/.config/keys/openai`")
        }
        "command" => match words(value) {
            Some(words) if !words.is_empty() => Ok(KeySource::Command(words)),
            _ => Err(
                "write `command:` and a program with its arguments, such as `command:pass show llm/openai`",
            ),
        },
        "secret" if is_name(value) => Ok(KeySource::Secret(value.to_owned())),
        "secret" => Err("write `secret:` and a name of letters, digits, `-`, `_` and `.`"),
        _ => Err(KEY_SOURCES),
    }
}

/// Whether the text can name a provider or a secret.
pub(super) fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(fits)
}

/// The tier of a tag.
pub(super) fn tier(tag: &str) -> Option<ModelTier> {
    ModelTier::ALL.into_iter().find(|tier| tier.as_str() == tag)
}

fn is_variable(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(fits)
}

/// The words of a command line; quotes keep blanks, and there is nothing else that a shell would do.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in text.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Words as a command line that reads as the same words.
pub(super) fn quoted(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let is_plain =
            !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "\"'".contains(c));
        let mark = if word.contains('"') { '\'' } else { '"' };
        if is_plain { word.clone() } else { format!("{mark}{word}{mark}") }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{duration, key, tokens};

    #[test]
    fn times_and_tokens() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30 s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        for text in ["", "5", "0s", "-1s", "2d", "99999m", "s", "18446744073709551616s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(
            [tokens("8192"), tokens("128k"), tokens("1_000_000")],
            [Ok(8192), Ok(128_000), Ok(1_000_000)]
        );
        for text in ["", "0", "-1", "1.5k", "k", "many", "999999k"] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }

    #[test]
    fn key_sources_are_read_and_written_alike() {
        for text in [
            "env:OPENAI_API_KEY",
            "file:~/.config/keys/openai",
            "command:pass show llm/openai",
            "command:\"/opt/my tools/key\" --for 'a \"b\"'",
            "secret:openai",
        ] {
            let source = key(text).unwrap();
            assert_eq!(key(&source.to_string()), Ok(source), "{text}");
        }
    }

    #[test]
    fn keys_themselves_are_refused_with_a_hint() {
        for text in [
            "sk-proj-abcdefgh12345678",
            "env:sk-proj-abcdefgh12345678",
            "secret:AIzaSyA1234567890abcdefghij",
            "command:echo sk-proj-abcdefgh12345678",
            "0123456789abcdef0123456789abcdef",
        ] {
            let refused = key(text).unwrap_err();
            assert!(refused.starts_with("this looks like a key itself"), "{text}: {refused}");
        }
        for text in [
            "",
            "openai",
            "env:",
            "env:a b",
            "env:1A",
            "file:key",
            "command:",
            "command:a \"b",
            "vault:x",
        ] {
            assert!(key(text).unwrap_err().starts_with("write "), "{text}");
        }
    }
}
