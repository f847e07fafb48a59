//! One thing that a shell says, with its id and what became of it. It is said again with the same id
//! until a receipt comes; then it must be answered, once.

use std::time::Instant;

use bridle_sexp::Value;

use crate::chaos::random::SplitMix;
use crate::chaos::script;

/// Subject of a saying: the first word of its text, which the scripted thinker understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SayingKind {
    /// Answered at once.
    Echo,
    /// Answered after a while, in pieces.
    Slow,
    /// One counted effect.
    Tally,
    /// A counted effect whose outcome is thought about.
    Chain,
    /// Two counted effects.
    Pair,
    /// Thirty counted effects in three rounds, ten at once.
    Long,
    /// The thinker fails.
    Fail,
    /// A request to a shell.
    Ring,
    /// A request of the shell itself for a counted effect.
    Count,
    /// Gives up what the engine is doing.
    Interrupt,
}

/// Percent of sayings that interrupt: often enough to meet every stage, and the others get on.
const INTERRUPTS: u64 = 5;

impl SayingKind {
    const ALL: &[Self] = &[
        Self::Echo,
        Self::Slow,
        Self::Tally,
        Self::Chain,
        Self::Pair,
        Self::Long,
        Self::Fail,
        Self::Ring,
        Self::Count,
    ];

    pub(crate) fn random(random: &mut SplitMix) -> Self {
        if random.chance(INTERRUPTS) {
            Self::Interrupt
        } else {
            Self::ALL[random.index(Self::ALL.len())]
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Slow => "slow",
            Self::Tally => "tally",
            Self::Chain => "chain",
            Self::Pair => "pair",
            Self::Long => "long",
            Self::Fail => "fail",
            Self::Ring => "ring",
            Self::Count => "count",
            Self::Interrupt => "interrupt",
        }
    }
}

/// A saying and its fate.
#[derive(Debug, Clone)]
pub(crate) struct ShellSaying {
    id: Value,
    kind: SayingKind,
    pub(crate) text: String,
    /// The connection on which it was said last.
    said_on: Option<u64>,
    /// Earliest moment of the next try, after a refusal for now.
    not_before: Option<Instant>,
    /// The number of its receipt.
    pub(crate) seq: Option<u64>,
    /// The number of its answer, and which number that answers.
    pub(crate) answer: Option<(u64, u64)>,
}

impl ShellSaying {
    /// The saying `number` of `shell`. Ids are integers or strings, as real shells have them.
    pub(crate) fn new(shell: &str, number: u64, kind: SayingKind) -> Self {
        let id = if number.is_multiple_of(2) {
            Value::int(i64::try_from(number).expect("a small number"))
        } else {
            Value::str(format!("p-{number}"))
        };
        let text = format!("{} {shell}-{number}", kind.word());
        Self { id, kind, text, said_on: None, not_before: None, seq: None, answer: None }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.seq.is_some() && self.answer.is_some()
    }

    pub(crate) fn is_new(&self) -> bool {
        self.said_on.is_none()
    }

    /// Said on this connection and not acknowledged.
    pub(crate) fn waits_on(&self, visit: u64) -> bool {
        self.seq.is_none() && self.said_on == Some(visit) && self.not_before.is_none()
    }

    /// Neither acknowledged nor said on this connection, or refused long enough ago.
    pub(crate) fn is_due(&self, visit: u64, now: Instant) -> bool {
        if self.seq.is_some() {
            return false;
        }
        match self.not_before {
            Some(instant) => instant <= now,
            None => self.said_on != Some(visit),
        }
    }

    /// Fate of the saying so far, for people.
    pub(crate) fn fate(&self) -> String {
        match (self.said_on, self.seq, self.answer) {
            (None, ..) => format!("`{}` was not said", self.text),
            (_, None, _) => format!("`{}` was not acknowledged", self.text),
            (_, Some(seq), None) => format!("`{}` ({seq}) was not answered", self.text),
            (_, Some(seq), Some((answer, _))) => {
                format!("`{}` ({seq}) was answered ({answer})", self.text)
            }
        }
    }

    /// The message, from now on waiting for its receipt.
    pub(crate) fn say(&mut self, visit: u64) -> Value {
        self.said_on = Some(visit);
        self.not_before = None;
        let text = ("text", Value::str(self.text.as_str()));
        let keyword = Value::keyword;
        let (kind, payload) = match self.kind {
            SayingKind::Count => {
                let file = ("file", Value::str(script::TALLY));
                ("REQUEST", Value::plist([("action", keyword("tally")), file, text]))
            }
            SayingKind::Interrupt => {
                ("EVENT", Value::plist([("sensor", keyword("interrupt")), text]))
            }
            _ => ("EVENT", Value::plist([("sensor", keyword("user-prompt")), text])),
        };
        let mut fields = vec![("type", keyword(kind)), ("id", self.id.clone())];
        if self.kind == SayingKind::Count {
            fields.push(("target", keyword("tally")));
        }
        fields.push(("payload", payload));
        Value::plist(fields)
    }

    pub(crate) fn admit(&mut self, seq: u64) -> Result<(), String> {
        match self.seq.replace(seq) {
            Some(before) if before != seq => Err(format!("admitted as {before} before")),
            _ => Ok(()),
        }
    }

    pub(crate) fn refuse(&mut self, not_before: Instant) {
        self.not_before = Some(not_before);
    }

    pub(crate) fn answer(&mut self, seq: u64, answers: u64) -> Result<(), String> {
        if let Some(admitted) = self.seq.filter(|admitted| *admitted != answers) {
            return Err(format!("answers {answers}, admitted as {admitted}"));
        }
        match self.answer.replace((seq, answers)) {
            Some((before, _)) => Err(format!("answered in {before} before")),
            None => Ok(()),
        }
    }
}

/// The saying with the id of this message.
pub(crate) fn find<'s>(
    sayings: &'s mut [ShellSaying],
    message: &Value,
) -> Option<&'s mut ShellSaying> {
    let id = message.get("id")?;
    sayings.iter_mut().find(|saying| saying.id == *id)
}
