//! Unit tests: every form that nests, at its limit and behind it.

use super::{DepthLimits, check_depth};
use crate::policy::{
    GuardPolicies, JUDGE_STACK_BYTES, LOADER_STACK_BYTES, PolicyFacts, PolicyVerdict,
};

/// Stack of a thread that does neither; what is too deep for it ends the test.
const SMALL_STACK_BYTES: usize = 2 << 20;

/// Half of the stack of a loader.
const HALF_LOADER_STACK_BYTES: usize = LOADER_STACK_BYTES / 2;

/// A condition that is so deep.
type DeepForm = fn(usize) -> String;

/// Forms that nest, by their names.
const FORMS: [(&str, DeepForm); 21] = [
    ("parentheses", |n| format!("{}true{}", "(".repeat(n), ")".repeat(n))),
    ("open parentheses", |n| "(".repeat(n)),
    ("mixed brackets", |n| "([{a: ".repeat(n)),
    ("brackets closed by others", |n| "(]".repeat(n)),
    ("sets", |n| format!("{}1{} == []", "[".repeat(n), "]".repeat(n))),
    ("records", |n| format!("{}1{} == {{}}", "{a: ".repeat(n), "}".repeat(n))),
    ("negations", |n| format!("{}true{}", "!(".repeat(n), ")".repeat(n))),
    ("bangs", |n| format!("{}true", "!".repeat(n))),
    ("minuses", |n| format!("{}1 == 1", "-".repeat(n))),
    ("minus brackets", |n| format!("{}1{} == 1", "-(".repeat(n), ")".repeat(n))),
    ("ifs in then", |n| format!("{}true{}", "if true then ".repeat(n), " else false".repeat(n))),
    ("ifs in else", |n| format!("{}true", "if context.approved then true else ".repeat(n))),
    ("ifs in if", |n| format!("{}true{}", "if ".repeat(n), " then true else false".repeat(n))),
    ("ands", |n| vec!["context.approved"; n].join(" && ")),
    ("ors", |n| vec!["context.name == \"x\""; n].join(" || ")),
    ("sums", |n| format!("{} > 0", vec!["1"; n].join(" + "))),
    ("products", |n| format!("{} > 0", vec!["1"; n].join("*"))),
    ("attributes", |n| format!("context.session{} == 1", ".owner".repeat(n))),
    ("indices", |n| format!("context{} == 1", "[\"a\"]".repeat(n))),
    ("calls", |n| format!("{}1{}", "[true].contains(".repeat(n), ")".repeat(n))),
    ("has", |n| format!("context has {}a", "a.".repeat(n))),
];

fn policy(condition: &str) -> String {
    format!("permit (principal, action == Action::\"eval\", resource)\nwhen {{ {condition} }};")
}

/// A file of it, whose example asks for something else: the policy itself is asked later, by others.
fn file(cedar: &str) -> String {
    format!(
        "* One\n:PROPERTIES:\n:CUSTOM_ID: one\n:END:\n#+begin_src cedar\n{cedar}\n#+end_src\n\
         #+begin_src examples\n(refuse (:principal \"x\" :action :log :text \"x\"))\n#+end_src\n"
    )
}

fn on_stack<T: Send + 'static>(bytes: usize, run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(bytes).spawn(run).unwrap();
    thread.join().unwrap()
}

/// The deepest of a form that is let through.
fn deepest(form: DeepForm) -> usize {
    let fits = |n: &usize| check_depth(&policy(&form(*n)), DepthLimits::FILE).is_ok();
    (1..1_000).take_while(fits).last().unwrap_or(0)
}

#[test]
fn what_is_too_deep_is_told_with_its_line_whatever_its_form() {
    for (name, form) in FORMS {
        for n in [300, 3_000, 20_000] {
            let text = file(&policy(&form(n)));
            let bad = on_stack(SMALL_STACK_BYTES, move || GuardPolicies::from_org(&text).map(drop));
            let bad = bad.expect_err(name);
            assert_eq!(bad.faults[0].line, 7, "{name} {n}: {bad}");
            assert!(bad.to_string().contains("deeper than"), "{name} {n}: {bad}");
        }
    }
}

