//! Functions of numbers.

use std::cmp::Ordering;

use num_integer::Integer as _;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};

use super::{MANY, NativeFunction, native};
use crate::heap::HeapObject;
use crate::machine::{ArgumentWindow, Machine};
use crate::number::RealNumber;
use crate::number::bits::BitOperation;
use crate::number::rounding::RoundingMode;
use crate::symbols::well_known;
use crate::trap::StepResult;
use crate::value::{Word, tag};

pub(crate) const TABLE: &[NativeFunction] = &[
    native("+", 0, MANY, |m, a| fold(m, a, 0, Machine::add)),
    native("*", 0, MANY, |m, a| fold(m, a, 1, Machine::multiply)),
    native("-", 1, MANY, |m, a| {
        if a.count == 1 { m.negate(m.argument(a, 0)) } else { reduce(m, a, Machine::subtract) }
    }),
    native("/", 1, MANY, |m, a| {
        if a.count == 1 {
            m.divide(Word::fixnum(1), m.argument(a, 0))
        } else {
            reduce(m, a, Machine::divide)
        }
    }),
    native("1+", 1, 1, |m, a| m.add(m.argument(a, 0), Word::fixnum(1))),
    native("1-", 1, 1, |m, a| m.subtract(m.argument(a, 0), Word::fixnum(1))),
    native("=", 1, MANY, compare_equal),
    native("/=", 1, MANY, |m, a| {
        for one in 0..a.count {
            m.number(m.argument(a, one))?;
            for two in one + 1..a.count {
                if m.is_number_equal(m.argument(a, one), m.argument(a, two))? {
                    return Ok(Word::truth(false));
                }
            }
        }
        Ok(Word::truth(true))
    }),
    native("<", 1, MANY, |m, a| compare_all(m, a, |order| order == Ordering::Less)),
    native(">", 1, MANY, |m, a| compare_all(m, a, |order| order == Ordering::Greater)),
    native("<=", 1, MANY, |m, a| compare_all(m, a, |order| order != Ordering::Greater)),
    native(">=", 1, MANY, |m, a| compare_all(m, a, |order| order != Ordering::Less)),
    native("max", 1, MANY, |m, a| best(m, a, Ordering::Greater)),
    native("min", 1, MANY, |m, a| best(m, a, Ordering::Less)),
    native("abs", 1, 1, |m, a| {
        let word = m.argument(a, 0);
        match m.number(word)? {
            RealNumber::Single(number) => m.single_word(number.abs()),
            RealNumber::Double(number) => m.double_word(number.abs()),
            number if number.is_negative() => m.negate(word),
            _ => Ok(word),
        }
    }),
    native("signum", 1, 1, |m, a| {
        let word = m.argument(a, 0);
        match m.number(word)? {
            RealNumber::Single(number) if number != 0.0 => m.single_word(number.signum()),
            RealNumber::Double(number) if number != 0.0 => m.double_word(number.signum()),
            RealNumber::Single(_) | RealNumber::Double(_) => Ok(word),
            number if number.is_negative() => Ok(Word::fixnum(-1)),
            number => Ok(Word::fixnum(i64::from(!number.is_zero()))),
        }
    }),
    native("floor", 1, 2, |m, a| round(m, a, RoundingMode::Floor)),
    native("ceiling", 1, 2, |m, a| round(m, a, RoundingMode::Ceiling)),
    native("truncate", 1, 2, |m, a| round(m, a, RoundingMode::Truncate)),
    native("round", 1, 2, |m, a| round(m, a, RoundingMode::Round)),
    native("mod", 2, 2, |m, a| {
        if let (Some(number), Some(divisor @ 1..)) =
            (m.argument(a, 0).as_fixnum(), m.argument(a, 1).as_fixnum())
        {
            return Ok(Word::fixnum(number.rem_euclid(divisor)));
        }
        Ok(m.round_quotient(RoundingMode::Floor, m.argument(a, 0), m.argument(a, 1))?.1)
    }),
    native("rem", 2, 2, |m, a| {
        Ok(m.round_quotient(RoundingMode::Truncate, m.argument(a, 0), m.argument(a, 1))?.1)
    }),
    native("gcd", 0, MANY, |m, a| {
        let mut result = num_bigint::BigInt::zero();
        for index in 0..a.count {
            let number = m.integer(m.argument(a, index))?;
            result = m.common_divisor(&result, &number)?;
        }
        m.integer_word(result)
    }),
    native("lcm", 0, MANY, |m, a| {
        let mut result = num_bigint::BigInt::from(1);
        for index in 0..a.count {
            let number = m.integer(m.argument(a, index))?;
            if result.is_zero() || number.is_zero() {
                // What is behind a zero is looked at, too.
                result = num_bigint::BigInt::zero();
                continue;
            }
            let divisor = m.common_divisor(&result, &number)?;
            m.charge_product(&result, &number)?;
            result = (result / divisor * number).abs();
        }
        m.integer_word(result)
    }),
    native("expt", 2, 2, |m, a| m.power(m.argument(a, 0), m.argument(a, 1))),
    native("sqrt", 1, 1, |m, a| m.square_root(m.argument(a, 0))),
    native("isqrt", 1, 1, |m, a| {
        let number = m.integer(m.argument(a, 0))?;
        if number.is_negative() {
            return Err(m.type_error(m.argument(a, 0), well_known::UNSIGNED_BYTE));
        }
        m.charge_product(&number, &number)?;
        m.integer_word(number.sqrt())
    }),
    native("exp", 1, 1, |m, a| transcendental(m, m.argument(a, 0), f64::exp)),
    native("sin", 1, 1, |m, a| transcendental(m, m.argument(a, 0), f64::sin)),
    native("cos", 1, 1, |m, a| transcendental(m, m.argument(a, 0), f64::cos)),
    native("tan", 1, 1, |m, a| transcendental(m, m.argument(a, 0), f64::tan)),
    native("asin", 1, 1, |m, a| arc(m, m.argument(a, 0), f64::asin)),
    native("acos", 1, 1, |m, a| arc(m, m.argument(a, 0), f64::acos)),
    native("sinh", 1, 1, |m, a| transcendental(m, m.argument(a, 0), f64::sinh)),
    native("cosh", 1, 1, |m, a| transcendental(m, m.argument(a, 0), f64::cosh)),
    native("tanh", 1, 1, |m, a| transcendental(m, m.argument(a, 0), f64::tanh)),
    native("atan", 1, 2, |m, a| {
        if a.count == 1 {
            return transcendental(m, m.argument(a, 0), f64::atan);
        }
        let (one, two) = (m.real(m.argument(a, 0))?, m.real(m.argument(a, 1))?);
        let is_double =
            matches!(one, RealNumber::Double(_)) || matches!(two, RealNumber::Double(_));
        let result = m.as_double(&one)?.atan2(m.as_double(&two)?);
        if is_double { m.double_word(result) } else { m.single_word(result as f32) }
    }),
    native("log", 1, 2, logarithm),
    native("evenp", 1, 1, |m, a| Ok(Word::truth(m.integer(m.argument(a, 0))?.is_even()))),
    native("oddp", 1, 1, |m, a| Ok(Word::truth(m.integer(m.argument(a, 0))?.is_odd()))),
    native("zerop", 1, 1, |m, a| Ok(Word::truth(m.number(m.argument(a, 0))?.is_zero()))),
    native("plusp", 1, 1, |m, a| m.is_less(Word::fixnum(0), m.argument(a, 0)).map(Word::truth)),
    native("minusp", 1, 1, |m, a| m.is_less(m.argument(a, 0), Word::fixnum(0)).map(Word::truth)),
    native("numerator", 1, 1, |m, a| part(m, m.argument(a, 0), true)),
    native("denominator", 1, 1, |m, a| part(m, m.argument(a, 0), false)),
    native("float", 1, 2, |m, a| {
        let word = m.argument(a, 0);
        let number = m.real(word)?;
        match m.optional(a, 1) {
            None if !number.is_rational() => Ok(word),
            None => m.float_like(word, &RealNumber::Single(0.0)),
            Some(model) => {
                let model = m.real(model)?;
                m.float_like(word, &model)
            }
        }
    }),
    native("rational", 1, 1, |m, a| m.rational(m.argument(a, 0))),
    native("rationalize", 1, 1, |m, a| m.rationalize(m.argument(a, 0))),
    native("logand", 0, MANY, |m, a| bits(m, a, -1, BitOperation::And)),
    native("logior", 0, MANY, |m, a| bits(m, a, 0, BitOperation::Or)),
    native("logxor", 0, MANY, |m, a| bits(m, a, 0, BitOperation::Xor)),
    native("lognot", 1, 1, |m, a| {
        let number = m.integer(m.argument(a, 0))?;
        m.integer_word(-number - 1_i32)
    }),
    native("logtest", 2, 2, |m, a| {
        let both = m.combine_bits(BitOperation::And, m.argument(a, 0), m.argument(a, 1))?;
        Ok(Word::truth(both != Word::fixnum(0)))
    }),
    native("ash", 2, 2, |m, a| m.shift(m.argument(a, 0), m.argument(a, 1))),
    native("logbitp", 2, 2, |m, a| {
        m.is_bit_set(m.argument(a, 0), m.argument(a, 1)).map(Word::truth)
    }),
    native("logcount", 1, 1, |m, a| m.count_bits(m.argument(a, 0))),
    native("integer-length", 1, 1, |m, a| m.integer_length(m.argument(a, 0))),
    native("%double", 1, 1, |m, a| {
        let number = m.real(m.argument(a, 0))?;
        let double = m.as_double(&number)?;
        m.double_word(double)
    }),
    native("%single", 1, 1, |m, a| {
        let number = m.real(m.argument(a, 0))?;
        let single = m.as_single(&number)?;
        m.single_word(single)
    }),
];

