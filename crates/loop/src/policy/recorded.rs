//! Decisions as they were recorded, and what another set would have said to them.
//!
//! Called by the daemon's history, for `bridle policy rehearse` and for the diff of a grant. Nothing
//! follows from it: a rehearsal makes no order.

use std::collections::{BTreeMap, HashMap};

use bridle_sexp::Value;

use super::facts::{Facts, OTHER, is_act};
use super::{Finding, Policies, Word};
use crate::field::Unreadable;
use crate::ids::{SessionId, Time};

/// Different facts that a rehearsal remembers; beyond it, the same is judged again.
const MAX_REMEMBERED: usize = 65_536;

/// What the policies were told about one proposal, and what they said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    facts: Facts,
    approved: bool,
    word: Word,
}

impl Recorded {
    /// Reads the body of a `decided` record; nothing when the policies were not asked.
    ///
    /// # Errors
    /// When the body is not what this version writes.
    pub fn read(session: &SessionId, at: Time, body: &Value) -> Result<Option<Self>, Unreadable> {
        match said(body).filter(|_| body.get("facts").is_some()) {
            None => Ok(None),
            Some((approved, word)) => {
                Ok(Some(Self { facts: Facts::recorded(session, at, body)?, approved, word }))
            }
        }
    }

    /// What the policies were told.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What they said.
    pub fn word(&self) -> Word {
        self.word
    }
}

/// Whether somebody had said yes, and what the policies said: the last rule of that kind counts.
fn said(body: &Value) -> Option<(bool, Word)> {
    let checked = body.get("checked").and_then(Value::elements).unwrap_or_default();
    let mut pairs = checked.chunks_exact(2).rev();
    let is_policy = |rule: &Value| rule.is_keyword("policy") || rule.is_keyword("approval");
    let pair = pairs.find(|pair| is_policy(&pair[0]))?;
    let word = match pair[1].as_keyword()? {
        "allow" => Word::Allow,
        "ask" => Word::Ask,
        _ => Word::Deny,
    };
    Some((pair[0].is_keyword("approval"), word))
}

/// A set that is asked about many recorded decisions. What cannot make a difference to it is not
/// looked at, so most of them are the same to it and are judged once.
pub struct Rehearsal<'p> {
    set: &'p Policies,
    seen: BTreeMap<&'static str, Seen>,
    remembered: HashMap<(Facts, bool), Finding>,
}

impl<'p> Rehearsal<'p> {
    /// Begins one.
    pub fn new(set: &'p Policies) -> Self {
        let parts = set.parts.iter();
        let seen = parts.map(|(kind, part)| {
            let texts: Vec<String> = part.policies().map(ToString::to_string).collect();
            (*kind, Seen::by(&texts.join("\n")))
        });
        Self { set, seen: seen.collect(), remembered: HashMap::new() }
    }

    /// What the set says to the same question.
    pub fn find(&mut self, recorded: &Recorded) -> Finding {
        let mut facts = recorded.facts.clone();
        if let Some(seen) = self.seen.get(facts.kind) {
            seen.blind(&mut facts);
        }
        let key = (facts, recorded.approved);
        if let Some(found) = self.remembered.get(&key) {
            return found.clone();
        }
        let (facts, approved) = &key;
        let mut found =
            if *approved { self.set.find_approved(facts) } else { self.set.find(facts) };
        // Access and thought need no yes: they are granted or not.
        if found.word == Word::Ask && !is_act(facts.kind) {
            found.word = Word::Deny;
        }
        if self.remembered.len() < MAX_REMEMBERED {
            self.remembered.insert(key, found.clone());
        }
        found
    }
}

/// Which facts the policies of an action name. One that is not named cannot change what they say.
struct Seen {
    text: String,
    session: bool,
    hash: Named,
    now: Named,
    minute: bool,
    weekday: bool,
    session_hour: bool,
    asker_hour: bool,
    action_hour: bool,
}

/// How policies name a fact.
enum Named {
    Not,
    /// Only to compare it with these numbers, in order.
    WithNumbers(Vec<i64>),
    /// Only to compare it with whole texts.
    WithTexts,
    Somehow,
}

impl Seen {
    fn by(text: &str) -> Self {
        // A name may be written with escapes; whoever does so has everything looked at.
        let names = |word: &str| text.contains(word) || text.contains('\\');
        let or_not = |word: &str, how: Named| if names(word) { how } else { Named::Not };
        let is_text = !names(" like ");
        Self {
            session: names("Session::"),
            hash: or_not("hash", if is_text { Named::WithTexts } else { Named::Somehow }),
            now: or_not("now", compared(text, "now").map_or(Named::Somehow, Named::WithNumbers)),
            minute: names("minute"),
            weekday: names("weekday"),
            session_hour: names("session_hour"),
            asker_hour: names("asker_hour"),
            action_hour: names("action_hour"),
            text: text.to_owned(),
        }
    }

    /// Puts one value in the place of all that the policies cannot tell apart.
    fn blind(&self, facts: &mut Facts) {
        let forget = |is_seen: bool, number: &mut i64| {
            if !is_seen {
                *number = 0;
            }
        };
        if !self.session {
            facts.session = SessionId::parse(OTHER).expect("a session's name");
        }
        let is_named = match self.hash {
            Named::Not => false,
            Named::WithTexts => self.text.contains(&*facts.hash),
            Named::WithNumbers(_) | Named::Somehow => true,
        };
        if !is_named {
            facts.hash = Box::default();
        }
        match &self.now {
            Named::Not => facts.now = 0,
            Named::WithNumbers(numbers) => facts.now = class(facts.now, numbers),
            Named::WithTexts | Named::Somehow => {}
        }
        forget(self.minute, &mut facts.minute);
        forget(self.weekday, &mut facts.weekday);
        forget(self.session_hour, &mut facts.counts.session);
        forget(self.asker_hour, &mut facts.counts.asker);
        forget(self.action_hour, &mut facts.counts.action);
    }
}

/// The numbers that a fact is compared with, if that is all that is done with it: every mention reads
/// `context.NAME OPERATOR NUMBER` between brackets, `&&` and `||`.
fn compared(text: &str, name: &str) -> Option<Vec<i64>> {
    let mut numbers = Vec::new();
    for (at, _) in text.match_indices(name) {
        let before = text[..at].strip_suffix("context.")?.trim_end();
        let after = text[at + name.len()..].trim_start();
        let operand = ["<=", ">=", "==", "<", ">"].iter().find_map(|it| after.strip_prefix(it))?;
        let operand = operand.trim_start();
        let digits = operand.bytes().take_while(u8::is_ascii_digit).count();
        let behind = operand[digits..].trim_start();
        let is_alone =
            before.ends_with(['{', '(', '&', '|']) && behind.starts_with(['}', ')', '&', '|']);
        numbers.push(operand[..digits].parse().ok().filter(|_| is_alone)?);
    }
    numbers.sort_unstable();
    Some(numbers)
}

/// One number for all that compare alike with these numbers, which are in order.
fn class(number: i64, numbers: &[i64]) -> i64 {
    match numbers.iter().rev().find(|one| **one <= number) {
        Some(one) if *one == number => number,
        Some(below) => below.saturating_add(1),
        None => i64::MIN,
    }
}

#[cfg(test)]
mod tests;
