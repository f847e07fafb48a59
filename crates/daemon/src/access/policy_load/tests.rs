//! Unit tests: what a loader leaves behind that ends its process.

use std::process::Command;

use bridle_loop::PolicyHash;

use bridle_history::policy_load::on_loader_stack;

use super::{LoadMarker, load};

/// Names the state directory of the process that is to end.
const VICTIM_VARIABLE: &str = "BRIDLE_TEST_LOADER_VICTIM";

/// Calls itself without an end.
#[expect(unconditional_recursion, reason = "it is to run over")]
fn run_over(depth: u64) -> u64 {
    std::hint::black_box(run_over(std::hint::black_box(depth + 1)) + 1)
}

#[test]
fn a_loader_that_runs_over_its_stack_leaves_its_marker() {
    let hash = PolicyHash::of("deadly");
    if let Some(state) = std::env::var_os(VICTIM_VARIABLE) {
        let marker = LoadMarker::of_state(state.as_ref());
        marker.around(hash, || on_loader_stack(|| Ok(run_over(0)))).map(drop).ok();
        return;
    }
    let state = tempfile::tempdir().unwrap();
    let name = "access::policy_load::tests::a_loader_that_runs_over_its_stack_leaves_its_marker";
    let mut victim = Command::new(std::env::current_exe().unwrap());
    let ended = victim.args([name, "--exact"]).env(VICTIM_VARIABLE, state.path()).output().unwrap();
    assert_eq!(ended.status.code(), None, "ended by a signal");
    let marker = LoadMarker::of_state(state.path());
    assert!(marker.is_left_for(hash));
    assert!(!marker.is_left_for(PolicyHash::of("another")));
    marker.clear().unwrap();
    assert!(!marker.is_left_for(hash));
}

#[test]
fn a_loader_that_comes_back_leaves_none() {
    let state = tempfile::tempdir().unwrap();
    let marker = LoadMarker::of_state(state.path());
    let hash = PolicyHash::of("mine");
    assert!(marker.around(hash, || marker.is_left_for(hash)), "there while it loads");
    assert!(!marker.is_left_for(hash));
    assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 0);
}

#[test]
fn a_marker_is_not_written_through_a_link() {
    let state = tempfile::tempdir().unwrap();
    let other = state.path().join("other");
    std::fs::write(&other, "mine").unwrap();
    std::os::unix::fs::symlink(&other, state.path().join("policy.loading")).unwrap();
    LoadMarker::of_state(state.path()).around(PolicyHash::of("x"), || ());
    assert_eq!(std::fs::read_to_string(other).unwrap(), "mine");
}

#[test]
fn a_loader_that_panics_is_a_fault() {
    let bad = on_loader_stack(|| -> Result<(), _> { panic!("a fault of this program") });
    assert!(bad.unwrap_err().to_string().contains("broke off"));
}

#[test]
fn three_hundred_parentheses_are_a_fault_with_a_line() {
    let nested = format!("{}true{}", "(".repeat(300), ")".repeat(300));
    let text = format!(
        "* Deep\n#+begin_src cedar\npermit (principal, action, resource) when {{ {nested} }};\n#+end_src\n\
         #+begin_src examples\n#+end_src\n"
    );
    let bad = load(&text).unwrap_err();
    assert_eq!(bad.to_string(), "line 3: brackets and `if`s nested deeper than 24");
}
