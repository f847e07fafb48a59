//! The exact value of a JSON number, from its text: no float in between, so that `1.0` and `1e3` are
//! integers and 2^63 is not rounded. Called by `JsonNumber` and by the canonical form.

/// Exponents beyond this are cut to it: no number of a message means so much.
const MAX_EXPONENT: i64 = 1 << 40;

/// `0.DIGITS` times ten to the power of `point`; no digits for zero.
pub(super) struct Decimal {
    pub(super) negative: bool,
    /// ASCII digits without zeros at either end.
    pub(super) digits: Vec<u8>,
    pub(super) point: i64,
    /// The exponent was cut: the value is not exact.
    pub(super) cut: bool,
}

impl Decimal {
    /// Takes the text of a checked number apart.
    pub(super) fn of(text: &str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (exponent, cut) = power(exponent);
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..leading);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let point = count(whole.len()) - count(leading) + exponent;
        if digits.is_empty() {
            return Decimal { negative: false, digits, point: 0, cut: false };
        }
        Decimal { negative, digits, point, cut }
    }

    /// The value as a count: `None` when it is negative or has a fraction; as much as fits when it
    /// is larger than that.
    pub(super) fn as_u64(&self) -> Option<u64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        if self.negative || self.point < count(self.digits.len()) {
            return None;
        }
        Some(self.floor())
    }

    /// The whole part of a value that is not negative, as much as fits.
    pub(super) fn floor(&self) -> u64 {
        let mut value: u64 = 0;
        let zeros = std::iter::repeat(&b'0');
        let places = usize::try_from(self.point.clamp(0, 21)).unwrap_or(0);
        for digit in self.digits.iter().chain(zeros).take(places) {
            value = value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
        }
        value
    }
}

fn power(text: &str) -> (i64, bool) {
    let negative = text.starts_with('-');
    let mut value: i64 = 0;
    for digit in text.bytes().filter(u8::is_ascii_digit) {
        value = (value * 10 + i64::from(digit - b'0')).min(MAX_EXPONENT + 1);
    }
    let cut = value > MAX_EXPONENT;
    let value = value.min(MAX_EXPONENT);
    (if negative { -value } else { value }, cut)
}

/// A number of digits; a text is far shorter than what fits.
fn count(digits: usize) -> i64 {
    i64::try_from(digits).unwrap_or(i64::MAX / 4)
}
