//! Where pairings are served: one desk for a daemon, called by the HTTP room alone.
//!
//! Holds what must not be asked too often, in memory: a restart forgives, and takes longer than a
//! guess is worth. What is lasting is in the files of `pairing`, `device` and `tokens`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::wrong_codes::{
    OPENED_A_MINUTE, OPENED_ALL_A_MINUTE, STRAYS_A_MINUTE, STRAYS_ALL_A_MINUTE, WRONG_A_MINUTE,
    WRONG_ALL_A_MINUTE, WrongCodeCounter,
};
use super::{
    CODE_MS, DevicePairing, MAX_WAITING, PairedToken, PairingError, PairingId, PairingOffer,
    PairingRefusal, PairingRegistry, PairingState, WaitingDevices, plain,
};
use crate::access::network::PeerSource;
use crate::access::tokens::{
    DAY_MS, RefreshTokens, RenewedToken, TokenId, TokenOwner, TokenRegistry, TokenScope, TokenSeed,
};

/// Time that the token of a device holds that showed its code, in milliseconds: a day. It has a
/// refresh token for the next one.
pub const ACCESS_MS: i64 = DAY_MS;

/// Seconds that a device waits between two polls.
pub const INTERVAL_SEC: u64 = 5;

/// Interval that is enforced, in milliseconds: less the time that a poll may take on its way.
const INTERVAL_MS: i64 = 4_500;

/// Milliseconds that a poll before its time adds to the interval (RFC 8628).
const PENALTY_MS: i64 = 5_000;

/// Longest time between two polls, in milliseconds.
const MAX_INTERVAL_MS: i64 = 60_000;

/// Service that issues, redeems and confirms codes for the HTTP handlers.
#[derive(Debug)]
pub struct PairingService {
    pairings: PairingRegistry,
    devices: WaitingDevices,
    refreshes: RefreshTokens,
    /// Codes that were none.
    wrong: WrongCodeCounter,
    /// Codes that were none, of operators: others cannot use up their tries.
    misread: WrongCodeCounter,
    /// Codes that devices asked for.
    opened: WrongCodeCounter,
    /// Polls and refresh tokens of nobody.
    strays: WrongCodeCounter,
    /// Last polls of waiting devices, and their intervals in milliseconds.
    polls: Mutex<HashMap<PairingId, (i64, i64)>>,
}

/// State of the pairing of a device.
#[derive(Debug)]
pub enum PairingPollResult {
    /// Nobody has answered yet.
    Pending,
    /// The answer is no.
    Denied,
    /// Expired, fetched before, or unknown.
    Expired,
    /// The answer is yes, said this once.
    Granted(Box<RenewedToken>),
}

impl PairingService {
    /// The desk of a state directory.
    pub fn new(state_dir: &Path) -> PairingService {
        PairingService {
            pairings: PairingRegistry::new(state_dir),
            devices: WaitingDevices::new(state_dir),
            refreshes: RefreshTokens::new(state_dir),
            wrong: WrongCodeCounter::sparing_newcomers(WRONG_A_MINUTE, WRONG_ALL_A_MINUTE),
            misread: WrongCodeCounter::new(WRONG_A_MINUTE, WRONG_ALL_A_MINUTE),
            opened: WrongCodeCounter::new(OPENED_A_MINUTE, OPENED_ALL_A_MINUTE),
            strays: WrongCodeCounter::new(STRAYS_A_MINUTE, STRAYS_ALL_A_MINUTE),
            polls: Mutex::default(),
        }
    }

    /// Makes the token that a code is good for, once.
    ///
    /// # Errors
    /// [`PairingRefusal::NotOpen`] for a code that is wrong, over or redeemed, which are all the same to
    /// whoever asks; [`PairingRefusal::SlowDown`] after too many of those.
    pub fn redeem(
        &self,
        tokens: &TokenRegistry,
        presented: &str,
        from: PeerSource,
        now_ms: i64,
    ) -> Result<PairedToken, PairingRefusal> {
        self.wrong.attempt(from, now_ms).map_err(slow_down)?;
        let offer = match plain(presented) {
            Some(code) => self.pairings.take(&code, now_ms).map_err(PairingRefusal::Failed)?,
            None => None,
        };
        let Some(offer) = offer else { return Err(PairingRefusal::NotOpen) };
        self.wrong.forgive(from);
        let seed = TokenSeed::from_system().map_err(failed)?;
        let new = offer.token(now_ms);
        let (scopes, expires) = (new.scopes, new.expires);
        let token = tokens.create(new, &seed, now_ms).map_err(failed)?;
        Ok(PairedToken { token, id: seed.id(), scopes, expires })
    }

