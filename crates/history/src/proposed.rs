//! Decisions with the payload that they were about.
//!
//! Where a message was said as it was proposed, the record of the decision names the proposal, so that
//! a long text is not kept again. Who wants to show or to judge it again gets it back here, from
//! the record that the decision follows from.

use bridle_record::{Record, RecordBody};
use bridle_sexp::Value;

use super::{HistoryError, RecordHistory, record_body};

/// What a decision names the proposal by.
const PROPOSAL: &str = "proposal";

impl RecordHistory {
    /// The body of a decision, with the payload where it names a proposal. As it is, if that is
    /// forgotten.
    pub(super) fn whole(&self, decided: &Record, body: Value) -> Result<Value, HistoryError> {
        let (Some(place), Some(cause)) = (place(&body), decided.cause) else { return Ok(body) };
        let Some(event) = self.reader.record(cause)? else { return Ok(body) };
        let proposals = event.body.text().map_or(Value::Nil, record_body::value);
        let proposals = proposals.get("proposals").and_then(Value::elements).unwrap_or_default();
        let payload = proposals.get(place).and_then(|proposal| proposal.get("payload"));
        Ok(payload.map_or(body.clone(), |payload| with(&body, payload)))
    }

    /// The same for the record itself.
    pub(super) fn whole_record(&self, mut decided: Record) -> Result<Record, HistoryError> {
        let body = decided.body.text().map(record_body::value);
        if let Some(body) = body.filter(|body| place(body).is_some()) {
            decided.body = RecordBody::Text(self.whole(&decided, body)?.to_string());
        }
        Ok(decided)
    }
}

/// The place of the proposal that a decision names.
fn place(body: &Value) -> Option<usize> {
    usize::try_from(body.get(PROPOSAL)?.as_i64()?).ok()
}

/// The body with a payload where it names a proposal.
fn with(body: &Value, payload: &Value) -> Value {
    let pairs = body.elements().unwrap_or_default().chunks_exact(2);
    let pairs = pairs.flat_map(|pair| match pair[0].is_keyword(PROPOSAL) {
        true => [Value::keyword("payload"), payload.clone()],
        false => [pair[0].clone(), pair[1].clone()],
    });
    Value::list(pairs)
}
