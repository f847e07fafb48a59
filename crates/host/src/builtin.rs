//! The built-in thinker: a few words that are answered at once, without any model.
//!
//! Called by [`Host`](crate::Host) while a session waits, so it looks up and prints, and nothing
//! else. It answers questions about the daemon and declines everything else in a way that helps.

use bridle_loop::{
    Draft, Proposal, ProposalAuthor, ReflexAdvice, RememberedRuling, SensorClass, SignalContext,
    ThinkerFault, ThinkerPrompt, Verdict,
};
use bridle_sexp::Value;
use std::fmt::Write as _;
use std::time::Duration;

use crate::facts::{DaemonFacts, SessionList, SessionVisibility, StatusFact};
use crate::io::{HostFuture, ThoughtIo};
use crate::thinker::Thinker;

/// Sessions in one answer: a screen. The rest is counted.
const MAX_SESSIONS_SHOWN: usize = 20;

/// Decisions in one answer, the latest ones.
const MAX_DECISIONS_SHOWN: usize = 5;

/// Bytes of a prompt that can be one of the words: none is longer than ten.
const MAX_WORD_BYTES: usize = 64;

/// A word that the daemon answers by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltinCommand {
    Help,
    Status,
    Sessions,
    Why,
}

/// Payload of a signal, as the built-in thinker understands it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltinInput {
    /// One of the words, with or without a slash before it.
    Word(BuiltinCommand, CommandSpelling),
    /// Other text that a person has written.
    Prose,
    /// No prompt and no command.
    Nothing,
}

/// Whether a word was written as a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandSpelling {
    With,
    Without,
}

impl BuiltinInput {
    /// Looks at the payload of a signal.
    pub(crate) fn of(payload: &Value) -> Self {
        let Some(sensor) = payload.get("sensor") else { return Self::Nothing };
        match SensorClass::matching(|name| sensor.is_keyword(name)) {
            SensorClass::Prompt => {
                return match payload.get("text") {
                    Some(Value::Str(text)) => Self::of_text(text),
                    _ => Self::Prose,
                };
            }
            SensorClass::Command => {}
            _ => return Self::Nothing,
        }
        match payload.get("command") {
            Some(Value::Keyword(command)) => Self::of_text(&command.name()),
            Some(Value::Symbol(command)) => Self::of_text(&command.name()),
            Some(Value::Str(command)) => Self::of_text(command),
            _ => Self::Prose,
        }
    }

    fn of_text(text: &str) -> Self {
        let text = text.trim();
        if text.len() > MAX_WORD_BYTES {
            return Self::Prose;
        }
        let (text, slash) = match text.strip_prefix('/') {
            Some(rest) => (rest, CommandSpelling::With),
            None => (text, CommandSpelling::Without),
        };
        let words = [
            ("help", BuiltinCommand::Help),
            ("?", BuiltinCommand::Help),
            ("status", BuiltinCommand::Status),
            ("sessions", BuiltinCommand::Sessions),
            ("why", BuiltinCommand::Why),
            ("why?", BuiltinCommand::Why),
        ];
        let word = words.into_iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
        word.map_or(Self::Prose, |(_, word)| Self::Word(word, slash))
    }
}

/// Answers the daemon's own words at once, and never thinks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BuiltinThinker;

impl Thinker for BuiltinThinker {
    fn consult(&self, context: &SignalContext, facts: &dyn DaemonFacts) -> ReflexAdvice {
        let text = match BuiltinInput::of(&context.signal.payload) {
            BuiltinInput::Word(word, _) => answer(word, context, facts, ProseAnswerer::None),
            BuiltinInput::Prose => NO_THINKER.to_owned(),
            // A heartbeat, or a sensor that nobody here knows: recorded, and nothing to say.
            BuiltinInput::Nothing => return ReflexAdvice::default(),
        };
        advice(text)
    }

    fn think<'a>(
        &'a self,
        _: &'a ThinkerPrompt,
        _: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>> {
        // All that it has to say was said at once.
        Box::pin(async { Ok(Draft::default()) })
    }

