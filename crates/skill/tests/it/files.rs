//! Files that are skills, and files that are none: what is wrong, and on which line.

use bridle_skill::{ArgumentType, PartKind, SkillFaultKind, SkillSource};

use crate::{load, text};

#[test]
fn a_file_has_properties_a_program_and_tests() {
    let properties = ":PRIORITY: 7\n:TRIGGER_PATTERN: ^water\n:TRIGGER_SENSOR: heartbeat :focus\n\
                      :CAPABILITIES: log/log memory/*\n";
    let text =
        text(properties, "(defskill sample (think (c) c))", "| form | value |\n| (+ 1 2) | 3 |");
    let text = format!("{text}#+DEPENDS_ON: other id:org-skill-third\n");
    let source = SkillSource::read(&text, "x/sample.org").unwrap();
    let manifest = &source.manifest;
    assert_eq!(
        (manifest.id.as_str(), manifest.title.as_str(), manifest.priority),
        ("sample", "Sample", 7)
    );
    let triggers: Vec<String> = manifest.triggers.iter().map(ToString::to_string).collect();
    assert_eq!(triggers, ["pattern ^water", "sensor heartbeat", "sensor focus"]);
    assert!(manifest.capabilities.allows("memory", "query"));
    let needs: Vec<&str> = manifest.depends_on.iter().map(bridle_skill::SkillId::as_str).collect();
    assert_eq!(needs, ["other", "third"]);
    assert_eq!((source.tests.len(), source.hash.len()), (1, 64));
}

#[test]
fn a_file_without_an_id_is_named_by_its_name() {
    let text = "#+begin_src lisp\n(defskill x (think (c) c))\n#+end_src\n";
    let source = SkillSource::read(text, "skills/org-skill-Garden.org").unwrap();
    assert_eq!(source.manifest.id.as_str(), "garden");
}

#[test]
fn what_is_wrong_with_a_file_has_a_line() {
    let place = |text: &str| {
        let fault = SkillSource::read(text, "f.org").unwrap_err();
        assert_eq!(fault.kind, SkillFaultKind::File, "{fault}");
        (fault.place.map_or(0, |place| place.line), fault.message)
    };
    let block = "#+begin_src lisp\n(defskill x (think (c) c))\n#+end_src\n";
    for (head, line, part) in [
        (":PROPERTIES:\n:ID: a b\n:END:\n", 2, "skill id"),
        (":PROPERTIES:\n:ID: a\n:PRIORITY: high\n:END:\n", 3, "priority"),
        (":PROPERTIES:\n:TRIGGER_PATTERN: (\n:END:\n", 2, "pattern"),
        (":PROPERTIES:\n:TRIGGER_SOUND: x\n:END:\n", 2, "TRIGGER_SENSOR"),
        (":PROPERTIES:\n:CAPABILITIES: all\n:END:\n", 2, "TARGET/ACTION"),
        ("#+DEPENDS_ON: ../x\n", 1, "skill id"),
        ("* Tests\n| what | value |\n* Program\n", 2, "columns"),
        ("* Tests\n#+begin_src lisp\n(test 5)\n#+end_src\n* Program\n", 3, "(test \"name\" ..)"),
        (
            "* Tests\n#+begin_src lisp\n\n(test \"x\" :prompt \"a\"\n#+end_src\n* Program\n",
            3,
            "ends inside",
        ),
        (
            "* Tests\n#+begin_src lisp\n(test \"x\" :prompt \"a\")\n#+end_src\n* Program\n",
            3,
            "expects nothing",
        ),
        (
            "* Tests\n#+begin_src lisp\n(test \"x\" :answer 1)\n#+end_src\n* Program\n",
            3,
            "calls nothing",
        ),
    ] {
        let (found, message) = place(&format!("{head}{block}"));
        assert_eq!(found, line, "{head}: {message}");
        assert!(message.contains(part), "{head}: {message}");
    }
    assert!(place("* Nothing\n").1.contains("has a program"));
}

#[test]
fn a_fault_of_the_program_has_the_line_and_column_of_the_file() {
    // The block begins on line 8.
    let fault = load("", "(defskill sample\n  (think (c) (open c)))", "").unwrap_err();
    let place = fault.place.clone().unwrap();
    assert_eq!((place.file.as_str(), place.line, place.column), ("sample.org", 9, 14));
    assert_eq!(place.form, "(think (c) (open c)))");
    assert!(
        fault.to_string().starts_with("sample.org:9:14: outside the language: OPEN\n"),
        "{fault}"
    );
    assert_eq!(fault.kind, SkillFaultKind::Program);
    let fault = load("", "(defskill sample (think (c) c)", "").unwrap_err();
    assert_eq!(fault.kind, SkillFaultKind::Program);
    assert!(fault.place.is_some(), "{fault}");
    let fault = load("", "(loop)", "").unwrap_err();
    assert_eq!(fault.kind, SkillFaultKind::Limit);
    let fault = load("", "(bridle:now)", "").unwrap_err();
    assert!(fault.message.contains("nothing can be asked of the host here"), "{fault}");
    for (program, part) in [
        ("(+ 1 2)", "defines 0 parts"),
        ("(defskill x (dream (c) c))", "dream is no stage"),
        ("(deftool x ((a matrix)) a)", "is no type of an argument"),
        ("(defactuator x (a c) 1)", "has no actions"),
        ("(defcommand x (a b c) 1)", "takes its text and its context"),
    ] {
        let fault = load("", program, "").unwrap_err();
        assert!(fault.message.contains(part), "{program}: {fault}");
    }
}

#[test]
fn blocks_of_other_languages_and_of_tests_are_no_program() {
    let text = "* A\n#+begin_src sh\nrm -rf x\n#+end_src\n#+begin_src lisp :load no\n(open 1)\n#+end_src\n\
                * COMMENT Old\n#+begin_src lisp\n(open 2)\n#+end_src\n\
                * B\n#+begin_src lisp\n(defskill x (think (c) c))\n#+end_src\n";
    let source = SkillSource::read(text, "x.org").unwrap();
    bridle_skill::Skill::load(source, bridle_skill::SkillLimits::default()).unwrap();
}

#[test]
fn parts_have_names_texts_and_arguments() {
    let program = "(deftool add ((a integer \"First.\") (b integer :optional 1)) \"Adds.\" (+ a b))
                   (defactuator garden (action context) \"Waters.\" (:actions (water (bed string)) (stop)) nil)
                   (defcommand hello (text) \"Greets.\" text)";
    let skill = load("", program, "").unwrap();
    let [add, garden, hello] = skill.parts() else { panic!("{:?}", skill.parts()) };
    assert_eq!((add.kind, add.name.as_str(), add.doc.as_str()), (PartKind::Tool, "add", "Adds."));
    assert_eq!(add.arguments[0].doc, "First.");
    assert_eq!((add.arguments[1].kind, add.arguments[1].optional), (ArgumentType::Integer, true));
    let actions: Vec<&str> = garden.actions.iter().map(|action| action.name.as_str()).collect();
    assert_eq!(actions, ["water", "stop"]);
    assert_eq!((hello.kind, hello.doc.as_str()), (PartKind::Command, "Greets."));
    assert_eq!(skill.doc(), "Sample");
}
