//! What must hold when a schedule is over: compares what an observer hears of each session from its
//! beginning with what every shell was told, and with the lines that effects left outside.

use std::collections::BTreeMap;

use bridle_sexp::Value;

use super::shell::{ChaosShell, ShellSaying, number};

/// Counts of an audit.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RecordAudit {
    /// Numbered events of all sessions.
    pub(crate) events: u64,
    /// Things said, each acknowledged and answered once.
    pub(crate) sayings: u64,
    /// Counted effects, and how many of them have an unknown outcome.
    pub(crate) effects: u64,
    pub(crate) unknown: u64,
    /// Requests that a shell carried out.
    pub(crate) rings: u64,
}

/// Checks everything; the first thing that does not hold is the error.
pub(crate) fn check(
    truths: &[ChaosShell],
    shells: &[ChaosShell],
    tally: &str,
) -> Result<RecordAudit, String> {
    let mut audit = RecordAudit::default();
    let mut lines = count_lines(tally);
    for truth in truths {
        let events = &truth.notes.events;
        let own: Vec<&ChaosShell> =
            shells.iter().filter(|shell| shell.session == truth.session).collect();
        let in_session = |what: String| format!("{}: {what}", truth.session);
        check_dense(events, truth.notes.head).map_err(in_session)?;
        for shell in &own {
            check_heard(events, shell).map_err(in_session)?;
            for saying in &shell.sayings {
                check_saying(events, saying).map_err(in_session)?;
                audit.sayings += 1;
            }
        }
        check_answers(events).map_err(in_session)?;
        check_effects(events, &own, &mut lines, &mut audit).map_err(in_session)?;
        audit.events += events.len() as u64;
    }
    match lines.first_key_value() {
        Some((key, count)) => Err(format!("effect `{key}` ran {count} times and is not recorded")),
        None => Ok(audit),
    }
}

type Events = BTreeMap<u64, Value>;

/// Numbers from 1 to the last, none missing.
fn check_dense(events: &Events, head: u64) -> Result<(), String> {
    match (1..=head).find(|seq| !events.contains_key(seq)) {
        Some(missing) => Err(format!("number {missing} of {head} is missing")),
        None => Ok(()),
    }
}

/// Checks that all shells heard the same under each number.
fn check_heard(events: &Events, shell: &ChaosShell) -> Result<(), String> {
    for (seq, heard) in &shell.notes.events {
        let Some(event) = events.get(seq) else {
            // What came after the auditor looked.
            continue;
        };
        let is_request = heard.get("type").is_some_and(|kind| kind.is_keyword("REQUEST"));
        let same = if is_request {
            let asked = event.get("payload").and_then(|payload| payload.get("effect"));
            asked == heard.get("id")
        } else {
            without_action(event) == without_action(heard)
        };
        if !same {
            return Err(format!("{} heard number {seq} as {heard}, it is {event}", shell.name));
        }
    }
    Ok(())
}

/// The payload without `:action :answer`, which an error gets when it is shown to somebody else: an event
/// needs an action or a sensor.
fn without_action(message: &Value) -> Vec<(&Value, &Value)> {
    let pairs = message.get("payload").and_then(Value::pairs).into_iter().flatten();
    pairs.filter(|(key, value)| !(key.is_keyword("action") && value.is_keyword("answer"))).collect()
}

/// Acknowledged: in the record, once, under the number of its receipt. Answered once.
fn check_saying(events: &Events, saying: &ShellSaying) -> Result<(), String> {
    let text = |event: &Value| event.get("payload")?.get("text")?.as_str().map(str::to_owned);
    let places: Vec<u64> = events
        .iter()
        .filter(|(_, event)| text(event).as_deref() == Some(&saying.text))
        .map(|(seq, _)| *seq)
        .collect();
    let Some(seq) = saying.seq else {
        return Err(format!("`{}` was never acknowledged", saying.text));
    };
    if places != [seq] {
        return Err(format!("`{}` was admitted as {seq}, it is in {places:?}", saying.text));
    }
    let Some((answer, _)) = saying.answer else {
        return Err(format!("`{}` ({seq}) was never answered", saying.text));
    };
    let answers = answers_to(events, seq);
    if answers != [answer] {
        return Err(format!(
            "`{}` ({seq}) was answered in {answer}, it is {answers:?}",
            saying.text
        ));
    }
    Ok(())
}

