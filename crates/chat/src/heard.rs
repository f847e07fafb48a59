//! Numbers of a session that were heard: each is shown once, whatever comes twice.

use std::collections::BTreeSet;

/// Numbers that were heard.
#[derive(Debug, Default)]
pub struct HeardNumbers {
    /// Everything up to here was heard.
    cursor: u64,
    /// Numbers behind it that were heard.
    ahead: BTreeSet<u64>,
}

impl HeardNumbers {
    /// Begins behind a number.
    pub fn after(cursor: u64) -> HeardNumbers {
        HeardNumbers { cursor, ahead: BTreeSet::new() }
    }

    /// Number to attach behind: nothing up to it is missing.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Takes a number; `false` if it was heard before.
    pub fn take(&mut self, seq: u64) -> bool {
        if seq <= self.cursor || !self.ahead.insert(seq) {
            return false;
        }
        while self.ahead.remove(&(self.cursor + 1)) {
            self.cursor += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::HeardNumbers;

    #[test]
    fn each_number_counts_once_and_gaps_hold_the_cursor() {
        let mut heard = HeardNumbers::after(10);
        let taken = [10, 11, 13, 13, 14, 12, 12].map(|seq| heard.take(seq));
        assert_eq!(taken, [false, true, true, false, true, true, false]);
        assert_eq!(heard.cursor(), 14);
    }
}
