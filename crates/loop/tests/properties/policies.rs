//! Properties of verdicts over generated policies and proposals.
//!
//! A set is a list of generated policies; a proposal is a payload, somebody who asks, and whether a
//! thinker is between them. Each is judged by a session, as any proposal is.
//!
//! long: one property with its generators.

use std::sync::Arc;

use bridle_loop::{
    ActuatorLocation, ActuatorRef, Draft, Effect, EffectId, Event, GuardPolicies,
    InstalledPolicies, KeywordName, Order, Proposal, ReflexAdvice, RememberedRuling, SessionId,
    SessionLimits, SessionStart, SessionState, Signal, SignalKind, SignalSender, UnixMillis,
    Verdict, step,
};
use bridle_sexp::Value;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};

/// A policy in parts, so that it can be said in two ways.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    forbids: bool,
    scope: &'static str,
    condition: &'static str,
}

/// Something that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    who: usize,
    by_thinker: bool,
    target: &'static str,
    payload: &'static str,
}

const SCOPES: [&str; 6] = [
    "",
    r#"== Action::"write""#,
    r#"== Action::"eval""#,
    r#"in Action::"act""#,
    r#"in Action::"access""#,
    r#"in [Action::"exec", Action::"net", Action::"message", Action::"other"]"#,
];

const CONDITIONS: [&str; 14] = [
    "true",
    "context.approved",
    "!context.approved",
    r#"context.risk == "safe""#,
    r#"context.risk == "dangerous" && context.approved"#,
    r#"context.by == "thinker""#,
    r#"context.asker in Group::"owner""#,
    r#"context.asker in Group::"local-tcp" || context.asker in Group::"anonymous""#,
    "context.session.owner == context.asker",
    "context.protected",
    "context.minute + context.session_hour < 9223372036854775807",
    r#"context.name like "*e*""#,
    r#"principal is Thinker"#,
    r#"context.target == Actuator::"emacs""#,
];

