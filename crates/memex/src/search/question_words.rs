//! Reading a whole question: its words without those that every text has, names and numbers, phrases, and the days
//! that it names. Called by `find`; no index is asked here.

use super::question_dates::{is_calendar_word, read_dates};
use crate::index::org_timestamp::{DateSpan, WallMinute};
use crate::index::search_words::stands_alone;
use bridle_record::StoreError;

/// Longest question, in bytes.
const MAX_QUESTION_BYTES: usize = 4096;

/// Terms of a question that are looked up.
const MAX_QUESTION_TERMS: usize = 16;

/// Phrases of a question that are looked up.
const MAX_QUESTION_PHRASES: usize = 6;

/// Words from which on a text without operators is a question.
const MIN_QUESTION_WORDS: usize = 5;

/// Words that tell nothing about what is asked for: of English, German, French, Spanish, Italian, Dutch and
/// Portuguese, in this order.
const STOP_WORDS: &str = " a about all also am an and any are as at be been being but by can could did do does doing \
    don for from get go got had has have having he her hers him his how i if in into is it its just let ll may me \
    might mine more most must my no nor not of on or our ours re s shall she should so some such t than that the \
    their theirs them then there these they this those to too ve was we were what when where which who whom whose \
    why will with would you your yours \
    aber als am an auch auf aus bei bin bis bist da das dass dein dem den der des die dir du durch ein eine einem \
    einen einer eines er es für hab habe haben hat hatte hast ich ihr im ist ja kann man mein meine mich mir mit \
    nach nicht noch nur ob oder seine sich sie sind und uns unser vom von vor wann war waren warum was welche \
    welcher welches wem wen wenn wer werden wie wir wird wo wurde zu zum zur über \
    au aux avec ce ces cette comment dans de du elle en est et eu il ils je la le les leur lui ma mais mes moi mon \
    ne nous ont ou où par pas pour pourquoi quand que quel quelle qui quoi sa se ses son sont sur ta te tes toi \
    ton tu un une vous \
    al como con cuando cuándo cuál de del dónde el ella en era eres es esta fue ha hay la las lo los más mi muy \
    o para pero por porque qué quién se ser si sin sobre su sus también tiene un una y ya yo \
    alla anche che chi ci come con cosa da dal della delle di dove è gli ho il io la le lei lo loro lui ma mi nel \
    nella non perché più quale quando quanto sono tra un una \
    bij dat de die dit een en er haar heb heeft hem het hij hoe ik in is je kan maar met mijn naar niet of om ook \
    op te uit van voor waar waarom wanneer wat we welke wie zijn \
    ao com da das do dos ela ele em foi meu minha na nas no nos não onde os ou para pela pelo por qual quando quem \
    que seu sua são tem um uma você ";

/// A question as it is looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadQuestion {
    /// Words, names and numbers, each once.
    pub(crate) terms: Vec<QuestionTerm>,
    /// Words that stand side by side, as numbers of terms.
    pub(crate) phrases: Vec<(usize, usize)>,
    /// Days that it names.
    pub(crate) dates: Option<DateSpan>,
    /// Text of the question that names the days.
    pub(crate) date_text: String,
}

/// A word of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuestionTerm {
    /// In lower case, to be found again in a text.
    pub(crate) word: String,
    /// As it was written: tags have upper and lower case.
    pub(crate) written: String,
    /// Form in which it is searched for.
    pub(crate) form: TermForm,
}

/// Form in which a word is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermForm {
    /// With any ending.
    Stem,
    /// Names and numbers: as it stands.
    Exact,
}

impl QuestionTerm {
    /// Returns the expression for SQLite.
    pub(crate) fn expression(&self) -> String {
        let mut spaced = String::new();
        for c in self.word.chars() {
            match stands_alone(c) {
                true => spaced.extend([' ', c, ' ']),
                false => spaced.push(c),
            }
        }
        format!("\"{}\"", spaced.replace('"', " "))
    }
}

