//! Skills as files: read, loaded, called, run again, tested.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

mod calls;
mod docs;
mod files;
mod shipped;
mod tests;

use std::sync::Arc;

use bridle_skill::{Skill, SkillFault, SkillLimits, SkillSource};

/// A skill with these properties, this program and these tests.
fn text(properties: &str, program: &str, tests: &str) -> String {
    format!(
        ":PROPERTIES:\n:ID: sample\n{properties}:END:\n#+TITLE: Sample\n\n* Program\n#+begin_src lisp\n{program}\n#+end_src\n\n\
         * Tests\n{tests}\n"
    )
}

fn load(properties: &str, program: &str, tests: &str) -> Result<Arc<Skill>, SkillFault> {
    let text = text(properties, program, tests);
    let source = SkillSource::read(&text, "sample.org")?;
    Skill::load(source, SkillLimits::default()).map(Arc::new)
}
