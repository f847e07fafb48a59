//! What must hold for every answer of the run: said last, class by class.
//!
//! long: most of it is a table.

use super::EngineUnderTest;
use super::rows::GOOD;
use super::shape::ShapeFault;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// A class of faults: its case, how much it binds, where it is written, what is required, and why.
type Rule = (ShapeFault, &'static str, RequirementLevel, &'static str, &'static str, &'static str);

const MUST: RequirementLevel = RequirementLevel::Must;
const SHOULD: RequirementLevel = RequirementLevel::Should;

const RULES: [Rule; 31] = [
    (
        ShapeFault::Version,
        "Z-01",
        MUST,
        "3",
        "every answer has a version of the right form",
        "a shell that knows two versions cannot read an answer without one",
    ),
    (
        ShapeFault::Status,
        "Z-02",
        MUST,
        "13",
        "`status` is `success` or `error`",
        "a shell takes a third word for a success, or for an error",
    ),
    (
        ShapeFault::Null,
        "Z-03",
        MUST,
        "16",
        "no field of the protocol is null",
        "typed shells refuse the whole answer",
    ),
    (
        ShapeFault::Twice,
        "Z-04",
        MUST,
        "16",
        "answers are JSON that everybody reads alike",
        "two readers see two answers",
    ),
    (
        ShapeFault::Ids,
        "Z-05",
        MUST,
        "5.2",
        "ids in answers are strings that are not empty",
        "typed shells refuse the whole answer",
    ),
    (
        ShapeFault::Versions,
        "Z-06",
        MUST,
        "5.2",
        "`supported_protocol_versions` is a list of versions",
        "a shell picks one of them",
    ),
    (
        ShapeFault::Capabilities,
        "Z-07",
        MUST,
        "5.2",
        "`supported_capabilities` is an object",
        "a shell looks its features up there",
    ),
    (
        ShapeFault::Denials,
        "Z-08",
        MUST,
        "5.3",
        "`capability_denials` is a list of objects with `capability`",
        "a shell cannot tell what it must do without",
    ),
    (
        ShapeFault::Torn,
        "Z-09",
        MUST,
        "5.3",
        "nothing is offered and denied at once",
        "a shell cannot tell what it must do without",
    ),
    (
        ShapeFault::Uncoded,
        "Z-10",
        SHOULD,
        "5.3",
        "a denial has a code",
        "a program cannot read sentences",
    ),
    (
        ShapeFault::Latency,
        "Z-11",
        MUST,
        "14",
        "`engine_latency_ms` is a number from 0",
        "typed shells refuse the whole answer",
    ),
    (
        ShapeFault::Mixed,
        "Z-12",
        SHOULD,
        "13",
        "an error has `error` and no directives, a success no `error`",
        "shells would carry out half of what failed",
    ),
    (
        ShapeFault::Code,
        "Z-13",
        MUST,
        "13",
        "an error has a code",
        "a program cannot read sentences",
    ),
    (
        ShapeFault::Spelling,
        "Z-14",
        SHOULD,
        "13",
        "codes are small letters, digits and `_`",
        "codes are compared, logged and counted",
    ),
    (
        ShapeFault::ErrorTypes,
        "Z-15",
        MUST,
        "13",
        "the fields of an error are of their types",
        "typed shells refuse the whole answer",
    ),
    (
        ShapeFault::Retryable,
        "Z-16",
        SHOULD,
        "13",
        "an error says whether to try again",
        "shells give up what would work, or repeat what never will",
    ),
    (
        ShapeFault::Library,
        "Z-17",
        SHOULD,
        "13",
        "no text of a library, no trace, no path is in an error",
        "it holds values of the request, and tells who attacks what runs there",
    ),
    (
        ShapeFault::Stray,
        "Z-18",
        SHOULD,
        "4",
        "what is not of the protocol is in `extensions`",
        "a later version may use the name for something else",
    ),
    (
        ShapeFault::Prefix,
        "Z-19",
        SHOULD,
        "4",
        "keys of `extensions` have a prefix",
        "two vendors use one name",
    ),
    (
        ShapeFault::Directive,
        "Z-20",
        MUST,
        "10",
        "every directive has an `action_type`",
        "a shell can only skip it",
    ),
    (
        ShapeFault::Words,
        "Z-21",
        MUST,
        "10",
        "words of a directive are of their lists",
        "a shell takes an unknown tier for dangerous and asks",
    ),
    (
        ShapeFault::Gate,
        "Z-22",
        MUST,
        "10",
        "approval is a boolean, a deadline an integer from 0",
        "a shell must take anything else for the worst",
    ),
    (
        ShapeFault::Payload,
        "Z-23",
        MUST,
        "10",
        "payloads and extensions are objects",
        "typed shells refuse the whole answer",
    ),
    (
        ShapeFault::Type,
        "Z-24",
        SHOULD,
        "12",
        "types are of the registry, or have a prefix",
        "two vendors use one name",
    ),
    (
        ShapeFault::Fallback,
        "Z-25",
        SHOULD,
        "11",
        "types that shells may not know have a `message`",
        "the user of such a shell sees nothing at all",
    ),
    (
        ShapeFault::Text,
        "Z-26",
        SHOULD,
        "P15.4",
        "`render_message` has text",
        "an empty bubble is shown",
    ),
    (
        ShapeFault::Differs,
        "Z-27",
        SHOULD,
        "P15.4",
        "`text` and `message` are the same",
        "two shells show two answers",
    ),
    (
        ShapeFault::Blob,
        "Z-28",
        MUST,
        "9.1",
        "no file is inside a directive",
        "files in messages make every log on the way a file store",
    ),
    (
        ShapeFault::Names,
        "Z-29",
        SHOULD,
        "P15.4",
        "names of directives are unique",
        "the result of one is taken for that of another",
    ),
    (
        ShapeFault::Danger,
        "Z-30",
        SHOULD,
        "10",
        "what is dangerous asks the user first",
        "shells that trust the engine carry it out",
    ),
    (
        ShapeFault::Media,
        "Z-31",
        SHOULD,
        "P15.7",
        "answers say that they are JSON",
        "gateways and browsers go by it",
    ),
];

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let made = RULES.iter().map(|(class, id, level, section, title, why)| {
        ConformanceCase::new(id, *level, section, title, why, move |peer: &mut EngineUnderTest| {
            look(peer, *class)
        })
    });
    made.chain([ConformanceCase::new(
        "Z-32",
        MUST,
        "13",
        "the same fault has the same code",
        "shells are written for codes",
        same_code,
    )])
    .collect()
}

/// Makes the engine say something of each kind, then looks at all that it ever said.
fn look(peer: &mut EngineUnderTest, class: ShapeFault) -> Checked {
    if peer.wrong(class).is_none() {
        peer.ask_filled(GOOD)?;
        peer.ask_filled(r#"{@V,"request":7}"#)?;
        peer.ask_filled(r#"{@V,"capabilities":{"openharness.ui.rich_cards":true},@R}"#)?;
    }
    match peer.wrong(class) {
        Some(what) => Err(CheckFinding::fault(format!("in an answer of this run: {what}"))),
        None => Ok(()),
    }
}

fn same_code(peer: &mut EngineUnderTest) -> Checked {
    let (_, one) = peer.ask_filled(r#"{@V,"request":7}"#)?;
    let (_, other) = peer.ask_filled(r#"{@V,"request":7}"#)?;
    other.has(one.code().is_some() && one.code() == other.code(), "the same code as before")
}
