//! Codes issued and redeemed, in time and late, once and twice, guessed and raced for.

use std::fs;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use super::{
    ALPHABET, CODE_MS, MAX_OPEN, PAIRINGS_FILE, PairingCode, PairingError, PairingOffer,
    PairingRefusal, PairingRegistry, PairingService, WRONG_A_MINUTE, WRONG_ALL_A_MINUTE, plain,
};
use crate::access::network::PeerSource;
use crate::access::tokens::{DAY_MS, TokenOwner, TokenRegistry, TokenScope};

/// The time in these tests: some day.
const NOW: i64 = 1_800_000_000_000;

const PHONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

/// A code that can be typed and that nobody issued.
const WRONG: &str = "2222-2222";

struct Bench {
    dir: TempDir,
    desk: PairingService,
    tokens: TokenRegistry,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let (desk, tokens) =
            (PairingService::new(dir.path()), TokenRegistry::load(dir.path()).unwrap());
        Bench { dir, desk, tokens }
    }

    /// A code as another process issues it.
    fn issue(&self) -> PairingCode {
        let code = PairingCode::from_system().unwrap();
        assert_eq!(self.try_issue(&code, offer()).unwrap(), NOW + CODE_MS);
        code
    }

    fn try_issue(&self, code: &PairingCode, offer: PairingOffer) -> Result<i64, PairingError> {
        PairingRegistry::new(self.dir.path()).issue(code, offer, NOW)
    }

    /// `paired`, `not open` or `slow down`.
    fn redeem(&self, code: &str, from: IpAddr, now: i64) -> &'static str {
        match self.desk.redeem(&self.tokens, code, PeerSource::of(None, from), now) {
            Ok(_) => "paired",
            Err(PairingRefusal::NotOpen) => "not open",
            Err(PairingRefusal::SlowDown { retry_after_ms }) => {
                assert!((1..=60_000).contains(&retry_after_ms), "{retry_after_ms}");
                "slow down"
            }
            Err(PairingRefusal::Failed(error)) => panic!("{error}"),
        }
    }
}

fn offer() -> PairingOffer {
    let scopes = [TokenScope::Observe].into_iter().collect();
    PairingOffer {
        name: "phone".into(),
        owner: TokenOwner::this_user(),
        scopes,
        lifetime: Some(DAY_MS),
    }
}

fn address(number: u8) -> IpAddr {
    IpAddr::from([198, 51, 100, number])
}

#[test]
fn a_code_is_good_once_for_the_token_that_was_offered() {
    let bench = Bench::new();
    let code = bench.issue();
    let paired = bench
        .desk
        .redeem(&bench.tokens, code.reveal(), PeerSource::of(None, PHONE), NOW + 1)
        .unwrap();
    assert_eq!(paired.expires, Some(NOW + 1 + DAY_MS));
    let grant = bench.tokens.verify(paired.token.reveal(), NOW + 2).unwrap();
    assert_eq!((grant.id, grant.scopes), (paired.id, offer().scopes));
    assert_eq!(&*bench.tokens.list().unwrap()[0].name, "phone");
    assert_eq!(bench.redeem(code.reveal(), PHONE, NOW + 2), "not open");
    assert_eq!(bench.tokens.list().unwrap().len(), 1);
}

#[test]
fn a_code_ends_and_a_clock_set_back_does_not_lengthen_it() {
    let bench = Bench::new();
    let code = bench.issue();
    assert_eq!(bench.redeem(code.reveal(), PHONE, NOW - 1), "not open");
    let code = bench.issue();
    assert_eq!(bench.redeem(code.reveal(), PHONE, NOW + CODE_MS), "not open");
    let code = bench.issue();
    assert_eq!(bench.redeem(code.reveal(), PHONE, NOW + CODE_MS - 1), "paired");
}

#[test]
fn a_code_may_be_typed_as_people_type() {
    let check = |text: &str, good: bool| assert_eq!(plain(text).is_some(), good, "{text}");
    assert_eq!(plain("abcd-efgh"), Some(*b"ABCDEFGH"));
    assert_eq!(plain(" ab cd ef gh "), Some(*b"ABCDEFGH"));
    for bad in ["", "ABCD-EFG", "ABCD-EFGHJ", "ABCD_EFGH", "ABCDEFG0", "ABCDEFGI", "ABCDEFG\u{e9}"]
    {
        check(bad, false);
    }
    check(&"-".repeat(1 << 20), false);
    for _ in 0..100 {
        let code = PairingCode::from_system().unwrap();
        assert_eq!((code.reveal().len(), &code.reveal()[4..5]), (9, "-"));
        check(code.reveal(), true);
    }
    for confusing in b"0O1IL" {
        assert!(!ALPHABET.contains(confusing));
    }
}

#[test]
fn whoever_guesses_has_to_wait_and_others_need_not() {
    let bench = Bench::new();
    let code = bench.issue();
    for _ in 0..WRONG_A_MINUTE {
        assert_eq!(bench.redeem(WRONG, PHONE, NOW), "not open");
    }
    assert_eq!(bench.redeem(code.reveal(), PHONE, NOW + 59_999), "slow down");
    assert_eq!(bench.redeem(code.reveal(), address(1), NOW), "paired");
    let code = bench.issue();
    assert_eq!(bench.redeem(code.reveal(), PHONE, NOW + 60_000), "paired");
}

