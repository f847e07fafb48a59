//! Names: which are good, and that none changes on its way through text.

use bridle_sexp::read_one;

use super::{InvalidSessionName, KeywordName, SessionId};

#[test]
fn sessions_have_plain_names() {
    for good in ["a", "work-2026.1_x", &"x".repeat(64)] {
        assert_eq!(SessionId::parse(good).map(|id| id.to_string()), Ok(good.into()));
    }
    assert_eq!(SessionId::parse(""), Err(InvalidSessionName::Length(0)));
    assert_eq!(SessionId::parse(&"x".repeat(65)), Err(InvalidSessionName::Length(65)));
    for (bad, character) in [("a b", ' '), ("../x", '/'), ("é", 'é'), ("a\0", '\0')] {
        assert_eq!(SessionId::parse(bad), Err(InvalidSessionName::Character(character)));
    }
}

#[test]
fn names_fold_case_and_survive_as_keywords() {
    for known in ["emacs", "message", "system", "asker", "user-prompt"] {
        assert_eq!(KeywordName::new(&known.to_uppercase()), KeywordName::new(known));
        assert_eq!(KeywordName::of_word(known), KeywordName::new(known));
    }
    for name in
        ["emacs", "messages", "messagf", "", "a b", "x|y", "λ", "a:b", "\u{1}", "1", "tab\t"]
    {
        let name = KeywordName::new(name);
        let text = name.to_value().to_string();
        let value = read_one(&text).expect("a keyword").root().to_value();
        assert_eq!(KeywordName::of(&value).as_ref(), Some(&name), "{text}");
        assert_eq!(KeywordName::new(name.as_str()), name, "{text}");
    }
}
