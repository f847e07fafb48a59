//! Sum, difference, product, quotient, powers, roots and comparison.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

use super::RealNumber;
use crate::heap::big_bytes;
use crate::machine::Machine;
use crate::symbols::well_known;
use crate::trap::{LimitKind, StepResult, limit};
use crate::value::{UNBOUND, Word};

/// Bytes of the numerator and denominator of a float at most.
const FLOAT_BYTES: usize = 160;

/// One of the four operations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArithmeticOperation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Machine {
    pub(crate) fn add(&mut self, one: Word, two: Word) -> StepResult {
        if let (Some(one), Some(two)) = (one.as_fixnum(), two.as_fixnum()) {
            return self.int_word(one + two);
        }
        self.operate(ArithmeticOperation::Add, one, two)
    }

    pub(crate) fn subtract(&mut self, one: Word, two: Word) -> StepResult {
        if let (Some(one), Some(two)) = (one.as_fixnum(), two.as_fixnum()) {
            return self.int_word(one - two);
        }
        self.operate(ArithmeticOperation::Subtract, one, two)
    }

    pub(crate) fn multiply(&mut self, one: Word, two: Word) -> StepResult {
        self.operate(ArithmeticOperation::Multiply, one, two)
    }

    pub(crate) fn divide(&mut self, one: Word, two: Word) -> StepResult {
        self.operate(ArithmeticOperation::Divide, one, two)
    }

    fn operate(&mut self, operation: ArithmeticOperation, one: Word, two: Word) -> StepResult {
        let (left, right) = (self.number(one)?, self.number(two)?);
        match (left, right) {
            (RealNumber::Integer(left), RealNumber::Integer(right)) => {
                self.operate_integers(operation, left, right, (one, two))
            }
            (left, right) if left.is_rational() && right.is_rational() => {
                self.operate_rationals(operation, &left, &right, (one, two))
            }
            (left, right) => {
                if operation == ArithmeticOperation::Divide && right.is_zero() {
                    // A number too large for a float is that error, not this one.
                    let is_lost = match (&left, &right) {
                        (RealNumber::Double(_), _) | (_, RealNumber::Double(_)) => {
                            self.as_double(&left)? == 0.0
                        }
                        _ => self.as_single(&left)? == 0.0,
                    };
                    if is_lost && !left.is_zero() {
                        return self.refuse("a ratio that is too small for a float");
                    }
                    return Err(self.zero_divisor((&left, &right), one, two));
                }
                let is_double =
                    matches!(left, RealNumber::Double(_)) || matches!(right, RealNumber::Double(_));
                if is_double {
                    let parts = (&left, &right);
                    let (left, right) = (self.as_double(&left)?, self.as_double(&right)?);
                    if operation == ArithmeticOperation::Divide && right == 0.0 {
                        return Err(self.zero_divisor(parts, one, two));
                    }
                    let result = match operation {
                        ArithmeticOperation::Add => left + right,
                        ArithmeticOperation::Subtract => left - right,
                        ArithmeticOperation::Multiply => left * right,
                        ArithmeticOperation::Divide => left / right,
                    };
                    return self.double_word(result);
                }
                let parts = (&left, &right);
                let (left, right) = (self.as_single(&left)?, self.as_single(&right)?);
                if operation == ArithmeticOperation::Divide && right == 0.0 {
                    return Err(self.zero_divisor(parts, one, two));
                }
                self.single_word(match operation {
                    ArithmeticOperation::Add => left + right,
                    ArithmeticOperation::Subtract => left - right,
                    ArithmeticOperation::Multiply => left * right,
                    ArithmeticOperation::Divide => left / right,
                })
            }
        }
    }

    /// The double of a number; an error where it is too large for one.
    pub(crate) fn as_double(&mut self, number: &RealNumber) -> StepResult<f64> {
        let double = number.to_f64();
        if double.is_finite() { Ok(double) } else { Err(self.too_large()) }
    }

    pub(crate) fn as_single(&mut self, number: &RealNumber) -> StepResult<f32> {
        let single = number.to_f32();
        if single.is_finite() {
            return Ok(single);
        }
        if let RealNumber::Double(_) = number {
            return self.single_word(single).map(|_| single);
        }
        Err(self.too_large())
    }

    fn too_large(&mut self) -> crate::trap::Trap {
        self.condition(crate::types::condition::FLOATING_POINT_OVERFLOW, &[UNBOUND, UNBOUND])
    }

    fn operate_integers(
        &mut self,
        operation: ArithmeticOperation,
        left: BigInt,
        right: BigInt,
        words: (Word, Word),
    ) -> StepResult {
        match operation {
            ArithmeticOperation::Add => self.integer_word(left + right),
            ArithmeticOperation::Subtract => self.integer_word(left - right),
            ArithmeticOperation::Multiply => {
                self.charge_product(&left, &right)?;
                self.integer_word(left * right)
            }
            ArithmeticOperation::Divide => {
                if right.is_zero() {
                    return Err(self.division_by_zero(well_known::SLASH, words.0, words.1));
                }
                self.charge_product(&left, &right)?;
                self.ratio_word(left, right)
            }
        }
    }

    /// Takes the cost of multiplying or dividing from the fuel, before it is done.
    pub(crate) fn charge_product(&mut self, one: &BigInt, two: &BigInt) -> StepResult<()> {
        let (one, two) = (big_bytes(one), big_bytes(two));
        self.reserve(one.saturating_add(two))?;
        self.charge((one / 32).saturating_mul(two) / 32)
    }

    /// Greatest common divisor; its cost is taken from the fuel before it is done.
    pub(crate) fn common_divisor(&mut self, one: &BigInt, two: &BigInt) -> StepResult<BigInt> {
        let (large, small) = if one.bits() < two.bits() { (two, one) } else { (one, two) };
        if small.is_zero() {
            return Ok(large.abs());
        }
        self.charge_product(large, small)?;
        let rest = large % small;
        // What is left takes a step for each bit, each over all words of the small one.
        let bytes = usize::try_from(small.bits() / 8).unwrap_or(usize::MAX);
        self.charge(bytes.saturating_mul(bytes) / 16)?;
        Ok(rest.gcd(small))
    }

    /// Takes the cost of comparing from the fuel: a ratio or float is multiplied crosswise.
    pub(crate) fn charge_comparison(
        &mut self,
        left: &RealNumber,
        right: &RealNumber,
    ) -> StepResult<()> {
        let bytes = |number: &RealNumber| match number {
            RealNumber::Integer(number) => big_bytes(number),
            RealNumber::Ratio(parts) => big_bytes(&parts.numerator) + big_bytes(&parts.denominator),
            RealNumber::Single(_) | RealNumber::Double(_) => FLOAT_BYTES,
        };
        let are_integers =
            matches!((left, right), (RealNumber::Integer(_), RealNumber::Integer(_)));
        if are_integers || !left.is_rational() && !right.is_rational() {
            return Ok(());
        }
        self.charge((bytes(left) / 32).saturating_mul(bytes(right)) / 32)
    }

    fn operate_rationals(
        &mut self,
        operation: ArithmeticOperation,
        left: &RealNumber,
        right: &RealNumber,
        words: (Word, Word),
    ) -> StepResult {
        let ((a, b), (c, d)) = (left.exact(), right.exact());
        for (one, two) in [(&a, &d), (&b, &c), (&b, &d)] {
            self.charge_product(one, two)?;
        }
        match operation {
            ArithmeticOperation::Add => self.ratio_word(&a * &d + &c * &b, b * d),
            ArithmeticOperation::Subtract => self.ratio_word(&a * &d - &c * &b, b * d),
            ArithmeticOperation::Multiply => self.ratio_word(a * c, b * d),
            ArithmeticOperation::Divide => {
                if c.is_zero() {
                    return Err(self.division_by_zero(well_known::SLASH, words.0, words.1));
                }
                self.ratio_word(a * d, b * c)
            }
        }
    }

    pub(crate) fn negate(&mut self, word: Word) -> StepResult {
        match self.number(word)? {
            RealNumber::Single(number) => Ok(Word::single(-number)),
            RealNumber::Double(number) => self.double_word(-number),
            _ => self.subtract(Word::fixnum(0), word),
        }
    }

    /// Exact order of two real numbers.
    pub(crate) fn compare(&mut self, one: Word, two: Word) -> StepResult<Ordering> {
        if let (Some(one), Some(two)) = (one.as_fixnum(), two.as_fixnum()) {
            return Ok(one.cmp(&two));
        }
        let (left, right) = (self.real(one)?, self.real(two)?);
        self.charge_comparison(&left, &right)?;
        Ok(compare_numbers(&left, &right))
    }

    pub(crate) fn is_less(&mut self, one: Word, two: Word) -> StepResult<bool> {
        Ok(self.compare(one, two)? == Ordering::Less)
    }

    pub(crate) fn is_less_or_equal(&mut self, one: Word, two: Word) -> StepResult<bool> {
        Ok(self.compare(one, two)? != Ordering::Greater)
    }

    pub(crate) fn is_number_equal(&mut self, one: Word, two: Word) -> StepResult<bool> {
        let (left, right) = (self.number(one)?, self.number(two)?);
        self.charge_comparison(&left, &right)?;
        Ok(compare_numbers(&left, &right) == Ordering::Equal)
    }

    /// `(expt base power)`.
    pub(crate) fn power(&mut self, base: Word, power: Word) -> StepResult {
        let (left, right) = (self.number(base)?, self.number(power)?);
        if let RealNumber::Integer(exponent) = &right {
            if exponent.is_zero() {
                return match left {
                    RealNumber::Single(_) => Ok(Word::single(1.0)),
                    RealNumber::Double(_) => self.double_word(1.0),
                    _ => Ok(Word::fixnum(1)),
                };
            }
            if left.is_rational() {
                return self.rational_power(&left, exponent, base);
            }
        }
        if left.is_negative() && !matches!(right, RealNumber::Integer(_)) {
            return self.refuse("EXPT of a negative number to a fraction");
        }
        if left.is_zero() && right.is_rational() && right.is_negative() {
            return Err(self.division_by_zero(well_known::SLASH, Word::fixnum(1), base));
        }
        if left.is_zero() && !right.is_rational() {
            return self.refuse("EXPT of zero to a float");
        }
        let is_double =
            matches!(left, RealNumber::Double(_)) || matches!(right, RealNumber::Double(_));
        let result = self.as_double(&left)?.powf(self.as_double(&right)?);
        if is_double { self.double_word(result) } else { self.single_word(result as f32) }
    }

    fn rational_power(&mut self, base: &RealNumber, exponent: &BigInt, word: Word) -> StepResult {
        let (numerator, denominator) = base.exact();
        if exponent.is_negative() && numerator.is_zero() {
            return Err(self.division_by_zero(well_known::SLASH, Word::fixnum(1), word));
        }
        let is_unit = denominator.is_one() && (numerator.abs() <= BigInt::one());
        if is_unit {
            let is_positive = !numerator.is_negative() || exponent.is_even();
            let unit = if numerator.is_zero() {
                0
            } else if is_positive {
                1
            } else {
                -1
            };
            return Ok(Word::fixnum(unit));
        }
        let Some(times) = exponent.abs().to_u32() else { return Err(limit(LimitKind::Heap)) };
        let bits = numerator.bits().max(denominator.bits()).saturating_mul(u64::from(times));
        let bytes = usize::try_from(bits / 8).unwrap_or(usize::MAX);
        self.reserve(bytes.saturating_mul(2))?;
        self.charge((bytes / 512).saturating_mul(bytes / 512))?;
        let (up, down) = (numerator.pow(times), denominator.pow(times));
        // Powers of numbers without a common divisor have none either.
        match (exponent.is_negative(), up.is_negative()) {
            (false, _) => self.lowest_ratio_word(up, down),
            (true, false) => self.lowest_ratio_word(down, up),
            (true, true) => self.lowest_ratio_word(-down, -up),
        }
    }

    pub(crate) fn square_root(&mut self, word: Word) -> StepResult {
        let number = self.number(word)?;
        if number.is_negative() {
            return self.refuse("SQRT of a negative number");
        }
        let root = self.as_double(&number)?.sqrt();
        match number {
            RealNumber::Double(_) => self.double_word(root),
            RealNumber::Single(single) => self.single_word(single.sqrt()),
            _ => self.single_word(root as f32),
        }
    }
}

pub(crate) fn compare_numbers(left: &RealNumber, right: &RealNumber) -> Ordering {
    match (left, right) {
        (RealNumber::Integer(left), RealNumber::Integer(right)) => left.cmp(right),
        (left, right) if !left.is_rational() && !right.is_rational() => {
            left.to_f64().partial_cmp(&right.to_f64()).unwrap_or(Ordering::Equal)
        }
        _ => {
            let ((a, b), (c, d)) = (left.exact(), right.exact());
            (a * d).cmp(&(c * b))
        }
    }
}
