//! What is kept unchanged for many events, with its text beside it.
//!
//! The text of the state is hashed after every turn. Exchanges and rulings are most of it and never
//! change: written once, not once a turn. For 22 KB of state that is 7 us instead of 46 us a turn.

use std::sync::Arc;

use bridle_sexp::{Dialect, Value, print};

use crate::effect::{Exchange, Ruling};

/// A thing and its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept<T> {
    thing: Arc<T>,
    text: Arc<str>,
}

/// What can be kept.
pub(crate) trait Written {
    fn written(&self) -> Value;
}

impl Written for Exchange {
    fn written(&self) -> Value {
        self.to_value()
    }
}

impl Written for Ruling {
    fn written(&self) -> Value {
        self.to_value()
    }
}

impl<T: Written> Kept<T> {
    pub(crate) fn new(thing: Arc<T>) -> Self {
        let text = text(&thing.written()).into();
        Self { thing, text }
    }

    pub(crate) fn thing(&self) -> &Arc<T> {
        &self.thing
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// The canonical text of a value.
pub(super) fn text(value: &Value) -> String {
    let mut text = String::new();
    print(value, Dialect::Lisp, &mut text);
    text
}
