//! Work that runs outside of a session: thoughts and acts, a task each; only what blocks waits for a
//! thread.
//!
//! Started by the drive task after the intent is durable, and for an act after its start is;
//! what comes of it goes back through the inbox. Each is known to its session by its effect and
//! can be canceled.

pub(in crate::engine) mod admin;
mod shown_text;
mod trace;

use std::borrow::Cow;
use std::sync::Arc;

use bridle_host::provenance::{TextSources, has_values, trace_all};
use bridle_host::{
    ActChannel, ActContext, ActIo, CancelFlag, ConsultReport, ProposalPlace, ThoughtChannel,
    ThoughtIo,
};
use bridle_loop::{
    ConsultFinding, ConsultQuestion, Draft, EffectId, KeywordName, Order, Outcome, ReflexAdvice,
    ThinkerFault, ThinkerPrompt, TurnId,
};
use bridle_record::fault;

use crate::access::principal::Principal;
use crate::engine::home::secret_mask::PieceMask;
use crate::engine::hub::Hub;
use crate::engine::sessions::inbox_item::HOST;
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::live_session::CancellableWorker;
use crate::engine::sessions::live_session::LiveSessionSlot;
use crate::engine::sessions::load;
use crate::engine::workers::shown_text::{SHOWN_INTERVAL, ShownText};
use crate::log_line::one_line;

/// An order on its way to an actuator of the host.
pub(in crate::engine) struct OrderJob {
    pub(in crate::engine) effect: u64,
    pub(in crate::engine) order: Order,
    pub(in crate::engine) turn: TurnId,
    /// The record that has the order.
    pub(in crate::engine) record: u64,
    /// For whom it is carried out.
    pub(in crate::engine) principal: Box<str>,
}

/// Has the consultants of a stage asked.
pub(in crate::engine) fn consult(
    hub: &Arc<Hub>,
    session: &Arc<LiveSessionSlot>,
    effect: u64,
    question: ConsultQuestion,
) {
    let cancel = enlist(session, effect, false);
    let (hub, session) = (Arc::clone(hub), Arc::clone(session));
    let tasks = hub.running.tasks().clone();
    tasks.spawn(async move {
        let asked = advice(Arc::clone(&hub), Arc::clone(&session), question, cancel);
        let advice = hub.running.tasks().spawn(asked).await.unwrap_or_else(|error| {
            tracing::error!(%error, "a consultation broke off");
            let reason = "the consultation broke off";
            let veto = ConsultFinding::veto(KeywordName::new(HOST), reason);
            ReflexAdvice { findings: vec![veto], ..ReflexAdvice::default() }
        });
        finish(&hub, &session, effect, InboxItem::Consulted { effect, advice });
    });
}

async fn advice(
    hub: Arc<Hub>,
    session: Arc<LiveSessionSlot>,
    question: ConsultQuestion,
    cancel: CancelFlag,
) -> ReflexAdvice {
    let host = hub.home.host();
    let io = ThoughtIo::new(cancel).on(hub.running.blocking().clone());
    let readers = Principal::readership(&question.context.signal.from, &session.owner);
    let ConsultReport { mut advice, faults } = host.ask_consultants(Arc::new(question), &io).await;
    for (consultant, reason) in faults {
        let reason = one_line(&reason);
        tracing::warn!(session = %session.id, %consultant, %reason, "a consultant had no answer");
    }
    if !host.prepares(&advice.proposals) {
        return advice;
    }
    let prepared = io.run_blocking(move || {
        let around = ProposalPlace { session: session.id.as_str(), readers };
        host.prepare(&mut advice.proposals, around);
        advice
    });
    // Unprepared, a proposal would be judged without what policies have to know.
    prepared.await.unwrap_or_default()
}

