//! Headers with which people find a request in logs: its id and its trace.
//!
//! The body decides; what a header says counts where the body says nothing, and comes back as a
//! header alone. Nothing is sent back that could end a header line.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use bridle_wire::openharness::RequestEcho;

/// Names the request, for people who look through logs.
const REQUEST: HeaderName = HeaderName::from_static("x-request-id");

/// Names the trace.
const CORRELATION: HeaderName = HeaderName::from_static("x-correlation-id");

/// Names the trace as W3C wants it.
const TRACE: HeaderName = HeaderName::from_static("traceparent");

/// Characters of an id that is sent as a header.
const MAX_HEADER_ID_CHARS: usize = 128;

/// Ids of a request that its response repeats.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceHeaders {
    request: Option<HeaderValue>,
    correlation: Option<HeaderValue>,
    trace: Option<HeaderValue>,
}

impl TraceHeaders {
    /// Reads the ids in the headers of a request.
    pub(super) fn of(headers: &HeaderMap) -> TraceHeaders {
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        TraceHeaders {
            request: text(&REQUEST).and_then(mark),
            correlation: text(&CORRELATION).and_then(mark),
            trace: text(&TRACE).filter(|text| is_trace(text)).and_then(mark),
        }
    }

    /// Replaces them by the ids in the body, where it has some.
    pub(super) fn with(mut self, echo: &RequestEcho) -> TraceHeaders {
        if let Some(id) = &echo.request_id {
            self.request = mark(id.as_str());
        }
        if let Some(id) = &echo.correlation_id {
            self.correlation = mark(id.as_str());
        }
        self
    }

    /// The trace, for a log.
    pub(super) fn correlation(&self) -> &str {
        let marked = self.correlation.as_ref().or(self.trace.as_ref());
        marked.and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Adds them to a response.
    pub(super) fn put(self, headers: &mut HeaderMap) {
        let TraceHeaders { request, correlation, trace } = self;
        for (name, value) in [(REQUEST, request), (CORRELATION, correlation), (TRACE, trace)] {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
    }
}

/// An id as a header, if it is short and every character of it can be seen.
fn mark(text: &str) -> Option<HeaderValue> {
    let fits = (1..=MAX_HEADER_ID_CHARS).contains(&text.len());
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if fits && is_visible { HeaderValue::from_str(text).ok() } else { None }
}

/// Tells whether this is a `traceparent` of the version that is known: four groups of hex digits
/// in lower case, neither id of zeros alone.
fn is_trace(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags] = groups.as_slice() else { return false };
    let is_hex = |text: &str, len: usize| {
        text.len() == len && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let is_some = |text: &str| text.bytes().any(|byte| byte != b'0');
    *version == "00"
        && is_hex(trace, 32)
        && is_hex(parent, 16)
        && is_hex(flags, 2)
        && is_some(trace)
        && is_some(parent)
}

#[cfg(test)]
mod tests {
    use super::{is_trace, mark};

    #[test]
    fn what_could_end_a_line_is_no_header() {
        assert!(mark("corr-1").is_some());
        for bad in ["", "a b", "a\r\nX: y", "\u{e9}", &"x".repeat(129)] {
            assert!(mark(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_trace_has_four_groups() {
        assert!(is_trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
        for bad in [
            "",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ] {
            assert!(!is_trace(bad), "{bad}");
        }
    }
}
