//! Number syntax of both Lisps: what is a number, and what number it is.
//!
//! The reader classifies with [`classify`]; nodes decode with the rest, on access. Texts given
//! to the decoders have been classified before.

use std::borrow::Cow;

/// Number, or another thing, that a token with the beginning of a number turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// Digits with an optional sign and an optional final dot.
    Integer,
    /// Two integers around a slash.
    Ratio,
    /// A ratio whose second part is zero.
    ZeroDenominator,
    /// A fraction, an exponent, or both.
    Float,
}

/// Tells a number from a symbol; `None` is a symbol.
pub(crate) fn classify(token: &[u8]) -> Option<Number> {
    let unsigned = match token.first()? {
        b'+' | b'-' => &token[1..],
        _ => token,
    };
    let whole = digits(unsigned);
    let rest = &unsigned[whole..];
    match rest.first() {
        None => (whole > 0).then_some(Number::Integer),
        Some(b'.') => {
            let fraction = digits(&rest[1..]);
            let after = &rest[1 + fraction..];
            if after.is_empty() {
                let kind = if fraction > 0 { Number::Float } else { Number::Integer };
                return (whole + fraction > 0).then_some(kind);
            }
            (whole + fraction > 0 && is_exponent(after)).then_some(Number::Float)
        }
        Some(b'/') if whole > 0 => {
            let below = &rest[1..];
            if below.is_empty() || digits(below) < below.len() {
                return None;
            }
            let is_zero = below.iter().all(|&digit| digit == b'0');
            Some(if is_zero { Number::ZeroDenominator } else { Number::Ratio })
        }
        Some(_) => (whole > 0 && is_exponent(rest)).then_some(Number::Float),
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// `e5`, `d+0`, or Emacs's `e+INF` and `e+NaN`.
fn is_exponent(bytes: &[u8]) -> bool {
    let Some((marker, power)) = bytes.split_first() else { return false };
    if matches!(power, b"+INF" | b"+NaN") {
        return *marker == b'e';
    }
    if !matches!(marker.to_ascii_lowercase(), b'e' | b'd' | b'f' | b's' | b'l') {
        return false;
    }
    let power = power.strip_prefix(b"+").or(power.strip_prefix(b"-")).unwrap_or(power);
    !power.is_empty() && digits(power) == power.len()
}

/// The most digits in a row, for the limit on integers and on both parts of ratios.
pub(crate) fn longest_run(token: &[u8]) -> usize {
    token.split(|byte| !byte.is_ascii_digit()).map(<[u8]>::len).max().unwrap_or(0)
}

/// Splits the radix mark off an integer's source: `#xFF` is `FF` in 16.
fn radix(source: &str) -> (&str, u32) {
    match source.as_bytes() {
        [b'#', b'x' | b'X', ..] => (&source[2..], 16),
        [b'#', b'o' | b'O', ..] => (&source[2..], 8),
        [b'#', b'b' | b'B', ..] => (&source[2..], 2),
        _ => (source.strip_suffix('.').unwrap_or(source), 10),
    }
}

/// The value of an integer that the reader marked as plain: one to fifteen digits, nothing else.
/// Takes the whole text, because eight bytes at once need no loop, and most integers have less.
#[inline]
pub(crate) fn plain_to_i64(text: &[u8], start: usize, end: usize) -> i64 {
    let length = end - start;
    match text.get(start..).and_then(<[u8]>::first_chunk) {
        Some(word) if length <= 8 => eight_digits(u64::from_le_bytes(*word), length),
        _ => text[start..end].iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')),
    }
}

/// The first `length` bytes of `word`, one to eight, as decimal digits. What follows them is shifted
/// out, and zeros come in before them; then pairs, fours and eights are summed within the word.
#[inline]
fn eight_digits(word: u64, length: usize) -> i64 {
    let digits = word.wrapping_sub(0x3030_3030_3030_3030) << (64 - 8 * length);
    let twos = (digits * 10).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (twos * 100).wrapping_add(twos >> 16) & 0x0000_FFFF_0000_FFFF;
    ((fours * 10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF).cast_signed()
}

/// The value of an integer's source, if it fits.
#[inline]
pub(crate) fn to_i64(source: &str) -> Option<i64> {
    let bytes = source.as_bytes();
    // Up to 18 digits cannot overflow; nearly every integer of a message is one of these.
    if bytes.len() <= 18 && bytes.iter().all(u8::is_ascii_digit) {
        return Some(bytes.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')));
    }
    let (digits, radix) = radix(source);
    i64::from_str_radix(digits, radix).ok()
}

/// The nearest float to an integer's source, if there is a finite one.
pub(crate) fn integer_to_f64(source: &str) -> Option<f64> {
    decimal(source).parse().ok().filter(|float: &f64| float.is_finite())
}

/// The value of a float's source; `None` beyond the range of an `f64`.
pub(crate) fn float_to_f64(source: &str) -> Option<f64> {
    if let Some(mantissa) = source.strip_suffix("e+INF") {
        return Some(if mantissa.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    if source.ends_with("e+NaN") {
        return Some(f64::NAN);
    }
    let is_marker = |c: char| matches!(c.to_ascii_lowercase(), 'd' | 'f' | 's' | 'l');
    let plain: Cow<'_, str> = if source.contains(is_marker) {
        source.replace(is_marker, "e").into()
    } else {
        source.into()
    };
    plain.parse().ok().filter(|float: &f64| float.is_finite())
}

/// Canonical digits of an integer's source: decimal, no plus, no leading zeros.
pub(crate) fn decimal(source: &str) -> Cow<'_, str> {
    let (text, radix) = radix(source);
    if radix == 10 {
        return strip(text);
    }
    if let Ok(small) = i64::from_str_radix(text, radix) {
        return small.to_string().into();
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.trim_start_matches('+')),
    };
    format!("{sign}{}", to_decimal(digits, radix)).into()
}

/// Canonical text of a ratio's source: no plus, no leading zeros, no sign on zero.
pub(crate) fn ratio(source: &str) -> Cow<'_, str> {
    let Some((above, below)) = source.split_once('/') else { return source.into() };
    match (strip(above), below.trim_start_matches('0')) {
        (Cow::Borrowed(top), bottom) if top.len() + bottom.len() + 1 == source.len() => {
            source.into()
        }
        (top, bottom) => format!("{top}/{bottom}").into(),
    }
}

/// Decimal digits without plus and leading zeros; zero has no sign.
fn strip(text: &str) -> Cow<'_, str> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return "0".into();
    }
    if !negative {
        return significant.into();
    }
    if significant.len() == digits.len() {
        return text.into();
    }
    format!("-{significant}").into()
}

