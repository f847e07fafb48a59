//! Signatures (section 4), for daemons that have an address where they are demanded.
//!
//! long: each list of cases is one table, a requirement after the other.

use bridle_wire::frame::{FrameEncoder, UnknownUnitPolicy};
use bridle_wire::seal::{ConnectionNonce, FrameSigner, KeyId, SealSession, SigningKey};
use std::rc::Rc;

use super::link::DaemonLink;
use super::{DaemonUnderTest, SignedDaemon};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const AUTH: RequirementLevel = RequirementLevel::Profile("auth");

/// A secret that no daemon has.
const WRONG: &[u8] = b"a secret that nobody has ever given to a daemon";

/// The nonce of this side; each connection has another one of the daemon's.
const NONCE: [u8; 16] = [0x5a; 16];

const HEALTH: &str = "(:type :health-check)";

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let case = |id, title, why, check: fn(&mut DaemonUnderTest) -> Checked| {
        ConformanceCase::new(id, AUTH, "4", title, why, check)
    };
    vec![
        case(
            "A-01",
            "the hello says how to sign, with a nonce",
            "a client cannot begin without it",
            |peer| {
                let link = open(peer)?;
                link.hello.has(link.offers("auth"), "`:auth` among the capabilities")?;
                server_nonce(&link).map(|_| ())
            },
        ),
        case(
            "A-02",
            "two connections get different nonces",
            "frames of one could be sent on another",
            |peer| {
                let (one, two) = (server_nonce(&open(peer)?)?, server_nonce(&open(peer)?)?);
                let differ = one.as_str() != two.as_str();
                if differ { Ok(()) } else { Err(CheckFinding::fault("the same nonce twice")) }
            },
        ),
        case("A-03", "signed frames of version 2 are taken", "that is the way in", |peer| {
            let (mut link, mut encoder) = greeted(peer)?;
            link.raw(&sealed(&mut encoder, HEALTH)?)?;
            link.hear_until("a health-response", |heard| heard.is_type("health-response"))
                .map(|_| ())
        }),
        case("A-04", "an unsigned frame closes", "whoever is on the network could speak", |peer| {
            let mut link = open(peer)?;
            link.raw(b"000015(:type :health-check)")?;
            // Fewer bytes than a signature: the end shows that there is none.
            link.end();
            closed_without_an_answer(&mut link)
        }),
        case(
            "A-05",
            "a frame that was changed closes",
            "whoever is on the network could change it",
            |peer| {
                let (mut link, mut encoder) = greeted(peer)?;
                let mut bytes = sealed(&mut encoder, HEALTH)?;
                if let Some(last) = bytes.iter_mut().rev().nth(1) {
                    *last ^= 1;
                }
                link.raw(&bytes)?;
                refused(&mut link, &["bad-signature"])
            },
        ),
        case(
            "A-06",
            "a frame that comes twice closes",
            "whoever recorded it could have it done again",
            |peer| {
                let (mut link, mut encoder) = greeted(peer)?;
                let bytes = sealed(&mut encoder, HEALTH)?;
                link.raw(&bytes)?;
                link.hear_until("a health-response", |heard| heard.is_type("health-response"))?;
                link.raw(&bytes)?;
                refused(&mut link, &["replayed-frame", "bad-signature"])
            },
        ),
        case(
            "A-07",
            "frames of one connection count for nothing on another",
            "whoever recorded them could be somebody else",
            |peer| {
                let mut first = open(peer)?;
                let (hello, _) = hello_frame(peer.signed()?, &first)?;
                first.raw(&hello)?;
                let mut second = open(peer)?;
                second.raw(&hello)?;
                closed_without_an_answer(&mut second)
            },
        ),
        case("A-08", "another secret closes", "a key is there to keep others out", |peer| {
            let signed = peer.signed()?;
            let key = SigningKey::from_bytes(signed.key.id().clone(), WRONG);
            let other = SignedDaemon { addr: signed.addr.clone(), key };
            let mut link = open(peer)?;
            let (hello, _) = hello_frame(&other, &link)?;
            link.raw(&hello)?;
            closed_without_an_answer(&mut link)
        }),
        case("A-09", "a key that nobody has closes", "names of keys are not secret", |peer| {
            let signed = peer.signed()?;
            let key = SigningKey::from_bytes(KeyId::new("kit-no-such-key"), WRONG);
            let other = SignedDaemon { addr: signed.addr.clone(), key };
            let mut link = open(peer)?;
            let (hello, _) = hello_frame(&other, &link)?;
            link.raw(&hello)?;
            closed_without_an_answer(&mut link)
        }),
    ]
}

