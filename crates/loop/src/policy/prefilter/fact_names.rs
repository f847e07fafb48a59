//! Which facts a policy names, and how. One that is not named cannot change what it says.
//!
//! Called when a set is loaded: what does not name `context.approved` says the same to both
//! questions, and a rehearsal takes for the same what no policy can tell apart.

use std::collections::BTreeSet;

use cedar_policy::pst::{
    BinaryOp, Clause, EntityOrSlot, EntityUID, Expr, Literal, ResourceConstraint, Template, Var,
};

use super::input::PrefilterNumber;
use super::read::of_context;

/// The facts that some policies name, of those that differ from one proposal to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::policy) struct NamedFacts {
    pub(in crate::policy) approved: bool,
    /// A session by its name.
    pub(in crate::policy) session: bool,
    /// Anything of an edit that is finer than its file.
    pub(in crate::policy) edit: bool,
    /// Anything of an effect that the daemon found out.
    pub(in crate::policy) effect: bool,
    pub(in crate::policy) hash: FactUsage<Box<str>>,
    numbers: [FactUsage<i64>; PrefilterNumber::ALL.len()],
}

/// Uses of a fact in policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) enum FactUsage<T> {
    /// Only to compare it with these.
    With(BTreeSet<T>),
    Somehow,
}

impl<T> Default for FactUsage<T> {
    fn default() -> Self {
        FactUsage::With(BTreeSet::new())
    }
}

impl<T: Clone + Ord> FactUsage<T> {
    fn add(&mut self, other: &Self) {
        match (&mut *self, other) {
            (FactUsage::With(ones), FactUsage::With(others)) => ones.extend(others.iter().cloned()),
            _ => *self = FactUsage::Somehow,
        }
    }

    fn with(&mut self, one: T) {
        if let FactUsage::With(ones) = self {
            ones.insert(one);
        }
    }
}

impl NamedFacts {
    /// Those that a policy names.
    pub(in crate::policy) fn of(policy: &Template) -> Self {
        let mut named = Self::default();
        match &policy.resource {
            ResourceConstraint::Eq(EntityOrSlot::Entity(uid))
            | ResourceConstraint::In(EntityOrSlot::Entity(uid))
            | ResourceConstraint::IsIn(_, EntityOrSlot::Entity(uid)) => named.literal(uid),
            _ => {}
        }
        let clauses = policy.clauses().iter();
        named.walk(clauses.map(|clause| match clause {
            Clause::When(expr) | Clause::Unless(expr) => &**expr,
        }));
        named
    }

    /// Those that an expression names.
    pub(super) fn of_expr(expr: &Expr) -> Self {
        let mut named = Self::default();
        named.walk([expr]);
        named
    }

    fn walk<'e>(&mut self, all: impl IntoIterator<Item = &'e Expr>) {
        let mut waiting: Vec<&Expr> = all.into_iter().collect();
        while let Some(expr) = waiting.pop() {
            if !self.understood(expr) {
                self.look(expr, &mut waiting);
            }
        }
    }

    /// All there are.
    pub(in crate::policy) fn everything() -> Self {
        Self {
            approved: true,
            session: true,
            edit: true,
            effect: true,
            hash: FactUsage::Somehow,
            numbers: [(); PrefilterNumber::ALL.len()].map(|()| FactUsage::Somehow),
        }
    }

    /// Takes in what others name.
    pub(in crate::policy) fn add(&mut self, other: &Self) {
        self.approved |= other.approved;
        self.session |= other.session;
        self.edit |= other.edit;
        self.effect |= other.effect;
        self.hash.add(&other.hash);
        for (one, other) in self.numbers.iter_mut().zip(&other.numbers) {
            one.add(other);
        }
    }

    /// Uses of a number in policies.
    pub(in crate::policy) fn number(&self, number: PrefilterNumber) -> &FactUsage<i64> {
        &self.numbers[number.place()]
    }

    /// Whether a number is named at all.
    pub(in crate::policy) fn is_named(&self, number: PrefilterNumber) -> bool {
        *self.number(number) != FactUsage::default()
    }

    /// Notes a comparison with something that the policy itself says.
    fn understood(&mut self, expr: &Expr) -> bool {
        let Expr::BinaryOp { op, left, right } = expr else { return false };
        let is_order = matches!(
            op,
            BinaryOp::Less | BinaryOp::LessEq | BinaryOp::Greater | BinaryOp::GreaterEq
        );
        let is_same = matches!(op, BinaryOp::Eq | BinaryOp::NotEq);
        if !is_order && !is_same {
            return false;
        }
        for (fact, said) in [(left, right), (right, left)] {
            let Some(attribute) = of_context(fact) else { continue };
            match (&**said, PrefilterNumber::named(attribute)) {
                (Expr::Literal(Literal::Long(long)), Some(number)) => {
                    self.numbers[number.place()].with(*long);
                    return true;
                }
                (Expr::Literal(Literal::String(text)), _) if attribute == "hash" => {
                    self.hash.with(text.as_str().into());
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    /// Notes what an expression names by itself; what it is made of waits.
    fn look<'e>(&mut self, expr: &'e Expr, waiting: &mut Vec<&'e Expr>) {
        match expr {
            Expr::Literal(Literal::EntityUID(uid)) => self.literal(uid),
            Expr::Literal(_) | Expr::Var(Var::Principal | Var::Action | Var::Resource) => {}
            Expr::GetAttr { expr: inner, attr } => match &**inner {
                Expr::Var(Var::Context) => self.attribute(attr),
                inner => waiting.push(inner),
            },
            Expr::UnaryOp { expr, .. } | Expr::HasAttr { expr, .. } | Expr::Like { expr, .. } => {
                waiting.push(expr);
            }
            Expr::BinaryOp { left, right, .. } => waiting.extend([&**left, &**right]),
            Expr::Is { expr, in_expr, .. } => {
                waiting.push(expr);
                waiting.extend(in_expr.iter().map(|above| &**above));
            }
            Expr::IfThenElse { cond, then_expr, else_expr } => {
                waiting.extend([&**cond, &**then_expr, &**else_expr]);
            }
            Expr::Set(all) => waiting.extend(all.iter().map(|one| &**one)),
            Expr::Record(pairs) => waiting.extend(pairs.values().map(|one| &**one)),
            // The context as a whole, and whatever Cedar learns to say.
            _ => *self = Self::everything(),
        }
    }

    fn attribute(&mut self, name: &str) {
        match (name, PrefilterNumber::named(name)) {
            (_, Some(number)) => self.numbers[number.place()] = FactUsage::Somehow,
            ("approved", _) => self.approved = true,
            ("hash", _) => self.hash = FactUsage::Somehow,
            ("file" | "heading" | "destination" | "arguments", _) => self.edit = true,
            (
                "project" | "inside" | "staged" | "layer" | "programs" | "commands" | "code"
                | "keys" | "hosts" | "secrets" | "server" | "tool" | "changes" | "provenance"
                | "privacy" | "remote",
                _,
            ) => self.effect = true,
            _ => {}
        }
    }

    fn literal(&mut self, uid: &EntityUID) {
        self.session |= uid.ty.0.id.as_ref() == "Session";
    }
}
