//! Credentials (P15.7): for engines that were given one with `--token-file`.

use super::EngineUnderTest;
use super::rows::GOOD;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const WHY: &str = "a credential that is not good must never count as none";

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let case = |id, title, check: fn(&mut EngineUnderTest) -> Checked| {
        ConformanceCase::new(
            id,
            RequirementLevel::Profile("auth"),
            "P15.7",
            title,
            WHY,
            move |peer: &mut EngineUnderTest| {
                if peer.setup().token.is_none() {
                    return Err(CheckFinding::unoffered(
                        "no credential was named: --token-file FILE",
                    ));
                }
                check(peer)
            },
        )
    };
    vec![
        case("B-01", "a good credential is served", |peer| peer.ask_filled(GOOD)?.1.is_served()),
        case("B-02", "a credential that is not good is `unauthenticated`", |peer| {
            refused(peer, "Bearer no-such-token")
        }),
        case("B-03", "another scheme is `unauthenticated`", |peer| {
            refused(peer, "Basic dXNlcjpwYXNz")
        }),
        case("B-04", "an empty credential is `unauthenticated`", |peer| refused(peer, "Bearer ")),
        case("B-05", "a credential with one letter changed is `unauthenticated`", |peer| {
            let mut token = peer.setup().token.clone().unwrap_or_default();
            let last = token.pop();
            token.push(if last == Some('0') { '1' } else { '0' });
            refused(peer, &format!("Bearer {token}"))
        }),
        case("B-06", "a refusal says which scheme is wanted", |peer| {
            let body = peer.fill(GOOD).text;
            let asked = peer.post(body).with("Authorization", "Bearer no-such-token");
            let answer = peer.answer(&asked)?;
            let wanted = answer.reply.header("www-authenticate").unwrap_or_default();
            answer.has(
                wanted.to_ascii_lowercase().starts_with("bearer"),
                "`WWW-Authenticate: Bearer`",
            )
        }),
        case("B-07", "a tenant in the body does not replace the credential", |peer| {
            let template = r#"{@V,"request":{"auth":{"tenant_id":"somebody-else","credential_ref":"root"},"context":{@U}}}"#;
            let body = peer.fill(template).text;
            let asked = peer.post(body).with("Authorization", "Bearer no-such-token");
            peer.answer(&asked)?.is_refused_as(&["unauthenticated"])
        }),
    ]
}

fn refused(peer: &mut EngineUnderTest, credential: &str) -> Checked {
    let filled = peer.fill(GOOD);
    let asked = peer.post(filled.text.as_str()).with("Authorization", credential);
    let answer = peer.answer(&asked)?;
    answer.is_refused_as(&["unauthenticated"])?;
    answer.echoes("request_id", &filled.id)
}
