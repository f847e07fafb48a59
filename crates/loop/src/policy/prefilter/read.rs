//! From the syntax of a policy to the conditions that a sieve looks at.
//!
//! A policy is a conjunction: its scope, then its clauses in their order. It is read from the left
//! up to the first part that could fail, because what stands behind that is asked only when the part
//! neither failed nor was false. The types were checked: what can still fail is arithmetic, a
//! function of an extension, and looking at an entity that is not there.

use cedar_policy::pst::{
    ActionConstraint, BinaryOp, Clause, EntityOrSlot, EntityType, EntityUID, Expr, Literal,
    PrincipalConstraint, ResourceConstraint, Template, UnaryOp, Var,
};

use super::input::{PrefilterEntity, PrefilterFlag, PrefilterNumber, PrefilterText};
use super::{NumberOrder, PrefilterTest};

/// Depth to which an expression is looked into.
pub(super) const MAX_DEPTH: usize = 32;

/// The conditions of a policy that are understood, and whether these are all.
pub(super) fn tests(policy: &Template) -> (Vec<PrefilterTest>, bool) {
    let mut tests = Vec::new();
    scope(policy, &mut tests);
    let mut reaches_end = true;
    for clause in policy.clauses() {
        let goes_on = match clause {
            Clause::When(expr) => conjuncts(expr, &mut tests),
            Clause::Unless(expr) => {
                let test = test(expr, MAX_DEPTH).map(not);
                test.map(|test| tests.push(test)).is_some()
            }
        };
        if !goes_on {
            reaches_end = false;
            break;
        }
    }
    let is_whole = reaches_end && !tests.contains(&PrefilterTest::Unknown);
    tests.retain(|test| *test != PrefilterTest::Unknown);
    (tests, is_whole)
}

/// The scope cannot fail. Sets are cut by its action, but by what it may be about: here it is exact.
fn scope(policy: &Template, tests: &mut Vec<PrefilterTest>) {
    let one = |thing: PrefilterEntity,
               slot: &EntityOrSlot,
               how: fn(PrefilterEntity, PrefilterEntity) -> PrefilterTest| match slot
    {
        EntityOrSlot::Entity(uid) => {
            literal(uid).map_or(PrefilterTest::Unknown, |uid| how(thing, uid))
        }
        EntityOrSlot::Slot(_) => PrefilterTest::Unknown,
    };
    let below =
        |thing: PrefilterEntity, above: PrefilterEntity| PrefilterTest::In(thing, vec![above]);
    let who = PrefilterEntity::Principal;
    match &policy.principal {
        PrincipalConstraint::Any => {}
        PrincipalConstraint::Eq(slot) => tests.push(one(who, slot, PrefilterTest::Same)),
        PrincipalConstraint::In(slot) => tests.push(one(who, slot, below)),
        PrincipalConstraint::Is(kind) => tests.push(is(who, kind)),
        PrincipalConstraint::IsIn(kind, slot) => {
            tests.push(is(who.clone(), kind));
            tests.push(one(who, slot, below));
        }
    }
    match &policy.action {
        ActionConstraint::Any => {}
        ActionConstraint::Eq(uid) => {
            tests.push(literal(uid).map_or(PrefilterTest::Unknown, |uid| {
                PrefilterTest::Same(PrefilterEntity::Action, uid)
            }));
        }
        ActionConstraint::In(uids) => {
            let above: Option<Vec<PrefilterEntity>> = uids.iter().map(literal).collect();
            tests.push(above.map_or(PrefilterTest::Unknown, |above| {
                PrefilterTest::In(PrefilterEntity::Action, above)
            }));
        }
    }
    let what = PrefilterEntity::Resource;
    match &policy.resource {
        ResourceConstraint::Any => {}
        ResourceConstraint::Eq(slot) => tests.push(one(what, slot, PrefilterTest::Same)),
        ResourceConstraint::In(slot) => tests.push(one(what, slot, below)),
        ResourceConstraint::Is(kind) => tests.push(is(what, kind)),
        ResourceConstraint::IsIn(kind, slot) => {
            tests.push(is(what.clone(), kind));
            tests.push(one(what, slot, below));
        }
    }
}

