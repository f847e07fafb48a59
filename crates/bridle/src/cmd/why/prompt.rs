//! `bridle why --prompt`: what a thought was told, to whom it went, and what was left out.

use std::fmt::Write as _;

use bridle_history::record_source::kind_of;
use bridle_history::{HistoryError, Record, RecordHistory, RecordSelection};
use bridle_loop::RecordKind;
use bridle_models::MicroDollars;
use bridle_sexp::Value;
use bridle_shell::screen::{
    OutputScreen, TableColumn, TextTable, local_second, neutral_line, plain_json,
};
use bridle_wire::time::rfc3339;

use crate::args::guard::WhyArgs;
use crate::cmd::record::{failure, open, print};
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

/// Records of a session that are read at a time.
const PAGE_RECORDS: usize = 512;

/// Kinds of records that lead to a thought; the others come out of one.
const BEFORE: [RecordKind; 2] = [RecordKind::Signal, RecordKind::Think];

/// Prompt of one thought.
struct ThoughtPrompt {
    /// Number of the draft that it led to.
    record: u64,
    session: Box<str>,
    at: i64,
    /// Parts and sizes; nil when nothing was recorded of them, or it was forgotten.
    manifest: Value,
    /// Tokens and price, as far as they are known.
    usage: Value,
}

/// The prompt behind a record: of what came of a thought the one before it, of what led to one the next.
fn find(history: &RecordHistory, number: u64) -> Result<Option<ThoughtPrompt>, HistoryError> {
    let record = history.why(number)?.record;
    let is_before = kind_of(&record).is_some_and(|kind| BEFORE.contains(&kind));
    let to = (!is_before).then_some(number);
    let wanted = RecordSelection { session: Some(record.session.clone()), to };
    let mut after = if is_before { number } else { 0 };
    let mut last = None;
    loop {
        let page = history.page(after, &wanted, PAGE_RECORDS)?;
        let Some(newest) = page.last() else { return Ok(last) };
        after = newest.number.0;
        let mut drafts = page.iter().filter(|it| kind_of(it) == Some(RecordKind::Drafted));
        match is_before {
            true => {
                if let Some(draft) = drafts.next() {
                    return Ok(Some(prompt(draft)));
                }
            }
            false => last = drafts.next_back().map(prompt).or(last),
        }
    }
}

fn prompt(draft: &Record) -> ThoughtPrompt {
    let text = draft.body.text().unwrap_or_default();
    let body = bridle_loop::reader().read_one(text).map(|tree| tree.root().to_value());
    let body = body.unwrap_or(Value::Nil);
    let part = |key| body.get(key).cloned().unwrap_or(Value::Nil);
    ThoughtPrompt {
        record: draft.number.0,
        session: draft.session.clone(),
        at: draft.at,
        manifest: part("manifest"),
        usage: part("usage"),
    }
}

pub(super) fn run(args: &WhyArgs) -> Result<BridleExit, CommandFailure> {
    let history = open(&args.state)?;
    let found = find(&history, args.record).map_err(|error| failure(&error))?;
    let Some(prompt) = found.filter(|found| !found.manifest.is_nil()) else {
        let what = format!("no prompt of a model is recorded at record {}", args.record);
        return Err(CommandFailure::new(BridleExit::NoInput, what).hint(
            "choose a `drafted` or `say` record from `bridle log`; other thinkers have no prompt",
        ));
    };
    print(&if args.json { as_json(&prompt) } else { told(&prompt) })
}

/// A text of the manifest.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    let found = value.get(key);
    found.and_then(|it| it.as_str().or_else(|| it.as_keyword())).unwrap_or_default()
}

/// A number of the manifest, or that it is not known.
fn number(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_i64).map_or_else(|| "?".to_owned(), |it| it.to_string())
}

fn told(prompt: &ThoughtPrompt) -> String {
    let ThoughtPrompt { record, session, at, manifest, usage } = prompt;
    let mut out =
        format!("record {record}, session {}, {}\n", neutral_line(session), local_second(*at));
    let (provider, model) = (text(manifest, "provider"), text(manifest, "model"));
    let cost = usage.get("cost-microdollars").and_then(Value::as_i64);
    let cost = cost.and_then(|cost| u64::try_from(cost).ok());
    let cost = cost.map_or_else(|| "unknown".to_owned(), |cost| MicroDollars(cost).to_string());
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "to {} ({}, {}), because {}\n{} bytes, about {} tokens; counted {} + {}, price {cost}\n\n",
        neutral_line(&format!("{provider}/{model}")),
        text(manifest, "reach"),
        text(manifest, "codec"),
        neutral_line(text(manifest, "because")),
        number(manifest, "bytes"),
        number(manifest, "tokens"),
        number(usage, "input"),
        number(usage, "output"),
    );
    out.push_str(&parts(manifest));
    if let Some(more) = manifest.get("more-parts").and_then(Value::as_i64) {
        let _ = writeln!(out, "and {more} more parts");
    }
    for cited in manifest.get("citations").and_then(Value::elements).unwrap_or_default() {
        let is_given = cited.get("given").is_some_and(|given| !given.is_nil());
        let mark = if is_given { "" } else { ", which was not in the prompt" };
        let _ = writeln!(out, "cites {}{mark}", neutral_line(text(cited, "target")));
    }
    out
}

/// The parts of a prompt as a table.
pub(crate) fn parts(manifest: &Value) -> String {
    let mut table = TextTable::new([
        TableColumn::text("PART"),
        TableColumn::text("NAME").shrinks(),
        TableColumn::number("BYTES"),
        TableColumn::number("TOKENS").optional(),
        TableColumn::text("PRIVACY").optional(),
        TableColumn::text("LEFT OUT"),
    ]);
    for part in manifest.get("parts").and_then(Value::elements).unwrap_or_default() {
        table.push_row([
            text(part, "source"),
            text(part, "name"),
            &number(part, "bytes"),
            &number(part, "tokens"),
            text(part, "privacy"),
            text(part, "left-out"),
        ]);
    }
    table.render(OutputScreen::of_stdout(), "")
}

fn as_json(prompt: &ThoughtPrompt) -> String {
    let line = object(&[
        ("record", prompt.record.to_string()),
        ("session", quoted(&prompt.session)),
        ("at", quoted(&rfc3339(prompt.at))),
        ("manifest", plain_json(&prompt.manifest)),
        ("usage", plain_json(&prompt.usage)),
    ]);
    format!("{line}\n")
}
