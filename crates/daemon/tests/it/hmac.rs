//! Signed frames on TCP, in both versions.

use bridle_daemon::{DaemonConfig, HmacKey};
use bridle_wire::frame::{
    DecodeStep, DecoderOptions, FrameDecoder, FrameEncoder, UnknownUnitPolicy,
};
use bridle_wire::seal::{
    ConnectionNonce, DAEMON_MARK, FrameSigner, FrameVerifier, KeyId, SealSession, SigningKey,
    SigningKeyring,
};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, FrameClient, HEALTHY, assert_error, frame};

const SECRET: &[u8] = b"0123456789abcdef";

/// `CHECK`, and `HEALTHY` with the daemon's mark before it, as a program that is not this one signs them
/// with `SECRET`.
const CHECK_SEAL: &str = "33f422b998176746b6c5977179f7295dda1abf9dffa5e8cd4a03e58c636e9b0f";
const HEALTHY_SEAL: &str = "3782415de1eb09fd886930b2e5dd19339067bc303720abebca041e1790672f4b";

fn signed(config: &mut DaemonConfig) {
    config.hmac.enforce = true;
    config.hmac.keys = vec![
        HmacKey { id: "main".to_owned(), secret: SECRET.to_vec() },
        HmacKey { id: "other".to_owned(), secret: b"another secret, longer".to_vec() },
    ];
}

fn old(config: &mut DaemonConfig) {
    signed(config);
    config.hmac.allow_v1 = true;
}

fn key(id: &str, secret: &[u8]) -> SigningKey {
    SigningKey::strong(KeyId::new(id), secret).unwrap()
}

/// A client that signs with the codec of `bridle_wire`.
struct Signing {
    peer: FrameClient,
    encoder: FrameEncoder,
    decoder: FrameDecoder,
    input: Vec<u8>,
    hello: String,
}

impl Signing {
    async fn connect(daemon: &TestDaemon, keys: SigningKeyring) -> Signing {
        let mut signing = Signing {
            peer: daemon.stranger().await,
            encoder: FrameEncoder::new(UnknownUnitPolicy::Bytes),
            decoder: FrameDecoder::signed(DecoderOptions::default(), FrameVerifier::client(keys)),
            input: Vec::new(),
            hello: String::new(),
        };
        signing.hello = signing.read().await.unwrap();
        signing
    }

    /// Begins version 2 with `key`; returns the answer to the hello.
    async fn greet(&mut self, key: SigningKey) -> Option<String> {
        let (_, rest) = self.hello.split_once(":nonce \"").expect("a nonce");
        let server = ConnectionNonce::parse(&rest[..32]).unwrap();
        let client = ConnectionNonce::from_random([7; 16]);
        let hello = format!(
            "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" \
             :auth (:hmac 2 :key \"{}\" :nonce \"{}\" :answer \"{}\")))",
            key.id(),
            client.as_str(),
            server.as_str()
        );
        let session = SealSession { key, client, server };
        self.encoder.set_signer(FrameSigner::client(session.clone()));
        self.decoder.verifier_mut().unwrap().answer(session);
        self.send(&hello).await;
        self.read().await
    }

    async fn send(&mut self, payload: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encoder.encode(payload, &mut bytes).unwrap();
        self.peer.send(&bytes).await;
        bytes
    }

    /// Reads one frame and checks its signature; `None` at the end or when it does not fit.
    async fn read(&mut self) -> Option<String> {
        loop {
            match self.decoder.decode(&self.input).ok()? {
                DecodeStep::Frame { payload, consumed } => {
                    let text = String::from_utf8(self.input[payload].to_vec()).unwrap();
                    let text = text.trim_start().to_owned();
                    self.input.drain(..consumed);
                    return Some(text);
                }
                DecodeStep::Need { skip, .. } => drop(self.input.drain(..skip)),
                DecodeStep::Refused { error, .. } => panic!("{error}"),
            }
            let more = self.peer.some(4096).await;
            if more.is_empty() {
                return None;
            }
            self.input.extend(more);
        }
    }
}

fn v1_frame(payload: &str, seal: &str) -> String {
    format!("{:06x}{seal}{payload}", payload.len())
}

/// Reads a v1 frame without checking it: its seal and its payload.
async fn read_v1(peer: &mut FrameClient) -> Option<(String, String)> {
    let len = usize::from_str_radix(&peer.header().await?, 16).unwrap();
    let seal = String::from_utf8(peer.bytes(64).await).unwrap();
    let payload = String::from_utf8(peer.bytes(len).await).unwrap();
    let text = payload.strip_prefix(DAEMON_MARK).expect("the mark of a daemon").to_owned();
    Some((seal, text))
}

/// Reads a frame with a signature as it is.
async fn read_v1_bytes(peer: &mut FrameClient) -> Vec<u8> {
    let header = peer.header().await.unwrap();
    let len = usize::from_str_radix(&header, 16).unwrap();
    let rest = peer.bytes(64 + len).await;
    [header.into_bytes(), rest].concat()
}

/// The signature of a client of version 1.
fn v1_seal(payload: &str) -> String {
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Bytes);
    encoder.set_signer(FrameSigner::v1(key("main", SECRET)));
    let mut bytes = Vec::new();
    encoder.encode(payload, &mut bytes).unwrap();
    String::from_utf8(bytes[6..70].to_vec()).unwrap()
}