/// The parts of a conjunction, from the left; whether none of them can fail.
fn conjuncts(expr: &Expr, tests: &mut Vec<PrefilterTest>) -> bool {
    let mut waiting = vec![expr];
    while let Some(expr) = waiting.pop() {
        if let Expr::BinaryOp { op: BinaryOp::And, left, right } = expr {
            waiting.extend([&**right, &**left]);
            continue;
        }
        match test(expr, MAX_DEPTH) {
            Some(test) => tests.push(test),
            None => return false,
        }
    }
    true
}

/// An expression that is true or false; nothing if it can fail. Bounded by its depth.
fn test(expr: &Expr, depth: usize) -> Option<PrefilterTest> {
    let depth = depth.checked_sub(1)?;
    match expr {
        Expr::Literal(Literal::Bool(known)) => Some(PrefilterTest::Known(*known)),
        Expr::UnaryOp { op: UnaryOp::Not, expr } => test(expr, depth).map(not),
        Expr::BinaryOp { op: BinaryOp::And, left, right } => {
            Some(PrefilterTest::All(vec![test(left, depth)?, test(right, depth)?]))
        }
        Expr::BinaryOp { op: BinaryOp::Or, left, right } => {
            Some(PrefilterTest::Any(vec![test(left, depth)?, test(right, depth)?]))
        }
        _ => {
            let understood = understood(expr);
            understood.or_else(|| cannot_fail(expr, depth).then_some(PrefilterTest::Unknown))
        }
    }
}

fn not(test: PrefilterTest) -> PrefilterTest {
    if test == PrefilterTest::Unknown { test } else { PrefilterTest::Not(Box::new(test)) }
}

/// The shapes that are looked at.
fn understood(expr: &Expr) -> Option<PrefilterTest> {
    match expr {
        Expr::GetAttr { .. } => Some(PrefilterTest::Flag(PrefilterFlag::named(of_context(expr)?)?)),
        Expr::BinaryOp { op: BinaryOp::Eq, left, right } => same(left, right),
        Expr::BinaryOp { op: BinaryOp::NotEq, left, right } => same(left, right).map(not),
        Expr::BinaryOp { op: BinaryOp::Less, left, right } => {
            compared(left, NumberOrder::Less, right)
        }
        Expr::BinaryOp { op: BinaryOp::LessEq, left, right } => {
            compared(left, NumberOrder::LessOrSame, right)
        }
        Expr::BinaryOp { op: BinaryOp::Greater, left, right } => {
            compared(left, NumberOrder::More, right)
        }
        Expr::BinaryOp { op: BinaryOp::GreaterEq, left, right } => {
            compared(left, NumberOrder::SameOrMore, right)
        }
        Expr::BinaryOp { op: BinaryOp::In, left, right } => below(left, right),
        Expr::BinaryOp { op: BinaryOp::Contains, left, right } => {
            let Expr::Set(ones) = &**left else { return None };
            let text = PrefilterText::named(of_context(right)?)?;
            let ones: Option<Vec<Box<str>>> = ones.iter().map(|one| text_of(one)).collect();
            Some(PrefilterTest::Text(text, ones?))
        }
        Expr::Is { expr, entity_type, in_expr } => {
            let kind = is(thing(expr)?, entity_type);
            match in_expr {
                None => Some(kind),
                Some(above) => Some(PrefilterTest::All(vec![kind, below(expr, above)?])),
            }
        }
        _ => None,
    }
}

fn same(left: &Expr, right: &Expr) -> Option<PrefilterTest> {
    let one_way = |left: &Expr, right: &Expr| {
        let attribute = of_context(left)?;
        match right {
            Expr::Literal(Literal::Bool(wanted)) => {
                let flag = PrefilterTest::Flag(PrefilterFlag::named(attribute)?);
                Some(if *wanted { flag } else { not(flag) })
            }
            Expr::Literal(Literal::String(wanted)) => Some(PrefilterTest::Text(
                PrefilterText::named(attribute)?,
                vec![wanted.as_str().into()],
            )),
            _ => None,
        }
    };
    one_way(left, right)
        .or_else(|| one_way(right, left))
        .or_else(|| compared(left, NumberOrder::Same, right))
        .or_else(|| Some(PrefilterTest::Same(thing(left)?, thing(right)?)))
}