#[test]
fn a_network_of_ipv6_is_one_peer() {
    let bench = Bench::new();
    let address = |host: u16| IpAddr::from([0x2001, 0xdb8, 0, 1, host, 0, 0, host]);
    for host in 0..u16::try_from(WRONG_A_MINUTE).unwrap() {
        assert_eq!(bench.redeem(WRONG, address(host), NOW), "not open");
    }
    assert_eq!(bench.redeem(WRONG, address(999), NOW), "slow down");
    let mapped = IpAddr::from(std::net::Ipv4Addr::new(192, 0, 2, 7).to_ipv6_mapped());
    for from in [PHONE, mapped, PHONE, mapped, PHONE] {
        assert_eq!(bench.redeem("x", from, NOW), "not open");
    }
    assert_eq!(bench.redeem("x", mapped, NOW), "slow down");
}

#[test]
fn programs_of_another_user_do_not_use_up_the_tries_of_this_one() {
    let bench = Bench::new();
    let code = bench.issue();
    let from = |uid| PeerSource::of(Some(uid), IpAddr::from([127, 0, 0, 1]));
    let redeem = |code: &str, uid| bench.desk.redeem(&bench.tokens, code, from(uid), NOW);
    // Each of them until it has to wait, and more of them than all together may be wrong.
    for uid in 2_000..2_000 + WRONG_ALL_A_MINUTE {
        for _ in 0..WRONG_A_MINUTE {
            assert!(redeem(WRONG, uid).is_err());
        }
        assert!(matches!(redeem(WRONG, uid), Err(PairingRefusal::SlowDown { .. })), "{uid}");
    }
    assert!(redeem(code.reveal(), 1_000).is_ok());
}

#[test]
fn wrong_codes_of_devices_do_not_use_up_the_tries_of_an_operator() {
    let bench = Bench::new();
    let from = PeerSource::of(None, PHONE);
    let device = bench.desk.create("phone", from, NOW).unwrap();
    for _ in 0..WRONG_A_MINUTE {
        assert_eq!(bench.redeem(WRONG, PHONE, NOW), "not open");
    }
    assert_eq!(bench.redeem(WRONG, PHONE, NOW), "slow down");
    let answered = bench.desk.answer(device.code.reveal(), true, from, NOW);
    assert!(answered.is_ok(), "{answered:?}");
}

#[test]
fn a_crowd_that_guesses_has_to_wait_together() {
    let bench = Bench::new();
    let wrong = u8::try_from(WRONG_ALL_A_MINUTE).unwrap();
    for number in 0..wrong {
        assert_eq!(bench.redeem(WRONG, address(number), NOW), "not open");
    }
    assert_eq!(bench.redeem(WRONG, address(0), NOW), "slow down");
    // Who was not wrong has one try.
    assert_eq!(bench.redeem(WRONG, address(wrong), NOW), "not open");
    assert_eq!(bench.redeem(WRONG, address(wrong), NOW), "slow down");
}

#[test]
fn of_many_at_once_one_is_paired() {
    let bench = Bench::new();
    let code = bench.issue();
    let paired = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (bench, code, paired) = (&bench, &code, &paired);
            scope.spawn(move || {
                // Each a process of its own, as far as files can tell.
                let desk = PairingService::new(bench.dir.path());
                let found = desk.redeem(
                    &bench.tokens,
                    code.reveal(),
                    PeerSource::of(None, address(number)),
                    NOW,
                );
                paired.fetch_add(usize::from(found.is_ok()), Ordering::SeqCst);
            });
        }
    });
    assert_eq!(paired.into_inner(), 1);
    assert_eq!(bench.tokens.list().unwrap().len(), 1);
}

#[test]
fn so_many_codes_are_open_and_no_more() {
    let bench = Bench::new();
    for _ in 0..MAX_OPEN {
        bench.issue();
    }
    let code = PairingCode::from_system().unwrap();
    assert!(matches!(bench.try_issue(&code, offer()), Err(PairingError::TooMany)));
    let later = PairingRegistry::new(bench.dir.path()).issue(&code, offer(), NOW + CODE_MS);
    assert_eq!(later.unwrap(), NOW + 2 * CODE_MS);
}

#[test]
fn an_offer_that_cannot_be_is_refused_before_the_code_is_shown() {
    let bench = Bench::new();
    let code = PairingCode::from_system().unwrap();
    for lifetime in [Some(0), Some(-1), Some(i64::MAX)] {
        let bad = bench.try_issue(&code, PairingOffer { lifetime, ..offer() });
        assert!(matches!(bad, Err(PairingError::Token(_))), "{bad:?}");
    }
    assert_eq!(bench.redeem(code.reveal(), PHONE, NOW), "not open");
}

#[test]
fn a_spoiled_file_opens_nothing() {
    let bench = Bench::new();
    let code = bench.issue();
    let file = bench.dir.path().join(PAIRINGS_FILE);
    let whole = fs::read(&file).unwrap();
    for end in 0..whole.len() - 1 {
        fs::write(&file, &whole[..end]).unwrap();
        let from = address(u8::try_from(end % 200).unwrap());
        let now = NOW + i64::try_from(end).unwrap();
        assert_ne!(bench.redeem(code.reveal(), from, now), "paired", "{end}");
    }
    fs::write(&file, [0xff; 99]).unwrap();
    let fresh = bench.issue();
    assert_eq!(Bench::redeem(&bench, fresh.reveal(), PHONE, NOW + 70_000), "paired");
}

#[test]
fn a_code_is_in_no_file_and_no_debug_text() {
    let bench = Bench::new();
    let code = bench.issue();
    let bare = code.reveal().replace('-', "");
    let said = format!("{code:?} {:?} {:?}", bench.desk, bench.redeem(WRONG, PHONE, NOW));
    let kept = fs::read_to_string(bench.dir.path().join(PAIRINGS_FILE)).unwrap();
    for text in [said, kept] {
        assert!(!text.contains(code.reveal()) && !text.contains(&bare), "{text}");
    }
}
