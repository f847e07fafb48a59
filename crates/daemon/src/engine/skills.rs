//! The skills of a home: the folder `skills` of the memory, looked at again and again, and what of them the host offers.

pub(in crate::engine) mod codec_skills;
pub(in crate::engine) mod session_proposer;
pub(in crate::engine) mod skill_schedules;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bridle_host::{ActuatorConflict, Host};
use bridle_skill_host::{
    SkillProcesses, SkillProposer, SkillRegistry, SkillStorage, skill_actuators, skill_consultants,
};
use tokio_util::sync::CancellationToken;

use crate::config::DaemonConfig;
use crate::engine::home::engine_files::SKILL_FOLDER;
use crate::engine::skills::skill_schedules::SkillSchedules;

/// Time between two looks at the folder.
const SKILL_FOLDER_INTERVAL: Duration = Duration::from_millis(500);

/// Folder for processes of skills in the folder of the state.
const PROCESS_FOLDER: &str = "skills/scratch";

/// Group of the actuators of skills.
const SKILLS: &str = "skills";

/// The registry, with what is in the folder at the start.
pub(in crate::engine) async fn open(config: &DaemonConfig) -> Arc<SkillRegistry> {
    let folder = config.memex.as_ref().map(|memex| memex.join(SKILL_FOLDER));
    let scratch = config.state.join(PROCESS_FOLDER);
    let processes = SkillProcesses::new(config.effects.helper.clone(), scratch);
    let registry = SkillRegistry::new(folder, SkillStorage::new(&config.state));
    let registry = Arc::new(registry.with_runtime(Box::new(processes)));
    refresh(&registry, &mut BTreeSet::new()).await;
    registry
}

/// Skills as the host of a daemon offers them.
pub(in crate::engine) struct HostedSkills {
    pub(in crate::engine) registry: Arc<SkillRegistry>,
    pub(in crate::engine) host: Arc<Host>,
    pub(in crate::engine) proposer: Arc<dyn SkillProposer>,
}

impl HostedSkills {
    /// Offers what serves now: its consultants, its tools and its actuators.
    pub(in crate::engine) fn publish(&self) {
        self.host.swap_consultants(skill_consultants(&self.registry));
        let mut actuators = skill_actuators(&self.registry, &self.proposer);
        loop {
            let Err(conflict) = self.host.replace_actuators(SKILLS, actuators.clone()) else {
                return;
            };
            let (ActuatorConflict::Taken(name) | ActuatorConflict::TooLarge(name)) = &conflict;
            tracing::warn!(%conflict, "an actuator of a skill is left out");
            let before = actuators.len();
            actuators.retain(|(known, _)| known != name);
            if actuators.len() == before {
                return;
            }
        }
    }

    /// Takes up what changes in the folder, and wakes skills by their schedules, until the daemon stops.
    pub(in crate::engine) async fn watch(
        self,
        mut schedules: SkillSchedules,
        quit: CancellationToken,
    ) {
        let mut told = BTreeSet::new();
        let mut guards = self.registry.storage().guards();
        loop {
            tokio::select! {
                () = quit.cancelled() => return,
                () = tokio::time::sleep(SKILL_FOLDER_INTERVAL) => {}
            }
            // A daemon that begins without a memory may get one.
            if !self.registry.has_folder() {
                continue;
            }
            let is_changed = refresh(&self.registry, &mut told).await;
            let now = self.registry.storage().guards();
            if is_changed || now != guards {
                guards = now;
                self.publish();
            }
            schedules.send_due(&self.registry.table()).await;
        }
    }
}

/// Looks at the folder, and says once what is wrong with a file; whether something changed.
async fn refresh(registry: &Arc<SkillRegistry>, told: &mut BTreeSet<String>) -> bool {
    let reading = Arc::clone(registry);
    let Ok(is_changed) = tokio::task::spawn_blocking(move || reading.refresh()).await else {
        tracing::error!("the folder of skills could not be read");
        return false;
    };
    let table = registry.table();
    let wrong: BTreeSet<String> =
        table.problems().iter().map(|problem| problem.reason.clone()).collect();
    for reason in wrong.difference(told) {
        tracing::warn!(%reason, "a skill does not serve as it is in its file");
    }
    *told = wrong;
    is_changed
}
