//! Many skills: those alone run whose triggers fit. What they take of memory, the example `skill_measures` says.

use bridle_skill::SkillId;

use crate::Home;
use crate::turns::Session;

/// A skill that saves something whenever it is asked.
fn counter(number: usize) -> String {
    format!(
        ":PROPERTIES:\n:ID: s{number}\n:TRIGGER_PATTERN: ^word{number}\\b\n:END:\n* P\n#+begin_src lisp\n\
         (defskill s{number}\n  (think (context)\n    (bridle:save-state (1+ (or (bridle:state) 0)))\n    \"answer {number}\"))\n\
         (defun helper-{number} (list) (mapcar (lambda (x) (* x {number})) (remove-if-not #'evenp list)))\n#+end_src\n"
    )
}

#[test]
fn of_many_skills_those_alone_run_that_are_meant() {
    let home = Home::new();
    for number in 0..200 {
        home.write(&format!("s{number}.org"), &counter(number));
    }
    let registry = home.registry();
    assert_eq!(registry.table().skills().count(), 200);
    let mut session = Session::new(false, || std::sync::Arc::clone(&registry));
    for prompt in ["word7 x", "word7 y", "word123", "nothing of it"] {
        session.prompt(prompt);
    }
    let asked: Vec<String> = (0..200)
        .filter_map(|number| {
            let id = SkillId::new(&format!("s{number}")).unwrap();
            let saved = home.storage().saved(&id, "uid:1").unwrap();
            (!saved.is_nil()).then(|| format!("{id} {saved}"))
        })
        .collect();
    assert_eq!(asked, ["s7 2", "s123 1"]);
}
