//! Cases that are a request and an expectation: most of the kit is tables of these.

use super::Engine;
use crate::case::{Case, Checked, Level};

/// A request that every engine serves.
pub const GOOD: &str = "{@V,@R}";

/// What must come back.
#[derive(Debug, Clone, Copy)]
pub enum Expect {
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
pub struct Row {
    /// Its name.
    pub id: &'static str,
    /// How much it binds.
    pub level: Level,
    /// Where it is written.
    pub section: &'static str,
    /// What is required.
    pub title: &'static str,
    /// What is sent, with the marks of [`Engine::fill`].
    pub body: &'static str,
    /// What must come back.
    pub expect: Expect,
}

/// The cases of a table.
pub fn cases(why: &'static str, rows: &[Row]) -> Vec<Case<Engine>> {
    let made = rows.iter().copied().map(|row| {
        let Row { id, level, section, title, body, expect } = row;
        Case::new(id, level, section, title, why, move |peer: &mut Engine| {
            check(peer, body, expect)
        })
    });
    made.collect()
}

/// Sends and compares. What is refused must not cost the next one its answer.
fn check(peer: &mut Engine, body: &str, expect: Expect) -> Checked {
    let (_, answer) = peer.ask_filled(body)?;
    match expect {
        Expect::Served => answer.is_served(),
        Expect::Refused => answer.is_refused(),
        Expect::As(codes) => answer.is_refused_as(codes),
        Expect::Answered => Ok(()),
        Expect::At(field) => {
            answer.is_refused_as(&["invalid_request"])?;
            let is_named = answer.at("/response/error/details/field") == field;
            answer.has(is_named, &format!("`response.error.details.field` to be `{field}`"))
        }
    }
}
