//! A signal as a skill sees it, and the skill that it wakes.

use std::sync::Arc;

use bridle_loop::{SensorClass, SignalContext, SignalKind};
use bridle_sexp::Value;
use bridle_skill::{PartKind, Skill, SkillCall, SkillStimulus};

use crate::registry::SkillTable;

/// Questions and answers before that a skill is given.
const MAX_PAST_EXCHANGES: usize = 8;

/// Words behind a slash that are the daemon's own.
const DAEMON_WORDS: [&str; 5] = ["help", "?", "status", "sessions", "why"];

/// The skill that a signal wakes, and the call of it.
pub(crate) fn awakened(
    table: &SkillTable,
    context: &SignalContext,
) -> Option<(Arc<Skill>, SkillCall)> {
    let signal = &context.signal;
    // A skill acts in the owner's name; nobody else wakes one.
    if signal.kind != SignalKind::Event || !signal.from.owner {
        return None;
    }
    if let Some((name, text)) = command(&signal.payload) {
        if DAEMON_WORDS.contains(&name.as_str()) {
            return None;
        }
        let mut skills = table.skills();
        let found = skills.find(|entry| entry.skill.has(PartKind::Command, &name));
        if let Some(entry) = found {
            let context = context_value(context);
            return Some((Arc::clone(&entry.skill), SkillCall::Command { name, text, context }));
        }
    }
    let stimulus = SignalStimulus::of(&signal.payload)?;
    let entry = table
        .skills()
        .find(|entry| entry.skill.has(PartKind::Stage, "think") && stimulus.wakes(&entry.skill))?;
    let call = SkillCall::Think { context: context_value(context) };
    Some((Arc::clone(&entry.skill), call))
}

/// Signal with all that triggers look at.
pub(crate) struct SignalStimulus<'s> {
    payload: &'s Value,
    sensor: &'s str,
    tags: Vec<String>,
}

impl<'s> SignalStimulus<'s> {
    /// Takes the payload of a signal; `None` when it names no sensor.
    pub(crate) fn of(payload: &'s Value) -> Option<Self> {
        let sensor = payload.get("sensor").and_then(Value::as_keyword)?;
        Some(Self { payload, sensor, tags: tags(payload) })
    }

    /// Whether a trigger of the skill fits.
    pub(crate) fn wakes(&self, skill: &Skill) -> bool {
        let manifest = skill.manifest();
        let word = |key: &str| self.payload.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_scheduled = self.sensor == SCHEDULE;
        // A schedule wakes the skill that it belongs to.
        if is_scheduled && word("skill") != manifest.id.as_str() {
            return false;
        }
        let task = |key: &str| self.payload.get("task")?.get(key)?.as_str();
        let stimulus = SkillStimulus {
            sensor: self.sensor,
            text: self.payload.get("text").and_then(Value::as_str),
            plugin: task("plugin").unwrap_or_default(),
            procedure: task("sop").unwrap_or_default(),
            tags: &self.tags,
            schedule: if is_scheduled { word("schedule") } else { "" },
        };
        manifest.triggers.iter().any(|trigger| trigger.fits(&stimulus))
    }
}

/// Sensor of signals that schedules of skills send.
pub const SCHEDULE: &str = "skill-schedule";

/// Tags of a signal: its `:tags`, and `#tag` in its text.
fn tags(payload: &Value) -> Vec<String> {
    let named = payload.get("tags").and_then(Value::elements).unwrap_or_default();
    let name = |value: &Value| value.as_str().or_else(|| value.as_keyword()).map(str::to_lowercase);
    let text = payload.get("text").and_then(Value::as_str).unwrap_or_default();
    let is_tag = |c: char| c.is_alphanumeric() || "_@%-".contains(c);
    let written = text.split_whitespace().filter_map(|word| word.strip_prefix('#'));
    let written = written.map(|word| word.trim_end_matches(|c| !is_tag(c)).to_lowercase());
    let all = named.iter().filter_map(name).chain(written.filter(|tag| !tag.is_empty()));
    all.take(MAX_TAGS).collect()
}

/// Tags of one signal that triggers look at.
const MAX_TAGS: usize = 64;

/// Name and text of a command: `/NAME TEXT` in a prompt, or a command of a shell.
fn command(payload: &Value) -> Option<(String, String)> {
    let sensor = payload.get("sensor")?;
    let word = |value: &Value| {
        let word = value.as_keyword().or_else(|| value.as_str()).or_else(|| value.as_symbol());
        word.map(|word| word.trim_start_matches('/').to_ascii_lowercase())
    };
    match SensorClass::matching(|name| sensor.is_keyword(name)) {
        SensorClass::Prompt => {
            let text = payload.get("text")?.as_str()?.trim();
            let rest = text.strip_prefix('/')?;
            let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            Some((name.to_ascii_lowercase(), text.trim().to_owned()))
        }
        SensorClass::Command => {
            let text = payload.get("text").and_then(Value::as_str).unwrap_or_default();
            Some((word(payload.get("command")?)?, text.trim().to_owned()))
        }
        _ => None,
    }
}

/// Knowledge that a skill gets beside the call.
pub(crate) fn context_value(context: &SignalContext) -> Value {
    let signal = &context.signal;
    let payload = &signal.payload;
    let past = context.history.iter().rev().take(MAX_PAST_EXCHANGES);
    let mut past: Vec<Value> = past
        .map(|exchange| {
            let (asked, said) = (&exchange.asked, &exchange.said);
            let pair = [("asked", Value::str(asked.clone())), ("said", Value::str(said.clone()))];
            Value::plist(pair)
        })
        .collect();
    past.reverse();
    let number = i64::try_from(context.turn.0).unwrap_or(i64::MAX);
    let zone = signal.from.time_zone.clone();
    Value::plist([
        ("sensor", payload.get("sensor").cloned().unwrap_or(Value::Nil)),
        ("text", payload.get("text").cloned().unwrap_or(Value::Nil)),
        ("session", Value::str(context.session.as_str())),
        ("turn", Value::int(number)),
        ("signal", payload.clone()),
        ("history", Value::list(past)),
        ("focus", context.focus.as_ref().map_or(Value::Nil, |focus| (**focus).clone())),
        ("time-zone", zone.map_or(Value::Nil, Value::str)),
    ])
}
