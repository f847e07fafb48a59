//! The builtin thinker: a few words that are answered at once, without any model.
//!
//! Called by [`Host`](crate::Host) while a session waits, so it looks up and prints, and nothing
//! else. It answers what is said to the daemon about the daemon; everything else it declines in a
//! way that helps.

use std::fmt::Write as _;
use std::time::Duration;

use bridle_loop::{Advice, By, Context, Name, Proposal, Ruling, Verdict};
use bridle_sexp::Value;

use crate::facts::{Facts, SessionList, StatusFact, Whose};

/// Sessions in one answer: a screen. The rest is counted.
const MAX_SESSIONS_SHOWN: usize = 20;

/// Decisions in one answer, the latest ones.
const MAX_DECISIONS_SHOWN: usize = 5;

/// Bytes of a prompt that can be one of the words: none is longer than ten.
const MAX_WORD: usize = 64;

/// Something that the builtin thinker understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Help,
    Status,
    Sessions,
    Why,
}

/// What a signal says to the builtin thinker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// One of the words, with or without a slash before it.
    Word(Word, Slash),
    /// Something else that a person has written.
    Prose,
    /// No prompt and no command.
    Nothing,
}

/// Whether a word was written as a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slash {
    With,
    Without,
}

impl Said {
    /// Looks at the payload of a signal.
    pub(crate) fn of(payload: &Value) -> Self {
        let Some(sensor) = payload.get("sensor").and_then(Name::of) else { return Self::Nothing };
        match sensor.as_str() {
            "user-prompt" | "user-input" | "chat-message" => match payload.get("text") {
                Some(Value::Str(text)) => Self::of_text(text),
                _ => Self::Prose,
            },
            "user-command" => match payload.get("command") {
                Some(Value::Keyword(command)) => Self::of_text(&command.name()),
                Some(Value::Symbol(command)) => Self::of_text(&command.name()),
                Some(Value::Str(command)) => Self::of_text(command),
                _ => Self::Prose,
            },
            _ => Self::Nothing,
        }
    }

    fn of_text(text: &str) -> Self {
        let text = text.trim();
        if text.len() > MAX_WORD {
            return Self::Prose;
        }
        let (text, slash) = match text.strip_prefix('/') {
            Some(rest) => (rest, Slash::With),
            None => (text, Slash::Without),
        };
        match text.to_ascii_lowercase().as_str() {
            "help" | "?" => Self::Word(Word::Help, slash),
            "status" => Self::Word(Word::Status, slash),
            "sessions" => Self::Word(Word::Sessions, slash),
            "why" | "why?" => Self::Word(Word::Why, slash),
            _ => Self::Prose,
        }
    }
}

/// Answers with the builtin thinker alone.
pub(crate) fn consult(context: &Context, facts: &dyn Facts) -> Advice {
    let text = match Said::of(&context.signal.payload) {
        Said::Word(word, _) => answer(word, context, facts, Others::None),
        Said::Prose => NO_THINKER.to_owned(),
        // A heartbeat, or a sensor that nobody here knows: recorded, and nothing to say.
        Said::Nothing => return Advice::default(),
    };
    advice(text)
}

/// Who answers prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// Nobody.
    None,
    /// The rules of a script.
    Script,
}

/// A message to the asker, and no further thinking.
pub(crate) fn advice(text: String) -> Advice {
    let payload = Value::plist([("action", Value::keyword("message")), ("text", Value::str(text))]);
    let proposal = Proposal {
        target: None,
        payload,
        explanation: Some("a word that the daemon answers by itself".into()),
        then_think: false,
    };
    Advice { proposals: vec![proposal], ..Advice::default() }
}

/// The text for one of the words.
pub(crate) fn answer(word: Word, context: &Context, facts: &dyn Facts, others: Others) -> String {
    match word {
        Word::Help => help(context, others),
        Word::Status => status(&facts.status(), others),
        Word::Sessions => {
            let from = &context.signal.from;
            let whose = if from.owner { Whose::Everybodys } else { Whose::Of(&from.principal) };
            sessions(&facts.sessions(whose, MAX_SESSIONS_SHOWN), context)
        }
        Word::Why => why(context),
    }
}

const NO_THINKER: &str = "\
I have no model to think with, so I cannot answer that. These words work: help, status, sessions, why.

To have more answered, start the daemon with a script of rules:
  bridle up --thinker script:FILE
`docs/scripted.md` explains them, `examples/` has some to begin with.";

/// Room for the help, in bytes.
const HELP_BYTES: usize = 1_280;

fn help(context: &Context, others: Others) -> String {
    let session = &context.session;
    let first = match others {
        Others::None => {
            "I am bridle, a daemon between your shells and an agent. No model is configured;\n\
             I understand these words, in any case, with or without a slash before them:"
        }
        Others::Script => {
            "I am bridle, a daemon between your shells and an agent. What you say is answered by\n\
             the rules of a script, and these commands always work:"
        }
    };
    let slash = match others {
        Others::None => "",
        Others::Script => "/",
    };
    let last = match others {
        Others::None => {
            "Everything else is recorded and declined, until you start the daemon with a thinker:\n\
             \n\
             \x20 bridle up --thinker script:FILE    answers from rules in a file (docs/scripted.md)\n\
             \n\
             Thinkers that use a language model are not part of this version."
        }
        Others::Script => {
            "The script was chosen with `bridle up --thinker script:FILE`; docs/scripted.md says how\n\
             its rules are written. Thinkers that use a language model are not part of this version."
        }
    };
    let session = session.as_str();
    let mut text = String::with_capacity(HELP_BYTES);
    // Piece by piece: this is what people ask first, and to lay it out with formats took ten times as
    // long.
    let mut add = |pieces: &[&str]| pieces.iter().for_each(|piece| text.push_str(piece));
    add(&[first, "\n\n"]);
    for (word, what) in [
        ("help      ", "this text"),
        ("status    ", "version, uptime, what is going on"),
        ("sessions  ", "your sessions, the latest first"),
        ("why       ", "what was decided last in this session, and why"),
    ] {
        add(&["  ", slash, word, what, "\n"]);
    }
    add(&["\nThis session is `", session, "`. In a terminal:\n\n"]);
    add_commands(&mut text, session);
    text.push('\n');
    text.push_str(last);
    text
}

