//! Counters of one daemon, as OpenMetrics text inside a detailed health answer.
//!
//! Connections count into a [`ConnectionTally`] of their own and add it once per batch, so that a frame
//! costs no shared cache line. Not a log: no addresses, no ids, no texts.

use std::fmt::Write as _;
use std::sync::OnceLock;

use bridle_wire::OacpCode;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// The status of a response that all is well with.
const OK: u16 = 200;

type ByLabel = Family<[(&'static str, &'static str); 1], Counter>;

/// All counters of one daemon.
#[derive(Debug)]
pub(crate) struct DaemonMetrics {
    registry: Registry,
    pub(crate) accepted: Counter,
    refused: ByLabel,
    open: Gauge,
    closed: ByLabel,
    frames_in: Counter,
    frames_out: Counter,
    bytes_in: Counter,
    bytes_out: Counter,
    /// One counter per error code, in the order of [`OacpCode::ALL`], so that counting an error
    /// takes no lock.
    errors: Vec<Counter>,
    in_flight: Gauge,
    /// Responses of HTTP, by status.
    http: Family<[(&'static str, u16); 1], Counter>,
    /// The one of them that nearly all are, once there is one: found without a lock.
    http_ok: OnceLock<Counter>,
    /// Requests over HTTP that came too often, by what was counted.
    http_limited: ByLabel,
    /// Shared with the engine.
    pub(crate) engine: EngineMetrics,
}

/// Counters of the engine; made by it, and shown with the rest.
#[derive(Clone, Debug)]
pub(crate) struct EngineMetrics {
    /// Messages recorded.
    pub(crate) admitted: Counter,
    /// Answers recorded.
    pub(crate) answers: Counter,
    /// Questions of the guard.
    pub(crate) asked: Counter,
    /// Answers to them, also such as do not count.
    pub(crate) answered: Counter,
    /// Messages refused before they were recorded.
    pub(crate) refused: Counter,
    /// Built-in answers to peers that nobody knows, which are not recorded.
    pub(crate) strangers_answered: Counter,
    /// Records of each commit.
    pub(crate) commits: Histogram,
    /// Bytes of deltas that a shell was too slow for.
    pub(crate) deltas_dropped: Counter,
}

impl Default for EngineMetrics {
    fn default() -> EngineMetrics {
        EngineMetrics {
            admitted: Counter::default(),
            answers: Counter::default(),
            refused: Counter::default(),
            strangers_answered: Counter::default(),
            asked: Counter::default(),
            answered: Counter::default(),
            // One record to all that a full queue of the record writer can bring.
            commits: Histogram::new(exponential_buckets(1.0, 4.0, 8)),
            deltas_dropped: Counter::default(),
        }
    }
}

impl EngineMetrics {
    fn register(&self, registry: &mut Registry) {
        let mut show = |name: &str, help: &str, counter: &Counter| {
            registry.register(name, help, counter.clone());
        };
        show("messages_admitted", "Messages of shells recorded", &self.admitted);
        show("messages_refused", "Messages refused and not recorded", &self.refused);
        show("answers", "Answers recorded", &self.answers);
        show("strangers_answered", "Built-in answers to strangers", &self.strangers_answered);
        show("approvals_asked", "Approval requests", &self.asked);
        show("approvals_answered", "Answers to approval requests", &self.answered);
        registry.register_with_unit(
            "deltas_dropped",
            "Text of deltas dropped because a shell is slow",
            Unit::Bytes,
            self.deltas_dropped.clone(),
        );
        registry.register("commit_records", "Records of each commit", self.commits.clone());
    }
}

/// Counts of one connection since it last added them.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTally {
    pub(crate) frames_in: u64,
    pub(crate) frames_out: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
}

impl DaemonMetrics {
    /// Zeroed counters under their published names.
    pub(crate) fn new(engine: EngineMetrics) -> DaemonMetrics {
        let mut registry = Registry::with_prefix("bridle");
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let accepted = counter("connections_accepted", "Connections accepted");
        let frames_in = counter("frames_received", "Frames received");
        let frames_out = counter("frames_sent", "Frames written");
        let mut bytes = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register_with_unit(name, help, Unit::Bytes, counter.clone());
            counter
        };
        let bytes_in = bytes("received", "Bytes read from peers");
        let bytes_out = bytes("sent", "Bytes written to peers");
        let in_flight = Gauge::default();
        let held = "Bytes held beyond the reserves of connections";
        registry.register_with_unit("in_flight", held, Unit::Bytes, in_flight.clone());
        let open = Gauge::default();
        registry.register("connections_open", "Connections open now", open.clone());
        let mut family = |name: &str, help: &str| {
            let family = ByLabel::default();
            registry.register(name, help, family.clone());
            family
        };
        let refused = family("connections_refused", "Connections refused, by reason");
        let closed = family("connections_closed", "Connections ended, by reason");
        let http_limited =
            family("http_limited", "Requests over HTTP that came too often, by whose");
        let by_code = family("errors", "Error frames, by code");
        let one = |code: &OacpCode| by_code.get_or_create(&[("code", code.as_str())]).clone();
        let errors = OacpCode::ALL.iter().map(one).collect();
        let http = Family::default();
        registry.register("http_responses", "Responses of HTTP, by status", http.clone());
        engine.register(&mut registry);
        DaemonMetrics {
            registry,
            accepted,
            refused,
            open,
            closed,
            frames_in,
            frames_out,
            bytes_in,
            bytes_out,
            errors,
            in_flight,
            http,
            http_ok: OnceLock::new(),
            http_limited,
            engine,
        }
    }

