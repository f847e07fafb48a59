//! Results that a prompt names by their place alone, read whole before a skill gets them.

use std::sync::Arc;

use bridle_host::ThoughtIo;
use bridle_loop::{CallEnd, Deed, Outcome, ThinkerPrompt, ThoughtRound};

/// Reads the results of the last rounds, `rounds` of them.
///
/// # Errors
/// The record has one of them no more.
pub(crate) async fn read_whole(
    prompt: &mut ThinkerPrompt,
    rounds: usize,
    io: &ThoughtIo,
) -> Result<(), &'static str> {
    let first = prompt.rounds.len().saturating_sub(rounds);
    for round in &mut prompt.rounds[first..] {
        let mut calls = round.calls.clone();
        let mut is_changed = false;
        for call in &mut calls {
            let CallEnd::Deed(deed) = &call.end else { continue };
            let Some(stored) = deed.stored else { continue };
            let whole = io.result(&stored).await;
            let whole = whole.ok_or("a result of this turn is in the record no more")?;
            let outcome = Outcome::Done(whole);
            call.end = CallEnd::Deed(Arc::new(Deed { outcome, stored: None, ..Deed::clone(deed) }));
            is_changed = true;
        }
        if is_changed {
            *round = Arc::new(ThoughtRound { calls, ..ThoughtRound::clone(round) });
        }
    }
    Ok(())
}
