//! The examples of `docs/skills.md`, put together: a skill that passes its own tests.

use std::path::Path;
use std::sync::Arc;

use bridle_skill::{Skill, SkillLimits, SkillSource, test_skill};

/// Bodies of the blocks of this language, in order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let parts = page.split("```").skip(1).step_by(2);
    let bodies = parts.filter_map(|part| part.strip_prefix(language)?.strip_prefix('\n'));
    bodies.map(str::to_owned).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads the page that it holds to its word")]
fn the_examples_of_the_tutorial_are_a_skill_that_passes_its_tests() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/skills.md");
    let page = std::fs::read_to_string(file).unwrap();
    let (org, lisp) = (blocks(&page, "org"), blocks(&page, "lisp"));
    let ([head, tables], [provider, program, tests]) = (&org[..], &lisp[..]) else {
        panic!("other blocks than expected: {org:?} {lisp:?}")
    };
    let text = format!(
        "{head}\n* Program\n#+begin_src lisp\n{program}#+end_src\n* Tests\n{tables}\n#+begin_src lisp\n{tests}#+end_src\n"
    );
    let source = SkillSource::read(&text, "docs.org").unwrap();
    assert_eq!(source.manifest.id.as_str(), "water-plants");
    let skill = Arc::new(Skill::load(source, SkillLimits::default()).unwrap());
    let reports = test_skill(&skill);
    assert_eq!(reports.len(), 6);
    let (program, tests) = provider.split_at(provider.find("(test ").unwrap());
    let text = format!(
        "* Program\n#+begin_src lisp\n{program}#+end_src\n* Tests\n#+begin_src lisp\n{tests}#+end_src\n"
    );
    let source = SkillSource::read(&text, "provider.org").unwrap();
    let provider = Arc::new(Skill::load(source, SkillLimits::default()).unwrap());
    let provided = test_skill(&provider);
    assert_eq!(provided.len(), 2);
    for report in reports.into_iter().chain(provided) {
        assert_eq!(report.failure, None, "{}", report.name);
    }
}
