//! Frames: headers, lengths, blanks, what is lost and what is not (section 2).
//!
//! long: each list of cases is one table, a requirement after the other.

use super::DaemonUnderTest;
use super::link::{CountUnit, DaemonLink, NextFrame, frame};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const HEALTH: &str = "(:type :health-check)";
const HEALTH_FRAME: &[u8] = b"000015(:type :health-check)";

/// Time between two bytes that are to travel apart.
const APART: std::time::Duration = std::time::Duration::from_millis(2);

/// Blanks in a row that every reader skips.
const BLANKS: usize = 64 << 10;

fn must(
    id: &'static str,
    title: &'static str,
    why: &'static str,
    check: impl Fn(&mut DaemonUnderTest) -> Checked + 'static,
) -> ConformanceCase<DaemonUnderTest> {
    ConformanceCase::new(id, RequirementLevel::Must, "2", title, why, check)
}

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let mut all = headers();
    all.extend(payloads());
    all.extend(units());
    all
}

fn headers() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let lost = |header: &'static str| {
        move |peer: &mut DaemonUnderTest| {
            let mut link = peer.open()?;
            link.raw(header.as_bytes())?;
            link.raw(HEALTH.as_bytes())?;
            link.hear()?.is_error("bad-header")?;
            link.is_closed()
        }
    };
    vec![
        must(
            "F-01",
            "the daemon speaks first, with its hello",
            "a client cannot know whom it talks to",
            |peer| peer.open().map(|_| ()),
        ),
        must(
            "F-02",
            "hex digits of a header are read in either case",
            "old clients write upper case",
            |peer| {
                let mut link = peer.open()?;
                let text = "(:type :health-check :x 1234)";
                link.raw(format!("{:06X}{text}", text.len()).as_bytes())?;
                link.hear()?.is("health-response")
            },
        ),
        must(
            "F-03",
            "blanks between frames are skipped",
            "people type into netcat, and padding is blanks",
            |peer| {
                let mut link = peer.open()?;
                link.raw(b" \t\r\n")?;
                link.raw(HEALTH_FRAME)?;
                link.hear()?.is("health-response")?;
                link.raw(b"\n\n  ")?;
                link.is_alive()
            },
        ),
        must(
            "F-04",
            "64 KiB of blanks in a row are skipped",
            "padding of a large frame is that long",
            |peer| {
                let mut link = peer.open()?;
                link.raw(&vec![b' '; BLANKS])?;
                link.raw(HEALTH_FRAME)?;
                link.hear()?.is("health-response")
            },
        ),
        must(
            "F-05",
            "`000000` is `empty-frame`, and the connection lives",
            "one bad frame must not cost a session",
            |peer| {
                let mut link = peer.open()?;
                link.raw(b"000000")?;
                link.hear()?.is_error("empty-frame")?;
                link.is_alive()
            },
        ),
        must(
            "F-06",
            "letters that are no hex digits are `bad-header`, and close",
            "nobody knows where the next frame starts",
            lost("00zz15"),
        ),
        must(
            "F-07",
            "a sign is no digit of a header",
            "lenient number readers take `+00015` for 21",
            lost("+00015"),
        ),
        must(
            "F-08",
            "a blank is no digit of a header",
            "lenient number readers skip it",
            lost("0000 5"),
        ),
        must(
            "F-09",
            "`0x` is no part of a header",
            "lenient number readers take it for a base",
            lost("0x0015"),
        ),
        must(
            "F-10",
            "digits of other scripts are no hex digits",
            "two readers would cut differently",
            lost("\u{ff10}\u{ff11}\u{ff15}"),
        ),
    ]
}

fn payloads() -> Vec<ConformanceCase<DaemonUnderTest>> {
    vec![
        must(
            "F-11",
            "a payload that is not UTF-8 is `invalid-utf8`, and the connection lives",
            "the length says where it ends, so nothing is lost",
            |peer| {
                let mut link = peer.open()?;
                link.raw(b"000013(:type :health\xff\xfe:x)")?;
                link.hear()?.is_error("invalid-utf8")?;
                link.is_alive()
            },
        ),
        must(
            "F-12",
            "bytes that come one by one are the same frame",
            "networks cut where they like",
            |peer| {
                let mut link = peer.open()?;
                for byte in HEALTH_FRAME {
                    link.raw(&[*byte])?;
                    std::thread::sleep(APART);
                }
                link.hear()?.is("health-response")
            },
        ),
        must(
            "F-13",
            "frames that come together are answered one by one",
            "networks join what was sent apart",
            |peer| {
                let mut link = peer.open()?;
                link.raw(&HEALTH_FRAME.repeat(20))?;
                for _ in 0..20 {
                    link.hear()?.is("health-response")?;
                }
                link.is_quiet()
            },
        ),
        must(
            "F-14",
            "blanks after the form belong to the payload",
            "editors add a newline",
            |peer| {
                let mut link = peer.open()?;
                link.ask("(:type :health-check) \n\t ")?.is("health-response")
            },
        ),
        must(
            "F-15",
            "blanks before the form belong to the payload",
            "printers begin with a newline",
            |peer| {
                let mut link = peer.open()?;
                link.ask("\n (:type :health-check)")?.is("health-response")
            },
        ),
        must(
            "F-16",
            "a frame that the end of the stream cuts is never carried out",
            "half a message is another message",
            cut_frame,
        ),
        must(
            "F-17",
            "a header that announces much and sends nothing delays nobody else",
            "one client could stop all others",
            |peer| {
                let mut greedy = peer.open()?;
                greedy.raw(b"ffffff(")?;
                peer.open()?.is_alive()
            },
        ),
        must(
            "F-18",
            "a frame over the limit of the hello is `frame-too-large` and passes",
            "the length says where it ends, so nothing is lost",
            over_the_limit,
        ),
        must("F-19", "many bytes of one frame arrive whole", "buffers end somewhere", |peer| {
            let mut link = peer.open()?;
            let limit = limit(&link)?;
            let text =
                format!("(:type :health-check :x \"{}\")", "y".repeat((limit - 40).min(4 << 20)));
            link.ask(&text)?.is("health-response")
        }),
    ]
}

