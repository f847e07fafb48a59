//! Counts of wrong codes and of new devices, for each user or address and for all together.
//!
//! The pairing service keeps them in memory: a restart forgets them, and takes longer than a guess is
//! worth.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::access::network::PeerSource;

/// Wrong codes of one user of this machine, or of one address, in a minute; then it has to wait for the
/// next one.
pub const WRONG_A_MINUTE: u32 = 5;

/// Wrong codes of all in a minute; then whoever was wrong waits for the next one, and whoever was not
/// has one try. Five minutes of it guess one of 16 open codes with a chance of one in 2.5 million, if
/// the tries come from `MAX_PEERS_A_MINUTE` addresses.
pub const WRONG_ALL_A_MINUTE: u32 = 60;

/// Users and addresses that are told apart in a minute; further addresses wait for the next one.
pub(super) const MAX_PEERS_A_MINUTE: usize = 4_096;

/// Codes that devices of one address ask for in a minute.
pub const OPENED_A_MINUTE: u32 = 5;

/// Codes that devices of all addresses ask for in a minute: each is a write to the disk.
pub const OPENED_ALL_A_MINUTE: u32 = 60;

/// Polls of nobody, and refresh tokens that are none, of one address in a minute: a device that has
/// not noticed yet that its code is over polls twelve times.
pub(super) const STRAYS_A_MINUTE: u32 = 60;

/// Strays of all addresses in a minute: each reads a file.
pub(super) const STRAYS_ALL_A_MINUTE: u32 = 600;

/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60 * 1_000;

/// Wrong attempts of the present minute, for a bounded number of peers.
#[derive(Debug)]
pub(super) struct WrongCodeCounter {
    /// Most of one address.
    each: u32,
    /// Most of all.
    all: u32,
    /// Whether one that was not wrong has a try when all together were too often.
    spares_newcomers: bool,
    minute: Mutex<WrongCodeMinute>,
}

#[derive(Debug, Default)]
struct WrongCodeMinute {
    began: i64,
    all: u32,
    by_peer: BTreeMap<PeerSource, u32>,
}

impl WrongCodeCounter {
    /// Makes a counter with these limits a minute.
    pub(super) fn new(each: u32, all: u32) -> WrongCodeCounter {
        WrongCodeCounter { each, all, spares_newcomers: false, minute: Mutex::default() }
    }

    /// Makes a counter that leaves a try to a peer without a wrong one in this minute.
    pub(super) fn sparing_newcomers(each: u32, all: u32) -> WrongCodeCounter {
        WrongCodeCounter { spares_newcomers: true, ..WrongCodeCounter::new(each, all) }
    }

    /// Counts an attempt as wrong until it is [`forgiven`](WrongCodeCounter::forgive), so that many at once
    /// count as many.
    ///
    /// # Errors
    /// Too many attempts were wrong; returns the wait in milliseconds.
    pub(super) fn attempt(&self, from: PeerSource, now_ms: i64) -> Result<(), i64> {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        minute.turn(now_ms);
        let wait = minute.began.saturating_add(MINUTE_MS).saturating_sub(now_ms);
        let own = minute.by_peer.get(&from).copied().unwrap_or(0);
        let is_spared = self.spares_newcomers && own == 0;
        let is_full = minute.all >= self.all && !is_spared;
        let is_user = matches!(from, PeerSource::Uid(_));
        let is_crowded = own == 0 && !is_user && minute.by_peer.len() >= MAX_PEERS_A_MINUTE;
        if own >= self.each || is_full || is_crowded {
            return Err(wait);
        }
        *minute.by_peer.entry(from).or_default() += 1;
        minute.all = minute.all.saturating_add(1);
        Ok(())
    }

    /// Takes an attempt back: it was right.
    pub(super) fn forgive(&self, from: PeerSource) {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        minute.all = minute.all.saturating_sub(1);
        let own = minute.by_peer.entry(from).or_default();
        *own = own.saturating_sub(1);
    }
}

impl WrongCodeMinute {
    /// Begins a new minute when this one is over, or when the clock went back.
    fn turn(&mut self, now_ms: i64) {
        let age = now_ms.saturating_sub(self.began);
        if !(0..MINUTE_MS).contains(&age) {
            *self = WrongCodeMinute { began: now_ms, ..WrongCodeMinute::default() };
        }
    }
}
