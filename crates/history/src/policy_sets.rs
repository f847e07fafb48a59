//! Sets of policies that the record holds, found by their hash.
//!
//! An event names the policies that its session is judged by from then on; whoever folds events needs them.

use bridle_loop::{GuardPolicies, PolicyBody, PolicyHash, RecordKind};
use bridle_record::{RecordFilter, RecordNumber, StoreError};
use std::sync::{Arc, Mutex, PoisonError};

use crate::policy_load;
use crate::record_body::parse;
use crate::record_source::{RecordSource, of_kinds};

/// Sets of the past that are kept in memory. Sessions get the present one with their next event.
const MAX_CACHED_SETS: usize = 16;

/// Records read at once while a set is looked for.
const POLICY_PAGE_RECORDS: usize = 64;

/// Sets of policies by their hash: from memory, or from the record.
#[derive(Debug, Default)]
pub struct PolicySetCache(Mutex<Vec<Arc<GuardPolicies>>>);

impl PolicySetCache {
    /// The set of this hash.
    ///
    /// # Errors
    /// The record has no such set, or this program does not understand it.
    pub fn find(
        &self,
        reader: &dyn RecordSource,
        hash: PolicyHash,
    ) -> Result<Arc<GuardPolicies>, StoreError> {
        let of_hash = |set: &&Arc<GuardPolicies>| set.hash() == hash;
        if let Some(set) = self.lock().iter().find(of_hash) {
            return Ok(Arc::clone(set));
        }
        let built_in = GuardPolicies::built_in();
        if built_in.hash() == hash {
            return Ok(built_in);
        }
        let Some(text) = recorded(reader, hash)? else {
            return Err(StoreError::Damaged(format!("no policies `{hash}` in the record").into()));
        };
        let set = policy_load::load_recorded(&text).map_err(|bad| {
            let what = format!("policies `{hash}` that this version does not take: {bad}");
            StoreError::Damaged(what.into())
        })?;
        let set = Arc::new(set);
        self.keep(&set);
        Ok(set)
    }

    /// Keeps a set in memory, in the place of the oldest one if there are too many.
    pub fn keep(&self, set: &Arc<GuardPolicies>) {
        let mut sets = self.lock();
        if sets.iter().all(|known| known.hash() != set.hash()) {
            sets.truncate(MAX_CACHED_SETS - 1);
            sets.insert(0, Arc::clone(set));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<GuardPolicies>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells whether the record has the policies of this hash.
pub fn is_recorded(reader: &dyn RecordSource, hash: PolicyHash) -> Result<bool, StoreError> {
    Ok(recorded(reader, hash)?.is_some())
}

/// Tells whether policies of this hash were installed by the engine of this program.
pub fn was_installed(reader: &dyn RecordSource, hash: PolicyHash) -> bool {
    let engine = GuardPolicies::engine();
    let is_same = |body: &PolicyBody<'_>| body.engine == Some(&*engine);
    find_recorded(reader, hash, is_same).is_ok_and(|text| text.is_some())
}

/// The text of the policies of this hash. Looks at the daemon's own records only.
fn recorded(reader: &dyn RecordSource, hash: PolicyHash) -> Result<Option<String>, StoreError> {
    find_recorded(reader, hash, |_| true)
}

fn find_recorded(
    reader: &dyn RecordSource,
    hash: PolicyHash,
    is_meant: impl Fn(&PolicyBody<'_>) -> bool,
) -> Result<Option<String>, StoreError> {
    let filter = RecordFilter { session: Some(Box::default()), ..of_kinds([RecordKind::Policy]) };
    let mut after = RecordNumber(0);
    loop {
        let page = reader.records(after, &filter, POLICY_PAGE_RECORDS)?;
        let Some(last) = page.last() else { return Ok(None) };
        after = last.number;
        let texts = page.iter().filter_map(|record| {
            let value = parse(record.body.text()?)?;
            let body = PolicyBody::read(&value);
            Some(body.text.filter(|_| is_meant(&body))?.to_owned())
        });
        if let Some(text) = { texts }.find(|text| PolicyHash::of(text) == hash) {
            return Ok(Some(text));
        }
    }
}