fn cut_frame(peer: &mut DaemonUnderTest) -> Checked {
    let mut link = peer.open()?;
    let text = "(:type :EVENT :id \"cut\" :payload (:sensor :user-prompt :text \"help\"))";
    // As many bytes as are there, and one that never comes.
    link.raw(format!("{:06x}{text}", text.len() + 1).as_bytes())?;
    link.end();
    loop {
        match link.next(super::link::QUIET * 10)? {
            NextFrame::Closed => return Ok(()),
            NextFrame::Silence => {
                return Err(CheckFinding::fault("the connection stays open after its end"));
            }
            NextFrame::Message(heard) => heard.is_error("incomplete-frame")?,
        }
    }
}

fn limit(link: &DaemonLink) -> Result<usize, CheckFinding> {
    let limit = link.hello.payload("limits").get("max-frame").and_then(bridle_sexp::Value::as_i64);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    limit.ok_or_else(|| CheckFinding::fault("the hello names no `:max-frame` among its `:limits`"))
}

fn over_the_limit(peer: &mut DaemonUnderTest) -> Checked {
    let mut link = peer.open()?;
    let over = limit(&link)?.saturating_add(1);
    if over > 0xff_ffff {
        // No header can say more than this daemon takes.
        return Ok(());
    }
    link.raw(format!("{over:06x}").as_bytes())?;
    for _ in 0..over / (64 << 10) {
        link.raw(&[b'y'; 64 << 10])?;
    }
    link.raw(&vec![b'y'; over % (64 << 10)])?;
    link.hear()?.is_error("frame-too-large")?;
    link.is_alive()
}

fn units() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let text = "(:type :health-check :x \"né 漢字 🐎\")";
    let in_unit = move |word: &'static str, unit| {
        move |peer: &mut DaemonUnderTest| {
            let mut link = peer.open()?;
            let hello = format!("(:type :EVENT :payload (:action :handshake :length :{word}))");
            link.say(&hello)?;
            let answer = link.hear()?;
            answer.has(
                answer.payload("length").is_keyword(word),
                "the unit in the answer to the hello",
            )?;
            link.count(unit);
            link.say(text)?;
            link.hear_until("a health-response", |heard| heard.is_type("health-response"))?;
            link.is_alive()
        }
    };
    let unsaid = move |unit| {
        move |peer: &mut DaemonUnderTest| {
            let mut link = peer.open()?;
            link.raw(&frame(text, unit))?;
            link.hear()?.is("health-response")?;
            link.is_alive()
        }
    };
    vec![
        ConformanceCase::new(
            "F-20",
            RequirementLevel::Must,
            "2.1",
            "a length counts bytes when the hello says so",
            "text beyond ASCII would cut the stream in the wrong place",
            in_unit("bytes", CountUnit::Bytes),
        ),
        ConformanceCase::new(
            "F-21",
            RequirementLevel::Must,
            "2.1",
            "a length counts characters when the hello says so",
            "old Lisp and Emacs clients count characters",
            in_unit("chars", CountUnit::Chars),
        ),
        ConformanceCase::new(
            "F-22",
            RequirementLevel::Must,
            "2.1",
            "bytes are understood without a hello",
            "that is what a length counts",
            unsaid(CountUnit::Bytes),
        ),
        ConformanceCase::new(
            "F-23",
            RequirementLevel::Should,
            "2.1",
            "characters are understood without a hello",
            "old clients say nothing and count characters",
            unsaid(CountUnit::Chars),
        ),
        ConformanceCase::new(
            "F-24",
            RequirementLevel::Must,
            "2.1",
            "an unknown unit in a hello is `invalid-value`",
            "a guess cuts the stream in the wrong place",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask("(:type :EVENT :payload (:action :handshake :length :words))")?
                    .is_error("invalid-value")?;
                link.is_alive()
            },
        ),
    ]
}
