//! Digits of a float that end at a wanted place: what `format`'s `~f` and `~$` print. The free-format algorithm of
//! Burger and Dybvig, whose interval is widened to half a unit of the last place that is wanted.

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{One as _, Zero as _};

use super::float_text::FloatDigits;

/// Place at which digits end.
#[derive(Clone, Copy)]
pub(crate) enum DigitCut {
    /// As few as read back as the same float.
    Shortest,
    /// At the digit of this power of ten.
    Power(i32),
    /// After so many digits.
    Count(i32),
}

/// Powers of ten beyond all floats.
pub(crate) const MOST_PLACES: i32 = 1_200;

/// Digits of which no float needs more.
const MOST_DIGITS: i32 = 20;

/// A positive float as a whole number times a power of two.
#[derive(Clone, Copy)]
pub(crate) struct BinaryFloat {
    mantissa: u64,
    exponent: i32,
    /// Bits of a mantissa.
    precision: u32,
    least_exponent: i32,
}

impl BinaryFloat {
    pub(crate) fn of_single(number: f32) -> Self {
        let (bits, field) = (number.to_bits(), (number.to_bits() >> 23 & 0xFF) as i32);
        let fraction = u64::from(bits & 0x7F_FFFF);
        let hidden = if field == 0 { 0 } else { 1 << 23 };
        let exponent = field.max(1) - 150;
        Self { mantissa: fraction | hidden, exponent, precision: 24, least_exponent: -149 }
    }

    pub(crate) fn of_double(number: f64) -> Self {
        let (bits, field) = (number.to_bits(), (number.to_bits() >> 52 & 0x7FF) as i32);
        let fraction = bits & 0xF_FFFF_FFFF_FFFF;
        let hidden = if field == 0 { 0 } else { 1 << 52 };
        let exponent = field.max(1) - 1075;
        Self { mantissa: fraction | hidden, exponent, precision: 53, least_exponent: -1074 }
    }

    /// Steps of fuel that its digits cost.
    pub(crate) fn digit_steps(self) -> usize {
        64 + self.exponent.unsigned_abs() as usize
    }

    /// A power of ten that is not above the float, and not far below.
    fn least_power(self) -> i32 {
        let bits = 64 - self.mantissa.leading_zeros() as i32 + self.exponent;
        (bits - 1) * 30_103 / 100_000 - 1
    }

    /// Whether it has fewer bits than others; SBCL prints more digits of such a float than it needs.
    pub(crate) fn is_denormal(self) -> bool {
        self.mantissa < 1 << (self.precision - 1)
    }

    /// Whether the float below is nearer than the one above.
    fn is_uneven(self) -> bool {
        self.mantissa == 1 << (self.precision - 1) && self.exponent > self.least_exponent
    }
}

/// A value `r/s` and the distances `below/s` and `above/s` within which digits stand for it.
struct DigitInterval {
    /// Power of ten that is not above the value.
    least_power: i32,
    r: BigInt,
    s: BigInt,
    below: BigInt,
    above: BigInt,
    is_closed: bool,
}

impl DigitInterval {
    fn new(float: BinaryFloat) -> Self {
        let (unit, below_one) = (power(2, float.exponent), power(2, -float.exponent));
        let wide = i32::from(float.is_uneven());
        Self {
            least_power: float.least_power(),
            r: (BigInt::from(float.mantissa) * &unit) << (1 + wide),
            s: below_one << (1 + wide),
            below: unit.clone(),
            above: unit << wide,
            is_closed: float.mantissa.is_even(),
        }
    }

    fn scale(&mut self, factor: &BigInt) {
        for part in [&mut self.r, &mut self.s, &mut self.below, &mut self.above] {
            *part *= factor;
        }
    }

    /// Widens the interval to half a unit of a power of ten.
    fn widen(&mut self, place: i32) {
        let fraction = power(10, -place) * 2_i32;
        self.scale(&fraction);
        let half = &self.s * power(10, place) / fraction;
        self.below = half.clone().max(self.below.clone());
        self.above = half.max(self.above.clone());
        self.is_closed = true;
    }

    /// The power of ten of the last of `count` digits; as in SBCL one more where rounding would make a digit in front.
    fn power_of_last(&self, count: i32) -> i32 {
        let mut places = self.least_power.max(0);
        let mut top = &self.s * power(10, places);
        while top < &self.r + &self.above {
            top *= 10_i32;
            places += 1;
        }
        let last = places - count;
        let (unit, fraction) = (power(10, last), power(10, -last));
        // r + s * 10^last / 2 < top, without fractions.
        let rounded = (&self.r * 2_i32 * &fraction) + &self.s * unit;
        if rounded < top * 2_i32 * fraction { last } else { last - 1 }
    }

    fn reaches(&self, sum: &BigInt) -> bool {
        if self.is_closed { *sum >= self.s } else { *sum > self.s }
    }

    /// Moves the point in front of the first digit; returns how far.
    fn place_point(&mut self) -> i32 {
        let mut exponent = 0;
        // What rounds to nothing keeps its point.
        if self.r > self.below {
            exponent = self.least_power;
            self.s *= power(10, exponent);
            let up = power(10, -exponent);
            for part in [&mut self.r, &mut self.below, &mut self.above] {
                *part *= &up;
            }
        }
        while self.reaches(&(&self.r + &self.above)) {
            self.s *= 10_i32;
            exponent += 1;
        }
        while self.r > self.below && !self.reaches(&((&self.r + &self.above) * 10_i32)) {
            self.r *= 10_i32;
            self.below *= 10_i32;
            self.above *= 10_i32;
            exponent -= 1;
        }
        exponent
    }

    fn digits(mut self) -> String {
        let mut digits = String::new();
        loop {
            let (digit, rest) = (self.r * 10_i32).div_rem(&self.s);
            self.r = rest;
            self.below *= 10_i32;
            self.above *= 10_i32;
            let is_low = if self.is_closed { self.r <= self.below } else { self.r < self.below };
            let is_high = self.reaches(&(&self.r + &self.above));
            let is_up = match (is_low, is_high) {
                (false, false) => {
                    digits.push_str(&digit.to_string());
                    continue;
                }
                (true, false) => false,
                (false, true) => true,
                (true, true) => &self.r * 2_i32 >= self.s,
            };
            let last = if is_up { digit + BigInt::one() } else { digit };
            digits.push_str(&last.to_string());
            return digits;
        }
    }
}

/// A whole power: one for a negative exponent.
fn power(base: i32, exponent: i32) -> BigInt {
    BigInt::from(base).pow(exponent.max(0).unsigned_abs())
}

/// Digits of a float up to a place. Zero has one digit.
pub(crate) fn cut_digits(float: BinaryFloat, cut: DigitCut) -> FloatDigits {
    if float.mantissa.is_zero() {
        return FloatDigits { digits: "0".to_owned(), exponent: 0 };
    }
    let mut interval = DigitInterval::new(float);
    match cut {
        DigitCut::Shortest => {}
        DigitCut::Power(power) => {
            let least = float.least_power() - MOST_DIGITS;
            interval.widen(power.clamp(least.min(MOST_PLACES), MOST_PLACES));
        }
        DigitCut::Count(count) => {
            let power = interval.power_of_last(count.clamp(1, MOST_DIGITS));
            interval.widen(power);
        }
    }
    let exponent = interval.place_point();
    FloatDigits { digits: interval.digits(), exponent }
}
