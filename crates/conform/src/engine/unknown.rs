//! What an engine does not know: it is ignored, and changes nothing (draft, section 4).
//!
//! long: most of it is tables.

use super::EngineUnderTest;
use super::rows::{self, RequirementRow, RowExpectation};
use crate::case::{ConformanceCase, RequirementLevel};

const fn ignored(id: &'static str, title: &'static str, body: &'static str) -> RequirementRow {
    RequirementRow {
        id,
        level: RequirementLevel::Must,
        section: "4",
        title,
        body,
        expect: RowExpectation::Served,
    }
}

const FIELDS: [RequirementRow; 15] = [
    ignored(
        "U-01",
        "an unknown field of the message is ignored",
        r#"{@V,@R,"com_example":{"a":[1]}}"#,
    ),
    ignored(
        "U-02",
        "an unknown field of `request` is ignored",
        r#"{@V,"request":{"x":1,"context":{@U}}}"#,
    ),
    ignored(
        "U-03",
        "an unknown field of `auth` is ignored",
        r#"{@V,"request":{"auth":{"tenant_id":"t","x":[1]},"context":{@U}}}"#,
    ),
    ignored(
        "U-04",
        "an unknown field of `context` is ignored",
        r#"{@V,"request":{"context":{@U,"x":{"y":null}}}}"#,
    ),
    ignored(
        "U-05",
        "an unknown field of `shell` is ignored",
        r#"{@V,"request":{"context":{@U,"shell":{"shell_kind":"tv","x":1}}}}"#,
    ),
    ignored(
        "U-06",
        "an unknown field of `task_hint` is ignored",
        r#"{@V,"request":{"context":{@U,"task_hint":{"x":true}}}}"#,
    ),
    ignored(
        "U-07",
        "an unknown field of `environment_state` is ignored",
        r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":"public","x":1}}}}"#,
    ),
    ignored(
        "U-08",
        "unknown fields of every type are ignored",
        r#"{@V,@R,"a":null,"b":true,"c":1,"d":"s","e":[],"f":{}}"#,
    ),
    ignored(
        "U-09",
        "fields of answers are unknown in requests",
        r#"{@V,@R,"response":{"status":"error"},"supported_capabilities":7,"capability_denials":"x"}"#,
    ),
    ignored(
        "U-10",
        "`__proto__`, `constructor` and `$ref` are fields like others",
        r##"{@V,@R,"__proto__":{"admin":true},"constructor":1,"$ref":"#/x"}"##,
    ),
    ignored(
        "U-11",
        "extensions of others are ignored in `request`",
        r#"{@V,"request":{"extensions":{"com.example":{"x":[1]}},"context":{@U}}}"#,
    ),
    ignored(
        "U-12",
        "extensions of others are ignored in `context`",
        r#"{@V,"request":{"context":{@U,"extensions":{"com.example":{"x":[1]}}}}}"#,
    ),
    ignored("U-13", "an empty key is a field like others", r#"{@V,@R,"":1}"#),
    ignored(
        "U-14",
        "a field that only looks known is unknown",
        r#"{@V,@R,"Request":7,"PROTOCOL_VERSION":2,"request ":[]}"#,
    ),
    ignored(
        "U-15",
        "known names in unknown places are unknown",
        r#"{@V,"request":{"user_intent":7,"attachments":{},"context":{@U,"protocol_version":9,"auth":"x"}}}"#,
    ),
];

const WORDS: [RequirementRow; 5] = [
    RequirementRow {
        section: "6",
        ..ignored(
            "U-20",
            "an unknown kind of shell is served",
            r#"{@V,"request":{"context":{@U,"shell":{"shell_kind":"com.example.kiosk"}}}}"#,
        )
    },
    RequirementRow {
        section: "6",
        ..ignored(
            "U-21",
            "a locale of no list is served",
            r#"{@V,"request":{"context":{@U,"shell":{"shell_kind":"tv","locale":"zh_CN.C"}}}}"#,
        )
    },
    RequirementRow {
        section: "6",
        ..ignored(
            "U-22",
            "a time zone of no list is served",
            r#"{@V,"request":{"context":{@U,"shell":{"shell_kind":"tv","timezone":"UTC+8"}}}}"#,
        )
    },
    RequirementRow {
        level: RequirementLevel::Should,
        section: "P15.1",
        ..ignored(
            "U-23",
            "an unknown privacy tier is served",
            r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":"cosmic"}}}}"#,
        )
    },
    RequirementRow {
        section: "6",
        ..ignored(
            "U-24",
            "a shell without a kind is served",
            r#"{@V,"request":{"context":{@U,"shell":{"shell_version":"1"}}}}"#,
        )
    },
];

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = rows::cases("later versions add fields, and older engines must go on", &FIELDS);
    all.extend(rows::cases("lists of words grow, and older engines must go on", &WORDS));
    all
}
