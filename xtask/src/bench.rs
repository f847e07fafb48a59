//! `cargo xtask bench`: builds the daemon by the `dist` profile and the measuring program of `bench/`, and runs it.
//! The rivals' crates belong to that workspace of its own; what is measured is said there and in
//! `docs/benchmarks.md`.

use anyhow::Result;

use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask bench [reader|org|health|loop|store|guard|attach|memex|http|idle|hostile|counts|all|soak]
                         [--quick] [--minutes N] [--markdown|--json] [--native]

Measures bridle beside its rivals in one run and prints tables with ratios, targets last.

  reader   readers and printers on a 5 MB tree: serde_json, simd-json, sonic-rs, lexpr, SBCL, Emacs
  org      Org files: orgize, org-element of Emacs; how time grows on hostile ones
  health   round trips: a bare tokio echo, Redis GET, an SBCL daemon
  loop     event to durable answer, 1,000 shells attached and 64 active; a bare SQLite commit each
  store    durable admissions a second: many in a commit, one each, a bare SQLite table
  guard    what a verdict costs with 100 policies, in bare calls of Cedar
  attach   start with a record of 1 GiB, reattach after 10,000 missed events, their export
  memex    20,000 Org files indexed, opened again, changed and asked; grep -r; commits meanwhile
  http     requests over HTTP beside a bare axum handler; memory of streams that wait
  idle     memory with 10,000 idle connections and as many attached shells, and with 1,000 that
           announce a frame and send nothing
  hostile  how soon another connection is answered while one attacks
  counts   instructions under valgrind, to compare two commits
  all      everything above (the default)
  soak     memory under half an hour of load

  --quick     few short rounds, to see that it runs
  --minutes N how long soak lasts (30 unless told)
  --markdown  tables for docs/benchmarks.md
  --json      one object per row
  --native    compile the measuring program, rivals included, for this processor alone";

/// Builds both workspaces, then runs the measurements.
pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let (native, rest): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| *argument == "--native");
    let needs_daemon = !rest.iter().any(|argument| {
        matches!(argument.as_str(), "reader" | "org" | "counts" | "store" | "guard")
    });
    if needs_daemon {
        ProgramRun::cargo(["build", "--profile", "dist", "--package", "bridle"]).run(console)?;
    }
    let mut measure = ProgramRun::cargo([
        "run",
        "--quiet",
        "--release",
        "--manifest-path",
        "bench/Cargo.toml",
        "--",
    ]);
    if !native.is_empty() {
        // Its own folder, so that switching back and forth does not compile everything again.
        measure = measure
            .env("RUSTFLAGS", "-Ctarget-cpu=native")
            .env("CARGO_TARGET_DIR", root().join("bench/target/native"));
    }
    let daemon = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |folder| root().join(folder))
        .join("dist/bridle");
    measure.args(rest).args(["--bridle".as_ref(), daemon.as_os_str()]).run(console)
}
