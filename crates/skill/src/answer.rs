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

/// Judgment of `decide` about a proposal.
#[derive(Debug, Clone, PartialEq)]
pub enum SkillJudgment {
    /// No objection.
    Pass,
    /// Not to be done, for this reason.
    Veto(String),
    /// To be done with these values in the place of its own.
    Narrow(Value),
}

impl SkillJudgment {
    /// Reads a value: nil, `(:veto "reason")` or `(:narrow PAYLOAD)`.
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
        match value.get("narrow") {
            Some(payload) if payload.pairs().is_some() && !payload.is_nil() => {
                Ok(Self::Narrow(payload.clone()))
            }
            _ => {
                let expected = "expected nil, (:veto \"reason\") or (:narrow PAYLOAD)";
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
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

/// Characters of a value that a message shows.
const SHOWN: usize = 200;
