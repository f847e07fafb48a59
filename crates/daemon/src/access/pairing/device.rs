//! Pairing the other way round: a device shows a code, an operator confirms it, the device polls.
//!
//! For devices that have a screen and no keys. `http` calls [`WaitingDevices::create`] and
//! [`WaitingDevices::poll`] for the device, [`WaitingDevices::confirm`] and [`WaitingDevices::deny`] for an operator who
//! is known to it; `bridle pair` calls the same for whoever owns the state directory. The token is
//! made when the device fetches it and is nowhere before; until then there are hashes of the code
//! and of the device's secret. Not here: HTTP, and who may confirm.

mod file;

use std::fmt;
use std::io;
use std::path::Path;

pub use file::DEVICES_FILE;

use super::{CODE_CONTEXT, CODE_MS, PairingCode, PairingError, PairingOffer, plain};
use crate::access::secret_hash::SecretHash;
use crate::access::tokens::{MAX_NAME, TokenId, check_new, is_line};
use bridle_sexp::byte_text::{hex, is_hex};
use file::DevicesFile;

/// Devices that wait at once: a screen full of them. Each address opens few of them in a minute.
pub const MAX_WAITING: usize = 64;

/// Random bytes of the name of a pairing.
const ID_BYTES: usize = 6;

/// Random bytes of a device's secret: nobody guesses it.
const SECRET_BYTES: usize = 32;

/// Context of the hashes: nothing else is hashed under these words.
const SECRET_CONTEXT: &str = "bridle secret of a device that is paired, version 1";

/// Code that a device shows, with the id and secret that it keeps.
#[derive(Debug)]
pub struct DevicePairing {
    /// Code to show.
    pub code: PairingCode,
    /// Id with which the device polls.
    pub id: PairingId,
    /// Proof that a poll comes from this device.
    pub secret: DeviceSecret,
    /// End of the code, in milliseconds since 1970.
    pub expires: i64,
}

/// The name of a pairing: `p_` and hex digits. Tells nothing about the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PairingId(Box<str>);

impl PairingId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a name; `None` for another form.
    pub fn parse(text: &str) -> Option<PairingId> {
        let digits = text.strip_prefix("p_")?;
        let good = digits.len() == 2 * ID_BYTES && is_hex(digits);
        good.then(|| PairingId(text.into()))
    }
}

/// The secret of a device. Not in debug texts.
pub struct DeviceSecret(Box<str>);

impl DeviceSecret {
    /// The text, to hand it over.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for DeviceSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceSecret(..)")
    }
}

/// State of a pairing, for the device.
#[derive(Debug, PartialEq, Eq)]
pub enum PairingState {
    /// Nobody has answered yet.
    Pending,
    /// The answer is no.
    Denied,
    /// Expired, fetched before, or unknown.
    Expired,
    /// The answer is yes; this is said once.
    Granted(TokenId, PairingOffer),
}

/// A device that waits, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingDeviceInfo {
    /// Its pairing.
    pub id: PairingId,
    /// Id of the token that it will get.
    pub device: TokenId,
    /// Name that the device gives itself; may be empty.
    pub name: Box<str>,
    /// End of its code, in milliseconds since 1970.
    pub expires: i64,
    /// `pending`, `confirmed` or `denied`.
    pub status: &'static str,
}

/// The devices of a state directory that wait for an answer.
#[derive(Debug)]
pub struct WaitingDevices {
    file: DevicesFile,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WaitingDevice {
    id: PairingId,
    code: SecretHash,
    secret: SecretHash,
    device: TokenId,
    name: Box<str>,
    expires: i64,
    answer: OperatorAnswer,
}

/// Answer of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OperatorAnswer {
    None,
    No,
    Yes(PairingOffer),
}

impl WaitingDevices {
    /// Those of a state directory; nothing is read yet.
    pub fn new(state_dir: &Path) -> WaitingDevices {
        WaitingDevices { file: DevicesFile::new(state_dir) }
    }

    /// Opens a code for a device. A name that cannot be shown on a line is none.
    ///
    /// # Errors
    /// Too many devices wait, there is no randomness, or the file cannot be used.
    pub fn create(&self, name: &str, now_ms: i64) -> Result<DevicePairing, PairingError> {
        let mut bytes = [0; ID_BYTES + SECRET_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| PairingError::Random(io::Error::other(error)))?;
        let (id, secret) = bytes.split_at(ID_BYTES);
        let created = DevicePairing {
            code: PairingCode::from_system()?,
            id: PairingId(format!("p_{}", hex(id)).into()),
            secret: DeviceSecret(hex(secret).into()),
            expires: now_ms.saturating_add(CODE_MS),
        };
        let waiting = WaitingDevice {
            id: created.id.clone(),
            code: SecretHash::of(
                CODE_CONTEXT,
                plain(created.code.reveal()).ok_or(PairingError::NoCode)?,
            ),
            secret: SecretHash::of(SECRET_CONTEXT, created.secret.reveal()),
            device: TokenId::from_system().map_err(PairingError::Token)?,
            name: if is_line(name) { name.into() } else { "".into() },
            expires: created.expires,
            answer: OperatorAnswer::None,
        };
        self.file.change(|all| {
            all.retain(|waiting| is_waiting(waiting, now_ms));
            if all.len() >= MAX_WAITING {
                return Err(PairingError::TooManyDevices);
            }
            all.push(waiting);
            Ok(())
        })?;
        Ok(created)
    }

