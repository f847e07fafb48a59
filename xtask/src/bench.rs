//! `cargo xtask bench`: measurements side by side with rivals. Compiled only with the feature `bench`.

use anyhow::{Result, bail};

/// Runs the benchmarks named in `arguments`, or all of them.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    bail!("there is no benchmark `{}`", arguments.join(" "))
}
