//! What happens in a schedule, decided by its seed alone: how many shells in which sessions, and the
//! lives of the daemon with the end of each. `schedule` plays it; only time itself is not planned.

use std::fmt;

use super::random::SplitMix;
use super::shell::ClientLanguage;

/// Shells of a schedule, at least and at most.
const SHELLS: (u64, u64) = (2, 4);

/// Prompts of each shell.
const PROMPTS: (u64, u64) = (4, 14);

/// Lives of the daemon that end badly, before the last one that does not.
const LIVES: (u64, u64) = (2, 4);

/// Milliseconds that a life lasts when its end is not a fault point.
const LIFE_MS: (u64, u64) = (5, 250);

/// Milliseconds to wait for a fault point to be reached, before the daemon is killed anyway.
const POINT_PATIENCE_MS: u64 = 700;

/// Milliseconds that the disk is full.
const FULL_MS: (u64, u64) = (20, 150);

/// Largest jump of the wall clock, in milliseconds: an hour. Receipts are kept for a day, so all jumps
/// of a schedule together must stay below it.
const JUMP_MS: u64 = 3_600_000;

/// One schedule.
#[derive(Debug, Clone)]
pub(crate) struct ChaosSchedule {
    pub(crate) seed: u64,
    pub(crate) shells: Vec<ShellPlan>,
    pub(crate) lives: Vec<DaemonLife>,
    /// Sessions are begun and forgotten all the while.
    pub(crate) guest: bool,
}

/// One shell: where it attaches and how much it says.
#[derive(Debug, Clone)]
pub(crate) struct ShellPlan {
    /// Session of the shell; shells with the same number share it.
    pub(crate) session: u64,
    pub(crate) prompts: u64,
    /// Percent of its writes that end in the middle of a frame, with the connection.
    pub(crate) cuts: u64,
    pub(crate) random: SplitMix,
    /// A client of `clients/` plays it.
    pub(crate) language: Option<ClientLanguage>,
}

/// One life of the daemon.
#[derive(Debug, Clone)]
pub(crate) struct DaemonLife {
    pub(crate) meanwhile: Vec<LifeTrouble>,
    pub(crate) end: LifeEnd,
    /// The machine loses power in the instant the process ends: what was not synced is gone.
    pub(crate) power: Option<PowerLoss>,
}

/// Trouble during a life.
#[derive(Debug, Clone)]
pub(crate) enum LifeTrouble {
    /// No page can be added to the record for this long.
    Full { ms: u64 },
    /// The wall clock is off by this much from now on.
    Clock { offset_ms: i64 },
}

/// End of a life.
#[derive(Debug, Clone)]
pub(crate) enum LifeEnd {
    /// SIGKILL from outside.
    Kill { after_ms: u64 },
    /// SIGKILL from inside, when a point is reached for the nth time.
    Point { name: String, nth: u64, patience_ms: u64 },
    /// SIGTERM.
    Stop { after_ms: u64 },
}

/// State of the disk after a loss of power.
#[derive(Debug, Clone)]
pub(crate) enum PowerLoss {
    /// The last synced state and nothing more.
    Synced,
    /// Any of the sectors written since.
    Torn(SplitMix),
}

impl ChaosSchedule {
    /// The plan of a seed. One of its lives ends at the point that is this seed's turn.
    pub(crate) fn new(seed: u64, points: &[String]) -> Self {
        let mut random = SplitMix::new(seed);
        let sessions = random.between(1, 2);
        let shells = (0..random.between(SHELLS.0, SHELLS.1))
            .map(|index| ShellPlan {
                session: index % sessions,
                prompts: random.between(PROMPTS.0, PROMPTS.1),
                cuts: if random.chance(60) { random.between(1, 20) } else { 0 },
                random: random.split(),
                language: None,
            })
            .collect();
        let count = random.between(LIVES.0, LIVES.1);
        let turn = random.below(count);
        let lives: Vec<DaemonLife> = (0..count)
            .map(|life| {
                let end = if life == turn {
                    let index = usize::try_from(seed % points.len() as u64)
                        .expect("an index below a length in memory");
                    LifeEnd::at(&points[index], &mut random)
                } else {
                    LifeEnd::random(points, &mut random)
                };
                DaemonLife::new(end, &mut random)
            })
            .collect();
        let guest = random.chance(20) || lives.iter().any(DaemonLife::needs_a_guest);
        Self { seed, shells, lives, guest }
    }
}

