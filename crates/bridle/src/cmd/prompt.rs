//! `bridle prompt preview`: what a model would be told, to whom it would go and what it may cost, before it is sent.

use std::fmt::Write as _;

use bridle_models::MicroDollars;
use bridle_sexp::Value;
use bridle_shell::screen::{neutral_line, plain_json};
use bridle_shell::system::{self, SystemReply, SystemRequest};

use super::output::print;
use super::session::refused;
use super::talk::find;
use super::why::prompt_parts;
use crate::args::model::{PromptCommand, PromptPreviewArgs};
use crate::exit::{BridleExit, CommandFailure};

/// Kind of shell that `bridle ask` is.
const ASK_SHELL: &str = "command_shell";

pub(crate) fn run(verb: PromptCommand) -> Result<BridleExit, CommandFailure> {
    let PromptCommand::Preview(args) = verb;
    preview(args)
}

fn preview(args: PromptPreviewArgs) -> Result<BridleExit, CommandFailure> {
    let text = args.words.join(" ");
    if text.trim().is_empty() {
        return Err(CommandFailure::new(BridleExit::Usage, "no prompt to show")
            .hint("bridle prompt preview what did I promise this week?"));
    }
    let mut pairs = vec![
        ("action", Value::keyword("prompt-preview")),
        ("text", Value::str(text)),
        ("shell", Value::keyword(ASK_SHELL)),
        ("body", Value::bool(args.body || args.json)),
    ];
    let named = |key, text: &Option<String>| Some((key, Value::str(text.as_deref()?)));
    pairs.extend(named("session", &args.session));
    pairs.extend(named("model", &args.model));
    pairs.extend(args.tier.as_deref().map(|tier| ("tier", Value::keyword(tier))));
    let request = SystemRequest::Provider(Value::plist(pairs));
    let told = match system::ask(&find(args.peer)?, &request)? {
        SystemReply::Done(told) => told,
        SystemReply::Not(answer) => return Err(refused(&answer)),
    };
    if args.json {
        let skipped = ["status", "action"];
        let pairs = told.pairs().into_iter().flatten();
        let kept = pairs.filter(|(key, _)| !skipped.iter().any(|name| key.is_keyword(name)));
        let kept = kept.flat_map(|(key, value)| [key.clone(), value.clone()]);
        return print(&(plain_json(&Value::list(kept)) + "\n"));
    }
    if args.body {
        let body = told.get("body").and_then(Value::as_str).unwrap_or_default();
        return print(&format!("{}\n", neutral_line(body)));
    }
    print(&in_words(&told))
}

fn in_words(told: &Value) -> String {
    let text = |value: &Value, key: &str| {
        let found = value.get(key);
        let found = found.and_then(|it| it.as_str().or_else(|| it.as_keyword()));
        neutral_line(found.unwrap_or_default()).into_owned()
    };
    let count = |key: &str| told.get(key).and_then(Value::as_i64);
    let cost = |key: &str| {
        let known = count(key).and_then(|cost| u64::try_from(cost).ok());
        known.map_or_else(|| "unknown".to_owned(), |cost| MicroDollars(cost).to_string())
    };
    let nothing = Value::Nil;
    let manifest = told.get("manifest").unwrap_or(&nothing);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "to {} at {} ({}), because {}\n{} bytes, about {} tokens; the prompt costs {}, all of it at most {}\n\
         nothing was sent\n\n",
        text(told, "model"),
        text(told, "address"),
        text(told, "reach"),
        text(manifest, "because"),
        manifest.get("bytes").and_then(Value::as_i64).unwrap_or_default(),
        count("tokens").unwrap_or_default(),
        cost("prompt-microdollars"),
        cost("most-microdollars"),
    );
    out.push_str(&prompt_parts(manifest));
    out
}
