//! What one message is answered, if it needs no engine.

use bridle_loop::SessionAccess;
use bridle_wire::OacpCode;
use bridle_wire::frame::EncodeError;
use bridle_wire::oacp::health::{HealthCheck, HealthDetail, HealthFinding, HealthResponse};
use bridle_wire::oacp::{ErrorReply, MessageId, MessageType, OacpMessage, error_response};

use super::canned_replies::SERVER;
use super::payload_check::{PayloadVerdict, too_large};
use super::{Conversation, ReplyContext, WIRE};
use crate::config::DaemonLimits;
use crate::engine;
use crate::oacp::service::OacpService;
use crate::self_checks::SelfCheck;

/// Reason for a message that nobody takes.
const NOT_TAKEN: &str = "expected an event, a request, a log line, a hello or a health check; \
                         nothing here takes this type from a client";

/// Reason for an answer to a question that nobody asked.
pub(super) const NOT_ASKED: &str = "this daemon asked nothing under that id";

impl Conversation {
    /// Gives a text the answer that its verdict asks for.
    pub(super) fn reply(&mut self, batch: &mut ReplyContext<'_>, verdict: PayloadVerdict) {
        let (id, failure) = match verdict {
            PayloadVerdict::Health(check) => return self.health(batch, check),
            PayloadVerdict::Hello(id, hello) => return self.hello(id, hello),
            PayloadVerdict::Part(id, part) => return self.part(batch, id.as_ref(), &part),
            PayloadVerdict::Signal(signal) => return self.signal(batch, signal),
            PayloadVerdict::Query(id, query) => return self.query(batch.service, id, query),
            PayloadVerdict::Answer(message) => return self.answered(batch, &message),
            PayloadVerdict::TooLarge(id) => return self.decline(batch, id.as_ref(), &too_large()),
            PayloadVerdict::Refused(id, failure) => (id, failure),
            PayloadVerdict::Other(id, MessageType::HealthResponse) => {
                (id, ErrorReply::because(OacpCode::UnknownId, NOT_ASKED))
            }
            PayloadVerdict::Other(id, _) => {
                (id, ErrorReply::because(OacpCode::Unsupported, NOT_TAKEN))
            }
        };
        self.refuse(batch, id.as_ref(), &failure);
    }

    pub(super) fn health(&mut self, batch: &mut ReplyContext<'_>, check: HealthCheck) {
        if !check.detail {
            let text = HealthResponse::plain(batch.status, true);
            return self.say_text(batch, text);
        }
        let Some(who) = self.principal() else { return self.await_principal(check) };
        // How the daemon is doing is for everybody; what it is doing is not.
        if !who.permits(SessionAccess::Observe) {
            return self.health(batch, HealthCheck { detail: false });
        }
        let detail = Some(detail(batch.service, who.is_owner()));
        let mut text = String::new();
        HealthResponse { status: batch.status, checked: true, detail }.write(&mut text);
        self.say_text(batch, &text);
    }

    /// Answers with an error, and counts it.
    pub(super) fn refuse(
        &mut self,
        batch: &mut ReplyContext<'_>,
        id: Option<&MessageId>,
        failure: &ErrorReply,
    ) {
        batch.service.daemon.metrics.error(failure.code);
        self.say(batch, &error_response(id, failure));
    }

    pub(super) fn say(&mut self, batch: &mut ReplyContext<'_>, message: &OacpMessage) {
        let mut text = String::new();
        message.write_in(self.dialect, &mut text);
        if !self.put_off(&text) {
            self.say_text(batch, &text);
        }
    }

    /// Appends one frame; too long a text becomes an error that says so.
    pub(super) fn say_text(&mut self, batch: &mut ReplyContext<'_>, text: &str) {
        let Err(error) = self.try_say(batch, text) else { return };
        batch.service.daemon.metrics.error(error.code());
        let failure =
            ErrorReply::because(error.code(), format!("the answer does not fit: {error}"));
        let mut text = String::new();
        error_response(None, &failure).write(&mut text);
        // Every error frame fits the smallest `:max-frame` that a hello may ask for.
        let _ = self.encoder.encode(&text, batch.out);
        batch.tally.frames_out += 1;
    }

    /// Appends one frame, or the parts of a text that is too long for one.
    pub(super) fn try_say(
        &mut self,
        batch: &mut ReplyContext<'_>,
        text: &str,
    ) -> Result<(), EncodeError> {
        if batch.traced {
            tracing::trace!(target: WIRE, "out {}", batch.service.replies.outline(text.as_bytes()));
        }
        match self.encoder.encode(text, batch.out) {
            Err(error) if !self.say_in_parts(batch, text) => return Err(error),
            Err(_) => {}
            Ok(()) => batch.tally.frames_out += 1,
        }
        Ok(())
    }
}

/// Text in the place of a fault in the policies for whoever is not their owner: the fault quotes them.
const POLICY_FAULT_ELSEWHERE: &str = "the policies have a fault, which is shown to their owner";

fn detail(service: &OacpService, is_owner: bool) -> HealthDetail {
    let open = service.daemon.open();
    let in_flight = service.daemon.budget.used();
    let traffic = engine::count_traffic(&service.daemon.hub);
    let present = service.daemon.hub.home.guard.present();
    HealthDetail {
        server: SERVER.into(),
        uptime_seconds: service.daemon.started.elapsed().as_secs(),
        connections: open as u64,
        queues: vec![
            ("in-flight-bytes", in_flight as u64),
            ("strangers", service.daemon.seats.strangers() as u64),
            ("sessions", traffic.sessions as u64),
            ("shells", traffic.shells as u64),
            ("messages", traffic.messages as u64),
            ("effects", traffic.effects as u64),
            ("approvals", traffic.approvals as u64),
            ("appends", traffic.appends as u64),
            ("records", traffic.records),
        ],
        limits: limits(&service.daemon.config.limits),
        store: if service.daemon.hub.home.is_healthy() { "ready" } else { "unavailable" },
        policy: present.installed.hash().to_string().into(),
        policy_fault: match is_owner {
            true => present.fault.clone(),
            false => present.fault.as_ref().map(|_| POLICY_FAULT_ELSEWHERE.into()),
        },
        checks: checks(service, is_owner),
        metrics: service.daemon.metrics.text(open, in_flight).into(),
    }
}

/// Findings of the daemon's own checks; what is wrong is for the owner.
fn checks(service: &OacpService, is_owner: bool) -> Vec<HealthFinding> {
    let latest = service.daemon.checks.latest().into_iter();
    let finding = |check: SelfCheck| HealthFinding {
        name: check.name,
        is_well: check.fault.is_none(),
        said: check.fault.filter(|_| is_owner).unwrap_or_default(),
    };
    latest.map(finding).collect()
}

fn limits(limits: &DaemonLimits) -> Vec<(&'static str, u64)> {
    let seconds = |deadline: std::time::Duration| deadline.as_secs();
    vec![
        ("connections", limits.connections as u64),
        ("frame-bytes", limits.frame as u64),
        ("message-bytes", limits.message as u64),
        ("in-flight-bytes", limits.in_flight as u64),
        ("output-bytes", limits.output as u64),
        ("frame-deadline-seconds", seconds(limits.frame_deadline)),
        ("unit-deadline-seconds", seconds(limits.unit_deadline)),
        ("write-deadline-seconds", seconds(limits.write_deadline)),
        ("shutdown-grace-seconds", seconds(limits.shutdown_grace)),
    ]
}
