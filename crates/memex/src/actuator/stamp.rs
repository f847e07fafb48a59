//! The present as an inactive timestamp, for clocks that are started, states that change, plans that are logged, and for
//! what is refiled or archived, without saying when. In UTC: a shell that knows where its user is says `:at` itself.

use bridle_org::Moment;
use bridle_sexp::Value;

use super::with_key;

/// The payload with `:at`, if the time is a part of what it does and it has none.
pub(super) fn stamped(payload: Value, now: i64) -> Value {
    let action = payload.get("action").and_then(Value::as_keyword).unwrap_or_default();
    let is = |word: &str| action.eq_ignore_ascii_case(word);
    let is_archived = is("archive") && payload.get("to").is_some();
    let is_logged = is("set-state") || is("set-planning") || is("refile");
    let is_timed = is("clock-in") || is("clock-out") || is_archived || is_logged;
    if !is_timed || payload.get("at").is_some() {
        return payload;
    }
    with_key(payload, "at", Value::str(stamp(now)))
}

/// Such as `[2026-11-15 Sun 23:10]`.
fn stamp(now: i64) -> String {
    format!("[{}]", Moment::of_unix_ms(now).text(true))
}

#[cfg(test)]
mod tests {
    use super::stamp;

    #[test]
    fn moments_as_org_writes_them() {
        assert_eq!(stamp(0), "[1970-01-01 Thu 00:00]");
        assert_eq!(stamp(1_794_746_258_250), "[2026-11-15 Sun 12:37]");
    }
}
