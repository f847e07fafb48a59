//! What a verdict costs: `bridle-bench guard`. The same hundred policies are asked by the guard, which
//! makes its facts and asks one or two questions, and in one bare call of Cedar, which is given the whole
//! set and builds the same entities and context. Once with all policies about one action, where cutting
//! the set by action gains nothing, once with the policies spread over ten, and once with policies whose
//! conditions tell the guard nothing, so that all of them are asked, twice.
//!
//! Beside that: a rehearsal over a record of decisions, and what it takes to have a set.

mod rehearsal;

use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use bridle_loop::{
    DEFAULT_POLICY, GuardPolicies, PolicyFacts, PolicyVerdict, SessionId, UnixMillis,
};
use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityUid, PolicySet, Request,
    RestrictedExpression,
};

use crate::Options;
use crate::report::{Bound, Cell, Table, Verdict};
use crate::stats::{Spread, quantile};

/// Policies of a set.
const POLICIES: usize = 100;

/// Verdicts of a round.
const VERDICTS: usize = 2_000;

/// Targets: how many bare calls a verdict may cost, and its slowest hundredth, in microseconds.
const BARE_TARGET: f64 = 2.5;
const SLOW_TARGET_US: f64 = 150.0;

/// Actions that policies are spread over.
const ACTIONS: [&str; 10] = [
    "eval",
    "message",
    "notify",
    "complete",
    "log",
    "insert-at-end",
    "fork",
    "forget",
    "schedule",
    "other",
];

/// A decision as it stands in the record: an owner's thinker wants to evaluate code.
const DECIDED: &str = r#"(:turn 1 :by :thinker :target :emacs :action :eval :rule :policy :verdict :ask
  :reason "" :payload (:action :eval :code "(save-buffer)") :facts (:asker "uid:1000" :groups ("owner")
  :session-owner "uid:1000" :kind :eval :name :eval :risk :dangerous :place :shell :minute 720
  :weekday 1 :session-hour 3 :asker-hour 3 :action-hour 1))"#;

/// Measures verdicts, rehearsals and loading.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    // First: what is there without a file is loaded once.
    let begin = Instant::now();
    black_box(GuardPolicies::built_in());
    let built_in = begin.elapsed();
    judge(options, tables, verdicts)?;
    rehearsal::run(options, tables, verdicts)?;
    load(options, built_in, tables)
}

/// The text of the policy with this number.
type Numbered = fn(usize) -> String;

/// Verdicts with each of the sets, round by round.
fn judge(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let title = format!("Verdicts with {POLICIES} policies, microseconds each");
    let mut table =
        Table::new(title, ["policies", "what", "median", "slowest hundredth", "bare calls"]);
    let sets: [(&str, Numbered); 3] = [
        ("about one action", |number| policy(number, 1)),
        ("about ten actions", |number| policy(number, ACTIONS.len())),
        ("about one action, nothing to pass over", opaque),
    ];
    for (name, policy) in sets {
        let texts: Vec<String> = (0..POLICIES).map(policy).collect();
        let (guard, bare) = rounds(options, &texts)?;
        let ratio = guard.median / bare.median;
        let rows = [("guard, two questions", &guard, ratio), ("Cedar, one bare call", &bare, 1.0)];
        for (what, times, ratio) in rows {
            table.push(vec![
                Cell::text(name),
                Cell::text(what),
                Cell::Number(times.median, 1),
                Cell::Number(times.slow, 1),
                Cell::Number(ratio, 2),
            ]);
        }
        for (what, target, got) in [
            (format!("a verdict, policies {name}, in bare calls"), BARE_TARGET, ratio),
            (
                format!("a verdict, policies {name}, slowest hundredth, us"),
                SLOW_TARGET_US,
                guard.slow,
            ),
        ] {
            verdicts.push(Verdict { what, target, got, bound: Bound::AtMost });
        }
    }
    tables.push(table);
    Ok(())
}

/// Times of one contender, in microseconds.
struct Times {
    median: f64,
    slow: f64,
}

fn rounds(options: &Options, texts: &[String]) -> Result<(Times, Times)> {
    let set = GuardPolicies::from_org(&org(texts)).map_err(|bad| anyhow!("{bad}"))?;
    let session = SessionId::parse("main")?;
    let decided = bridle_sexp::read_one(DECIDED)?.root().to_value();
    let whole = PolicySet::from_str(&texts.join("\n"))?;
    let mut samples: [Vec<f64>; 2] = Default::default();
    for _ in 0..options.rounds() {
        samples[0].extend(round(|| {
            let facts = PolicyFacts::recorded(&session, UnixMillis(0), &decided)?;
            ensure!(set.find(black_box(&facts)).word == PolicyVerdict::Ask, "another verdict");
            Ok(())
        })?);
        samples[1].extend(round(|| bare(black_box(&whole)))?);
    }
    let [guard, bare] = samples.map(|mut times| {
        times.sort_by(f64::total_cmp);
        Times { median: Spread::of(&times).median, slow: quantile(&times, 0.99) }
    });
    Ok((guard, bare))
}

