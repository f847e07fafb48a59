//! What is recorded is what was judged: read back, it is judged the same.

use bridle_sexp::{Value, read_one};

use super::{PolicyRehearsal, RecordedJudgment, blind, class};
use crate::ids::{SessionId, UnixMillis};
use crate::policy::{GuardPolicies, PolicyFacts, PolicyVerdict};

/// A decision about what an example describes, as `decide` would record it.
fn decided(example: &str, rule: &str) -> (PolicyFacts, Value) {
    let facts = PolicyFacts::described(example).unwrap();
    let example = read_one(example).unwrap().root().to_value();
    let payload = match example.get("payload") {
        Some(payload) => payload.clone(),
        None => Value::Nil,
    };
    let set = GuardPolicies::built_in();
    let found = if rule == "approval" { set.find_approved(&facts) } else { set.find(&facts) };
    let checked = Value::list([
        Value::keyword("size"),
        Value::keyword("pass"),
        Value::keyword(rule),
        Value::keyword(found.word.word()),
    ]);
    let body = Value::plist([
        ("by", Value::keyword(facts.by.word())),
        ("target", facts.target.to_value()),
        ("action", facts.name.to_value()),
        ("payload", payload),
        ("checked", checked),
        ("facts", facts.to_value()),
    ]);
    (facts, body)
}

fn read(body: &Value) -> RecordedJudgment {
    let session = SessionId::parse("example").unwrap();
    RecordedJudgment::read(&session, UnixMillis(0), body).unwrap().unwrap()
}

const EXAMPLES: [&str; 8] = [
    r#"(:principal "owner" :by :thinker :target :emacs :place :shell :payload (:action :eval :code "1"))"#,
    r#"(:principal "local-tcp" :target :emacs :payload (:action :insert-at-end :text "x"))"#,
    r#"(:principal "owner" :by :thinker :target :file :payload (:action :write :path "/a" :text "x") :protected t)"#,
    r#"(:principal "owner" :target :exec :payload (:action :exec :argv ("a" "b") :cwd "/c") :session-hour 1000)"#,
    r#"(:principal "x" :session-owner "y" :target :net :payload (:action :net :host "a.org" :port 80) :minute 3)"#,
    r#"(:principal "owner" :target :purse :payload (:action :spend :amount 5 :currency "usd") :weekday 7)"#,
    r#"(:principal "owner" :target :made :payload (:action :dance))"#,
    r#"(:principal "anonymous" :action :think)"#,
];

#[test]
fn facts_are_read_back_as_they_were() {
    for example in EXAMPLES {
        for rule in ["policy", "approval"] {
            let (facts, body) = decided(example, rule);
            let recorded = read(&body);
            assert_eq!(recorded.facts(), &facts, "{example}");
            let set = GuardPolicies::built_in();
            let found = PolicyRehearsal::new(&set).find(&recorded);
            assert_eq!(found.word, recorded.word(), "{example}");
        }
    }
}

#[test]
fn what_the_policies_were_not_asked_is_passed_over() {
    let session = SessionId::parse("s").unwrap();
    for body in ["(:by :thinker :verdict :deny)", "(:facts (:kind :eval) :checked (:size :deny))"] {
        let body = read_one(body).unwrap().root().to_value();
        assert_eq!(RecordedJudgment::read(&session, UnixMillis(0), &body), Ok(None));
    }
    let body = read_one("(:facts (:kind :nope) :checked (:policy :deny))").unwrap();
    let body = body.root().to_value();
    assert_eq!(RecordedJudgment::read(&session, UnixMillis(0), &body).unwrap_err().key(), "kind");
}