#[tokio::test]
async fn the_hello_is_signed_and_says_how() {
    let daemon = TestDaemon::with(|config, _| old(config)).await;
    let (_, hello) = read_v1(&mut daemon.stranger().await).await.unwrap();
    assert!(hello.contains(":capabilities (:auth "), "{hello}");
    assert!(hello.contains(":auth (:hmac 1 2 :nonce \""), "{hello}");
    let (_, again) = read_v1(&mut daemon.stranger().await).await.unwrap();
    assert_ne!(hello, again, "each connection has its own nonce");
}

#[tokio::test]
async fn version_one_as_old_peers_sign_it() {
    let daemon = TestDaemon::with(|config, _| old(config)).await;
    let mut peer = daemon.stranger().await;
    read_v1(&mut peer).await.unwrap();
    for seal in [CHECK_SEAL.to_owned(), CHECK_SEAL.to_uppercase()] {
        peer.send(v1_frame(CHECK, &seal)).await;
        let answer = read_v1(&mut peer).await.unwrap();
        assert_eq!(answer, (HEALTHY_SEAL.to_owned(), HEALTHY.to_owned()));
    }
}

#[tokio::test]
async fn a_wrong_or_missing_signature_closes() {
    let daemon = TestDaemon::with(|config, _| old(config)).await;
    let wrong = CHECK_SEAL.replace('3', "4");
    let unsigned = frame(CHECK) + &" ".repeat(70);
    for bytes in [v1_frame(CHECK, &wrong), unsigned] {
        let mut peer = daemon.stranger().await;
        read_v1(&mut peer).await.unwrap();
        peer.send(&bytes).await;
        let (_, answer) = read_v1(&mut peer).await.unwrap();
        assert!(
            answer.contains(":code :bad-signature") || answer.contains(":code :unsigned-frame")
        );
        assert!(peer.rest().await.is_empty());
    }
}

#[tokio::test]
async fn version_two_with_either_key() {
    let daemon = TestDaemon::with(|config, _| signed(config)).await;
    for key in [key("main", SECRET), key("other", b"another secret, longer")] {
        let mut client = Signing::connect(&daemon, SigningKeyring::of(key.clone())).await;
        let answer = client.greet(key).await.unwrap();
        assert!(answer.contains(":status :success"), "{answer}");
        for _ in 0..3 {
            client.send(CHECK).await;
            assert_eq!(client.read().await.as_deref(), Some(HEALTHY));
        }
        client.send("(:type :STATUS :id \"é\")").await;
        assert_error(&client.read().await.unwrap(), "unsupported");
    }
}

