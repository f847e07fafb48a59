//! A grant, read back from its policy. What is not just such a permit is no grant.

use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::pst::{
    ActionConstraint, BinaryOp, Clause, EntityOrSlot, EntityUID, Expr, Literal,
    PrincipalConstraint, ResourceConstraint, UnaryOp, Var,
};

use super::reach::{GrantReach, REMOTE, RunBounds, RunPlace};
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
        let reach = found.reach.bounds()?;
        let place = match (found.place, &reach) {
            (None, Some(GrantReach::Run(_))) => GrantPlace::Any,
            (Some(_), Some(GrantReach::Run(_))) => return None,
            (place, _) => place?,
        };
        let order = |text: &GrantText| GrantText::ALL.iter().position(|it| it == text);
        found.texts.sort_by_key(|(text, _)| order(text));
        Some(GrantTerms {
            action: action.eid.as_str().into(),
            place,
            target: found.target,
            texts: found.texts,
            reach,
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
    reach: ReachConditions,
}

/// Conditions about runs and requests.
#[derive(Default)]
struct ReachConditions {
    /// Attributes of the context that must be true, false, or empty, or must not be.
    flags: Vec<Box<str>>,
    absent: Vec<Box<str>>,
    empty: Vec<Box<str>>,
    filled: Vec<Box<str>>,
    /// Attributes all of which must be in a list.
    within: Vec<(Box<str>, Vec<Box<str>>)>,
    project: Option<Box<str>>,
    folder: Option<Box<str>>,
    port: Option<i64>,
}

impl ReachConditions {
    /// The bounds, or that there are none; `None` outside for what is no grant of this kind.
    #[expect(
        clippy::option_option,
        reason = "no bounds, and conditions that are none, are two things"
    )]
    fn bounds(&self) -> Option<Option<GrantReach>> {
        if self.flags.is_empty() && self.absent.is_empty() && self.is_bare() {
            return Some(None);
        }
        let list = |name: &str| self.within.iter().find(|(known, _)| **known == *name);
        let list = |name: &str| list(name).map(|(_, all)| all.clone());
        let reach = match self.port {
            Some(port) => GrantReach::Web { port: u16::try_from(port).ok()? },
            None => GrantReach::Run(RunBounds {
                commands: list("commands"),
                hosts: list("hosts").unwrap_or_default(),
                place: match (&self.project, &self.folder) {
                    (Some(project), None) => RunPlace::Project(project.clone()),
                    (None, Some(folder)) => RunPlace::Folder(folder.clone()),
                    _ => return None,
                },
            }),
        };
        // Just these conditions and no others.
        (self.is_of(&reach)).then_some(Some(reach))
    }

    fn is_bare(&self) -> bool {
        self.empty.is_empty()
            && self.filled.is_empty()
            && self.within.is_empty()
            && self.project.is_none()
            && self.folder.is_none()
            && self.port.is_none()
    }

    /// Whether these are all the conditions of such bounds.
    fn is_of(&self, reach: &GrantReach) -> bool {
        let is = |found: &[Box<str>], expected: &[&str]| {
            found.len() == expected.len()
                && expected.iter().all(|it| found.iter().any(|f| **f == **it))
        };
        let names: Vec<Box<str>> = self.within.iter().map(|(name, _)| name.clone()).collect();
        match reach {
            GrantReach::Web { .. } => {
                is(&self.flags, &[])
                    && is(&self.absent, &["keys"])
                    && is(&self.empty, &["secrets"])
                    && is(&self.filled, &[])
                    && names.is_empty()
                    && self.project.is_none()
                    && self.folder.is_none()
            }
            GrantReach::Run(run) => {
                let mut flags = Vec::new();
                if matches!(run.place, RunPlace::Project(_)) {
                    flags.push("inside");
                }
                let mut within = Vec::new();
                match run.commands {
                    Some(_) => within.extend(["commands", "code"]),
                    None => flags.push("staged"),
                }
                let mut empty = Vec::new();
                match run.hosts.is_empty() {
                    true => empty.push("hosts"),
                    false => within.push("hosts"),
                }
                let is_code = |(name, all): &(Box<str>, Vec<Box<str>>)| {
                    **name != *"code" || matches!(&all[..], [one] if **one == *REMOTE)
                };
                is(&self.flags, &flags)
                    && is(&self.absent, &["keys"])
                    && is(&self.empty, &empty)
                    && is(&self.filled, &["commands"])
                    && is(&names, &within)
                    && self.within.iter().all(is_code)
                    && self.port.is_none()
            }
        }
    }

    fn take(&mut self, expr: &Expr) -> Option<()> {
        match expr {
            Expr::GetAttr { .. } => self.flags.push(fact(expr)?),
            Expr::UnaryOp { op: UnaryOp::Not, expr } => match &**expr {
                Expr::UnaryOp { op: UnaryOp::IsEmpty, expr } => self.filled.push(fact(expr)?),
                other => self.absent.push(fact(other)?),
            },
            Expr::UnaryOp { op: UnaryOp::IsEmpty, expr } => self.empty.push(fact(expr)?),
            Expr::BinaryOp { op: BinaryOp::ContainsAll, left, right } => {
                let Expr::Set(all) = &**left else { return None };
                let text = |one: &Arc<Expr>| match &**one {
                    Expr::Literal(Literal::String(text)) => Some(text.as_str().into()),
                    _ => None,
                };
                let all: Option<Vec<Box<str>>> = all.iter().map(text).collect();
                self.within.push((fact(right)?, all?));
            }
            _ => return None,
        }
        Some(())
    }

    /// An attribute of the resource that must be just this.
    fn take_resource(&mut self, name: &str, said: &Expr) -> Option<()> {
        match (name, said) {
            ("folder", Expr::Literal(Literal::String(text))) => {
                put(&mut self.folder, text.as_str().into())
            }
            ("port", Expr::Literal(Literal::Long(port))) => put(&mut self.port, *port),
            _ => None,
        }
    }
}

/// The name of an attribute of the context.
fn fact(expr: &Expr) -> Option<Box<str>> {
    match &path(expr)?[..] {
        [name] => Some((*name).into()),
        _ => None,
    }
}

/// The name of an attribute of the resource.
fn of_resource(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::GetAttr { expr, attr } if matches!(**expr, Expr::Var(Var::Resource)) => Some(attr),
        _ => None,
    }
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
            Expr::BinaryOp { op: BinaryOp::Eq, left, right } => match of_resource(left) {
                Some(name) => self.reach.take_resource(name, right),
                None => self.take_same(&path(left)?, right),
            },
            other => self.reach.take(other),
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
            (["project"], Expr::Literal(Literal::String(value))) => {
                put(&mut self.reach.project, value.as_str().into())
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
