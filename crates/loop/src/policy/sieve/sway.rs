//! Which way a yes can move a policy: whether one that does not apply to one of the two questions can
//! still apply to the other.
//!
//! Called when a set is loaded. What is not understood here may move either way, and is asked both
//! times.

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, Template, UnaryOp};

use super::named::Named;
use super::read::{MAX_DEPTH, cannot_fail, of_context};

/// How what a policy says depends on `context.approved`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum Sway {
    /// Not at all.
    Steady,
    /// With a yes it applies at least where it applies without.
    Up,
    /// Without a yes it applies at least where it applies with one.
    Down,
    /// Nobody looked, or it can fail.
    Either,
}

impl Sway {
    /// The sway of a policy that passed the checks of types.
    pub(in crate::policy) fn of(policy: &Template) -> Self {
        let clauses = policy.clauses().iter().map(|clause| match clause {
            Clause::When(expr) => of_sound(expr),
            Clause::Unless(expr) => of_sound(expr).turned(),
        });
        clauses.fold(Sway::Steady, Sway::with)
    }

    /// Of two conditions that both count.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Sway::Steady, sway) | (sway, Sway::Steady) => sway,
            (one, other) if one == other => one,
            _ => Sway::Either,
        }
    }

    fn turned(self) -> Self {
        match self {
            Sway::Up => Sway::Down,
            Sway::Down => Sway::Up,
            sway => sway,
        }
    }
}

/// Of an expression that has a value whatever the facts are; another one may fail in one question and
/// not in the other.
fn of_sound(expr: &Expr) -> Sway {
    let names_it = Named::of_expr(expr).approved;
    match cannot_fail(expr, MAX_DEPTH) {
        true => of(expr, MAX_DEPTH),
        false if names_it => Sway::Either,
        false => Sway::Steady,
    }
}

/// Bounded by its depth.
fn of(expr: &Expr, depth: usize) -> Sway {
    let Some(depth) = depth.checked_sub(1) else { return Sway::Either };
    let is_it = |expr: &Expr| of_context(expr) == Some("approved");
    match expr {
        expr if is_it(expr) => Sway::Up,
        Expr::UnaryOp { op: UnaryOp::Not, expr } => of(expr, depth).turned(),
        Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } => {
            of(left, depth).with(of(right, depth))
        }
        Expr::BinaryOp { op: BinaryOp::Eq, left, right } if is_it(left) => match &**right {
            Expr::Literal(Literal::Bool(true)) => Sway::Up,
            Expr::Literal(Literal::Bool(false)) => Sway::Down,
            _ => Sway::Either,
        },
        expr if Named::of_expr(expr).approved => Sway::Either,
        _ => Sway::Steady,
    }
}
