//! The binary: arguments, settings, exit codes.

fn main() {}
