//! Soon.
pub(crate) fn run(_: &[&str]) -> Result<(), String> { Ok(()) }
pub(crate) fn daemon(_: &[&str]) -> Result<(), String> { Ok(()) }