impl ReadQuestion {
    /// Reads a question; days in it are relative to `now`, without which none are looked for.
    ///
    /// # Errors
    /// There is no word in it, or it is too long.
    pub(crate) fn read(text: &str, now: Option<WallMinute>) -> Result<ReadQuestion, StoreError> {
        if text.len() > MAX_QUESTION_BYTES {
            return Err(StoreError::Search("longer than 4,096 bytes"));
        }
        let words = split(text);
        let dates = now.and_then(|now| read_dates(&words, now));
        let is_titled = words.iter().filter(|word| !is_capital(word)).count() < 2;
        let mut read = ReadQuestion::default();
        // Months and numbers may stand in a text as well; `last` and `ago` say nothing else.
        let told = |at: usize| {
            dates.as_ref().is_some_and(|dates| dates.words.contains(&at))
                && !is_calendar_word(words[at])
        };
        let tells = |(at, word): &(usize, &&str)| !is_stop_word(word) && !told(*at);
        let telling = words.iter().enumerate().filter(tells).count();
        let mut last: Option<(usize, usize)> = None;
        for (at, word) in words.iter().enumerate() {
            if (is_stop_word(word) && telling > 0) || told(at) {
                continue;
            }
            let is_name = at > 0 && !is_titled && is_capital(word);
            let is_number = word.chars().any(char::is_numeric);
            let form = if is_name || is_number { TermForm::Exact } else { TermForm::Stem };
            for part in pieces(word) {
                let Some(number) = read.add(&part, form) else { break };
                if let Some((before, behind)) = last
                    && before + 1 == at
                    && behind != number
                    && read.phrases.len() < MAX_QUESTION_PHRASES
                {
                    read.phrases.push((behind, number));
                }
                last = Some((at, number));
            }
        }
        if let Some(dates) = dates {
            let texts = dates.words.clone().filter_map(|at| words.get(at).copied());
            read.date_text = texts.collect::<Vec<_>>().join(" ");
            read.dates = Some(dates.span);
        }
        match read.terms.is_empty() && read.dates.is_none() {
            true => Err(StoreError::Search("no word to look for")),
            false => Ok(read),
        }
    }

    /// Adds a term, if it is not there; returns its number. `None` when there is no room.
    fn add(&mut self, written: &str, form: TermForm) -> Option<usize> {
        let word = written.to_lowercase();
        if let Some(known) = self.terms.iter().position(|term| term.word == word) {
            return Some(known);
        }
        if self.terms.len() == MAX_QUESTION_TERMS {
            return None;
        }
        self.terms.push(QuestionTerm { word, written: written.to_owned(), form });
        Some(self.terms.len() - 1)
    }
}

/// Whether a text reads like a question and not like words to be found together: a question mark at its end, or
/// five words and more, and none of the operators of a search.
#[must_use]
pub fn looks_like_question(text: &str) -> bool {
    let has_operator = text.split_whitespace().any(|word| {
        word.starts_with('-') || word.contains('"') || word.trim_end_matches('?').ends_with('*')
    });
    let is_asked = text.trim_end().ends_with(['?', '？', '؟']);
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    !has_operator && (is_asked || words.count() >= MIN_QUESTION_WORDS)
}

/// The words of a text: letters and digits that stand together; what follows an apostrophe is none.
fn split(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '_')));
    let bare = words.map(|word| match word.rsplit_once(['\'', '’']) {
        Some((stem, end)) if end.len() <= 2 && !stem.is_empty() => stem,
        _ => word,
    });
    let bare = bare.flat_map(|word| word.split(['\'', '’', '_']));
    bare.filter(|word| word.chars().any(char::is_alphanumeric)).collect()
}

/// The parts of a word that are looked up: itself, or, in scripts without blanks, each two neighboring characters.
fn pieces(word: &str) -> Vec<String> {
    if !word.chars().any(stands_alone) {
        return vec![word.to_owned()];
    }
    let letters: Vec<char> = word.chars().collect();
    if letters.len() == 1 {
        return vec![word.to_owned()];
    }
    letters.windows(2).map(|pair| pair.iter().collect()).collect()
}

fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&format!(" {} ", word.to_lowercase()))
}

#[cfg(test)]
mod tests;
