//! Resolution of the attachments of a request: each becomes facts for the session, or the request is
//! refused.
//!
//! `exchange` calls it before anything is recorded. A reference is looked up among the files of the
//! principal; a web URL is fetched if the settings permit its host, and kept like an upload; anything
//! else, such as an `asset_id` or a URL of an app, is passed on as it came. A refused attachment is
//! named by its place in the request, never by its text.

use std::sync::Arc;

use bridle_record::{KeptFile, PutResult};
use bridle_wire::openharness::request::{AttachmentRef, RequestContext};
use bridle_wire::openharness::{ErrorObject, OpenHarnessCode};

use super::{DEFAULT_MEDIA_TYPE, PATH, apart, is_kind, no_room};
use crate::access::principal::Principal;
use crate::engine::reference_to;
use crate::fetch::FetchedFile;
use crate::http::HttpService;
use bridle_sexp::byte_text::hex;

/// Attachments of one request.
const MAX_ATTACHMENTS: usize = 32;

/// Facts about an attachment that is kept here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct AttachmentFacts {
    pub(in crate::http) reference: String,
    pub(in crate::http) kind: Box<str>,
    pub(in crate::http) bytes: u64,
    pub(in crate::http) sha256: String,
}

impl AttachmentFacts {
    fn of(kept: KeptFile) -> AttachmentFacts {
        let KeptFile { name, kind, bytes, sha256, .. } = kept;
        AttachmentFacts { reference: reference_to(name), kind, bytes, sha256: hex(&sha256) }
    }
}

/// Facts of each attachment of a request, in order; `None` for what is passed on as it came.
pub(in crate::http) type Resolved = Vec<Option<AttachmentFacts>>;

/// Tells whether to look for an earlier copy of a request before its attachments: what they were
/// may be gone by now, and the answer is there.
pub(in crate::http) fn repeats_first(context: Option<&RequestContext>) -> bool {
    let looks_up = |one: &AttachmentRef| target(one, "") != AttachmentTarget::None;
    context.is_some_and(|context| context.attachments.iter().any(looks_up))
}

/// Finds everything that a request to `host` refers to.
///
/// # Errors
/// `attachment_unresolved`, with the place of the first one that cannot be had.
pub(in crate::http) async fn resolve(
    http: &Arc<HttpService>,
    who: &Principal,
    host: &str,
    context: Option<&RequestContext>,
) -> Result<Resolved, Box<ErrorObject>> {
    let Some(context) = context else { return Ok(Vec::new()) };
    if context.attachments.len() > MAX_ATTACHMENTS {
        let error = ErrorObject::of(OpenHarnessCode::InvalidRequest)
            .with_detail("field", "context.attachments")
            .with_detail("expected", format!("at most {MAX_ATTACHMENTS} attachments"));
        return Err(Box::new(error));
    }
    let mut resolved = Vec::with_capacity(context.attachments.len());
    for (index, attachment) in context.attachments.iter().enumerate() {
        let at = |key: &str| format!("context.attachments.{index}.{key}");
        let facts = match target(attachment, host) {
            AttachmentTarget::None => None,
            AttachmentTarget::Kept(key, reference) => {
                Some(find(http, who, reference).await?.ok_or_else(|| unresolved(&at(key)))?)
            }
            AttachmentTarget::Web(uri) => Some(fetch(http, who, uri, &at("uri")).await?),
        };
        if let Some(key) = facts.as_ref().and_then(|facts| differs(attachment, facts)) {
            return Err(unresolved(&at(key)));
        }
        resolved.push(facts);
    }
    Ok(resolved)
}

/// Target of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttachmentTarget<'a> {
    /// A file that was uploaded; the field that says so, and the reference.
    Kept(&'static str, &'a str),
    /// Web URL.
    Web(&'a str),
    /// Nothing that can be looked up here.
    None,
}

