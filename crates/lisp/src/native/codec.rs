//! Base64, percent escapes, hashes, and the civil time of a given instant.

use bridle_sexp::byte_text;
use bridle_sexp::civil_date::civil_from_days;
use sha2::{Digest as _, Sha256};

use super::{NativeFunction, native};
use crate::machine::Machine;
use crate::symbols::well_known;
use crate::trap::StepResult;
use crate::value::Word;

pub(crate) const TABLE: &[NativeFunction] = &[
    native("bridle:base64-encode", 1, 1, |m, a| {
        let text = m.string_argument(m.argument(a, 0))?;
        m.make_text(byte_text::base64(text.as_bytes()))
    }),
    native("bridle:base64-decode", 1, 1, |m, a| {
        let text = m.string_argument(m.argument(a, 0))?;
        let Some(bytes) = byte_text::unbase64(&text) else {
            return Err(m.simple_error("bad base64"));
        };
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
        m.make_text(byte_text::hex(&digest))
    }),
    // Seconds since 1970 to (:year :month :day :hour :minute :second :weekday), UTC; Monday is 0.
    native("bridle:civil-time", 1, 1, |m, a| {
        let word = m.argument(a, 0);
        let Some(seconds) = word.as_fixnum().filter(|seconds| seconds.abs() < 1 << 40) else {
            return Err(m.type_error(word, well_known::INTEGER));
        };
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
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

fn text_of(m: &mut Machine, bytes: Vec<u8>) -> StepResult {
    match String::from_utf8(bytes) {
        Ok(text) => m.make_text(text),
        Err(_) => Err(m.simple_error("bytes that are no UTF-8 text")),
    }
}