    /// Says yes to the device that shows a code; returns its id, or `None` if none shows it. Its
    /// token will be what `offer` makes of the name that the device gave itself.
    ///
    /// # Errors
    /// The offer cannot be, or the file cannot be used.
    pub fn confirm(
        &self,
        code: &str,
        offer: impl FnOnce(&str) -> PairingOffer,
        now_ms: i64,
    ) -> Result<Option<TokenId>, PairingError> {
        self.answer(code, now_ms, |waiting| {
            let offer = offer(&waiting.name);
            check_new(&offer.token(now_ms), now_ms).map_err(PairingError::Token)?;
            waiting.answer = OperatorAnswer::Yes(offer);
            Ok(())
        })
    }

    /// Says no to it.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn deny(&self, code: &str, now_ms: i64) -> Result<Option<TokenId>, PairingError> {
        self.answer(code, now_ms, |waiting| {
            waiting.answer = OperatorAnswer::No;
            Ok(())
        })
    }

    fn answer(
        &self,
        code: &str,
        now_ms: i64,
        change: impl FnOnce(&mut WaitingDevice) -> Result<(), PairingError>,
    ) -> Result<Option<TokenId>, PairingError> {
        let Some(code) = plain(code) else { return Ok(None) };
        let (hash, mut found) = (SecretHash::of(CODE_CONTEXT, code), None);
        self.file.change(|all| {
            all.retain(|waiting| is_waiting(waiting, now_ms));
            // All of them are compared, so that the time does not tell which one it was.
            let matches: Vec<bool> = all.iter().map(|waiting| waiting.code == hash).collect();
            let place = matches.iter().position(|is_it| *is_it);
            let waiting = place.and_then(|place| all.get_mut(place));
            // A code is good for one answer.
            if let Some(waiting) = waiting.filter(|waiting| waiting.answer == OperatorAnswer::None)
            {
                change(waiting)?;
                found = Some(waiting.device.clone());
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Tells whether a device with this secret waits.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn is_waiting(
        &self,
        id: &PairingId,
        secret: &str,
        now_ms: i64,
    ) -> Result<bool, PairingError> {
        let hash = SecretHash::of(SECRET_CONTEXT, secret);
        let all = self.file.read()?;
        let is_it = |waiting: &WaitingDevice| waiting.id == *id && waiting.secret == hash;
        Ok(all.iter().any(|waiting| is_it(waiting) && is_waiting(waiting, now_ms)))
    }

    /// Says how a pairing stands to whoever knows its secret. A yes is taken out: it is said once.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn poll(
        &self,
        id: &PairingId,
        secret: &str,
        now_ms: i64,
    ) -> Result<PairingState, PairingError> {
        let hash = SecretHash::of(SECRET_CONTEXT, secret);
        let is_it = |waiting: &WaitingDevice| {
            waiting.id == *id && waiting.secret == hash && is_waiting(waiting, now_ms)
        };
        let all = self.file.read()?;
        match all.iter().find(|waiting| is_it(waiting)).map(|waiting| &waiting.answer) {
            None => return Ok(PairingState::Expired),
            Some(OperatorAnswer::None) => return Ok(PairingState::Pending),
            Some(OperatorAnswer::No) => return Ok(PairingState::Denied),
            Some(OperatorAnswer::Yes(_)) => {}
        }
        let mut taken = PairingState::Expired;
        self.file.change(|all| {
            let Some(place) = all.iter().position(is_it) else { return Ok(()) };
            let waiting = all.remove(place);
            if let OperatorAnswer::Yes(offer) = waiting.answer {
                taken = PairingState::Granted(waiting.device, offer);
            }
            Ok(())
        })?;
        Ok(taken)
    }

    /// The devices that wait, the first to come first.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn list(&self, now_ms: i64) -> Result<Vec<WaitingDeviceInfo>, PairingError> {
        let info = |waiting: WaitingDevice| {
            let status = match waiting.answer {
                OperatorAnswer::None => "pending",
                OperatorAnswer::No => "denied",
                OperatorAnswer::Yes(_) => "confirmed",
            };
            let WaitingDevice { id, device, name, expires, .. } = waiting;
            WaitingDeviceInfo { id, device, name, expires, status }
        };
        let all = self.file.read()?.into_iter();
        Ok(all.filter(|waiting| is_waiting(waiting, now_ms)).map(info).collect())
    }
}

fn is_waiting(waiting: &WaitingDevice, now_ms: i64) -> bool {
    // As for codes of the other kind.
    now_ms < waiting.expires && waiting.expires <= now_ms.saturating_add(CODE_MS)
}

/// Bytes of a line that are not the name: several times what they take.
const LINE_BYTES: u64 = 1 << 10;

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = (MAX_WAITING as u64) * (LINE_BYTES + 2 * MAX_NAME as u64);

#[cfg(test)]
mod tests;
