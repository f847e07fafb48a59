//! Numbers of a stream without a record: their records were compacted. Whoever reads a stream gets something for
//! each number, so an erased record stands in for each of them.

use super::SessionRow;
use crate::compacted_span::COMPACTED;
use crate::record::{Record, RecordBody, RecordHash, RecordNumber};

/// Puts a stand-in where a number is missing, at most so many records in all.
pub(super) fn fill(records: Vec<Record>, session: &str, after: u64, most: usize) -> Vec<Record> {
    let is_dense = |(at, record): (usize, &Record)| record.seq == Some(after + 1 + at as u64);
    if records.iter().enumerate().all(is_dense) {
        return records;
    }
    let (mut filled, mut next) = (Vec::with_capacity(records.len()), after + 1);
    for record in records {
        let seq = record.seq.unwrap_or(next);
        while next < seq && filled.len() < most {
            filled.push(stand_in(session, next, record.at));
            next += 1;
        }
        if filled.len() >= most {
            break;
        }
        next = seq + 1;
        filled.push(record);
    }
    filled
}

/// Adds the last number of the stream, if nothing with that number was found.
pub(super) fn fill_end(records: &mut Vec<Record>, session: &str, after: u64, row: &SessionRow) {
    let last = records.last().and_then(|record| record.seq).unwrap_or(after);
    if last < row.head_seq {
        records.push(stand_in(session, row.head_seq, row.last_at));
    }
}

fn stand_in(session: &str, seq: u64, at: i64) -> Record {
    Record {
        number: RecordNumber(0),
        session: session.into(),
        seq: Some(seq),
        at,
        cause: None,
        principal: "".into(),
        kind: COMPACTED.into(),
        version: 1,
        body: RecordBody::Erased,
        prev: RecordHash([0; 32]),
        hash: RecordHash([0; 32]),
    }
}
