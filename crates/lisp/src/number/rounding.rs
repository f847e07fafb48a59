//! `floor`, `ceiling`, `truncate`, `round` with their remainders, and exact conversions of floats.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{One, Signed, Zero};

use super::RealNumber;
use crate::machine::Machine;
use crate::trap::StepResult;
use crate::value::Word;

/// Direction in which a quotient is rounded to an integer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundingMode {
    Floor,
    Ceiling,
    Truncate,
    Round,
}

impl Machine {
    /// Quotient as an integer, and the remainder.
    pub(crate) fn round_quotient(
        &mut self,
        rounding: RoundingMode,
        number: Word,
        divisor: Word,
    ) -> StepResult<(Word, Word)> {
        if let (Some(one), Some(two)) = (number.as_fixnum(), divisor.as_fixnum())
            && two != 0
        {
            let quotient = round_small(rounding, one, two);
            return Ok((self.int_word(quotient)?, self.int_word(one - quotient * two)?));
        }
        let (left, right) = (self.real(number)?, self.real(divisor)?);
        if right.is_zero() {
            // A number too large for a float is that error, not this one.
            match (&left, &right) {
                (RealNumber::Double(_), _) | (_, RealNumber::Double(_)) => {
                    self.as_double(&left)?;
                }
                (_, RealNumber::Single(_)) => {
                    self.as_single(&left)?;
                }
                _ => {}
            }
            return Err(self.zero_divisor((&left, &right), number, divisor));
        }
        if divisor != Word::fixnum(1) && !(left.is_rational() && right.is_rational()) {
            return self.round_floats(rounding, number, divisor);
        }
        let ((a, b), (c, d)) = (left.exact(), right.exact());
        self.charge_product(&a, &d)?;
        self.charge_product(&b, &c)?;
        let (top, bottom) = (a * d, b * c);
        let quotient = round_big(rounding, &top, &bottom);
        let quotient = self.integer_word(quotient)?;
        let is_one = divisor == Word::fixnum(1);
        // The remainder is a float when either is.
        let remainder = if is_one && left.is_zero() && !left.is_rational() {
            // Zero keeps its sign.
            number
        } else if is_one && !left.is_rational() {
            // As SBCL does: what truncation leaves, which is exact, and then one step up or down.
            let whole = round_big(RoundingMode::Truncate, &top, &bottom);
            let whole = self.integer_word(whole)?;
            let truncated = self.float_like(whole, &left)?;
            let rest = self.subtract(number, truncated)?;
            let step = self.subtract(quotient, whole)?;
            if step == Word::fixnum(0) { rest } else { self.subtract(rest, step)? }
        } else {
            let product = self.multiply(quotient, divisor)?;
            self.subtract(number, product)?
        };
        Ok((quotient, remainder))
    }

    /// Quotient and remainder of floats: the quotient is that of a float division, as in SBCL, and may be one
    /// off the exact one.
    fn round_floats(
        &mut self,
        rounding: RoundingMode,
        number: Word,
        divisor: Word,
    ) -> StepResult<(Word, Word)> {
        let zero = Word::fixnum(0);
        let quotient = self.divide(number, divisor)?;
        let one = Word::fixnum(1);
        let (whole, _) = self.round_quotient(RoundingMode::Truncate, quotient, one)?;
        // The divisor becomes a float first where it is none.
        let model = self.number(quotient)?;
        let float = self.float_like(divisor, &model)?;
        let counted = self.float_like(whole, &model)?;
        let product = self.multiply(counted, float)?;
        let rest = self.subtract(number, product)?;
        if self.number(rest)?.is_zero() {
            return Ok((whole, rest));
        }
        let is_negative = self.is_less(divisor, zero)?;
        let (up, down) = match rounding {
            RoundingMode::Truncate => (false, false),
            RoundingMode::Floor => {
                let below = self.is_less(number, zero)?;
                (false, is_negative != below)
            }
            RoundingMode::Ceiling => {
                let below = self.is_less(number, zero)?;
                (is_negative == below, false)
            }
            RoundingMode::Round => {
                let absolute = if is_negative { self.negate(divisor)? } else { divisor };
                let half = self.divide(absolute, Word::fixnum(2))?;
                let low = self.negate(half)?;
                let is_odd = self.integer(whole)?.is_odd();
                let is_above =
                    self.is_less(half, rest)? || is_odd && self.is_number_equal(half, rest)?;
                let is_below =
                    self.is_less(rest, low)? || is_odd && self.is_number_equal(low, rest)?;
                if is_negative { (is_below, is_above) } else { (is_above, is_below) }
            }
        };
        if up {
            return Ok((self.add(whole, one)?, self.subtract(rest, divisor)?));
        }
        if down {
            return Ok((self.subtract(whole, one)?, self.add(rest, divisor)?));
        }
        Ok((whole, rest))
    }