#[tokio::test]
async fn version_two_refuses_a_repeated_frame() {
    let daemon = TestDaemon::with(|config, _| signed(config)).await;
    let key = key("main", SECRET);
    let mut client = Signing::connect(&daemon, SigningKeyring::of(key.clone())).await;
    client.greet(key).await.unwrap();
    let bytes = client.send(CHECK).await;
    assert_eq!(client.read().await.as_deref(), Some(HEALTHY));
    client.peer.send(&bytes).await;
    assert_error(&client.read().await.unwrap(), "replayed-frame");
    assert_eq!(client.read().await, None);
}

#[tokio::test]
async fn version_two_refuses_frames_of_another_connection_and_of_version_one() {
    let daemon = TestDaemon::with(|config, _| signed(config)).await;
    let key = key("main", SECRET);
    let mut first = Signing::connect(&daemon, SigningKeyring::of(key.clone())).await;
    first.greet(key.clone()).await.unwrap();
    let recorded = first.send(CHECK).await;
    let v1 = v1_frame(CHECK, CHECK_SEAL).into_bytes();
    for bytes in [recorded, v1] {
        let mut client = Signing::connect(&daemon, SigningKeyring::of(key.clone())).await;
        client.greet(key.clone()).await.unwrap();
        client.peer.send(&bytes).await;
        assert_error(&client.read().await.unwrap(), "bad-signature");
        assert_eq!(client.read().await, None);
    }
}

#[tokio::test]
async fn an_unknown_key_is_refused() {
    let daemon = TestDaemon::with(|config, _| signed(config)).await;
    let stranger = key("main", b"not the secret of main");
    let mut client = Signing::connect(&daemon, SigningKeyring::of(stranger.clone())).await;
    // What the daemon says is signed with a key that this client does not have.
    assert_eq!(client.greet(stranger).await, None);
}

#[tokio::test]
async fn nothing_that_the_daemon_signed_is_taken_from_a_peer() {
    let daemon = TestDaemon::with(|config, _| old(config)).await;
    let mut client = daemon.stranger().await;
    let hello = read_v1_bytes(&mut client).await;
    client.send(v1_frame(CHECK, CHECK_SEAL)).await;
    let healthy = read_v1_bytes(&mut client).await;
    client.send(v1_frame("(:type :STATUS)", &v1_seal("(:type :STATUS)"))).await;
    let error = read_v1_bytes(&mut client).await;
    // To the one that signed it, on the same connection and on others, first and later.
    for bytes in [&hello, &healthy, &error] {
        let mut other = daemon.stranger().await;
        read_v1(&mut other).await.unwrap();
        other.send(bytes).await;
        assert_error(&read_v1(&mut other).await.unwrap().1, "bad-signature");
        assert!(other.rest().await.is_empty());
    }
    let mut echo = daemon.stranger().await;
    let own = read_v1_bytes(&mut echo).await;
    echo.send(&own).await;
    assert_error(&read_v1(&mut echo).await.unwrap().1, "bad-signature");
    client.send(&healthy).await;
    assert_error(&read_v1(&mut client).await.unwrap().1, "bad-signature");
    assert!(client.rest().await.is_empty());
    // The hello of a daemon that marked nothing yet.
    let unmarked = "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :capabilities \
                    (:auth) :auth (:hmac 1 2 :nonce \"00112233445566778899aabbccddeeff\")))";
    let mut other = daemon.stranger().await;
    read_v1(&mut other).await.unwrap();
    other.send(v1_frame(unmarked, &v1_seal(unmarked))).await;
    assert_error(&read_v1(&mut other).await.unwrap().1, "bad-signature");
}

#[tokio::test]
async fn version_two_takes_nothing_back_that_the_daemon_signed() {
    let daemon = TestDaemon::with(|config, _| signed(config)).await;
    let key = key("main", SECRET);
    let mut client = Signing::connect(&daemon, SigningKeyring::of(key.clone())).await;
    client.greet(key).await.unwrap();
    client.send(CHECK).await;
    let answer = read_v1_bytes(&mut client.peer).await;
    client.peer.send(&answer).await;
    // It is counted from the second answer on: the first was not read with the decoder.
    let header = client.peer.header().await.unwrap();
    let rest = client.peer.bytes(64 + usize::from_str_radix(&header, 16).unwrap()).await;
    assert_error(str::from_utf8(&rest[64..]).unwrap(), "bad-signature");
    assert!(client.peer.rest().await.is_empty());
    let mut echo = daemon.stranger().await;
    let hello = read_v1_bytes(&mut echo).await;
    echo.send(&hello).await;
    assert_error(&read_v1(&mut echo).await.unwrap().1, "bad-signature");
}

