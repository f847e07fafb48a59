//! The accept loop of every listener.

use std::future::poll_fn;
use std::io;
use std::ops::ControlFlow;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// First pause after a failed accept; doubled up to [`MAX_PAUSE`]. Without it a daemon that is
/// out of file descriptors would spin.
const MIN_PAUSE: Duration = Duration::from_millis(5);

/// Longest pause after failed accepts in a row.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Accepts with `poll` and hands each connection to `admit`, until the daemon stops.
pub(crate) async fn accept_each<T>(
    stop: &CancellationToken,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>,
    mut admit: impl FnMut(T),
) {
    let mut pause = AcceptBackoff::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = poll_fn(&mut poll) => accepted,
        };
        match accepted {
            Ok(connection) => {
                pause = AcceptBackoff::default();
                admit(connection);
            }
            Err(error) => {
                if pause.after(&error, stop).await.is_break() {
                    return;
                }
            }
        }
    }
}

/// Pause after a failed accept.
#[derive(Debug)]
struct AcceptBackoff(Duration);

impl Default for AcceptBackoff {
    fn default() -> Self {
        AcceptBackoff(MIN_PAUSE)
    }
}

impl AcceptBackoff {
    /// Waits after a failed accept, unless it was the fault of one peer; breaks when the daemon
    /// stops.
    async fn after(&mut self, error: &io::Error, stop: &CancellationToken) -> ControlFlow<()> {
        if is_about_one_peer(error) {
            tracing::debug!(%error, "a peer left before it was accepted");
            return ControlFlow::Continue(());
        }
        tracing::warn!(%error, pause_ms = self.0.as_millis(), "cannot accept, pausing");
        tokio::select! {
            () = stop.cancelled() => return ControlFlow::Break(()),
            () = tokio::time::sleep(self.0) => {}
        }
        self.0 = (self.0 * 2).min(MAX_PAUSE);
        ControlFlow::Continue(())
    }
}

fn is_about_one_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}
