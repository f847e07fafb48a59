//! Answers without a daemon: from the index as it is on the disk, for the owner of the files. For commands that are
//! to work while nothing runs.

use std::path::Path;
use std::sync::Arc;

use super::answers::from_catalog;
use super::failed;
use super::questions::MemexQuestion;
use super::refusal::MemexRefusal;
use crate::{MemexCatalog, MemexFolder, PrivateAccess, ReadRules, WallMinute};
use bridle_record::StoreError;
use bridle_sexp::Value;

/// Reader of a Memex that no daemon serves.
pub struct OfflineMemex {
    catalog: MemexCatalog,
}

impl OfflineMemex {
    /// Opens the index of a state directory.
    ///
    /// # Errors
    /// There is no folder, or no index of it.
    pub fn open(
        folder: &Path,
        rules: &ReadRules,
        state: &Path,
    ) -> Result<OfflineMemex, StoreError> {
        let memex = Arc::new(MemexFolder::open(folder, rules.clone())?);
        Ok(OfflineMemex { catalog: MemexCatalog::open(state, memex)? })
    }

    /// Answers what the index alone can answer: queries, outline, focus, agenda, one object. `now` is the present by
    /// the user's wall clock.
    ///
    /// # Errors
    /// The question is for a daemon, names what is not there, or the index cannot be read.
    pub fn answer(&self, ask: &MemexQuestion, now: WallMinute) -> Result<Value, MemexRefusal> {
        from_catalog(&self.catalog, ask, now, PrivateAccess::Owner).map_err(|error| failed(&error))
    }
}
