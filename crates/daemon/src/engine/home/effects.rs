//! Files and programs of the agent: the workspace opened at the start, its actuators for the host, and what
//! a crash had broken off told to the record.

use bridle_effects::exec::EXEC;
use bridle_effects::file::FILE;
use bridle_effects::stage::STAGE;
use bridle_effects::{ExecActuator, FileActuator, StageActuator, Workspace};
use bridle_host::Host;
use bridle_loop::RecordKind;
use bridle_record::NewRecord;
use bridle_sexp::Value;
use std::path::PathBuf;

use crate::config::DaemonConfig;
use crate::engine::home::Home;
use crate::engine::home::guard::protected;
use crate::engine::home::mail::{MAIL, MailActuator};
use crate::engine::home::notify::{NOTIFY, NotifyActuator};
use crate::engine::home::own_files::{DaemonActuator, OwnFiles, SYSTEM};
use crate::engine::home::skill_writer::SkillWriter;
use crate::engine::home::web::{HTTP, WebActuator};
use crate::error::DaemonError;

/// Folder of the workspace in that of the state.
const EFFECTS_FOLDER: &str = "effects";

/// Opens the workspace that the settings ask for. Tries the jail, and blocks meanwhile.
///
/// # Errors
/// The folder cannot be used, or a commit that was broken off cannot be read.
pub(in crate::engine) fn open(config: &DaemonConfig) -> Result<Option<Workspace>, DaemonError> {
    if config.effects.helper.is_none() {
        return Ok(None);
    }
    let mut setup = config.effects.clone();
    setup.folder = config.state.join(EFFECTS_FOLDER);
    setup.protected = protected(config).iter().map(|path| PathBuf::from(&**path)).collect();
    Workspace::open(setup).map(Some).map_err(DaemonError::Effects)
}

/// Gives a host the actuators of a workspace.
pub(in crate::engine) fn equip(
    host: Host,
    workspace: Option<&Workspace>,
    config: &DaemonConfig,
    skills: SkillWriter,
) -> Host {
    let system = DaemonActuator(OwnFiles::of(config), skills);
    let host = host.with_actuator(SYSTEM, Box::new(system));
    let Some(workspace) = workspace else { return host };
    let run = |host: Host, name: &str| {
        host.with_actuator(name, Box::new(ExecActuator(workspace.clone())))
    };
    EXEC.into_iter()
        .fold(host, run)
        .with_actuator(FILE, Box::new(FileActuator(workspace.clone())))
        .with_actuator(NOTIFY, Box::new(NotifyActuator(config.notifier.clone())))
        .with_actuator(MAIL, Box::new(MailActuator::new(&config.fetch, config.secret_store())))
        .with_actuator(HTTP, Box::new(WebActuator::new(&config.fetch, config.secret_store())))
        .with_actuator(STAGE, Box::new(StageActuator(workspace.clone())))
}

/// Records which commits a crash had broken off, and how each of them ended.
pub(in crate::engine) async fn note_recovered(home: &Home) {
    let Some(workspace) = &home.abilities.workspace else { return };
    match workspace.capabilities() {
        Ok(jail) => match jail.layer {
            Some(layer) => tracing::info!(%layer, "programs run in a jail"),
            None => tracing::warn!(missing = jail.missing(), "no program runs here"),
        },
        Err(reason) => tracing::warn!(reason, "no program runs here"),
    }
    for commit in workspace.recovered() {
        let end = match commit.verdict {
            bridle_effects::RecoveryVerdict::Finished => "finished",
            bridle_effects::RecoveryVerdict::RolledBack => "rolled back",
        };
        let (id, conflicts) = (&commit.id, commit.conflicts.len());
        tracing::warn!(commit = %id, end, conflicts, "a commit had been broken off");
        let text = format!("commit {id} had been broken off and is {end}; {conflicts} conflicts");
        let body = Value::plist([("text", Value::str(text))]).to_string();
        let kind = RecordKind::Log.word();
        home.record_own(NewRecord::new("", kind, home.now(), "daemon", body)).await;
    }
}
