//! `bridle why` and `bridle effects`: decisions and deeds, read from the record without a daemon.

mod prompt;

use std::fmt::Write as _;

use bridle_history::RecordHistory;
use bridle_history::ledger::{EffectEntry, RecordMoment};
use bridle_history::record_source::kind_of;
use bridle_history::why::{AnswerReport, DecisionReport, WhyReport};
use bridle_loop::RecordKind;
use bridle_sexp::Value;
use bridle_shell::screen::{local_second, neutral_line, plain_json};
use bridle_wire::time::rfc3339;

use super::policy::{describe, policy_json};
use super::record::{failure, open, print};
use crate::args::guard as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(crate) use prompt::parts as prompt_parts;

pub(crate) fn why(args: &args::WhyArgs) -> Result<BridleExit, CommandFailure> {
    if args.prompt {
        return prompt::run(args);
    }
    let history = open(&args.state)?;
    let why = history.why(args.record).map_err(|error| failure(&error))?;
    let effect = effect_of(&history, &why)?;
    if why.decisions.is_empty() && why.answers.is_empty() {
        let (number, kind) = (args.record, &why.record.kind);
        return Err(CommandFailure::new(
            BridleExit::NoInput,
            format!("no decision led to record {number}, a `{kind}`"),
        )
        .hint("choose a `decided`, `act`, `ask`, `acted`, `answered` or `say` record from `bridle log`"));
    }
    print(&match args.json {
        true => why_json(&why, effect.as_ref()),
        false => why_text(&why, effect.as_ref()),
    })
}

/// The effect whose intent or outcome was asked about.
fn effect_of(
    history: &RecordHistory,
    why: &WhyReport,
) -> Result<Option<EffectEntry>, CommandFailure> {
    let kinds = [RecordKind::Act, RecordKind::Acted, RecordKind::Settled];
    if !kind_of(&why.record).is_some_and(|kind| kinds.contains(&kind)) {
        return Ok(None);
    }
    let effects = history.effects(Some(&why.record.session)).map_err(|error| failure(&error))?;
    let number = why.record.number.0;
    let is_it = |entry: &EffectEntry| {
        entry.intent.record == number || entry.ended.is_some_and(|ended| ended.record == number)
    };
    Ok(effects.into_iter().find(is_it))
}

fn why_text(why: &WhyReport, effect: Option<&EffectEntry>) -> String {
    let record = &why.record;
    let mut text = format!(
        "record {}, {} of session {}, {}, by {}\n\n",
        record.number,
        record.kind,
        record.session,
        local_second(record.at),
        record.principal
    );
    let mut answers = why.answers.iter().peekable();
    for decided in &why.decisions {
        while let Some(answer) = answers.next_if(|answer| answer.record < decided.record) {
            answered(answer, &mut text);
        }
        decision(decided, &mut text);
    }
    answers.for_each(|answer| answered(answer, &mut text));
    if let Some(EffectEntry { outcome: Some(outcome), ended: Some(ended), reason, .. }) = effect {
        let reason = reason.as_deref().map(|it| format!(": {}", neutral_line(it)));
        let reason = reason.unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "record {}: outcome `{outcome}`{reason}", ended.record);
    }
    text
}

fn answered(answer: &AnswerReport, text: &mut String) {
    let AnswerReport { record, at, principal, answer } = answer;
    // Writing to a string cannot fail.
    let _ =
        writeln!(text, "record {record}, {}: {principal} answered {answer}\n", local_second(*at));
}

fn decision(decided: &DecisionReport, text: &mut String) {
    let body = &decided.body;
    if body.is_nil() {
        let _ = writeln!(text, "record {}: forgotten decision\n", decided.record);
        return;
    }
    let asker = body.get("facts").and_then(|facts| facts.get("asker")?.as_str());
    let _ = writeln!(
        text,
        "record {}, {}: {}, {} to {}, proposed by {} for {}",
        decided.record,
        local_second(decided.at),
        word(body, "verdict"),
        word(body, "action"),
        word(body, "target"),
        word(body, "by"),
        asker.unwrap_or("an unknown principal")
    );
    let reason = body.get("reason").and_then(Value::as_str).unwrap_or_default();
    let _ = writeln!(text, "  reason: {reason} (rule {})", word(body, "rule"));
    for (name, key) in [("what", "payload"), ("facts", "facts"), ("dropped", "dropped")] {
        if let Some(value) = body.get(key) {
            let _ = writeln!(text, "  {name}: {}", one_line(value));
        }
    }
    origins(body, text);
    let _ = writeln!(text, "  policies: {}\n", decided.hash);
    for cited in &decided.policies {
        match &cited.policy {
            Some(policy) => describe(policy, text),
            None => {
                let _ = writeln!(text, "{}: its text is not in the record\n", cited.id);
            }
        }
    }
}

/// Appends the origin of each value of the act, a line each.
fn origins(body: &Value, text: &mut String) {
    let known = body.get("facts").and_then(|facts| facts.get("provenance")?.get("values"));
    for value in known.and_then(Value::elements).unwrap_or_default() {
        let said = value.get("value").and_then(Value::as_str).unwrap_or_default();
        let sources = value.get("sources").and_then(Value::elements).unwrap_or_default();
        let sources: Vec<&str> = sources.iter().filter_map(Value::as_keyword).collect();
        let sources =
            if sources.is_empty() { "the model alone".into() } else { sources.join(", ") };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {} {}: from {sources}", word(value, "kind"), neutral_line(said));
    }
}

