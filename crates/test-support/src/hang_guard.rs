//! Guard that keeps a hanging test from hanging for ever.

use std::future::Future;
use std::time::Duration;

/// Keeps a hanging test from hanging for ever; nothing is measured with it.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);

/// Awaits with a guard against hanging.
pub async fn guard<F: Future>(future: F) -> F::Output {
    match tokio::time::timeout(HANG_TIMEOUT, future).await {
        Ok(output) => output,
        Err(_) => panic!("nothing happened within {HANG_TIMEOUT:?}"),
    }
}
