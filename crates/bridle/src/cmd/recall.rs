//! The questions of `bridle memory`: asking a running daemon what the user's Org files hold.

use std::fmt::Write as _;
use std::io::Write as _;

use bridle_memex::suggestion::count_slips;
use bridle_sexp::Value;
use bridle_shell::client::{DaemonTarget, ErrorAnswer};
use bridle_shell::screen::{neutral_block, plain_json};
use bridle_shell::system::{SystemReply, ask_context};

use super::memex_source::wait_for_index;
use super::record::print;
use super::session::refused;
use super::talk::find;
use crate::args::{PeerArgs, recall as args};
use crate::exit::{BridleExit, CommandFailure};

pub(crate) fn run(verb: args::RecallCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        args::RecallCommand::Query(args) => query(*args),
        args::RecallCommand::Outline(args) => outline(args),
        args::RecallCommand::Focus(args) => focus(args),
        args::RecallCommand::Get(args) => get(args),
        args::RecallCommand::Status(args) => status(args),
    }
}

fn query(args: args::QueryArgs) -> Result<BridleExit, CommandFailure> {
    let mut ask = QueryBuilder::new("query");
    let words = args.words.join(" ");
    ask.text("text", Some(words).filter(|words| !words.trim().is_empty()));
    ask.texts("tags", args.tag);
    ask.texts("without", args.without);
    ask.texts("todo", args.todo);
    ask.word("state", args.state);
    ask.text("priority", args.priority);
    let properties = args.property.iter().map(|property| match property.split_once('=') {
        Some((name, value)) => Value::list([Value::str(name), Value::str(value)]),
        None => Value::list([Value::str(property.as_str())]),
    });
    ask.list("properties", properties.collect());
    ask.text("from", args.from);
    ask.text("to", args.to);
    ask.word("type", args.kind);
    ask.word("scope", args.scope);
    ask.text("under", args.under);
    paged(ask, args.paging)
}

fn outline(args: args::OutlineArgs) -> Result<BridleExit, CommandFailure> {
    let mut ask = QueryBuilder::new("outline");
    ask.text("under", args.under);
    ask.number("depth", args.depth);
    paged(ask, args.paging)
}

/// A page of objects, and where to go on.
fn paged(mut ask: QueryBuilder, paging: args::PagingArgs) -> Result<BridleExit, CommandFailure> {
    ask.number("limit", paging.limit);
    ask.text("cursor", paging.cursor);
    let told = ask.of(paging.peer)?;
    if paging.json {
        return print_json(&told);
    }
    let mut text = String::new();
    for object in told.get("objects").and_then(Value::elements).unwrap_or_default() {
        text.push_str(&line(object));
    }
    if text.is_empty() {
        text.push_str("nothing found\n");
    }
    let exit = print(&text)?;
    if let Some(next) = told.get("next").and_then(Value::as_str) {
        // When stderr is gone, there is nobody to tell.
        let _ = writeln!(std::io::stderr().lock(), "more results: --cursor '{next}'");
    }
    Ok(exit)
}

fn focus(args: args::FocusArgs) -> Result<BridleExit, CommandFailure> {
    let mut ask = QueryBuilder::new("focus");
    ask.text("id", args.at);
    ask.number("budget", args.budget);
    let told = ask.of(args.peer)?;
    if args.json {
        return print_json(&told);
    }
    let mut text = String::new();
    for part in told.get("parts").and_then(Value::elements).unwrap_or_default() {
        text.push_str(&line(part));
        if let Some(body) = part.get("text").and_then(Value::as_str) {
            body.lines().for_each(|body| text.push_str(&format!("    {}\n", tamed(body))));
        }
        if part.get("cut").is_some() {
            text.push_str("    (cut)\n");
        }
    }
    let count = |key| told.get(key).and_then(Value::as_i64).unwrap_or_default();
    let _ = writeln!(text, "{} of {} tokens", count("tokens"), count("budget"));
    for left in told.get("left-out").and_then(Value::elements).unwrap_or_default() {
        let what = left.get("what").and_then(Value::as_str).unwrap_or_default();
        let count = left.get("count").and_then(Value::as_i64).unwrap_or_default();
        let _ = writeln!(text, "left out: {what} ({count})");
    }
    print(&text)
}

fn get(args: args::GetArgs) -> Result<BridleExit, CommandFailure> {
    let mut ask = QueryBuilder::new("get-object");
    ask.text("id", Some(args.id));
    let told = ask.of(args.peer)?;
    let object = told.get("object").cloned().unwrap_or(Value::Nil);
    if args.json {
        return print_json(&object);
    }
    let mut text = line(&object);
    if let Some(body) = object.get("text").and_then(Value::as_str) {
        body.lines().for_each(|body| text.push_str(&format!("{}\n", tamed(body))));
    }
    print(&text)
}

