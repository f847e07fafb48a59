//! The connection's side of the engine: attaching, and pulling what there is to send.
//!
//! Nothing here is pushed: the engine wakes the task, and the task takes what its output has room
//! for. A peer that does not read costs its output limit and no more.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};

use super::{ConnectionPhase, ConnectionStep, OacpConnection, PeerOrigin};
use crate::access::principal::Principal;
use crate::access::principal::sockets::SocketEnds;
use crate::engine;
use crate::engine::{
    AttachRequest, AttachedShell, DaemonQuery, EngineError, EngineErrorCode, OutboundItem,
    QueryAnswer, QueryAsker,
};
use crate::oacp::conversation::WaitReason;

/// Bytes of output over which nothing more is pulled in one step: a full window of the socket,
/// after which others get their turn.
const MAX_PULL_BYTES: usize = 64 << 10;

/// Work of the engine that reads the record.
pub(super) type Fetching = Pin<Box<dyn Future<Output = FetchedEvents> + Send>>;

/// Result of such work.
pub(super) enum FetchedEvents {
    /// An attachment, or why there is none.
    Attached(Result<Arc<AttachedShell>, EngineError>),
    /// Principal at the other end.
    Principal(Principal),
    /// Answer of the daemon to a question.
    Told(Result<QueryAnswer, EngineError>),
}

impl FetchedEvents {
    fn lost() -> FetchedEvents {
        FetchedEvents::Told(Err(EngineErrorCode::Internal.into()))
    }
}

/// A large event on its way through another thread.
pub(super) struct LargeEventWrite {
    told: OutboundItem,
    task: JoinHandle<Result<String, JoinError>>,
    /// Bytes that it holds meanwhile.
    pub(super) bytes: usize,
}

/// Result of pulling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PullResult {
    /// Nothing.
    Nothing,
    /// Everything that there was.
    All,
    /// As much as one step may; there may be more.
    Window,
}

impl PullResult {
    /// Combines this with the consequence of the rest of the step.
    pub(super) fn then(self, step: ConnectionStep) -> ConnectionStep {
        match (step, self) {
            (ConnectionStep::Wait, PullResult::All) => ConnectionStep::Again,
            (ConnectionStep::Wait | ConnectionStep::Again, PullResult::Window) => {
                ConnectionStep::Yield
            }
            (step, _) => step,
        }
    }
}

impl OacpConnection {
    /// Takes what the engine has for this peer, as far as the output has room; `unsent` bytes
    /// are there already.
    pub(super) fn pull(&mut self, unsent: usize, cx: &mut Context<'_>) -> PullResult {
        let most = MAX_PULL_BYTES.min(self.service.daemon.config.limits.output);
        let may_pull = matches!(self.phase, ConnectionPhase::Open | ConnectionPhase::Draining(_));
        if unsent >= most || !may_pull || self.talk.attachment().is_none() {
            return PullResult::Nothing;
        }
        let mut pulled = PullResult::Nothing;
        while self.pull_one(cx) {
            pulled = PullResult::All;
            if self.output.len() >= most {
                pulled = PullResult::Window;
                break;
            }
        }
        if pulled != PullResult::Nothing || self.writing.is_some() {
            self.held.set(self.holding());
        }
        pulled
    }

    /// Takes one thing; tells whether there was one.
    fn pull_one(&mut self, cx: &mut Context<'_>) -> bool {
        let OacpConnection { talk, service, output, tally, writing, .. } = self;
        if let Some(under_way) = writing {
            let Poll::Ready(text) = Pin::new(&mut under_way.task).poll(cx) else { return false };
            let Some(done) = writing.take() else { return false };
            let text = match text {
                Ok(Ok(text)) => Some(text),
                Ok(Err(error)) | Err(error) => {
                    tracing::error!(%error, "an event could not be written apart");
                    None
                }
            };
            talk.tell(service, (done.told, text), output, tally);
            return true;
        }
        let Some(attachment) = talk.attachment() else { return false };
        let Poll::Ready(told) = attachment.poll_next(cx) else { return false };
        if let Some(answer) = talk.traced(&told) {
            let bytes = answer.bytes();
            let task = service.write_traced(answer);
            *writing = Some(Box::new(LargeEventWrite { told, task, bytes }));
            return true;
        }
        match talk.large(&told) {
            Some(large) => {
                let bytes = large.bytes();
                let task = service.write(large);
                *writing = Some(Box::new(LargeEventWrite { told, task, bytes }));
            }
            None => talk.tell(service, (told, None), output, tally),
        }
        true
    }

