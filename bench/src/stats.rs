//! Medians and spreads of repeated measurements. Called by every measuring module.

/// Spread of one contender over all rounds. The unit is the caller's.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// The middle value, which the tables and ratios use.
    pub median: f64,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

impl Spread {
    /// Sums up `samples`; all zeros when there are none.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else {
            return Self { median: 0.0, low: 0.0, high: 0.0 };
        };
        Self { median: quantile(&sorted, 0.5), low: *low, high: *high }
    }
}

/// The value at `share` (0 to 1) of `sorted`, taking the nearest rank; zero when empty.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank between 0 and `last`"
    )]
    let rank = (share * last as f64).round() as usize;
    sorted[rank.min(last)]
}
