//! Cancellation of runs: called off, out of time, or left by their last follower.
//!
//! `exchange`, `event_stream` and `frame_peer` use it; [`cancel`] answers `POST /v1/openharness/cancel`. Each gives up the
//! turn of one request and nothing else; what was begun outside of the daemon goes on, and its
//! outcome is recorded as always.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bridle_loop::{Signal, WithdrawalReason};
use bridle_wire::openharness::exchange::{CancelAccepted, CancelRequest};
use bridle_wire::openharness::ids::{Name, RequestId};
use bridle_wire::openharness::{JsonShape as _, OpenHarnessCode, RequestEcho, read};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::auth::HttpPeer;
use super::body::{self, BodyRead};
use super::media_type::is_json;
use super::run_location::RunLocation;
use super::trace_headers::TraceHeaders;
use super::{HttpService, response, run, session_key};
use crate::access::principal::Principal;
use crate::byte_budget::ConnectionBytes;

/// Bytes of the request of a cancellation: an id of the largest size, however it is escaped.
const MAX_CANCEL_BYTES: usize = 512 << 10;

/// Runs that somebody follows, and those that were left a moment ago.
#[derive(Debug, Default)]
pub(super) struct FollowedRuns(Mutex<HashMap<RunLocation, RunFollowers>>);

#[derive(Debug, Default)]
struct RunFollowers {
    present: usize,
    /// Departures that may still end the run.
    leaving: usize,
    /// Departure of the last one.
    left: Option<Instant>,
}

/// Follower that waits for the answer of a run, until it is dropped.
#[derive(Debug)]
pub(super) struct RunFollower {
    http: Arc<HttpService>,
    run: RunLocation,
}

impl RunFollower {
    /// Notes that somebody follows a run.
    pub(super) fn new(http: &Arc<HttpService>, run: RunLocation) -> RunFollower {
        http.followed.lock().entry(run.clone()).or_default().present += 1;
        RunFollower { http: Arc::clone(http), run }
    }

    /// Leaves a stream before its end: the run goes on, or, where the settings give it a time, ends unless
    /// somebody takes it up in time.
    pub(super) fn leave(self, who: Principal) {
        let (http, run) = (Arc::clone(&self.http), self.run.clone());
        let Some(grace) = http.shared.config.limits.stream_grace else { return };
        {
            let mut followed = http.followed.lock();
            let followers = followed.entry(run.clone()).or_default();
            followers.leaving += 1;
            followers.left = Some(Instant::now());
        }
        drop(self);
        let stop = http.shared.stop.clone();
        let tasks = http.shared.tasks.clone();
        tasks.spawn(async move {
            let is_over = tokio::select! {
                () = tokio::time::sleep(grace) => true,
                () = stop.cancelled() => false,
            };
            if http.followed.is_left(&run, grace) && is_over {
                give_up(&http, who, run, WithdrawalReason::Cancelled).await;
            }
        });
    }
}

impl Drop for RunFollower {
    fn drop(&mut self) {
        let mut followed = self.http.followed.lock();
        if let Some(followers) = followed.get_mut(&self.run) {
            followers.present = followers.present.saturating_sub(1);
            if followers.present == 0 && followers.leaving == 0 {
                followed.remove(&self.run);
            }
        }
    }
}

impl FollowedRuns {
    /// Takes a departure off the list; tells whether nobody has come since.
    fn is_left(&self, run: &RunLocation, grace: Duration) -> bool {
        let mut followed = self.lock();
        let Some(followers) = followed.get_mut(run) else { return false };
        followers.leaving = followers.leaving.saturating_sub(1);
        let is_last = followers.left.is_none_or(|left| left.elapsed() >= grace);
        let is_left = followers.present == 0 && is_last;
        if followers.present == 0 && followers.leaving == 0 {
            followed.remove(run);
        }
        is_left
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunLocation, RunFollowers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a run when the time is over that its shell gave, whether the shell still waits or not.
pub(super) fn end_at(
    http: &Arc<HttpService>,
    who: Principal,
    run: RunLocation,
    time: Instant,
) -> AbortHandle {
    let (http, stop) = (Arc::clone(http), http.shared.stop.clone());
    let tasks = http.shared.tasks.clone();
    let task = tasks.spawn(async move {
        tokio::select! {
            () = tokio::time::sleep_until(time) => {
                give_up(&http, who, run, WithdrawalReason::Expired).await;
            }
            () = stop.cancelled() => {}
        }
    });
    task.abort_handle()
}

/// Has the session give up what it does for a request.
async fn give_up(http: &HttpService, who: Principal, run: RunLocation, how: WithdrawalReason) {
    crate::engine::withdraw(Arc::clone(&http.shared.hub), who, run.session, run.seq, how).await;
}

/// Calls a request of a principal off, if it is known and not answered yet; accepted in any case.
pub(super) async fn call_off(
    http: &HttpService,
    who: Principal,
    request_id: RequestId,
) -> CancelAccepted {
    let run = match http.seen.run(&who, &request_id) {
        Some(run) => Some(run),
        None => taken_before(http, &who, &request_id).await,
    };
    if let Some(run) = run {
        give_up(http, who, run, WithdrawalReason::Cancelled).await;
    }
    CancelAccepted { request_id, status: Name::new("accepted").expect("our words are short") }
}

/// Finds a request that the daemon took before it was started again.
async fn taken_before(http: &HttpService, who: &Principal, id: &RequestId) -> Option<RunLocation> {
    let is_it = |signal: &Signal| run::is_request(signal, who, id);
    let first = Some(session_key::once(who, id));
    let found =
        crate::engine::find_ongoing(Arc::clone(&http.shared.hub), who.clone(), first, is_it).await;
    found.map(|(session, seq)| RunLocation { session, seq })
}

/// `POST /v1/openharness/cancel`. Whether the request is known, and whose it is, is not said.
pub(super) async fn cancel(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let marks = TraceHeaders::of(&head.headers);
    let response = match taken(&http, &peer, &head.headers, body).await {
        Ok((who, asked)) => {
            let accepted = call_off(&http, who, asked.request_id).await;
            response::json(StatusCode::ACCEPTED, accepted.to_text() + "\n")
        }
        Err(code) => response::error(code, &RequestEcho::default(), marks),
    };
    http.shared.metrics.http(response.status().as_u16());
    response
}

async fn taken(
    http: &HttpService,
    peer: &HttpPeer,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Principal, CancelRequest), OpenHarnessCode> {
    let who = peer.let_in(http, headers).await?;
    if !is_json(headers) {
        return Err(OpenHarnessCode::UnsupportedMediaType);
    }
    let deadline = http.shared.config.limits.frame_deadline;
    let mut held = ConnectionBytes::new(Arc::clone(&http.shared.budget));
    let bytes = match body::read(body, MAX_CANCEL_BYTES, deadline, &mut held).await {
        BodyRead::Whole(bytes) => bytes,
        BodyRead::TooLarge(_) => return Err(OpenHarnessCode::PayloadTooLarge),
        BodyRead::Broken(_) => return Err(OpenHarnessCode::InvalidRequest),
        BodyRead::NoRoom => return Err(OpenHarnessCode::EngineOverloaded),
    };
    let asked = read(&bytes, &http.limits).map_err(|_| OpenHarnessCode::InvalidRequest)?;
    Ok((who, asked))
}