    /// Adds what a connection counted and empties its tally.
    pub(crate) fn add(&self, tally: &mut ConnectionTally) {
        let take = |counter: &Counter, n: &mut u64| {
            if *n > 0 {
                counter.inc_by(std::mem::take(n));
            }
        };
        take(&self.frames_in, &mut tally.frames_in);
        take(&self.frames_out, &mut tally.frames_out);
        take(&self.bytes_in, &mut tally.bytes_in);
        take(&self.bytes_out, &mut tally.bytes_out);
    }

    /// Counts one error frame.
    pub(crate) fn error(&self, code: OacpCode) {
        if let Some(counter) = self.errors.get(code as usize) {
            counter.inc();
        }
    }

    /// Counts a connection that was not served.
    pub(crate) fn refuse(&self, code: OacpCode) {
        self.refused.get_or_create(&[("reason", code.as_str())]).inc();
        self.error(code);
    }

    /// Counts the end of a connection, under the label of its reason.
    pub(crate) fn close(&self, reason: &'static str) {
        self.closed.get_or_create(&[("reason", reason)]).inc();
    }

    /// Counts one response of HTTP.
    pub(crate) fn http(&self, status: u16) {
        let counter = || self.http.get_or_create(&[("status", status)]).clone();
        match status {
            OK => self.http_ok.get_or_init(counter).inc(),
            _ => counter().inc(),
        };
    }

    /// Counts a request over HTTP that came too often: of a principal, or of an address.
    pub(crate) fn http_limited(&self, whose: &'static str) {
        self.http_limited.get_or_create(&[("whose", whose)]).inc();
    }

    /// Returns the OpenMetrics text.
    pub(crate) fn text(&self, open: usize, in_flight: usize) -> String {
        self.open.set(i64::try_from(open).unwrap_or(i64::MAX));
        self.in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
        let mut out = String::new();
        if text::encode(&mut out, &self.registry).is_err() {
            out.clear();
            let _ = out.write_str("# EOF\n");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectionTally, DaemonMetrics, EngineMetrics};
    use bridle_wire::OacpCode;

    #[test]
    fn every_code_has_its_own_counter() {
        let metrics = DaemonMetrics::new(EngineMetrics::default());
        for (idx, code) in OacpCode::ALL.into_iter().enumerate() {
            for _ in 0..=idx {
                metrics.error(code);
            }
        }
        let text = metrics.text(0, 0);
        for (idx, code) in OacpCode::ALL.into_iter().enumerate() {
            let line = format!("bridle_errors_total{{code=\"{code}\"}} {}\n", idx + 1);
            assert!(text.contains(&line), "{line} in {text}");
        }
    }

    #[test]
    fn a_tally_is_added_once() {
        let metrics = DaemonMetrics::new(EngineMetrics::default());
        let mut tally = ConnectionTally { frames_in: 2, frames_out: 3, bytes_in: 5, bytes_out: 7 };
        metrics.add(&mut tally);
        metrics.add(&mut tally);
        let text = metrics.text(3, 11);
        for line in [
            "bridle_frames_received_total 2\n",
            "bridle_frames_sent_total 3\n",
            "bridle_received_bytes_total 5\n",
            "bridle_sent_bytes_total 7\n",
            "bridle_connections_open 3\n",
            "bridle_in_flight_bytes 11\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