    fn answers_prose(&self) -> bool {
        false
    }
}

/// The answerer of prose, as the help text names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProseAnswerer {
    /// Nobody.
    None,
    /// The rules of a script.
    Script,
    /// A language model.
    Model,
}

/// A signal, as a thinker looks at it that answers prose by itself.
#[derive(Debug, PartialEq)]
pub enum ProseSignal {
    /// One of the daemon's own commands, with a slash: answered.
    Command(ReflexAdvice),
    /// One of the daemon's own words, without a slash.
    Word,
    /// Words of a person.
    Prose,
    /// Neither: nothing to say.
    Silent,
}

impl ProseSignal {
    /// Looks at a signal that a language model may answer.
    pub fn for_model(context: &SignalContext, facts: &dyn DaemonFacts) -> Self {
        match BuiltinInput::of(&context.signal.payload) {
            BuiltinInput::Word(word, CommandSpelling::With) => {
                Self::Command(advice(answer(word, context, facts, ProseAnswerer::Model)))
            }
            BuiltinInput::Word(..) => Self::Word,
            BuiltinInput::Prose => Self::Prose,
            BuiltinInput::Nothing => Self::Silent,
        }
    }
}

/// A message to the asker, and no further thinking.
pub(crate) fn advice(text: String) -> ReflexAdvice {
    let payload = Value::plist([("action", Value::keyword("message")), ("text", Value::str(text))]);
    let proposal = Proposal {
        target: None,
        payload,
        explanation: Some("a word that the daemon answers by itself".into()),
        then_think: false,
        call: None,
    };
    ReflexAdvice { proposals: vec![proposal], ..ReflexAdvice::default() }
}

/// The text for one of the words.
pub(crate) fn answer(
    word: BuiltinCommand,
    context: &SignalContext,
    facts: &dyn DaemonFacts,
    others: ProseAnswerer,
) -> String {
    match word {
        BuiltinCommand::Help => help(context, others),
        BuiltinCommand::Status => status(&facts.status(), others),
        BuiltinCommand::Sessions => {
            let from = &context.signal.from;
            let whose = if from.owner {
                SessionVisibility::Everybodys
            } else {
                SessionVisibility::Of(&from.principal)
            };
            sessions(&facts.sessions(whose, MAX_SESSIONS_SHOWN), context)
        }
        BuiltinCommand::Why => why(context),
    }
}

const NO_THINKER: &str = "\
I have no model to think with, so I cannot answer that. These words work: help, status, sessions, why.

To have more answered, name a language model in `models.org` of your memory (docs/models.md):
  bridle model add
or start the daemon with a script of rules (docs/scripted.md):
  bridle up --thinker script:FILE";

fn help(context: &SignalContext, others: ProseAnswerer) -> String {
    let session = context.session.as_str();
    let (first, last) = match others {
        ProseAnswerer::None => HELP,
        ProseAnswerer::Script => HELP_WITH_SCRIPT,
        ProseAnswerer::Model => HELP_WITH_MODEL,
    };
    let commands = [
        ["  bridle sessions", "", "", "all sessions\n"],
        ["  bridle tail --session ", session, " --follow", "what happens here, as it happens\n"],
        ["  bridle log --session ", session, "", "all that is recorded of it\n"],
        ["  bridle log verify", "", "", "that nobody has changed the record\n"],
    ];
    let width = |[name, session, rest, _]: &[&str; 4]| name.len() + session.len() + rest.len();
    let widest = commands.iter().map(width).max().unwrap_or_default();
    let lines = commands.map(|command| {
        let [name, session, rest, what] = command;
        let blanks = PADDING_BLANKS.get(..widest + 2 - width(&command)).unwrap_or("  ");
        [name, session, rest, blanks, what]
    });
    // In pieces, put together once: this is what people ask first, and to lay it out with formats took
    // ten times as long.
    let mut pieces = Vec::with_capacity(lines.as_flattened().len() + 5);
    pieces.extend([first, session, "`. In a terminal:\n\n"]);
    pieces.extend(lines.as_flattened());
    pieces.extend(["\n", last]);
    pieces.concat()
}