fn why_json(why: &WhyReport, effect: Option<&EffectEntry>) -> String {
    let decisions: Vec<String> = why
        .decisions
        .iter()
        .map(|decided| {
            let policies: Vec<String> = decided
                .policies
                .iter()
                .map(|cited| match &cited.policy {
                    Some(policy) => policy_json(policy),
                    None => object(&[("id", quoted(&cited.id))]),
                })
                .collect();
            object(&[
                ("record", decided.record.to_string()),
                ("at", quoted(&rfc3339(decided.at))),
                ("body", as_json(&decided.body)),
                ("hash", quoted(&decided.hash)),
                ("policies", format!("[{}]", policies.join(","))),
            ])
        })
        .collect();
    let answers: Vec<String> = why
        .answers
        .iter()
        .map(|answer| {
            object(&[
                ("record", answer.record.to_string()),
                ("at", quoted(&rfc3339(answer.at))),
                ("principal", quoted(&answer.principal)),
                ("answer", quoted(&answer.answer)),
            ])
        })
        .collect();
    let object = object(&[
        ("record", why.record.number.to_string()),
        ("kind", quoted(&why.record.kind)),
        ("session", quoted(&why.record.session)),
        ("decisions", format!("[{}]", decisions.join(","))),
        ("answers", format!("[{}]", answers.join(","))),
        ("effect", effect.map_or("null".to_owned(), entry_json)),
    ]);
    format!("{object}\n")
}

pub(crate) fn effects(args: &args::EffectsArgs) -> Result<BridleExit, CommandFailure> {
    let history = open(&args.state)?;
    let entries = history.effects(args.session.as_deref()).map_err(|error| failure(&error))?;
    let wanted: Vec<&EffectEntry> =
        entries.iter().filter(|it| !args.open || it.is_open()).collect();
    let mut text = String::new();
    for entry in &wanted {
        text.push_str(&if args.json { entry_json(entry) } else { entry_text(entry) });
        text.push('\n');
    }
    if !args.json && wanted.is_empty() {
        let found = if args.open { "no open effects" } else { "no effects yet" };
        let _ = writeln!(text, "{found}");
    }
    let unknown = wanted.iter().filter(|entry| entry.is_unknown()).count();
    if !args.json && unknown > 0 {
        let _ = writeln!(text, "{unknown} with an unknown outcome, marked with !");
    }
    print(&text)
}

fn entry_text(entry: &EffectEntry) -> String {
    let mark = if entry.is_unknown() { '!' } else { ' ' };
    let effect = entry.effect.map_or("?".to_owned(), |effect| effect.to_string());
    let moment =
        |moment: &RecordMoment| format!("record {} {}", moment.record, local_second(moment.at));
    let mut text = format!(
        "{mark} {}-{effect}  {} to {}  {}\n    intent  {}",
        entry.session,
        entry.action,
        entry.target,
        entry.outcome.as_deref().unwrap_or("open"),
        moment(&entry.intent)
    );
    if let Some(started) = &entry.started {
        let _ = write!(text, "\n    started {}", moment(started));
    }
    if let (Some(ended), Some(by)) = (&entry.ended, &entry.by) {
        let _ = write!(text, "\n    outcome {} by {by}", moment(ended));
    }
    if let Some(reason) = &entry.reason {
        let _ = write!(text, "\n    reason  {}", neutral_line(reason));
    }
    text
}

fn entry_json(entry: &EffectEntry) -> String {
    let moment = |moment: Option<&RecordMoment>| match moment {
        None => "null".to_owned(),
        Some(moment) => {
            object(&[("record", moment.record.to_string()), ("at", quoted(&rfc3339(moment.at)))])
        }
    };
    let text = |text: Option<&str>| text.map_or("null".to_owned(), quoted);
    object(&[
        ("session", quoted(&entry.session)),
        ("effect", entry.effect.map_or("null".to_owned(), |effect| effect.to_string())),
        ("action", quoted(&entry.action)),
        ("target", quoted(&entry.target)),
        ("payload", as_json(&entry.payload)),
        ("outcome", text(entry.outcome.as_deref())),
        ("intent", moment(Some(&entry.intent))),
        ("started", moment(entry.started.as_ref())),
        ("ended", moment(entry.ended.as_ref())),
        ("by", text(entry.by.as_deref())),
        ("reason", text(entry.reason.as_deref())),
    ])
}

fn as_json(value: &Value) -> String {
    plain_json(value)
}

/// A value on one line, whatever its strings hold.
pub(super) fn one_line(value: &Value) -> String {
    let mut out = String::new();
    bridle_sexp::print(value, bridle_sexp::Dialect::Emacs, &mut out);
    out
}

fn word<'v>(body: &'v Value, key: &str) -> &'v str {
    body.get(key).and_then(Value::as_keyword).unwrap_or("nothing")
}