/// Every signal has exactly one answer.
fn check_answers(events: &Events) -> Result<(), String> {
    for (seq, event) in events {
        let is_event = event.get("payload").is_some_and(|payload| payload.get("sensor").is_some());
        let is_request = event.get("meta").is_some_and(|meta| meta.get("type").is_some());
        let is_signal = is_event || is_request;
        let answers = answers_to(events, *seq);
        if is_signal && answers.len() != 1 {
            return Err(format!("number {seq} has the answers {answers:?}: {event}"));
        }
    }
    Ok(())
}

fn answers_to(events: &Events, seq: u64) -> Vec<u64> {
    let answers = |event: &Value| number(event.get("meta").and_then(|meta| meta.get("answers")));
    let own = events.iter().filter(|(_, event)| answers(event) == Some(seq));
    own.map(|(seq, _)| *seq).collect()
}

/// Every effect was asked for once and has one outcome; `:done` means that it was executed once,
/// `:unknown-outcome` at most once, everything else not at all.
fn check_effects(
    events: &Events,
    shells: &[&ChaosShell],
    lines: &mut BTreeMap<String, u64>,
    audit: &mut RecordAudit,
) -> Result<(), String> {
    let field = |event: &Value, key: &str| event.get("payload").and_then(|it| it.get(key)).cloned();
    let is = |event: &Value, name| field(event, "action").is_some_and(|it| it.is_keyword(name));
    let mut outcomes: BTreeMap<String, Value> = BTreeMap::new();
    for event in events.values().filter(|event| is(event, "outcome")) {
        let effect = effect_of(event)?;
        let outcome = field(event, "outcome").unwrap_or(Value::Nil);
        if let Some(before) = outcomes.insert(effect.clone(), outcome) {
            return Err(format!("`{effect}` has a second outcome, after {before}: {event}"));
        }
    }
    for event in events.values().filter(|event| is(event, "asked")) {
        let effect = effect_of(event)?;
        let Some(outcome) = outcomes.remove(&effect) else {
            return Err(format!("`{effect}` has no outcome: {event}"));
        };
        let rung = shells.iter().filter(|it| it.notes.rings.contains(&effect)).count() as u64;
        let ran = lines.remove(&effect).unwrap_or_default() + rung;
        let right = match ran {
            0 => !outcome.is_keyword("done"),
            1 => outcome.is_keyword("done") || outcome.is_keyword("unknown-outcome"),
            _ => false,
        };
        // A shell may have rung before its request expired.
        let late = rung == 1 && outcome.is_keyword("expired");
        if !right && !late {
            return Err(format!("`{effect}` ran {ran} times, its outcome is {outcome}: {event}"));
        }
        audit.effects += 1;
        audit.rings += rung;
        audit.unknown += u64::from(outcome.is_keyword("unknown-outcome"));
    }
    match outcomes.first_key_value() {
        Some((effect, _)) => Err(format!("`{effect}` has an outcome and was never asked for")),
        None => Ok(()),
    }
}

fn effect_of(event: &Value) -> Result<String, String> {
    let effect = event.get("payload").and_then(|payload| payload.get("effect"));
    effect.and_then(Value::as_str).map(str::to_owned).ok_or_else(|| format!("no effect: {event}"))
}

fn count_lines(tally: &str) -> BTreeMap<String, u64> {
    let mut lines = BTreeMap::new();
    for line in tally.lines() {
        *lines.entry(line.to_owned()).or_default() += 1;
    }
    lines
}

#[cfg(test)]
mod tests;
