//! Numbers: integers without bound, ratios, single and double floats, with the contagion and the
//! traps of SBCL. Small integers never come here: `run.rs` and the inlined cases deal with them.

pub(crate) mod arithmetic;
pub(crate) mod bits;
pub(crate) mod float_cut;
pub(crate) mod float_text;
pub(crate) mod rounding;

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::heap::{HeapObject, RatioParts, big_bytes};
use crate::machine::Machine;
use crate::symbols::well_known;
use crate::trap::StepResult;
use crate::types::condition;
use crate::value::Word;

/// A number taken out of its word.
#[derive(Clone, Debug)]
pub(crate) enum RealNumber {
    Integer(BigInt),
    Ratio(Box<RatioParts>),
    Single(f32),
    Double(f64),
}

impl RealNumber {
    pub(crate) fn is_rational(&self) -> bool {
        matches!(self, Self::Integer(_) | Self::Ratio(_))
    }

    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Integer(number) => number.is_zero(),
            Self::Ratio(_) => false,
            Self::Single(number) => *number == 0.0,
            Self::Double(number) => *number == 0.0,
        }
    }

    pub(crate) fn is_negative(&self) -> bool {
        match self {
            Self::Integer(number) => number.is_negative(),
            Self::Ratio(parts) => parts.numerator.is_negative(),
            Self::Single(number) => *number < 0.0,
            Self::Double(number) => *number < 0.0,
        }
    }

    /// The closest double; may be infinite for huge integers.
    pub(crate) fn to_f64(&self) -> f64 {
        match self {
            Self::Integer(number) => number.to_f64().unwrap_or(f64::INFINITY),
            Self::Ratio(parts) => ratio_to_f64(&parts.numerator, &parts.denominator, 53),
            Self::Single(number) => f64::from(*number),
            Self::Double(number) => *number,
        }
    }

    /// The closest single; may be infinite.
    pub(crate) fn to_f32(&self) -> f32 {
        match self {
            Self::Integer(number) => number.to_f32().unwrap_or(f32::INFINITY),
            Self::Ratio(parts) => ratio_to_f64(&parts.numerator, &parts.denominator, 24) as f32,
            Self::Single(number) => *number,
            Self::Double(number) => *number as f32,
        }
    }

    /// Numerator and denominator of exactly this value; not reduced for floats.
    pub(crate) fn exact(&self) -> (BigInt, BigInt) {
        match self {
            Self::Integer(number) => (number.clone(), BigInt::one()),
            Self::Ratio(parts) => (parts.numerator.clone(), parts.denominator.clone()),
            Self::Single(number) => exact_float(f64::from(*number)),
            Self::Double(number) => exact_float(*number),
        }
    }
}

/// The float that SBCL makes of a ratio: the closest one with so many bits, ties to even. Bits of a numerator
/// that is much longer than its denominator are dropped before the division, and do not count for rounding.
fn ratio_to_f64(numerator: &BigInt, denominator: &BigInt, precision: u64) -> f64 {
    let is_negative = numerator.is_negative();
    let twos = denominator.trailing_zeros().unwrap_or(0);
    let denominator = &(denominator >> twos);
    let mut numerator = numerator.abs();
    let surplus = numerator.bits().saturating_sub(denominator.bits() + precision + 1);
    let mut dropped = surplus;
    numerator >>= surplus;
    let length = (&numerator / denominator).bits();
    if surplus > 0 && length > precision + 1 {
        numerator >>= length - precision - 1;
        dropped += length - precision - 1;
    }
    let dropped = i64::try_from(dropped).unwrap_or(i64::MAX);
    let twos = i64::try_from(twos).unwrap_or(i64::MAX);
    // A quotient of two bits more than the precision, and whether something is left.
    let shift = (denominator.bits() + precision + 2).saturating_sub(numerator.bits());
    let down = (numerator.bits()).saturating_sub(denominator.bits() + precision + 2);
    let (scaled, divisor) = (numerator << shift, denominator << down);
    let quotient = &scaled / &divisor;
    let is_exact = (&quotient * &divisor) == scaled;
    let mut bits = quotient.to_u64().unwrap_or(u64::MAX) << 1 | u64::from(!is_exact);
    let exponent =
        i64::try_from(down).unwrap_or(i64::MAX) - i64::try_from(shift).unwrap_or(i64::MAX) - 1
            + dropped
            - twos;
    let extra = 64 - u64::from(bits.leading_zeros()) - precision;
    let half = 1_u64 << (extra - 1);
    let rest = bits & ((1 << extra) - 1);
    bits >>= extra;
    if rest > half || (rest == half && bits & 1 == 1) {
        bits += 1;
    }
    let power = exponent + extra as i64;
    let value = scale_float(bits as f64, power);
    if is_negative { -value } else { value }
}

/// `value` times two to the `power`, without overflow on the way.
pub(crate) fn scale_float(mut value: f64, mut power: i64) -> f64 {
    while power > 1000 && value.is_finite() {
        value *= 2f64.powi(1000);
        power -= 1000;
    }
    while power < -1000 && value != 0.0 {
        value *= 2f64.powi(-1000);
        power += 1000;
    }
    value * 2f64.powi(power.clamp(-1000, 1000) as i32)
}

