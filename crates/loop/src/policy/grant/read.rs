//! A grant, read back from its policy. What is not just such a permit is no grant.

use std::str::FromStr;

use cedar_policy::pst::{
    ActionConstraint, BinaryOp, Clause, EntityOrSlot, EntityUID, Expr, Literal,
    PrincipalConstraint, ResourceConstraint, Var,
};

use super::{GrantPlace, GrantTerms, GrantText};
use crate::policy::PolicyEntry;
use crate::policy::depth::{DepthLimits, check_depth};

impl GrantTerms {
    /// The terms of a policy, if it is a grant: a permit that says nothing else.
    pub fn of_policy(policy: &PolicyEntry) -> Option<Self> {
        check_depth(&policy.text, DepthLimits::FILE).ok()?;
        let read = cedar_policy::Policy::from_str(&policy.text).ok()?;
        if read.effect() != cedar_policy::Effect::Permit {
            return None;
        }
        let read = read.to_pst().ok()?;
        let body = read.body();
        let ActionConstraint::Eq(action) = &body.action else { return None };
        let PrincipalConstraint::Any = body.principal else { return None };
        let [Clause::When(condition)] = body.clauses().as_slice() else { return None };
        let mut found = GrantConditions::default();
        match &body.resource {
            ResourceConstraint::Any => {}
            ResourceConstraint::Eq(EntityOrSlot::Entity(uid)) => {
                found.place = Some(GrantPlace::One(kind(uid)?.into(), uid.eid.as_str().into()));
            }
            ResourceConstraint::In(EntityOrSlot::Entity(uid)) if kind(uid)? == "Folder" => {
                found.place = Some(GrantPlace::Below(uid.eid.as_str().into()));
            }
            _ => return None,
        }
        let mut waiting = vec![&**condition];
        while let Some(expr) = waiting.pop() {
            match expr {
                Expr::BinaryOp { op: BinaryOp::And, left, right } => {
                    waiting.extend([&**right, &**left]);
                }
                other => found.take(other)?,
            }
        }
        let order = |text: &GrantText| GrantText::ALL.iter().position(|it| it == text);
        found.texts.sort_by_key(|(text, _)| order(text));
        Some(GrantTerms {
            action: action.eid.as_str().into(),
            place: found.place?,
            target: found.target,
            texts: found.texts,
            owner: found.owner?,
            until: found.until?,
        })
    }
}

/// Conditions that were read, each at most once.
#[derive(Default)]
struct GrantConditions {
    place: Option<GrantPlace>,
    target: Option<Box<str>>,
    texts: Vec<(GrantText, Box<str>)>,
    owner: Option<Box<str>>,
    until: Option<i64>,
}

impl GrantConditions {
    fn take(&mut self, expr: &Expr) -> Option<()> {
        match expr {
            Expr::BinaryOp { op: BinaryOp::Or, left, right } => {
                let place = GrantPlace::Both(resource(left)?, resource(right)?);
                put(&mut self.place, place)
            }
            Expr::BinaryOp { op: BinaryOp::Less, left, right } => {
                let Expr::Literal(Literal::Long(until)) = &**right else { return None };
                (path(left)? == ["now"]).then_some(())?;
                put(&mut self.until, *until)
            }
            Expr::BinaryOp { op: BinaryOp::Eq, left, right } => self.take_same(&path(left)?, right),
            _ => None,
        }
    }

    fn take_same(&mut self, fact: &[&str], said: &Expr) -> Option<()> {
        match (fact, said) {
            (["target"], Expr::Literal(Literal::EntityUID(uid))) if kind(uid)? == "Actuator" => {
                put(&mut self.target, uid.eid.as_str().into())
            }
            (["session", "owner"], Expr::Literal(Literal::EntityUID(uid)))
                if kind(uid)? == "Person" =>
            {
                put(&mut self.owner, uid.eid.as_str().into())
            }
            ([name], Expr::Literal(Literal::String(value))) => {
                let text = GrantText::ALL.into_iter().find(|text| text.attribute() == *name)?;
                let is_new = self.texts.iter().all(|(known, _)| *known != text);
                is_new.then(|| self.texts.push((text, value.as_str().into())))
            }
            _ => None,
        }
    }
}

/// Fills what was empty.
fn put<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    match slot {
        Some(_) => None,
        None => {
            *slot = Some(value);
            Some(())
        }
    }
}

/// The attributes that lead from the context to a fact.
fn path(expr: &Expr) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut at = expr;
    loop {
        match at {
            Expr::Var(Var::Context) => {
                names.reverse();
                return Some(names);
            }
            Expr::GetAttr { expr, attr } => {
                names.push(attr.as_str());
                at = expr;
            }
            _ => return None,
        }
    }
}

/// The file that the resource is compared with.
fn resource(expr: &Expr) -> Option<Box<str>> {
    let Expr::BinaryOp { op: BinaryOp::Eq, left, right } = expr else { return None };
    let (Expr::Var(Var::Resource), Expr::Literal(Literal::EntityUID(uid))) = (&**left, &**right)
    else {
        return None;
    };
    (kind(uid)? == "Path").then(|| uid.eid.as_str().into())
}

fn kind(uid: &EntityUID) -> Option<&str> {
    let name = &uid.ty.0;
    name.namespace.is_empty().then(|| name.id.as_ref())
}
