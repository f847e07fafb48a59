//! Keywords of progress that headings have and nothing declares: people keep them in `init.el`, which is not read. Counted
//! by the survey, so that `bridle init` can name the setting.

use std::collections::BTreeMap;

/// Words that people use for what is not done, as keywords of Org.
const OPEN_KEYWORDS: &[&str] = &[
    "ACTIVE",
    "BLOCKED",
    "DELEGATED",
    "DOING",
    "HOLD",
    "IDEA",
    "IN-PROGRESS",
    "INPROGRESS",
    "LATER",
    "MAYBE",
    "NEXT",
    "NOW",
    "ONGOING",
    "PAUSED",
    "PLANNED",
    "PROG",
    "PROJ",
    "REVIEW",
    "SOMEDAY",
    "STARTED",
    "STRT",
    "WAIT",
    "WAITING",
];

/// Words that people use for what is done with.
const DONE_KEYWORDS: &[&str] = &[
    "ABANDONED",
    "ABORTED",
    "CANCELED",
    "CANCELLED",
    "CLOSED",
    "DEFERRED",
    "DROPPED",
    "FAILED",
    "FINISHED",
    "KILL",
    "REJECTED",
];

/// Headings that have a word before it is taken for a keyword: one may begin so by chance.
const MIN_HEADINGS_WITH_KEYWORD: usize = 2;

/// Keyword that headings have and nothing declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndeclaredKeyword {
    /// Word.
    pub word: &'static str,
    /// Headings that begin with it.
    pub headings: usize,
    /// Whether it says that something is done with.
    pub is_done: bool,
}

/// Count of the words that headings begin with.
#[derive(Default)]
pub(super) struct KeywordCount {
    /// Headings by their word, and whether that says done.
    counts: BTreeMap<(bool, &'static str), usize>,
}

impl KeywordCount {
    /// Counts the headings of a text. A text that declares keywords itself, or may do so in another file, has no use
    /// for the setting.
    pub(super) fn add(&mut self, text: &[u8]) {
        let lines = || text.split(|byte| *byte == b'\n');
        if lines().any(declares_keywords) {
            return;
        }
        for key in lines().filter_map(known_word) {
            *self.counts.entry(key).or_default() += 1;
        }
    }

    /// Gives the words that several headings have, and that the sequences of the settings do not.
    pub(super) fn undeclared(&self, sequences: &[String]) -> Vec<UndeclaredKeyword> {
        let declared =
            |word: &str| sequences.iter().flat_map(|it| keywords(it)).any(|it| it == word);
        let found = self.counts.iter().filter(|((_, word), headings)| {
            **headings >= MIN_HEADINGS_WITH_KEYWORD && !declared(word)
        });
        found
            .map(|((is_done, word), headings)| UndeclaredKeyword {
                word,
                headings: *headings,
                is_done: *is_done,
            })
            .collect()
    }
}

/// Gives the value of `memex-todo-keywords` that declares more keywords, in the first of the sequences.
#[must_use]
pub fn suggested_keywords(sequences: &[String], found: &[UndeclaredKeyword]) -> String {
    let first = sequences.first().map_or("TODO | DONE", |it| it.trim());
    let (open, done) = match first.split_once('|') {
        Some((open, done)) => (open.trim(), done.trim()),
        // The last one says done, as in Emacs.
        None => first.rsplit_once(char::is_whitespace).unwrap_or(("", first)),
    };
    let more =
        |is_done: bool| found.iter().filter(move |it| it.is_done == is_done).map(|it| it.word);
    let joined = |words: Vec<&str>| words.join(" ");
    let open = joined(open.split_whitespace().chain(more(false)).collect());
    let done = joined(done.split_whitespace().chain(more(true)).collect());
    let rest = sequences.iter().skip(1).map(|it| format!(", {}", it.trim()));
    format!("{open} | {done}{}", rest.collect::<String>())
}

/// Gives the keywords of a sequence, without what stands in parentheses behind them.
fn keywords(sequence: &str) -> impl Iterator<Item = &str> {
    sequence.split_whitespace().map(|word| word.split('(').next().unwrap_or(word))
}

/// Tells whether a line declares keywords, or names a file that may.
fn declares_keywords(line: &[u8]) -> bool {
    const KEYS: [&[u8]; 4] = [b"#+todo:", b"#+seq_todo:", b"#+typ_todo:", b"#+setupfile:"];
    let line = line.trim_ascii_start();
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    KEYS.iter().any(|key| line.get(..key.len()).is_some_and(|it| it.eq_ignore_ascii_case(key)))
}

/// Gives the word that a heading begins with, if people use it as a keyword, and whether that says done.
fn known_word(line: &[u8]) -> Option<(bool, &'static str)> {
    let stars = line.iter().take_while(|byte| **byte == b'*').count();
    let title = line[stars..].strip_prefix(b" ").filter(|_| stars > 0)?.trim_ascii();
    let word = title.split(|byte| *byte == b' ').next()?;
    // A heading that has nothing else is a title.
    if word.len() == title.len() {
        return None;
    }
    let find =
        |words: &'static [&'static str]| words.iter().copied().find(|it| it.as_bytes() == word);
    find(OPEN_KEYWORDS).map(|it| (false, it)).or_else(|| find(DONE_KEYWORDS).map(|it| (true, it)))
}

#[cfg(test)]
mod tests {
    use super::{KeywordCount, suggested_keywords};

    const TEXT: &[u8] = b"* NEXT a\n** NEXT b\r\n* WAITING c\n* WAITING d\n* CANCELLED e\n* CANCELLED f\n* HOLD once\n\
        * API g\n* API h\n* NEXT\n* Next i\nNEXT j\n*NEXT k\n* TODO l\n* DONE m\n";

    #[test]
    fn words_that_several_headings_have_are_suggested() {
        let mut count = KeywordCount::default();
        count.add(TEXT);
        let found = count.undeclared(&[]);
        let told: Vec<_> = found.iter().map(|it| (it.word, it.headings)).collect();
        assert_eq!(told, [("NEXT", 2), ("WAITING", 2), ("CANCELLED", 2)]);
        assert_eq!(suggested_keywords(&[], &found), "TODO NEXT WAITING | DONE CANCELLED");
        let set = ["TODO(t) NEXT(n!) DONE".to_owned(), "BUG | FIXED".to_owned()];
        let found = count.undeclared(&set);
        assert_eq!(
            suggested_keywords(&set, &found),
            "TODO(t) NEXT(n!) WAITING | DONE CANCELLED, BUG | FIXED"
        );
    }

    #[test]
    fn files_that_declare_keywords_count_for_nothing() {
        for line in
            ["#+TODO: A | B\n", "\u{feff}#+seq_todo: A\n", "  #+TYP_TODO: A\n", "#+SETUPFILE: x\n"]
        {
            let mut count = KeywordCount::default();
            count.add(&[line.as_bytes(), TEXT].concat());
            assert_eq!(count.undeclared(&[]), [], "{line}");
        }
    }
}
