//! Refresh tokens: each good once, used ones end their device, guesses end nothing.

use std::fs;

use tempfile::TempDir;

use super::{REFRESH_FILE, REFRESH_MS, RefreshToken, RefreshTokens, RenewedToken};
use crate::access::tokens::{
    BearerToken, DAY_MS, NewToken, TokenId, TokenOwner, TokenRegistry, TokenScope, TokenSeed,
};

/// The time in these tests: some day.
const NOW: i64 = 1_800_000_000_000;

struct Bench {
    dir: TempDir,
    tokens: TokenRegistry,
    refreshes: RefreshTokens,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let tokens = TokenRegistry::load(dir.path()).unwrap();
        let refreshes = RefreshTokens::new(dir.path());
        Bench { dir, tokens, refreshes }
    }

    /// A device that was paired.
    fn device(&self) -> (TokenId, BearerToken, RefreshToken) {
        let (seed, scopes) =
            (TokenSeed::from_system().unwrap(), [TokenScope::Talk].into_iter().collect());
        let expires = Some(NOW + DAY_MS);
        let new = NewToken { name: "tv".into(), owner: TokenOwner::this_user(), scopes, expires };
        let token = self.tokens.create(new, &seed, NOW).unwrap();
        let refresh = self.refreshes.begin(&seed.id(), DAY_MS, NOW).unwrap();
        (seed.id(), token, refresh)
    }

    fn renew(&self, refresh: &str, now: i64) -> Option<RenewedToken> {
        self.refreshes.renew(&self.tokens, refresh, now).unwrap()
    }

    fn is_good(&self, token: &BearerToken, now: i64) -> bool {
        self.tokens.verify(token.reveal(), now).is_some()
    }
}

#[test]
fn a_renewed_token_takes_the_place_of_the_old_one() {
    let bench = Bench::new();
    let (id, token, refresh) = bench.device();
    let later = NOW + 2 * DAY_MS;
    assert!(!bench.is_good(&token, later));
    let renewed = bench.renew(refresh.reveal(), later).unwrap();
    assert_eq!((&renewed.id, renewed.expires), (&id, later + DAY_MS));
    assert!(bench.is_good(&renewed.token, later) && !bench.is_good(&token, NOW));
    assert_eq!(bench.tokens.list().unwrap().len(), 1);
    let again = bench.renew(renewed.refresh.reveal(), later).unwrap();
    assert!(bench.is_good(&again.token, later));
}

#[test]
fn one_that_was_used_ends_the_device() {
    let bench = Bench::new();
    let (_, _, first) = bench.device();
    let (_, bystander, _) = bench.device();
    let second = bench.renew(first.reveal(), NOW).unwrap();
    let third = bench.renew(second.refresh.reveal(), NOW).unwrap();
    assert!(bench.is_good(&third.token, NOW));
    // However old it is, and whoever shows it.
    assert!(bench.renew(first.reveal(), NOW).is_none());
    assert!(!bench.is_good(&third.token, NOW));
    assert!(bench.renew(third.refresh.reveal(), NOW).is_none());
    assert!(bench.is_good(&bystander, NOW));
}

#[test]
fn a_guess_ends_nothing() {
    let bench = Bench::new();
    let (id, token, refresh) = bench.device();
    let zeros = "0".repeat(64);
    let halves: Vec<&str> = refresh.reveal().split('_').collect();
    for guess in [
        format!("bridler_{id}_{zeros}_{zeros}"),
        format!("bridler_{id}_{zeros}_{}", halves[3]),
        format!("bridler_{id}_{}", halves[2]),
        refresh.reveal().to_uppercase(),
        token.reveal().to_owned(),
        String::new(),
    ] {
        assert!(bench.renew(&guess, NOW).is_none(), "{guess}");
    }
    assert!(bench.is_good(&token, NOW));
    assert!(bench.renew(refresh.reveal(), NOW).is_some());
}

#[test]
fn what_is_revoked_or_over_is_not_renewed() {
    let bench = Bench::new();
    let (id, _, refresh) = bench.device();
    bench.tokens.revoke(&id).unwrap();
    assert!(bench.renew(refresh.reveal(), NOW).is_none());
    let (_, _, refresh) = bench.device();
    assert!(bench.renew(refresh.reveal(), NOW + REFRESH_MS).is_none());
    let (_, _, refresh) = bench.device();
    assert!(bench.renew(refresh.reveal(), NOW + REFRESH_MS - 1).is_some());
}

#[test]
fn the_file_has_no_token_and_strange_lines_are_none() {
    let bench = Bench::new();
    let (_, _, refresh) = bench.device();
    let path = bench.dir.path().join(REFRESH_FILE);
    let text = fs::read_to_string(&path).unwrap();
    for half in refresh.reveal().split('_').skip(2) {
        assert!(!text.contains(half), "{text}");
    }
    fs::write(&path, format!("(:id\n{text}(:id 1)\n")).unwrap();
    assert!(bench.renew(refresh.reveal(), NOW).is_some());
}
