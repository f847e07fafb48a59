//! Properties of decisions over proposals of any shape: nothing that a proposal or a message says about
//! itself changes what is decided, and whatever is proposed is decided about, once.

use std::sync::Arc;

use bridle_loop::{
    Effect, Event, InstalledPolicies, KeywordName, Proposal, ProposalAuthor, ReflexAdvice, Signal,
    SignalKind, SignalSender, UnixMillis,
};
use bridle_sexp::Value;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::sample::select;

use crate::lives::{self, Approved, garbage, life};
use crate::policies::{judged_with, rule, set, texts, wish};
use crate::{Run, as_it_is};

/// Words of the guard, of the record and of the protocol: as a key of a payload they mean nothing.
const WORDS: [&str; 32] = [
    "approved",
    "APPROVED",
    "approved-action",
    "approval",
    "verdict",
    "answer",
    "risk",
    "principal",
    "owner",
    "asker",
    "by",
    "depth",
    "status",
    "meta",
    "id",
    "from",
    "type",
    "target",
    "place",
    "kind",
    "context",
    "policy",
    "policies",
    "protected",
    "session-owner",
    "session-hour",
    "hash",
    "now",
    "minute",
    "patient",
    "explanation",
    "then-think",
];

/// Actions with arguments.
const ACTIONS: [&str; 24] = [
    "message",
    "notify",
    "complete",
    "eval",
    "log",
    "insert-at-end",
    "refactor-subtree",
    "schedule",
    "unschedule",
    "forget",
    "fork",
    "read",
    "write",
    "exec",
    "net",
    "spend",
    "tally",
    "set-state",
    "append-subtree",
    "undo",
    "snapshot",
    "approve",
    "reboot",
    "EVAL",
];

/// What actions take.
const ARGUMENTS: [&str; 24] = [
    "text",
    "prefix",
    "code",
    "buffer",
    "target-id",
    "name",
    "in",
    "every",
    "at",
    "payload",
    "session",
    "record",
    "path",
    "argv",
    "cwd",
    "host",
    "port",
    "amount",
    "currency",
    "file",
    "state",
    "line",
    "id",
    "approved",
];

/// A key that somebody puts into a payload.
#[derive(Clone, Debug)]
struct Claim {
    key: String,
    value: Value,
    /// Before which of the pairs.
    place: usize,
}

impl Claim {
    fn put_into(&self, payload: Value) -> Value {
        let Value::List(mut items) = payload else { panic!("a plist, got {payload}") };
        let at = self.place % (items.len() / 2 + 1) * 2;
        items.splice(at..at, [Value::keyword(&self.key), self.value.clone()]);
        Value::List(items)
    }
}

fn claim() -> impl Strategy<Value = Claim> {
    // No action has an argument that begins with an x.
    let key = prop_oneof![4 => select(&WORDS[..]).prop_map(str::to_owned), 1 => "x[a-z-]{0,9}"];
    let value = prop_oneof![
        Just(Value::T),
        Just(Value::Nil),
        select(&["allow", "safe", "asker", "approved", "system"][..]).prop_map(Value::keyword),
        select(&["uid:1", "owner", "s-1", "system"][..]).prop_map(Value::str),
        any::<i64>().prop_map(Value::int),
        Just(Value::plist([("approved", Value::T), ("risk", Value::keyword("safe"))])),
        garbage(),
    ];
    (key, value, any::<usize>()).prop_map(|(key, value, place)| Claim { key, value, place })
}

/// Any proposal: an action whose arguments are anything, or no action at all.
fn proposal() -> impl Strategy<Value = Proposal> {
    let argument = (select(&ARGUMENTS[..]), garbage());
    let action = (select(&ACTIONS[..]), vec(argument, 0..5)).prop_map(|(action, arguments)| {
        let pairs = arguments.into_iter().flat_map(|(key, value)| [Value::keyword(key), value]);
        Value::list([Value::keyword("action"), Value::keyword(action)].into_iter().chain(pairs))
    });
    let payload = prop_oneof![4 => action, 1 => lives::payload(), 1 => garbage()];
    let names =
        select(&["asker", "system", "emacs", "host", "log", ""][..]).prop_map(KeywordName::new);
    let target = prop_oneof![4 => names, 1 => any::<String>().prop_map(|it| KeywordName::new(&it))];
    (option::of(target), payload, option::of(any::<String>()), any::<bool>()).prop_map(
        |(target, payload, explanation, then_think)| Proposal {
            target,
            payload,
            explanation: explanation.map(Into::into),
            then_think,
            call: None,
            provenance: None,
        },
    )
}