fn fold(
    m: &mut Machine,
    a: ArgumentWindow,
    unit: i64,
    step: fn(&mut Machine, Word, Word) -> StepResult,
) -> StepResult {
    if a.count == 0 {
        return Ok(Word::fixnum(unit));
    }
    m.number(m.argument(a, 0))?;
    reduce(m, a, step)
}

fn reduce(
    m: &mut Machine,
    a: ArgumentWindow,
    step: fn(&mut Machine, Word, Word) -> StepResult,
) -> StepResult {
    let mut result = m.argument(a, 0);
    for index in 1..a.count {
        result = step(m, result, m.argument(a, index))?;
    }
    Ok(result)
}

fn compare_equal(m: &mut Machine, a: ArgumentWindow) -> StepResult {
    m.number(m.argument(a, 0))?;
    let mut holds = true;
    for index in 1..a.count {
        holds &= m.is_number_equal(m.argument(a, index - 1), m.argument(a, index))?;
    }
    Ok(Word::truth(holds))
}

fn compare_all(m: &mut Machine, a: ArgumentWindow, holds: fn(Ordering) -> bool) -> StepResult {
    m.real(m.argument(a, 0))?;
    let mut all = true;
    for index in 1..a.count {
        all &= holds(m.compare(m.argument(a, index - 1), m.argument(a, index))?);
    }
    Ok(Word::truth(all))
}

