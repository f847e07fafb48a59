//! Names that end in a number, made without the machinery of formatting: every request has some.

/// Digits of the largest number.
const MAX_DIGITS: usize = 20;

/// Texts and a number behind them, in as much memory as that takes.
pub(crate) fn numbered(before: &[&str], number: u64) -> String {
    let (mut digits, mut at, mut rest) = ([b'0'; MAX_DIGITS], MAX_DIGITS, number);
    loop {
        at -= 1;
        // Less than ten.
        digits[at] += (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let digits = std::str::from_utf8(&digits[at..]).expect("digits are text");
    let room = before.iter().map(|text| text.len()).sum::<usize>() + digits.len();
    let mut name = String::with_capacity(room);
    before.iter().for_each(|text| name.push_str(text));
    name.push_str(digits);
    name
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn as_formatting_writes_it() {
        for number in [0, 7, 10, 99, 1000, 65_534, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            assert_eq!(numbered(&["s-1", "-"], number), format!("s-1-{number}"));
        }
    }
}