    /// The float closest to a rational, of the same width as a model.
    pub(crate) fn float_like(&mut self, word: Word, model: &RealNumber) -> StepResult {
        let number = self.number(word)?;
        if let RealNumber::Double(_) = model {
            let double = self.as_double(&number)?;
            return self.double_word(double);
        }
        let single = self.as_single(&number)?;
        self.single_word(single)
    }

    /// Exactly the value of a float.
    pub(crate) fn rational(&mut self, word: Word) -> StepResult {
        let number = self.real(word)?;
        let (numerator, denominator) = number.exact();
        self.ratio_word(numerator, denominator)
    }

    /// The simplest ratio that a float could stand for.
    pub(crate) fn rationalize(&mut self, word: Word) -> StepResult {
        let number = self.real(word)?;
        let (bits, precision, smallest) = match &number {
            RealNumber::Single(single) => (f64::from(*single), 24, -149),
            RealNumber::Double(double) => (*double, 53, -1074),
            _ => return Ok(word),
        };
        if bits == 0.0 {
            return Ok(Word::fixnum(0));
        }
        let (mut mantissa, mut exponent) = super::float_parts(bits.abs());
        while mantissa.leading_zeros() < 64 - precision && mantissa & 1 == 0 && exponent < 0 {
            mantissa >>= 1;
            exponent += 1;
        }
        while mantissa != 0 && (64 - mantissa.leading_zeros()) < precision && exponent > smallest {
            mantissa <<= 1;
            exponent -= 1;
        }
        if exponent >= 0 {
            return self.rational(word);
        }
        let (twice, shift) = (BigInt::from(mantissa) * 2, BigInt::one() << (1 - exponent));
        let low = (&twice - BigInt::one(), shift.clone());
        let high = (&twice + BigInt::one(), shift);
        let (numerator, denominator) = simplest_between(low, high);
        let numerator = if bits < 0.0 { -numerator } else { numerator };
        self.ratio_word(numerator, denominator)
    }
}

/// The fraction with the smallest denominator between two positive ones.
fn simplest_between(mut low: (BigInt, BigInt), mut high: (BigInt, BigInt)) -> (BigInt, BigInt) {
    let mut whole = Vec::new();
    loop {
        let (quotient, rest) = low.0.div_mod_floor(&low.1);
        let above = &quotient + BigInt::one();
        if rest.is_zero() {
            return unfold(&whole, quotient);
        }
        if &above * &high.1 <= high.0 {
            return unfold(&whole, above);
        }
        let next_low = (high.1.clone(), &high.0 - &quotient * &high.1);
        high = (low.1.clone(), rest);
        low = next_low;
        whole.push(quotient);
    }
}

fn unfold(whole: &[BigInt], last: BigInt) -> (BigInt, BigInt) {
    whole.iter().rev().fold((last, BigInt::one()), |(numerator, denominator), part| {
        (part * &numerator + denominator, numerator)
    })
}

fn round_small(rounding: RoundingMode, one: i64, two: i64) -> i64 {
    match rounding {
        RoundingMode::Truncate => one / two,
        RoundingMode::Floor => num_integer::Integer::div_floor(&one, &two),
        RoundingMode::Ceiling => -(num_integer::Integer::div_floor(&-one, &two)),
        RoundingMode::Round => {
            let floor = num_integer::Integer::div_floor(&one, &two);
            let twice = (i128::from(one) - i128::from(floor) * i128::from(two)) * 2;
            match twice.abs().cmp(&i128::from(two).abs()) {
                Ordering::Less => floor,
                Ordering::Greater => floor + 1,
                Ordering::Equal => floor + (floor & 1),
            }
        }
    }
}

fn round_big(rounding: RoundingMode, top: &BigInt, bottom: &BigInt) -> BigInt {
    match rounding {
        RoundingMode::Truncate => top / bottom,
        RoundingMode::Floor => top.div_floor(bottom),
        RoundingMode::Ceiling => -(-top).div_floor(bottom),
        RoundingMode::Round => {
            let (floor, rest) = top.div_mod_floor(bottom);
            match (rest * 2_i32).abs().cmp(&bottom.abs()) {
                Ordering::Less => floor,
                Ordering::Greater => floor + 1_i32,
                Ordering::Equal if floor.is_even() => floor,
                Ordering::Equal => floor + 1_i32,
            }
        }
    }
}