impl ChaosSchedule {
    /// Has the first two shells played by clients in other languages, who by turns rings the bell.
    pub(crate) fn with_clients(mut self) -> Self {
        let mut languages = [ClientLanguage::Python, ClientLanguage::TypeScript];
        languages.rotate_left(usize::from(self.seed % 2 == 1));
        for (shell, language) in self.shells.iter_mut().zip(languages) {
            shell.language = Some(language);
        }
        self
    }
}

/// Points with these words are only passed when something is forgotten.
const FORGETTING: &[&str] = &["forget", "forgotten", "scrub"];

impl DaemonLife {
    fn needs_a_guest(&self) -> bool {
        let LifeEnd::Point { name, .. } = &self.end else { return false };
        FORGETTING.iter().any(|word| name.contains(word))
    }

    fn new(end: LifeEnd, random: &mut SplitMix) -> Self {
        let mut meanwhile = Vec::new();
        if random.chance(25) {
            meanwhile.push(LifeTrouble::Full { ms: random.between(FULL_MS.0, FULL_MS.1) });
        }
        if random.chance(25) {
            let jump = i64::try_from(random.below(2 * JUMP_MS)).expect("two hours fit");
            let back = i64::try_from(JUMP_MS).expect("an hour fits");
            meanwhile.push(LifeTrouble::Clock { offset_ms: jump - back });
        }
        let power = match end {
            LifeEnd::Stop { .. } => None,
            LifeEnd::Kill { .. } | LifeEnd::Point { .. } if random.chance(60) => None,
            LifeEnd::Kill { .. } | LifeEnd::Point { .. } if random.chance(40) => {
                Some(PowerLoss::Synced)
            }
            LifeEnd::Kill { .. } | LifeEnd::Point { .. } => Some(PowerLoss::Torn(random.split())),
        };
        Self { meanwhile, end, power }
    }
}

impl LifeEnd {
    fn at(name: &str, random: &mut SplitMix) -> Self {
        // Early visits mostly: a point that is rarely passed must not be waited for in vain.
        let rare = FORGETTING.iter().any(|word| name.contains(word));
        let nth = if rare || random.chance(50) { 1 } else { random.between(1, 12) };
        Self::Point { name: name.to_owned(), nth, patience_ms: POINT_PATIENCE_MS }
    }

    fn random(points: &[String], random: &mut SplitMix) -> Self {
        let after_ms = random.between(LIFE_MS.0, LIFE_MS.1);
        match random.below(10) {
            0..=4 => Self::Kill { after_ms },
            5..=8 => Self::at(&points[random.index(points.len())], random),
            _ => Self::Stop { after_ms },
        }
    }
}

/// One line for a report: what a person needs to picture the schedule.
impl fmt::Display for ChaosSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shells", self.shells.len())?;
        for language in self.shells.iter().filter_map(|shell| shell.language) {
            write!(f, ", {language:?}")?;
        }
        write!(f, ";")?;
        for life in &self.lives {
            for trouble in &life.meanwhile {
                match trouble {
                    LifeTrouble::Full { ms } => write!(f, " disk full for {ms} ms,")?,
                    LifeTrouble::Clock { offset_ms } => write!(f, " clock off by {offset_ms} ms,")?,
                }
            }
            match &life.end {
                LifeEnd::Kill { after_ms } => write!(f, " killed after {after_ms} ms")?,
                LifeEnd::Point { name, nth, .. } => write!(f, " killed at {name}:{nth}")?,
                LifeEnd::Stop { after_ms } => write!(f, " stopped after {after_ms} ms")?,
            }
            match &life.power {
                None => write!(f, ";")?,
                Some(PowerLoss::Synced) => write!(f, " with the power;")?,
                Some(PowerLoss::Torn(_)) => write!(f, " with the power, torn;")?,
            }
        }
        write!(f, " then in peace")
    }
}

#[cfg(test)]
mod tests {
    use super::{ChaosSchedule, LifeEnd};

    #[test]
    fn every_point_has_its_turn() {
        let points: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        for seed in 0..30_u64 {
            let turn = &points[usize::try_from(seed % 3).unwrap()];
            let plan = ChaosSchedule::new(seed, &points);
            let hit = |end: &LifeEnd| matches!(end, LifeEnd::Point { name, .. } if name == turn);
            assert!(plan.lives.iter().any(|life| hit(&life.end)), "{seed}: {plan}");
        }
    }

    #[test]
    fn a_seed_is_a_plan() {
        let points = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(
            ChaosSchedule::new(5, &points).to_string(),
            ChaosSchedule::new(5, &points).to_string()
        );
        assert_ne!(
            ChaosSchedule::new(5, &points).to_string(),
            ChaosSchedule::new(6, &points).to_string()
        );
    }
}