/// Help text behind the commands: before and behind the name of the session.
const HELP: (&str, &str) = (
    "\
I am bridle, a daemon between your shells and an agent. No model is configured;
I understand these words, in any case, with or without a slash before them:

  help      this text
  status    version, uptime, what is going on
  sessions  your sessions, the latest first
  why       what was decided last in this session, and why

This session is `",
    "\
Everything else is recorded and declined, until there is somebody to answer it:

  bridle model add                   a language model (docs/models.md)
  bridle up --thinker script:FILE    rules in a file (docs/scripted.md)
",
);

/// Help text in that place where language models answer.
const HELP_WITH_MODEL: (&str, &str) = (
    "\
I am bridle, a daemon between your shells and an agent. What you say is answered by a
language model of `models.org`, and these commands always work:

  /help      this text
  /status    version, uptime, what is going on
  /sessions  your sessions, the latest first
  /why       what was decided last in this session, and why

This session is `",
    "\
Whatever a model wants to do is judged by your policies first; docs/models.md says what
it is told.",
);

/// Help text in that place where a script answers.
const HELP_WITH_SCRIPT: (&str, &str) = (
    "\
I am bridle, a daemon between your shells and an agent. What you say is answered by
the rules of a script, and these commands always work:

  /help      this text
  /status    version, uptime, what is going on
  /sessions  your sessions, the latest first
  /why       what was decided last in this session, and why

This session is `",
    "\
The script was chosen with `bridle up --thinker script:FILE`; docs/scripted.md says how
its rules are written.",
);

/// Blanks between two columns: more than the longest name of a session is wide.
const PADDING_BLANKS: &str = match std::str::from_utf8(&[b' '; 96]) {
    Ok(blanks) => blanks,
    Err(_) => "  ",
};

fn status(status: &StatusFact, others: ProseAnswerer) -> String {
    let StatusFact { version, sessions, busy, shells, record, .. } = status;
    let thinker = match others {
        ProseAnswerer::None => "builtin, no model",
        ProseAnswerer::Script => "a script",
        ProseAnswerer::Model => "language models",
    };
    let mut text = format!(
        "bridle {version}, up for {}\n\
         sessions  {sessions}, of them busy {busy}\n\
         shells    {shells} attached\n\
         record    {record} entries\n\
         thinker   {thinker}",
        ElapsedTime(status.uptime)
    );
    if let Some(trouble) = &status.trouble {
        // Writing to a string cannot fail, here and below.
        let _ = write!(text, "\ntrouble   {trouble}");
    }
    text
}

fn sessions(list: &SessionList, context: &SignalContext) -> String {
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

fn why(context: &SignalContext) -> String {
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
        let _ = write!(text, "\n  turn {}: {}", ruling.turn.0, RulingSentence(ruling));
    }
    text.push('\n');
    text.push_str(&more);
    text
}

/// An answer of this thinker: allowed each time, and never what somebody asks about.
fn is_small_talk(ruling: &RememberedRuling) -> bool {
    let is_message = ruling.action.as_ref().is_some_and(|action| action.as_str() == "message");
    ruling.by == ProposalAuthor::Reflex && is_message && ruling.verdict == Verdict::Allow
}

/// A ruling as a sentence.
struct RulingSentence<'r>(&'r RememberedRuling);

impl std::fmt::Display for RulingSentence<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RememberedRuling { by, target, action, verdict, reason, .. } = self.0;
        let by = match by {
            ProposalAuthor::Asker => "you asked for",
            ProposalAuthor::Reflex => "I proposed",
            ProposalAuthor::Thinker => "the thinker proposed",
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
struct ElapsedTime(Duration);

impl std::fmt::Display for ElapsedTime {
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
