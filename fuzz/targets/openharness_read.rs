//! Fuzz target: an OpenHarness message is read or refused, and either way its ids are kept.
#![cfg_attr(fuzzing, no_main)]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target uses one property")]
mod properties;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::openharness_read(data));

/// Without the fuzzer: checks the files named as arguments, to look at a finding on stable.
#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    std::env::args_os().skip(1).try_for_each(|path| {
        properties::openharness_read(&std::fs::read(path)?);
        Ok(())
    })
}
