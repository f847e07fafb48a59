//! The record through its public face: kept, read, tampered with, forgotten, copied in mid-air.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

mod commit;
mod compact;
mod crash;
mod forget;
mod full;
mod places;
mod read;
mod record_pages;
mod repair;
mod shared;
mod support;
mod tamper;
