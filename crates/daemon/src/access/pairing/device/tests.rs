//! Devices that show a code: answered, fetched once, late, and guessed at.

use std::fs;

use tempfile::TempDir;

use super::{DEVICES_FILE, DevicePairing, MAX_WAITING, PairingState, WaitingDevices};
use crate::access::pairing::{CODE_MS, PairingError, PairingOffer};
use crate::access::tokens::{DAY_MS, TokenOwner, TokenScope};

/// The time in these tests: some day.
const NOW: i64 = 1_800_000_000_000;

struct Bench {
    dir: TempDir,
    devices: WaitingDevices,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let devices = WaitingDevices::new(dir.path());
        Bench { dir, devices }
    }

    /// A device that came.
    fn device(&self) -> DevicePairing {
        self.devices.create("tv", NOW).unwrap()
    }

    /// `pending`, `denied`, `expired` or `granted`.
    fn poll(&self, device: &DevicePairing, now: i64) -> &'static str {
        self.poll_as(device, device.secret.reveal(), now)
    }

    fn poll_as(&self, device: &DevicePairing, secret: &str, now: i64) -> &'static str {
        match self.devices.poll(&device.id, secret, now).unwrap() {
            PairingState::Pending => "pending",
            PairingState::Denied => "denied",
            PairingState::Expired => "expired",
            PairingState::Granted(..) => "granted",
        }
    }

    fn confirm(&self, code: &str, now: i64) -> bool {
        self.devices.confirm(code, offer, now).unwrap().is_some()
    }
}

fn offer(name: &str) -> PairingOffer {
    let scopes = [TokenScope::Talk].into_iter().collect();
    PairingOffer {
        name: name.into(),
        owner: TokenOwner::this_user(),
        scopes,
        lifetime: Some(DAY_MS),
    }
}

#[test]
fn a_yes_is_fetched_once_and_only_by_the_device() {
    let bench = Bench::new();
    let (device, other) = (bench.device(), bench.device());
    assert_eq!(bench.poll(&device, NOW), "pending");
    // As people type it, and as another process reads it.
    let typed = device.code.reveal().to_lowercase().replace('-', " ");
    assert!(WaitingDevices::new(bench.dir.path()).confirm(&typed, offer, NOW).unwrap().is_some());
    assert!(!bench.confirm(device.code.reveal(), NOW), "a code is good for one answer");
    assert_eq!(bench.poll_as(&device, other.secret.reveal(), NOW), "expired");
    assert_eq!(bench.poll(&other, NOW), "pending");
    assert_eq!(bench.poll(&device, NOW), "granted");
    assert_eq!(bench.poll(&device, NOW), "expired");
}

#[test]
fn a_no_stays_a_no() {
    let bench = Bench::new();
    let device = bench.device();
    assert!(bench.devices.deny(device.code.reveal(), NOW).unwrap().is_some());
    assert!(!bench.confirm(device.code.reveal(), NOW));
    assert_eq!(bench.poll(&device, NOW), "denied");
    assert_eq!(bench.poll(&device, NOW + 1), "denied");
}

#[test]
fn what_is_late_is_over() {
    let bench = Bench::new();
    let device = bench.device();
    assert!(!bench.confirm(device.code.reveal(), NOW + CODE_MS));
    let device = bench.device();
    assert!(bench.confirm(device.code.reveal(), NOW + CODE_MS - 1));
    assert_eq!(bench.poll(&device, NOW + CODE_MS), "expired");
    // A clock that went back far.
    assert_eq!(bench.poll(&device, NOW - 1), "expired");
}

#[test]
fn only_so_many_wait_and_a_yes_is_taken_by_one_of_many() {
    let bench = Bench::new();
    let device = bench.device();
    for _ in 1..MAX_WAITING {
        bench.device();
    }
    assert!(matches!(bench.devices.create("", NOW), Err(PairingError::TooManyDevices)));
    assert_eq!(bench.devices.list(NOW).unwrap().len(), MAX_WAITING);
    assert!(bench.devices.create("", NOW + CODE_MS).is_ok());
    let device_again = bench.devices.create("tv", NOW).unwrap();
    drop(device);
    assert!(bench.confirm(device_again.code.reveal(), NOW));
    let granted: usize = std::thread::scope(|scope| {
        let poll = || usize::from(bench.poll(&device_again, NOW) == "granted");
        let polls: Vec<_> = (0..8).map(|_| scope.spawn(poll)).collect();
        polls.into_iter().map(|poll| poll.join().unwrap()).sum()
    });
    assert_eq!(granted, 1);
}

#[test]
fn nothing_secret_is_in_the_file_and_what_is_strange_there_is_nobody() {
    let bench = Bench::new();
    let device = bench.devices.create("a\nb", NOW).unwrap();
    assert_eq!(&*bench.devices.list(NOW).unwrap()[0].name, "");
    let path = bench.dir.path().join(DEVICES_FILE);
    let text = fs::read_to_string(&path).unwrap();
    let code = device.code.reveal().replace('-', "");
    assert!(!text.contains(&code) && !text.contains(device.secret.reveal()), "{text}");
    for bad in ["", "(", "(:id 1)", "\u{0}", &text.replace(":answer :none", ":answer (:name 1)")] {
        fs::write(&path, bad).unwrap();
        assert_eq!(bench.poll(&device, NOW), "expired", "{bad:?}");
    }
    fs::write(&path, text).unwrap();
    assert_eq!(bench.poll(&device, NOW), "pending");
}
