//! The child side where there is no Linux: it says so. Every promise is missing, nothing runs.

use std::ffi::OsString;

/// Exit code for what this system cannot do.
const UNAVAILABLE: u8 = 69;

/// Refuses.
#[must_use]
pub fn run_helper(_arguments: &[OsString]) -> u8 {
    UNAVAILABLE
}
