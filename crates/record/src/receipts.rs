//! Bytes of receipts in the file: those of a commit side by side in few rows, since a row of its own costs an
//! admission as much as its record. Written by the batch, read by the opener; what a receipt is for is the caller's
//! business.

use rusqlite::Connection;

use crate::append::MessageReceipt;
use crate::cipher::{MASK_BYTES, Salt, SealLabel, SealPlace, SessionKey};
use crate::error::StoreError;
use crate::record::RecordHash;

/// Receipts kept for each session; the oldest gives way.
pub const MAX_RECEIPTS: u64 = 4096;

/// Milliseconds for which a receipt counts: a client that was away for a day sends again at its own risk.
pub const RECEIPT_AGE: i64 = 24 * 60 * 60 * 1000;

/// Receipts in one row: what fits a page of the file, beside little else.
pub(crate) const RECEIPTS_PER_ROW: usize = 64;

/// Bytes of an entry: number, session, seq, time, and two masked hashes.
pub(crate) const RECEIPT_BYTES: usize = 4 * 8 + MASK_BYTES;

/// One receipt, as it is kept.
#[derive(Clone, Copy)]
pub(crate) struct ReceiptEntry {
    /// Of the record that it belongs to.
    pub(crate) number: u64,
    pub(crate) session: i64,
    pub(crate) seq: u64,
    pub(crate) at: i64,
    pub(crate) masked: [u8; MASK_BYTES],
}

impl ReceiptEntry {
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&self.session.to_le_bytes());
        bytes.extend_from_slice(&self.seq.to_le_bytes());
        bytes.extend_from_slice(&self.at.to_le_bytes());
        bytes.extend_from_slice(&self.masked);
    }

    pub(crate) fn read(bytes: &[u8; RECEIPT_BYTES]) -> Self {
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * index..8 * index + 8]);
            word
        };
        let mut masked = [0; MASK_BYTES];
        masked.copy_from_slice(&bytes[RECEIPT_BYTES - MASK_BYTES..]);
        Self {
            number: u64::from_le_bytes(word(0)),
            session: i64::from_le_bytes(word(1)),
            seq: u64::from_le_bytes(word(2)),
            at: i64::from_le_bytes(word(3)),
            masked,
        }
    }

    /// The receipt, under the key of its session and the salt of its record.
    pub(crate) fn open(&self, key: &SessionKey, salt: &Salt) -> MessageReceipt {
        let mut hashes = self.masked;
        key.mask(SealPlace { label: SealLabel::Receipt, number: self.number, salt }, &mut hashes);
        let (mut message, mut body) = ([0; 32], [0; 32]);
        message.copy_from_slice(&hashes[..32]);
        body.copy_from_slice(&hashes[32..]);
        MessageReceipt { message: RecordHash(message), body: RecordHash(body) }
    }
}

/// The receipts for records after this one, which is the last of its commit; oldest first.
pub(crate) fn after(connection: &Connection, number: i64) -> Result<Vec<ReceiptEntry>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT entries FROM receipt WHERE first > ?1 ORDER BY first")?;
    let mut rows = statement.query([number])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let packed: Vec<u8> = row.get(0)?;
        entries.extend(packed.as_chunks::<RECEIPT_BYTES>().0.iter().map(ReceiptEntry::read));
    }
    Ok(entries)
}

/// The two hashes of a receipt, masked for the record of this number.
pub(crate) fn mask(
    key: &SessionKey,
    number: u64,
    salt: &Salt,
    receipt: &MessageReceipt,
) -> [u8; MASK_BYTES] {
    let mut hashes = [0; MASK_BYTES];
    hashes[..32].copy_from_slice(receipt.message.as_bytes());
    hashes[32..].copy_from_slice(receipt.body.as_bytes());
    key.mask(SealPlace { label: SealLabel::Receipt, number, salt }, &mut hashes);
    hashes
}
