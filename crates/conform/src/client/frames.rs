//! Frames and hellos (sections 2, 3, 5 and 6): cases `F` and `H`.
//!
//! long: each list of cases is one table, a requirement after the other.

use super::{ClientUnderTest, HELLO, SESSION, attached, event, expect};
use crate::case::{Checked, ConformanceCase, RequirementLevel};

pub(super) fn cases() -> Vec<ConformanceCase<ClientUnderTest>> {
    let mut all = reading();
    all.extend(surviving());
    all.extend(greeting());
    all
}

fn frame(text: &str) -> Vec<u8> {
    format!("{:06x}{text}", text.len()).into_bytes()
}

fn reading() -> Vec<ConformanceCase<ClientUnderTest>> {
    vec![
        ConformanceCase::new(
            "F-01",
            RequirementLevel::Must,
            "2",
            "bytes that come one by one are the same frames",
            "networks cut where they like",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.accept()?;
                for byte in frame(HELLO) {
                    link.raw(&[byte])?;
                    // Otherwise the network may join them again.
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                link.hear("the client's hello")?;
                for byte in [frame(&attached(1)), frame(&event(1, "a"))].concat() {
                    link.raw(&[byte])?;
                }
                scene.event(1)
            },
        ),
        ConformanceCase::new(
            "F-02",
            RequirementLevel::Must,
            "2",
            "frames that come together are taken one by one",
            "networks join what they like",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(3)?;
                let all = [1, 2, 3].map(|seq| frame(&event(seq, "a")));
                link.raw(&all.concat())?;
                scene.event(3)?;
                scene.told(&[1, 2, 3])
            },
        ),
        ConformanceCase::new(
            "F-03",
            RequirementLevel::Must,
            "2.1",
            "a length counts bytes, not characters",
            "after the first umlaut nothing fits any more",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(2)?;
                link.say(&event(1, "Zoë 日本 \u{1f600}"))?;
                link.say(&event(2, "b"))?;
                scene.event(2)?;
                scene.told(&[1, 2])
            },
        ),
        ConformanceCase::new(
            "F-04",
            RequirementLevel::Must,
            "2.1",
            "what the client sends counts bytes, as its hello says",
            "the daemon would cut it in the middle",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let unit = link.hello.payload("length");
                expect(unit.is_keyword("bytes"), || "expected `:length :bytes`".to_owned())?;
                scene.ask("Zoë 日本 \u{1f600}")?;
                let said = link.hear_type("event")?;
                let text = said.text_of("text");
                expect(text.as_deref() == Some("Zoë 日本 \u{1f600}"), || {
                    format!("got {text:?}")
                })?;
                scene.ask("next")?;
                link.hear_type("event").map(|_| ())
            },
        ),
        ConformanceCase::new(
            "F-05",
            RequirementLevel::Must,
            "2",
            "a frame of a megabyte arrives whole",
            "answers may be long",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(2)?;
                link.say(&event(1, &"x".repeat(1 << 20)))?;
                link.say(&event(2, "b"))?;
                scene.event(2)?;
                scene.told(&[1, 2])
            },
        ),
        ConformanceCase::new(
            "F-06",
            RequirementLevel::Must,
            "3",
            "a message is the same in any spelling: letter case of keywords, blanks, newlines",
            "Lisps print as they like",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(2)?;
                link.say("( :TYPE :event\n :Meta (:SESSION \"kit\" :Seq 1 :at 5)\t:PAYLOAD (:ACTION :Message :TEXT \"a\") ) ")?;
                link.say(&event(2, "a \\\"b\\\" \\\\ c\nd"))?;
                scene.event(2)?;
                scene.told(&[1, 2])
            },
        ),
    ]
}

/// Sends bad bytes: the client may leave the connection, and hears on the next what it missed.
fn survived(peer: &mut ClientUnderTest, bad: &[u8]) -> Checked {
    let mut scene = peer.scene(0)?;
    let mut link = scene.attach(1)?;
    link.say(&event(1, "a"))?;
    scene.event(1)?;
    link.raw(bad)?;
    link.cut();
    let mut link = scene.attach(2)?;
    let cursor = link.hello.payload("cursor");
    expect(cursor.as_i64() == Some(1), || format!("expected `:cursor 1`, got {cursor}"))?;
    link.say(&event(2, "b"))?;
    scene.event(2)?;
    scene.told(&[1, 2])
}