    /// Opens a code for a device that will show it.
    ///
    /// # Errors
    /// [`PairingRefusal::SlowDown`] after too many; [`PairingRefusal::Failed`] also when too many wait.
    pub fn create(
        &self,
        name: &str,
        from: PeerSource,
        now_ms: i64,
    ) -> Result<DevicePairing, PairingRefusal> {
        self.opened.attempt(from, now_ms).map_err(slow_down)?;
        self.devices.create(name, now_ms).map_err(PairingRefusal::Failed)
    }

    /// Answers the device that shows a code, for an operator; a yes is for talking, for the owner.
    ///
    /// # Errors
    /// The same refusals as [`PairingService::redeem`].
    pub fn answer(
        &self,
        code: &str,
        is_yes: bool,
        from: PeerSource,
        now_ms: i64,
    ) -> Result<TokenId, PairingRefusal> {
        self.misread.attempt(from, now_ms).map_err(slow_down)?;
        let offer = |name: &str| PairingOffer {
            name: name.into(),
            owner: TokenOwner::this_user(),
            scopes: [TokenScope::Talk].into_iter().collect(),
            lifetime: Some(ACCESS_MS),
        };
        let answered = match is_yes {
            true => self.devices.confirm(code, offer, now_ms),
            false => self.devices.deny(code, now_ms),
        };
        let device = answered.map_err(PairingRefusal::Failed)?.ok_or(PairingRefusal::NotOpen)?;
        self.misread.forgive(from);
        Ok(device)
    }

    /// Says how a pairing stands to the device that knows its secret; makes its token when it is
    /// confirmed, once.
    ///
    /// # Errors
    /// [`PairingRefusal::SlowDown`] for one that asks too often.
    pub fn poll(
        &self,
        tokens: &TokenRegistry,
        (id, secret): (&str, &str),
        from: PeerSource,
        now_ms: i64,
    ) -> Result<PairingPollResult, PairingRefusal> {
        self.strays.attempt(from, now_ms).map_err(slow_down)?;
        let Some(id) = PairingId::parse(id) else { return Ok(PairingPollResult::Expired) };
        if !self.devices.is_waiting(&id, secret, now_ms).map_err(PairingRefusal::Failed)? {
            return Ok(PairingPollResult::Expired);
        }
        self.strays.forgive(from);
        self.pace(&id, now_ms).map_err(slow_down)?;
        let (id, offer) =
            match self.devices.poll(&id, secret, now_ms).map_err(PairingRefusal::Failed)? {
                PairingState::Pending => return Ok(PairingPollResult::Pending),
                PairingState::Denied => return Ok(PairingPollResult::Denied),
                PairingState::Expired => return Ok(PairingPollResult::Expired),
                PairingState::Granted(id, offer) => (id, offer),
            };
        let lifetime = offer.lifetime.unwrap_or(ACCESS_MS);
        let seed = TokenSeed::for_id(&id).map_err(failed)?;
        let token = tokens.create(offer.token(now_ms), &seed, now_ms).map_err(failed)?;
        let refresh = self.refreshes.begin(&id, lifetime, now_ms).map_err(failed)?;
        let expires = now_ms.saturating_add(lifetime);
        Ok(PairingPollResult::Granted(Box::new(RenewedToken { token, refresh, id, expires })))
    }

    /// Renews the token of a device.
    ///
    /// # Errors
    /// The same refusals as [`PairingService::redeem`].
    pub fn refresh(
        &self,
        tokens: &TokenRegistry,
        presented: &str,
        from: PeerSource,
        now_ms: i64,
    ) -> Result<RenewedToken, PairingRefusal> {
        self.strays.attempt(from, now_ms).map_err(slow_down)?;
        let renewed = self.refreshes.renew(tokens, presented, now_ms).map_err(failed)?;
        let renewed = renewed.ok_or(PairingRefusal::NotOpen)?;
        self.strays.forgive(from);
        Ok(renewed)
    }

    /// Notes a poll; says how long to wait if it came too early.
    fn pace(&self, id: &PairingId, now_ms: i64) -> Result<(), i64> {
        let mut polls = self.polls.lock().unwrap_or_else(PoisonError::into_inner);
        if polls.len() >= 2 * MAX_WAITING {
            polls.retain(|_, (last, _)| now_ms.saturating_sub(*last) < CODE_MS);
        }
        let (last, wait) = polls.entry(id.clone()).or_insert((i64::MIN, INTERVAL_MS));
        let since = now_ms.saturating_sub(*last);
        // A clock that was set back makes nobody wait.
        let is_early = (0..*wait).contains(&since);
        *last = now_ms;
        if !is_early {
            return Ok(());
        }
        *wait = wait.saturating_add(PENALTY_MS).min(MAX_INTERVAL_MS);
        Err(*wait)
    }
}

fn slow_down(retry_after_ms: i64) -> PairingRefusal {
    PairingRefusal::SlowDown { retry_after_ms }
}

fn failed(error: crate::access::tokens::TokenError) -> PairingRefusal {
    PairingRefusal::Failed(PairingError::Token(error))
}