/// Adds what can be done in a terminal, a line each.
fn add_commands(text: &mut String, session: &str) {
    let commands: [(&[&str], &str); 4] = [
        (&["bridle sessions"], "all sessions"),
        (&["bridle tail --session ", session, " --follow"], "what happens here, as it happens"),
        (&["bridle log --session ", session], "all that is recorded of it"),
        (&["bridle log verify"], "that nobody has changed the record"),
    ];
    let len = |command: &[&str]| command.iter().map(|piece| piece.len()).sum::<usize>();
    let width = commands.iter().map(|(command, _)| len(command)).max().unwrap_or(0);
    for (command, what) in commands {
        text.push_str("  ");
        command.iter().for_each(|piece| text.push_str(piece));
        (len(command)..width + 2).for_each(|_| text.push(' '));
        text.push_str(what);
        text.push('\n');
    }
}

fn status(status: &StatusFact, others: Others) -> String {
    let StatusFact { version, sessions, busy, shells, record, .. } = status;
    let thinker = match others {
        Others::None => "builtin, no model",
        Others::Script => "a script",
    };
    let mut text = format!(
        "bridle {version}, up for {}\n\
         sessions  {sessions}, of them busy {busy}\n\
         shells    {shells} attached\n\
         record    {record} entries\n\
         thinker   {thinker}",
        Elapsed(status.uptime)
    );
    if let Some(trouble) = &status.trouble {
        // Writing to a string cannot fail, here and below.
        let _ = write!(text, "\ntrouble   {trouble}");
    }
    text
}

fn sessions(list: &SessionList, context: &Context) -> String {
    if list.shown.is_empty() {
        return "There are no sessions that you may see.".to_owned();
    }
    let width = list.shown.iter().map(|fact| fact.session.as_str().len()).max().unwrap_or(0);
    let mut text = match list.total {
        1 => "1 session:".to_owned(),
        total => format!("{total} sessions, the latest first:"),
    };
    for fact in &list.shown {
        let state = if fact.busy { "busy" } else { "idle" };
        let _ = write!(
            text,
            "\n  {:width$}  {state}, {} events, {} attached",
            fact.session.as_str(),
            fact.head,
            fact.shells
        );
        if fact.session == context.session {
            text.push_str("  <- here");
        }
    }
    let more = list.total.saturating_sub(list.shown.len());
    if more > 0 {
        let _ = write!(text, "\nand {more} more: `bridle sessions` lists them all.");
    }
    text
}

fn why(context: &Context) -> String {
    let rulings = context.decisions.iter().rev().filter(|ruling| !is_small_talk(ruling));
    let rulings: Vec<_> = rulings.take(MAX_DECISIONS_SHOWN).collect();
    let session = &context.session;
    let more = format!("`bridle log export --org --session {session}` has the whole trace.");
    if rulings.is_empty() {
        return format!(
            "Nothing was decided in this session yet, except that I may answer you.\n{more}"
        );
    }
    let mut text = "Decided last, the latest first:".to_owned();
    for ruling in rulings {
        let _ = write!(text, "\n  turn {}: {}", ruling.turn.0, Told(ruling));
    }
    text.push('\n');
    text.push_str(&more);
    text
}

/// An answer of this thinker: allowed each time, and never what somebody asks about.
fn is_small_talk(ruling: &Ruling) -> bool {
    let is_message = ruling.action.as_ref().is_some_and(|action| action.as_str() == "message");
    ruling.by == By::Reflex && is_message && ruling.verdict == Verdict::Allow
}

/// A ruling as a sentence.
struct Told<'r>(&'r Ruling);

impl std::fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ruling { by, target, action, verdict, reason, .. } = self.0;
        let by = match by {
            By::Asker => "you asked for",
            By::Reflex => "I proposed",
            By::Thinker => "the thinker proposed",
        };
        match action {
            Some(action) => write!(f, "{by} `{action}`")?,
            None => write!(f, "{by} something without an action")?,
        }
        if let Some(target) = target {
            write!(f, " for `{target}`")?;
        }
        let verdict = match verdict {
            Verdict::Allow => "allowed",
            Verdict::Ask => "asked for",
            Verdict::Deny(_) => "refused",
        };
        write!(f, ": {verdict} by the rule `{}`, {reason}", self.0.decided_by())
    }
}

/// A time as people say it: the two largest units.
struct Elapsed(Duration);

impl std::fmt::Display for Elapsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.as_secs();
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds} s"),
            (0, 0, _) => write!(f, "{minutes} min {} s", seconds % 60),
            (0, _, _) => write!(f, "{hours} h {minutes} min"),
            _ => write!(f, "{days} d {hours} h"),
        }
    }
}

#[cfg(test)]
mod tests;
