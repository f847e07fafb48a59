//! A text that is made at once is the text of the value.

use bridle_sexp::Value;

use super::{FieldSink, PlistBuilder, PlistText, printed};
use crate::ids::KeywordName;

/// Everything that can be put, empty and not.
fn all<F: FieldSink>(fields: F) -> F {
    let none: [&str; 0] = [];
    fields
        .put("vector", Value::Vector(vec![Value::int(1), Value::T]))
        .put_value("nil", &Value::Nil)
        .put_str("text", "a \"quoted\" \\ line\nand ü")
        .put_str("empty", "")
        .put_int("least", i64::MIN)
        .put_int("most", i64::MAX)
        .put_int("zero", 0)
        .put_number("large", u64::MAX)
        .put_word("word", "plain-1")
        .put_word("odd", "not plain: (at) |all|")
        .put_word("no-letters", "")
        .put_name("name", Some(&KeywordName::new("Emacs")))
        .put_name("nobody", None)
        .put_flag("yes", true)
        .put_flag("no", false)
        .put_text("some", Some("x"))
        .put_text("none", None)
        .put_some("maybe", Some(7))
        .put_list("list", [Value::str("a"), Value::int(-5)])
        .put_list("no-list", [])
        .put_fields("inside", |inside| inside.put_int("a", 1).put_fields("deeper", |it| it))
        .put_each("each", [1, 2], |inside, number| inside.put_int("n", number))
        .put_each("hollow", [1, 2], |inside, _| inside)
        .put_each("no-each", [0; 0], |inside, number| inside.put_int("n", number))
        .put_words("words", ["a", "b c"])
        .put_words("no-words", none)
        .put_ints("ints", [1, -2, 3])
        .put_ints("no-ints", [])
}

#[test]
fn a_text_that_is_made_at_once_is_that_of_the_value() {
    assert_eq!(all(PlistText::new()).done(), printed(&all(PlistBuilder::new()).done()));
    assert_eq!(PlistText::new().done(), printed(&PlistBuilder::new().done()));
}