fn target<'a>(attachment: &'a AttachmentRef, host: &str) -> AttachmentTarget<'a> {
    let reference = attachment.ref_id.as_ref().filter(|reference| !reference.as_str().is_empty());
    if let Some(reference) = reference {
        return AttachmentTarget::Kept("ref_id", reference.as_str());
    }
    let Some(uri) = attachment.uri.as_ref().map(AsRef::as_ref) else {
        return AttachmentTarget::None;
    };
    if let Some(reference) = own_reference(uri, host) {
        return AttachmentTarget::Kept("uri", reference);
    }
    let scheme = uri.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
    match &*scheme {
        // A file of whose machine? Of none that this engine would open.
        "http" | "https" | "file" | "ftp" => AttachmentTarget::Web(uri),
        _ => AttachmentTarget::None,
    }
}

/// The reference in an address of our own: its path, alone or behind the very name by which the
/// request came here.
fn own_reference<'a>(uri: &'a str, host: &str) -> Option<&'a str> {
    let behind_host = |scheme: &str| {
        let rest = uri.get(scheme.len()..).filter(|_| starts_with(uri, scheme))?;
        rest.get(host.len()..).filter(|_| !host.is_empty() && starts_with(rest, host))
    };
    let path = behind_host("http://").or_else(|| behind_host("https://")).unwrap_or(uri);
    path.strip_prefix(PATH)?.strip_prefix('/')
}

/// Tells whether a text begins with another, capital letters or not.
fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

async fn find(
    http: &Arc<HttpService>,
    who: &Principal,
    reference: &str,
) -> Result<Option<AttachmentFacts>, Box<ErrorObject>> {
    let (owner, reference) = (who.name(), reference.to_owned());
    let found = apart(http, move |http| http.shelf().find(&owner, &reference)).await?;
    Ok(found.map(AttachmentFacts::of))
}

/// Fetches what is at an address, and keeps it like an upload.
async fn fetch(
    http: &Arc<HttpService>,
    who: &Principal,
    uri: &str,
    field: &str,
) -> Result<AttachmentFacts, Box<ErrorObject>> {
    let FetchedFile { kind, content } = http.files.fetcher.fetch(uri).await.map_err(|refusal| {
        tracing::debug!(why = refusal.word(), "an attachment was not fetched");
        unresolved(field)
    })?;
    let kind = kind.filter(|kind| is_kind(kind)).unwrap_or_else(|| DEFAULT_MEDIA_TYPE.to_owned());
    let load = http.shared.budget.load(content.len());
    let owner = who.name();
    let kept = apart(http, move |http| {
        let _load = load;
        http.shelf().keep(&owner, &kind, &content)
    });
    match kept.await? {
        PutResult::Kept(kept) => Ok(AttachmentFacts::of(kept)),
        PutResult::NoRoom => Err(no_room()),
    }
}

/// The field in which a shell says something else about its file than what is there.
fn differs(attachment: &AttachmentRef, facts: &AttachmentFacts) -> Option<&'static str> {
    let is_other = |hash: &str| !hash.eq_ignore_ascii_case(&facts.sha256);
    if attachment.sha256.as_ref().is_some_and(|hash| is_other(hash.as_str())) {
        return Some("sha256");
    }
    attachment.size_bytes.is_some_and(|bytes| bytes != facts.bytes).then_some("size_bytes")
}

fn unresolved(field: &str) -> Box<ErrorObject> {
    Box::new(ErrorObject::of(OpenHarnessCode::AttachmentUnresolved).with_detail("field", field))
}

#[cfg(test)]
mod tests {
    use super::own_reference;

    #[test]
    fn an_address_of_our_own_is_the_path_or_the_host_and_the_path() {
        let check = |uri: &str, expect| assert_eq!(own_reference(uri, "localhost:8788"), expect);
        check("/v1/openharness/attachments/att-1", Some("att-1"));
        check("http://localhost:8788/v1/openharness/attachments/att-1", Some("att-1"));
        check("HTTPS://LOCALHOST:8788/v1/openharness/attachments/att-1", Some("att-1"));
        check("http://localhost:8788.example/v1/openharness/attachments/att-1", None);
        check("http://localhost/v1/openharness/attachments/att-1", None);
        check("http://x@localhost:8788/v1/openharness/attachments/att-1", None);
        check("//localhost:8788/v1/openharness/attachments/att-1", None);
        check("/v1/openharness/attachmentsx/att-1", None);
        assert_eq!(own_reference("http:///v1/openharness/attachments/att-1", ""), None);
    }
}
