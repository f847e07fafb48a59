//! Numbers in words and Roman letters, case conversion, groups of digits.

use crate::machine::Machine;
use crate::native::characters::{downcase, upcase};
use crate::trap::StepResult;
use crate::value::Word;

const SMALL: [&str; 20] = [
    "",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const SCALES: [&str; 7] =
    ["", " thousand", " million", " billion", " trillion", " quadrillion", " quintillion"];

pub(super) fn spelled(m: &mut Machine, word: Word, colon: bool, at: bool) -> StepResult<String> {
    let Some(number) = word.as_fixnum() else {
        return m.refuse("FORMAT directive ~R of this value");
    };
    if at {
        return match number {
            1..=3999 => Ok(roman(number, colon)),
            _ => m.refuse("Roman numerals outside 1 to 3999"),
        };
    }
    let cardinal = cardinal(number);
    Ok(if colon { ordinal(&cardinal) } else { cardinal })
}

fn cardinal(number: i64) -> String {
    if number == 0 {
        return "zero".into();
    }
    let mut rest = number.unsigned_abs();
    let mut groups = Vec::new();
    while rest > 0 {
        groups.push((rest % 1000) as usize);
        rest /= 1000;
    }
    let shown = groups.iter().enumerate().rev().filter(|(_, group)| **group > 0);
    let parts: Vec<String> =
        shown.map(|(scale, group)| format!("{}{}", hundreds(*group), SCALES[scale])).collect();
    format!("{}{}", if number < 0 { "negative " } else { "" }, parts.join(" "))
}

fn hundreds(number: usize) -> String {
    let below = number % 100;
    let small = match below {
        0 => String::new(),
        1..=19 => SMALL[below].to_owned(),
        _ if below.is_multiple_of(10) => TENS[below / 10].to_owned(),
        _ => format!("{}-{}", TENS[below / 10], SMALL[below % 10]),
    };
    match (number / 100, small.is_empty()) {
        (0, _) => small,
        (hundred, true) => format!("{} hundred", SMALL[hundred]),
        (hundred, false) => format!("{} hundred {small}", SMALL[hundred]),
    }
}

fn ordinal(cardinal: &str) -> String {
    let start = cardinal.rfind([' ', '-']).map_or(0, |at| at + 1);
    let last = match &cardinal[start..] {
        "zero" => "zeroth".to_owned(),
        "one" => "first".to_owned(),
        "two" => "second".to_owned(),
        "three" => "third".to_owned(),
        "five" => "fifth".to_owned(),
        "eight" => "eighth".to_owned(),
        "nine" => "ninth".to_owned(),
        "twelve" => "twelfth".to_owned(),
        word if word.ends_with('y') => format!("{}ieth", &word[..word.len() - 1]),
        word => format!("{word}th"),
    };
    format!("{}{last}", &cardinal[..start])
}

fn roman(mut number: i64, is_old: bool) -> String {
    let new = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut text = String::new();
    for (value, letters) in new.into_iter().filter(|(_, letters)| !is_old || letters.len() == 1) {
        while number >= value {
            text.push_str(letters);
            number -= value;
        }
    }
    text
}

pub(super) fn group(digits: &str, separator: char, every: usize) -> String {
    let count = digits.chars().count();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (count - index).is_multiple_of(every) {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}

/// `~(`: lower case; `~:(`: every word capitalized; `~@(`: the first; `~:@(`: upper case.
pub(super) fn case(text: &str, colon: bool, at: bool) -> String {
    if colon && at {
        return text.chars().map(upcase).collect();
    }
    let mut is_start = true;
    let mut is_first = true;
    let change = |c: char| {
        let capital = if colon { is_start } else { at && is_first && c.is_alphanumeric() };
        is_start = !c.is_alphanumeric();
        if c.is_alphanumeric() {
            is_first = false;
        }
        if capital { upcase(c) } else { downcase(c) }
    };
    text.chars().map(change).collect()
}