#[test]
fn what_is_let_through_is_loaded_on_half_a_stack_and_judged_on_a_whole_one() {
    for (name, form) in FORMS {
        let text = file(&policy(&form(deepest(form))));
        let loaded = on_stack(HALF_LOADER_STACK_BYTES, move || GuardPolicies::from_org(&text));
        // Cedar may not like it: it is told then, and the process goes on.
        let Ok(set) = loaded else { continue };
        let found = on_stack(JUDGE_STACK_BYTES, move || {
            let asked = "(:principal \"x\" :action :eval :code \"x\")";
            set.find(&PolicyFacts::described(asked).unwrap())
        });
        assert_eq!(found.fault, None, "{name}");
    }
}

#[test]
fn a_long_chain_that_is_first_asked_on_a_small_stack_does_not_end_it() {
    // Within the length that is looked into: read again with a bracket around each part.
    for n in [40, 60, 100] {
        let text = file(&policy(&vec!["true"; n].join("&&")));
        let set = on_stack(JUDGE_STACK_BYTES, move || GuardPolicies::from_org(&text).unwrap());
        let asked = "(:principal \"x\" :action :eval :code \"x\")";
        let facts = PolicyFacts::described(asked).unwrap();
        let found = on_stack(SMALL_STACK_BYTES, move || set.find(&facts));
        assert!(matches!(found.word, PolicyVerdict::Allow | PolicyVerdict::Deny), "{n}: {found:?}");
    }
}

#[test]
fn many_are_no_depth() {
    let annotations: String = (0..2_000).map(|n| format!("@a{n}(\"((((\")\n")).collect();
    let wide = format!("[{}].contains(context.name)", vec!["\"((\""; 2_000].join(", "));
    let comments = "// ((((((((((((((((((((((((((((((((((((((((((((((((\n".repeat(50);
    for text in [
        format!("{annotations}{}", policy("true")),
        policy(&wide),
        format!("{comments}{}", policy("true")),
        policy("true").repeat(500),
        policy(&vec!["context.name == \"x\""; 100].join(" || ")),
        policy("\"\\\"((((((((((((((((((((((((((((((((((\" == \"\""),
    ] {
        assert_eq!(check_depth(&text, DepthLimits::FILE), Ok(()));
    }
}

#[test]
fn clauses_are_a_chain() {
    let text = |n| {
        format!(
            "permit (principal, action, resource) {};",
            "when { true } unless { false }".repeat(n)
        )
    };
    assert!(check_depth(&text(50), DepthLimits::FILE).is_ok());
    assert!(check_depth(&text(70), DepthLimits::FILE).is_err());
}

#[test]
fn a_deep_part_before_a_long_chain_counts_with_it() {
    let text =
        |n| policy(&format!("{}true{}{}", "(".repeat(20), ")".repeat(20), " && true".repeat(n)));
    assert!(check_depth(&text(90), DepthLimits::FILE).is_ok());
    assert!(check_depth(&text(120), DepthLimits::FILE).is_err());
}

#[test]
fn a_set_of_the_record_may_be_deeper() {
    let text = file(&policy(&format!("{}true{}", "(".repeat(250), ")".repeat(250))));
    assert!(
        on_stack(HALF_LOADER_STACK_BYTES, move || GuardPolicies::from_record(&text).map(drop))
            .is_ok()
    );
    let text = file(&policy(&format!("{}true{}", "(".repeat(500), ")".repeat(500))));
    assert!(
        on_stack(HALF_LOADER_STACK_BYTES, move || GuardPolicies::from_record(&text).map(drop))
            .is_err()
    );
}
