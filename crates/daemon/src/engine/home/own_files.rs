//! `:system` of a daemon: what every host has, and changes of bridle's own files and its restart.
//!
//! Policies, settings, skills and providers are changed by proposal: the new text is checked and shown as a diff, a
//! person says yes, whatever was granted, and the file is exchanged in one step. The daemon carries the orders out.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bridle_effects::file::{change_own, prepared_own};
use bridle_effects::{HelperProgram, Workspace};
use bridle_host::{
    ActContext, ActIo, Actuator, CrashOutcome, HostFuture, ProposalPlace, SYSTEM_ACTIONS,
};
use bridle_loop::{Action, FileOperation, FileRequest, Order, Outcome};
use bridle_sexp::Value;

use crate::access::policy_load;
use crate::config::DaemonConfig;
use crate::engine::home::guard::own_files;
use crate::engine::home::skill_writer::SkillWriter;

/// Name of the actuator.
pub(super) const SYSTEM: &str = "system";

/// Action that ends the daemon and starts it again.
pub(in crate::engine) const RESTART: &str = "restart";

/// Files of bridle that may be changed by proposal.
#[derive(Clone, Debug)]
pub(in crate::engine) struct OwnFiles {
    policy: Option<PathBuf>,
    /// Folder of the settings.
    settings: Vec<PathBuf>,
    /// Files and folders of the memory that are not memory: skills, providers, instructions.
    memex: Vec<PathBuf>,
    helper: Option<HelperProgram>,
    /// Folder for a text that is checked.
    scratch: PathBuf,
}

impl OwnFiles {
    pub(in crate::engine) fn of(config: &DaemonConfig) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self {
            policy: config.policy.file().map(real),
            settings: config.protected.iter().map(|path| real(path)).collect(),
            memex: own_files(config).iter().map(|path| real(path)).collect(),
            helper: config.effects.helper.clone(),
            scratch: config.state.clone(),
        }
    }

    /// Whether a file may be changed so, and whether its new text is good.
    fn check(&self, path: &Path, new: Option<&str>) -> Result<(), String> {
        let is_settings = path.extension().is_some_and(|it| it == "toml")
            && self.settings.iter().any(|own| path.starts_with(own));
        if self.policy.as_deref() == Some(path) {
            let loaded = new.map(policy_load::load).transpose();
            return loaded.map(drop).map_err(|bad| format!("the policies have errors: {bad}"));
        }
        if is_settings {
            return new.map_or(Ok(()), |new| self.check_settings(new));
        }
        let is_org = path.extension().is_some_and(|it| it == "org");
        match is_org && self.memex.iter().any(|own| path.starts_with(own)) {
            true => Ok(()),
            false => Err(format!(
                "`{}` is neither the policy file nor settings, skills, models or instructions of bridle",
                path.display()
            )),
        }
    }

    /// Has `bridle config check` read the settings: the daemon knows no file of theirs.
    fn check_settings(&self, new: &str) -> Result<(), String> {
        let helper = self.helper.as_ref().ok_or("nobody can check settings here")?;
        let mut file = tempfile_in(&self.scratch).map_err(|error| error.to_string())?;
        file.0.write_all(new.as_bytes()).map_err(|error| error.to_string())?;
        let checked = Command::new(helper.path())
            .args(["config", "check"])
            .arg(&file.1)
            .stdin(Stdio::null())
            .output();
        let removed = std::fs::remove_file(&file.1);
        let checked = checked.and_then(|checked| removed.map(|()| checked));
        let checked = checked.map_err(|error| format!("cannot check the settings: {error}"))?;
        if checked.status.success() {
            return Ok(());
        }
        let said = [checked.stdout, checked.stderr].concat();
        let said = String::from_utf8_lossy(&said).replace(&*file.1.to_string_lossy(), "settings");
        Err(format!("the settings have errors: {}", said.trim()))
    }

    /// Whether it is the file of policies, which are read again.
    pub(in crate::engine) fn is_policy(&self, request: &FileRequest) -> bool {
        let path = request.facts.paths.first().map(|path| Path::new(&**path));
        path.is_some() && path == self.policy.as_deref()
    }

    /// Makes the change of an order.
    pub(in crate::engine) fn change(
        &self,
        workspace: &Workspace,
        request: &FileRequest,
        order: &Order,
        context: &ActContext,
    ) -> Result<Value, String> {
        let check = |path: &Path, new: Option<&str>| self.check(path, new);
        let done = change_own(workspace, request, order.payload(), context, &check);
        done.map_err(|error| error.in_full())
    }
}

/// A file that nobody else has, and its path.
fn tempfile_in(folder: &Path) -> std::io::Result<(std::fs::File, PathBuf)> {
    use std::os::unix::fs::OpenOptionsExt as _;
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = folder.join(format!("checked-{}-{number}.toml", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    Ok((file, path))
}

/// `:system` of a daemon: its own files, and skills of proposed texts.
pub(super) struct DaemonActuator(pub(super) OwnFiles, pub(super) SkillWriter);

/// Whether an action is a change of a file as it is made here.
pub(in crate::engine) fn is_change(request: &FileRequest) -> bool {
    matches!(request.operation, FileOperation::Write { .. } | FileOperation::Patch { .. })
}

impl Actuator for DaemonActuator {
    fn actions(&self) -> &'static [&'static str] {
        ACTIONS
    }

    fn act<'a>(&'a self, order: &'a Order, _: &'a ActIo) -> HostFuture<'a, Outcome> {
        let action = order.action().name();
        let text = format!("`{action}` reached the host, expected the daemon to do it");
        Box::pin(async move { Outcome::Failed(text.into()) })
    }

    fn prepares(&self) -> bool {
        true
    }

    fn prepare(&self, payload: &Value, around: ProposalPlace<'_>) -> Option<Value> {
        let action = payload.get("action").and_then(Value::as_keyword)?;
        if !matches!(action, "write" | "patch") {
            return self.1.prepare(payload, around);
        }
        let check = |path: &Path, new: Option<&str>| self.0.check(path, new);
        Some(prepared_own(payload, around.readers, &check))
    }

    fn crash_outcome(&self, order: &Order, _: u64) -> CrashOutcome {
        match order.action() {
            // Whoever asks this is started again.
            Action::Other(name) if name.as_str() == RESTART => {
                let pairs =
                    [("restarted", Value::T), ("version", Value::str(env!("CARGO_PKG_VERSION")))];
                CrashOutcome::Ended(Outcome::Done(Value::plist(pairs)))
            }
            Action::File(_) => {
                let text = "the daemon ended meanwhile: the file is as it was, or as it was shown";
                CrashOutcome::Ended(Outcome::Failed(text.into()))
            }
            _ => CrashOutcome::Unknown,
        }
    }
}

/// Actions of every host, and more.
const ACTIONS: &[&str] = {
    const ALL: [&str; SYSTEM_ACTIONS.len() + 3] = {
        let mut all = ["patch"; SYSTEM_ACTIONS.len() + 3];
        let mut at = 0;
        while at < SYSTEM_ACTIONS.len() {
            all[at] = SYSTEM_ACTIONS[at];
            at += 1;
        }
        all[at] = RESTART;
        all[at + 1] = "write";
        all
    };
    &ALL
};
