//! Text that is not JSON, or JSON that is not for everybody (P15.2).
//!
//! long: most of it is tables.

use super::EngineUnderTest;
use super::rows::{self, GOOD, RequirementRow, RowExpectation};
use crate::case::{Checked, ConformanceCase, RequirementLevel};

/// Bytes of a body that no message needs.
const HUGE: usize = 32 << 20;

/// Levels that a reader with recursion does not survive.
const DEEP: usize = 100_000;

const fn broken(id: &'static str, title: &'static str, body: &'static str) -> RequirementRow {
    RequirementRow {
        id,
        level: RequirementLevel::Must,
        section: "16",
        title,
        body,
        expect: RowExpectation::Refused,
    }
}

const fn unsafe_text(id: &'static str, title: &'static str, body: &'static str) -> RequirementRow {
    RequirementRow { level: RequirementLevel::Should, section: "P15.2", ..broken(id, title, body) }
}

const fn fine(id: &'static str, title: &'static str, body: &'static str) -> RequirementRow {
    RequirementRow { expect: RowExpectation::Served, ..broken(id, title, body) }
}

const BROKEN: [RequirementRow; 14] = [
    broken("R-01", "an empty body is refused", ""),
    broken("R-02", "words are no JSON", "help"),
    broken("R-03", "a message that is cut off is refused", r#"{@V,"request":{"context":{@U"#),
    broken("R-04", "something behind the message is refused", "{@V,@R}x"),
    broken("R-05", "two messages are not one", "{@V,@R}{@V,@R}"),
    broken("R-06", "`NaN` is no JSON", r#"{@V,@R,"x":NaN}"#),
    broken("R-07", "`Infinity` is no JSON", r#"{@V,@R,"x":-Infinity}"#),
    broken("R-08", "a line end inside a string is no JSON", "{@V,@R,\"x\":\"a\nb\"}"),
    broken("R-09", "single quotes are no JSON", "{'protocol_version':'1.0.0','request':{}}"),
    broken("R-10", "comments are no JSON", "{@V,/* x */@R}"),
    broken("R-11", "a comma before the end is no JSON", "{@V,@R,}"),
    broken("R-12", "a number with a zero before it is no JSON", r#"{@V,@R,"x":01}"#),
    broken("R-13", "an escape of nothing is no JSON", r#"{@V,@R,"x":"\q"}"#),
    broken("R-14", "keys without quotes are no JSON", "{protocol_version:\"1.0.0\",@R}"),
];

const TWICE: [RequirementRow; 5] = [
    unsafe_text("R-20", "the same key twice is refused", r#"{@V,"request_id":"other",@R}"#),
    unsafe_text(
        "R-21",
        "the same key twice, deeper, is refused",
        r#"{@V,"request":{"auth":{"tenant_id":"a","tenant_id":"b"},"context":{@U}}}"#,
    ),
    unsafe_text(
        "R-22",
        "the same key in another spelling is refused",
        r#"{@V,@R,"\u0072equest":{"context":{"user_intent":"other"}}}"#,
    ),
    unsafe_text(
        "R-23",
        "the same key twice in what is ignored is refused",
        r#"{@V,@R,"x":{"y":1,"y":2}}"#,
    ),
    unsafe_text("R-24", "half a surrogate pair is refused", r#"{@V,@R,"x":"\ud800"}"#),
];

const FINE: [RequirementRow; 6] = [
    fine("R-30", "blanks around and inside a message do not matter", " \r\n\t{ @V , @R }\n "),
    fine(
        "R-31",
        "keys may be spelled with escapes",
        r#"{"protocol\u005fversion":"1.0.0","request_id":"@ID",@R}"#,
    ),
    fine("R-32", "a surrogate pair is one letter", r#"{@V,@R,"x":"\ud83d\ude00"}"#),
    fine(
        "R-33",
        "numbers of any size may be in what is ignored",
        r#"{@V,@R,"x":[1e400,-0.0,123456789012345678901234567890]}"#,
    ),
    fine(
        "R-34",
        "fields may come in any order",
        r#"{@R,"request_id":"@ID","protocol_version":"1.0.0"}"#,
    ),
    fine("R-35", "a zero letter in what is ignored does not matter", r#"{@V,@R,"x":"\u0000"}"#),
];

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = rows::cases("who repairs a message carries out what nobody said", &BROKEN);
    all.extend(rows::cases(
        "a gateway and an engine read it in two ways, and one of them checked it",
        &TWICE,
    ));
    all.extend(rows::cases("it is the same message", &FINE));
    all.extend(bytes());
    all.extend(large());
    all
}

fn bytes() -> Vec<ConformanceCase<EngineUnderTest>> {
    let why = "parsers differ on it, and a connection that is dropped tells the shell nothing";
    let must = |id, level, section, title, check: fn(&mut EngineUnderTest) -> Checked| {
        ConformanceCase::new(id, level, section, title, why, check)
    };
    vec![
        must(
            "R-15",
            RequirementLevel::Must,
            "16",
            "bytes that are not UTF-8 are refused",
            |peer| {
                spoiled(
                    peer,
                    |text| text.replace("kit-", "kit-\u{1}").into_bytes(),
                    |byte| {
                        if byte == 1 { 0xff } else { byte }
                    },
                )
            },
        ),
        must("R-16", RequirementLevel::Must, "16", "UTF-16 is refused", |peer| {
            let text = peer.fill(GOOD).text;
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let asked = peer.post(bytes);
            peer.answer(&asked)?.is_refused()
        }),
        must("R-17", RequirementLevel::Should, "P15.2", "a byte order mark is refused", |peer| {
            let text = format!("\u{feff}{}", peer.fill(GOOD).text);
            peer.ask(&text)?.is_refused()
        }),
        must(
            "R-18",
            RequirementLevel::Must,
            "16",
            "half a surrogate pair in an id is answered",
            |peer| {
                let template = r#"{"protocol_version":"1.0.0","request_id":"\ud800@ID",@R}"#;
                peer.ask_filled(template)?;
                peer.is_alive()
            },
        ),
        must(
            "R-19",
            RequirementLevel::Must,
            "16",
            "an overlong form of UTF-8 is refused",
            |peer| {
                spoiled(
                    peer,
                    |text| text.replace("1.0.0", "1.0.0\u{1}").into_bytes(),
                    |byte| {
                        if byte == 1 { 0xc0 } else { byte }
                    },
                )
            },
        ),
    ]
}

fn spoiled(
    peer: &mut EngineUnderTest,
    mark: impl Fn(String) -> Vec<u8>,
    spoil: impl Fn(u8) -> u8,
) -> Checked {
    let text = peer.fill(GOOD).text;
    let bytes: Vec<u8> = mark(text).into_iter().map(spoil).collect();
    let asked = peer.post(bytes);
    peer.answer(&asked)?.is_refused()
}

fn large() -> Vec<ConformanceCase<EngineUnderTest>> {
    let why = "one message must not end the engine for everybody";
    let case = |id, level, title, check: fn(&mut EngineUnderTest) -> Checked| {
        ConformanceCase::new(id, level, "P15.2", title, why, check)
    };
    vec![
        case(
            "R-40",
            RequirementLevel::Must,
            "100,000 lists inside each other are answered",
            |peer| nested(peer, "[", "]", DEEP),
        ),
        case(
            "R-41",
            RequirementLevel::Must,
            "100,000 objects inside each other are answered",
            |peer| nested(peer, "{\"x\":", "}", DEEP),
        ),
        case("R-42", RequirementLevel::Must, "what is ignored may be 50 levels deep", |peer| {
            let deep = format!("{}1{}", "[".repeat(50), "]".repeat(50));
            peer.ask_filled(&format!("{{@V,@R,\"x\":{deep}}}"))?.1.is_served()
        }),
        case("R-43", RequirementLevel::Must, "10,000 unknown fields are ignored", |peer| {
            let fields: String =
                (0..10_000).map(|count| format!(",\"x{count}\":{count}")).collect();
            peer.ask_filled(&format!("{{@V,@R{fields}}}"))?.1.is_served()
        }),
        case("R-44", RequirementLevel::Must, "a body of 32 MiB ends no engine", |peer| {
            let body = peer.fill(&format!("{{@V,@R,\"x\":\"{}\"}}", "x".repeat(HUGE))).text;
            let asked = peer.post(body);
            // An engine may close before all is there.
            if let Ok(reply) = peer.exchange(&asked) {
                peer.judge(reply)?;
            }
            peer.is_alive()
        }),
        case(
            "R-45",
            RequirementLevel::Should,
            "a body of 32 MiB is refused with a message",
            |peer| {
                let body = peer.fill(&format!("{{@V,@R,\"x\":\"{}\"}}", "x".repeat(HUGE))).text;
                let asked = peer.post(body);
                peer.answer(&asked)?.is_refused()
            },
        ),
        case("R-46", RequirementLevel::Must, "a number of 10,000 digits is answered", |peer| {
            let digits = "9".repeat(10_000);
            peer.ask_filled(&format!("{{@V,@R,\"x\":{digits}}}"))?;
            peer.is_alive()
        }),
    ]
}

fn nested(peer: &mut EngineUnderTest, open: &str, close: &str, levels: usize) -> Checked {
    let body = format!("{{@V,@R,\"x\":{}1{}}}", open.repeat(levels), close.repeat(levels));
    let body = peer.fill(&body).text;
    let asked = peer.post(body);
    peer.answer(&asked)?;
    peer.is_alive()
}