fn best(m: &mut Machine, a: ArgumentWindow, wanted: Ordering) -> StepResult {
    let mut best = m.argument(a, 0);
    m.real(best)?;
    for index in 1..a.count {
        let next = m.argument(a, index);
        if m.compare(next, best)? == wanted {
            best = next;
        }
    }
    Ok(best)
}

fn round(m: &mut Machine, a: ArgumentWindow, rounding: RoundingMode) -> StepResult {
    let divisor = m.optional(a, 1).unwrap_or(Word::fixnum(1));
    let (quotient, remainder) = m.round_quotient(rounding, m.argument(a, 0), divisor)?;
    Ok(m.return_values(&[quotient, remainder]))
}

fn transcendental(m: &mut Machine, word: Word, function: fn(f64) -> f64) -> StepResult {
    let number = m.number(word)?;
    let result = function(m.as_double(&number)?);
    match number {
        RealNumber::Double(_) => m.double_word(result),
        _ => m.single_word(result as f32),
    }
}

/// A function whose results beyond one are complex.
fn arc(m: &mut Machine, word: Word, function: fn(f64) -> f64) -> StepResult {
    let number = m.number(word)?;
    if m.as_double(&number)?.abs() > 1.0 {
        return m.refuse("complex results");
    }
    transcendental(m, word, function)
}

fn logarithm(m: &mut Machine, a: ArgumentWindow) -> StepResult {
    let number = m.number(m.argument(a, 0))?;
    if number.is_zero() {
        return Err(m.division_by_zero(well_known::SLASH, Word::fixnum(1), Word::fixnum(0)));
    }
    if number.is_negative() {
        return m.refuse("LOG of a negative number");
    }
    let Some(base) = m.optional(a, 1) else {
        return transcendental(m, m.argument(a, 0), f64::ln);
    };
    let base = m.number(base)?;
    match (&number, &base) {
        (RealNumber::Integer(one), RealNumber::Integer(two)) => {
            let both = (one.to_f64().unwrap_or(f64::NAN), two.to_f64().unwrap_or(f64::NAN));
            if two.is_negative() || two.is_zero() || !both.0.is_finite() || !both.1.is_finite() {
                return m.refuse("LOG of this base");
            }
            m.single_word((both.0.log2() / both.1.log2()) as f32)
        }
        _ => m.refuse("LOG with a base that is no integer"),
    }
}

fn part(m: &mut Machine, word: Word, is_top: bool) -> StepResult {
    match m.heap.get(word) {
        Some(HeapObject::Ratio(parts)) => {
            let number = if is_top { parts.numerator.clone() } else { parts.denominator.clone() };
            m.integer_word(number)
        }
        _ => {
            if word.tag() == tag::SINGLE {
                return Err(m.type_error(word, well_known::RATIONAL));
            }
            m.integer(word)?;
            Ok(if is_top { word } else { Word::fixnum(1) })
        }
    }
}

fn bits(m: &mut Machine, a: ArgumentWindow, unit: i64, operation: BitOperation) -> StepResult {
    let mut result = Word::fixnum(unit);
    for index in 0..a.count {
        result = m.combine_bits(operation, result, m.argument(a, index))?;
    }
    Ok(result)
}
