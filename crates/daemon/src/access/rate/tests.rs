//! Buckets: how much they hold, how they fill, and how many there are.

use std::time::Duration;

use super::EventRate;
use super::{MAX_BUCKETS, RateExceeded, SWEEP_INTERVAL, TokenBuckets, take};

const RATE: EventRate = EventRate { per_second: 4, burst: 3 };

/// How often something is let through at these times, in milliseconds.
fn check(times: &[u64], expect: &str) {
    let mut bucket = Duration::ZERO;
    let mark = |ms: &u64| match take(&mut bucket, RATE, Duration::from_millis(*ms)) {
        Ok(()) => '+',
        Err(RateExceeded { .. }) => '-',
    };
    let got: String = times.iter().map(mark).collect();
    assert_eq!(got, expect, "{times:?}");
}

#[test]
fn a_bucket_holds_a_burst_and_fills_at_its_rate() {
    check(&[0, 0, 0, 0, 0], "+++--");
    check(&[0, 0, 0, 249, 250, 251, 500, 500], "+++-+-+-");
    // A long pause fills it, and not further.
    check(&[0, 0, 0, 0, 90_000, 90_000, 90_000, 90_000], "+++-+++-");
    // Who is refused is not made to wait longer for it.
    check(&[0, 0, 0, 10, 20, 30, 250], "+++---+");
}

#[test]
fn one_bucket_does_not_empty_another() {
    let mut buckets = TokenBuckets::default();
    let now = Duration::from_secs(5);
    for _ in 0..3 {
        assert_eq!(buckets.take("mad", RATE, now), Ok(()));
    }
    let retry_after = Duration::from_millis(250);
    assert_eq!(buckets.take("mad", RATE, now), Err(RateExceeded { retry_after }));
    assert_eq!(buckets.take("calm", RATE, now), Ok(()));
}

#[test]
fn a_crowd_shares_a_bucket_until_others_are_full_again() {
    let mut buckets = TokenBuckets::default();
    let now = Duration::from_secs(5);
    for key in 0..MAX_BUCKETS {
        assert_eq!(buckets.take(key, RATE, now), Ok(()));
    }
    let too_often = Err(RateExceeded { retry_after: Duration::from_millis(250) });
    let late: Vec<_> = (0..5).map(|key| buckets.take(MAX_BUCKETS + key, RATE, now)).collect();
    assert_eq!(late, [Ok(()), Ok(()), Ok(()), too_often, too_often]);
    assert_eq!(buckets.full_at.len(), MAX_BUCKETS);
    // Those that came first keep theirs.
    assert_eq!(buckets.take(0, RATE, now), Ok(()));
    let later = now + SWEEP_INTERVAL + Duration::from_secs(1);
    assert_eq!(buckets.take(usize::MAX, RATE, later), Ok(()));
    assert_eq!(buckets.full_at.len(), 1);
}
