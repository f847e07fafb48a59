//! What is passed over changes nothing: Cedar, asked about the whole set, says the same.

use cedar_policy::{Authorizer, Decision, PolicySet};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;

use super::CedarAnswer;
use crate::policy::cedar_request::ApprovalQuestion;
use crate::policy::prefilter::{ApprovalDirection, PrefilterInput};
use crate::policy::{GuardPolicies, PolicyFacts, PolicyFinding, PolicyVerdict};

/// Both questions, asked of all policies of the set at once.
fn plain(set: &GuardPolicies, facts: &PolicyFacts) -> PolicyFinding {
    let now = match plain_answer(set, facts, ApprovalQuestion::No) {
        Ok(now) if now.permits => {
            return PolicyFinding {
                word: PolicyVerdict::Allow,
                policies: now.policies,
                fault: None,
            };
        }
        Ok(now) => now,
        Err(fault) => return PolicyFinding::untold(fault),
    };
    match plain_answer(set, facts, ApprovalQuestion::Yes) {
        Ok(after) => {
            let word = if after.permits { PolicyVerdict::Ask } else { PolicyVerdict::Deny };
            let policies = if after.policies.is_empty() { now.policies } else { after.policies };
            PolicyFinding { word, policies, fault: None }
        }
        Err(fault) => PolicyFinding::untold(fault),
    }
}

fn plain_answer(
    set: &GuardPolicies,
    facts: &PolicyFacts,
    approved: ApprovalQuestion,
) -> Result<CedarAnswer, String> {
    let mut whole = PolicySet::new();
    for rule in &set.rules {
        rule.alone.policies().for_each(|policy| whole.add(policy.clone()).unwrap());
    }
    let mut world = set.types.world(facts)?;
    let (request, entities) = world.question(facts, approved)?;
    let response = Authorizer::new().is_authorized(request, &whole, entities);
    if let Some(error) = response.diagnostics().errors().next() {
        return Err(error.to_string());
    }
    let reasons = response.diagnostics().reason();
    let mut policies: Vec<Box<str>> = reasons.map(|id| AsRef::<str>::as_ref(id).into()).collect();
    policies.sort_unstable();
    Ok(CedarAnswer { permits: response.decision() == Decision::Allow, policies })
}

fn set(policies: &[String]) -> GuardPolicies {
    let section = |(number, policy): (usize, &String)| {
        format!(
            "* p{number}\n#+begin_src cedar\n{policy}\n#+end_src\n#+begin_src examples\n#+end_src\n"
        )
    };
    let text: String = policies.iter().enumerate().map(section).collect();
    GuardPolicies::from_org(&text).unwrap_or_else(|bad| panic!("{bad}\n{text}"))
}

const ACTIONS: [&str; 7] = [
    "action",
    r#"action == Action::"write""#,
    r#"action == Action::"net""#,
    r#"action in Action::"act""#,
    r#"action in Action::"access""#,
    r#"action in [Action::"exec", Action::"net", Action::"read", Action::"approve"]"#,
    r#"action in [Action::"access", Action::"eval"]"#,
];

const PRINCIPALS: [&str; 6] = [
    "principal",
    "principal is Person",
    r#"principal in Group::"owner""#,
    r#"principal is Person in Group::"local-tcp""#,
    r#"principal == Thinker::"thinker""#,
    r#"principal == Person::"uid:1""#,
];