fn status(args: args::StatusArgs) -> Result<BridleExit, CommandFailure> {
    let told = QueryBuilder::new("memex-status").of(args.peer)?;
    if args.json {
        return print_json(&told);
    }
    let text = |value: &Value| {
        let word = value.as_str().map(tamed);
        word.or_else(|| value.as_keyword().map(str::to_owned)).unwrap_or_else(|| value.to_string())
    };
    let mut out = String::new();
    for (key, value) in told.pairs().into_iter().flatten() {
        let Some(key) = key.as_keyword().filter(|key| !matches!(*key, "status" | "action")) else {
            continue;
        };
        match value.elements().filter(|_| matches!(key, "skipped" | "duplicates")) {
            None => {
                let _ = writeln!(out, "{key}: {}", text(value));
            }
            Some(entries) => {
                for entry in entries {
                    let fact = |key| entry.get(key).map(text).unwrap_or_default();
                    let why = if key == "skipped" { fact("why") } else { fact("declared") };
                    let _ = writeln!(out, "{key}: {} ({why})", fact("path"));
                }
            }
        }
    }
    print(&out)
}

/// An object for people: where it is, and what it says.
pub(super) fn line(object: &Value) -> String {
    let text = |key| object.get(key).and_then(Value::as_str).map(tamed);
    let number = |key| object.get(key).and_then(Value::as_i64);
    let mut line = text("path").unwrap_or_default();
    if let Some(at) = number("line") {
        let _ = write!(line, ":{at}");
    }
    let stars = usize::try_from(number("level").unwrap_or(0)).unwrap_or(0).min(8);
    let _ = write!(line, "  {}", "*".repeat(stars));
    for part in [text("todo"), text("priority").map(|it| format!("[#{it}]")), text("title")]
        .into_iter()
        .flatten()
    {
        let _ = write!(line, " {part}");
    }
    let tags = object.get("tags").and_then(Value::elements).unwrap_or_default();
    let tags: Vec<String> = tags.iter().filter_map(Value::as_str).map(tamed).collect();
    if !tags.is_empty() {
        let _ = write!(line, "  :{}:", tags.join(":"));
    }
    if object.get("private").is_some() {
        line.push_str("  (private)");
    }
    if object.get("in-clear").is_some() {
        line.push_str("  (marked for encryption, but not encrypted)");
    }
    if object.get("encrypted").is_some() {
        line.push_str("  (encrypted)");
    }
    let id = text("id").unwrap_or_default();
    let _ = writeln!(line, "  {id}");
    if let Some(snippet) = text("snippet") {
        let _ = writeln!(line, "    {snippet}");
    }
    line
}

/// Text as a terminal may be shown it: without what would move its cursor.
fn tamed(text: &str) -> String {
    neutral_block(text).into_owned()
}

fn print_json(value: &Value) -> Result<BridleExit, CommandFailure> {
    print(&format!("{}\n", plain_json(value)))
}

/// Objects that are suggested where a name fits none, or several.
const MAX_SUGGESTIONS: usize = 5;

/// Objects that are searched for one with a title.
const MAX_TITLES_SEARCHED: u32 = 100;

/// Objects whose titles and paths are compared with a name: a page of the outline.
const MAX_TITLES_COMPARED: u32 = 500;

