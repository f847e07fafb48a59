//! Fuzz target: a message survives being written; a refused one is answered with a valid message.
#![cfg_attr(fuzzing, no_main)]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target uses one property")]
mod properties;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::message_decode(data));

/// Without the fuzzer: checks the files named as arguments, to look at a finding on stable.
#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    std::env::args_os().skip(1).try_for_each(|path| {
        properties::message_decode(&std::fs::read(path)?);
        Ok(())
    })
}
