//! Requests about files and programs of the agent that belong to no turn: the project of a session, what a
//! commit changed, actuators, the jail. For owners alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bridle_effects::stage::describe_commit;
use bridle_effects::{EffectError, ProjectOrigin, Workspace};
use bridle_loop::{ActuatorRef, SessionId, UndoTarget};
use bridle_sexp::Value;

use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::hub::Hub;
use crate::engine::queries::query::success;

/// Most paths that a diff is asked for.
const MAX_PATHS: usize = 1_000;

/// Reason for a request to a daemon that has neither files nor programs.
const NO_EFFECTS: &str = "this daemon was started without files and programs";

/// Request about files and programs.
#[derive(Debug)]
pub(crate) enum EffectsQuery {
    /// The project of a session; with a folder it is given that one first.
    Project {
        /// Session; the one of the connection unless it is said.
        session: Option<SessionId>,
        /// Folder to work in.
        folder: Option<PathBuf>,
        /// Whether its changes are committed on a ref of git; as before unless it is said.
        steward: Option<bool>,
    },
    /// Changes that the commits of a record made.
    Diff {
        /// Record of the order, or a turn or session.
        what: UndoTarget,
        /// Files, all if there are none.
        only: Vec<PathBuf>,
    },
    /// Actuators of the daemon.
    Actuators,
    /// The layer of the jail, with its promises.
    Jail,
}

impl EffectsQuery {
    /// Reads a payload; `None` if it is about something else.
    pub(in crate::engine) fn of(
        action: &Value,
        payload: &Value,
    ) -> Option<Result<EffectsQuery, EngineError>> {
        let text = |key| payload.get(key).and_then(Value::as_str);
        Some(match action.as_keyword()? {
            "project" => {
                let session = match text("session").map(SessionId::parse).transpose() {
                    Ok(session) => session,
                    Err(error) => {
                        return Some(Err(EngineError::invalid("session", error.to_string())));
                    }
                };
                let folder = text("path").map(PathBuf::from);
                let steward = payload.get("git").map(|git| !git.is_nil());
                match folder.as_ref().is_none_or(|folder| folder.is_absolute()) {
                    true => Ok(EffectsQuery::Project { session, folder, steward }),
                    false => {
                        Err(EngineError::invalid("path", "expected the path of a folder, whole"))
                    }
                }
            }
            "diff" => {
                let number = |key| {
                    let number = payload.get(key).and_then(Value::as_i64);
                    number.and_then(|number| u64::try_from(number).ok())
                };
                let of_session = text("session").map(|session| match number("turn") {
                    Some(turn) => UndoTarget::Turn { session: session.into(), turn },
                    None => UndoTarget::Session { session: session.into() },
                });
                let what = number("record").map(UndoTarget::Record).or(of_session);
                let paths = payload.get("paths").and_then(Value::elements).unwrap_or_default();
                let only = paths.iter().take(MAX_PATHS).filter_map(Value::as_str);
                let only = only.map(PathBuf::from).collect();
                let what = what.ok_or_else(|| EngineError::invalid("record", "expected a number"));
                what.map(|what| EffectsQuery::Diff { what, only })
            }
            "actuators" => Ok(EffectsQuery::Actuators),
            "jail" => Ok(EffectsQuery::Jail),
            _ => return None,
        })
    }
}

/// Answers a request; `own` is the session that the connection is attached to.
///
/// # Errors
/// There is no such folder or commit, or the daemon has neither files nor programs.
pub(in crate::engine) async fn answer(
    hub: &Arc<Hub>,
    asked: EffectsQuery,
    own: Option<SessionId>,
) -> Result<Value, EngineError> {
    if let EffectsQuery::Actuators = asked {
        let catalog = hub.home.host_ref().catalog();
        let all = Value::list(catalog.actuators.iter().map(described));
        return Ok(success("actuators", [("actuators", all)]));
    }
    let workspace = hub.home.abilities.workspace.clone();
    let workspace = workspace
        .ok_or_else(|| EngineError::because(EngineErrorCode::UnknownTarget, NO_EFFECTS))?;
    let told = tokio::task::spawn_blocking(move || match asked {
        EffectsQuery::Project { session, folder, steward } => {
            project(&workspace, session.or(own), folder.as_deref(), steward)
        }
        EffectsQuery::Diff { what, only } => {
            let only: Vec<&Path> = only.iter().map(PathBuf::as_path).collect();
            let diff =
                describe_commit(&workspace, &what, &only).map_err(|error| refused(&error))?;
            Ok(success("diff", [("diff", Value::str(diff))]))
        }
        EffectsQuery::Jail | EffectsQuery::Actuators => Ok(jail(&workspace)),
    });
    told.await.map_err(|error| {
        tracing::error!(%error, "a request about files broke off");
        EngineError::from(EngineErrorCode::Internal)
    })?
}

fn refused(error: &EffectError) -> EngineError {
    EngineError::because(EngineErrorCode::InvalidValue, error.in_full())
}

fn project(
    workspace: &Workspace,
    session: Option<SessionId>,
    folder: Option<&Path>,
    steward: Option<bool>,
) -> Result<Value, EngineError> {
    let session = session.ok_or_else(|| EngineError::invalid("session", "expected a session"))?;
    let name = session.as_str();
    let chosen = folder.map(|folder| workspace.choose_project(name, folder)).transpose();
    let chosen = chosen.map_err(|error| refused(&error))?;
    let origin = chosen.as_ref().map(|chosen| match chosen.origin {
        ProjectOrigin::Git => "git",
        ProjectOrigin::Named => "named",
    });
    let path = chosen.map(|chosen| chosen.folder).or_else(|| workspace.project_of(name));
    if let Some(is_wanted) = steward {
        let missing = || EngineError::invalid("git", "this session has no project");
        let folder = path.as_deref().ok_or_else(missing)?;
        workspace.set_steward(folder, is_wanted).map_err(|error| refused(&error))?;
    }
    let git = path.as_deref().is_some_and(|path| workspace.has_steward(path));
    let path = path.map_or(Value::Nil, |path| Value::str(path.to_string_lossy()));
    let pairs = [("session", Value::str(name)), ("path", path), ("git", Value::bool(git))];
    let pairs = pairs.into_iter();
    Ok(success("project", pairs.chain(origin.map(|word| ("origin", Value::keyword(word))))))
}

fn described(actuator: &ActuatorRef) -> Value {
    let actions = actuator.actions.iter().map(|action| Value::keyword(action.as_str()));
    Value::plist([
        ("name", Value::keyword(actuator.name.as_str())),
        ("actions", Value::list(actions)),
    ])
}

fn jail(workspace: &Workspace) -> Value {
    match workspace.capabilities() {
        Err(reason) => success("jail", [("layer", Value::Nil), ("reason", Value::str(reason))]),
        Ok(all) => {
            let promise = |state: &bridle_effects::PromiseState| {
                Value::plist([
                    ("promise", Value::keyword(&state.promise.to_string())),
                    ("held", Value::bool(state.held)),
                    ("because", Value::str(state.because.as_str())),
                ])
            };
            let layer = all.layer.map_or(Value::Nil, |layer| Value::keyword(&layer.to_string()));
            let promises = Value::list(all.promises.iter().map(promise));
            success("jail", [("layer", layer), ("promises", promises)])
        }
    }
}
