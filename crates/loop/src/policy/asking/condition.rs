//! A policy as one expression: its scope and its clauses, to be evaluated by itself.
//!
//! Made once, when a policy is first asked, and given to Cedar for each proposal. A call of the
//! authorizer puts the same expression together each time, with the action once more, and builds a
//! response around what it says: that is more than half of its time. What cannot be said here for
//! certain has no expression, and is asked as a policy.

use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::pst::{
    ActionConstraint, BinaryOp, Clause, EntityOrSlot, EntityType, EntityUID, Expr, Literal,
    PrincipalConstraint, ResourceConstraint, Template, UnaryOp, Var,
};
use cedar_policy::{Entities, EvalResult, Expression, Policy, Request, eval_expression};

use crate::policy::cedar_request::is_group;
use crate::policy::depth::{DepthLimits, check_depth};

/// Condition under which a policy applies.
#[derive(Debug)]
pub(super) struct PolicyCondition(Expression);

impl PolicyCondition {
    /// The condition of a policy in the parts of the set that are about it, if it survives being
    /// written down and read again.
    pub(super) fn of(policy: &Template) -> Option<Self> {
        let whole = whole(policy)?;
        let text = whole.to_string();
        // A chain is written with a bracket around each of its parts, and this may be any thread.
        check_depth(&text, DepthLimits::FILE).ok()?;
        is_read_as(&text, &whole).then(|| Expression::from_str(&text).ok().map(Self))?
    }

    /// Whether it holds; nothing if it fails.
    pub(super) fn holds(&self, request: &Request, entities: &Entities) -> Option<bool> {
        match eval_expression(request, entities, &self.0) {
            Ok(EvalResult::Bool(holds)) => Some(holds),
            _ => None,
        }
    }
}

/// Whether Cedar reads this text as just this expression.
fn is_read_as(text: &str, expr: &Expr) -> bool {
    let policy = format!("permit (principal, action, resource) when {{ {text} }};");
    let read = Policy::from_str(&policy).ok().and_then(|policy| policy.to_pst().ok());
    read.is_some_and(|read| match read.body().clauses().as_slice() {
        [Clause::When(read)] => **read == *expr,
        _ => false,
    })
}

/// Everything that a policy asks for, in the order in which Cedar looks at it.
fn whole(policy: &Template) -> Option<Expr> {
    let mut parts = Vec::new();
    let who = || Arc::new(Expr::Var(Var::Principal));
    match &policy.principal {
        PrincipalConstraint::Any => {}
        PrincipalConstraint::Eq(slot) => parts.push(binary(BinaryOp::Eq, who(), uid(slot)?)),
        PrincipalConstraint::In(slot) => parts.push(binary(BinaryOp::In, who(), uid(slot)?)),
        PrincipalConstraint::Is(kind) => parts.push(is(who(), kind, None)),
        PrincipalConstraint::IsIn(kind, slot) => parts.push(is(who(), kind, Some(uid(slot)?))),
    }
    match &policy.action {
        // The cut by action says as much. A group is no action, and nothing is done by its name.
        ActionConstraint::Eq(uid) if is_group(&uid.eid) => return None,
        ActionConstraint::Any | ActionConstraint::Eq(_) | ActionConstraint::In(_) => {}
    }
    let what = || Arc::new(Expr::Var(Var::Resource));
    match &policy.resource {
        ResourceConstraint::Any => {}
        ResourceConstraint::Eq(slot) => parts.push(binary(BinaryOp::Eq, what(), uid(slot)?)),
        ResourceConstraint::In(slot) => parts.push(binary(BinaryOp::In, what(), uid(slot)?)),
        ResourceConstraint::Is(kind) => parts.push(is(what(), kind, None)),
        ResourceConstraint::IsIn(kind, slot) => parts.push(is(what(), kind, Some(uid(slot)?))),
    }
    for clause in policy.clauses() {
        parts.push(match clause {
            Clause::When(expr) => (**expr).clone(),
            Clause::Unless(expr) => Expr::UnaryOp { op: UnaryOp::Not, expr: expr.clone() },
        });
    }
    let all = parts
        .into_iter()
        .rev()
        .reduce(|rest, part| binary(BinaryOp::And, Arc::new(part), Arc::new(rest)));
    Some(all.unwrap_or(Expr::Literal(Literal::Bool(true))))
}

fn binary(op: BinaryOp, left: Arc<Expr>, right: Arc<Expr>) -> Expr {
    Expr::BinaryOp { op, left, right }
}

fn is(expr: Arc<Expr>, kind: &EntityType, above: Option<Arc<Expr>>) -> Expr {
    Expr::Is { expr, entity_type: kind.clone(), in_expr: above }
}

/// Sets have no templates: a slot is nothing that could be said here.
fn uid(slot: &EntityOrSlot) -> Option<Arc<Expr>> {
    match slot {
        EntityOrSlot::Entity(uid) => Some(literal(uid)),
        EntityOrSlot::Slot(_) => None,
    }
}

fn literal(uid: &EntityUID) -> Arc<Expr> {
    Arc::new(Expr::Literal(Literal::EntityUID(uid.clone())))
}
