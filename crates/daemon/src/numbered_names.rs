//! Names that end in a number, made without the machinery of formatting: every request has some.

use bridle_sexp::print_count;

/// Room for the digits of most numbers, in bytes.
const DIGIT_ROOM_BYTES: usize = 8;

/// Texts and a number behind them.
pub(crate) fn numbered(before: &[&str], number: u64) -> String {
    let room = before.iter().map(|text| text.len()).sum::<usize>();
    let mut name = String::with_capacity(room + DIGIT_ROOM_BYTES);
    before.iter().for_each(|text| name.push_str(text));
    print_count(number, &mut name);
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
