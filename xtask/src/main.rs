//! The task runner: `cargo xtask VERB`.

fn main() {}
