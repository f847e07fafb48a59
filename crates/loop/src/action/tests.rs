//! Actions: what they need, and what they touch.

use bridle_sexp::read_one;

use super::{Action, RiskLevel};

/// The name and the risk that a payload is read as, or why it is no action.
fn check(payload: &str, expect: &str) {
    let payload = read_one(payload).expect("a form").root().to_value();
    let got = match Action::from_payload(&payload) {
        Ok(action) => format!("{} {}", action.name(), action.risk().word()),
        Err(fault) => fault.to_string(),
    };
    assert_eq!(got, expect, "{payload}");
}

#[test]
fn risk_follows_from_the_action() {
    check(r#"(:action :message :text "x")"#, "message safe");
    check(r#"(:action :notify :text "x" :risk :dangerous)"#, "notify safe");
    check(r#"(:action :complete :prefix "")"#, "complete safe");
    check(r#"(:action :log :text "x")"#, "log safe");
    check(r#"(:action :schedule :name "a" :in 0 :payload (:sensor :x))"#, "schedule safe");
    check(r#"(:action :unschedule :name "a")"#, "unschedule safe");
    check(r#"(:action :pause-schedule :name "a")"#, "pause-schedule safe");
    check(r#"(:action :resume-schedule :name "a")"#, "resume-schedule safe");
    check(r#"(:action :tally :file "x")"#, "tally safe");
    check(r#"(:action :insert-at-end :text "x")"#, "insert-at-end caution");
    check(r#"(:action :refactor-subtree :target-id "x")"#, "refactor-subtree caution");
    check("(:action :fork :record 3)", "fork caution");
    check(r#"(:action :eval :code "1" :risk :safe)"#, "eval dangerous");
    check(r#"(:action :forget :session "a")"#, "forget dangerous");
    check("(:action :forget :record 3)", "forget dangerous");
    check("(:action :anything-else)", "anything-else dangerous");
}

#[test]
fn arguments_are_checked() {
    check("(:action :message)", "`:message` without a good `:text`, expected a string");
    check("(:action :eval :code (1))", "`:eval` without a good `:code`, expected a string");
    check("(:action :fork :record -1)", "`:fork` without a good `:record`, expected a number");
    check(
        "(:action :forget :record 0)",
        "`:forget` without a good `:session`, expected a session's name, or a record's number as \
         `:record`",
    );
    check(
        "(:action :refactor-subtree :target-id nil)",
        "`:refactor-subtree` without a good `:target-id`, expected a value",
    );
    check("(:text \"x\")", "no `:action`, expected a keyword");
    check("(:action :message :text)", "the payload is no property list");
    check("17", "the payload is no property list");
}

#[test]
fn risks_are_ordered() {
    assert!(RiskLevel::Safe < RiskLevel::Caution && RiskLevel::Caution < RiskLevel::Dangerous);
}
