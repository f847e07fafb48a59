//! Text of others, made harmless for a terminal: nothing moves the cursor, reorders what stands
//! beside it, or hides.
//!
//! A control character becomes its picture (`␛` for escape), and every other character that a
//! terminal does not show becomes its number, such as `<U+202E>`. So the reader sees that it is
//! there. Joiners stay where writing needs them: between Arabic or Indic letters, and inside emoji.

use std::borrow::Cow;

use bridle_wire::plain::is_hidden;
use unicode_width::UnicodeWidthChar as _;

/// Marks without a width that may stand on one letter; more of them run over the lines around.
const MAX_MARKS_PER_LETTER: usize = 8;

/// Picture of a line break inside text that must stay on one line.
const LINE_BREAK: char = '\u{21b5}';

/// Returns the text on one line: line breaks become `↵`, tabs become blanks.
pub fn neutral_line(text: &str) -> Cow<'_, str> {
    neutral(text, BreakHandling::Shown)
}

/// Returns the text with its line breaks and tabs.
pub fn neutral_block(text: &str) -> Cow<'_, str> {
    neutral(text, BreakHandling::Kept)
}

/// Treatment of line breaks and tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BreakHandling {
    Kept,
    Shown,
}

fn neutral(text: &str, breaks: BreakHandling) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
    let is_break = |byte: u8| breaks == BreakHandling::Kept && matches!(byte, b'\n' | b'\t');
    if text.bytes().all(|byte| is_plain(byte) || is_break(byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut marks = 0;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_mark = !letter.is_control() && letter.width() == Some(0);
        marks = if is_mark { marks + 1 } else { 0 };
        match letter {
            '\n' | '\t' if breaks == BreakHandling::Kept => out.push(letter),
            '\n' => out.push(LINE_BREAK),
            '\t' => out.push(' '),
            '\0'..='\u{1f}' | '\u{7f}' => out.push(picture(letter)),
            _ if marks > MAX_MARKS_PER_LETTER => push_number(letter, &mut out),
            _ if !is_hidden(letter) => out.push(letter),
            _ if joins(before, letter, letters.peek().copied()) => out.push(letter),
            _ => push_number(letter, &mut out),
        }
        before = Some(letter);
    }
    Cow::Owned(out)
}

/// Picture of a control character of ASCII.
fn picture(control: char) -> char {
    match control {
        '\u{7f}' => '\u{2421}',
        _ => char::from_u32(0x2400 + u32::from(control)).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

fn push_number(letter: char, out: &mut String) {
    out.push_str(&format!("<U+{:04X}>", u32::from(letter)));
}

/// Whether an invisible character does its proper work between its neighbours.
fn joins(before: Option<char>, letter: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match letter {
        // An emoji rather than a letter, `❤️` or `1️⃣`.
        '\u{fe0f}' => is_pictograph(before) || after == Some('\u{20e3}'),
        '\u{200d}' if after.is_some_and(is_pictograph) => {
            is_pictograph(before) || before == '\u{fe0f}'
        }
        '\u{200c}' | '\u{200d}' => is_joined_script(before) && after.is_some_and(is_joined_script),
        _ => false,
    }
}

/// Letters of Arabic, its kin, and the scripts of India and around, which are written with joiners.
fn is_joined_script(letter: char) -> bool {
    matches!(letter,
        '\u{620}'..='\u{6d3}' | '\u{6fa}'..='\u{77f}' | '\u{7ca}'..='\u{7ea}'
        | '\u{8a0}'..='\u{8ff}' | '\u{900}'..='\u{df4}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17d3}' | '\u{1820}'..='\u{18aa}')
}

/// Pictures, as far as emoji are made of them.
fn is_pictograph(letter: char) -> bool {
    matches!(letter,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}'
        | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::{neutral_block, neutral_line};

    #[test]
    fn what_drives_a_terminal_is_shown_instead() {
        for (text, line) in [
            ("plain é 日本 👍", "plain é 日本 👍"),
            ("a\u{1b}[2Jb\u{9b}31m\u{7f}", "a␛[2Jb<U+009B>31m␡"),
            ("ok\r\nerror: forged\tx", "ok␍↵error: forged x"),
            (
                "pay \u{202e}evil\u{202c} \u{2066}x\u{2069}",
                "pay <U+202E>evil<U+202C> <U+2066>x<U+2069>",
            ),
            ("ad\u{200b}min\u{feff}\u{ad}\u{3164}", "ad<U+200B>min<U+FEFF><U+00AD><U+3164>"),
            ("tag\u{e0041}\u{e007f}", "tag<U+E0041><U+E007F>"),
            ("a\u{fe0f}\u{200d}b\u{e0100}", "a<U+FE0F><U+200D>b<U+E0100>"),
            ("line\u{2028}para\u{2029}", "line<U+2028>para<U+2029>"),
        ] {
            assert_eq!(neutral_line(text), line);
        }
        assert_eq!(neutral_block("a\n\tb\u{8}"), "a\n\tb␈");
    }

    #[test]
    fn joiners_stay_where_writing_needs_them() {
        for text in [
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "👩\u{200d}👧",
            "❤\u{fe0f}\u{200d}🔥",
            "1\u{fe0f}\u{20e3}",
        ] {
            assert_eq!(neutral_line(text), text);
        }
        assert_eq!(neutral_line("👍\u{200d}"), "👍<U+200D>");
        assert_eq!(neutral_line("👍\u{fe0f}\u{fe0f}"), "👍\u{fe0f}<U+FE0F>");
    }

    #[test]
    fn marks_do_not_run_over_other_lines() {
        let text = format!("e{}", "\u{301}".repeat(10));
        let shown = format!("e{}<U+0301><U+0301>", "\u{301}".repeat(8));
        assert_eq!(neutral_line(&text), shown);
    }
}
