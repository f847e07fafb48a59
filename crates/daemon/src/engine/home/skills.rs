//! The skills of a home: the folder `skills` of the memory, looked at again and again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bridle_skill_host::{SkillRegistry, SkillStorage};
use tokio_util::sync::CancellationToken;

use crate::config::DaemonConfig;

/// Folder of skills in the folder of the memory.
pub(in crate::engine) const SKILL_FOLDER: &str = "skills";

/// Time between two looks at the folder.
const SKILL_FOLDER_INTERVAL: Duration = Duration::from_millis(500);

/// The registry, with what is in the folder at the start.
pub(in crate::engine) async fn open(config: &DaemonConfig) -> Arc<SkillRegistry> {
    let folder = config.memex.as_ref().map(|memex| memex.join(SKILL_FOLDER));
    let registry = Arc::new(SkillRegistry::new(folder, SkillStorage::new(&config.state)));
    refresh(&registry, &mut BTreeSet::new()).await;
    registry
}

/// Takes up what changes in the folder, until the daemon stops.
pub(in crate::engine) async fn watch(registry: Arc<SkillRegistry>, quit: CancellationToken) {
    if !registry.has_folder() {
        return;
    }
    let mut told = BTreeSet::new();
    loop {
        tokio::select! {
            () = quit.cancelled() => return,
            () = tokio::time::sleep(SKILL_FOLDER_INTERVAL) => refresh(&registry, &mut told).await,
        }
    }
}

/// Looks at the folder, and says once what is wrong with a file.
async fn refresh(registry: &Arc<SkillRegistry>, told: &mut BTreeSet<String>) {
    let reading = Arc::clone(registry);
    if tokio::task::spawn_blocking(move || reading.refresh()).await.is_err() {
        tracing::error!("the folder of skills could not be read");
        return;
    }
    let table = registry.table();
    let wrong: BTreeSet<String> =
        table.problems().iter().map(|problem| problem.reason.clone()).collect();
    for reason in wrong.difference(told) {
        tracing::warn!(%reason, "a skill does not serve as it is in its file");
    }
    *told = wrong;
}
