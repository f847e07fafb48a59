//! Known fields of another type (P15.1): refused, and the place is named, without the value.
//!
//! long: most of it is tables.

use super::EngineUnderTest;
use super::rows::{self, RequirementRow, RowExpectation};
use crate::case::{ConformanceCase, RequirementLevel};

const fn wrong(
    id: &'static str,
    title: &'static str,
    field: &'static str,
    body: &'static str,
) -> RequirementRow {
    RequirementRow {
        id,
        level: RequirementLevel::Should,
        section: "P15.1",
        title,
        body,
        expect: RowExpectation::At(field),
    }
}

const fn fine(id: &'static str, title: &'static str, body: &'static str) -> RequirementRow {
    RequirementRow {
        id,
        level: RequirementLevel::Should,
        section: "P15.1",
        title,
        body,
        expect: RowExpectation::Served,
    }
}

const WRONG: [RequirementRow; 15] = [
    wrong(
        "N-01",
        "an intent that is an object is refused, with its place",
        "context.user_intent",
        r#"{@V,"request":{"context":{"user_intent":{"do":"it"}}}}"#,
    ),
    wrong(
        "N-02",
        "an intent that is a number is refused, with its place",
        "context.user_intent",
        r#"{@V,"request":{"context":{"user_intent":42}}}"#,
    ),
    wrong(
        "N-03",
        "`context` as a list is refused, with its place",
        "context",
        r#"{@V,"request":{"context":["help"]}}"#,
    ),
    wrong(
        "N-04",
        "`auth` as a list is refused, with its place",
        "auth",
        r#"{@V,"request":{"auth":["sk"],"context":{@U}}}"#,
    ),
    wrong(
        "N-05",
        "`auth` as a string is refused, with its place",
        "auth",
        r#"{@V,"request":{"auth":"sk","context":{@U}}}"#,
    ),
    wrong(
        "N-06",
        "`session_id` as a number is refused, with its place",
        "context.session_id",
        r#"{@V,"request":{"context":{@U,"session_id":7}}}"#,
    ),
    wrong(
        "N-07",
        "`capabilities` as a list is refused, with its place",
        "capabilities",
        r#"{@V,"capabilities":["openharness.streaming"],@R}"#,
    ),
    wrong(
        "N-08",
        "`shell_kind` as a number is refused, with its place",
        "context.shell.shell_kind",
        r#"{@V,"request":{"context":{@U,"shell":{"shell_kind":7}}}}"#,
    ),
    wrong(
        "N-09",
        "`environment_state` as a list is refused, with its place",
        "context.environment_state",
        r#"{@V,"request":{"context":{@U,"environment_state":[]}}}"#,
    ),
    wrong(
        "N-10",
        "`business_key` as a number is refused, with its place",
        "context.task_hint.business_key",
        r#"{@V,"request":{"context":{@U,"task_hint":{"business_key":42}}}}"#,
    ),
    wrong(
        "N-11",
        "`continuation` as a list is refused, with its place",
        "context.continuation",
        r#"{@V,"request":{"context":{@U,"continuation":["x"]}}}"#,
    ),
    wrong(
        "N-12",
        "`extensions` as a list is refused, with its place",
        "extensions",
        r#"{@V,"request":{"extensions":[],"context":{@U}}}"#,
    ),
    wrong(
        "N-13",
        "a size below zero is refused, with its place",
        "context.attachments.0.size_bytes",
        r#"{@V,"request":{"context":{@U,"attachments":[{"asset_id":"a","size_bytes":-1}]}}}"#,
    ),
    wrong(
        "N-14",
        "`correlation_id` as a number is refused, with its place",
        "correlation_id",
        r#"{@V,"correlation_id":7,@R}"#,
    ),
    wrong(
        "N-15",
        "`privacy_tier` as a number is refused, with its place",
        "context.environment_state.privacy_tier",
        r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":3}}}}"#,
    ),
];

const NULLS: [RequirementRow; 4] = [
    fine(
        "N-20",
        "null in an optional field counts as absent",
        r#"{@V,"request":{"context":{@U,"session_id":null,"shell":null,"attachments":null}}}"#,
    ),
    fine("N-21", "null for `capabilities` counts as absent", r#"{@V,"capabilities":null,@R}"#),
    fine(
        "N-22",
        "null for `auth` counts as absent",
        r#"{@V,"request":{"auth":null,"context":{@U}}}"#,
    ),
    fine(
        "N-23",
        "an integer may be written with a fraction of zero",
        r#"{@V,"request":{"context":{@U,"attachments":[{"asset_id":"a","size_bytes":1.0}]}}}"#,
    ),
];

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = rows::cases("without a place, the author of a shell is left to guess", &WRONG);
    all.extend(rows::cases("many serializers write it so", &NULLS));
    all
}
