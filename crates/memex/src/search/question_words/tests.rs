//! Questions as they are read.

use super::{ReadQuestion, TermForm, looks_like_question};
use crate::index::org_timestamp::WallMinute;

fn read(text: &str) -> ReadQuestion {
    ReadQuestion::read(text, WallMinute::parse("2026-11-18")).expect(text)
}

#[test]
fn words_that_tell_nothing_are_left_out_and_names_are_exact() {
    let check = |text: &str, stems: &[&str], exact: &[&str]| {
        let question = read(text);
        let of = |form: TermForm| -> Vec<String> {
            let terms = question.terms.iter().filter(|term| term.form == form);
            terms.map(|term| term.word.clone()).collect()
        };
        assert_eq!(of(TermForm::Stem), stems, "{text}");
        assert_eq!(of(TermForm::Exact), exact, "{text}");
    };
    check("When did Anna run the charity race?", &["run", "charity", "race"], &["anna"]);
    check("What is Anna's code 4711?", &["code"], &["anna", "4711"]);
    check("Was hat der Gärtner über die Rosen gesagt?", &["gesagt"], &["gärtner", "rosen"]);
    check("¿Dónde está la llave del coche?", &["está", "llave", "coche"], &[]);
    check("to be or not to be?", &["to", "be", "or", "not"], &[]);
    check("Where Is The Key", &["key"], &[]);
    check("東京の家", &["東京", "京の", "の家"], &[]);
}

#[test]
fn words_side_by_side_are_phrases() {
    let question = read("the charity race of the year in the big town hall");
    let word = |at: usize| question.terms[at].word.as_str();
    let phrases: Vec<String> =
        question.phrases.iter().map(|(a, b)| format!("{} {}", word(*a), word(*b))).collect();
    assert_eq!(phrases, ["charity race", "big town", "town hall"]);
}

#[test]
fn sentences_are_questions_and_operators_are_not() {
    for yes in ["roof?", "who fixes the roof this week", "roof repair  ?", "屋根は？"] {
        assert!(looks_like_question(yes), "{yes}");
    }
    for no in [
        "roof",
        "roof ladder fence door",
        "a \"b c\" d e f",
        "one two three four -five",
        "a b c d e*",
        "",
    ] {
        assert!(!looks_like_question(no), "{no}");
    }
}

#[test]
fn nothing_and_too_much_are_refused() {
    let now = Some(WallMinute(0));
    for bad in ["", "?", "— …", &"x".repeat(5000)] {
        assert!(ReadQuestion::read(bad, now).is_err());
    }
    let many: Vec<String> = (0..500).map(|n| format!("w{n}")).collect();
    assert_eq!(ReadQuestion::read(&many.join(" "), now).unwrap().terms.len(), 16);
}