/// Has a thinker think.
pub(in crate::engine) fn think(
    hub: &Arc<Hub>,
    session: &Arc<LiveSessionSlot>,
    effect: u64,
    prompt: ThinkerPrompt,
) {
    let is_paid = hub.home.host_ref().is_paid(&prompt);
    let cancel = enlist(session, effect, is_paid);
    let context = &prompt.context;
    session.lock().known.thought = context.seq.map(|seq| (context.turn.0, seq.0));
    let (hub, session) = (Arc::clone(hub), Arc::clone(session));
    let tasks = hub.running.tasks().clone();
    tasks.spawn(async move {
        // In a task of its own, so that a thinker that breaks off takes nobody with it.
        let drafting = draft(Arc::clone(&hub), Arc::clone(&session), effect, prompt, cancel);
        let draft = hub.running.tasks().spawn(drafting);
        let draft = draft.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a thinker broke off");
            Err(ThinkerFault { reason: "the thinker broke off".into(), retryable: true })
        });
        finish(&hub, &session, effect, InboxItem::Drafted { effect, draft });
    });
}

async fn draft(
    hub: Arc<Hub>,
    session: Arc<LiveSessionSlot>,
    effect: u64,
    prompt: ThinkerPrompt,
    cancel: CancelFlag,
) -> Result<Draft, ThinkerFault> {
    let host = hub.home.host();
    let (turn, lost) = (prompt.context.turn.0, hub.metrics().deltas_dropped.clone());
    let shells = Arc::clone(&session);
    let mask = PieceMask::new(hub.home.secrets.redactor());
    let reasons = PieceMask::new(hub.home.secrets.redactor());
    let shown = Arc::new(ShownText::new(Arc::clone(&hub), Arc::clone(&session), effect));
    let recorded = Arc::clone(&shown);
    let show = move |channel: ThoughtChannel, text: &str| {
        let masked = match channel {
            ThoughtChannel::Text => mask.pass(text),
            ThoughtChannel::Reasoning => reasons.pass(text),
        };
        let dropped = shells.lock().show_piece((turn, effect), channel, &masked);
        lost.inc_by(dropped as u64);
        if channel == ThoughtChannel::Text {
            recorded.push(&masked);
        }
    };
    let offered = hub.home.offered_to(&prompt).await;
    let io = ThoughtIo::new(cancel).showing(show).on(hub.running.blocking().clone());
    let (readers, id) = (hub.home.readers.clone(), session.id.clone());
    let io = io.offering(offered).reading(move |seq| {
        let (readers, id) = (readers.clone(), id.clone());
        Box::pin(async move { load::result(&readers, id, seq).await.ok().flatten() })
    });
    let mut draft = recording(&shown, host.think(&prompt, &io)).await?;
    let wants_sources = has_values(&draft.calls);
    if !host.prepares(&draft.calls) && !wants_sources {
        return Ok(draft);
    }
    let sources = match wants_sources {
        true => trace::sources(&hub, &session, &prompt, &io).await,
        false => TextSources::default(),
    };
    let readers = Principal::readership(&prompt.context.signal.from, &session.owner);
    let prepared = io.run_blocking(move || {
        let around = ProposalPlace { session: session.id.as_str(), readers };
        host.prepare(&mut draft.calls, around);
        trace_all(&mut draft.calls, &sources);
        draft
    });
    prepared.await.map_err(|_| ThinkerFault {
        reason: "an actuator broke off while it looked at a proposal".into(),
        retryable: true,
    })
}

/// Waits for a draft, and has what is shown before it recorded from time to time.
async fn recording<T>(shown: &ShownText, thinking: impl Future<Output = T>) -> T {
    let mut thinking = std::pin::pin!(thinking);
    loop {
        match tokio::time::timeout(SHOWN_INTERVAL, &mut thinking).await {
            Ok(done) => return done,
            Err(_) => shown.flush(),
        }
    }
}

