//! The health check and its answer.
//!
//! The connection task answers it itself, whatever the rest of the daemon does, millions of times
//! a second; so the check is recognized on the tree, and the plain answer is one of eight texts.

use bridle_sexp::{Dialect, Keyword, Tree, Value};

use super::hello::VERSION;
use super::message::{MessageType, OacpMessage};

/// The commonest check, byte for byte: needs no reader at all.
const PLAIN_CHECKS: [&str; 2] = ["(:type :health-check)", "(:TYPE :HEALTH-CHECK)"];

/// A question for the daemon's health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthCheck {
    /// `:detail t`: versions, counts and metrics are wanted too.
    pub detail: bool,
}

impl HealthCheck {
    /// Recognizes a plain check by its bytes alone. `false` says nothing: the reader decides.
    pub fn is_plain(text: &str) -> bool {
        PLAIN_CHECKS.contains(&text)
    }

    /// Recognizes a check on the tree; allocates nothing.
    ///
    /// `None` when the message is something else, or is no plist and must be refused.
    pub fn from_tree(tree: &Tree<'_>) -> Option<Self> {
        if OacpMessage::peek_type(tree)? != MessageType::HealthCheck {
            return None;
        }
        let root = tree.root();
        root.pairs()?;
        Some(HealthCheck { detail: root.get("detail").is_some_and(|detail| !detail.is_nil()) })
    }

    /// Returns the message that asks.
    pub fn to_message(self) -> OacpMessage {
        let mut message = OacpMessage::new(MessageType::HealthCheck);
        if self.detail {
            message.extra.push((Keyword::from_name("detail"), Value::T));
        }
        message
    }
}

/// Health of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HealthStatus {
    /// All is well.
    Healthy,
    /// The daemon works, with something missing.
    Degraded,
    /// The daemon does not do its work.
    Unhealthy,
    /// Nobody has looked yet.
    Unknown,
}

impl HealthStatus {
    /// All statuses.
    pub const ALL: [HealthStatus; 4] = [
        HealthStatus::Healthy,
        HealthStatus::Degraded,
        HealthStatus::Unhealthy,
        HealthStatus::Unknown,
    ];

    /// Returns the name on the wire, without the colon.
    pub const fn as_str(self) -> &'static str {
        match self {
            HealthStatus::Healthy => "healthy",
            HealthStatus::Degraded => "degraded",
            HealthStatus::Unhealthy => "unhealthy",
            HealthStatus::Unknown => "unknown",
        }
    }
}

/// The answer to a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthResponse {
    /// Health of the daemon.
    pub status: HealthStatus,
    /// Whether a check of the daemon's own has run.
    pub checked: bool,
    /// Details, when asked for with `:detail t`.
    pub detail: Option<HealthDetail>,
}

/// Details of a health answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthDetail {
    /// The program, such as `bridle/0.1.0`.
    pub server: Box<str>,
    /// Seconds since the daemon accepts.
    pub uptime_seconds: u64,
    /// Connections open now.
    pub connections: u64,
    /// Name and depth of each queue, in the order to be written.
    pub queues: Vec<(&'static str, u64)>,
    /// Name and value of each limit, in the order to be written.
    pub limits: Vec<(&'static str, u64)>,
    /// State of the store, such as `none` while there is no store.
    pub store: &'static str,
    /// Hash of the policies that hold; empty while there are none.
    pub policy: Box<str>,
    /// Reason why the policy file is not used as it is.
    pub policy_fault: Option<Box<str>>,
    /// Findings of the daemon's own checks, in the order to be written.
    pub checks: Vec<HealthFinding>,
    /// Metrics in the OpenMetrics text format.
    pub metrics: Box<str>,
}

/// Finding of a check that the daemon made of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthFinding {
    /// Name of the check.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub is_well: bool,
    /// Reason why it is not, where the asker may know it.
    pub said: Box<str>,
}

impl HealthFinding {
    fn to_value(&self) -> Value {
        let ok = if self.is_well { Value::T } else { Value::Nil };
        let said = (!self.said.is_empty()).then(|| ("said", Value::str(self.said.as_ref())));
        Value::plist([("name", Value::keyword(self.name)), ("ok", ok)].into_iter().chain(said))
    }
}

impl HealthResponse {
    /// Returns the text of a plain answer: the four fields that old clients know and no more.
    pub const fn plain(status: HealthStatus, checked: bool) -> &'static str {
        match (status, checked) {
            (HealthStatus::Healthy, true) => {
                "(:type :health-response :status :healthy :checked-p t)"
            }
            (HealthStatus::Healthy, false) => {
                "(:type :health-response :status :healthy :checked-p nil)"
            }
            (HealthStatus::Degraded, true) => {
                "(:type :health-response :status :degraded :checked-p t)"
            }
            (HealthStatus::Degraded, false) => {
                "(:type :health-response :status :degraded :checked-p nil)"
            }
            (HealthStatus::Unhealthy, true) => {
                "(:type :health-response :status :unhealthy :checked-p t)"
            }
            (HealthStatus::Unhealthy, false) => {
                "(:type :health-response :status :unhealthy :checked-p nil)"
            }
            (HealthStatus::Unknown, true) => {
                "(:type :health-response :status :unknown :checked-p t)"
            }
            (HealthStatus::Unknown, false) => {
                "(:type :health-response :status :unknown :checked-p nil)"
            }
        }
    }

    /// Appends the answer as text.
    pub fn write(&self, out: &mut String) {
        let plain = HealthResponse::plain(self.status, self.checked);
        let Some(detail) = &self.detail else { return out.push_str(plain) };
        out.push_str(plain.trim_end_matches(')'));
        out.push_str(" :detail ");
        bridle_sexp::print(&detail.to_value(), Dialect::Lisp, out);
        out.push(')');
    }

    /// Reads status and whether it was checked from an answer; `None` when it is something else.
    pub fn status_of(message: &OacpMessage) -> Option<(HealthStatus, bool)> {
        if message.kind != MessageType::HealthResponse {
            return None;
        }
        let find = |name| message.extra.iter().find(|(key, _)| key.is(name)).map(|(_, v)| v);
        let status = find("status")?;
        let status =
            HealthStatus::ALL.into_iter().find(|known| status.is_keyword(known.as_str()))?;
        let checked = find("checked-p").is_some_and(|value| !matches!(value, Value::Nil));
        Some((status, checked))
    }
}

impl HealthDetail {
    fn to_value(&self) -> Value {
        let number = |number: u64| Value::int(i64::try_from(number).unwrap_or(i64::MAX));
        let numbers = |rows: &[(&'static str, u64)]| {
            Value::plist(rows.iter().map(|(name, value)| (*name, number(*value))))
        };
        let head = [
            ("server", Value::str(self.server.as_ref())),
            ("protocol", Value::str(VERSION)),
            ("uptime-seconds", number(self.uptime_seconds)),
            ("connections", number(self.connections)),
            ("queues", numbers(&self.queues)),
            ("limits", numbers(&self.limits)),
            ("store", Value::keyword(self.store)),
            ("policy", Value::str(self.policy.as_ref())),
        ];
        let fault = self.policy_fault.as_deref().map(|fault| ("policy-fault", Value::str(fault)));
        let checks = self.checks.iter().map(HealthFinding::to_value);
        let checks = (!self.checks.is_empty()).then(|| ("checks", Value::list(checks)));
        let metrics = ("metrics", Value::str(self.metrics.as_ref()));
        Value::plist(head.into_iter().chain(fault).chain(checks).chain([metrics]))
    }
}
