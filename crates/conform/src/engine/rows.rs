//! Cases that are a request and an expectation: most of the kit is tables of these.

use super::EngineUnderTest;
use crate::case::{Checked, ConformanceCase, RequirementLevel};

/// A request that every engine serves.
pub const GOOD: &str = "{@V,@R}";

/// Answer that must come back.
#[derive(Debug, Clone, Copy)]
pub enum RowExpectation {
    /// A success.
    Served,
    /// An error.
    Refused,
    /// An error of one of these codes.
    As(&'static [&'static str]),
    /// An error `invalid_request` that names this place.
    At(&'static str),
    /// A message, of whatever kind.
    Answered,
}

/// A requirement that one request shows.
#[derive(Debug, Clone, Copy)]
pub struct RequirementRow {
    /// Name of the requirement.
    pub id: &'static str,
    /// Force of the requirement.
    pub level: RequirementLevel,
    /// Section that states it.
    pub section: &'static str,
    /// Requirement, in a sentence.
    pub title: &'static str,
    /// Body to send, with the marks of [`EngineUnderTest::fill`].
    pub body: &'static str,
    /// Answer that must come back.
    pub expect: RowExpectation,
}

/// The cases of a table.
pub fn cases(why: &'static str, rows: &[RequirementRow]) -> Vec<ConformanceCase<EngineUnderTest>> {
    let made = rows.iter().copied().map(|row| {
        let RequirementRow { id, level, section, title, body, expect } = row;
        ConformanceCase::new(id, level, section, title, why, move |peer: &mut EngineUnderTest| {
            check(peer, body, expect)
        })
    });
    made.collect()
}

/// Sends and compares. What is refused must not cost the next one its answer.
fn check(peer: &mut EngineUnderTest, body: &str, expect: RowExpectation) -> Checked {
    let (_, answer) = peer.ask_filled(body)?;
    match expect {
        RowExpectation::Served => answer.is_served(),
        RowExpectation::Refused => answer.is_refused(),
        RowExpectation::As(codes) => answer.is_refused_as(codes),
        RowExpectation::Answered => Ok(()),
        RowExpectation::At(field) => {
            answer.is_refused_as(&["invalid_request"])?;
            let is_named = answer.at("/response/error/details/field") == field;
            answer.has(is_named, &format!("`response.error.details.field` to be `{field}`"))
        }
    }
}
