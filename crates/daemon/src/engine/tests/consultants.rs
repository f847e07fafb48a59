//! Consultants: asked beside the session, their objections hold, and a guard that fails vetoes.

use std::sync::Arc;
use std::time::Duration;

use bridle_host::{Consultant, ConsultantTable, HostFuture, ThoughtIo};
use bridle_loop::{
    ConsultFinding, ConsultObjection, ConsultQuestion, ConsultStage, ConsultSubject, ConsultantRef,
    KeywordName, ReflexAdvice, ThinkerFault,
};
use bridle_sexp::Value;

use super::rig::{Rig, Shell};
use crate::engine::StreamEventKind;

const SCRIPT: &str = "(default :say \"quick\")";

/// A consultant that does the same each time.
struct Scripted {
    about: ConsultantRef,
    does: Deed,
}

#[derive(Clone)]
enum Deed {
    Nothing,
    Objects(ConsultObjection),
    Fails,
    BreaksOff,
    Waits,
}

impl Consultant for Scripted {
    fn about(&self) -> ConsultantRef {
        self.about.clone()
    }

    fn consult<'a>(
        &'a self,
        question: &'a ConsultQuestion,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<ReflexAdvice, ThinkerFault>> {
        Box::pin(async move {
            match self.does.clone() {
                Deed::Nothing => Ok(ReflexAdvice::default()),
                Deed::Objects(objection) => {
                    let named = matches!(question.subject, ConsultSubject::Proposals { .. });
                    let veto = ConsultFinding::veto(KeywordName::new("somebody"), "I object");
                    let proposal = named.then_some(0);
                    let finding = ConsultFinding { objection, proposal, ..veto };
                    Ok(ReflexAdvice { findings: vec![finding], ..ReflexAdvice::default() })
                }
                Deed::Fails => Err(ThinkerFault { reason: "no idea".into(), retryable: false }),
                Deed::BreaksOff => panic!("on purpose"),
                Deed::Waits => {
                    io.cancelled().await;
                    Ok(ReflexAdvice::default())
                }
            }
        })
    }
}

fn consultant(stage: ConsultStage, is_guard: bool, does: Deed) -> Arc<dyn Consultant> {
    let name = KeywordName::new("warden");
    Arc::new(Scripted { about: ConsultantRef { name, stages: vec![stage], is_guard }, does })
}

async fn asked(rig: &Rig, table: ConsultantTable) -> (Shell, Value) {
    rig.hub.home.abilities.host.swap_consultants(table);
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "hello");
    let said = shell.body(StreamEventKind::Say).await;
    (shell, said)
}

fn text(said: &Value) -> String {
    let payload = said.get("payload").expect("a payload");
    let text = ["text", "message"].iter().find_map(|key| payload.get(key)?.as_str());
    text.expect("a text").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_veto_at_any_stage_is_told_with_the_name_and_the_reason() {
    for stage in ConsultStage::ALL {
        let rig = Rig::scripted(SCRIPT).await;
        let veto = Deed::Objects(ConsultObjection::Veto);
        let table = ConsultantTable::new(vec![consultant(stage, false, veto)]);
        let (_shell, said) = asked(&rig, table).await;
        assert!(text(&said).contains("`warden` vetoes: I object"), "{stage:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_fails_or_breaks_off_vetoes_and_a_helper_does_not() {
    for does in [Deed::Fails, Deed::BreaksOff] {
        for is_guard in [true, false] {
            let rig = Rig::scripted(SCRIPT).await;
            let one = consultant(ConsultStage::Judge, is_guard, does.clone());
            let (_shell, said) = asked(&rig, ConsultantTable::new(vec![one])).await;
            match is_guard {
                true => assert!(text(&said).contains("`warden` vetoes: it "), "{said}"),
                false => assert_eq!(text(&said), "quick"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_guard_vetoes_and_one_that_came_lets_go() {
    let rig = Rig::scripted(SCRIPT).await;
    let table = ConsultantTable::default().requiring([KeywordName::new("warden")]);
    let (shell, said) = asked(&rig, table).await;
    assert!(text(&said).contains("this guard is not here"), "{said}");
    let one = consultant(ConsultStage::Judge, true, Deed::Nothing);
    let table = ConsultantTable::new(vec![one]).requiring([KeywordName::new("warden")]);
    rig.hub.home.abilities.host.swap_consultants(table);
    shell.prompt(2, "hello");
    assert_eq!(text(&shell.body(StreamEventKind::Say).await), "quick");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_consultant_holds_nobody_up_and_an_interrupt_ends_it() {
    let rig = Rig::scripted(SCRIPT).await;
    let one = consultant(ConsultStage::Perceive, true, Deed::Waits);
    rig.hub.home.abilities.host.swap_consultants(ConsultantTable::new(vec![one]));
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "hello");
    shell.event().await;
    shell.send("(:type :LOG :id 2 :payload (:text \"meanwhile\"))");
    let said = shell.body(StreamEventKind::Say).await;
    assert_eq!(said.get("id").and_then(Value::as_i64), Some(2), "{said}");
    shell.send("(:type :EVENT :id 3 :payload (:sensor :interrupt))");
    let said = shell.body(StreamEventKind::Say).await;
    assert_eq!(said.get("id").and_then(Value::as_i64), Some(1), "{said}");
    shell.body(StreamEventKind::Say).await;
    let present = rig.hub.directory.present();
    let all_over = || present.iter().all(|session| session.lock().open.workers.is_empty());
    for _ in 0..200 {
        if all_over() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the consultant was not told to end");
}
