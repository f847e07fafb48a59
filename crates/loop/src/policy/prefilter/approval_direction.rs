//! Which way a yes can move a policy: whether one that does not apply to one of the two questions can
//! still apply to the other.
//!
//! Called when a set is loaded. What is not understood here may move either way, and is asked both
//! times.

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, Template, UnaryOp};

use super::fact_names::NamedFacts;
use super::read::{MAX_DEPTH, cannot_fail, of_context};

/// Effect of `context.approved` on a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum ApprovalDirection {
    /// Not at all.
    Steady,
    /// With a yes it applies at least where it applies without.
    Up,
    /// Without a yes it applies at least where it applies with one.
    Down,
    /// Nobody looked, or it can fail.
    Either,
}

impl ApprovalDirection {
    /// The sway of a policy that passed the checks of types.
    pub(in crate::policy) fn of(policy: &Template) -> Self {
        let clauses = policy.clauses().iter().map(|clause| match clause {
            Clause::When(expr) => of_sound(expr),
            Clause::Unless(expr) => of_sound(expr).turned(),
        });
        clauses.fold(ApprovalDirection::Steady, ApprovalDirection::with)
    }

    /// Of two conditions that both count.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (ApprovalDirection::Steady, sway) | (sway, ApprovalDirection::Steady) => sway,
            (one, other) if one == other => one,
            _ => ApprovalDirection::Either,
        }
    }

    fn turned(self) -> Self {
        match self {
            ApprovalDirection::Up => ApprovalDirection::Down,
            ApprovalDirection::Down => ApprovalDirection::Up,
            sway => sway,
        }
    }
}

/// Of an expression that has a value whatever the facts are; another one may fail in one question and
/// not in the other.
fn of_sound(expr: &Expr) -> ApprovalDirection {
    let names_it = NamedFacts::of_expr(expr).approved;
    match cannot_fail(expr, MAX_DEPTH) {
        true => of(expr, MAX_DEPTH),
        false if names_it => ApprovalDirection::Either,
        false => ApprovalDirection::Steady,
    }
}

/// Bounded by its depth.
fn of(expr: &Expr, depth: usize) -> ApprovalDirection {
    let Some(depth) = depth.checked_sub(1) else { return ApprovalDirection::Either };
    let is_it = |expr: &Expr| of_context(expr) == Some("approved");
    match expr {
        expr if is_it(expr) => ApprovalDirection::Up,
        Expr::UnaryOp { op: UnaryOp::Not, expr } => of(expr, depth).turned(),
        Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } => {
            of(left, depth).with(of(right, depth))
        }
        Expr::BinaryOp { op: BinaryOp::Eq, left, right } if is_it(left) => match &**right {
            Expr::Literal(Literal::Bool(true)) => ApprovalDirection::Up,
            Expr::Literal(Literal::Bool(false)) => ApprovalDirection::Down,
            _ => ApprovalDirection::Either,
        },
        expr if NamedFacts::of_expr(expr).approved => ApprovalDirection::Either,
        _ => ApprovalDirection::Steady,
    }
}
