//! Buffers with unsaved changes, as shells report them: `:buffer-update` with a `:file` and `:modified t`
//! (or `:state :modified`), and `:modified nil` (or any other `:state`) when that is over. Told to the memory, which then leaves the file
//! alone. What shells say can only keep a file from being written.

use std::path::Path;

use bridle_loop::{SessionId, Signal};
use bridle_sexp::Value;
use bridle_store::memory::{FilePath, Memory};

/// Who has a buffer, as messages name them.
pub(crate) fn holder(session: &SessionId, shell: &str) -> String {
    format!("{shell} in session {session}")
}

/// Notes what a signal says about a buffer, if it says something.
pub(crate) fn note(memory: &Memory, session: &SessionId, signal: &Signal) {
    let payload = &signal.payload;
    let text = |key| payload.get(key).and_then(Value::as_str);
    let is = |key, word: &str| {
        let said = payload.get(key).and_then(Value::as_keyword);
        said.is_some_and(|said| said.eq_ignore_ascii_case(word))
    };
    let modified = payload.get("modified").map(|it| !it.is_nil());
    let modified = modified.or(payload.get("state").map(|_| is("state", "modified")));
    let (Some(file), Some(modified)) = (text("file"), modified) else { return };
    if !is("sensor", "buffer-update") {
        return;
    }
    let file = Path::new(file);
    let below = if file.is_absolute() { file.strip_prefix(memory.root()).ok() } else { Some(file) };
    let path = below.and_then(Path::to_str).and_then(FilePath::parse);
    let Some(path) = path else { return };
    let path = memory.real_path(&path).unwrap_or(path);
    let shell = signal.from.shell.as_ref().map_or("a shell", |shell| shell.as_str());
    if let Err(error) = memory.report(&path, &holder(session, shell), modified) {
        tracing::warn!(%error, %session, "a modified buffer was not noted");
    }
}
