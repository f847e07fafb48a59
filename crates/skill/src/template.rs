//! The text of a new skill: it works, and passes its own tests.

use crate::manifest::SkillId;

/// The text of a skill of this name: one that answers a command and counts its uses.
pub fn new_skill(id: &SkillId) -> String {
    include_str!("template.org").replace("NAME", id.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::new_skill;
    use crate::{Skill, SkillId, SkillLimits, SkillSource, test_skill};

    #[test]
    fn a_new_skill_passes_its_own_tests() {
        let text = new_skill(&SkillId::new("water-plants").unwrap());
        let source = SkillSource::read(&text, "x.org").unwrap();
        assert_eq!(source.manifest.id.as_str(), "water-plants");
        let skill = Arc::new(Skill::load(source, SkillLimits::default()).unwrap());
        let reports = test_skill(&skill);
        assert!(reports.len() >= 3);
        assert!(reports.iter().all(|report| report.failure.is_none()), "{reports:?}");
    }
}
