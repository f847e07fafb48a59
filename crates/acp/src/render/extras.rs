//! Plans, usage and commands as updates. Each is told only where the daemon told it.

use bridle_sexp::Value;

use crate::daemon_event::{text, word};
use crate::daemon_offers::DaemonOffers;
use crate::protocol::updates::{AvailableCommand, UsageCost};
use crate::protocol::{PlanEntry, SessionUpdate, StopReason};

/// Millionths of a dollar in a dollar.
const MICRODOLLARS: f64 = 1_000_000.0;

/// Commands that the daemon answers by itself, whatever thinks.
const COMMANDS: [(&str, &str); 4] = [
    ("help", "What bridle does, and which commands it answers"),
    ("status", "Version, uptime and what is going on"),
    ("sessions", "Your sessions, the latest first"),
    ("why", "What was decided last in this session, and why"),
];

/// Returns the daemon's commands and those of skills.
pub(crate) fn commands(offers: &DaemonOffers) -> SessionUpdate {
    let command = |(name, description): (&str, &str)| AvailableCommand {
        name: name.to_owned(),
        description: bridle_shell::screen::neutral_line(description).into_owned(),
    };
    let skills = offers.commands.iter().map(|(name, about)| (name.as_str(), about.as_str()));
    SessionUpdate::AvailableCommandsUpdate {
        available_commands: COMMANDS.into_iter().chain(skills).map(command).collect(),
    }
}

/// Returns the entries of a plan; `None` for what is no list.
pub(crate) fn plan(entries: &Value) -> Option<SessionUpdate> {
    let entry = |entry: &Value| {
        let priority = match word(entry, "priority").as_deref() {
            Some("high") => "high",
            Some("low") => "low",
            _ => "medium",
        };
        let status = match word(entry, "status").as_deref() {
            Some("in-progress" | "running") => "in_progress",
            Some("completed" | "done") => "completed",
            _ => "pending",
        };
        Some(PlanEntry { content: text(entry, "text")?, priority, status })
    };
    Some(SessionUpdate::Plan { entries: entries.elements()?.iter().filter_map(entry).collect() })
}

/// Returns the usage of a session; `None` unless both the tokens and the size of the context are told. A cost that
/// is known in part alone is not told: an editor cannot say "at least".
pub(crate) fn usage(usage: &Value) -> Option<SessionUpdate> {
    let count = |key: &str| {
        usage.get(key).and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok())
    };
    let cost = usage.get("cost-microdollars").and_then(Value::as_f64);
    let cost = cost.filter(|_| count("unpriced").unwrap_or_default() == 0);
    let cost = cost.map(|cost| UsageCost { amount: cost / MICRODOLLARS, currency: "USD" });
    Some(SessionUpdate::UsageUpdate {
        used: count("context")?,
        size: count("context-length")?,
        cost,
    })
}

/// Returns the reason for the end of a turn that was answered.
pub(crate) fn stop_reason(word: Option<&str>) -> StopReason {
    match word {
        Some("max-tokens" | "length") => StopReason::MaxTokens,
        Some("max-rounds" | "max-turns") => StopReason::MaxTurnRequests,
        Some("refusal" | "content-filter") => StopReason::Refusal,
        Some("cancelled") => StopReason::Cancelled,
        _ => StopReason::EndTurn,
    }
}

#[cfg(test)]
mod tests {
    use bridle_sexp::read_one;
    use serde_json::json;

    use super::{SessionUpdate, plan, usage};

    #[test]
    fn plans_and_usage_are_told_as_the_daemon_tells_them() {
        let value = |form: &str| read_one(form).unwrap().root().to_value();
        let told =
            plan(&value("((:text \"a\" :status :done) (:text \"b\" :priority :high) (:no 1))"));
        let expected = json!({"sessionUpdate": "plan", "entries": [
            {"content": "a", "priority": "medium", "status": "completed"},
            {"content": "b", "priority": "high", "status": "pending"},
        ]});
        assert_eq!(serde_json::to_value(told).unwrap(), expected);
        assert_eq!(plan(&value("7")), None);
        let told = usage(&value(
            "(:context 12 :context-length 100 :cost-microdollars 1500000 :unpriced 0)",
        ));
        let expected = json!({"sessionUpdate": "usage_update", "used": 12, "size": 100,
            "cost": {"amount": 1.5, "currency": "USD"}});
        assert_eq!(serde_json::to_value(told).unwrap(), expected);
        assert_eq!(usage(&value("(:context 10)")), None);
        let told =
            usage(&value("(:context 12 :context-length 100 :cost-microdollars 7 :unpriced 1)"));
        assert!(matches!(told, Some(SessionUpdate::UsageUpdate { cost: None, .. })), "{told:?}");
    }
}
