//! Signatures (section 4), for clients that can sign: cases `X`.

use std::io::Write as _;

use bridle_wire::frame::{DecoderOptions, FrameDecoder, FrameEncoder, UnknownUnitPolicy};
use bridle_wire::seal::{
    ConnectionNonce, FrameSigner, FrameVerifier, KeyId, SigningKey, SigningKeyring,
    VersionOnePolicy,
};

use super::link::ClientMessage;
use super::{ClientScene, ClientUnderTest, HELLO, attached, event, expect};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const AUTH: RequirementLevel = RequirementLevel::Profile("auth");

/// Key that both sides know.
const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// The daemon's nonce.
const NONCE: [u8; 16] = [0xa5; 16];

/// Starts the client with a key, in a file of its own.
fn keyed(peer: &mut ClientUnderTest) -> Result<(ClientScene, std::path::PathBuf), CheckFinding> {
    let cannot = |error| CheckFinding::fault(format!("the kit cannot write a key: {error}"));
    let name = format!("bridle-kit-{}-{:p}.key", std::process::id(), peer);
    let path = std::env::temp_dir().join(name);
    let mut file = std::fs::File::create(&path).map_err(cannot)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    file.set_permissions(mode).and_then(|()| file.write_all(SECRET)).map_err(cannot)?;
    let more = [
        ("OACP_KEY_FILE", path.to_string_lossy().into_owned()),
        ("OACP_KEY_ID", "default".to_owned()),
    ];
    let scene = peer.scene_with(0, &more);
    scene.map(|scene| (scene, path))
}

/// A daemon that signs: greets, and takes the client's hello if it is signed as it must be.
fn signed(scene: &mut ClientScene, spoil: bool) -> Result<ClientMessage, CheckFinding> {
    let key = SigningKey::from_bytes(KeyId::new("default"), SECRET);
    let nonce = ConnectionNonce::from_random(NONCE);
    let fault = |what: String| CheckFinding::fault(what);
    let mut link = scene.accept()?;
    let auth = format!(" :auth (:hmac 1 2 :nonce \"{}\")))", nonce.as_str());
    let hello = HELLO.replace("(:parts", "(:auth :parts");
    let hello = format!("{}{auth}", hello.strip_suffix("))").unwrap_or(&hello));
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Bytes);
    encoder.set_signer(FrameSigner::v1_server(key.clone()));
    let mut bytes = Vec::new();
    encoder.encode(&hello, &mut bytes).map_err(|error| fault(error.to_string()))?;
    link.raw(&bytes)?;
    let verifier = FrameVerifier::server(SigningKeyring::of(key), nonce, VersionOnePolicy::Refuse);
    let mut decoder = FrameDecoder::signed(DecoderOptions::default(), verifier);
    let said = ClientMessage::of(link.sealed(&mut decoder)?)?;
    let session = decoder.verifier_mut().and_then(|verifier| verifier.session().cloned());
    let session = session.ok_or_else(|| fault("expected signatures of version 2".to_owned()))?;
    encoder.set_signer(FrameSigner::server(session));
    let mut bytes = Vec::new();
    for text in [attached(1), event(1, "a")] {
        encoder.encode(&text, &mut bytes).map_err(|error| fault(error.to_string()))?;
    }
    if spoil && let Some(last) = bytes.iter_mut().rev().nth(3) {
        *last ^= 1;
    }
    link.raw(&bytes)?;
    if !spoil {
        scene.event(1)?;
    }
    Ok(said)
}

/// The clients that cannot sign say so with their first frame; the rest of a case is then not for them.
fn with_key(
    peer: &mut ClientUnderTest,
    check: impl FnOnce(&mut ClientScene) -> Checked,
) -> Checked {
    let (mut scene, path) = keyed(peer)?;
    let checked = check(&mut scene);
    drop(scene);
    // It is in a folder for such files, and holds nobody's secret.
    let _ = std::fs::remove_file(path);
    checked
}

pub(super) fn cases() -> Vec<ConformanceCase<ClientUnderTest>> {
    vec![
        ConformanceCase::new(
            "X-01",
            AUTH,
            "4",
            "a client with a key signs every frame, with version 2 where it is offered",
            "whoever is on the network could speak",
            |peer: &mut ClientUnderTest| {
                with_key(peer, |scene| {
                    let said = signed(scene, false)?;
                    expect(said.payload("action").is_keyword("handshake"), || {
                        format!("expected a hello, got {}", said.text)
                    })
                })
            },
        ),
        ConformanceCase::new(
            "X-02",
            AUTH,
            "4",
            "a frame whose signature does not fit is not believed",
            "whoever is on the network could change it",
            |peer: &mut ClientUnderTest| {
                with_key(peer, |scene| {
                    signed(scene, true)?;
                    // Back on a new connection, it has heard nothing that counts.
                    signed(scene, false)?;
                    scene.told(&[1])
                })
            },
        ),
        ConformanceCase::new(
            "X-03",
            AUTH,
            "4",
            "a client with a key does not talk to a daemon that does not sign",
            "anybody could be that daemon",
            |peer: &mut ClientUnderTest| {
                with_key(peer, |scene| {
                    let mut link = scene.accept()?;
                    link.say(HELLO)?;
                    let said = link.drain(std::time::Duration::from_millis(500));
                    let talked =
                        said.iter().any(|said| said.payload("action").is_keyword("handshake"));
                    expect(!talked, || {
                        "expected no hello to a daemon that does not sign".to_owned()
                    })
                })
            },
        ),
    ]
}
