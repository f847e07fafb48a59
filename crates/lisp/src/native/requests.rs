//! Requests to the host: the program stops, the host answers, and the same instruction runs again with the answer.

use bridle_sexp::Value;

use super::{NativeFunction, native};
use crate::trap::TrapKind;

/// Request of a call that waits, and the answer to it.
#[derive(Clone, Default)]
pub(crate) struct HostRequests {
    /// Whether the call that runs may wait at all.
    pub(crate) may_wait: bool,
    pub(crate) request: Option<Value>,
    pub(crate) answer: Option<Value>,
}

pub(crate) const TABLE: &[NativeFunction] = &[native("%host-call", 1, 1, |m, a| {
    if let Some(answer) = m.requests.answer.take() {
        return m.import(&answer, 0);
    }
    if !m.requests.may_wait {
        return Err(m.simple_error("nothing can be asked of the host here"));
    }
    m.requests.request = Some(m.export(m.argument(a, 0))?);
    Err(Box::new(TrapKind::Suspend))
})];
