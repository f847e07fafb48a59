//! Versions: which are read, which are refused, and how (draft, section 3).
//!
//! long: most of it is tables.

use super::EngineUnderTest;
use super::rows::{self, RequirementRow, RowExpectation};
use crate::case::{Checked, ConformanceCase, RequirementLevel};

const fn version(id: &'static str, title: &'static str, body: &'static str) -> RequirementRow {
    RequirementRow {
        id,
        level: RequirementLevel::Must,
        section: "3",
        title,
        body,
        expect: RowExpectation::Refused,
    }
}

const OK: RowExpectation = RowExpectation::Served;

const NONE: [RequirementRow; 14] = [
    version("V-01", "a message without a version is refused", r#"{"request_id":"@ID",@R}"#),
    version("V-02", "null is no version", r#"{"protocol_version":null,"request_id":"@ID",@R}"#),
    version(
        "V-03",
        "the number 1.0 is no version",
        r#"{"protocol_version":1.0,"request_id":"@ID",@R}"#,
    ),
    version(
        "V-04",
        "a list is no version",
        r#"{"protocol_version":["1.0.0"],"request_id":"@ID",@R}"#,
    ),
    version("V-05", "`1` is no version", r#"{"protocol_version":"1","request_id":"@ID",@R}"#),
    version("V-06", "`1.0` is no version", r#"{"protocol_version":"1.0","request_id":"@ID",@R}"#),
    version(
        "V-07",
        "`v1.0.0` is no version",
        r#"{"protocol_version":"v1.0.0","request_id":"@ID",@R}"#,
    ),
    version(
        "V-08",
        "an empty string is no version",
        r#"{"protocol_version":"","request_id":"@ID",@R}"#,
    ),
    version(
        "V-09",
        "a blank before it spoils a version",
        r#"{"protocol_version":" 1.0.0","request_id":"@ID",@R}"#,
    ),
    version(
        "V-10",
        "a blank behind it spoils a version",
        r#"{"protocol_version":"1.0.0 ","request_id":"@ID",@R}"#,
    ),
    version(
        "V-11",
        "a line end behind it spoils a version",
        r#"{"protocol_version":"1.0.0\n","request_id":"@ID",@R}"#,
    ),
    version(
        "V-12",
        "`1.0.0-` is no version",
        r#"{"protocol_version":"1.0.0-","request_id":"@ID",@R}"#,
    ),
    version(
        "V-13",
        "a word is no version",
        r#"{"protocol_version":"latest","request_id":"@ID",@R}"#,
    ),
    version(
        "V-14",
        "digits of other scripts are no version",
        r#"{"protocol_version":"١.0.0","request_id":"@ID",@R}"#,
    ),
];

const OTHER: [RequirementRow; 5] = [
    version(
        "V-15",
        "version 2 is refused",
        r#"{"protocol_version":"2.0.0","request_id":"@ID",@R}"#,
    ),
    version(
        "V-16",
        "a draft of version 2 is refused",
        r#"{"protocol_version":"2.0.0-rc.1","request_id":"@ID",@R}"#,
    ),
    version(
        "V-17",
        "version 0 is refused",
        r#"{"protocol_version":"0.9.0","request_id":"@ID",@R}"#,
    ),
    version(
        "V-18",
        "a major version beyond all numbers is refused",
        r#"{"protocol_version":"999999999999999999999.0.0","request_id":"@ID",@R}"#,
    ),
    version(
        "V-19",
        "version 10 is not version 1",
        r#"{"protocol_version":"10.0.0","request_id":"@ID",@R}"#,
    ),
];

const SERVED: [RequirementRow; 3] = [
    RequirementRow {
        expect: OK,
        ..version(
            "V-20",
            "a patch version is served",
            r#"{"protocol_version":"1.0.7","request_id":"@ID",@R}"#,
        )
    },
    RequirementRow {
        expect: OK,
        ..version(
            "V-21",
            "what a build is called does not matter",
            r#"{"protocol_version":"1.0.0+build.7","request_id":"@ID",@R}"#,
        )
    },
    RequirementRow {
        expect: OK,
        level: RequirementLevel::Should,
        ..version(
            "V-22",
            "the draft of version 1 is served",
            r#"{"protocol_version":"1.0.0-draft","request_id":"@ID",@R}"#,
        )
    },
];

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = rows::cases("who guesses a version reads one message in two ways", &NONE);
    all.extend(rows::cases("fields of another major version mean something else", &OTHER));
    all.extend(rows::cases("shells of the same line could not talk any more", &SERVED));
    let why = "a shell picks another version by itself, if it is told which";
    let should = |id, title, check: fn(&mut EngineUnderTest) -> Checked| {
        ConformanceCase::new(id, RequirementLevel::Should, "3", title, why, check)
    };
    all.push(should("V-23", "a later minor version is served, or refused for its version", later));
    all.push(should(
        "V-24",
        "another major version is `protocol_version_unsupported`",
        unsupported,
    ));
    all.push(should(
        "V-25",
        "a broken version is `invalid_request` or `protocol_version_unsupported`",
        broken,
    ));
    all.push(should("V-26", "who refuses a version says which are supported", says_which));
    all.push(should("V-27", "the version is looked at before the rest", first));
    all.push(should("V-28", "every version that an answer lists is served", true_list));
    all
}

fn later(peer: &mut EngineUnderTest) -> Checked {
    let template = r#"{"protocol_version":"1.99.0","request_id":"@ID","later":{"field":[1]},@R}"#;
    let (_, answer) = peer.ask_filled(template)?;
    if answer.is_success() {
        Ok(())
    } else {
        answer.is_refused_as(&["protocol_version_unsupported"])
    }
}

fn unsupported(peer: &mut EngineUnderTest) -> Checked {
    let (_, answer) = peer.ask_filled(OTHER[0].body)?;
    answer.is_refused_as(&["protocol_version_unsupported"])
}

fn broken(peer: &mut EngineUnderTest) -> Checked {
    let (_, answer) = peer.ask_filled(NONE[6].body)?;
    answer.is_refused_as(&["invalid_request", "protocol_version_unsupported"])
}

fn says_which(peer: &mut EngineUnderTest) -> Checked {
    let (_, answer) = peer.ask_filled(OTHER[0].body)?;
    let versions = answer.at("/supported_protocol_versions").as_array();
    answer.has(versions.is_some_and(|it| !it.is_empty()), "`supported_protocol_versions`")
}

fn first(peer: &mut EngineUnderTest) -> Checked {
    let template =
        r#"{"protocol_version":"2.0.0","request_id":"@ID","request":"of another shape"}"#;
    let (_, answer) = peer.ask_filled(template)?;
    answer.is_refused_as(&["protocol_version_unsupported"])
}

fn true_list(peer: &mut EngineUnderTest) -> Checked {
    let (_, answer) = peer.ask_filled(rows::GOOD)?;
    let listed = answer.at("/supported_protocol_versions").as_array().cloned().unwrap_or_default();
    for version in listed.iter().filter_map(|it| it.as_str()).take(16) {
        let template = format!(r#"{{"protocol_version":"{version}","request_id":"@ID",@R}}"#);
        peer.ask_filled(&template)?.1.is_served()?;
    }
    Ok(())
}
