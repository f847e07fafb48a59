//! Times between attempts: doubling from half a second, with jitter so that many daemons do not ask at once, and never
//! before the server wants to be asked again.

use std::time::Duration;

/// Time before the first repetition.
const FIRST_RETRY_WAIT: Duration = Duration::from_millis(500);

/// Longest time between two attempts. A server that wants a longer one has said no.
pub(crate) const MAX_RETRY_WAIT: Duration = Duration::from_secs(60);

/// Returns the time before the attempt behind `failed` failed ones; `None` when the server wants more than is waited.
pub(crate) fn wait(failed: u8, asked: Option<Duration>, jitter: u8) -> Option<Duration> {
    let doubled =
        FIRST_RETRY_WAIT.saturating_mul(1_u32 << u32::from(failed.saturating_sub(1)).min(16));
    let most = doubled.min(MAX_RETRY_WAIT);
    // Between half of it and all of it.
    let own = most / 2 + most.mul_f64(f64::from(jitter) / 510.0);
    match asked {
        Some(asked) if asked > MAX_RETRY_WAIT => None,
        Some(asked) => Some(own.max(asked)),
        None => Some(own),
    }
}

/// A number that nobody foresees; the middle where the system gives none.
pub(crate) fn jitter() -> u8 {
    let mut byte = [128];
    let _ = getrandom::fill(&mut byte);
    byte[0]
}

#[cfg(test)]
mod tests {
    use super::wait;
    use std::time::Duration;

    #[test]
    fn waits_double_with_jitter_and_honour_the_server() {
        let ms = |failed, jitter| wait(failed, None, jitter).unwrap().as_millis();
        assert_eq!([ms(1, 0), ms(1, 255)], [250, 500]);
        assert_eq!([ms(2, 0), ms(2, 255)], [500, 1000]);
        assert_eq!(ms(200, 255), 60_000);
        let asked = |seconds| wait(1, Some(Duration::from_secs(seconds)), 255);
        assert_eq!(asked(7), Some(Duration::from_secs(7)));
        assert_eq!(asked(0), Some(Duration::from_millis(500)));
        assert_eq!(asked(61), None);
    }
}
