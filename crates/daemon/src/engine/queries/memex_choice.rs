//! The folder of the memory, chosen by an owner while the daemon runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bridle_sexp::Value;

use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::engine_files::SKILL_FOLDER;
use crate::engine::hub::Hub;

/// Reason for a path that names a file, or nothing.
const NO_FOLDER: &str = "expected the path of a folder, whole";

/// Takes a folder of Org files up, if none is open; tells which is, then.
///
/// # Errors
/// `invalid-value`: it is no folder, it cannot be used, or another one is open.
pub(in crate::engine) async fn open_memex(
    hub: &Arc<Hub>,
    path: &str,
    by: &str,
) -> Result<Value, EngineError> {
    let _alone = hub.home.files.opening.lock().await;
    let (hub, path) = (Arc::clone(hub), PathBuf::from(path));
    let opened = tokio::task::spawn_blocking(move || open_folder(&hub, &path)).await;
    let folder = opened.map_err(|error| {
        tracing::error!(%error, "opening a memex broke off");
        EngineError::from(EngineErrorCode::Internal)
    })??;
    tracing::info!(by, "a memex is open");
    Ok(Value::str(folder))
}

fn open_folder(hub: &Hub, path: &Path) -> Result<String, EngineError> {
    let real = path.is_absolute().then(|| path.canonicalize().ok()).flatten();
    let real =
        real.filter(|real| real.is_dir()).ok_or_else(|| EngineError::invalid("path", NO_FOLDER))?;
    let name = real.display().to_string();
    match hub.home.files.memory() {
        Some(open) if open.root() == real => return Ok(name),
        Some(_) => {
            let text = "another memex is open; it is exchanged when the daemon starts again";
            return Err(EngineError::invalid("path", text));
        }
        None => {}
    }
    hub.home.files.open_later(&real, &hub.home).map_err(|error| {
        tracing::warn!(%error, "a memex cannot be opened");
        EngineError::invalid("path", format!("the folder cannot be a memex: {error}"))
    })?;
    hub.home.abilities.skills.take_folder(real.join(SKILL_FOLDER));
    Ok(name)
}
