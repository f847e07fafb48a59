//! `cargo xtask schema-diff PATH`: runs the comparison of `schema-diff/`, a workspace of its own, since
//! the validator that it judges with is some seventy crates that nothing else here needs.

use anyhow::{Result, bail};

use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask schema-diff PATH

Makes OpenHarness messages, valid and spoiled, and compares what bridle's reader and bridle's schema
say about each with a published schema: the file PATH, or the only schema in the folder PATH, whose
examples/ are judged too. Differences are grouped by the row of docs/protocol.md, section 15.6, that
justifies them; one without a row fails.";

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let [path] = arguments else { bail!("expected one path\n\n{HELP}") };
    // The program runs in the root of the repository; the path is meant from here.
    let path = std::path::absolute(path)?;
    ProgramRun::cargo(["run", "--quiet", "--manifest-path", "schema-diff/Cargo.toml", "--"])
        .args([path, root().join("docs/protocol.md")])
        .run(console)
}
