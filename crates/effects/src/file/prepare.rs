//! Acts on files looked at before they are judged: paths made whole, links followed, and a diff of what is
//! changed outside of the project at once.

use std::path::{Path, PathBuf};

use bridle_jail::{diff_texts, read_plain_file};
use bridle_loop::{Action, EffectFacts, FileOperation, FileRequest, PREPARED};
use bridle_sexp::Value;

use super::change::patched;
use crate::payload::{with, with_diff, with_facts, with_fault};
use crate::place;
use crate::workspace::{Workspace, text};

/// Largest file that is compared for a question, in bytes.
const MAX_COMPARED_BYTES: u64 = 4 << 20;

/// The payload with its paths made whole and the facts put in.
pub(super) fn prepared(workspace: &Workspace, payload: &Value, session: &str) -> Value {
    let project = workspace.project_of(session);
    let mut whole = payload.clone();
    // What lists and searches without a path is about the project.
    let is_look = ["list", "search"]
        .iter()
        .any(|name| payload.get("action").is_some_and(|action| action.is_keyword(name)));
    for key in ["path", "to"] {
        let said = payload.get(key).and_then(Value::as_str);
        let said = said.or_else(|| (key == "path" && is_look).then_some("."));
        let Some(said) = said else { continue };
        match place::absolute(said, project.as_deref()) {
            Some(path) => whole = with(&whole, key, Value::str(path.to_string_lossy())),
            None => return with_fault(payload, no_project(said)),
        }
    }
    let bare = with(&whole, PREPARED, Value::Nil);
    let Ok(Action::File(request)) = Action::from_payload(&bare) else { return whole };
    match look(workspace, session, &request) {
        Ok((facts, None)) => with_facts(&whole, &facts),
        Ok((facts, Some(diff))) => with_diff(&whole, &facts, &diff),
        Err(fault) => with_fault(&whole, fault),
    }
}

fn no_project(path: &str) -> String {
    format!(
        "`{path}` is not a whole path, and this session has no project to find it in: name it from `/`, or give the \
         session a project with `bridle project FOLDER`"
    )
}

type PreparedFacts = (EffectFacts, Option<String>);

fn look(
    workspace: &Workspace,
    session: &str,
    request: &FileRequest,
) -> Result<PreparedFacts, String> {
    let (mut facts, real) = workspace.facts_of(session, Path::new(&*request.path));
    let real = real.ok_or_else(|| format!("`{}` leads nowhere", request.path))?;
    if let Some(other) = request.elsewhere() {
        let (there, path) = workspace.facts_of(session, Path::new(other));
        path.ok_or_else(|| format!("`{other}` leads nowhere"))?;
        facts.inside &= there.inside;
        facts.keys |= there.keys;
        facts.paths.extend(there.paths);
    }
    if workspace.is_output(&real) && !request.is_change() {
        // Kept for exactly this.
        facts.inside = true;
        return Ok((facts, None));
    }
    let paths: Vec<PathBuf> = facts.paths.iter().map(|path| PathBuf::from(&**path)).collect();
    if paths.iter().any(|path| workspace.is_protected(path)) {
        return Err("this is bridle's own: state, policies, settings, keys".to_owned());
    }
    if !request.is_change() {
        return Ok((facts, None));
    }
    if facts.inside {
        let project = workspace.project_of(session).unwrap_or_default();
        if paths.contains(&project) {
            return Err("this is the project itself".to_owned());
        }
        facts.layer = workspace.layer()?.to_string().into();
        facts.staged = true;
        return Ok((facts, None));
    }
    facts.project = text(workspace.project_of(session).as_deref());
    let diff = outside(request, &real)?;
    Ok((facts, Some(diff)))
}

/// The diff of a change outside of the project, which is made at once.
fn outside(request: &FileRequest, real: &Path) -> Result<String, String> {
    let (old, new) = sides(request, real)?;
    let diff = diff_texts(shown_name(real), old.as_deref(), Some(&new));
    Ok(format!("outside of the project, at once; `bridle undo` takes it back:\n{diff}"))
}

fn shown_name(real: &Path) -> &Path {
    real.strip_prefix("/").unwrap_or(real)
}

/// The text of a file as it is and as it would be.
pub(super) fn sides(
    request: &FileRequest,
    real: &Path,
) -> Result<(Option<String>, String), String> {
    let old = match read_plain_file(real, MAX_COMPARED_BYTES) {
        Ok((bytes, length)) if length <= MAX_COMPARED_BYTES => {
            Some(String::from_utf8(bytes).map_err(|_| "the file is no text".to_owned())?)
        }
        Ok(_) => return Err(format!("`{}` is too large to be changed here", real.display())),
        Err(_) if real.exists() => return Err(format!("`{}` is no plain file", real.display())),
        Err(_) => None,
    };
    let new = match (&request.operation, &old) {
        (FileOperation::Write { text }, _) => text.to_string(),
        (FileOperation::Patch { old: from, new, all }, Some(text)) => {
            patched(text, from, new, *all)?
        }
        (FileOperation::Patch { .. }, None) => {
            return Err(format!("`{}` is not there", real.display()));
        }
        _ => {
            return Err(
                "outside of the project files are only read, written and patched; give the session another project"
                    .to_owned(),
            );
        }
    };
    Ok((old, new))
}
