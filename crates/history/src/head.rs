//! The head of the chain: a line to keep elsewhere, and the check against it.
//!
//! The chain shows every change before its last record; only a head kept out of reach shows that the
//! end was cut off, or that everything was written anew.

use bridle_record::{ChainHead, RecordHash, RecordNumber, VerifyReport};
use bridle_sexp::{Value, read_one};
use bridle_wire::seal::SigningKey;
use bridle_wire::time::rfc3339;

use super::{HistoryError, RecordHistory};

/// Purpose of a signature of a head: no other text is signed with this word.
const SIGNATURE_PURPOSE: &str = "bridle log head";

/// Largest file that is read as a kept head, in bytes: a line has about 200.
pub const MAX_HEAD_FILE: u64 = 4096;

/// The head of a record as it is kept elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptHead {
    head: ChainHead,
    /// The line without its signature: what was signed.
    text: String,
    signature: Option<String>,
}

impl KeptHead {
    /// Reads a line of `bridle log head`.
    ///
    /// # Errors
    /// [`HistoryError::BadHead`].
    pub fn parse(line: &str) -> Result<KeptHead, HistoryError> {
        let bad = |why| HistoryError::BadHead { why };
        let tree = read_one(line).map_err(|_| bad("expected one property list"))?;
        let root = tree.root();
        let number = root.get("number").and_then(|it| u64::try_from(it.as_i64()?).ok());
        let number = number.ok_or_else(|| bad("expected a :number"))?;
        let hash = root.get("hash").and_then(|it| RecordHash::from_hex(&it.as_str()?));
        let hash = hash.ok_or_else(|| bad("expected a :hash of 64 hex digits"))?;
        let at = root.get("at").and_then(|it| it.as_str());
        let signature = root.get("signature").and_then(|it| it.as_str());
        let head = ChainHead { number: RecordNumber(number), hash };
        Ok(KeptHead {
            head,
            text: text_of(head, at.as_deref()),
            signature: signature.map(std::borrow::Cow::into_owned),
        })
    }

    /// Whether somebody signed it.
    pub fn is_signed(&self) -> bool {
        self.signature.is_some()
    }

    /// Checks who signed it.
    ///
    /// # Errors
    /// [`HistoryError::HeadNotSigned`] when that is another key, or nobody.
    pub fn check_signature(&self, key: &SigningKey) -> Result<(), HistoryError> {
        let signature = self.signature.as_deref().unwrap_or_default();
        if key.has_signed_text(SIGNATURE_PURPOSE, &self.text, signature) {
            return Ok(());
        }
        Err(HistoryError::HeadNotSigned)
    }
}

fn text_of(head: ChainHead, at: Option<&str>) -> String {
    let number = i64::try_from(head.number.0).unwrap_or(i64::MAX);
    let mut pairs =
        vec![("number", Value::int(number)), ("hash", Value::str(head.hash.to_string()))];
    pairs.extend(at.map(|at| ("at", Value::str(at))));
    Value::plist(pairs).to_string()
}

impl RecordHistory {
    /// The line to keep: number, hash and time of the last record, signed if there is a key.
    ///
    /// # Errors
    /// What the store said.
    pub fn head_line(&self, key: Option<&SigningKey>) -> Result<String, HistoryError> {
        let head = self.source.head()?;
        let at = self.source.record(head.number)?.map(|record| rfc3339(record.at));
        let mut text = text_of(head, at.as_deref());
        if let Some(key) = key {
            let signature = key.sign_text(SIGNATURE_PURPOSE, &text);
            text.truncate(text.len() - 1);
            text.push_str(&format!(" :signature \"{signature}\")"));
        }
        Ok(text)
    }

    /// Checks every record, and the kept head if there is one. `progress` is told how many records
    /// are done, and of how many.
    ///
    /// # Errors
    /// [`bridle_record::StoreError::Broken`] inside [`HistoryError::Store`] names the first record that is not as
    /// it was written.
    pub fn verify(
        &self,
        kept: Option<&KeptHead>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<VerifyReport, HistoryError> {
        Ok(self.source.verify(kept.map(|kept| kept.head), progress)?)
    }
}
