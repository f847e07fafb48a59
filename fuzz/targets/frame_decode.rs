//! Fuzz target: a stream of frames means the same however it is cut, signed or not.
#![cfg_attr(fuzzing, no_main)]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target uses one property")]
mod properties;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::frame_decode(data));

/// Without the fuzzer: checks the files named as arguments, to look at a finding on stable.
#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    std::env::args_os().skip(1).try_for_each(|path| {
        properties::frame_decode(&std::fs::read(path)?);
        Ok(())
    })
}
