//! Files that are uploaded and referred to (P15.8): for engines that say where.
//!
//! long: each list of cases is one table.

use serde_json::Value;

use super::http::HttpReply;
use super::{AskedRequest, AskerIdentity, EngineUnderTest};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const WHY: &str = "a file is lost, changed, run by a browser, or handed to somebody else";

/// Content to upload, and its hash in the two spellings that are used for it.
const FILE: &[u8] = b"abc";
const HASH: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const DIGEST: &str = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = uploads();
    all.extend(references());
    all
}

fn case(
    id: &'static str,
    title: &'static str,
    check: fn(&mut EngineUnderTest) -> Checked,
) -> ConformanceCase<EngineUnderTest> {
    ConformanceCase::new(id, RequirementLevel::Profile("files"), "P15.8", title, WHY, check)
}

/// Address for uploads.
fn endpoint(peer: &mut EngineUnderTest) -> Result<String, CheckFinding> {
    let document = peer.discovery()?;
    let place = &document["capabilities"]["openharness.attachments.upload"]["endpoint"];
    let none = || CheckFinding::unoffered("discovery names no `endpoint` for uploads");
    place.as_str().map(str::to_owned).ok_or_else(none)
}

fn upload(
    peer: &mut EngineUnderTest,
    bytes: &[u8],
    headers: &[(&str, &str)],
) -> Result<HttpReply, CheckFinding> {
    let mut asked = AskedRequest::new("POST", &endpoint(peer)?);
    asked.set("Content-Type", "text/plain");
    asked.body = bytes.to_vec();
    peer.sign(&mut asked, AskerIdentity::First);
    for (name, value) in headers {
        asked.set(name, value);
    }
    peer.exchange(&asked)
}

fn stored(reply: &HttpReply) -> Result<Value, CheckFinding> {
    let value: Option<Value> = serde_json::from_slice(&reply.body).ok();
    let wrong = || {
        CheckFinding::fault(format!(
            "expected a `ref_id`, got {}",
            super::answer::brief(&reply.text())
        ))
    };
    value.filter(|it| it["ref_id"].is_string()).ok_or_else(wrong)
}

fn reference(peer: &mut EngineUnderTest) -> Result<String, CheckFinding> {
    let reply = upload(peer, FILE, &[])?;
    Ok(stored(&reply)?["ref_id"].as_str().unwrap_or_default().to_owned())
}

fn download(
    peer: &mut EngineUnderTest,
    who: AskerIdentity,
    name: &str,
) -> Result<HttpReply, CheckFinding> {
    let mut asked = AskedRequest::new("GET", &format!("{}/{name}", endpoint(peer)?));
    peer.sign(&mut asked, who);
    peer.exchange(&asked)
}

fn need(holds: bool, expected: &str, reply: &HttpReply) -> Checked {
    let got = || super::answer::brief(&reply.text());
    if holds {
        Ok(())
    } else {
        Err(CheckFinding::fault(format!("expected {expected}, got {}", got())))
    }
}

