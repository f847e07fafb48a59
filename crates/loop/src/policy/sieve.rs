//! What a policy is certainly about, or certainly not, told from the facts without asking Cedar.
//!
//! Read from the policy once, when a set is loaded; looked at for each proposal. A policy is passed
//! over when one of its conditions is false for certain and none before it can fail; it applies when
//! all of them were understood, none can fail, and all are true. Every other one is asked. What is not
//! understood here is unknown, which settles nothing.

mod named;
mod read;
mod sway;
mod told;

use cedar_policy::pst;

pub(super) use self::named::{How, Named};
pub(super) use self::sway::Sway;
use self::told::{Flag, Text, Thing};
pub(super) use self::told::{Number, Told};

/// The longest policy that is looked into, in bytes. A longer one is always asked: what it says is
/// nested as deeply as it likes.
const MAX_LOOKED_INTO: usize = 4_096;

/// Conditions of a policy that hold whenever it applies.
#[derive(Debug, Default)]
pub(super) struct Sieve {
    tests: Vec<Test>,
    /// Whether they are all that it asks for.
    is_whole: bool,
}

/// A condition that cannot fail.
#[derive(Debug, PartialEq)]
enum Test {
    /// True or false: nobody looked.
    Unknown,
    Known(bool),
    Flag(Flag),
    /// The text is one of these.
    Text(Text, Vec<Box<str>>),
    Number(Number, Order, i64),
    /// Both are the same.
    Same(Thing, Thing),
    /// It is one of these, or below one of them.
    In(Thing, Vec<Thing>),
    /// It is of this type.
    Is(Thing, Box<str>),
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
}

/// How a number compares with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Less,
    LessOrSame,
    Same,
    SameOrMore,
    More,
}

impl Sieve {
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
    pub(super) fn settles(&self, told: &Told<'_>) -> Option<bool> {
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

impl Test {
    /// Whether it holds, if that can be told. As deep as `read` goes.
    fn holds(&self, told: &Told<'_>) -> Option<bool> {
        match self {
            Test::Unknown => None,
            Test::Known(known) => Some(*known),
            Test::Flag(flag) => Some(told.flag(*flag)),
            Test::Text(text, ones) => {
                let text = told.text(*text);
                Some(ones.iter().any(|one| **one == *text))
            }
            Test::Number(number, order, than) => Some(order.holds(told.number(*number), *than)),
            Test::Same(one, other) => Some(told.thing(one) == told.thing(other)),
            Test::In(one, others) => {
                let below = |other| told.is_in(one, other);
                any(others.iter().map(below))
            }
            Test::Is(thing, kind) => Some(told.thing(thing).0 == &**kind),
            Test::Not(test) => test.holds(told).map(|holds| !holds),
            Test::All(tests) => {
                any(tests.iter().map(|test| test.holds(told).map(|holds| !holds))).map(|any| !any)
            }
            Test::Any(tests) => any(tests.iter().map(|test| test.holds(told))),
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

impl Order {
    fn holds(self, one: i64, other: i64) -> bool {
        match self {
            Order::Less => one < other,
            Order::LessOrSame => one <= other,
            Order::Same => one == other,
            Order::SameOrMore => one >= other,
            Order::More => one > other,
        }
    }

    /// The same, read from the right.
    fn turned(self) -> Self {
        match self {
            Order::Less => Order::More,
            Order::LessOrSame => Order::SameOrMore,
            Order::Same => Order::Same,
            Order::SameOrMore => Order::LessOrSame,
            Order::More => Order::Less,
        }
    }
}
