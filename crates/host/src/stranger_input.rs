//! Built-in answers for peers that nobody knows.
//!
//! Called by [`Host`](crate::Host) for the daemon. An answer to a stranger is no event: it belongs to
//! no session, has no number and is not recorded, so it is a fixed text and looks nothing up.

use bridle_sexp::Value;

use crate::builtin::{BuiltinCommand, BuiltinInput, CommandSpelling};

/// Spellings of the words that strangers may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StrangerSpelling {
    /// With or without a slash before them.
    Any,
    /// With a slash before them: everything else is for a thinker.
    Slash,
}

/// The payload that answers a stranger's event; `None` for everything but the built-in words.
pub(crate) fn answer(payload: &Value, spelling: StrangerSpelling) -> Option<Value> {
    let BuiltinInput::Word(word, slash) = BuiltinInput::of(payload) else { return None };
    if spelling == StrangerSpelling::Slash && slash == CommandSpelling::Without {
        return None;
    }
    Some(Value::plist([
        ("status", Value::keyword("success")),
        ("action", Value::keyword("message")),
        ("text", Value::str(text(word))),
    ]))
}

fn text(word: BuiltinCommand) -> &'static str {
    match word {
        BuiltinCommand::Help => HELP,
        BuiltinCommand::Status => STATUS,
        BuiltinCommand::Sessions => "There are no sessions that you may see.",
        BuiltinCommand::Why => "Nothing is decided for strangers.",
    }
}

const HELP: &str = "\
I am bridle, a daemon between shells and an agent. I do not know who you are, so I
answer health checks and these words, and keep nothing of what you say:

  /help      this text
  /status    that I run, and my version

To be known, use the Unix socket of the daemon's user, or a key (docs/protocol.md, section 14).";

const STATUS: &str = concat!("bridle ", env!("CARGO_PKG_VERSION"), " is running.");

#[cfg(test)]
mod tests {
    use bridle_sexp::Value;

    use super::{StrangerSpelling, answer};

    fn prompt(text: &str) -> Value {
        Value::plist([("sensor", Value::keyword("user-prompt")), ("text", Value::str(text))])
    }

    #[test]
    fn a_stranger_is_told_fixed_texts_and_nothing_else() {
        for word in ["help", "/STATUS", " sessions ", "why?"] {
            let told = answer(&prompt(word), StrangerSpelling::Any).unwrap();
            assert!(told.get("text").and_then(Value::as_str).is_some(), "{told}");
        }
        for other in ["hi", "", "help me"] {
            assert_eq!(answer(&prompt(other), StrangerSpelling::Any), None, "{other}");
        }
        assert_eq!(answer(&prompt("help"), StrangerSpelling::Slash), None);
        assert!(answer(&prompt("/help"), StrangerSpelling::Slash).is_some());
    }
}
