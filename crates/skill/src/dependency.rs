//! The order in which skills are loaded: what a skill depends on comes before it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use thiserror::Error;

use crate::manifest::SkillId;

/// Dependency that cannot be met.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DependencyFault {
    /// There is no such skill, or it is not in order.
    #[error("`{skill}` depends on `{missing}`, which is not there")]
    Missing {
        /// The skill.
        skill: SkillId,
        /// The dependency.
        missing: SkillId,
    },
    /// Skills that depend on one another, the first one at the end again.
    #[error("skills depend on one another: {}", cycle.iter().map(SkillId::as_str).collect::<Vec<_>>().join(" -> "))]
    Cycle {
        /// The skills.
        cycle: Vec<SkillId>,
    },
}

/// Skills in the order of loading, those without an order by name; and what is wrong with the others.
pub fn dependency_order(
    skills: &BTreeMap<SkillId, Vec<SkillId>>,
) -> (Vec<SkillId>, BTreeMap<SkillId, DependencyFault>) {
    let mut order = DependencyOrder {
        skills,
        done: Vec::new(),
        seen: BTreeSet::new(),
        faults: BTreeMap::new(),
    };
    for skill in skills.keys() {
        order.visit(skill);
    }
    (order.done, order.faults)
}

struct DependencyOrder<'s> {
    skills: &'s BTreeMap<SkillId, Vec<SkillId>>,
    done: Vec<SkillId>,
    seen: BTreeSet<SkillId>,
    faults: BTreeMap<SkillId, DependencyFault>,
}

/// Skill whose dependencies are being visited: how far, and what was wrong with one of them.
struct OpenVisit<'s> {
    skill: &'s SkillId,
    next: usize,
}

impl<'s> DependencyOrder<'s> {
    /// Depth first, with a stack of its own: chains of dependencies may be long.
    fn visit(&mut self, start: &'s SkillId) {
        if self.seen.contains(start) {
            return;
        }
        let mut open = vec![OpenVisit { skill: start, next: 0 }];
        let mut places = HashMap::from([(start, 0)]);
        self.seen.insert(start.clone());
        while let Some(visit) = open.last_mut() {
            let skill = visit.skill;
            let wanted = self.skills.get(skill).and_then(|all| all.get(visit.next));
            visit.next += 1;
            let Some(wanted) = wanted else {
                open.pop();
                places.remove(skill);
                if !self.faults.contains_key(skill) {
                    self.done.push(skill.clone());
                }
                continue;
            };
            let Some((known, _)) = self.skills.get_key_value(wanted) else {
                self.miss(skill, wanted);
                continue;
            };
            if let Some(from) = places.get(known).copied() {
                let mut cycle: Vec<SkillId> =
                    open[from..].iter().map(|visit| visit.skill.clone()).collect();
                cycle.push(known.clone());
                for member in &open[from..] {
                    let fault = DependencyFault::Cycle { cycle: cycle.clone() };
                    self.faults.entry(member.skill.clone()).or_insert(fault);
                }
            } else if self.seen.insert(known.clone()) {
                // Seen again when the dependency is done: then it is known whether it is in order.
                visit_again(&mut open);
                places.insert(known, open.len());
                open.push(OpenVisit { skill: known, next: 0 });
            } else if self.faults.contains_key(known) {
                self.miss(skill, known);
            }
        }
    }

    fn miss(&mut self, skill: &SkillId, missing: &SkillId) {
        let fault = DependencyFault::Missing { skill: skill.clone(), missing: missing.clone() };
        self.faults.entry(skill.clone()).or_insert(fault);
    }
}

fn visit_again(open: &mut [OpenVisit<'_>]) {
    if let Some(visit) = open.last_mut() {
        visit.next -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{DependencyFault, dependency_order};
    use crate::manifest::SkillId;

    fn id(name: &str) -> SkillId {
        SkillId::new(name).unwrap()
    }

    fn order(edges: &[(&str, &[&str])]) -> (String, BTreeMap<SkillId, DependencyFault>) {
        let skills =
            edges.iter().map(|(name, on)| (id(name), on.iter().map(|it| id(it)).collect()));
        let (done, faults) = dependency_order(&skills.collect());
        (done.iter().map(SkillId::as_str).collect::<Vec<_>>().join(" "), faults)
    }

    #[test]
    fn dependencies_come_first() {
        let (done, faults) = order(&[("a", &["c", "b"]), ("b", &["c"]), ("c", &[]), ("d", &[])]);
        assert_eq!((done.as_str(), faults.len()), ("c b a d", 0));
    }

    #[test]
    fn a_cycle_is_named_and_whoever_needs_it_is_left_out() {
        let (done, faults) =
            order(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"]), ("d", &["a"]), ("e", &[])]);
        assert_eq!(done, "e");
        assert_eq!(faults[&id("b")].to_string(), "skills depend on one another: b -> c -> b");
        assert_eq!(faults[&id("a")].to_string(), "`a` depends on `b`, which is not there");
        assert_eq!(faults.len(), 4);
    }

    #[test]
    fn a_missing_skill_is_named() {
        let (done, faults) = order(&[("a", &["gone"]), ("b", &["b"])]);
        assert_eq!((done.as_str(), faults.len()), ("", 2));
        assert!(faults[&id("a")].to_string().contains("`gone`"));
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let names: Vec<String> = (0..50_000).map(|number| format!("s{number:05}")).collect();
        let skills = names.iter().zip(names.iter().skip(1).map(Some).chain([None]));
        let skills = skills.map(|(name, on)| (id(name), on.into_iter().map(|on| id(on)).collect()));
        let (done, faults) = dependency_order(&skills.collect());
        assert_eq!((done.len(), faults.len()), (names.len(), 0));
        assert_eq!(done[0].as_str(), "s49999");
    }
}
