//! What a request is about: intent, identity, environment, attachments, continuation (draft,
//! sections 6 to 9).
//!
//! long: most of it is tables.

use std::net::TcpListener;

use super::EngineUnderTest;
use super::rows::{self, RequirementRow, RowExpectation};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// Letters of base64 that no reference needs: 1.5 MiB.
const BLOB: usize = 3 << 19;

/// Letters of base64 that decode to 24 KiB: small for a transport, large for a message.
const SMALL_BLOB: usize = 32 << 10;

const fn served(
    id: &'static str,
    section: &'static str,
    title: &'static str,
    body: &'static str,
) -> RequirementRow {
    RequirementRow {
        id,
        level: RequirementLevel::Must,
        section,
        title,
        body,
        expect: RowExpectation::Served,
    }
}

const fn refused(id: &'static str, title: &'static str, body: &'static str) -> RequirementRow {
    RequirementRow {
        id,
        level: RequirementLevel::Must,
        section: "9.1",
        title,
        body,
        expect: RowExpectation::Refused,
    }
}

const fn answered(
    id: &'static str,
    section: &'static str,
    title: &'static str,
    body: &'static str,
) -> RequirementRow {
    RequirementRow {
        id,
        level: RequirementLevel::Must,
        section,
        title,
        body,
        expect: RowExpectation::Answered,
    }
}

const SERVED: [RequirementRow; 10] = [
    served("K-01", "7", "without `auth` a request is served", "{@V,@R}"),
    served(
        "K-02",
        "7",
        "references in `auth` are enough",
        r#"{@V,"request":{"auth":{"tenant_id":"t","credential_ref":"c"},"context":{@U}}}"#,
    ),
    served(
        "K-03",
        "9",
        "a session is served",
        r#"{@V,"request":{"context":{@U,"session_id":"@SESSION"}}}"#,
    ),
    served(
        "K-04",
        "9",
        "a conversation in a session is served",
        r#"{@V,"request":{"context":{@U,"session_id":"@SESSION","conversation_id":"tab/2"}}}"#,
    ),
    served(
        "K-05",
        "9",
        "a session may be called anything",
        r#"{@V,"request":{"context":{@U,"session_id":"../../@SESSION 😀 \u0000%2e"}}}"#,
    ),
    served(
        "K-06",
        "8",
        "a public environment is served",
        r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":"public","os":"Linux"}}}}"#,
    ),
    served(
        "K-07",
        "8",
        "a restricted environment is served",
        r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":"restricted","os":"Linux"}}}}"#,
    ),
    served(
        "K-08",
        "8",
        "a secret environment is served",
        r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":"secret","os":"Linux"}}}}"#,
    ),
    served(
        "K-09",
        "8",
        "an environment without a tier is served",
        r#"{@V,"request":{"context":{@U,"environment_state":{"os":"Linux"}}}}"#,
    ),
    served(
        "K-10",
        "9.1",
        "an empty list of attachments is served",
        r#"{@V,"request":{"context":{@U,"attachments":[]}}}"#,
    ),
];

const REFUSED: [RequirementRow; 3] = [
    refused(
        "K-11",
        "attachments as an object are refused",
        r#"{@V,"request":{"context":{@U,"attachments":{"ref_id":"a"}}}}"#,
    ),
    refused(
        "K-12",
        "attachments as a string are refused",
        r#"{@V,"request":{"context":{@U,"attachments":"a"}}}"#,
    ),
    refused(
        "K-13",
        "an attachment that is a string is refused",
        r#"{@V,"request":{"context":{@U,"attachments":["a"]}}}"#,
    ),
];

const ANSWERED: [RequirementRow; 7] = [
    answered(
        "K-14",
        "9.1",
        "an attachment without a reference is answered",
        r#"{@V,"request":{"context":{@U,"attachments":[{},{"mime_type":"image/png"}]}}}"#,
    ),
    answered(
        "K-15",
        "9.2",
        "an empty continuation is answered",
        r#"{@V,"request":{"context":{@U,"continuation":{}}}}"#,
    ),
    answered(
        "K-16",
        "9",
        "an unknown procedure is answered",
        r#"{@V,"request":{"context":{@U,"task_hint":{"sop_id":"no_such_procedure"}}}}"#,
    ),
    answered(
        "K-17",
        "9",
        "a blank intent is answered",
        r#"{@V,"request":{"context":{"user_intent":"  "}}}"#,
    ),
    answered(
        "K-18",
        "9",
        "an intent of strange letters is answered",
        r#"{@V,"request":{"context":{"user_intent":"\u202e😀 שלום \u0000 \u001b[2J"}}}"#,
    ),
    answered(
        "K-19",
        "9.1",
        "an address that is none is answered",
        r#"{@V,"request":{"context":{@U,"attachments":[{"uri":"https://user:pass@[::1"}]}}}"#,
    ),
    answered(
        "K-20",
        "9",
        "references of any length are answered",
        r#"{@V,"request":{"auth":{"session_id":"s"},"context":{@U,"continuation":{"run_id":"r"}}}}"#,
    ),
];

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = rows::cases("these are what requests of ordinary shells look like", &SERVED);
    all.extend(rows::cases("what is attached would be lost without a word", &REFUSED));
    all.extend(rows::cases(
        "whatever it means to the engine, the shell must hear of it",
        &ANSWERED,
    ));
    all.extend(blobs());
    all.extend(reached());
    all.push(ConformanceCase::new(
        "K-21",
        RequirementLevel::Must,
        "9",
        "an intent of 16 KiB is answered",
        "people paste",
        |peer: &mut EngineUnderTest| {
            let long = "word ".repeat(3_277);
            let body = format!(r#"{{@V,"request":{{"context":{{"user_intent":"{long}"}}}}}}"#);
            peer.ask_filled(&body).map(drop)
        },
    ));
    all.push(ConformanceCase::new(
        "K-22",
        RequirementLevel::Must,
        "9.2",
        "a continuation that was never issued is no way into a run",
        "tokens are guessed, and a guess must not be somebody's run",
        |peer: &mut EngineUnderTest| {
            let template = r#"{@V,"request":{"context":{"session_id":"@SESSION","continuation":{"run_id":"run_1","continuation_token":"ctok_@CANARY"}}}}"#;
            let (_, answer) = peer.ask_filled(template)?;
            answer.is_refused()
        },
    ));
    all
}

