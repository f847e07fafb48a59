//! Tests from the host's side: values, refusals, limits, snapshots.

mod attacks;
#[path = "../../../../fuzz/lisp.rs"]
mod fuzz_property;
mod generated;
mod language;
mod refused;

use bridle_lisp::{Instance, InstanceLimits, LispError};

/// Limits that a test reaches in a moment.
pub(crate) const SMALL: InstanceLimits =
    InstanceLimits { fuel: 3_000_000, heap_bytes: 8 << 20, depth: 2_000, output_bytes: 64 << 10 };

/// The printed values of the last form.
pub(crate) fn evaluate(text: &str) -> Result<String, LispError> {
    let mut instance = Instance::new(SMALL);
    let mut shown = String::new();
    instance.evaluate(text, "test.lisp", |values| shown = values.join(" ; "))?;
    Ok(shown)
}
