//! Fuzz target: any text runs as a skill and ends within its limits, twice the same.
#![cfg_attr(fuzzing, no_main)]

#[path = "../lisp.rs"]
mod lisp;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| lisp::lisp_run(data));

/// Without the fuzzer: checks the files named as arguments, to look at a finding on stable.
#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    std::env::args_os().skip(1).try_for_each(|path| {
        lisp::lisp_run(&std::fs::read(path)?);
        Ok(())
    })
}
