//! Acts and thoughts that are stopped: by an interrupt, and by the end of the daemon.

use std::sync::Arc;

use bridle_host::{
    ActIo, Actuator, DaemonFacts, Host, HostFuture, Thinker, ThinkerChoice, ThoughtIo,
};
use bridle_loop::{
    Draft, Order, Outcome, ReflexAdvice, SignalContext, ThinkerFault, ThinkerPrompt,
};
use bridle_sexp::Value;
use tokio::sync::Notify;

use super::rig::{Rig, Shell};
use crate::engine::StreamEventKind;

/// An actuator that is at it until it is told to stop, and says how far it came.
struct Endless;

impl Actuator for Endless {
    fn actions(&self) -> &'static [&'static str] {
        &["log"]
    }

    fn act<'a>(&'a self, _: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        Box::pin(async move {
            io.cancelled().await;
            Outcome::Done(Value::plist([("came", Value::str("half way"))]))
        })
    }
}

/// A thinker that is paid, begins when it is asked, and ends as it is told.
struct Paid {
    began: Arc<Notify>,
    ends: Ending,
}

enum Ending {
    /// With a draft, when the test says so.
    Draft(Arc<Notify>),
    /// When it is told to end, without a draft.
    Nothing,
}

impl Thinker for Paid {
    fn consult(&self, _: &SignalContext, _: &dyn DaemonFacts) -> ReflexAdvice {
        ReflexAdvice { think: true, ..ReflexAdvice::default() }
    }

    fn think<'a>(
        &'a self,
        _: &'a ThinkerPrompt,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>> {
        Box::pin(async move {
            self.began.notify_one();
            match &self.ends {
                Ending::Draft(when) => {
                    when.notified().await;
                    Ok(Draft::of_text("bought"))
                }
                Ending::Nothing => {
                    io.cancelled().await;
                    Err(ThinkerFault { reason: "canceled".into(), retryable: false })
                }
            }
        })
    }

    fn is_paid(&self, _: &ThinkerPrompt) -> bool {
        true
    }

    fn answers_prose(&self) -> bool {
        true
    }
}

fn text<'v>(said: &'v Value, key: &str) -> Option<&'v str> {
    said.get("payload")?.get(key)?.as_str()
}

async fn prompted(rig: &Rig, began: &Notify) -> Shell {
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "think hard");
    began.notified().await;
    shell
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_reaches_a_running_act_and_its_real_outcome_is_recorded() {
    let rig = Rig::with_host(|config, facts| {
        let script = "(rule :when \"go\" :propose ((:target :endless :action :log :text \"x\" \
                      :call \"c1\")))";
        let file = config.state.join("rules.script");
        std::fs::write(&file, script).expect("the directory is ours");
        let host = Host::new(&ThinkerChoice::Script(file), facts).expect("a script");
        host.with_actuator("endless", Box::new(Endless))
    })
    .await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "go");
    shell.body(StreamEventKind::Act).await;
    // Asked for only once it runs: before that it would not even begin.
    while rig.hub.directory.present().iter().all(|session| session.lock().open.workers.is_empty()) {
        tokio::task::yield_now().await;
    }
    shell.send("(:type :EVENT :id 2 :payload (:sensor :interrupt))");
    let said = shell.body(StreamEventKind::Say).await;
    let stopping = said.get("payload").and_then(|payload| payload.get("stopping"));
    let first = stopping.and_then(Value::elements).and_then(<[Value]>::first).cloned();
    let target = first.as_ref().and_then(|act| act.get("target")).and_then(Value::as_keyword);
    assert_eq!(target.map(str::to_ascii_lowercase).as_deref(), Some("endless"), "{said}");
    let acted = shell.body(StreamEventKind::Acted).await;
    assert!(acted.get("outcome").is_some_and(|word| word.is_keyword("done")), "{acted}");
    let came = acted.get("result").and_then(|result| result.get("came"));
    assert_eq!(came.and_then(Value::as_str), Some("half way"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_that_comes_while_the_daemon_stops_is_kept() {
    let (began, when) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let thinker = Paid { began: Arc::clone(&began), ends: Ending::Draft(Arc::clone(&when)) };
    let rig = Rig::with_host(|_, facts| Host::with_thinker(Box::new(thinker), facts)).await;
    drop(prompted(&rig, &began).await);
    let hub = Arc::clone(&rig.hub);
    let draft_comes = async move {
        while !hub.running.is_stopping() {
            tokio::task::yield_now().await;
        }
        when.notify_one();
    };
    let (rig, ()) = tokio::join!(rig.restart(), draft_comes);
    let shell = rig.join("work", |want| want.cursor = Some(1)).await;
    let said = shell.body(StreamEventKind::Say).await;
    assert_eq!(text(&said, "text"), Some("bought"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paid_thought_that_is_lost_is_told_and_not_asked_again() {
    let began = Arc::new(Notify::new());
    let thinker = Paid { began: Arc::clone(&began), ends: Ending::Nothing };
    let rig = Rig::with_host(|_, facts| Host::with_thinker(Box::new(thinker), facts)).await;
    drop(prompted(&rig, &began).await);
    let rig = rig.restart_within(std::time::Duration::from_millis(200)).await;
    let shell = rig.join("work", |want| want.cursor = Some(1)).await;
    let said = shell.body(StreamEventKind::Say).await;
    assert!(text(&said, "message").is_some_and(|text| text.contains("was lost")), "{said}");
}