/// Has a host actuator carry an order out. Its start is durable.
pub(in crate::engine) fn execute(
    hub: &Arc<Hub>,
    session: &Arc<LiveSessionSlot>,
    ordered: OrderJob,
) {
    let effect = ordered.effect;
    let cancel = enlist(session, effect, false);
    let (hub, session) = (Arc::clone(hub), Arc::clone(session));
    let tasks = hub.running.tasks().clone();
    tasks.spawn(async move {
        fault::point("engine.execute");
        if admin::is_restart(&ordered.order) {
            // Begun and without an end: the daemon that starts tells how it ended.
            session.lock().open.workers.remove(&effect);
            return hub.running.restart();
        }
        let outcome = match admin::is_for(&ordered.order) {
            true => {
                let context = context_of(&hub, &session, &ordered);
                admin::carry_out(&hub, &session, context, &ordered.order).await
            }
            false => act(&hub, &session, ordered, cancel).await,
        };
        fault::point("engine.executed");
        let work = InboxItem::Outcome { effect, outcome, principal: HOST.into() };
        finish(&hub, &session, effect, work);
    });
}

/// Circumstances of an order.
fn context_of(hub: &Hub, session: &LiveSessionSlot, ordered: &OrderJob) -> ActContext {
    ActContext {
        session: session.id.clone(),
        effect: EffectId(ordered.effect),
        turn: ordered.turn,
        record: ordered.record,
        principal: ordered.principal.clone(),
        at: hub.home.now(),
    }
}

async fn act(
    hub: &Arc<Hub>,
    session: &Arc<LiveSessionSlot>,
    ordered: OrderJob,
    cancel: CancelFlag,
) -> Outcome {
    let (host, id) = (hub.home.host(), session.id.clone());
    let context = context_of(hub, session, &ordered);
    let note = move |text: &str| {
        tracing::info!(target: "bridle::log", session = %id, "{}", one_line(text));
    };
    let OrderJob { effect, order, turn, .. } = ordered;
    let (shells, lost) = (Arc::clone(session), hub.metrics().deltas_dropped.clone());
    let mask = PieceMask::new(hub.home.secrets.redactor());
    let progress = PieceMask::new(hub.home.secrets.redactor());
    let show = move |channel: ActChannel, text: &str| {
        let masked = match channel {
            ActChannel::Output => mask.pass(text),
            ActChannel::Progress => progress.pass(text),
            // Of the order alone, which was masked before it was judged.
            ActChannel::Notice => Cow::Borrowed(text),
        };
        let dropped = shells.lock().show_piece((turn.0, effect), channel, &masked);
        lost.inc_by(dropped as u64);
    };
    let blocking = hub.running.blocking().clone();
    let io = ActIo::new(context).ended_by(cancel).noting(note).showing(show).on(blocking);
    // In a task of its own, so that an actuator that breaks off takes nobody with it.
    let acting = hub.running.tasks().spawn(async move { host.act(&order, &io).await });
    acting.await.unwrap_or_else(|error| {
        tracing::error!(%error, "an actuator broke off");
        Outcome::UnknownOutcome
    })
}

fn enlist(session: &LiveSessionSlot, effect: u64, is_paid: bool) -> CancelFlag {
    let cancel = CancelFlag::new();
    let worker = CancellableWorker { cancel: cancel.clone(), is_paid };
    session.lock().open.workers.insert(effect, worker);
    cancel
}

/// Hands in what came of it.
fn finish(hub: &Arc<Hub>, session: &Arc<LiveSessionSlot>, effect: u64, work: InboxItem) {
    let mut inner = session.lock();
    inner.open.workers.remove(&effect);
    // What was broken off because the daemon stops is asked again after the start, unless it cost
    // something; a draft that came is kept.
    let is_draft = matches!(work, InboxItem::Drafted { draft: Ok(_), .. });
    let is_answer = matches!(work, InboxItem::Drafted { .. } | InboxItem::Consulted { .. });
    if hub.running.is_stopping() && is_answer && !is_draft {
        return;
    }
    inner.inbox.work.push_back(work);
    hub.wake_drive(session, &mut inner);
}
