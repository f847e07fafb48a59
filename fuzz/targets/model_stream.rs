//! Fuzz target: whatever a server of models sends is an answer or a failure, however it is cut.
#![cfg_attr(fuzzing, no_main)]

#[path = "../models.rs"]
mod models;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| models::model_stream(data));

/// Without the fuzzer: checks the files named as arguments, to look at a finding on stable.
#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    std::env::args_os().skip(1).try_for_each(|path| {
        models::model_stream(&std::fs::read(path)?);
        Ok(())
    })
}
