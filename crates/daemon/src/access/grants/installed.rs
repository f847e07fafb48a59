//! Grants of the file of policies: listed by what they permit, and taken back by deleting their headings.
//!
//! A grant is known by its policy, read back from Cedar, not by the words of its heading: what a heading claims
//! counts for nothing.

use std::path::Path;

use bridle_loop::{GrantTerms, GuardPolicies, PolicyEntry};
use bridle_org::{Document, Heading};

use super::{GrantError, not_good};
use crate::access::policy_file::{self, PolicyFileError};
use crate::access::policy_load;

/// A grant of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantEntry {
    /// Id of its policy.
    pub id: Box<str>,
    /// Title of its heading.
    pub title: Box<str>,
    /// Sentence about what it permits.
    pub sentence: String,
    /// Person whose sessions it is for.
    pub owner: Box<str>,
    /// End, in seconds since 1970.
    pub until: i64,
}

/// Lists the grants of a file in their order; none when there is no file.
///
/// # Errors
///
/// The file cannot be used.
pub fn list_grants(file: &Path) -> Result<Vec<GrantEntry>, GrantError> {
    let Some(text) = text(file)? else { return Ok(Vec::new()) };
    Ok(entries(&policy_load::load(&text).map_err(not_good)?))
}

/// Takes grants back, those that `is_chosen` picks, and returns them. Their headings are deleted, and nothing else
/// changes.
///
/// # Errors
///
/// The file cannot be used or written, or what is left is no set of policies; the file is as it was.
pub fn revoke_grants(
    file: &Path,
    is_chosen: impl Fn(&GrantEntry) -> bool,
) -> Result<Vec<GrantEntry>, GrantError> {
    let Some(old) = text(file)? else { return Ok(Vec::new()) };
    let before = policy_load::load(&old).map_err(not_good)?;
    let chosen: Vec<GrantEntry> = entries(&before).into_iter().filter(&is_chosen).collect();
    if chosen.is_empty() {
        return Ok(chosen);
    }
    let new = without(&old, &chosen).ok_or(GrantError::NotSingle)?;
    let after = policy_load::load(&new).map_err(not_good)?;
    // Just these policies went: a heading that holds more than its grant is left to its author.
    let is_kept = |policy: &&PolicyEntry| chosen.iter().all(|grant| grant.id != policy.id);
    let kept = before.policies().iter().filter(is_kept).map(|it| (&it.id, &it.text));
    if !kept.eq(after.policies().iter().map(|it| (&it.id, &it.text))) {
        return Err(GrantError::NotSingle);
    }
    policy_file::replace(file, Some(&old), &new)
        .map_err(|source| GrantError::Unwritten { file: file.to_owned(), source })?;
    Ok(chosen)
}

fn text(file: &Path) -> Result<Option<String>, GrantError> {
    match policy_file::read(file) {
        Ok(text) => Ok(Some(text)),
        Err(PolicyFileError::Missing) => Ok(None),
        Err(source) => Err(GrantError::Unreadable { file: file.to_owned(), source }),
    }
}

fn entries(set: &GuardPolicies) -> Vec<GrantEntry> {
    let entry = |policy: &PolicyEntry| {
        let terms = GrantTerms::of_policy(policy)?;
        Some(GrantEntry {
            id: policy.id.clone(),
            title: policy.title.clone(),
            sentence: terms.sentence(),
            owner: terms.owner().into(),
            until: terms.until(),
        })
    };
    set.policies().iter().filter_map(entry).collect()
}

/// The text without the subtrees of these grants; `None` when one of them is not found.
fn without(text: &str, grants: &[GrantEntry]) -> Option<String> {
    let document = Document::read(text.as_bytes());
    let mut cuts = Vec::new();
    for grant in grants {
        let is_its = |heading: &&Heading<'_>| {
            let id = heading.property("CUSTOM_ID").or_else(|| heading.property("ID"));
            id.is_some_and(|id| *id == *grant.id.as_bytes())
        };
        cuts.push(document.headings().iter().find(is_its)?.subtree);
    }
    cuts.sort_by_key(|cut| cut.start);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for cut in cuts {
        // A grant within another went with it.
        out.push_str(text.get(at..cut.start.max(at))?);
        at = cut.end.max(at);
    }
    out.push_str(text.get(at..)?);
    Some(out)
}
