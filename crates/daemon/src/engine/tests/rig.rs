//! A hub on a directory of its own, and shells attached to it.

use crate::engine::attach_fresh;
use crate::engine::queries::facts::HubFacts;
use crate::engine::start::start_with;
use crate::engine::start_hub;
use crate::engine::stop_hub;
use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bridle_loop::{KeywordName, SessionId, Signal, SignalKind, SignalSender};
use bridle_sexp::{Dialect, Value, read_one};
use bridle_wire::oacp::{MessageId, OacpMessage};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::access::principal::Principal;
use crate::byte_budget::{ByteBudget, InFlightBytes};
use crate::config::{DaemonConfig, ThinkerChoice};
use crate::engine::{
    AttachRequest, AttachRole, AttachedShell, DaemonQuery, EngineError, Hub, OutboundItem,
    ResponseEffect, StreamEvent, StreamMode,
};
use crate::oacp::to_signal::{CutContent, read_message, to_signal};
use bridle_history::RecordHistory;
use bridle_history::replay::ReplayRange;
use bridle_host::Host;

/// So long that a slow machine does not reach it; reached, the test hangs otherwise.
const PATIENCE: Duration = Duration::from_secs(20);

/// A hub that can be stopped and started on the same directory.
pub(super) struct Rig {
    pub(super) directory: Kept,
    pub(super) config: DaemonConfig,
    pub(super) hub: Arc<Hub>,
}

/// A directory whose record must verify and replay when the test is over.
pub(super) struct Kept(TempDir);

impl Drop for Kept {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let history = RecordHistory::open(self.0.path()).expect("a record");
        history.verify(None, &mut |_, _| {}).expect("the chain holds");
        let all = ReplayRange { from: 1, to: None, session: None };
        let replayed = history.replay(&all, &mut |_, _| {}).expect("replayed");
        assert_eq!(replayed.difference, None);
    }
}

/// Waits for what a host does, outside of any runtime.
pub(super) fn waited_for<T: Send>(future: impl Future<Output = T> + Send) -> T {
    let wait = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().expect("a runtime").block_on(future)
    };
    std::thread::scope(|scope| scope.spawn(wait).join()).expect("no panic")
}

impl Rig {
    /// A hub with the builtin thinker.
    pub(super) async fn start() -> Rig {
        Rig::with(|_| {}).await
    }

    /// A hub with a script as its thinker.
    pub(super) async fn scripted(script: &str) -> Rig {
        Rig::scripted_with(script, |_| {}).await
    }

    /// A hub with a script as its thinker, and other settings.
    pub(super) async fn scripted_with(script: &str, change: impl FnOnce(&mut DaemonConfig)) -> Rig {
        let script = script.to_owned();
        Rig::with(move |config| {
            change(config);
            let file = config.state.join("rules.script");
            std::fs::write(&file, script).expect("the directory is ours");
            config.thinker = ThinkerChoice::Script(file);
        })
        .await
    }

    /// A hub with other settings.
    pub(super) async fn with(change: impl FnOnce(&mut DaemonConfig)) -> Rig {
        let directory = Kept(TempDir::new().expect("a directory"));
        let mut config =
            DaemonConfig { state: directory.0.path().to_owned(), ..DaemonConfig::default() };
        change(&mut config);
        let hub = start_hub(&config).await.expect("the hub starts");
        Rig { directory, config, hub }
    }

    /// A hub with a host of the test's own.
    pub(super) async fn with_host(make: impl FnOnce(&DaemonConfig, Arc<HubFacts>) -> Host) -> Rig {
        let directory = Kept(TempDir::new().expect("a directory"));
        let config =
            DaemonConfig { state: directory.0.path().to_owned(), ..DaemonConfig::default() };
        let facts = Arc::new(HubFacts::default());
        let host = make(&config, Arc::clone(&facts));
        let hub = start_with(&config, facts, host).await.expect("the hub starts");
        Rig { directory, config, hub }
    }

    /// A hub on a directory that has a record.
    pub(super) async fn on(directory: TempDir) -> Rig {
        Rig::on_with(directory, |_| {}).await
    }

    /// The same with other settings.
    pub(super) async fn on_with(directory: TempDir, change: impl FnOnce(&mut DaemonConfig)) -> Rig {
        let directory = Kept(directory);
        let mut config =
            DaemonConfig { state: directory.0.path().to_owned(), ..DaemonConfig::default() };
        change(&mut config);
        let hub = start_hub(&config).await.expect("the hub starts");
        Rig { directory, config, hub }
    }

    /// Stops the hub in order and starts another on the same directory.
    pub(super) async fn restart(self) -> Rig {
        self.restart_within(PATIENCE).await
    }

    /// Stops the hub in order, with so much time for what is under way, and starts another.
    pub(super) async fn restart_within(self, grace: Duration) -> Rig {
        let Rig { directory, config, hub } = self;
        stop_hub(&hub, grace).await;
        drop(hub);
        let hub = start_hub(&config).await.expect("the hub starts again");
        Rig { directory, config, hub }
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.0.path()
    }

    /// A client without hello.
    pub(super) fn plain(&self) -> Shell {
        let attached = attach_fresh(&self.hub, owner(), AttachRequest::answers());
        Shell(attached.expect("attached"))
    }

