//! Decisions with the payload that they were about.
//!
//! Where a message was said as it was proposed, the record of the decision names the proposal, so that
//! a long text is not kept again. Who wants to show or to judge it again gets it back here, from
//! the record that the decision follows from.

use super::{HistoryError, RecordHistory, record_body};
use bridle_loop::{DecidedBody, ProposalsBody};
use bridle_record::{Record, RecordBody};
use bridle_sexp::Value;

impl RecordHistory {
    /// The body of a decision, with the payload where it names a proposal. A forgotten proposal leaves the
    /// body as it is.
    pub(super) fn with_proposed_payload(
        &self,
        decided: &Record,
        body: Value,
    ) -> Result<Value, HistoryError> {
        let read = DecidedBody::read(&body);
        let (Some(place), Some(cause)) = (read.proposal, decided.cause) else { return Ok(body) };
        let Some(event) = self.source.record(cause)? else { return Ok(body) };
        let event = event.body.text().map_or(Value::Nil, record_body::value);
        Ok(match ProposalsBody::read(&event).payload(place) {
            Some(payload) => read.with_payload(&payload),
            None => body,
        })
    }

    /// A record of a decision whose body has the payload.
    pub(super) fn record_with_payload(&self, mut decided: Record) -> Result<Record, HistoryError> {
        let body = decided.body.text().map(record_body::value);
        if let Some(body) = body.filter(|body| DecidedBody::read(body).proposal.is_some()) {
            let body = self.with_proposed_payload(&decided, body)?;
            decided.body = RecordBody::Text(body.to_string());
        }
        Ok(decided)
    }
}
