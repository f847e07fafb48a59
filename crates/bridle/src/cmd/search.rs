//! `bridle search`: words, or a whole question, over the user's notes. Asks the daemon, or the index where none runs.

use std::fmt::Write as _;

use bridle_memex::looks_like_question;
use bridle_sexp::Value;
use bridle_shell::screen::{neutral_line, plain_json};

use super::memex_source::{MemexSource, wall_now};
use super::output::print;
use super::recall::line;
use crate::args::notes::SearchArgs;
use crate::exit::{BridleExit, CommandFailure};

pub(crate) fn run(args: SearchArgs) -> Result<BridleExit, CommandFailure> {
    let text = args.words.join(" ");
    if text.trim().is_empty() {
        return Err(CommandFailure::new(BridleExit::Usage, "no words to search for")
            .hint("bridle search roof ladder"));
    }
    let is_question = args.question || (!args.all_words && looks_like_question(&text));
    let mode = if is_question { "question" } else { "words" };
    let ask = Value::plist([
        ("action", Value::keyword("query")),
        ("text", Value::str(text.as_str())),
        ("mode", Value::keyword(mode)),
        ("limit", Value::int(i64::from(args.limit.max(1)))),
        ("why", Value::bool(args.why || args.json)),
        ("now", Value::str(wall_now().to_string())),
    ]);
    let told = MemexSource::open(args.peer, args.state)?.ask(ask)?;
    if args.json {
        return print(&format!("{}\n", as_json(&told, mode)));
    }
    let mut out = String::new();
    let found = told.get("objects").and_then(Value::elements).unwrap_or_default();
    for object in found {
        out.push_str(&line(object));
        if args.why {
            push_reasons(object, is_question, &mut out);
        }
    }
    if found.is_empty() {
        out.push_str("nothing found\n");
    }
    let dates = told.get("dates").and_then(Value::elements).unwrap_or_default();
    if let [from, to] = dates {
        let day = |value: &Value| neutral_line(value.as_str().unwrap_or_default()).into_owned();
        let _ = writeln!(out, "days in the question: {} to {}", day(from), day(to));
    }
    out.push_str(match is_question {
        true => "searched as a question: any of the words, best first; all of them: --words\n",
        false => "searched as words: all of them; as a question: --question\n",
    });
    if told.get("next").is_some() {
        out.push_str("more results: --limit COUNT\n");
    }
    print(&out)
}

/// The answer with its mode, which an answer for words does not tell.
fn as_json(told: &Value, mode: &str) -> String {
    let is_other = |key: &Value| !key.is_keyword("mode");
    let pairs = told.pairs().into_iter().flatten().filter(|(key, _)| is_other(key));
    let head = [Value::keyword("mode"), Value::keyword(mode)];
    let rest = pairs.flat_map(|(key, value)| [key.clone(), value.clone()]);
    plain_json(&Value::list(head.into_iter().chain(rest)))
}

/// Reasons why an object was found: the words of the question, and where each stands.
fn push_reasons(object: &Value, is_question: bool, out: &mut String) {
    let reasons = object.get("why").and_then(Value::elements).unwrap_or_default();
    for reason in reasons {
        let text = |key: &str| reason.get(key).and_then(Value::as_str).unwrap_or_default();
        let place = reason.get("place").and_then(Value::as_keyword).unwrap_or_default();
        let place = match place {
            "title" => "in the title",
            "text" => "in the text",
            "tag" => "among the tags",
            "date" => "a date of it",
            "near" => "in a heading beside it",
            "above" => "in a heading above it",
            _ => "elsewhere",
        };
        let _ = writeln!(out, "    because `{}` is {place}", neutral_line(text("term")));
    }
    if reasons.is_empty() && !is_question {
        out.push_str("    because all words are in it\n");
    }
}
