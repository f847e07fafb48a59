//! Classes of characters as Org's expressions have them: by the table of syntax that Org mode sets up in Emacs.
//! Used by `object`. Bytes that are no UTF-8 are characters of their own, of no class but punctuation.

use crate::text::first_char;

/// Characters above ASCII that are part of a word, from first to last, in order.
#[rustfmt::skip]
const WORDS: &[(u32, u32)] = &[
    (0x80, 0x9f), (0xa5, 0xa5), (0xb2, 0xb3), (0xb5, 0xb5), (0xb7, 0xb7), (0xb9, 0xb9),
    (0xc0, 0xd6), (0xd8, 0xf6), (0xf8, 0x2c6), (0x2c8, 0x2c8), (0x2ca, 0x2cf), (0x2d1, 0x2d7),
    (0x2dc, 0x2dc), (0x2de, 0x383), (0x386, 0x5bd), (0x5bf, 0x5bf), (0x5c1, 0x5c2), (0x5c4, 0x5c5),
    (0x5c7, 0xe2e), (0xe30, 0xe3e), (0xe40, 0xe45), (0xe47, 0xe4e), (0xe50, 0xe59), (0xe5c, 0xeae),
    (0xeb0, 0xec5), (0xec7, 0xeff), (0xf0c, 0xf0c), (0xf19, 0xf19), (0xf20, 0xf33), (0xf35, 0xf35),
    (0xf37, 0xf37), (0xf40, 0xf7e), (0xf80, 0xf84), (0xf86, 0xfbd), (0xfd0, 0x1360),
    (0x1369, 0x1fff), (0x2027, 0x202e), (0x2060, 0x207c), (0x207f, 0x208c), (0x208f, 0x20ab),
    (0x20ad, 0x2102), (0x2104, 0x2108), (0x210a, 0x2115), (0x2117, 0x2120), (0x2123, 0x2152),
    (0x2155, 0x215a), (0x215f, 0x218f), (0x2450, 0x245f), (0x246f, 0x2473), (0x24b6, 0x24ff),
    (0x254c, 0x2591), (0x2593, 0x259f), (0x25a2, 0x25a2), (0x25aa, 0x25b1), (0x25b4, 0x25b5),
    (0x25b8, 0x25bb), (0x25be, 0x25bf), (0x25c2, 0x25c5), (0x25c9, 0x25ca), (0x25cc, 0x25cd),
    (0x25d2, 0x25ee), (0x25f0, 0x2604), (0x2607, 0x260d), (0x2610, 0x261b), (0x261d, 0x261d),
    (0x261f, 0x263f), (0x2641, 0x2641), (0x2643, 0x265f), (0x2662, 0x2662), (0x2666, 0x2666),
    (0x266b, 0x266b), (0x266e, 0x266e), (0x2670, 0x2767), (0x276e, 0x276f), (0x2776, 0x27e5),
    (0x27ec, 0x2982), (0x2999, 0x29fb), (0x29fe, 0x29ff), (0x2c00, 0x2dff), (0x2e80, 0x2fff),
    (0x3004, 0x3007), (0x301d, 0x30fa), (0x30fc, 0x31ff), (0x321d, 0x321f), (0x322a, 0x325f),
    (0x327c, 0x327d), (0x3280, 0x337f), (0x3385, 0x3387), (0x33cb, 0x33ce), (0x33d1, 0x33d2),
    (0x33d4, 0x33d5), (0x33d7, 0x33d7), (0x33d9, 0x33da), (0x33de, 0xaada), (0xaae0, 0xd7ff),
    (0xe000, 0xfd3d), (0xfd40, 0xfe34), (0xfe45, 0xfe58), (0xfe5f, 0xff00), (0xff10, 0xff1a),
    (0xff21, 0xff3a), (0xff41, 0xff5a), (0xff66, 0xffdf), (0xffe4, 0xffe4), (0xffe6, 0x10ffff),
];

/// Characters above ASCII that Unicode has for marks on letters, which Org takes for letters; the common ones.
#[rustfmt::skip]
const MARKS: &[(u32, u32)] = &[
    (0x300, 0x36f), (0x483, 0x489), (0x591, 0x5bd), (0x64b, 0x65f), (0x93c, 0x93c), (0x94d, 0x94d),
    (0x20d0, 0x20f0), (0xfe00, 0xfe0f), (0xfe20, 0xfe2f),
];

