//! Money in whole millionths of a US dollar, and prices per million tokens. No fractions: a sum of many turns must be
//! the sum that is shown.

use std::fmt;
use std::ops::Add;

/// Amount of money in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroDollars(pub u64);

impl Add for MicroDollars {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// `$1.25`, `$0.000310`: at least cents, and all of the digits that say something.
impl fmt::Display for MicroDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if rest % 10_000 == 0 {
            write!(f, "${whole}.{:02}", rest / 10_000)
        } else {
            write!(f, "${whole}.{rest:06}")
        }
    }
}

impl MicroDollars {
    /// Reads dollars as people write them: `2`, `2.50`, `0.075`; at most six places.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, places) = text.split_once('.').unwrap_or((text, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || places.len() > 6 || !are_digits(whole) || !are_digits(places) {
            return None;
        }
        let micro: u64 = format!("{places:0<6}").parse().ok()?;
        whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(micro).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::MicroDollars;

    #[test]
    fn dollars_are_read_and_written_without_loss() {
        for (text, micro) in
            [("2", 2_000_000), ("2.50", 2_500_000), ("0.075", 75_000), ("0.000001", 1)]
        {
            assert_eq!(MicroDollars::parse(text), Some(MicroDollars(micro)), "{text}");
        }
        for text in ["", ".5", "-1", "+1", "1e3", "1,5", "0.0000001", "99999999999999999999"] {
            assert_eq!(MicroDollars::parse(text), None, "{text}");
        }
        let shown =
            [0, 1_250_000, 310, 2_000_000, 10_000].map(|micro| MicroDollars(micro).to_string());
        assert_eq!(shown, ["$0.00", "$1.25", "$0.000310", "$2.00", "$0.01"]);
    }
}
