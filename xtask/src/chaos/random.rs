//! Random numbers from a seed: the same seed gives the same schedule on every machine. Used by the
//! plan, the shells and the disk; nothing here is fit for secrets.

/// A stream of numbers (SplitMix64: one addition and three mixing steps, passes the usual batteries).
#[derive(Debug, Clone)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for one part of a schedule, so that its length does not move the others.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to but not including `bound`; 0 when there is nothing to choose from.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// An index of a slice of this length.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("an index below a length in memory")
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix;

    #[test]
    fn a_seed_is_a_stream() {
        let draw = |seed| {
            let mut random = SplitMix::new(seed);
            [random.next(), random.below(7), random.between(3, 5), random.split().next()]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn bounds_hold() {
        let mut random = SplitMix::new(7);
        for _ in 0..1000 {
            assert!((3..=5).contains(&random.between(3, 5)));
            assert!(random.index(4) < 4);
        }
        assert_eq!(random.below(0), 0);
        assert!(!random.chance(0) && random.chance(100));
    }
}