/// Conditions that hold for every action of the schema. Some can fail.
const CONDITIONS: [&str; 44] = [
    "true",
    "context.approved",
    "!context.approved",
    "context.approved == false",
    "context.protected",
    r#"context.risk == "safe""#,
    r#""dangerous" == context.risk"#,
    r#"context.risk != "caution""#,
    r#"["safe", "caution"].contains(context.risk)"#,
    r#"context.name == "write""#,
    r#"context.name like "*e*""#,
    r#"context["by"] == "thinker""#,
    r#"context.hash == """#,
    r#"context.hash == "ab""#,
    "context.now < 50",
    "50 <= context.now",
    "context.minute >= 720",
    "context.weekday == 1",
    "7 != context.weekday",
    "context.session_hour > 2",
    "context.session_hour > context.asker_hour",
    "context.session_hour + 9223372036854775807 > 0",
    "context.action_hour * 2 < 9",
    "-context.asker_hour < 0",
    r#"context.asker in Group::"owner""#,
    r#"context.asker in [Group::"local-tcp", Group::"anonymous"]"#,
    r#"context.asker == Person::"uid:1""#,
    r#"context.asker.kind == "uid""#,
    "context.session.owner == context.asker",
    r#"context.session.owner in Group::"owner""#,
    r#"context.session.owner in Group::"local-tcp""#,
    r#"context.session == Session::"example""#,
    r#"context.target == Actuator::"emacs""#,
    r#"context.target.place == "shell""#,
    "principal is Thinker",
    r#"principal in Group::"owner""#,
    r#"Person::"uid:1".kind == "uid""#,
    r#"Person::"uid:1" in Group::"owner""#,
    r#"Person::"nobody".kind == "uid""#,
    r#"action == Action::"exec""#,
    r#"action in Action::"access""#,
    "context has approved",
    r#"(if context.approved then context.minute else 5) > 9"#,
    r#"context.asker is Person in Group::"time""#,
];

