//! Skills that come with the program: all of the folder are in the list, and all of their tests pass.

use std::path::Path;
use std::sync::Arc;

use bridle_skill::{SHIPPED_SKILLS, Skill, SkillLimits, SkillSource, test_skill};

#[test]
#[expect(clippy::disallowed_methods, reason = "the list is compared with the folder")]
fn the_list_is_the_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let listed: Vec<String> =
        SHIPPED_SKILLS.iter().map(|shipped| format!("{}.org", shipped.name)).collect();
    assert_eq!(names, listed);
}

#[test]
fn every_shipped_skill_is_whole_and_passes_its_tests() {
    for shipped in SHIPPED_SKILLS {
        let file = format!("{}.org", shipped.name);
        let source = SkillSource::read(shipped.text, &file).unwrap();
        assert_eq!(source.manifest.id.as_str(), shipped.name);
        assert!(!source.manifest.title.is_empty(), "{file} has a title");
        let skill = Arc::new(Skill::load(source, SkillLimits::default()).unwrap());
        let reports = test_skill(&skill);
        for report in &reports {
            assert_eq!(report.failure, None, "{file}:{}: {}", report.line, report.name);
        }
        // A block that does not end would hide the tests in it.
        let written = shipped.text.lines().filter(|line| line.starts_with("(test \"")).count();
        assert!(reports.len() >= written.max(3), "{file}: {} of {written} tests", reports.len());
        let long = shipped.text.lines().filter(|line| line.chars().count() > 140).count();
        assert!(long <= 6, "{file}: {long} long lines");
    }
}

#[test]
fn commands_of_shipped_skills_say_what_they_do_and_none_is_there_twice() {
    let mut seen = std::collections::BTreeSet::new();
    for shipped in SHIPPED_SKILLS {
        let source = SkillSource::read(shipped.text, shipped.name).unwrap();
        let skill = Skill::load(source, SkillLimits::default()).unwrap();
        for part in skill.parts().iter().filter(|it| it.kind == bridle_skill::PartKind::Command) {
            assert!(!part.doc.is_empty(), "/{} of {} says what it does", part.name, shipped.name);
            assert!(seen.insert(part.name.clone()), "/{} is there twice", part.name);
        }
    }
}