fn prompt() -> Event {
    Event::Signal(Arc::new(Signal {
        kind: SignalKind::Event,
        from: SignalSender { owner: true, ..SignalSender::new("uid:1") },
        id: None,
        target: None,
        payload: Value::plist([("sensor", Value::keyword("user-prompt"))]),
        dropped: Vec::new(),
        patient: true,
    }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn no_key_that_somebody_supplies_changes_a_verdict(
        rules in vec(rule(), 0..5),
        wish in wish(),
        claims in vec(claim(), 1..6),
    ) {
        let set = set(texts(&rules));
        let plain = judged_with(&set, &wish, |payload| payload);
        let forge = |payload| claims.iter().fold(payload, |payload, claim| claim.put_into(payload));
        let forged = judged_with(&set, &wish, forge);
        let ordered = |order: &bridle_loop::Order| {
            (order.target().clone(), order.place(), order.action().clone())
        };
        let seen = |judged: &Option<(_, Option<bridle_loop::Order>)>| {
            judged.as_ref().map(|(_, order)| order.as_ref().map(ordered))
        };
        prop_assert_eq!(seen(&forged), seen(&plain), "what is carried out");
        if let Some((_, Some(order))) = &forged {
            prop_assert_eq!(order.payload().get("approved"), None);
        }
        let rulings = (forged.map(|it| it.0), plain.map(|it| it.0));
        prop_assert_eq!(rulings.0, rulings.1);
    }

    #[test]
    fn whatever_is_proposed_in_whatever_state_is_decided_about_once(
        life in life(),
        which in 0..4usize,
        proposals in vec(proposal(), 0..5),
    ) {
        let mut run = Run::of(&life, as_it_is, Approved::No);
        run.drain();
        let now = run.times.last().copied().unwrap_or(UnixMillis(0));
        let set = lives::sets()[which].clone();
        run.step(now, Event::PolicyInstalled(InstalledPolicies::new(set, vec!["/protected".into()])));
        // Whoever is asked about proposals has the word before they are judged.
        run.step(now, Event::ConsultantsChanged(Vec::new()));
        run.step(now, prompt());
        let waiting = run.state.outstanding().into_iter().find_map(|(id, effect)| match effect {
            Effect::Consult { .. } => Some(id),
            _ => None,
        });
        let Some(effect) = waiting else { panic!("nobody is consulted: {:?}", run.steps.last()) };
        let expected = proposals.len().min(run.state.limits().proposals);
        let advice = ReflexAdvice { proposals, ..ReflexAdvice::default() };
        run.step(now, Event::Consulted { effect, advice });
        let effects = &run.steps.last().expect("a step").2;
        let rulings = effects.iter().filter_map(|effect| match effect {
            Effect::Decided(decision) => Some(&*decision.ruling),
            _ => None,
        });
        let by_reflex = rulings.filter(|ruling| ruling.by == ProposalAuthor::Reflex);
        let decided: Vec<_> = by_reflex.collect();
        // A turn that has used up its budget proposes to go on, behind all others.
        let goes_on = |ruling: &&bridle_loop::RememberedRuling| {
            ruling.action.as_ref().is_some_and(|action| action.as_str() == "go-on")
        };
        let own = decided.get(expected..).is_some_and(|rest| rest.first().is_some_and(goes_on));
        prop_assert_eq!(decided.len(), expected + usize::from(own));
        for (number, effect) in effects.iter().enumerate() {
            let Effect::Act { order, .. } = effect else { continue };
            let is_allowed = effects[..number].iter().any(|it| crate::allows(Some(it), order));
            prop_assert!(is_allowed, "{order:?}");
        }
    }
}