fn round(mut once: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(VERDICTS);
    for _ in 0..VERDICTS {
        let begin = Instant::now();
        once()?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}

/// One of many policies that nearly apply; the first one does, after a yes.
fn policy(number: usize, actions: usize) -> String {
    let (action, code) = (ACTIONS[number % actions], number / actions);
    let name = if number == 0 { "eval".to_owned() } else { format!("tool-{code}") };
    format!(
        "permit (principal, action == Action::\"{action}\", resource)\nwhen {{ context.risk == \
         \"dangerous\" && context.asker in Group::\"owner\" && context.name == \"{name}\" && \
         context.approved }};"
    )
}

/// A condition that only Cedar can judge, in both questions.
fn opaque(number: usize) -> String {
    let name = if number == 0 { "ev*l".to_owned() } else { format!("tool-{number}*") };
    format!(
        "permit (principal, action == Action::\"eval\", resource)\nwhen {{ context.name like \
         \"{name}\" && (context.approved || context.name like \"never\") }};"
    )
}

/// Measures what a set costs: read, checked, its examples run.
fn load(options: &Options, built_in: Duration, tables: &mut Vec<Table>) -> Result<()> {
    let mut table = Table::new("Having a set of policies (ms)", ["set", "median", "lowest"]);
    let ms = built_in.as_secs_f64() * 1e3;
    table.push(vec![Cell::text("built-in, first use"), Cell::Number(ms, 1), Cell::Number(ms, 1)]);
    let many: Vec<String> = (0..POLICIES).map(|number| policy(number, 1)).collect();
    for (name, text) in [
        ("built-in text, as a file", DEFAULT_POLICY.to_owned()),
        ("100 policies about one action", org(&many)),
    ] {
        let mut times = Vec::new();
        for _ in 0..options.rounds() {
            let begin = Instant::now();
            black_box(GuardPolicies::from_org(&text).map_err(|bad| anyhow!("{bad}"))?);
            times.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        let spread = Spread::of(&times);
        table.push(vec![
            Cell::text(name),
            Cell::Number(spread.median, 1),
            Cell::Number(spread.low, 1),
        ]);
    }
    tables.push(table);
    Ok(())
}

pub(crate) fn org(texts: &[String]) -> String {
    let section = |(number, text): (usize, &String)| {
        format!(
            "* p{number}\n#+begin_src cedar\n{text}\n#+end_src\n#+begin_src examples\n#+end_src\n"
        )
    };
    texts.iter().enumerate().map(section).collect()
}

/// One question to Cedar, with the entities and the context that the guard makes.
fn bare(set: &PolicySet) -> Result<()> {
    let uid = |text: &str| EntityUid::from_str(text).context("a bad uid");
    let string = |text: &str| RestrictedExpression::new_string(text.to_owned());
    let (person, action) = (uid("Person::\"uid:1000\"")?, uid("Action::\"eval\"")?);
    let (session, target) = (uid("Session::\"main\"")?, uid("Actuator::\"emacs\"")?);
    let of = |key: &str, value| HashMap::from([(key.to_owned(), value)]);
    let owner = RestrictedExpression::new_entity_uid(person.clone());
    let groups = HashSet::from([uid("Group::\"owner\"")?]);
    let entities = Entities::from_entities(
        [
            Entity::new_no_attrs(action.clone(), HashSet::from([uid("Action::\"act\"")?])),
            Entity::new(person.clone(), of("kind", string("uid")), groups)?,
            Entity::new(session.clone(), of("owner", owner), HashSet::new())?,
            Entity::new(target.clone(), of("place", string("shell")), HashSet::new())?,
        ],
        None,
    )?;
    let entity = |uid: &EntityUid| RestrictedExpression::new_entity_uid(uid.clone());
    let long = RestrictedExpression::new_long;
    let context = Context::from_pairs(
        [
            ("approved", RestrictedExpression::new_bool(true)),
            ("risk", string("dangerous")),
            ("name", string("eval")),
            ("by", string("thinker")),
            ("asker", entity(&person)),
            ("session", entity(&session)),
            ("target", entity(&target)),
            ("protected", RestrictedExpression::new_bool(false)),
            ("minute", long(720)),
            ("weekday", long(1)),
            ("session_hour", long(3)),
            ("asker_hour", long(3)),
            ("action_hour", long(1)),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    )?;
    let request = Request::new(uid("Thinker::\"thinker\"")?, action, target, context, None)?;
    let response = Authorizer::new().is_authorized(&request, set, &entities);
    ensure!(response.decision() == Decision::Allow, "another decision");
    Ok(())
}
