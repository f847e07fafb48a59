//! stub
pub(super) fn program(_seed: u64, _number: u64) -> String {
    "1".into()
}
