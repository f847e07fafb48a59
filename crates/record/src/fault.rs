//! Places where a test build may die. [`point`] stands at every write boundary; without the feature
//! `faults` it compiles to nothing. Never part of a release.
//!
//! - `BRIDLE_FAULT=NAME` kills the process (`SIGKILL`) when it reaches the point, `NAME:3` the third
//!   time. Points of the store: see [`POINTS`].
//! - `BRIDLE_FAULT_SHADOW=DIR` copies the files of the record into `DIR/commit-N` after commit `N` is
//!   durable and before anybody hears of it; the two latest are kept. What a power cut would leave.
//! - `BRIDLE_FAULT_FULL=FILE` lets the record not grow as long as that file exists: a full disk.

/// The points that the store passes, in the order of a commit, then of forgetting.
pub const POINTS: &[&str] = &[
    "store.begin",
    "store.record",
    "store.tables",
    "store.commit",
    "store.committed",
    "store.shadowed",
    "store.forget",
    "store.forgotten",
    "store.scrubbed",
];

/// The points that compacting passes, in order.
pub const COMPACT_POINTS: &[&str] = &[
    "store.compact",
    "store.compacted",
    "store.compact.sessions",
    "store.vacuum",
    "store.vacuumed",
];

/// The points that opening a record passes that is not there yet, or of an older version.
pub const OPEN_POINTS: &[&str] =
    &["store.open.protected", "store.open.logged", "store.open.migrated", "store.open.created"];

/// The points that a repair passes, in order.
pub const REPAIR_POINTS: &[&str] =
    &["repair.built", "repair.ready", "repair.aside", "repair.exchanged"];

/// The points that the shelf passes when a file is put on it.
pub const SHELF_POINTS: &[&str] = &["shelf.begin", "shelf.commit", "shelf.committed"];

#[cfg(not(feature = "faults"))]
mod off;
#[cfg(feature = "faults")]
mod on;

#[cfg(not(feature = "faults"))]
pub use off::point;
#[cfg(not(feature = "faults"))]
pub(crate) use off::{disk_is_full, shadow};
#[cfg(feature = "faults")]
pub use on::point;
#[cfg(feature = "faults")]
pub(crate) use on::{disk_is_full, shadow};
