//! What a skill says at the end of a call: text, actions, a judgment.

use bridle_sexp::Value;

use crate::fault::{SkillFault, SkillFaultKind};

/// Actions of one answer.
const MAX_ACTIONS: usize = 64;

/// Bytes of the text of one answer.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// Answer of `think` or a command.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SkillAnswer {
    /// Text for the asker.
    pub text: String,
    /// Actions, each with its target and its payload; without a target it is for the asker.
    pub actions: Vec<(Option<String>, Value)>,
}

impl SkillAnswer {
    /// Reads a value: nil, a text, an action `(:action ..)` or `(:target .. :payload ..)`, or a list of them.
    ///
    /// # Errors
    /// A value of another shape, or one that is too large.
    pub fn read(value: &Value) -> Result<Self, SkillFault> {
        let mut answer = Self::default();
        match value {
            Value::List(elements) if value.pairs().is_none() => {
                for element in elements {
                    answer.add(element)?;
                }
            }
            Value::Nil => {}
            other => answer.add(other)?,
        }
        if answer.actions.len() > MAX_ACTIONS || answer.text.len() > MAX_TEXT_BYTES {
            let reason =
                format!("the answer is larger than {MAX_ACTIONS} actions or 256 KiB of text");
            return Err(SkillFault::new(SkillFaultKind::Answer, reason));
        }
        Ok(answer)
    }

    fn add(&mut self, value: &Value) -> Result<(), SkillFault> {
        if let Some(text) = value.as_str() {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(text);
            return Ok(());
        }
        let is_plist = !value.is_nil() && value.pairs().is_some();
        let target = value.get("target").and_then(|target| {
            target.as_keyword().or_else(|| target.as_str()).map(str::to_ascii_lowercase)
        });
        let payload = match value.get("payload") {
            Some(payload) if target.is_some() => payload.clone(),
            _ => without(value, "target"),
        };
        if !is_plist || payload.get("action").and_then(Value::as_keyword).is_none() {
            let reason = format!("{} is no answer: expected text or an action", shown(value));
            return Err(SkillFault::new(SkillFaultKind::Answer, reason));
        }
        self.actions.push((target, payload));
        Ok(())
    }
}

/// Word of `perceive` about a signal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SkillNotice {
    /// Additions to the turn.
    pub answer: SkillAnswer,
    /// Whether a thinker should be asked, too.
    pub thinks: bool,
    /// Reason why the turn must not go on.
    pub veto: Option<String>,
}

impl SkillNotice {
    /// Reads a value: what an answer may be, `(:veto "reason")`, `(:think t)`, or a list of them.
    ///
    /// # Errors
    /// A value of another shape, or one that is too large.
    pub fn read(value: &Value) -> Result<Self, SkillFault> {
        let mut notice = Self::default();
        let own = |value: &Value| ["veto", "think"].iter().any(|key| value.get(key).is_some());
        let elements = match value {
            Value::List(elements) if value.pairs().is_none() => elements.clone(),
            Value::Nil => Vec::new(),
            other => vec![other.clone()],
        };
        let (words, said): (Vec<Value>, Vec<Value>) = elements.into_iter().partition(own);
        for word in &words {
            match word.get("veto").map(Value::as_str) {
                Some(Some(reason)) => notice.veto = Some(reason.to_owned()),
                Some(None) => {
                    let reason = format!("{} is no veto: expected (:veto \"reason\")", shown(word));
                    return Err(SkillFault::new(SkillFaultKind::Answer, reason));
                }
                None => notice.thinks |= word.get("think").is_some_and(|flag| !flag.is_nil()),
            }
        }
        notice.answer = SkillAnswer::read(&Value::list(said))?;
        Ok(notice)
    }
}

/// Judgment of `decide` about a proposal.
#[derive(Debug, Clone, PartialEq)]
pub enum SkillJudgment {
    /// No objection.
    Pass,
    /// Not to be done, for this reason.
    Veto(String),
    /// Not to be done without somebody's yes, for this reason.
    Ask(String),
    /// To be done with these values in the place of its own, which are larger.
    Narrow(Value),
}

impl SkillJudgment {
    /// Reads a value: nil, `(:veto "reason")`, `(:ask "reason")` or `(:narrow (KEY VALUE ..))`.
    ///
    /// # Errors
    /// A value of another shape. Who asked takes that for a veto.
    pub fn read(value: &Value) -> Result<Self, SkillFault> {
        if value.is_nil() {
            return Ok(Self::Pass);
        }
        if let Some(reason) = value.get("veto").and_then(Value::as_str) {
            return Ok(Self::Veto(reason.to_owned()));
        }
        if let Some(reason) = value.get("ask").and_then(Value::as_str) {
            return Ok(Self::Ask(reason.to_owned()));
        }
        match value.get("narrow") {
            Some(payload) if payload.pairs().is_some() && !payload.is_nil() => {
                Ok(Self::Narrow(payload.clone()))
            }
            _ => {
                let expected = "expected nil, (:veto \"reason\"), (:ask \"reason\") or (:narrow (KEY VALUE ..))";
                let reason = format!("{} is no judgment: {expected}", shown(value));
                Err(SkillFault::new(SkillFaultKind::Answer, reason))
            }
        }
    }
}

fn without(plist: &Value, key: &str) -> Value {
    let Some(pairs) = plist.pairs() else { return Value::Nil };
    let kept = pairs.filter(|(name, _)| !name.is_keyword(key));
    Value::list(kept.flat_map(|(name, value)| [name.clone(), value.clone()]))
}

/// A value for people, cut where it is long.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

/// Characters of a value that a message shows.
const MAX_SHOWN_CHARS: usize = 200;