/// Conditions about what an action is done to, with the action that they are for.
const THINGS: [(&str, &str); 12] = [
    ("read", r#"resource in Folder::"/srv""#),
    ("write", r#"resource in Folder::"/srv/me""#),
    ("write", r#"resource == Path::"/srv/me/x""#),
    ("write", r#"resource in [Folder::"/", Folder::"/home"]"#),
    ("net", r#"resource in Domain::"example.org""#),
    ("net", r#"resource in Domain::"org" && resource.port == 443"#),
    ("net", r#"resource == Host::"10.0.0.1""#),
    ("exec", r#"resource == Command::"git""#),
    ("exec", r#"resource.arguments.contains("status") && resource.count == 1"#),
    ("spend", "resource.amount * 2 > 9"),
    ("approve", "resource.owner == principal"),
    ("observe", r#"resource.owner == Person::"uid:1""#),
];

fn condition() -> impl Strategy<Value = String> {
    let leaf = select(&CONDITIONS[..]).prop_map(str::to_owned);
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) && ({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) || ({b})")),
            inner.clone().prop_map(|a| format!("!({a})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("if ({a}) then ({b}) else ({c})")),
        ]
    })
}

fn policy() -> impl Strategy<Value = String> {
    let effect = || select(&["permit", "permit", "forbid"][..]);
    let clause = || {
        let word = select(&["when", "when", "unless"][..]);
        (word, condition()).prop_map(|(word, condition)| format!("{word} {{ {condition} }}"))
    };
    let general = (effect(), select(&PRINCIPALS[..]), select(&ACTIONS[..]), vec(clause(), 0..3))
        .prop_map(|(effect, who, action, clauses)| {
            format!("{effect} ({who}, {action}, resource) {};", clauses.join(" "))
        })
        // A thinker has no access; strict checks refuse a policy that can never apply.
        .prop_filter("can apply", |text| {
            !(text.contains("Thinker::") && text.contains("Action::\"access\", "))
        });
    let about = (effect(), select(&THINGS[..]), clause(), Just(()));
    let about = about.prop_map(|(effect, (action, thing), clause, ())| {
        format!(
            "{effect} (principal, action == Action::\"{action}\", resource) when {{ {thing} }} \
             {clause};"
        )
    });
    prop_oneof![3 => general, 1 => about]
}

fn facts() -> impl Strategy<Value = PolicyFacts> {
    let who = select(&["owner", "uid:1", "local-tcp", "anonymous", "schedule", "key:x"][..]);
    let owner = select(&["owner", "uid:1", "local-tcp"][..]);
    let by = select(&[":asker", ":reflex", ":thinker"][..]);
    let what = select(
        &[
            r#":target :emacs :place :shell :payload (:action :eval :code "x")"#,
            r#":target :emacs :payload (:action :message :text "x")"#,
            r#":target :file :payload (:action :write :path "/srv/me/x" :text "x")"#,
            r#":target :file :payload (:action :read :path "/srv/you")"#,
            r#":target :net :payload (:action :net :host "api.example.org")"#,
            r#":target :net :payload (:action :net :host "10.0.0.1" :port 80)"#,
            r#":target :exec :payload (:action :exec :argv ("git" "status"))"#,
            r#":target :exec :payload (:action :exec :argv ("rm") :cwd "/srv") :protected t"#,
            r#":target :purse :payload (:action :spend :amount 9223372036854775807 :currency "usd")"#,
            r#":target :system :payload (:action :forget :session "s")"#,
            r#":target :robot :payload (:action :dance) :hash "ab""#,
        ][..],
    );
    let access = select(&["approve", "observe", "attach", "think"][..]);
    let what = prop_oneof![
        3 => (by, what).prop_map(|(by, what)| format!(":by {by} {what}")),
        1 => access.prop_map(|access| format!(":by :asker :action :{access}")),
    ];
    let hours = || select(&[0_i64, 1, 2, 3, 5, i64::MAX][..]);
    let time = (select(&[0_i64, 49, 50, 51][..]), select(&[0_i64, 719, 720][..]), 1..8_i64);
    (who, owner, what, hours(), hours(), hours(), time).prop_map(
        |(who, owner, what, session, asker, action, (now, minute, weekday))| {
            PolicyFacts::described(&format!(
                "(:principal \"{who}\" :session-owner \"{owner}\" {what} :session-hour {session} \
                 :asker-hour {asker} :action-hour {action} :now {now} :minute {minute} \
                 :weekday {weekday})"
            ))
            .unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_passed_over_changes_nothing(
        policies in vec(policy(), 0..12),
        all in vec(facts(), 1..24),
    ) {
        let set = set(&policies);
        for facts in &all {
            prop_assert_eq!(set.find(facts), plain(&set, facts), "{:?}", facts);
            for (found, approved) in [
                (set.find_unapproved(facts), ApprovalQuestion::No),
                (set.find_approved(facts), ApprovalQuestion::Yes),
            ] {
                let answer = plain_answer(&set, facts, approved);
                prop_assert_eq!(found.word == PolicyVerdict::Allow, answer.is_ok_and(|it| it.permits));
            }
        }
    }
}

/// How many policies of a set are asked about what an example describes.
fn asked(set: &GuardPolicies, example: &str) -> usize {
    let facts = PolicyFacts::described(example).unwrap();
    let told = PrefilterInput { facts: &facts, approved: ApprovalQuestion::Yes };
    let part = &set.parts[facts.kind];
    let places = part.steady.iter().chain(&part.swayed);
    places.filter(|place| set.rules[**place].sieve.settles(&told).is_none()).count()
}

#[test]
fn what_is_settled_is_not_asked() {
    let message = r#"(:principal "owner" :by :thinker :target :asker :action :message :text "x")"#;
    assert_eq!(asked(&GuardPolicies::built_in(), message), 0, "of the built-in set");
    let attach = r#"(:principal "local-tcp" :action :attach :session-owner "local-tcp")"#;
    assert_eq!(asked(&GuardPolicies::built_in(), attach), 0, "of the built-in set");
    let grants: Vec<String> = (0..100)
        .map(|number| {
            format!(
                "permit (principal, action == Action::\"exec\", resource == Command::\"make\") when \
                 {{ context.hash == \"{number}\" && context.session.owner == Person::\"uid:1\" && \
                 context.now < 50 }};"
            )
        })
        .collect();
    let make = r#"(:principal "uid:1" :target :exec :action :exec :argv ("make") :hash "7")"#;
    assert_eq!(asked(&set(&grants), make), 0, "of a hundred grants");
    let like = "permit (principal, action, resource) when { context.name like \"e*\" };";
    assert_eq!(asked(&set(&[like.to_owned()]), make), 1, "of what is not understood");
}

#[test]
fn what_stands_behind_something_that_can_fail_is_no_reason_to_pass_over() {
    for condition in [
        "context.session_hour + 1 > 0 && context.protected",
        r#"Person::"nobody".kind == "uid" && context.protected"#,
        "(context.session_hour + 1 > 0 || context.approved) && context.protected",
    ] {
        let policy = format!("permit (principal, action, resource) when {{ {condition} }};");
        let set = set(&[policy]);
        let example =
            r#"(:principal "x" :action :log :text "x" :session-hour 9223372036854775807)"#;
        assert_eq!(asked(&set, example), 1, "{condition}");
    }
}

#[test]
fn a_policy_that_is_too_long_to_look_into_is_asked() {
    let long = format!(
        "forbid (principal, action, resource) when {{ context.protected && {} }};",
        ["(context.approved || context.name == \"a name that makes it long\")"; 80].join(" && ")
    );
    assert!(long.len() > 4_096, "longer than what is looked into");
    let short = "permit (principal, action, resource) when { context.protected };".to_owned();
    let set = set(&[long, short]);
    let log = |around: &str| format!("(:principal \"x\" :action :log :text \"x\" {around})");
    assert_eq!(asked(&set, &log("")), 1, "the long one alone");
    assert_eq!(asked(&set, &log(":protected t")), 1, "the short one applies");
    let facts = PolicyFacts::described(&log(":protected t")).unwrap();
    assert_eq!(set.find(&facts), plain(&set, &facts));
}

#[test]
fn what_can_be_looked_into_is_asked_as_an_expression() {
    let general = CONDITIONS.iter().map(|condition| ("action".to_owned(), *condition));
    let things =
        THINGS.iter().map(|(action, thing)| (format!("action == Action::\"{action}\""), *thing));
    let mut policies: Vec<String> = Vec::new();
    for (action, condition) in general.chain(things) {
        for clause in ["when", "unless"] {
            policies.push(format!(
                "forbid (principal, {action}, resource) {clause} {{ {condition} }};"
            ));
        }
    }
    for scope in PRINCIPALS.iter().flat_map(|who| ACTIONS.iter().map(move |action| (who, action))) {
        let (who, action) = scope;
        if !(who.contains("Thinker::") && action.contains("access")) {
            policies.push(format!("permit ({who}, {action}, resource);"));
        }
    }
    let set = set(&policies);
    for (rule, policy) in set.rules.iter().zip(set.policies()) {
        assert!(rule.condition().is_some(), "{}", policy.text);
    }
}

#[test]
fn a_yes_moves_a_policy_one_way_or_nobody_can_tell() {
    for (clauses, expect) in [
        ("", ApprovalDirection::Steady),
        ("when { context.protected }", ApprovalDirection::Steady),
        ("when { context.session_hour + 1 > 0 }", ApprovalDirection::Steady),
        ("when { context.approved }", ApprovalDirection::Up),
        ("when { context.approved || context.name like \"x*\" }", ApprovalDirection::Up),
        ("when { context.approved == true && !(!context.approved) }", ApprovalDirection::Up),
        ("when { context.session_hour + 1 > 0 } when { context.approved }", ApprovalDirection::Up),
        ("unless { context.approved }", ApprovalDirection::Down),
        ("when { context.approved == false }", ApprovalDirection::Down),
        ("when { !(context.approved && context.protected) }", ApprovalDirection::Down),
        ("when { context.approved } unless { context.approved }", ApprovalDirection::Either),
        ("when { context.approved == context.protected }", ApprovalDirection::Either),
        (
            "when { if context.approved then true else context.protected }",
            ApprovalDirection::Either,
        ),
        ("when { context.approved && context.session_hour + 1 > 0 }", ApprovalDirection::Either),
    ] {
        let set = set(&[format!("forbid (principal, action, resource) {clauses};")]);
        assert_eq!(set.rules[0].sway, expect, "{clauses}");
    }
}