fn open(peer: &DaemonUnderTest) -> Result<DaemonLink, CheckFinding> {
    let signed = peer.signed()?;
    DaemonLink::open_signed(&signed.addr, peer.timeout, Rc::clone(&peer.notes))
}

fn server_nonce(link: &DaemonLink) -> Result<ConnectionNonce, CheckFinding> {
    let auth = link.hello.payload("auth");
    let bridle_sexp::Value::List(items) = auth else {
        return Err(CheckFinding::fault("the hello has no `:auth (:hmac .. :nonce ..)`"));
    };
    let mut after = items.iter().skip_while(|item| !item.is_keyword("nonce"));
    let nonce = after.nth(1).and_then(bridle_sexp::Value::as_str);
    let nonce = nonce.and_then(|nonce| ConnectionNonce::parse(nonce).ok());
    nonce.ok_or_else(|| CheckFinding::fault("the hello has no nonce of 32 hex digits"))
}

/// The client's hello, signed, and what signs the frames after it.
fn hello_frame(
    signed: &SignedDaemon,
    link: &DaemonLink,
) -> Result<(Vec<u8>, FrameEncoder), CheckFinding> {
    let server = server_nonce(link)?;
    let client = ConnectionNonce::from_random(NONCE);
    let hello = format!(
        "(:type :EVENT :payload (:action :handshake :auth (:hmac 2 :key \"{}\" :nonce \"{}\" :answer \"{}\")))",
        signed.key.id().as_str(),
        client.as_str(),
        server.as_str()
    );
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Bytes);
    encoder.set_signer(FrameSigner::client(SealSession {
        key: signed.key.clone(),
        client,
        server,
    }));
    let frame = sealed(&mut encoder, &hello)?;
    Ok((frame, encoder))
}

fn greeted(peer: &DaemonUnderTest) -> Result<(DaemonLink, FrameEncoder), CheckFinding> {
    let mut link = open(peer)?;
    let (hello, encoder) = hello_frame(peer.signed()?, &link)?;
    link.raw(&hello)?;
    let heard = link.hear()?;
    heard.has(heard.payload("action").is_keyword("handshake"), "the answer to the hello")?;
    Ok((link, encoder))
}

fn sealed(encoder: &mut FrameEncoder, payload: &str) -> Result<Vec<u8>, CheckFinding> {
    let mut bytes = Vec::new();
    let encoded = encoder.encode(payload, &mut bytes);
    encoded
        .map_err(|error| CheckFinding::fault(format!("the kit cannot make this frame: {error}")))?;
    Ok(bytes)
}

fn refused(link: &mut DaemonLink, codes: &[&str]) -> Checked {
    link.hear_until("an error", |heard| heard.code().is_some())?.is_error_of(codes)?;
    link.is_closed()
}

/// Checks that it ends, and that nothing but errors came before.
fn closed_without_an_answer(link: &mut DaemonLink) -> Checked {
    use super::link::{NextFrame, QUIET};
    loop {
        match link.next(QUIET * 20)? {
            NextFrame::Closed => return Ok(()),
            NextFrame::Silence => return Err(CheckFinding::fault("the connection is still open")),
            NextFrame::Message(heard) if heard.code().is_some() => heard.has_error_shape()?,
            NextFrame::Message(heard) => {
                return Err(CheckFinding::fault(format!(
                    "expected no answer, got {}",
                    heard.brief()
                )));
            }
        }
    }
}
