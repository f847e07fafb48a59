//! Actions that skills ask for while they carry out an order: requests of their own in the session of the order.
//!
//! Recorded, judged and carried out beside the turn like a request of a shell, but as what a thinker proposes: the one
//! who asked for the order did not ask for them.

use std::future::poll_fn;
use std::sync::Arc;

use bridle_host::HostFuture;
use bridle_loop::{Outcome, SayBody, SignalKind, SignalSender};
use bridle_sexp::Value;
use bridle_skill_host::{SkillProposal, SkillProposer};

use crate::access::principal::Principal;
use crate::byte_budget::ByteBudget;
use crate::engine::hub::Hub;
use crate::engine::queries::facts::HubFacts;
use crate::engine::sessions::inbound_message::ShellSignal;
use crate::engine::shells::attached_shell::AttachedShell;
use crate::engine::shells::join::attach;
use crate::engine::stream::{AttachRequest, AttachRole, OutboundItem, StreamEventKind, StreamMode};

/// Asks in the sessions of a hub.
pub(in crate::engine) struct SessionProposer(pub(in crate::engine) Arc<HubFacts>);

impl SkillProposer for SessionProposer {
    fn propose<'a>(&'a self, proposal: SkillProposal<'a>) -> HostFuture<'a, Outcome> {
        Box::pin(async move {
            let Some(hub) = self.0.hub() else {
                return Outcome::Failed("the daemon is not there yet".into());
            };
            let io = proposal.io.clone();
            tokio::select! {
                outcome = ask(&hub, &proposal) => outcome,
                () = io.cancelled() => Outcome::Failed("it was stopped".into()),
            }
        })
    }
}

async fn ask(hub: &Arc<Hub>, proposal: &SkillProposal<'_>) -> Outcome {
    let context = &proposal.io.context;
    let Some(who) = principal(&context.principal) else {
        let reason = format!("a skill cannot ask in the name of `{}`", context.principal);
        return Outcome::Denied(reason.into());
    };
    let want = AttachRequest {
        session: Some(context.session.clone()),
        role: AttachRole::Controller,
        mode: StreamMode::Stream,
        client: Some(SignalSender::skill_client(proposal.skill.as_str())),
        receipts: true,
        ..AttachRequest::answers()
    };
    let attached = match attach(hub, who, want).await {
        Ok(attached) => attached,
        Err(error) => return Outcome::Failed(error.reason.into()),
    };
    // Once for each request of an order, so that a repeat is known as one.
    let id = format!("{}.{}", context.effect.0, proposal.number);
    let signal = ShellSignal {
        kind: SignalKind::Request,
        id: Some(Value::str(id)),
        target: Some(proposal.target.clone()),
        shell: None,
        payload: proposal.payload.clone(),
        dropped: Vec::new(),
        ast: None,
        files: Vec::new(),
    };
    let load = Arc::new(ByteBudget::new(0)).load(0);
    if let Err(error) = attached.admit(signal, load) {
        return Outcome::Failed(error.reason.into());
    }
    answer(&attached).await
}

/// Waits for the answer to the one request.
async fn answer(attached: &AttachedShell) -> Outcome {
    let mut own = None;
    loop {
        match poll_fn(|cx| attached.poll_next(cx)).await {
            OutboundItem::Receipt { seq, .. } => own = Some(seq),
            OutboundItem::Refused { failure, .. } | OutboundItem::Gone(failure) => {
                return Outcome::Failed(failure.reason.into());
            }
            OutboundItem::Repeat => return Outcome::UnknownOutcome,
            OutboundItem::Event { event, .. } if event.kind == StreamEventKind::Say => {
                let body = event.body.as_deref().unwrap_or_default();
                if own.is_some() && SayBody::answers_in(body) == own {
                    return told(body);
                }
            }
            _ => {}
        }
    }
}

/// The outcome that an answer tells.
fn told(body: &str) -> Outcome {
    let payload = bridle_history::session_fold::parse(body);
    let payload = payload.and_then(|body| body.get("payload").cloned()).unwrap_or(Value::Nil);
    let says = |key, word| payload.get(key).is_some_and(|value: &Value| value.is_keyword(word));
    let message = || -> Box<str> {
        payload.get("message").and_then(Value::as_str).unwrap_or("no reason was given").into()
    };
    if says("status", "success") {
        return Outcome::Done(payload.get("result").cloned().unwrap_or(Value::Nil));
    }
    if says("outcome", "expired") {
        return Outcome::Expired;
    }
    if says("outcome", "unknown-outcome") {
        return Outcome::UnknownOutcome;
    }
    match says("outcome", "failed") {
        true => Outcome::Failed(message()),
        false => Outcome::Denied(message()),
    }
}

/// The principal of this name, where the name says all about it.
fn principal(name: &str) -> Option<Principal> {
    let number = |text: &str| text.parse().ok();
    if name == "stdio" {
        return Some(Principal::Stdio);
    }
    match name.split_once(':')? {
        ("uid", uid) => number(uid).map(Principal::Uid),
        ("local-tcp", uid) => number(uid).map(Principal::LocalTcp),
        ("local-http", uid) => number(uid).map(Principal::LocalHttp),
        ("key", id) => Some(Principal::Key(id.into())),
        _ => None,
    }
}
