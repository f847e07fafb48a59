//! What one message is answered.
//!
//! There is no engine yet: what would need one is refused in plain words.

use bridle_sexp::{Dialect, Value};
use bridle_wire::Code;
use bridle_wire::oacp::health::{Check, Detail, Response};
use bridle_wire::oacp::hello::ClientHello;
use bridle_wire::oacp::{Failure, Id, Message, Meta, Type, error_response, success};

use super::judge::Verdict;
use super::words::SERVER;
use super::{Batch, Greeted, Talk, WIRE};
use crate::config::Limits;
use crate::shared::Shared;

/// What a client is told whose message needs an engine.
const NO_ENGINE: &str = "this daemon has no engine yet: it answers `:health-check` and hello, \
                         and carries nothing else out";

/// What a client is told that answers a question nobody asked.
const NOT_ASKED: &str = "this daemon asked nothing under that id";

impl Talk {
    /// Gives a text the answer that its verdict asks for.
    pub(super) fn reply(&mut self, batch: &mut Batch<'_>, verdict: Verdict) {
        let (id, failure) = match verdict {
            Verdict::Health(check) => return self.health(batch, check),
            Verdict::Hello(id, hello) => return self.hello(batch, id.as_ref(), &hello),
            Verdict::Part(id, part) => return self.part(batch, id.as_ref(), &part),
            Verdict::Refused(id, failure) => (id, failure),
            Verdict::Other(id, Type::Response | Type::HealthResponse) => {
                (id, Failure::because(Code::UnknownId, NOT_ASKED))
            }
            Verdict::Other(None, Type::Request) => {
                (Some(self.assign_id()), Failure::because(Code::Unsupported, NO_ENGINE))
            }
            Verdict::Other(id, _) => (id, Failure::because(Code::Unsupported, NO_ENGINE)),
        };
        self.refuse(batch, id.as_ref(), &failure);
    }

    /// The id of a request that names a target and no id. A text, since clients count with integers.
    fn assign_id(&mut self) -> Id {
        self.assigned = self.assigned.wrapping_add(1);
        Id::Str(format!("bridle-{}", self.assigned).into())
    }

    /// Applies a client's hello and says what now holds.
    fn hello(&mut self, batch: &mut Batch<'_>, id: Option<&Id>, hello: &ClientHello) {
        if let Some(unit) = hello.length {
            self.decoder.set_unit(unit);
            self.encoder.set_unit(unit);
        }
        if let Some(dialect) = hello.dialect {
            self.dialect = dialect;
        }
        if let Some(max_frame) = hello.max_frame {
            self.encoder.set_max_frame(max_frame);
        }
        let parts = hello.capabilities.iter().any(|name| &**name == "parts");
        self.greeted = Some(Greeted { parts, said: 0 });
        let dialect = match self.dialect {
            Dialect::Lisp => "lisp",
            Dialect::Emacs => "emacs",
        };
        let unit = self.decoder.unit().map_or(Value::Nil, |unit| Value::keyword(unit.as_str()));
        let max_frame = i64::try_from(self.encoder.max_frame()).unwrap_or(i64::MAX);
        let settled = [
            ("action", Value::keyword("handshake")),
            ("length", unit),
            ("dialect", Value::keyword(dialect)),
            ("max-frame", Value::int(max_frame)),
        ];
        self.say(batch, &success(id, Meta::default(), settled));
    }

    fn health(&mut self, batch: &mut Batch<'_>, check: Check) {
        if !check.detail {
            let text = Response::plain(batch.status, true);
            return self.say_text(batch, text);
        }
        let detail = Some(detail(batch.shared));
        let mut text = String::new();
        Response { status: batch.status, checked: true, detail }.write(&mut text);
        self.say_text(batch, &text);
    }

    /// Answers with an error, and counts it.
    pub(super) fn refuse(&mut self, batch: &mut Batch<'_>, id: Option<&Id>, failure: &Failure) {
        batch.shared.metrics.error(failure.code);
        self.say(batch, &error_response(id, failure));
    }

    pub(super) fn say(&mut self, batch: &mut Batch<'_>, message: &Message) {
        let mut text = String::new();
        message.write_in(self.dialect, &mut text);
        self.say_text(batch, &text);
    }

    /// Appends one answer frame; too long an answer becomes an error that says so.
    fn say_text(&mut self, batch: &mut Batch<'_>, text: &str) {
        if batch.traced {
            tracing::trace!(target: WIRE, "out {text}");
        }
        let Err(error) = self.encoder.encode(text, batch.out) else {
            batch.tally.frames_out += 1;
            return;
        };
        if self.say_in_parts(batch, text) {
            return;
        }
        batch.shared.metrics.error(error.code());
        let failure = Failure::because(error.code(), format!("the answer does not fit: {error}"));
        let mut text = String::new();
        error_response(None, &failure).write(&mut text);
        // Every error frame fits the smallest `:max-frame` that a hello may ask for.
        let _ = self.encoder.encode(&text, batch.out);
        batch.tally.frames_out += 1;
    }
}

fn detail(shared: &Shared) -> Detail {
    let open = shared.open();
    let in_flight = shared.budget.used();
    Detail {
        server: SERVER.into(),
        uptime_seconds: shared.started.elapsed().as_secs(),
        connections: open as u64,
        queues: vec![("in-flight-bytes", in_flight as u64)],
        limits: limits(&shared.config.limits),
        store: "none",
        metrics: shared.metrics.text(open, in_flight).into(),
    }
}

fn limits(limits: &Limits) -> Vec<(&'static str, u64)> {
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
