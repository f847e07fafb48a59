//! Turns that go on for long: shells that come, go and are slow see the same; a question may wait for days; a crowd
//! that waits has a number.

use std::sync::Arc;
use std::time::Duration;

use bridle_host::{
    ActIo, Actuator, DaemonFacts, Host, HostFuture, Thinker, ThoughtChannel, ThoughtIo,
};
use bridle_loop::{
    CallId, Draft, KeywordName, Order, Outcome, Proposal, ReflexAdvice, SessionId, ShownBody,
    SignalContext, ThinkerFault, ThinkerPrompt,
};
use bridle_record::{RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;
use tokio::sync::Notify;

use super::rig::{Rig, Shell, body, owner};
use crate::engine::{DaemonQuery, OutboundItem, StreamEventKind};

/// Four rounds, each of which streams a text and writes a line of the log.
const ROUNDS: &str = r#"
(rule :when "go" :depth 0 :pace 5 :stream ("first " "ä part " "of it") :text "first ä part of it"
      :propose ((:target :log :action :log :text "1" :call "a")))
(rule :when "go" :depth 1 :result t :pace 5 :stream ("second " "日本 " "part") :text "second 日本 part"
      :propose ((:target :log :action :log :text "2" :call "b") (:target :log :action :log :text "3" :call "c")))
(rule :when "go" :depth 2 :result t :pace 5 :stream ("third " "part") :text "third part"
      :propose ((:target :log :action :log :text "4" :call "d")))
(rule :when "go" :depth 3 :result t :pace 5 :stream ("the " "end") :text "the end")
(default :say "quick")"#;

/// What a shell has of a session: number and text of each event, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Transcript(Vec<(u64, String)>);

impl Transcript {
    fn cursor(&self) -> u64 {
        self.0.last().map_or(0, |(seq, _)| *seq)
    }

    /// Reads until the answer of a turn has come, or so many events.
    async fn read(&mut self, shell: &Shell, most: usize) -> bool {
        for _ in 0..most {
            let event = shell.event().await;
            assert!(event.seq > self.cursor(), "{} after {}", event.seq, self.cursor());
            let text = event.body.as_deref().expect("not erased").to_owned();
            self.0.push((event.seq, text));
            if event.kind == StreamEventKind::Say && body(&event).get("answers").is_some() {
                return true;
            }
        }
        false
    }
}

fn after(cursor: u64) -> impl FnOnce(&mut crate::engine::AttachRequest) {
    move |want| {
        want.cursor = Some(cursor);
        want.render_rate = Some(60);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_shells_have_the_same_text_in_the_end() {
    let rig = Rig::scripted(ROUNDS).await;
    // One that is slow, and does not look until all is over.
    let slow = rig.join("work", after(0)).await;
    // One that reads all the time, and folds the pieces that it is shown.
    let quick = rig.join("work", after(0)).await;
    quick.prompt(1, "go");
    // One that leaves and comes back after each event.
    let mut leaving = Transcript::default();
    loop {
        let shell = rig.join("work", after(leaving.cursor())).await;
        if leaving.read(&shell, 1).await {
            break;
        }
    }
    // One that joins when half of it is over.
    let late = rig.join("work", after(0)).await;
    let mut all = [Transcript::default(), Transcript::default(), Transcript::default()];
    for (shell, transcript) in [&slow, &quick, &late].into_iter().zip(&mut all) {
        while !transcript.read(shell, 64).await {}
    }
    for transcript in &all {
        assert_eq!(*transcript, leaving);
    }
    let said: Vec<&str> =
        ["first ä part of it", "second 日本 part", "third part", "the end"].to_vec();
    let texts: Vec<String> = leaving
        .0
        .iter()
        .filter_map(|(_, text)| {
            let value = bridle_sexp::read_one(text).expect("a form").root().to_value();
            Some(value.get("payload")?.get("text")?.as_str()?.to_owned())
        })
        .filter(|text| said.contains(&&**text))
        .collect();
    assert_eq!(texts, said, "each part is said once, in its order");
}

/// Sets the clock of a daemon forward.
fn set_forward(rig: &Rig, by: Duration) {
    std::fs::write(rig.path().join("clock-offset"), by.as_millis().to_string()).expect("a file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_open_for_three_days_holds_up_nobody_and_its_turn_goes_on_once() {
    let script = r#"
(rule :when "clean" :depth 0 :propose ((:target :system :action :set-limits :rounds 300 :call "a")))
(rule :when "clean" :rejected t :text "not allowed")
(rule :when "clean" :result (:action :set-limits) :text "cleaned")
(default :text "quick")"#;
    let rig = Rig::scripted_with(script, |config| {
        config.engine.approval = Duration::from_secs(7 * 24 * 60 * 60);
        let turns = &mut config.engine.turns;
        turns.time = Duration::from_secs(60 * 60);
    })
    .await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "clean");
    let question = shell.body(StreamEventKind::Ask).await;
    let effect = question.get("effect").and_then(Value::as_i64).expect("an effect");
    let shows = |id: i64| {
        let told = crate::engine::queries::facts::list(&rig.hub, &owner());
        let row = told
            .elements()
            .unwrap_or_default()
            .iter()
            .find(|row| row.get("session").and_then(Value::as_str) == Some("work"));
        assert_eq!(row.and_then(|row| row.get("parked")?.as_i64()), Some(1), "{id}: {told}");
    };
    for day in 1..=3 {
        set_forward(&rig, Duration::from_secs(day * 24 * 60 * 60));
        let id = i64::try_from(day).expect("a small number") + 1;
        shell.prompt(id, "what else?");
        let said = shell.body(StreamEventKind::Say).await;
        assert_eq!(said.get("id").and_then(Value::as_i64), Some(id), "{said}");
        shows(id);
    }
    let welcome = rig.join("work", |_| {}).await.0.snapshot();
    assert_eq!((welcome.load.parked, welcome.load.running), (1, 0));
    let yes = format!("(:type :RESPONSE :id \"work-{effect}\" :payload (:verdict :allow))");
    super::rig::respond(&shell, &yes).expect("taken");
    let mut answers = 0;
    loop {
        let said = shell.body(StreamEventKind::Say).await;
        if said.get("id").and_then(Value::as_i64) == Some(1) {
            let text = said
                .get("payload")
                .and_then(|payload| payload.get("text")?.as_str().map(str::to_owned));
            assert_eq!(text.as_deref(), Some("cleaned"), "{said}");
            answers += 1;
            break;
        }
    }
    // It was asked once more, in vain: the turn is over.
    let again = super::rig::respond(&shell, &yes);
    drop(again);
    shell.prompt(9, "and now?");
    loop {
        let said = shell.body(StreamEventKind::Say).await;
        answers += usize::from(said.get("id").and_then(Value::as_i64) == Some(1));
        if said.get("id").and_then(Value::as_i64) == Some(9) {
            break;
        }
    }
    assert_eq!(answers, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_says_how_many_wait() {
    let rig =
        Rig::scripted("(rule :when \"slow\" :delay 600000 :say \"done\") (default :say \"x\")")
            .await;
    let shell = rig.join("work", |want| want.client = Some("c".into())).await;
    let refused = 'refused: {
        for id in 0..200 {
            shell.prompt(id, "slow");
            for out in shell.ready().await {
                if let OutboundItem::Refused { failure, .. } = out {
                    break 'refused failure.to_string();
                }
            }
        }
        panic!("every one found its place");
    };
    assert!(refused.contains("64 of this session wait for their turn, of at most 64"), "{refused}");
    let told = crate::engine::ask_daemon(rig.hub.clone(), owner(), DaemonQuery::Sessions, None)
        .await
        .expect("a list");
    let row = &told.get("sessions").and_then(Value::elements).expect("rows")[0];
    assert_eq!(row.get("running").and_then(Value::as_i64), Some(1), "{row}");
    assert_eq!(row.get("waiting").and_then(Value::as_i64), Some(64), "{row}");
    shell.send("(:type :EVENT :id 900 :payload (:sensor :interrupt))");
}

/// Rounds of a long turn, calls of each, and bytes of each result.
const LONG_ROUNDS: u64 = 30;
const LONG_CALLS: usize = 10;
const LONG_RESULT_BYTES: usize = 50 << 10;

/// Calls a tool ten at a time, round after round.
struct Diligent;

impl Thinker for Diligent {
    fn consult(&self, _: &SignalContext, _: &dyn DaemonFacts) -> ReflexAdvice {
        ReflexAdvice { think: true, ..ReflexAdvice::default() }
    }

    fn think<'a>(
        &'a self,
        prompt: &'a ThinkerPrompt,
        _: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>> {
        let round = prompt.forgotten + prompt.rounds.len() as u64;
        let call = |number: usize| Proposal {
            call: Some(CallId::new(&format!("c{round}-{number}"))),
            ..Proposal::new(
                Some(KeywordName::new("filler")),
                Value::plist([
                    ("action", Value::keyword("log")),
                    ("text", Value::str(format!("{round} {number}"))),
                ]),
            )
        };
        let draft = match round {
            LONG_ROUNDS => Draft::of_text("all done"),
            _ => Draft::of_calls((0..LONG_CALLS).map(call).collect()),
        };
        Box::pin(async move { Ok(draft) })
    }

    fn answers_prose(&self) -> bool {
        true
    }
}

/// Gives a long result, another each time.
struct Filler;

impl Actuator for Filler {
    fn actions(&self) -> &'static [&'static str] {
        &["log"]
    }

    fn act<'a>(&'a self, order: &'a Order, _: &'a ActIo) -> HostFuture<'a, Outcome> {
        let name = order.payload().get("text").and_then(Value::as_str).unwrap_or_default();
        let mut text = String::with_capacity(LONG_RESULT_BYTES);
        while text.len() < LONG_RESULT_BYTES {
            text.push_str(name);
            text.push(';');
        }
        Box::pin(async move { Outcome::Done(Value::plist([("text", Value::str(text))])) })
    }
}

fn bytes_of(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_of(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_many_long_results_keeps_one_copy_of_each_and_a_small_state() {
    let rig = Rig::with_host(|_, facts| {
        let host = Host::with_thinker(Box::new(Diligent), facts);
        host.with_actuator("filler", Box::new(Filler))
    })
    .await;
    let before = bytes_of(rig.path());
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "do it all");
    let said = shell.body(StreamEventKind::Say).await;
    let text = said.get("payload").and_then(|payload| payload.get("text"));
    assert_eq!(text.and_then(Value::as_str), Some("all done"), "{said}");
    let count = LONG_ROUNDS * LONG_CALLS as u64;
    let results = count * LONG_RESULT_BYTES as u64;
    let session = SessionId::parse("work").expect("a name");
    let found = crate::engine::sessions::load::load(&rig.hub.home, &session).await.expect("read");
    let state = found.core.state.text().len();
    assert!(state < 256 << 10, "a state of {state} bytes after {count} calls");
    // The log of the record may still hold as much again.
    let grown = bytes_of(rig.path()).saturating_sub(before);
    assert!(grown < results * 5 / 2, "{grown} bytes for {results}");
}

/// A thinker that is paid, shows a long text, and never ends.
struct Showing(Arc<Notify>);

impl Thinker for Showing {
    fn consult(&self, _: &SignalContext, _: &dyn DaemonFacts) -> ReflexAdvice {
        ReflexAdvice { think: true, ..ReflexAdvice::default() }
    }

    fn think<'a>(
        &'a self,
        _: &'a ThinkerPrompt,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>> {
        Box::pin(async move {
            for number in 0..2_000 {
                io.show(ThoughtChannel::Text, &format!("line {number}\n"));
            }
            self.0.notify_one();
            io.cancelled().await;
            Err(ThinkerFault { reason: "canceled".into(), retryable: false })
        })
    }

    fn is_paid(&self, _: &ThinkerPrompt) -> bool {
        true
    }

    fn answers_prose(&self) -> bool {
        true
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lost_thought_has_shown_is_in_the_record() {
    let began = Arc::new(Notify::new());
    let thinker = Showing(Arc::clone(&began));
    let rig = Rig::with_host(|_, facts| Host::with_thinker(Box::new(thinker), facts)).await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "go on");
    began.notified().await;
    drop(shell);
    let rig = rig.restart_within(Duration::from_millis(200)).await;
    let reader = RecordReader::open(rig.path()).expect("a record");
    let all = reader.records(RecordNumber(0), &RecordFilter::default(), 10_000).expect("records");
    let parts = all.iter().filter(|record| record.kind.as_ref() == "shown");
    let mut text = String::new();
    for part in parts {
        let body = part.body.text().and_then(bridle_history::session_fold::parse).expect("a body");
        let shown = ShownBody::read(&body);
        assert_eq!(shown.offset, Some(text.len() as u64), "{body}");
        assert!(part.cause.is_some(), "caused by the thought");
        text.push_str(shown.text.expect("a text"));
    }
    let whole: String = (0..2_000).map(|number| format!("line {number}\n")).collect();
    assert!(whole.starts_with(&text), "what was shown, in its order");
    assert!(whole.len() - text.len() < 4 << 10, "{} of {} bytes", text.len(), whole.len());
    let shell = rig.join("work", |want| want.cursor = Some(1)).await;
    let said = shell.body(StreamEventKind::Say).await;
    let message =
        said.get("payload").and_then(|payload| payload.get("message")?.as_str().map(str::to_owned));
    assert!(
        message.is_some_and(|text| text.contains("was lost") && text.contains("`shown`")),
        "{said}"
    );
}
