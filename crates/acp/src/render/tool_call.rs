//! Effects, questions and outcomes as tool calls. What comes from a model is shown on one line or as data, with
//! hidden characters made visible; the arguments go along whole.

use bridle_sexp::Value;
use bridle_shell::screen::{neutral_block, neutral_line};
use bridle_wire::plain::plain_json;

use super::unified_diff::{DiffHunk, hunks};
use crate::daemon_event::{GrantOffer, GuardQuestion, text, word};
use crate::protocol::{
    PermissionOption, PermissionOptionKind, ToolCallContent, ToolCallFields, ToolCallLocation,
    ToolCallStatus, ToolKind,
};

/// Longest title, in characters: a line of an editor's panel.
const MAX_TITLE_CHARS: usize = 160;

/// Largest text of a result that is shown, in bytes; the record has all of it.
const MAX_RESULT_BYTES: usize = 64 << 10;

/// Largest arguments and results that go along as data, in bytes.
const MAX_RAW_BYTES: usize = 256 << 10;

/// Key of what the daemon adds to the arguments of an edit.
const PREPARED: &str = "prepared";

/// Returns a question of the guard as a call that waits.
pub(crate) fn pending(question: &GuardQuestion) -> ToolCallFields {
    let mut call = begun(&question.approval, &question.target, &question.wanted);
    call.status = Some(ToolCallStatus::Pending);
    let why = neutral_block(&question.question).into_owned();
    let mut content = vec![ToolCallContent::text(why)];
    content.extend(call.content.take().unwrap_or_default());
    call.content = Some(content);
    call
}

/// Returns an effect as a call that is carried out.
pub(crate) fn running(effect: &str, target: &str, request: &Value) -> ToolCallFields {
    ToolCallFields { status: Some(ToolCallStatus::InProgress), ..begun(effect, target, request) }
}

fn begun(effect: &str, target: &str, request: &Value) -> ToolCallFields {
    let action = word(request, "action").unwrap_or_default();
    let files = files(request);
    let diff = request.get(PREPARED).and_then(|it| text(it, "diff")).unwrap_or_default();
    let (content, locations) = changes(&hunks(&diff), &files);
    ToolCallFields {
        tool_call_id: effect.to_owned(),
        title: Some(title(&action, target, request)),
        kind: Some(kind(&action, target)),
        status: None,
        content: Some(content).filter(|it| !it.is_empty()),
        locations: Some(locations).filter(|it| !it.is_empty()),
        raw_input: raw(&arguments(request)),
        raw_output: None,
    }
}

/// Returns the end of an effect.
pub(crate) fn ended(
    effect: &str,
    outcome: &str,
    result: Option<&Value>,
    reason: Option<&str>,
) -> ToolCallFields {
    let status = match outcome {
        "done" => ToolCallStatus::Completed,
        _ => ToolCallStatus::Failed,
    };
    let (content, locations) = match result {
        Some(result) if outcome == "done" => results(result),
        _ => (Vec::new(), Vec::new()),
    };
    let mut call = ToolCallFields {
        tool_call_id: effect.to_owned(),
        status: Some(status),
        raw_output: result.and_then(raw),
        ..ToolCallFields::default()
    };
    // What is empty would take away the diff that the question showed.
    call.content = Some(content).filter(|it| !it.is_empty());
    call.locations = Some(locations).filter(|it| !it.is_empty());
    if let Some(sentence) = sentence(outcome, reason) {
        call.content = Some(vec![ToolCallContent::text(sentence)]);
    }
    call
}

/// Sentence about an outcome other than success.
fn sentence(outcome: &str, reason: Option<&str>) -> Option<String> {
    let words = match outcome {
        "done" => return None,
        "denied" => "Not allowed",
        "expired" => "Nobody answered in time",
        "superseded" => "Given up before it was done",
        "failed" => "Failed",
        "unknown-outcome" => {
            "Nobody knows how this ended: the daemon died while it ran. It is not done again by itself"
        }
        other => other,
    };
    let reason = reason.map(|reason| format!(": {}", neutral_block(reason))).unwrap_or_default();
    Some(format!("{words}{reason}"))
}

/// Content and locations of a result: its diff, or its text.
fn results(result: &Value) -> (Vec<ToolCallContent>, Vec<ToolCallLocation>) {
    if let Some(diff) = text(result, "diff") {
        return changes(&hunks(&diff), &files(result));
    }
    let shown = result.as_str().map(str::to_owned).or_else(|| {
        ["text", "output", "message", "content"].iter().find_map(|key| text(result, key))
    });
    let content = shown.map(|text| ToolCallContent::text(cut(&neutral_block(&text))));
    (content.into_iter().collect(), Vec::new())
}

/// Hunks as diffs, each with the file that its name stands for. One whose file is not known in full is left out: the
/// editor would open another.
fn changes(hunks: &[DiffHunk], files: &[String]) -> (Vec<ToolCallContent>, Vec<ToolCallLocation>) {
    let (mut content, mut locations) = (Vec::new(), Vec::new());
    for hunk in hunks {
        let is_it = |file: &&String| {
            let folder = file.strip_suffix(hunk.name.trim_start_matches('/'));
            folder.is_some_and(|folder| folder.starts_with('/') && folder.ends_with('/'))
        };
        let Some(path) = files.iter().find(is_it).cloned() else { continue };
        locations.push(ToolCallLocation { path: path.clone(), line: Some(hunk.line) });
        content.push(ToolCallContent::Diff {
            path,
            old_text: hunk.old.clone(),
            new_text: hunk.new.clone(),
        });
    }
    if locations.is_empty() {
        let files = files.iter().filter(|file| file.starts_with('/'));
        locations.extend(files.map(|path| ToolCallLocation { path: path.clone(), line: None }));
    }
    (content, locations)
}

