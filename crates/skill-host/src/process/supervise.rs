//! How often a program may be started again: after processes that died one after the other, only after a while that
//! doubles each time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bridle_skill::{SkillFault, SkillFaultKind};

/// Deaths in a row that cost nothing.
const FREE_DEATHS: u32 = 1;

/// Wait behind the first death that costs something.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Counter of the deaths of one program.
#[derive(Default)]
pub(super) struct StartSupervisor(Mutex<StartState>);

#[derive(Default)]
struct StartState {
    deaths: u32,
    /// Time before which nothing is started.
    not_before: Option<Instant>,
}

impl StartSupervisor {
    /// Whether a process may be started now.
    ///
    /// # Errors
    /// Says how many died, and when the next is started.
    pub(super) fn permit(&self) -> Result<(), SkillFault> {
        self.permit_at(Instant::now())
    }

    /// Notes the end of a step: whether the process died in it.
    pub(super) fn note(&self, died: bool) {
        self.note_at(died, Instant::now());
    }

    fn permit_at(&self, now: Instant) -> Result<(), SkillFault> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = state.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        if left.is_zero() {
            return Ok(());
        }
        let reason = format!(
            "its process died {} times in a row; it is started again in {} s",
            state.deaths,
            left.as_secs() + 1
        );
        Err(SkillFault::new(SkillFaultKind::Limit, reason))
    }

    fn note_at(&self, died: bool, now: Instant) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !died {
            *state = StartState::default();
            return;
        }
        state.deaths = state.deaths.saturating_add(1);
        let above = state.deaths.saturating_sub(FREE_DEATHS + 1).min(16);
        let wait = (FIRST_WAIT * 2_u32.pow(above)).min(LONGEST_WAIT);
        state.not_before = (state.deaths > FREE_DEATHS).then(|| now + wait);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::StartSupervisor;

    #[test]
    fn deaths_in_a_row_cost_more_and_more_and_a_step_that_ends_well_nothing() {
        let (starts, now) = (StartSupervisor::default(), Instant::now());
        let waits: Vec<u64> = (0..9)
            .map(|_| {
                starts.note_at(true, now);
                (0..100)
                    .find(|wait| starts.permit_at(now + Duration::from_secs(*wait)).is_ok())
                    .unwrap()
            })
            .collect();
        assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        let told = starts.permit_at(now).unwrap_err().message;
        assert_eq!(told, "its process died 9 times in a row; it is started again in 61 s");
        starts.note_at(false, now);
        assert!(starts.permit_at(now).is_ok());
    }
}
