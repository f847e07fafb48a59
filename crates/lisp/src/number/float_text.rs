//! Floats as text: the shortest digits that read back.

/// Digits `d1 d2 d3...` and an exponent `e` so that the value is `0.d1d2d3... * 10^e`.
pub(crate) struct FloatDigits {
    pub(crate) digits: String,
    pub(crate) exponent: i32,
}

fn split(text: &str) -> FloatDigits {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let trimmed = digits.trim_end_matches('0');
    let digits = if trimmed.is_empty() { "0" } else { trimmed }.to_owned();
    FloatDigits { digits, exponent: exponent.parse::<i32>().unwrap_or(0) + 1 }
}

/// Shortest digits of a positive double.
pub(crate) fn shortest_double(number: f64) -> FloatDigits {
    split(&format!("{number:e}"))
}

/// Shortest digits of a positive single.
pub(crate) fn shortest_single(number: f32) -> FloatDigits {
    split(&format!("{number:e}"))
}

/// As SBCL prints it: plain between 10^-3 and 10^7, with an exponent otherwise. `marker` is the
/// letter of the exponent where the float is not of the default width.
pub(crate) fn print_float(digits: &FloatDigits, is_negative: bool, marker: Option<char>) -> String {
    let mut text = String::new();
    if is_negative {
        text.push('-');
    }
    let FloatDigits { digits, exponent } = digits;
    let is_zero = digits == "0";
    if is_zero || (-2..=7).contains(exponent) {
        text.push_str(&plain(digits, if is_zero { 1 } else { *exponent }));
        if let Some(marker) = marker {
            text.push(marker);
            text.push('0');
        }
        return text;
    }
    text.push_str(&plain(digits, 1));
    text.push(marker.unwrap_or('e'));
    text.push_str(&(exponent - 1).to_string());
    text
}

/// Digits with the point behind the first `exponent` of them, at least one on each side.
pub(crate) fn plain(digits: &str, exponent: i32) -> String {
    if exponent <= 0 {
        return format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize));
    }
    let whole = exponent.unsigned_abs() as usize;
    if digits.len() <= whole {
        return format!("{digits}{}.0", "0".repeat(whole - digits.len()));
    }
    format!("{}.{}", &digits[..whole], &digits[whole..])
}