fn surviving() -> Vec<ConformanceCase<ClientUnderTest>> {
    let hostile = |id, title, bad: fn() -> Vec<u8>| {
        let why = "one bad frame must not cost a session";
        ConformanceCase::new(
            id,
            RequirementLevel::Must,
            "2",
            title,
            why,
            move |peer: &mut ClientUnderTest| survived(peer, &bad()),
        )
    };
    vec![
        hostile("F-10", "a header that is none does not end the client", || {
            b"zzzzzz(:type :EVENT)".to_vec()
        }),
        hostile("F-11", "a frame that is cut off is no message", || {
            let whole = frame(&event(2, "half"));
            whole[..whole.len() - 9].to_vec()
        }),
        hostile("F-12", "an announced megabyte that never comes does not end the client", || {
            b"100000(:type".to_vec()
        }),
        hostile("F-13", "text that is no form does not end the client", || {
            frame("(:type :EVENT ((((")
        }),
        hostile("F-14", "a form nested 100,000 deep does not end the client", || {
            frame(&format!("{}{}", "(".repeat(100_000), ")".repeat(100_000)))
        }),
        hostile("F-15", "bytes that are not UTF-8 do not end the client", || {
            [b"000010(:type :EVENT \"".as_slice(), &[0xff, 0xfe], b"\")"].concat()
        }),
    ]
}

fn greeting() -> Vec<ConformanceCase<ClientUnderTest>> {
    vec![
        ConformanceCase::new(
            "H-01",
            RequirementLevel::Must,
            "6",
            "the first message of a client that attaches is its hello, with session and cursor",
            "the daemon must know where it was",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(7)?;
                let link = scene.attach(9)?;
                let hello = &link.hello;
                expect(
                    hello.is_type("event") && hello.payload("action").is_keyword("handshake"),
                    || "expected an `:EVENT` with `:action :handshake`".to_owned(),
                )?;
                let got = (hello.text_of("session"), hello.payload("cursor").as_i64());
                expect(got == (Some(SESSION.to_owned()), Some(7)), || {
                    format!("expected the session `{SESSION}` and the cursor 7, got {got:?}")
                })
            },
        ),
        ConformanceCase::new(
            "H-02",
            RequirementLevel::Must,
            "6",
            "unknown fields and capabilities of the daemon's hello are ignored",
            "later versions add some",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.accept()?;
                let hello = HELLO.replace(":parts :attach", ":parts :teleport :attach");
                link.say(&hello.replace(" :server", " :mood (:fine 7) :server"))?;
                link.hear("the client's hello")?;
                link.say(&attached(1).replace(" :role", " :weather :rain :role"))?;
                link.say(&event(1, "a"))?;
                scene.event(1)
            },
        ),
        ConformanceCase::new(
            "H-03",
            RequirementLevel::Should,
            "12.4",
            "`:client` is the same on the next connection",
            "repeats are known by it",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let first = scene.attach(0)?;
                let name = first.hello.text_of("client");
                expect(name.is_some(), || "expected a `:client`".to_owned())?;
                first.cut();
                let second = scene.attach(0)?;
                expect(second.hello.text_of("client") == name, || {
                    "expected the same again".to_owned()
                })
            },
        ),
        ConformanceCase::new(
            "H-04",
            RequirementLevel::Should,
            "12.8",
            "a daemon that is shutting down is tried again",
            "it is back in a moment",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.accept()?;
                link.say("(:type :RESPONSE :id nil :payload (:status :error :code :shutting-down :message \"bye\" :retryable t))")?;
                link.cut();
                let mut link = scene.attach(1)?;
                link.say(&event(1, "a"))?;
                scene.event(1)
            },
        ),
        ConformanceCase::new(
            "H-05",
            RequirementLevel::Should,
            "12.2",
            "a session that does not exist is told to the user, and not asked for again and again",
            "nothing changes by asking",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.accept()?;
                link.say(HELLO)?;
                link.hear("the client's hello")?;
                link.say("(:type :RESPONSE :id nil :payload (:status :error :action :handshake :code :unknown-session :message \"none\" :retryable nil))")?;
                scene.shell.until("ended").map(|_| ())
            },
        ),
    ]
}
