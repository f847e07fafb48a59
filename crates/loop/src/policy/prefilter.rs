//! What a policy is certainly about, or certainly not, told from the facts without asking Cedar.
//!
//! Read from the policy once, when a set is loaded; looked at for each proposal. A policy is passed
//! over when one of its conditions is false for certain and none before it can fail; it applies when
//! all of them were understood, none can fail, and all are true. Every other one is asked. What is not
//! understood here is unknown, which settles nothing.

mod approval_direction;
mod fact_names;
mod input;
mod read;

use cedar_policy::pst;

pub(super) use self::approval_direction::ApprovalDirection;
pub(super) use self::fact_names::{FactUsage, NamedFacts};
use self::input::{PrefilterEntity, PrefilterFlag, PrefilterText};
pub(super) use self::input::{PrefilterInput, PrefilterNumber};

/// The longest policy that is looked into, in bytes. A longer one is always asked: what it says is
/// nested as deeply as it likes.
const MAX_LOOKED_INTO: usize = 4_096;

/// Conditions of a policy that hold whenever it applies.
#[derive(Debug, Default)]
pub(super) struct PolicyPrefilter {
    tests: Vec<PrefilterTest>,
    /// Whether they are all that it asks for.
    is_whole: bool,
}

/// A condition that cannot fail.
#[derive(Debug, PartialEq)]
enum PrefilterTest {
    /// True or false: nobody looked.
    Unknown,
    Known(bool),
    Flag(PrefilterFlag),
    /// The text is one of these.
    Text(PrefilterText, Vec<Box<str>>),
    Number(PrefilterNumber, NumberOrder, i64),
    /// Both are the same.
    Same(PrefilterEntity, PrefilterEntity),
    /// The entity is one of these, or below one of them.
    In(PrefilterEntity, Vec<PrefilterEntity>),
    /// The entity is of this type.
    Is(PrefilterEntity, Box<str>),
    Not(Box<PrefilterTest>),
    All(Vec<PrefilterTest>),
    Any(Vec<PrefilterTest>),
}

/// Comparison of a number with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberOrder {
    Less,
    LessOrSame,
    Same,
    SameOrMore,
    More,
}

impl PolicyPrefilter {
    /// The sieve of a policy that passed the checks of types.
    pub(super) fn of(policy: &pst::Policy) -> Self {
        let (tests, is_whole) = read::tests(policy.body());
        Self { tests, is_whole }
    }

    /// Whether a policy of this length is looked into.
    pub(super) fn takes(text: &str) -> bool {
        text.len() <= MAX_LOOKED_INTO
    }

    /// Whether the policy applies, and does not fail; nothing if that is not certain.
    pub(super) fn settles(&self, told: &PrefilterInput<'_>) -> Option<bool> {
        let mut is_certain = self.is_whole;
        for test in &self.tests {
            match test.holds(told) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => is_certain = false,
            }
        }
        is_certain.then_some(true)
    }
}

impl PrefilterTest {
    /// Whether it holds, if that can be told. As deep as `read` goes.
    fn holds(&self, told: &PrefilterInput<'_>) -> Option<bool> {
        match self {
            PrefilterTest::Unknown => None,
            PrefilterTest::Known(known) => Some(*known),
            PrefilterTest::Flag(flag) => Some(told.flag(*flag)),
            PrefilterTest::Text(text, ones) => {
                let text = told.text(*text);
                Some(ones.iter().any(|one| **one == *text))
            }
            PrefilterTest::Number(number, order, than) => {
                Some(order.holds(told.number(*number), *than))
            }
            PrefilterTest::Same(one, other) => Some(told.thing(one) == told.thing(other)),
            PrefilterTest::In(one, others) => {
                let below = |other| told.is_in(one, other);
                any(others.iter().map(below))
            }
            PrefilterTest::Is(thing, kind) => Some(told.thing(thing).0 == &**kind),
            PrefilterTest::Not(test) => test.holds(told).map(|holds| !holds),
            PrefilterTest::All(tests) => {
                any(tests.iter().map(|test| test.holds(told).map(|holds| !holds))).map(|any| !any)
            }
            PrefilterTest::Any(tests) => any(tests.iter().map(|test| test.holds(told))),
        }
    }
}

/// Whether one of them is true: unknown if one may be and none is.
fn any(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut found = Some(false);
    for one in all {
        match one {
            Some(true) => return Some(true),
            Some(false) => {}
            None => found = None,
        }
    }
    found
}

impl NumberOrder {
    fn holds(self, one: i64, other: i64) -> bool {
        match self {
            NumberOrder::Less => one < other,
            NumberOrder::LessOrSame => one <= other,
            NumberOrder::Same => one == other,
            NumberOrder::SameOrMore => one >= other,
            NumberOrder::More => one > other,
        }
    }

    /// The comparison, read from the right.
    fn turned(self) -> Self {
        match self {
            NumberOrder::Less => NumberOrder::More,
            NumberOrder::LessOrSame => NumberOrder::SameOrMore,
            NumberOrder::Same => NumberOrder::Same,
            NumberOrder::SameOrMore => NumberOrder::LessOrSame,
            NumberOrder::More => NumberOrder::Less,
        }
    }
}