fn compared(left: &Expr, order: NumberOrder, right: &Expr) -> Option<PrefilterTest> {
    match (left, right) {
        (left, Expr::Literal(Literal::Long(than))) => {
            Some(PrefilterTest::Number(PrefilterNumber::named(of_context(left)?)?, order, *than))
        }
        (Expr::Literal(Literal::Long(than)), right) => Some(PrefilterTest::Number(
            PrefilterNumber::named(of_context(right)?)?,
            order.turned(),
            *than,
        )),
        _ => None,
    }
}

fn below(left: &Expr, right: &Expr) -> Option<PrefilterTest> {
    let above: Option<Vec<PrefilterEntity>> = match right {
        Expr::Set(all) => all.iter().map(|one| thing(one)).collect(),
        one => thing(one).map(|one| vec![one]),
    };
    Some(PrefilterTest::In(thing(left)?, above?))
}

fn is(thing: PrefilterEntity, kind: &EntityType) -> PrefilterTest {
    type_name(kind).map_or(PrefilterTest::Unknown, |kind| PrefilterTest::Is(thing, kind))
}

fn thing(expr: &Expr) -> Option<PrefilterEntity> {
    match expr {
        Expr::Var(Var::Principal) => Some(PrefilterEntity::Principal),
        Expr::Var(Var::Action) => Some(PrefilterEntity::Action),
        Expr::Var(Var::Resource) => Some(PrefilterEntity::Resource),
        Expr::Literal(Literal::EntityUID(uid)) => literal(uid),
        Expr::GetAttr { expr: inner, attr } => match &**inner {
            Expr::Var(Var::Context) => PrefilterEntity::named(attr),
            // The only resource with an owner is the session.
            Expr::Var(Var::Resource) if attr == "owner" => Some(PrefilterEntity::Owner),
            _ if attr == "owner" && of_context(inner) == Some("session") => {
                Some(PrefilterEntity::Owner)
            }
            _ => None,
        },
        _ => None,
    }
}

fn literal(uid: &EntityUID) -> Option<PrefilterEntity> {
    Some(PrefilterEntity::Literal(type_name(&uid.ty)?, uid.eid.as_str().into()))
}

/// The types of the schema are in no namespace.
fn type_name(kind: &EntityType) -> Option<Box<str>> {
    let name = &kind.0;
    name.namespace.is_empty().then(|| name.id.as_ref().into())
}

fn text_of(expr: &Expr) -> Option<Box<str>> {
    match expr {
        Expr::Literal(Literal::String(text)) => Some(text.as_str().into()),
        _ => None,
    }
}

/// The name of an attribute of the context.
pub(super) fn of_context(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::GetAttr { expr, attr } if matches!(**expr, Expr::Var(Var::Context)) => Some(attr),
        _ => None,
    }
}

/// Whether an expression has a value, whatever the facts are.
pub(super) fn cannot_fail(expr: &Expr, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let cannot = |expr: &Expr| cannot_fail(expr, depth);
    match expr {
        Expr::Literal(_) | Expr::Var(_) => true,
        Expr::UnaryOp { op: UnaryOp::Not | UnaryOp::IsEmpty, expr } => cannot(expr),
        Expr::BinaryOp {
            op:
                BinaryOp::Eq
                | BinaryOp::NotEq
                | BinaryOp::Less
                | BinaryOp::LessEq
                | BinaryOp::Greater
                | BinaryOp::GreaterEq
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::In
                | BinaryOp::Contains
                | BinaryOp::ContainsAll
                | BinaryOp::ContainsAny,
            left,
            right,
        } => cannot(left) && cannot(right),
        // What can be reached from the question is there; what a policy names may be not.
        Expr::GetAttr { expr, .. } => {
            matches!(&**expr, Expr::Var(_) | Expr::GetAttr { .. }) && cannot(expr)
        }
        Expr::Like { expr, .. } => cannot(expr),
        Expr::Is { expr, in_expr, .. } => {
            cannot(expr) && in_expr.as_ref().is_none_or(|above| cannot(above))
        }
        Expr::Set(all) => all.iter().all(|one| cannot(one)),
        _ => false,
    }
}
