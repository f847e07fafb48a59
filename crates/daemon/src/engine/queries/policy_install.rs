//! Other policies while the daemon runs: at its start, on SIGHUP, and when an owner asks.

use std::sync::Arc;

use bridle_history::policy_sets;
use bridle_loop::PolicyHash;

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::guard::{self, PolicyCandidate};
use crate::engine::hub::Hub;
use crate::engine::stream::AttachRole;
use crate::engine::stream::AttachmentId;

/// Reason for a shell that may no longer see its session.
const NO_LONGER: &str = "the policies that hold now do not let this connection be here";

/// Reason for a file that could not even be looked at.
const NOT_READ: &str = "the policies could not be read; the daemon's log has the reason";

/// Reads the file of policies again, checks it, and lets it hold. The old ones stay when
/// anything is wrong with it, or when it cannot be recorded.
///
/// # Errors
/// `invalid-value` with the lines of the file; `store-unavailable`.
pub(crate) async fn install_policies(hub: &Arc<Hub>, by: &str) -> Result<PolicyHash, EngineError> {
    let _alone = hub.home.guard.installing.lock().await;
    let of = Arc::clone(hub);
    let read = tokio::task::spawn_blocking(move || of.home.guard.read()).await;
    let read = read.map_err(|error| {
        tracing::error!(%error, "reading the policies broke off");
        EngineError::because(EngineErrorCode::Internal, NOT_READ)
    })?;
    let candidate = match read {
        Ok(candidate) => candidate,
        Err(reason) => {
            hub.home.guard.refuse(&reason);
            tell_refused(hub, &reason, by).await;
            return Err(EngineError::because(EngineErrorCode::InvalidValue, reason));
        }
    };
    record_policies(hub, &candidate, by).await?;
    let hash = hub.home.guard.install(candidate);
    tracing::info!(%hash, by, "policies installed");
    look_again(hub);
    Ok(hash)
}

/// Records at the start what holds, and why the file does not if it does not.
pub(in crate::engine) async fn record_first_policies(hub: &Hub, by: &str) {
    let present = hub.home.guard.present();
    if let Some(reason) = &present.fault {
        tell_refused(hub, reason, by).await;
    }
    let hash = present.installed.hash();
    let known = hub.home.readers.read(move |reader| policy_sets::is_recorded(reader, hash)).await;
    let is_recorded = match known {
        Ok(true) => true,
        // Otherwise it is recorded with the first session that needs it.
        _ => hub.home.record_own(present.draft(hub.home.now(), by)).await,
    };
    if is_recorded {
        hub.home.guard.set_recorded();
    }
}

/// Says loudly that policies were not installed.
async fn tell_refused(hub: &Hub, reason: &str, by: &str) {
    tracing::warn!(reason, "the policies are not installed; what held before goes on to hold");
    hub.home.record_own(guard::refusal(hub.home.guard.file(), reason, hub.home.now(), by)).await;
}

async fn record_policies(
    hub: &Hub,
    candidate: &PolicyCandidate,
    by: &str,
) -> Result<(), EngineError> {
    let hash = candidate.hash();
    if hub.home.readers.read(move |reader| policy_sets::is_recorded(reader, hash)).await? {
        return Ok(());
    }
    match hub.home.record_own(candidate.draft(hub.home.now(), by)).await {
        true => Ok(()),
        false => Err(EngineErrorCode::StoreUnavailable.into()),
    }
}

/// Asks again for everybody who is attached.
fn look_again(hub: &Hub) {
    for session in hub.directory.present() {
        let feeds: Vec<(AttachmentId, Principal, AttachRole)> = {
            let inner = session.lock();
            inner.feeds.iter().map(|feed| (feed.id, feed.who.clone(), feed.role)).collect()
        };
        for (id, who, role) in feeds {
            // Whoever is unknown holds nothing but the own conversation.
            if who == Principal::Anonymous || session.admits(&hub.home, &who, role) {
                continue;
            }
            if let Some(feed) = session.lock().feed(id) {
                feed.end(EngineError::because(EngineErrorCode::UnknownSession, NO_LONGER));
            }
        }
    }
}