/// Files that arguments or a result name.
fn files(value: &Value) -> Vec<String> {
    let prepared = value.get(PREPARED).unwrap_or(value);
    let listed = prepared.get("files").and_then(Value::elements).unwrap_or_default();
    let path = |it: &Value| it.as_str().map(str::to_owned).or_else(|| text(it, "path"));
    let listed: Vec<String> = listed.iter().filter_map(path).collect();
    if listed.is_empty() {
        return ["path", "file"].iter().filter_map(|key| text(value, key)).collect();
    }
    listed
}

/// Absolute paths of the files that a question would change.
pub(crate) fn touched(question: &GuardQuestion) -> Vec<String> {
    let prepared = question.wanted.get(PREPARED);
    let listed = prepared.map(files).unwrap_or_default();
    listed.into_iter().filter(|path| path.starts_with('/')).collect()
}

/// Content of a question about a file whose buffer is not saved: what it means, and what is not on disk.
pub(crate) fn conflict(path: &str, unsaved: &str) -> Vec<ToolCallContent> {
    let path = neutral_line(path).into_owned();
    let what = format!(
        "Conflict: `{path}` has changes in this editor that are not saved. bridle writes nothing under them: save or \
         discard them first, or say no."
    );
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    vec![
        ToolCallContent::text(what),
        ToolCallContent::Diff { path, old_text: Some(cut(&on_disk)), new_text: cut(unsaved) },
    ]
}

/// Arguments without what the daemon added.
fn arguments(request: &Value) -> Value {
    let is_said =
        |key: &Value| !key.as_keyword().is_some_and(|key| key.eq_ignore_ascii_case(PREPARED));
    let pairs = request.pairs().into_iter().flatten().filter(|(key, _)| is_said(key));
    Value::list(pairs.flat_map(|(key, value)| [key.clone(), value.clone()]))
}

fn raw(value: &Value) -> Option<serde_json::Value> {
    let json = plain_json(value);
    if json.len() > MAX_RAW_BYTES {
        return None;
    }
    serde_json::from_str(&json).ok()
}

/// A line for people: the action, and what it is about.
fn title(action: &str, target: &str, request: &Value) -> String {
    let about = match action {
        "exec" => request.get("argv").and_then(Value::elements).map(|words| {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            words.join(" ")
        }),
        "eval" => text(request, "code"),
        "script" => text(request, "text"),
        "net" => text(request, "host"),
        "query" | "search" => text(request, "text"),
        _ => ["path", "file", "buffer", "name", "query", "text"]
            .iter()
            .find_map(|key| text(request, key)),
    };
    let line = match about {
        Some(about) if action == "exec" => about,
        Some(about) => format!("{action} {about}"),
        None => format!("{action} ({target})"),
    };
    cut_line(&line, MAX_TITLE_CHARS)
}

fn kind(action: &str, target: &str) -> ToolKind {
    match action {
        "read" | "get-ast" | "get-object" | "outline" | "focus" => ToolKind::Read,
        "query" | "search" => ToolKind::Search,
        "delete-subtree" | "forget" => ToolKind::Delete,
        "refile" | "archive" | "move-up" => ToolKind::Move,
        "exec" | "eval" | "script" => ToolKind::Execute,
        "net" => ToolKind::Fetch,
        "write" | "insert-at-end" | "refactor-subtree" => ToolKind::Edit,
        _ => match target {
            "memory" | "file" => ToolKind::Edit,
            "context" => ToolKind::Search,
            _ => ToolKind::Other,
        },
    }
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_RESULT_BYTES {
        return text.to_owned();
    }
    let mut end = MAX_RESULT_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n[{} bytes more are in the record]", &text[..end], text.len() - end)
}

/// Begin of the option of a grant; its scope is behind it.
const GRANT: &str = "allow-";

/// Longest label of an option, in characters.
const MAX_LABEL_CHARS: usize = 120;

/// Returns the daemon's answers as options: yes, a yes with a grant of each scope, and no. An answer is only offered
/// where the daemon takes it.
pub(crate) fn options(question: &GuardQuestion) -> Vec<PermissionOption> {
    let takes = |word: &str| question.options.iter().any(|it| it == word);
    let option =
        |id: &str, name: String, kind| PermissionOption { option_id: id.to_owned(), name, kind };
    let mut options = Vec::new();
    if takes("allow") {
        options.push(option("allow", "Allow once".to_owned(), PermissionOptionKind::AllowOnce));
        options.extend(question.scopes.iter().map(|offer| {
            let id = format!("{GRANT}{}", offer.scope);
            option(&id, label(offer), PermissionOptionKind::AllowAlways)
        }));
    }
    if takes("deny") {
        options.push(option("deny", "Reject".to_owned(), PermissionOptionKind::RejectOnce));
    }
    options
}

/// Returns the scope of a chosen option; `None` for one that grants nothing.
pub(crate) fn granted_scope(option: &str) -> Option<&str> {
    option.strip_prefix(GRANT)
}

fn label(offer: &GrantOffer) -> String {
    if offer.scope == "action" {
        return "Allow exactly this for 7 days".to_owned();
    }
    cut_line(&format!("Allow for 7 days: {}", offer.allows), MAX_LABEL_CHARS)
}

/// A text on one line of at most so many characters, with what is hidden made visible.
fn cut_line(text: &str, most: usize) -> String {
    let line = neutral_line(text);
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}\u{2026}", &line[..at]),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests;
