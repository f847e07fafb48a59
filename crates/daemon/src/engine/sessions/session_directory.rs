//! Sessions in memory by name, those at rest among them, and when each is to wake.
//!
//! Owned by the hub, which finds, sweeps and evicts.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridle_loop::SessionId;

use crate::engine::sessions::live_session::LiveSessionSlot;
use crate::engine::sessions::resting_sessions::RestingSessions;
use crate::engine::sessions::session_timers::SessionTimers;

/// Every session in memory.
pub(in crate::engine) struct SessionDirectory {
    sessions: Mutex<HashMap<SessionId, Arc<LiveSessionSlot>>>,
    /// Sessions at rest whose State is in memory.
    pub(in crate::engine) loaded: Mutex<RestingSessions>,
    pub(in crate::engine) wakes: SessionTimers,
    /// Counts everything that needs an order: attachments, messages, rests.
    stamps: AtomicU64,
    names: RandomState,
}

impl Default for SessionDirectory {
    fn default() -> SessionDirectory {
        SessionDirectory {
            sessions: Mutex::default(),
            loaded: Mutex::default(),
            wakes: SessionTimers::default(),
            // A session that never rested has stamp 0.
            stamps: AtomicU64::new(1),
            names: RandomState::new(),
        }
    }
}

impl SessionDirectory {
    /// A number larger than all before.
    pub(in crate::engine) fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::Relaxed)
    }

    /// All sessions in memory.
    pub(in crate::engine) fn present(&self) -> Vec<Arc<LiveSessionSlot>> {
        self.map().values().cloned().collect()
    }

    /// A name that no session has.
    pub(in crate::engine) fn fresh_name(&self) -> SessionId {
        let name = format!("s{:016x}", self.names.hash_one(self.stamp()));
        SessionId::parse(&name).expect("hex digits are a name")
    }

    pub(in crate::engine) fn map(
        &self,
    ) -> MutexGuard<'_, HashMap<SessionId, Arc<LiveSessionSlot>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
