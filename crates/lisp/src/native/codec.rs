//! Base64, percent escapes, hashes, and the civil time of a given instant.

use sha2::{Digest as _, Sha256};

use super::{NativeFunction, native};
use crate::machine::Machine;
use crate::symbols::well_known;
use crate::trap::StepResult;
use crate::value::Word;

pub(crate) const TABLE: &[NativeFunction] = &[
    native("bridle:base64-encode", 1, 1, |m, a| {
        let text = m.string_argument(m.argument(a, 0))?;
        let mut out = String::new();
        for chunk in text.as_bytes().chunks(3) {
            let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - chunk.len()));
            for place in 0..4 {
                let digit = (bits >> (18 - 6 * place) & 63) as usize;
                out.push(if place <= chunk.len() { char::from(ALPHABET[digit]) } else { '=' });
            }
        }
        m.make_text(out)
    }),
    native("bridle:base64-decode", 1, 1, |m, a| {
        let text = m.string_argument(m.argument(a, 0))?;
        let body = text.trim_end_matches('=');
        let is_padded = text.len() % 4 == 0 && text.len() - body.len() <= 2;
        let mut bytes = Vec::new();
        let (mut bits, mut count) = (0_u32, 0);
        for byte in body.bytes() {
            let Some(digit) = ALPHABET.iter().position(|known| *known == byte) else {
                return Err(m.simple_error("bad base64"));
            };
            bits = bits << 6 | digit as u32;
            count += 6;
            if count >= 8 {
                count -= 8;
                bytes.push((bits >> count & 255) as u8);
            }
        }
        if !is_padded || bits & ((1 << count) - 1) != 0 {
            return Err(m.simple_error("bad base64"));
        }
        text_of(m, bytes)
    }),
    native("bridle:url-encode", 1, 1, |m, a| {
        let text = m.string_argument(m.argument(a, 0))?;
        let mut out = String::new();
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
        m.make_text(out)
    }),
    native("bridle:url-decode", 1, 1, |m, a| {
        let text = m.string_argument(m.argument(a, 0))?;
        let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
        while at < bytes.len() {
            if bytes[at] == b'%' {
                let digits = text.get(at + 1..at + 3).and_then(|d| u8::from_str_radix(d, 16).ok());
                let Some(byte) = digits else { return Err(m.simple_error("bad percent escape")) };
                out.push(byte);
                at += 3;
            } else {
                out.push(bytes[at]);
                at += 1;
            }
        }
        text_of(m, out)
    }),
    native("bridle:sha256", 1, 1, |m, a| {
        let text = m.string_argument(m.argument(a, 0))?;
        m.charge(text.len() / 16)?;
        let digest = Sha256::digest(text.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        m.make_text(hex)
    }),
    // Seconds since 1970 to (:year :month :day :hour :minute :second :weekday), UTC; Monday is 0.
    native("bridle:civil-time", 1, 1, |m, a| {
        let word = m.argument(a, 0);
        let Some(seconds) = word.as_fixnum().filter(|seconds| seconds.abs() < 1 << 40) else {
            return Err(m.type_error(word, well_known::INTEGER));
        };
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let parts = [
            ("YEAR", year),
            ("MONTH", month),
            ("DAY", day),
            ("HOUR", second / 3600),
            ("MINUTE", second / 60 % 60),
            ("SECOND", second % 60),
            ("WEEKDAY", (days + 3).rem_euclid(7)),
        ];
        let words: Vec<Word> = parts
            .iter()
            .flat_map(|(name, value)| [m.symbols.keyword(name), Word::fixnum(*value)])
            .collect();
        m.make_list(&words)
    }),
];

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn text_of(m: &mut Machine, bytes: Vec<u8>) -> StepResult {
    match String::from_utf8(bytes) {
        Ok(text) => m.make_text(text),
        Err(_) => Err(m.simple_error("bytes that are no UTF-8 text")),
    }
}

/// Year, month and day of a day counted from 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}