/// Numbers that are no digits, which Org takes for no letters; the common ones.
#[rustfmt::skip]
const NUMBERS: &[(u32, u32)] = &[
    (0xb2, 0xb3), (0xb9, 0xb9), (0xbc, 0xbe), (0x2070, 0x2089), (0x2150, 0x215f), (0x2189, 0x2189),
    (0x2460, 0x249b), (0x24ea, 0x24ff), (0x2776, 0x2793), (0x3220, 0x3229), (0x3248, 0x324f),
    (0x3251, 0x325f), (0x3280, 0x3289), (0x32b1, 0x32bf),
];

/// Latin letters above ASCII.
#[rustfmt::skip]
const LATIN: &[(u32, u32)] = &[
    (0x80, 0x24f), (0x1e00, 0x1eff), (0x2c60, 0x2c7f), (0xa720, 0xa7ff), (0xab30, 0xab6f),
];

/// Ideographs, kana and what is written with them.
#[rustfmt::skip]
const BREAKABLE: &[(u32, u32)] = &[
    (0x2e80, 0x9fff), (0xf900, 0xfaff), (0xff00, 0xffef), (0x20000, 0x3ffff),
];

fn within(ranges: &[(u32, u32)], letter: char) -> bool {
    let code = u32::from(letter);
    let next = ranges.partition_point(|(_, last)| *last < code);
    ranges.get(next).is_some_and(|(first, _)| *first <= code)
}

/// `\w`.
pub(crate) fn is_word(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| {
        letter.is_ascii_alphanumeric()
            || matches!(letter, '$' | '%' | '\'')
            || (!letter.is_ascii() && within(WORDS, letter))
    })
}

/// Whether a word that begins with a letter of ASCII cannot begin behind this character: it would go on. Between two
/// scripts there is always the edge of a word.
pub(crate) fn joins_word(letter: Option<char>) -> bool {
    is_word(letter) && letter.is_some_and(|letter| letter.is_ascii() || within(LATIN, letter))
}

/// Whether a line may be broken beside this character, so that words need no space between them.
pub(crate) fn is_breakable(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| within(BREAKABLE, letter))
}

/// `[[:space:]]`, `\s-`.
pub(crate) fn is_space(letter: Option<char>) -> bool {
    matches!(
        letter,
        Some(
            ' ' | '\t' | '\n' | '\r' | '\x0c' | '\u{a0}' | '\u{2000}'
                ..='\u{200b}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
        )
    )
}

/// `[[:alnum:]]`.
pub(crate) fn is_alphanumeric(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| {
        letter.is_ascii_alphanumeric()
            || (!letter.is_ascii()
                && ((letter.is_alphanumeric() && !within(NUMBERS, letter))
                    || within(MARKS, letter)))
    })
}

/// `[[:punct:]]`: above ASCII, all that is no part of a word.
pub(crate) fn is_punctuation(letter: Option<char>) -> bool {
    match letter {
        Some(letter) if letter.is_ascii() => letter.is_ascii_punctuation(),
        _ => !is_word(letter),
    }
}

/// Whether a fragment such as `$x$` may end before this character.
pub(crate) fn ends_fragment(letter: Option<char>) -> bool {
    match letter {
        Some(letter) if letter.is_ascii() => {
            letter.is_ascii_control() || " !\"#'(),.:;<>?@[]^`{}".contains(letter)
        }
        _ => !is_word(letter),
    }
}

/// The character that begins at `at`; `None` for a byte that is no UTF-8. The offset is before the end.
pub(crate) fn letter_at(text: &[u8], at: usize) -> Option<char> {
    match text.get(at) {
        Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
        Some(_) => first_char(&text[at..]).and_then(|(letter, _)| letter),
        None => None,
    }
}

/// The length of the character that begins at `at`, at least 1.
pub(crate) fn length_at(text: &[u8], at: usize) -> usize {
    if text.get(at).is_some_and(u8::is_ascii) {
        return 1;
    }
    letter_at(text, at).map_or(1, char::len_utf8)
}

/// The character that ends before `at`, which is not the beginning.
pub(crate) fn letter_before(text: &[u8], at: usize) -> Option<char> {
    let last = *text.get(at.checked_sub(1)?)?;
    if last.is_ascii() {
        return Some(char::from(last));
    }
    let starts = at.saturating_sub(4)..at;
    let start = starts.rev().find(|start| (text[*start] & 0xc0) != 0x80)?;
    letter_at(&text[..at], start).filter(|letter| start + letter.len_utf8() == at)
}