const WISHES: [(&str, &str); 13] = [
    ("asker", r#"(:action :message :text "x")"#),
    ("emacs", r#"(:action :notify :text "x")"#),
    ("emacs", r#"(:action :eval :code "x")"#),
    ("emacs", r#"(:action :insert-at-end :text "x" :buffer "record.db")"#),
    ("system", r#"(:action :forget :session "s")"#),
    ("system", r#"(:action :schedule :name "x" :in 5000 :payload (:sensor :tea))"#),
    ("system", r#"(:action :resume-schedule :name "x")"#),
    ("host", r#"(:action :write :path "/protected/record.db" :text "x")"#),
    ("host", r#"(:action :write :path "/srv/me/x" :text "x")"#),
    ("host", r#"(:action :exec :argv ("rm" "-rf" "/protected"))"#),
    ("host", r#"(:action :net :host "example.org")"#),
    ("host", r#"(:action :spend :amount 1 :currency "usd")"#),
    ("host", r#"(:action :reboot)"#),
];

pub(crate) fn rule() -> impl Strategy<Value = Rule> {
    let scope = proptest::sample::select(SCOPES.to_vec());
    let condition = proptest::sample::select(CONDITIONS.to_vec());
    (any::<bool>(), scope, condition).prop_map(|(forbids, scope, condition)| Rule {
        forbids,
        scope,
        condition,
    })
}

pub(crate) fn wish() -> impl Strategy<Value = Wish> {
    let wishes = proptest::sample::select(WISHES.to_vec());
    (0..5usize, any::<bool>(), wishes).prop_map(|(who, by_thinker, (target, payload))| Wish {
        who,
        by_thinker,
        target,
        payload,
    })
}

impl Rule {
    fn text(&self) -> String {
        let Self { scope, condition, .. } = self;
        format!("{} (principal, action {scope}, resource) when {{ {condition} }};", self.effect())
    }

    /// The same, with the action in the condition, where no set is cut by it.
    fn text_in_condition(&self) -> String {
        let Self { scope, condition, .. } = self;
        let about = if scope.is_empty() { "true".to_owned() } else { format!("action {scope}") };
        format!(
            "{} (principal, action, resource) when {{ ({about}) && ({condition}) }};",
            self.effect()
        )
    }

    fn effect(&self) -> &'static str {
        if self.forbids { "forbid" } else { "permit" }
    }
}

/// A set of these policies; the ids are given by their places.
pub(crate) fn set(policies: impl IntoIterator<Item = String>) -> Arc<GuardPolicies> {
    let mut text = String::new();
    for (number, policy) in policies.into_iter().enumerate() {
        text.push_str(&format!(
            "* p{number}\n#+begin_src cedar\n{policy}\n#+end_src\n#+begin_src examples\n#+end_src\n"
        ));
    }
    Arc::new(GuardPolicies::from_org(&text).unwrap_or_else(|bad| panic!("{bad}\n{text}")))
}

pub(crate) fn texts(rules: &[Rule]) -> impl Iterator<Item = String> {
    rules.iter().map(Rule::text)
}

fn asker(who: usize) -> SignalSender {
    match who {
        0 => SignalSender { owner: true, ..SignalSender::new("uid:1") },
        1 => SignalSender::new("uid:2"),
        2 => SignalSender::new("local-tcp"),
        3 => SignalSender::new("anonymous"),
        _ => SignalSender { owner: true, ..SignalSender::new("key:phone") },
    }
}

fn judged(set: &Arc<GuardPolicies>, wish: &Wish) -> Option<(Arc<RememberedRuling>, Option<Order>)> {
    judged_with(set, wish, |payload| payload)
}

/// What a session that has this set decides, and what it orders then, when everything that others
/// send is changed like this.
pub(crate) fn judged_with(
    set: &Arc<GuardPolicies>,
    wish: &Wish,
    change: impl Fn(Value) -> Value,
) -> Option<(Arc<RememberedRuling>, Option<Order>)> {
    let mut state = SessionState::new(SessionId::parse("s").expect("a name"));
    let mut feed = |event| step(&mut state, UnixMillis(1_000), event);
    feed(Event::Began(SessionStart {
        owner: "uid:1".into(),
        limits: SessionLimits::default(),
        version: bridle_loop::LOOP_VERSION,
        fork: None,
    }));
    let names = ["write", "exec", "net", "spend", "reboot"].map(KeywordName::new);
    feed(Event::Registered(vec![
        ActuatorRef {
            name: KeywordName::new("emacs"),
            place: ActuatorLocation::Shell,
            actions: Vec::new(),
            specs: None,
        },
        ActuatorRef {
            name: KeywordName::new("host"),
            place: ActuatorLocation::Host,
            actions: names.to_vec(),
            specs: None,
        },
    ]));
    let protected = vec!["/protected/record.db".into()];
    feed(Event::PolicyInstalled(InstalledPolicies::new(set.clone(), protected)));
    let payload = bridle_sexp::read_one(wish.payload).expect("a form").root().to_value();
    let payload = change(payload);
    let target = Some(KeywordName::new(wish.target));
    let (kind, said) = if wish.by_thinker {
        (SignalKind::Event, change(Value::plist([("sensor", Value::keyword("user-prompt"))])))
    } else {
        (SignalKind::Request, payload.clone())
    };
    let mut effects = feed(Event::Signal(Arc::new(Signal {
        kind,
        from: asker(wish.who),
        id: None,
        target: target.clone(),
        payload: said,
        dropped: Vec::new(),
        patient: true,
    })));
    if wish.by_thinker {
        let advice = ReflexAdvice { think: true, ..ReflexAdvice::default() };
        effects = feed(Event::Consulted { effect: EffectId(1), advice });
        // Thinking itself may be refused.
        let Some(Effect::Think { id, .. }) = effects.first() else { return None };
        let proposal = Proposal::new(target, payload);
        let draft = Ok(Draft::of_calls(vec![proposal]));
        effects = feed(Event::Drafted { effect: *id, draft });
    }
    let ruling = effects.iter().find_map(|effect| match effect {
        Effect::Decided(decision) => Some(decision.ruling.clone()),
        _ => None,
    });
    let order = effects.iter().find_map(|effect| match effect {
        Effect::Act { order, .. } => Some(order.clone()),
        _ => None,
    });
    Some((ruling.expect("a decision"), order))
}

/// How much is permitted: nothing, after a yes, all.
fn rank(ruling: &RememberedRuling) -> u8 {
    match ruling.verdict {
        Verdict::Deny(_) => 0,
        Verdict::Ask => 1,
        Verdict::Allow => 2,
    }
}

fn verdict(set: &Arc<GuardPolicies>, wish: &Wish) -> u8 {
    judged(set, wish).map_or(0, |(ruling, _)| rank(&ruling))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_forbid_is_never_overridden(rules in vec(rule(), 0..5), forbid in rule(), wish in wish()) {
        let forbid = Rule { forbids: true, ..forbid };
        let all = Rule { forbids: false, scope: "", condition: "true" };
        let against_all = set(texts(&[all, forbid.clone()]));
        let against_some = set(texts(&rules).chain([forbid.text()]));
        prop_assert!(verdict(&against_some, &wish) <= verdict(&against_all, &wish));
    }

    #[test]
    fn a_forbid_never_enables_and_a_permit_never_disables(
        rules in vec(rule(), 0..5),
        added in rule(),
        wish in wish(),
    ) {
        let before = verdict(&set(texts(&rules)), &wish);
        let after = verdict(&set(texts(&rules).chain([added.text()])), &wish);
        if added.forbids {
            prop_assert!(after <= before, "{added:?} enables");
        } else {
            prop_assert!(after >= before, "{added:?} disables");
        }
    }

    #[test]
    fn the_parts_of_a_set_say_what_the_whole_says(rules in vec(rule(), 0..6), wish in wish()) {
        let parts = judged(&set(texts(&rules)), &wish);
        let whole = judged(&set(rules.iter().map(Rule::text_in_condition)), &wish);
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn no_set_lets_anything_write_what_is_protected(rules in vec(rule(), 0..5), wish in wish()) {
        let all = Rule { forbids: false, scope: "", condition: "true" };
        let set = set(texts(&rules).chain([all.text()]));
        let is_protected = wish.payload.contains("protected") || wish.payload.contains("record.db");
        if let Some((ruling, order)) = judged(&set, &wish) {
            prop_assert!(!is_protected || rank(&ruling) == 0, "{ruling:?}");
            let is_thinkers = wish.by_thinker && wish.payload.contains(":forget");
            prop_assert!(!is_thinkers || rank(&ruling) < 2, "{ruling:?}");
            if let Some(order) = order {
                prop_assert_eq!(order.payload().to_string(), wish.payload);
                prop_assert_eq!(order.target().as_str(), wish.target);
            }
        }
    }

    #[test]
    fn any_text_is_a_set_or_a_list_of_faults(text in "(\\* [a-z]{0,3}\n|#\\+begin_src (cedar|examples)\n|#\\+end_src\n|:PROPERTIES:\n|:ID: x\n|:END:\n|permit \\(principal, action, resource\\);\n|forbid \\(\n|\\(allow\n|\\)|;|[ -~]{0,9}\n){0,24}") {
        if let Err(bad) = GuardPolicies::from_org(&text) {
            prop_assert!(!bad.faults.is_empty() && bad.faults.len() <= 32);
            let lines = text.lines().count() + 1;
            prop_assert!(bad.faults.iter().all(|fault| (1..=lines).contains(&fault.line)), "{bad}");
        }
    }
}
