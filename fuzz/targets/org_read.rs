//! Fuzz target: any bytes become an Org tree and come back; its nodes nest.
#![cfg_attr(fuzzing, no_main)]

#[path = "../org.rs"]
mod org;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| org::org_read(data));

/// Without the fuzzer: checks the files named as arguments, to look at a finding on stable.
#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    std::env::args_os().skip(1).try_for_each(|path| {
        org::org_read(&std::fs::read(path)?);
        Ok(())
    })
}