fn exact_float(number: f64) -> (BigInt, BigInt) {
    let (mantissa, exponent) = float_parts(number);
    let mantissa = BigInt::from(mantissa);
    if exponent >= 0 {
        (mantissa << exponent, BigInt::one())
    } else {
        (mantissa, BigInt::one() << -exponent)
    }
}

/// Signed mantissa and power of two.
pub(crate) fn float_parts(number: f64) -> (i64, i64) {
    let bits = number.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64;
    let fraction = (bits & 0x000f_ffff_ffff_ffff).cast_signed();
    let mantissa = if exponent == 0 { fraction << 1 } else { fraction | 1 << 52 };
    let mantissa = if number.is_sign_negative() { -mantissa } else { mantissa };
    (mantissa, exponent - 1075)
}

impl Machine {
    /// Steps that looking at all digits of a number takes; none for what is small or no number.
    pub(crate) fn digit_steps(&self, word: Word) -> usize {
        match self.heap.get(word) {
            Some(HeapObject::Big(number)) => big_bytes(number) / 64,
            Some(HeapObject::Ratio(parts)) => {
                (big_bytes(&parts.numerator) + big_bytes(&parts.denominator)) / 64
            }
            _ => 0,
        }
    }

    /// The number of a word; anything else is a type error.
    pub(crate) fn number(&mut self, word: Word) -> StepResult<RealNumber> {
        self.charge(self.digit_steps(word))?;
        match self.try_number(word) {
            Some(number) => Ok(number),
            None => Err(self.type_error(word, well_known::NUMBER)),
        }
    }

    pub(crate) fn try_number(&self, word: Word) -> Option<RealNumber> {
        if let Some(small) = word.as_fixnum() {
            return Some(RealNumber::Integer(BigInt::from(small)));
        }
        if let Some(single) = word.as_single() {
            return Some(RealNumber::Single(single));
        }
        match self.heap.get(word) {
            Some(HeapObject::Big(number)) => Some(RealNumber::Integer((**number).clone())),
            Some(HeapObject::Ratio(parts)) => Some(RealNumber::Ratio(parts.clone())),
            Some(HeapObject::Double(number)) => Some(RealNumber::Double(*number)),
            _ => None,
        }
    }

    /// The integer of a word.
    pub(crate) fn integer(&mut self, word: Word) -> StepResult<BigInt> {
        if let Some(small) = word.as_fixnum() {
            return Ok(BigInt::from(small));
        }
        self.charge(self.digit_steps(word))?;
        match self.heap.get(word) {
            Some(HeapObject::Big(number)) => Ok((**number).clone()),
            _ => Err(self.type_error(word, well_known::INTEGER)),
        }
    }

    pub(crate) fn integer_word(&mut self, number: BigInt) -> StepResult {
        if let Some(word) = number.to_i64().and_then(Word::small) {
            return Ok(word);
        }
        self.reserve(big_bytes(&number))?;
        Ok(self.heap.allocate(HeapObject::Big(Box::new(number))))
    }

    /// The word of a 64-bit integer.
    pub(crate) fn int_word(&mut self, number: i64) -> StepResult {
        match Word::small(number) {
            Some(word) => Ok(word),
            None => self.integer_word(BigInt::from(number)),
        }
    }

    /// A ratio in lowest terms, or an integer.
    pub(crate) fn ratio_word(&mut self, numerator: BigInt, denominator: BigInt) -> StepResult {
        if denominator.is_one() {
            return self.integer_word(numerator);
        }
        let divisor = self.common_divisor(&numerator, &denominator)?;
        let (mut numerator, mut denominator) = (numerator / &divisor, denominator / &divisor);
        if denominator.is_negative() {
            (numerator, denominator) = (-numerator, -denominator);
        }
        self.lowest_ratio_word(numerator, denominator)
    }

    /// A ratio that is in lowest terms with a positive denominator already.
    pub(crate) fn lowest_ratio_word(
        &mut self,
        numerator: BigInt,
        denominator: BigInt,
    ) -> StepResult {
        if denominator.is_one() {
            return self.integer_word(numerator);
        }
        self.reserve(big_bytes(&numerator) + big_bytes(&denominator))?;
        Ok(self.heap.allocate(HeapObject::Ratio(Box::new(RatioParts { numerator, denominator }))))
    }

    /// A double that came out of an operation; SBCL traps what is no number.
    pub(crate) fn double_word(&mut self, number: f64) -> StepResult {
        if !number.is_finite() {
            return Err(self.float_trap(number.is_nan()));
        }
        Ok(self.heap.allocate(HeapObject::Double(number)))
    }

    pub(crate) fn single_word(&mut self, number: f32) -> StepResult {
        if !number.is_finite() {
            return Err(self.float_trap(number.is_nan()));
        }
        Ok(Word::single(number))
    }

    fn float_trap(&mut self, is_invalid: bool) -> crate::trap::Trap {
        let number = if is_invalid {
            condition::FLOATING_POINT_INVALID
        } else {
            condition::FLOATING_POINT_OVERFLOW
        };
        self.condition(number, &[crate::value::UNBOUND; 2])
    }

    /// A real number.
    pub(crate) fn real(&mut self, word: Word) -> StepResult<RealNumber> {
        self.charge(self.digit_steps(word))?;
        match self.try_number(word) {
            Some(number) => Ok(number),
            None => Err(self.type_error(word, well_known::REAL)),
        }
    }
}