fn uploads() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case(
            "A-01",
            "a file that is uploaded has a name, its size, its hash and its type",
            |peer| {
                let reply = upload(peer, FILE, &[])?;
                let it = stored(&reply)?;
                let holds = it["size_bytes"] == 3
                    && it["sha256"] == HASH
                    && it["mime_type"] == "text/plain";
                need(holds, "`size_bytes`, `sha256` and `mime_type` to be true", &reply)
            },
        ),
        case("A-02", "the same file again is the same name", |peer| {
            let (one, other) = (reference(peer)?, reference(peer)?);
            if one == other { Ok(()) } else { Err(CheckFinding::fault("two names for one file")) }
        }),
        case("A-03", "a file comes back as it went", |peer| {
            let name = reference(peer)?;
            let reply = download(peer, AskerIdentity::First, &name)?;
            need(reply.status == 200 && reply.body == FILE, "the same bytes", &reply)
        }),
        case("A-04", "a file is sent to be saved, not to be shown", |peer| {
            let name = reference(peer)?;
            let reply = download(peer, AskerIdentity::First, &name)?;
            let disposition = reply.header("content-disposition").unwrap_or_default();
            let sniff = reply.header("x-content-type-options").unwrap_or_default();
            let holds = disposition.starts_with("attachment") && sniff == "nosniff";
            need(holds, "`attachment` and `nosniff`", &reply)
        }),
        case("A-05", "a page comes back as mere bytes", |peer| {
            let reply = upload(peer, b"<script>1</script>", &[("Content-Type", "text/html")])?;
            let name = stored(&reply)?["ref_id"].as_str().unwrap_or_default().to_owned();
            let reply = download(peer, AskerIdentity::First, &name)?;
            let kind = reply.header("content-type").unwrap_or_default();
            need(!kind.contains("html"), "no type that browsers run", &reply)
        }),
        case("A-06", "a digest that fits is taken", |peer| {
            let reply = upload(peer, FILE, &[("Digest", &format!("sha-256={DIGEST}"))])?;
            stored(&reply).map(drop)
        }),
        case("A-07", "a digest that does not fit is `invalid_request`", |peer| {
            let reply = upload(peer, b"abd", &[("Digest", &format!("sha-256={DIGEST}"))])?;
            peer.judge(reply)?.is_refused_as(&["invalid_request"])
        }),
        case("A-08", "a file that is not there is `not_found`", |peer| {
            let reply =
                download(peer, AskerIdentity::First, "att-00000000000000000000000000000000")?;
            peer.judge(reply)?.is_refused_as(&["not_found"])
        }),
        case("A-09", "a file of somebody else is as if it were not there", |peer| {
            peer.needs_second()?;
            let name = reference(peer)?;
            let theirs = download(peer, AskerIdentity::Second, &name)?;
            let none =
                download(peer, AskerIdentity::Second, "att-00000000000000000000000000000000")?;
            let (theirs, none) = (peer.judge(theirs)?, peer.judge(none)?);
            theirs.is_refused_as(&["not_found"])?;
            theirs.has(theirs.value == none.value, "the same words as for what never was")
        }),
        case("A-10", "a file over the limit is `payload_too_large`", |peer| {
            let most = peer.discovery()?["limits"]["max_attachment_bytes"].as_u64();
            let most = most.filter(|it| *it < 64 << 20);
            let none = || CheckFinding::unoffered("discovery names no limit below 64 MiB");
            let most = usize::try_from(most.ok_or_else(none)?).unwrap_or_default();
            let reply = upload(peer, &vec![b'x'; most + 1], &[])?;
            peer.judge(reply)?.is_refused_as(&["payload_too_large"])
        }),
    ]
}

fn references() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("A-20", "a request with an uploaded file is served", |peer| {
            let name = reference(peer)?;
            with(peer, &format!(r#"{{"ref_id":"{name}","size_bytes":3,"sha256":"{HASH}"}}"#))?
                .is_served()
        }),
        case(
            "A-21",
            "a file that was never uploaded is `attachment_unresolved`, with its place",
            |peer| {
                endpoint(peer)?;
                let answer = with(peer, r#"{"ref_id":"att-00000000000000000000000000000000"}"#)?;
                answer.is_refused_as(&["attachment_unresolved"])?;
                let field = answer.at("/response/error/details/field");
                answer.has(
                    field.as_str().is_some_and(|it| it.starts_with("context.attachments.0")),
                    "its place",
                )
            },
        ),
        case("A-22", "a size that is not true is refused", |peer| {
            let name = reference(peer)?;
            with(peer, &format!(r#"{{"ref_id":"{name}","size_bytes":4}}"#))?.is_refused()
        }),
        case("A-23", "a hash that is not true is refused", |peer| {
            let name = reference(peer)?;
            let other = HASH.replace('b', "c");
            with(peer, &format!(r#"{{"ref_id":"{name}","sha256":"{other}"}}"#))?.is_refused()
        }),
        case("A-24", "a file of somebody else is `attachment_unresolved`", |peer| {
            peer.needs_second()?;
            let name = reference(peer)?;
            let body = attached(&format!(r#"{{"ref_id":"{name}"}}"#));
            let text = peer.fill(&body).text;
            peer.ask_as(AskerIdentity::Second, &text)?.is_refused_as(&["attachment_unresolved"])
        }),
        case(
            "A-25",
            "an address of the web that is not fetched is `attachment_unresolved`",
            |peer| {
                endpoint(peer)?;
                let answer = with(peer, r#"{"uri":"http://169.254.169.254/latest/meta-data/"}"#)?;
                answer.is_refused_as(&["attachment_unresolved"])
            },
        ),
    ]
}

fn attached(entry: &str) -> String {
    format!(r#"{{@V,"request":{{"context":{{@U,"attachments":[{entry}]}}}}}}"#)
}

fn with(
    peer: &mut EngineUnderTest,
    entry: &str,
) -> Result<super::answer::EnvelopeAnswer, CheckFinding> {
    Ok(peer.ask_filled(&attached(entry))?.1)
}
