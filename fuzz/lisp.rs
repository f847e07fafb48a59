//! What must hold for any text that is run as a skill: the fuzz target `lisp_run` panics when it does not. Included by
//! path in the target and in `crates/lisp/tests/it`, which runs for seconds in every test run.

use bridle_lisp::{Instance, InstanceLimits, Snapshot};
use std::sync::LazyLock;

/// Limits of one run: small, so that thousands of runs a second are possible and limits are met.
const FUZZ_LIMITS: InstanceLimits =
    InstanceLimits { fuel: 100_000, heap_bytes: 4 << 20, depth: 500, output_bytes: 16 << 10 };

static FRESH: LazyLock<Snapshot> = LazyLock::new(|| Instance::new(FUZZ_LIMITS).snapshot());

/// Any text ends in values, a condition, a limit or a refusal, twice the same; output stays within its limit, the
/// heap is back within its own, and the instance answers afterwards.
pub(crate) fn lisp_run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (first, output) = run_once(&text);
    let (second, again) = run_once(&text);
    assert_eq!(first, second, "{text}");
    assert_eq!(output, again, "{text}");
}

/// The values or the error of a text, and what it printed.
fn run_once(text: &str) -> (String, String) {
    let mut instance = FRESH.instance();
    let mut shown = Vec::new();
    let result = instance.evaluate(text, "fuzz", |values| shown.extend_from_slice(values));
    let output = instance.take_output() + &instance.take_error_output();
    assert!(output.len() <= FUZZ_LIMITS.output_bytes, "{} bytes of output", output.len());
    let answer = match result {
        Ok(()) => shown.join("\n"),
        Err(error) => error.to_string(),
    };
    // A full heap of globals may refuse even this; nothing else may.
    let mut after = String::new();
    match instance.evaluate("(+ 1 2)", "after", |values| after = values.join(" ")) {
        Ok(()) => assert_eq!(after, "3", "after {text}"),
        Err(error) => assert!(error.to_string().contains("limit"), "{error} after {text}"),
    }
    (answer, output)
}