/// A question in the making.
struct QueryBuilder(Vec<(&'static str, Value)>);

impl QueryBuilder {
    fn new(action: &str) -> QueryBuilder {
        QueryBuilder(vec![("action", Value::keyword(action))])
    }

    fn text(&mut self, key: &'static str, text: Option<String>) {
        self.0.extend(text.map(|text| (key, Value::str(text))));
    }

    fn word(&mut self, key: &'static str, word: Option<String>) {
        self.0.extend(word.map(|word| (key, Value::keyword(&word))));
    }

    fn number(&mut self, key: &'static str, number: Option<u32>) {
        self.0.extend(number.map(|number| (key, Value::int(i64::from(number)))));
    }

    fn texts(&mut self, key: &'static str, texts: Vec<String>) {
        self.list(key, texts.into_iter().map(Value::str).collect());
    }

    fn list(&mut self, key: &'static str, list: Vec<Value>) {
        if !list.is_empty() {
            self.0.push((key, Value::list(list)));
        }
    }

    fn of(self, peer: PeerArgs) -> Result<Value, CommandFailure> {
        let targets = find(peer)?;
        wait_for_index(&targets)?;
        match ask_context(&targets, Value::plist(self.0.clone()))? {
            SystemReply::Done(payload) => Ok(payload),
            SystemReply::Not(answer) if answer.code == "unknown-id" => self.by_title(&targets),
            SystemReply::Not(answer) => Err(self.not_answered(&answer)),
        }
    }

    /// Asks for the one heading that has the name as its title, where nothing has it as id or path.
    fn by_title(mut self, targets: &[DaemonTarget]) -> Result<Value, CommandFailure> {
        let name = self.given("id").or_else(|| self.given("under")).unwrap_or_default();
        let mut search = QueryBuilder::new("query");
        search.text("text", Some(name.clone()));
        search.number("limit", Some(MAX_TITLES_SEARCHED));
        let is_named = |object: &Value| {
            let title = object.get("title").and_then(Value::as_str);
            title.is_some_and(|title| title.to_lowercase() == name.to_lowercase())
        };
        let found = search.objects(targets)?;
        let named: Vec<&Value> = found.iter().filter(|object| is_named(object)).collect();
        let nothing = || format!("no file or heading `{}`", tamed(&name));
        match named[..] {
            [] => {
                let near = nearest(&name, &found, targets)?;
                Err(suggest(CommandFailure::new(BridleExit::NoInput, nothing()), &near)
                    .hint("`bridle memory outline` lists files and headings, `bridle memory query` finds them"))
            }
            [only] => {
                let id = only.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
                self.0.retain(|(key, _)| !matches!(*key, "id" | "under"));
                self.text("id", Some(id));
                match ask_context(targets, Value::plist(self.0))? {
                    SystemReply::Done(payload) => Ok(payload),
                    SystemReply::Not(answer) => Err(refused(&answer)),
                }
            }
            _ => {
                let what = format!("several headings are named `{}`", tamed(&name));
                let failure = CommandFailure::new(BridleExit::NoInput, what)
                    .hint("use the id, the last word of the line");
                Err(suggest(failure, named))
            }
        }
    }

    /// Asks, and gives the objects of the answer; none, if there is no answer.
    fn objects(self, targets: &[DaemonTarget]) -> Result<Vec<Value>, CommandFailure> {
        let found = match ask_context(targets, Value::plist(self.0))? {
            SystemReply::Done(payload) => payload,
            SystemReply::Not(_) => Value::Nil,
        };
        Ok(found.get("objects").and_then(Value::elements).unwrap_or_default().to_vec())
    }

    /// Gives what was said for a key.
    fn given(&self, key: &str) -> Option<String> {
        let (_, value) = self.0.iter().find(|(name, _)| *name == key)?;
        value.as_str().map(str::to_owned)
    }

    /// Says why the memory does not answer, with the way out.
    fn not_answered(&self, answer: &ErrorAnswer) -> CommandFailure {
        match answer.code.as_str() {
            "invalid-value" if answer.message.contains("a date") => {
                let flags = ["from", "to"].into_iter();
                let flags =
                    flags.filter_map(|key| Some(format!("`--{key} {}`", tamed(&self.given(key)?))));
                let flags: Vec<String> = flags.collect();
                CommandFailure::new(
                    BridleExit::Data,
                    format!("{}: {}", flags.join(", "), answer.message),
                )
                .hint("write dates as in --from 2026-11-15 --to 2026-11-21")
            }
            "invalid-value" | "missing-key" | "wrong-type" => {
                CommandFailure::new(BridleExit::Data, &answer.message)
                    .hint("`bridle memory query --help` has examples")
            }
            _ => refused(answer),
        }
    }
}

/// Finds the objects whose title or path is nearest to a name, the nearest first; else those that a search found.
fn nearest(
    name: &str,
    found: &[Value],
    targets: &[DaemonTarget],
) -> Result<Vec<Value>, CommandFailure> {
    let mut outline = QueryBuilder::new("outline");
    outline.number("limit", Some(MAX_TITLES_COMPARED));
    let slips = |object: &Value| {
        let texts = ["title", "path"].into_iter().filter_map(|key| object.get(key)?.as_str());
        // The path of a heading is that of its file, which is suggested itself.
        let is_heading = object.get("level").and_then(Value::as_i64).is_some_and(|it| it > 0);
        let texts = texts.take(if is_heading { 1 } else { 2 });
        texts.filter_map(|text| count_slips(name, text)).min()
    };
    let all = outline.objects(targets)?;
    let mut near: Vec<(usize, Value)> =
        all.into_iter().filter_map(|object| Some((slips(&object)?, object))).collect();
    near.sort_by_key(|(slips, _)| *slips);
    let near: Vec<Value> = near.into_iter().map(|(_, object)| object).collect();
    Ok(if near.is_empty() { found.to_vec() } else { near })
}

/// Adds objects to a failure that may be meant.
fn suggest<'o>(
    failure: CommandFailure,
    objects: impl IntoIterator<Item = &'o Value>,
) -> CommandFailure {
    objects.into_iter().take(MAX_SUGGESTIONS).fold(failure, |failure, object| {
        let shown = line(object);
        failure.hint(format!("did you mean {}", shown.lines().next().unwrap_or_default()))
    })
}
