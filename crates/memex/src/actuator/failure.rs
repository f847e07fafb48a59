//! Proposals after a turn that failed: to take its changes back, or a note on what stays. Called by the loop when
//! such a turn has ended; judged like any other proposal.

use crate::{FilePath, MemoryError, MemoryStore};
use bridle_loop::{KeywordName, Proposal, ReflexAdvice};
use bridle_sexp::Value;

use super::MEMORY;
use crate::RollbackChoice;

/// Files that are named in a message: the record has all of them.
const MAX_NAMED_FILES: usize = 16;

/// Proposes what follows from the changes of a failed turn; nothing if it made none, or they are taken back
/// already.
pub(super) fn advice(
    memory: &MemoryStore,
    choice: RollbackChoice,
    session: &str,
    turn: u64,
) -> ReflexAdvice {
    let changed = match memory.rollback(session, turn) {
        Err(MemoryError::NoTurn { .. }) => return ReflexAdvice::default(),
        Ok(changes) if changes.is_empty() => return ReflexAdvice::default(),
        Ok(changes) => changes.into_iter().map(|change| change.path).collect(),
        // Conflicts, or a file that cannot be read: looked at before it is judged, it says so.
        Err(_) => Vec::new(),
    };
    let (target, payload) = match choice {
        RollbackChoice::Off => (None, stays(&changed, session, turn)),
        RollbackChoice::Ask | RollbackChoice::Auto => {
            (Some(KeywordName::new(MEMORY)), rollback(session, turn))
        }
    };
    let explanation = Some(format!("turn {turn} failed").into());
    let proposal = Proposal { explanation, ..Proposal::new(target, payload) };
    let standing = choice == RollbackChoice::Auto;
    ReflexAdvice { proposals: vec![proposal], standing, ..ReflexAdvice::default() }
}

fn rollback(session: &str, turn: u64) -> Value {
    Value::plist([
        ("action", Value::keyword("rollback")),
        ("session", Value::str(session)),
        ("turn", Value::int(i64::try_from(turn).unwrap_or(i64::MAX))),
    ])
}

fn stays(changed: &[FilePath], session: &str, turn: u64) -> Value {
    let named: Vec<&str> = changed.iter().map(FilePath::as_str).take(MAX_NAMED_FILES).collect();
    let places =
        if named.is_empty() { String::new() } else { format!(" in `{}`", named.join("`, `")) };
    let text = format!(
        "turn {turn} failed; what it changed{places} stays; `bridle memory rollback {session} {turn}` \
         takes it back"
    );
    Value::plist([("action", Value::keyword("message")), ("text", Value::str(text))])
}
