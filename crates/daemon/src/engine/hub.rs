//! All sessions by name.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bridle_loop::SessionId;
use bridle_sexp::Value;
use bridle_wire::Code;
use bridle_wire::oacp::Failure;

use super::attachment::Attachment;
use super::feed::{Feed, Reading};
use super::session::{Inner, Session};
use super::terms::{Attach, AttachmentId, Principal};
use super::work::Work;
use crate::config::EngineLimits;

/// One per daemon.
#[derive(Debug)]
pub(crate) struct Hub {
    limits: EngineLimits,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Counts everything that needs an order: attachments, messages.
    stamps: AtomicU64,
    stopping: AtomicBool,
    names: RandomState,
}

impl Hub {
    /// A hub without sessions.
    pub(crate) fn new(limits: EngineLimits) -> Arc<Hub> {
        Arc::new(Hub {
            limits,
            sessions: Mutex::default(),
            stamps: AtomicU64::new(1),
            stopping: AtomicBool::new(false),
            names: RandomState::new(),
        })
    }

    /// Attaches to a named session; it is made if there is none and a controller asks.
    ///
    /// # Errors
    /// `unknown-session`, `shutting-down`, `store-unavailable`.
    #[expect(clippy::unused_async, reason = "sessions are not read from the record yet")]
    pub(crate) async fn attach(
        self: Arc<Hub>,
        who: Principal,
        want: Attach,
    ) -> Result<Arc<Attachment>, Failure> {
        self.check_open()?;
        let id = want.session.clone().unwrap_or_else(|| self.fresh_name());
        Ok(self.join(&id, who, want))
    }

    /// Attaches to a fresh session at once. It is recorded with its first message.
    ///
    /// # Errors
    /// `shutting-down`.
    pub(crate) fn attach_fresh(
        self: &Arc<Hub>,
        who: Principal,
        want: Attach,
    ) -> Result<Arc<Attachment>, Failure> {
        self.check_open()?;
        let id = self.fresh_name();
        Ok(self.join(&id, who, want))
    }

    /// Sessions that a principal may see, as the payload of an answer.
    pub(crate) fn sessions(&self, who: &Principal) -> Value {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = sessions.values().filter(|session| who.may_see(&session.owner));
        Value::list(seen.map(|session| Value::str(session.id.as_str())))
    }

    /// Whether the record takes what it is given.
    pub(crate) fn is_healthy(&self) -> bool {
        true
    }

    pub(super) fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    /// A number larger than all before.
    pub(super) fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn check_open(&self) -> Result<(), Failure> {
        match self.stopping.load(Ordering::Relaxed) {
            true => Err(Code::ShuttingDown.into()),
            false => Ok(()),
        }
    }

    pub(super) fn wake_drive(&self, _session: &Arc<Session>, inner: &mut Inner) {
        while let Some(work) = inner.inbox.pop_front() {
            if let Work::Signal(inbound) = work {
                inner.signals -= 1;
                if let Some(feed) = inner.feed(inbound.attachment) {
                    feed.refuse(inbound.ticket, inbound.id, Code::Unsupported.into());
                }
            }
        }
    }

    pub(super) fn read_page(&self, _session: &SessionId, _after: u64) -> Reading {
        tokio::task::spawn_blocking(|| Ok(Vec::new()))
    }

    pub(super) fn detached(&self, session: &Arc<Session>) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if session.lock().is_unused() {
            sessions.remove(&session.id);
        }
    }

    fn join(self: &Arc<Hub>, id: &SessionId, who: Principal, want: Attach) -> Arc<Attachment> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(Session::new(id.clone(), Arc::clone(&who.name), 0));
        let session = Arc::clone(sessions.entry(id.clone()).or_insert_with(fresh));
        let attachment = AttachmentId(self.stamp());
        let mut inner = session.lock();
        let feed = Feed::new(attachment, who, want, inner.head);
        inner.join(feed);
        drop(inner);
        Arc::new(Attachment::new(Arc::clone(self), session, attachment))
    }

    fn fresh_name(&self) -> SessionId {
        let name = format!("s{:016x}", self.names.hash_one(self.stamp()));
        SessionId::parse(&name).unwrap_or_else(|_| unreachable!("hex digits are a name"))
    }
}
