//! Loading of policies, on a stack of a known size.
//!
//! Used by the daemon's guard, by the history and by the commands. A text is bounded before it is read; the stack
//! is large enough for whatever is within the bounds, wherever the caller runs.

use std::thread;

use bridle_loop::{ExampleResult, GuardPolicies, InvalidPolicies, LOADER_STACK_BYTES, PolicyFault};

/// Reads a set of a file and runs its examples.
///
/// # Errors
/// When anything is wrong with it, with the lines of the file.
pub fn load(text: &str) -> Result<GuardPolicies, InvalidPolicies> {
    on_loader_stack(|| GuardPolicies::from_org(text))
}

/// Reads a set of a file, and says how each of its examples came out.
///
/// # Errors
/// When anything else is wrong with it, with the lines of the file.
pub fn load_tried(text: &str) -> Result<(GuardPolicies, Vec<ExampleResult>), InvalidPolicies> {
    on_loader_stack(|| GuardPolicies::tried(text))
}

/// Reads a set back that the record holds.
///
/// # Errors
/// When this version does not take it.
pub fn load_recorded(text: &str) -> Result<GuardPolicies, InvalidPolicies> {
    on_loader_stack(|| GuardPolicies::from_record(text))
}

/// Runs something on a thread with the stack of a loader.
///
/// # Errors
/// Those of the loader; or there is no thread for it, or it panicked.
pub fn on_loader_stack<T: Send>(
    load: impl FnOnce() -> Result<T, InvalidPolicies> + Send,
) -> Result<T, InvalidPolicies> {
    let unread =
        |what: String| Err(InvalidPolicies { faults: vec![PolicyFault { line: 1, what }] });
    thread::scope(|scope| {
        let loader = thread::Builder::new().stack_size(LOADER_STACK_BYTES);
        match loader.spawn_scoped(scope, load).map(thread::ScopedJoinHandle::join) {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(_)) => unread("reading it broke off: please report this with the file".into()),
            Err(error) => unread(format!("no thread to read it on: {error}")),
        }
    })
}
