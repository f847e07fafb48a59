//! Words of searched text. SQLite makes words of letters that stand together, which is right for scripts that put
//! blanks between words. Other scripts do not, and pictures are no letters; so their characters are set apart here,
//! in the index and in the question, and a search for several of them is one for a phrase.

use std::borrow::Cow;
use std::fmt::Write as _;

use bridle_record::StoreError;

/// Longest text that is searched for, in bytes, and most words of it.
const MAX_SEARCH_BYTES: usize = 1024;
const MAX_SEARCH_WORDS: usize = 32;

/// Words of a search by which objects are ranked; how frequent one is takes up to a millisecond to tell.
const MAX_WEIGHED_WORDS: usize = 8;

/// Whether a character is a word of its own here.
pub(crate) fn stands_alone(c: char) -> bool {
    matches!(u32::from(c),
        // Thai, Lao, Tibetan, Burmese, Khmer
        0x0e00..=0x0fff | 0x1000..=0x109f | 0x1780..=0x17ff
        // Kana, bopomofo, ideographs, Hangul
        | 0x3040..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff
        | 0x2_0000..=0x3_ffff)
}

/// Whether it is a picture, which SQLite would drop.
fn is_picture(c: char) -> bool {
    matches!(u32::from(c), 0x2600..=0x27bf | 0x2b00..=0x2bff | 0x1_f000..=0x1_fbff)
}

/// The text with such characters set apart.
pub(crate) fn spread(text: &str) -> Cow<'_, str> {
    // The first character of all these, U+0E00, begins with this byte.
    let first = text.bytes().position(|byte| byte >= 0xe0);
    let Some(first) =
        first.filter(|first| text[*first..].chars().any(|c| stands_alone(c) || is_picture(c)))
    else {
        return Cow::Borrowed(text);
    };
    let mut spread = String::with_capacity(text.len() * 2);
    spread.push_str(&text[..first]);
    for c in text[first..].chars() {
        if stands_alone(c) {
            spread.extend([' ', c, ' ']);
        } else if is_picture(c) {
            // Writing to a string cannot fail.
            let _ = write!(spread, " picture{:x} ", u32::from(c));
        } else {
            spread.push(c);
        }
    }
    Cow::Owned(spread)
}

/// Words that somebody searches for: all of them must occur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchWords {
    /// As they were written, without quotes: to be found again in the text.
    pub(crate) words: Vec<String>,
    /// The words and beginnings of words in them, for SQLite, the longest first and no more than [`MAX_WEIGHED_WORDS`]: what
    /// can be weighed.
    pub(crate) weighed: Vec<String>,
    /// All of it for SQLite, with what must not be there.
    pub(crate) expression: String,
}

impl SearchWords {
    /// Reads words, `"phrases"`, `begin*` and `-without`.
    ///
    /// # Errors
    /// There is no word in it, or too many.
    pub(crate) fn read(text: &str) -> Result<SearchWords, StoreError> {
        if text.len() > MAX_SEARCH_BYTES {
            return Err(StoreError::Search("longer than 1,024 bytes"));
        }
        let (mut wanted, mut without) = (SearchWords::default(), Vec::new());
        let mut phrases = Vec::new();
        for piece in pieces(text) {
            let SearchPiece { text, negated, is_prefix } = piece;
            let spread = spread(text);
            if !spread.chars().any(char::is_alphanumeric) {
                continue;
            }
            let star = if is_prefix { "*" } else { "" };
            let quoted = format!("\"{}\"{star}", spread.replace('"', " "));
            if negated {
                without.push(quoted);
                continue;
            }
            phrases.push(quoted);
            wanted.words.push(text.to_lowercase());
            let parts =
                spread.split(separates).filter(|part| part.chars().any(char::is_alphanumeric));
            wanted.weighed.extend(parts.map(|part| format!("\"{part}\"{star}")));
        }
        if wanted.words.is_empty() {
            return Err(StoreError::Search("no word to look for"));
        }
        if wanted.words.len() + without.len() > MAX_SEARCH_WORDS {
            return Err(StoreError::Search("more than 32 words"));
        }
        // Long words are rare.
        wanted.weighed.sort_by_key(|word| std::cmp::Reverse(word.len()));
        wanted.weighed.truncate(MAX_WEIGHED_WORDS);
        wanted.expression = phrases.join(" AND ");
        for word in without {
            wanted.expression = format!("({}) NOT {word}", wanted.expression);
        }
        Ok(wanted)
    }
}

/// Whether a character is in no word, for certain.
fn separates(c: char) -> bool {
    c.is_whitespace() || (c.is_ascii() && !c.is_ascii_alphanumeric())
}

/// Whether all of these words stand in a text, each where a word begins.
pub(crate) fn has_all(text: &str, words: &[String]) -> bool {
    words.iter().all(|word| {
        let mut from = 0;
        while let Some(at) = find(&text[from..], word).map(|at| from + at) {
            let before = text[..at].chars().next_back();
            if before.is_none_or(|c| !c.is_alphanumeric() || stands_alone(c)) {
                return true;
            }
            from = at + text[at..].chars().next().map_or(1, char::len_utf8);
        }
        false
    })
}