#[tokio::test]
async fn version_one_is_off_unless_it_is_asked_for() {
    let daemon = TestDaemon::with(|config, _| signed(config)).await;
    let mut peer = daemon.stranger().await;
    let (_, hello) = read_v1(&mut peer).await.unwrap();
    assert!(hello.contains(":auth (:hmac 2 :nonce"), "{hello}");
    peer.send(v1_frame(CHECK, CHECK_SEAL)).await;
    let (_, answer) = read_v1(&mut peer).await.unwrap();
    assert_error(&answer, "bad-signature");
}

#[tokio::test]
async fn the_unix_socket_is_not_signed() {
    let daemon = TestDaemon::with(|config, dir| {
        signed(config);
        config.unix = Some(dir.join("b.sock"));
    })
    .await;
    assert_eq!(daemon.unix_peer().await.ask(CHECK).await, HEALTHY);
}

#[tokio::test]
async fn a_key_is_a_principal_of_the_owner() {
    let daemon = TestDaemon::with(|config, dir| {
        signed(config);
        config.unix = Some(dir.join("b.sock"));
    })
    .await;
    let mut user = daemon.unix_peer().await;
    let work = "(:type :EVENT :payload (:action :handshake :session \"work\"))";
    assert!(user.ask(work).await.contains(":status :success"));
    user.ask("(:type :LOG :id 1 :payload (:text \"of the user\"))").await;
    let main = key("main", SECRET);
    let mut client = Signing::connect(&daemon, SigningKeyring::of(main.clone())).await;
    client.greet(main).await.unwrap();
    client.send("(:type :LOG :id 1 :payload (:text \"of the key\"))").await;
    assert!(client.read().await.unwrap().contains(":status :success"));
    client.send("(:type :REQUEST :id 2 :target :system :payload (:action :sessions))").await;
    let list = client.read().await.unwrap();
    let me = rustix::process::geteuid().as_raw();
    for owner in [format!(":owner \"uid:{me}\""), ":owner \"key:main\"".to_owned()] {
        assert!(list.contains(&owner), "{owner} in {list}");
    }
    client.send(&work.replace("work\"", "work\" :cursor 0")).await;
    assert!(client.read().await.unwrap().contains(":role :controller"));
    assert!(client.read().await.unwrap().contains("of the user"));
}

#[tokio::test]
async fn a_key_is_a_principal_and_acts_for_the_owner() {
    let daemon = TestDaemon::with(|config, dir| {
        signed(config);
        config.unix = Some(dir.join("socket"));
    })
    .await;
    let mut owner = crate::shell::Shell::attach(&daemon, ":session \"mine\"").await;
    owner.ask(1, ":payload (:sensor :user-prompt :text \"status\")").await;
    let key = key("main", SECRET);
    let mut client = Signing::connect(&daemon, SigningKeyring::of(key.clone())).await;
    client.greet(key).await.unwrap();
    client.send("(:type :EVENT :id 5 :payload (:action :handshake :session \"mine\"))").await;
    let welcome = client.read().await.unwrap();
    assert!(
        welcome.starts_with("(:type :RESPONSE :id 5 :meta (:session \"mine\" :seq 2)"),
        "{welcome}"
    );
    client.send("(:type :LOG :id 6 :payload (:text \"x\"))").await;
    assert!(client.read().await.unwrap().starts_with("(:type :RESPONSE :id 6 "));
    let reader = bridle_record::RecordReader::open(&daemon.dir.path().join("state")).unwrap();
    let records = reader.stream("mine", 2, 10).unwrap();
    assert_eq!(&*records[0].principal, "key:main");
}