    /// A shell that reads the stream of a session.
    pub(super) async fn join(
        &self,
        session: &str,
        change: impl FnOnce(&mut AttachRequest),
    ) -> Shell {
        self.try_join(owner(), session, change).await.expect("attached")
    }

    pub(super) async fn try_join(
        &self,
        who: Principal,
        session: &str,
        change: impl FnOnce(&mut AttachRequest),
    ) -> Result<Shell, EngineError> {
        let session = Some(SessionId::parse(session).expect("a name"));
        let mut want =
            AttachRequest { session, mode: StreamMode::Stream, ..AttachRequest::answers() };
        change(&mut want);
        crate::engine::attach(&self.hub, who, want).await.map(Shell)
    }
}

/// The user who runs the daemon.
pub(super) fn owner() -> Principal {
    Principal::Uid(1000)
}

/// The load of a message that weighs nothing.
pub(super) fn no_load() -> InFlightBytes {
    Arc::new(ByteBudget::new(0)).load(0)
}

/// A program of the user's on loopback.
pub(super) fn stranger() -> Principal {
    Principal::LocalTcp(1000)
}

/// Somebody attached.
pub(super) struct Shell(pub(super) Arc<AttachedShell>);

impl Shell {
    /// Sends a message.
    pub(super) fn try_send(&self, text: &str) -> Result<(), EngineError> {
        let tree = read_one(text).expect("a form");
        let read = read_message(&tree, Dialect::Lisp);
        let (message, ast) = read.expect("a message that the face takes");
        self.0.admit(to_signal(message, &[], ast).expect("a signal"), no_load())
    }

    pub(super) fn send(&self, text: &str) {
        self.try_send(text).expect("taken");
    }

    /// Sends a prompt under an id.
    pub(super) fn prompt(&self, id: i64, text: &str) {
        self.send(&format!(
            "(:type :EVENT :id {id} :payload (:sensor :user-prompt :text \"{text}\"))"
        ));
    }

    /// The next thing.
    pub(super) async fn next(&self) -> OutboundItem {
        let next = poll_fn(|cx| self.0.poll_next(cx));
        timeout(PATIENCE, next).await.expect("something is said")
    }

    /// The next numbered event.
    pub(super) async fn event(&self) -> Arc<StreamEvent> {
        loop {
            match self.next().await {
                OutboundItem::Event { event, .. } => return event,
                OutboundItem::Status(_) | OutboundItem::Delta { .. } => {}
                other => panic!("expected an event, got {other:?}"),
            }
        }
    }

    /// The next event of this kind, as its body; others are passed over.
    pub(super) async fn body(&self, kind: crate::engine::StreamEventKind) -> Value {
        loop {
            let event = self.event().await;
            if event.kind == kind {
                return body(&event);
            }
        }
    }

    /// Reads everything that is there now, and says nothing about what comes later.
    pub(super) async fn ready(&self) -> Vec<OutboundItem> {
        let mut all = Vec::new();
        while let Ok(out) =
            timeout(Duration::from_millis(50), poll_fn(|cx| self.0.poll_next(cx))).await
        {
            all.push(out);
        }
        all
    }
}

/// The body of an event as data.
pub(super) fn body(event: &StreamEvent) -> Value {
    let text = event.body.as_deref().expect("not erased");
    read_one(text).expect("canonical text").root().to_value()
}

/// A question for the daemon, from the text of the message that asks it.
pub(super) fn query(text: &str) -> Result<DaemonQuery, EngineError> {
    let signal = to_signal(message(text), &[], CutContent::default()).expect("a signal");
    let target = signal.target.as_ref().expect("a target");
    DaemonQuery::of(target, &signal.payload).expect("for the daemon")
}

/// Hands the answer to a request in, from its text.
pub(super) fn respond(shell: &Shell, text: &str) -> Result<ResponseEffect, EngineError> {
    let message = message(text);
    let id = message.id.as_ref().map(MessageId::to_value);
    shell.0.respond(id.as_ref(), message.payload.as_ref().unwrap_or(&Value::Nil))
}

/// A message from its text.
pub(super) fn message(text: &str) -> OacpMessage {
    let tree = read_one(text).expect("a form");
    OacpMessage::from_tree(&tree).expect("a message")
}

/// What the owner says, as the loop is told.
pub(super) fn signal(text: &str) -> Signal {
    let message = message(text);
    Signal {
        kind: SignalKind::Request,
        from: SignalSender { owner: true, ..SignalSender::new("uid:1000") },
        id: message.id.as_ref().map(MessageId::to_value),
        target: message.target.map(|target| KeywordName::new(target.as_str())),
        payload: message.payload.unwrap_or(Value::Nil),
        dropped: Vec::new(),
        patient: true,
    }
}

pub(super) fn observer(want: &mut AttachRequest) {
    want.role = AttachRole::Observer;
}

pub(super) fn emacs(want: &mut AttachRequest) {
    want.shell = Some(KeywordName::new("emacs"));
}

pub(super) fn id(number: i64) -> Option<Value> {
    Some(Value::int(number))
}
