//! Integers as rows of bits.

use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};

use crate::heap::big_bytes;
use crate::machine::Machine;
use crate::trap::{LimitKind, StepResult, limit};
use crate::value::Word;

/// Operation on two rows of bits.
#[derive(Clone, Copy)]
pub(crate) enum BitOperation {
    And,
    Or,
    Xor,
}

impl Machine {
    pub(crate) fn combine_bits(
        &mut self,
        operation: BitOperation,
        one: Word,
        two: Word,
    ) -> StepResult {
        if one.is_fixnum() && two.is_fixnum() {
            // The lowest bit of both is clear, and stays so.
            return Ok(Word(match operation {
                BitOperation::And => one.0 & two.0,
                BitOperation::Or => one.0 | two.0,
                BitOperation::Xor => one.0 ^ two.0,
            }));
        }
        let (one, two) = (self.integer(one)?, self.integer(two)?);
        self.reserve(big_bytes(&one) + big_bytes(&two))?;
        self.integer_word(match operation {
            BitOperation::And => one & two,
            BitOperation::Or => one | two,
            BitOperation::Xor => one ^ two,
        })
    }

    /// `(ash number count)`.
    pub(crate) fn shift(&mut self, number: Word, count: Word) -> StepResult {
        let (number, count) = (self.integer(number)?, self.integer(count)?);
        if number.is_zero() {
            return Ok(Word::fixnum(0));
        }
        if count.is_negative() {
            let down = (-count).to_u64().unwrap_or(u64::MAX);
            if down > number.bits() {
                return Ok(Word::fixnum(if number.is_negative() { -1 } else { 0 }));
            }
            return self.integer_word(number >> down);
        }
        let Some(up) = count.to_u32() else { return Err(limit(LimitKind::Heap)) };
        self.reserve(big_bytes(&number) + up as usize / 8)?;
        self.integer_word(number << up)
    }

    /// Bits that the number needs besides its sign.
    pub(crate) fn integer_length(&mut self, number: Word) -> StepResult {
        let number = self.integer(number)?;
        let bits = if number.is_negative() { (-number - 1_i32).bits() } else { number.bits() };
        Ok(Word::count(usize::try_from(bits).unwrap_or(usize::MAX / 4)))
    }

    /// Ones of a positive number, zeros of a negative one.
    pub(crate) fn count_bits(&mut self, number: Word) -> StepResult {
        let number = self.integer(number)?;
        let number = if number.sign() == Sign::Minus { -number - 1_i32 } else { number };
        let digits = number.to_u64_digits().1;
        Ok(Word::count(digits.iter().map(|digit| digit.count_ones() as usize).sum()))
    }

    pub(crate) fn is_bit_set(&mut self, index: Word, number: Word) -> StepResult<bool> {
        let number = self.integer(number)?;
        let index = self.integer(index)?;
        if index.is_negative() {
            // SBCL's compiler and its functions do not agree.
            return self.refuse("LOGBITP of a negative index");
        }
        match index.to_u64() {
            Some(index) if index < number.bits() + 1 => Ok(number.bit(index)),
            _ => Ok(number.is_negative()),
        }
    }
}

/// Parses digits of a radix; `None` when one is none.
pub(crate) fn parse_integer(digits: &str, radix: u32) -> Option<BigInt> {
    if digits.is_empty() {
        return None;
    }
    BigInt::parse_bytes(digits.as_bytes(), radix)
}