fn blobs() -> Vec<ConformanceCase<EngineUnderTest>> {
    let why = "files in messages make every log, queue and gateway on the way a file store";
    let case = |id,
                level,
                section,
                title,
                place: &'static str,
                letters: usize,
                codes: &'static [&'static str]| {
        ConformanceCase::new(id, level, section, title, why, move |peer: &mut EngineUnderTest| {
            let body = place.replace("@BLOB", &"QUJD".repeat(letters / 4));
            let (_, answer) = peer.ask_filled(&body)?;
            if codes.is_empty() { answer.is_refused() } else { answer.is_refused_as(codes) }
        })
    };
    const DATA: &str =
        r#"{@V,"request":{"context":{@U,"attachments":[{"asset_id":"a","data":"@BLOB"}]}}}"#;
    const URI: &str =
        r#"{@V,"request":{"context":{@U,"attachments":[{"uri":"data:image/png;base64,@BLOB"}]}}}"#;
    const STATE: &str = r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":"public","screenshot":"@BLOB"}}}}"#;
    let code: &[&str] = &["embedded_blob", "payload_too_large"];
    // An address may be too long before anybody looks what is in it.
    let or_long: &[&str] = &["embedded_blob", "payload_too_large", "invalid_request"];
    vec![
        case(
            "K-30",
            RequirementLevel::Must,
            "9.1",
            "a file inside an attachment is refused",
            DATA,
            BLOB,
            &[],
        ),
        case(
            "K-31",
            RequirementLevel::Must,
            "9.1",
            "a file inside an address is refused",
            URI,
            BLOB,
            &[],
        ),
        case(
            "K-32",
            RequirementLevel::Must,
            "9.1",
            "a file inside the environment is refused",
            STATE,
            BLOB,
            &[],
        ),
        case(
            "K-33",
            RequirementLevel::Should,
            "P15.1",
            "24 KiB inside an attachment are `embedded_blob`",
            DATA,
            SMALL_BLOB,
            code,
        ),
        case(
            "K-34",
            RequirementLevel::Should,
            "P15.1",
            "24 KiB inside an address are refused",
            URI,
            SMALL_BLOB,
            or_long,
        ),
        case(
            "K-35",
            RequirementLevel::Should,
            "P15.1",
            "24 KiB inside the environment are `embedded_blob`",
            STATE,
            SMALL_BLOB,
            code,
        ),
        ConformanceCase::new(
            "K-36",
            RequirementLevel::Must,
            "9.1",
            "a hash is no file",
            "references to files are the way that is left",
            |peer: &mut EngineUnderTest| {
                let hash = "0123456789abcdef".repeat(8);
                let body = STATE.replace("screenshot", "screen_hash").replace("@BLOB", &hash);
                peer.ask_filled(&body)?.1.is_served()
            },
        ),
    ]
}

fn reached() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        ConformanceCase::new(
            "K-37",
            RequirementLevel::Must,
            "9.1",
            "an address of a file of the engine's machine is not read",
            "whoever may ask could read every file that the engine may read",
            |peer: &mut EngineUnderTest| {
                let template = r#"{@V,"request":{"context":{@U,"attachments":[{"uri":"file:///etc/passwd"}]}}}"#;
                let (_, answer) = peer.ask_filled(template)?;
                let is_clean = !String::from_utf8_lossy(&answer.reply.body).contains("root:");
                answer.has(is_clean, "nothing of the file")
            },
        ),
        ConformanceCase::new(
            "K-38",
            RequirementLevel::Should,
            "9.1",
            "an address of the engine's own machine is not fetched",
            "whoever may ask could reach every service that only the engine may reach",
            |peer: &mut EngineUnderTest| not_fetched(peer),
        ),
    ]
}

fn not_fetched(peer: &mut EngineUnderTest) -> Checked {
    if !peer.way().url.is_local() {
        return Err(CheckFinding::unoffered("the engine is on another machine"));
    }
    let trap = TcpListener::bind("127.0.0.1:0");
    let trap =
        trap.map_err(|error| CheckFinding::fault(format!("the kit cannot listen: {error}")))?;
    let address = trap.local_addr().map(|it| it.to_string()).unwrap_or_default();
    let template = format!(
        r#"{{@V,"request":{{"context":{{@U,"attachments":[{{"uri":"http://{address}/@CANARY"}}]}}}}}}"#
    );
    peer.ask_filled(&template)?;
    let _ = trap.set_nonblocking(true);
    match trap.accept() {
        Ok(_) => Err(CheckFinding::fault("the engine connected to the address of an attachment")),
        Err(_) => Ok(()),
    }
}