/// Converts digits of radix 2, 8 or 16 to decimal: 28 bits at a time into limbs of a billion,
/// whose product stays below 64 bits.
fn to_decimal(digits: &str, radix: u32) -> String {
    const LIMB: u64 = 1_000_000_000;
    let per_step = 28 / radix.ilog2() as usize;
    let mut limbs: Vec<u64> = vec![0];
    for step in digits.as_bytes().chunks(per_step) {
        let (mut carry, mut factor) = (0, 1);
        for digit in step.iter().filter_map(|&byte| char::from(byte).to_digit(radix)) {
            carry = carry * u64::from(radix) + u64::from(digit);
            factor *= u64::from(radix);
        }
        for limb in &mut limbs {
            let sum = *limb * factor + carry;
            *limb = sum % LIMB;
            carry = sum / LIMB;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut text = limbs.last().map(u64::to_string).unwrap_or_default();
    for limb in limbs.iter().rev().skip(1) {
        text.push_str(&format!("{limb:09}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::plain_to_i64;

    #[test]
    fn plain_integers_of_every_length() {
        for length in 1..=15 {
            for first in 1..=9 {
                let digits: String =
                    (0..length).map(|at| char::from(b'0' + (first + at) % 10)).collect();
                for after in ["", ")", " 99999999", "\u{fc}\u{fc}\u{fc}\u{fc}"] {
                    let text = format!("({digits}{after}");
                    let value = plain_to_i64(text.as_bytes(), 1, 1 + digits.len());
                    assert_eq!(value.to_string(), digits.trim_start_matches('0').to_owned());
                }
            }
        }
    }
}