    /// Goes on with a message that waits for the engine, when it can.
    pub(super) fn await_engine(&mut self, cx: &mut Context<'_>) -> ConnectionStep {
        if self.fetching.is_none() {
            match self.talk.need() {
                Some(WaitReason::Answers) => return ConnectionStep::Wait,
                Some(WaitReason::Principal) => self.fetching = Some(self.identify()),
                Some(WaitReason::Attached(want)) => self.fetching = Some(self.attach(want)),
                Some(WaitReason::Query) => match self.talk.take_query() {
                    Some(query) => self.fetching = Some(self.ask(query)),
                    // Being answered, yet nobody answers: it is told so.
                    None => self.fetching = Some(Box::pin(async { FetchedEvents::lost() })),
                },
                Some(WaitReason::Nothing) | None => {
                    let OacpConnection { talk, service, output, tally, .. } = self;
                    talk.resume(service, output, tally);
                    return ConnectionStep::Again;
                }
            }
        }
        let Some(fetching) = &mut self.fetching else { return ConnectionStep::Again };
        let Poll::Ready(fetched) = fetching.as_mut().poll(cx) else { return ConnectionStep::Wait };
        self.fetching = None;
        let OacpConnection { talk, service, output, tally, .. } = self;
        match fetched {
            FetchedEvents::Attached(result) => talk.attached(service, result, output, tally),
            FetchedEvents::Principal(who) => {
                talk.identified(who);
                self.note_principal();
            }
            FetchedEvents::Told(told) => talk.told(service, told, output, tally),
        }
        self.held.set(self.holding());
        ConnectionStep::Again
    }

    /// Finds out whose socket is at the other end; only an unsigned TCP connection gets here.
    fn identify(&self) -> Fetching {
        let ends = match (self.talk.origin(), self.stream.local_addr()) {
            (PeerOrigin::Tcp(peer), Some(own)) => SocketEnds::of(peer, own),
            _ => None,
        };
        let (sockets, own) =
            (Arc::clone(&self.service.daemon.sockets), self.service.daemon.own_uid());
        Box::pin(async move {
            let uid = match ends {
                Some(ends) => sockets.uid(ends).await,
                None => None,
            };
            FetchedEvents::Principal(Principal::of_socket(uid, own))
        })
    }

    /// Returns the principal at the other end. Nothing is attached or listed before it is known.
    fn principal(&self) -> Principal {
        self.talk.principal().cloned().unwrap_or(Principal::Anonymous)
    }

    fn attach(&self, want: AttachRequest) -> Fetching {
        let who = self.principal();
        let hub = Arc::clone(&self.service.daemon.hub);
        Box::pin(async move { FetchedEvents::Attached(engine::attach(&hub, who, want).await) })
    }

    fn ask(&self, query: DaemonQuery) -> Fetching {
        let who = self.principal();
        let hub = Arc::clone(&self.service.daemon.hub);
        let own = self.talk.attachment().map(|attachment| attachment.session().clone());
        let dialect = self.talk.dialect();
        Box::pin(async move {
            FetchedEvents::Told(match query {
                DaemonQuery::Context(asked) => {
                    engine::inform(hub, QueryAsker { who, own, dialect }, asked).await
                }
                query => engine::ask_daemon(hub, who, query, own).await.map(QueryAnswer::Value),
            })
        })
    }
}
