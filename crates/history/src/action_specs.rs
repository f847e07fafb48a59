//! Descriptions of actions that the record holds, found by their hash.
//!
//! A session names what its actuators can do by a hash; whoever wants to know what a thinker was offered
//! finds the text here.

use bridle_loop::{ActuatorSpec, CatalogBody, RecordKind, TextDigest};
use bridle_record::{RecordFilter, RecordNumber, StoreError};

use crate::record_body::parse;
use crate::record_source::{RecordSource, of_kinds};

/// Records read at once while descriptions are looked for.
const CATALOG_PAGE_RECORDS: usize = 64;

/// The descriptions of these hashes, as far as the record has them. Looks at the daemon's own records only.
///
/// # Errors
/// The record cannot be read.
pub fn find(
    reader: &dyn RecordSource,
    digests: &[TextDigest],
) -> Result<Vec<(TextDigest, ActuatorSpec)>, StoreError> {
    let filter = RecordFilter { session: Some(Box::default()), ..of_kinds([RecordKind::Catalog]) };
    let (mut after, mut found) = (RecordNumber(0), Vec::new());
    let mut wanted: Vec<TextDigest> = digests.to_vec();
    while !wanted.is_empty() {
        let page = reader.records(after, &filter, CATALOG_PAGE_RECORDS)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for record in &page {
            let Some(value) = record.body.text().and_then(parse) else { continue };
            let CatalogBody { digest: Some(digest), spec: Some(spec) } = CatalogBody::read(&value)
            else {
                continue;
            };
            // A body that is not what its hash says is none.
            if wanted.contains(&digest) && spec.digest() == digest {
                wanted.retain(|other| *other != digest);
                found.push((digest, spec));
            }
        }
    }
    Ok(found)
}