struct SearchPiece<'t> {
    text: &'t str,
    negated: bool,
    is_prefix: bool,
}

fn pieces(text: &str) -> Vec<SearchPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && pieces.len() <= MAX_SEARCH_WORDS {
        let (negated, inner) = match rest.strip_prefix('-') {
            Some(inner) => (true, inner),
            None => (false, rest),
        };
        let (word, behind) = match inner.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => inner.split_at(inner.find(char::is_whitespace).unwrap_or(inner.len())),
        };
        let is_prefix = !inner.starts_with('"') && word.ends_with('*');
        pieces.push(SearchPiece { text: word.trim_end_matches('*'), negated, is_prefix });
        rest = behind.trim_start();
    }
    pieces
}

/// Characters shown on each side of what was found.
const SNIPPET_MARGIN_CHARS: usize = 60;

/// The place in a text where the first of the words is, on one line, with what stands around it.
pub(crate) fn snippet(text: &str, words: &[String]) -> String {
    let found = words.iter().filter_map(|word| find(text, word)).min();
    let at = found.unwrap_or(0);
    let before = text[..at]
        .char_indices()
        .rev()
        .take(SNIPPET_MARGIN_CHARS)
        .last()
        .map_or(at, |(start, _)| start);
    let behind = &text[at..];
    let after =
        behind.char_indices().nth(2 * SNIPPET_MARGIN_CHARS).map_or(text.len(), |(end, _)| at + end);
    let mut shown = String::new();
    if before > 0 {
        shown.push('…');
    }
    for word in text[before..after].split_whitespace() {
        if !shown.is_empty() && shown != "…" {
            shown.push(' ');
        }
        shown.push_str(word);
    }
    if after < text.len() {
        shown.push('…');
    }
    shown
}

/// Returns the place of the first occurrence of a lower-case word in a text of any case.
fn find(text: &str, word: &str) -> Option<usize> {
    let first = word.chars().next()?;
    text.char_indices()
        .filter(|(_, c)| c.to_lowercase().next() == Some(first))
        .map(|(at, _)| at)
        .find(|at| {
            let mut letters = text[*at..].chars().flat_map(char::to_lowercase);
            word.chars().all(|wanted| letters.next() == Some(wanted))
        })
}

#[cfg(test)]
mod tests {
    use super::{MAX_WEIGHED_WORDS, SearchWords, has_all, snippet, spread};

    #[test]
    fn characters_without_blanks_between_words_are_set_apart() {
        assert_eq!(spread("plain ascii"), "plain ascii");
        assert_eq!(spread("مرحبا بالعالم"), "مرحبا بالعالم");
        assert_eq!(spread("a日本b"), "a 日  本 b");
        assert_eq!(spread("go🚀"), "go picture1f680 ");
    }

    #[test]
    fn words_phrases_beginnings_and_what_must_not_be_there() {
        let check = |text: &str, expect: &str| {
            assert_eq!(SearchWords::read(text).expect(text).expression, expect);
        };
        check("one  two", "\"one\" AND \"two\"");
        check("\"one two\" be*", "\"one two\" AND \"be\"*");
        check("one -two", "(\"one\") NOT \"two\"");
        check("a\"b", "\"a b\"");
        check("日本", "\" 日  本 \"");
        for bad in ["", "  ", "-a", "()", "\"\"", &"x".repeat(2000), &"x ".repeat(40)] {
            assert!(SearchWords::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_are_weighed_one_by_one_and_the_longest_first() {
        let weighed = |text: &str| SearchWords::read(text).expect(text).weighed;
        assert_eq!(weighed("\"a garden\" roof*"), ["\"garden\"", "\"roof\"*", "\"a\""]);
        assert_eq!(weighed("one-two -three"), ["\"one\"", "\"two\""]);
        assert_eq!(weighed("日本"), ["\"日\"", "\"本\""]);
        assert_eq!(weighed(&"x ".repeat(20)).len(), MAX_WEIGHED_WORDS);
    }

    #[test]
    fn a_text_has_words_where_words_begin() {
        let has = |text: &str, words: &[&str]| {
            has_all(text, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert!(has("The Garden, again", &["garden", "again"]));
        assert!(has("regarden garden", &["garden"]));
        assert!(!has("regarden", &["garden"]));
        assert!(!has("The garden", &["garden", "roof"]));
        assert!(has("日本語", &["本"]));
    }

    #[test]
    fn a_snippet_is_one_line_around_the_first_word() {
        let text = format!("{} Needle\n in {}", "hay ".repeat(100), "stack ".repeat(100));
        let shown = snippet(&text, &["needle".to_owned()]);
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.contains("hay Needle in stack") && shown.len() < 250, "{shown}");
        assert_eq!(snippet("ⅠⅠ ẞ", &["ß".to_owned()]), "ⅠⅠ ẞ");
        assert_eq!(snippet("", &["x".to_owned()]), "");
    }
}
