//! Labels of what acts bring back, where private notes may be in it: the memory's own answers say theirs, and files,
//! programs and edits know nothing of notes. Whatever may hold one that is private is secret, so that it reaches no model
//! elsewhere, neither now nor in what a model on this machine makes of it.

use std::path::{Component, Path, PathBuf};

use bridle_effects::Workspace;
use bridle_loop::{KeywordName, Privacy, RoundCall, SessionId};
use bridle_memex::{MEMORY, MemexAsker, MemexQuestion, PrivateAccess};
use bridle_sexp::Value;

use crate::engine::hub::Hub;

/// Targets whose answers are of files, and of programs that read files.
const FILE: &str = "file";
const PROGRAMS: [&str; 3] = ["exec", "shell", "stage"];

/// The label of what a call brings back.
pub(super) async fn label(hub: &Hub, session: &SessionId, call: &RoundCall) -> Privacy {
    let target = call.target.as_ref().map_or("", KeywordName::as_str);
    let is_read = target == MEMORY || target == FILE || PROGRAMS.contains(&target);
    let Some(root) = hub.home.memory().map(|memory| memory.root().to_owned()) else {
        return Privacy::default();
    };
    if !is_read || !has_private(hub).await {
        return Privacy::default();
    }
    let path = call.arguments.get("path").and_then(Value::as_str);
    let is_open = match path {
        Some(path) if target == MEMORY => is_open_file(hub, path).await,
        Some(path) if target == FILE => {
            let path = joined(project_of(hub, session).as_deref(), path);
            match path.strip_prefix(&root) {
                Ok(inside) if inside.as_os_str().is_empty() => false,
                Ok(inside) => is_open_file(hub, &inside.to_string_lossy()).await,
                Err(_) => !root.starts_with(&path),
            }
        }
        _ if target == MEMORY => false,
        // A program reads all of its project and the folders of the settings.
        _ => {
            let project = project_of(hub, session);
            let more = hub.home.abilities.workspace.as_ref().map(Workspace::read_roots);
            let mut roots = project.iter().chain(more.into_iter().flatten());
            roots.all(|read| !root.starts_with(read) && !read.starts_with(&root))
        }
    };
    if is_open { Privacy::default() } else { Privacy::Secret }
}

/// The project of a session.
fn project_of(hub: &Hub, session: &SessionId) -> Option<PathBuf> {
    hub.home.abilities.workspace.as_ref()?.project_of(session.as_str())
}

/// Whether the memory has anything that is not for everybody.
async fn has_private(hub: &Hub) -> bool {
    let counts = async |access| {
        let told = answer(hub, MemexQuestion::Status, access).await?;
        Some((told.get("headings").cloned(), told.get("files").cloned()))
    };
    let (open, whole) = (counts(PrivateAccess::Public).await, counts(PrivateAccess::Owner).await);
    // While the index is made nobody knows.
    whole.is_none() || open != whole
}

/// Whether everybody may see all of a file.
async fn is_open_file(hub: &Hub, path: &str) -> bool {
    let source = async |access| {
        let told = answer(hub, MemexQuestion::Source(path.to_owned()), access).await?;
        Some(told.get("source")?.as_str()?.to_owned())
    };
    match (source(PrivateAccess::Public).await, source(PrivateAccess::Owner).await) {
        (Some(open), Some(whole)) => open.trim_end() == whole.trim_end(),
        _ => false,
    }
}

async fn answer(hub: &Hub, question: MemexQuestion, access: PrivateAccess) -> Option<Value> {
    let service = hub.home.memex_service()?;
    service.answer(question, MemexAsker { access }).await.ok()
}

/// A path from a folder on, `.` and `..` taken away; links are followed by nobody here.
fn joined(folder: Option<&Path>, path: &str) -> PathBuf {
    let whole = folder.unwrap_or(Path::new("/")).join(path);
    let mut plain = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::joined;

    #[test]
    fn paths_are_plain() {
        let check = |path: &str, expect: &str| {
            assert_eq!(joined(Some(Path::new("/srv/p")), path), PathBuf::from(expect));
        };
        check("a/./b", "/srv/p/a/b");
        check("../org/n.org", "/srv/org/n.org");
        check("/org/n.org", "/org/n.org");
        check("../../../..", "/");
    }
}
