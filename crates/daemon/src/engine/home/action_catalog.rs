//! Descriptions of actions by their hash: those that the record has, and what a thinker is offered.
//!
//! Filled by batches, which record a description before a session names it; asked by thoughts. What is not
//! in memory is in the record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridle_history::action_specs;
use bridle_host::{HostCatalog, OfferedAction};
use bridle_loop::{ActionSpec, ActuatorRef, ActuatorSpec, TextDigest, ThinkerPrompt};
use bridle_record::{RecordReader, StoreError};

use crate::engine::home::Home;

/// Descriptions that are kept in memory; of more than these, some are read from the record again.
const MAX_KEPT_SPECS: usize = 512;

/// Lists of offered actions that are kept in memory.
const MAX_KEPT_OFFERS: usize = 64;

/// Descriptions of actions.
#[derive(Debug, Default)]
pub(in crate::engine) struct ActionCatalog(Mutex<KeptCatalogs>);

#[derive(Debug, Default)]
struct KeptCatalogs {
    specs: HashMap<TextDigest, KeptSpec>,
    offers: HashMap<TextDigest, Arc<[OfferedAction]>>,
}

#[derive(Debug)]
struct KeptSpec {
    spec: Arc<ActuatorSpec>,
    is_recorded: bool,
}

impl ActionCatalog {
    /// The descriptions of the host's own actuators; looks in the record for them, once.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(in crate::engine) fn start(
        host: &HostCatalog,
        reader: &RecordReader,
    ) -> Result<ActionCatalog, StoreError> {
        let catalog = ActionCatalog::default();
        let digests: Vec<TextDigest> = host.actuators.iter().filter_map(|it| it.specs).collect();
        for (digest, spec) in action_specs::find(reader, &digests)? {
            catalog.insert(digest, &Arc::new(spec), true);
        }
        Ok(catalog)
    }

    /// Keeps a description; tells whether it is to be recorded.
    pub(in crate::engine) fn keep(&self, digest: TextDigest, spec: &Arc<ActuatorSpec>) -> bool {
        if self.lock().specs.get(&digest).is_some_and(|kept| kept.is_recorded) {
            return false;
        }
        self.insert(digest, spec, false);
        true
    }

    /// Notes that the record has these.
    pub(in crate::engine) fn set_recorded(&self, digests: &[TextDigest]) {
        let mut kept = self.lock();
        for digest in digests {
            if let Some(kept) = kept.specs.get_mut(digest) {
                kept.is_recorded = true;
            }
        }
    }

    fn insert(&self, digest: TextDigest, spec: &Arc<ActuatorSpec>, is_recorded: bool) {
        let mut kept = self.lock();
        if kept.specs.len() >= MAX_KEPT_SPECS {
            kept.specs.retain(|_, kept| !kept.is_recorded);
        }
        kept.specs.insert(digest, KeptSpec { spec: Arc::clone(spec), is_recorded });
    }

    fn find(&self, digest: TextDigest) -> Option<Arc<ActuatorSpec>> {
        self.lock().specs.get(&digest).map(|kept| Arc::clone(&kept.spec))
    }

    fn offer(&self, catalog: TextDigest, offered: &Arc<[OfferedAction]>) {
        let mut kept = self.lock();
        if kept.offers.len() >= MAX_KEPT_OFFERS {
            kept.offers.clear();
        }
        kept.offers.insert(catalog, Arc::clone(offered));
    }

    fn lock(&self) -> MutexGuard<'_, KeptCatalogs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Home {
    /// The actions that a thinker can propose: those of the actuators that its session knows and that are
    /// described.
    pub(in crate::engine) async fn offered_to(
        &self,
        prompt: &ThinkerPrompt,
    ) -> Arc<[OfferedAction]> {
        let Some(catalog) = prompt.catalog else { return Arc::new([]) };
        let known = self.abilities.actions.lock().offers.get(&catalog).cloned();
        if let Some(offered) = known {
            return offered;
        }
        let actuators = &prompt.context.actuators;
        let is_missing = |digest: &TextDigest| self.abilities.actions.find(*digest).is_none();
        let missing: Vec<TextDigest> =
            actuators.iter().filter_map(|it| it.specs).filter(is_missing).collect();
        if !missing.is_empty() {
            let found = self.readers.read(move |reader| action_specs::find(reader, &missing)).await;
            match found {
                Ok(found) => {
                    for (digest, spec) in found {
                        self.abilities.actions.insert(digest, &Arc::new(spec), true);
                    }
                }
                Err(error) => tracing::warn!(%error, "descriptions of actions were not read"),
            }
        }
        let offered = self.offered_by(actuators);
        // A list that lacks a description is not the last word.
        let mut digests = actuators.iter().filter_map(|it| it.specs);
        if digests.all(|digest| self.abilities.actions.find(digest).is_some()) {
            self.abilities.actions.offer(catalog, &offered);
        }
        offered
    }

    fn offered_by(&self, actuators: &[ActuatorRef]) -> Arc<[OfferedAction]> {
        let mut offered = Vec::new();
        for actuator in actuators {
            let Some(digest) = actuator.specs else { continue };
            let bare = || actuator.actions.iter().cloned().map(ActionSpec::bare).collect();
            let specs: Vec<ActionSpec> =
                self.abilities.actions.find(digest).map_or_else(bare, |spec| spec.actions.clone());
            offered.extend(specs.into_iter().map(|spec| OfferedAction {
                target: actuator.name.clone(),
                place: actuator.place,
                spec,
            }));
        }
        offered.into()
    }
}