#[test]
fn a_fact_that_a_policy_names_is_looked_at() {
    let file = |cedar: &str| {
        let org = format!(
            "* One\n#+begin_src cedar\n{cedar}\n#+end_src\n#+begin_src examples\n\
             (refuse (:principal \"x\" :action :log :text \"x\" :minute 0 :now 0))\n#+end_src\n"
        );
        GuardPolicies::from_org(&org).unwrap()
    };
    let act = |condition: &str| {
        file(&format!(
            "permit (principal, action in Action::\"act\", resource) when {{ {condition} }};"
        ))
    };
    let at = |minute: i64| {
        let example = format!(
            "(:principal \"x\" :target :log :minute {minute} :payload (:action :log :text \"x\"))"
        );
        read(&decided(&example, "policy").1)
    };
    for set in [
        act("context.minute > 100"),
        act(r#"context["min\u{75}te"] > 100"#),
        file(
            r#"permit (principal, action == Action::"log", resource) when { context.minute > 100 };"#,
        ),
    ] {
        let mut rehearsal = PolicyRehearsal::new(&set);
        assert_eq!(rehearsal.find(&at(100)).word, PolicyVerdict::Deny);
        assert_eq!(rehearsal.find(&at(101)).word, PolicyVerdict::Allow);
        assert_eq!(rehearsal.find(&at(99)).word, PolicyVerdict::Deny);
    }
    let set = act(r#"context.name == "log" && context.risk != "safe""#);
    let mut rehearsal = PolicyRehearsal::new(&set);
    for minute in 0..50 {
        assert_eq!(rehearsal.find(&at(minute)).word, PolicyVerdict::Deny);
    }
    assert_eq!(rehearsal.remembered.len(), 1, "what no policy names is not told apart");
}

/// What the policies of `log` cannot tell apart is the same.
fn blinded(set: &GuardPolicies, around: &str) -> PolicyFacts {
    let example = format!("(:principal \"x\" :action :log :text \"x\" {around})");
    let mut facts = PolicyFacts::described(&example).unwrap();
    blind(&set.parts["log"].named(&set.rules), &mut facts);
    facts
}

fn log(condition: &str) -> GuardPolicies {
    let org = format!(
        "* One\n#+begin_src cedar\npermit (principal, action == Action::\"log\", resource) when \
         {{ {condition} }};\n#+end_src\n#+begin_src examples\n#+end_src\n"
    );
    GuardPolicies::from_org(&org).unwrap()
}

#[test]
fn a_grant_tells_apart_what_it_names_and_nothing_else() {
    let set = log(r#"context.hash == "ab" && context.now < 50"#);
    let facts =
        |hash: &str, now: i64| blinded(&set, &format!(":hash \"{hash}\" :now {now} :minute {now}"));
    assert_eq!(facts("cd", 1), facts("ef", 49));
    assert_ne!(facts("ab", 1), facts("ef", 1));
    assert_ne!(facts("ab", 49), facts("ab", 50));
    let set = log(r#"context.hash == """#);
    assert_ne!(blinded(&set, ":hash \"\""), blinded(&set, ":hash \"ab\""));
}

#[test]
fn numbers_that_are_only_compared_fall_into_classes() {
    let numbers = [10, 20].into();
    let classes: Vec<i64> = [5, 9, 10, 11, 19, 20, 21, 99].map(|it| class(it, &numbers)).to_vec();
    assert_eq!(classes, [i64::MIN, i64::MIN, 10, 11, 11, 20, 21, 21]);
    let set = log("50 >= context.now || !(context.session_hour == 3)");
    let facts = |now: i64, hour: i64| {
        blinded(&set, &format!(":now {now} :session-hour {hour} :minute {now}"))
    };
    assert_eq!(facts(51, 4), facts(1_000, 99));
    assert_ne!(facts(50, 4), facts(51, 4));
    assert_ne!(facts(51, 3), facts(51, 4));
    for other in [
        "context.now + 1 < 50",
        "context.now < context.minute",
        "[1].contains(context.now)",
        "(if context.approved then context.now else 1) > 3",
        "context has now && {\"a\": context.now} == {\"a\": 7}",
    ] {
        let set = log(other);
        assert_ne!(blinded(&set, ":now 1"), blinded(&set, ":now 2"), "{other}");
    }
}
