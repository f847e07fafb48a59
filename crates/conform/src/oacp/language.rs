//! The data language: what is read, what is refused, and how deep (section 3).
//!
//! Each form sits behind an unknown key of a health check, which every daemon reads and ignores: no
//! engine is needed to see what its reader does.
//!
//! long: each list of cases is one table, a requirement after the other.

use super::DaemonUnderTest;
use crate::case::{Checked, ConformanceCase, RequirementLevel};

/// Forms that are read.
const TAKEN: [(&str, &str, &str); 20] = [
    ("L-01", "nil, NIL and () are read", "(nil NIL ())"),
    ("L-02", "dotted pairs are read", "(a . b)"),
    ("L-03", "symbols with packages are read and not resolved", "no-such-package:sym"),
    ("L-04", "symbols in bars are read", "|a b|"),
    ("L-05", "symbols with escapes are read", "a\\ b"),
    ("L-06", "symbols without a home are read", "#:g"),
    ("L-07", "raw newlines in strings are read", "\"a\nb\""),
    ("L-08", "quotes and backslashes in strings are read", r#""a \" b \\ c""#),
    ("L-09", "integers of any size are read", "(0 -7 123456789012345678901234567890)"),
    ("L-10", "integers in other bases are read", "(#xff #o17 #b101)"),
    ("L-11", "ratios are read", "1/3"),
    ("L-12", "floats of Common Lisp are read", "(1.5 1.5d0 1e10 -0.0)"),
    ("L-13", "floats of Emacs are read", "(1.0e+INF 0.0e+NaN)"),
    ("L-14", "characters are read", "(#\\a #\\Newline)"),
    ("L-15", "vectors of Common Lisp are read", "#(1 2)"),
    ("L-16", "vectors of Emacs are read", "[1 2]"),
    ("L-17", "Emacs strings with properties are read", "#(\"text\" 0 4 (face bold))"),
    ("L-18", "quote and function are read", "('x #'f)"),
    ("L-19", "backquote with commas is read", "`(a ,x ,@y)"),
    ("L-20", "text of every script is read", "(\"ἵππος\" \"漢字\" \"🐎\" \"مرحبا\")"),
];

/// Forms that are refused, with their category.
const REFUSED: [(&str, &str, &str, &str); 24] = [
    ("L-30", "`#.` is never evaluated", "#.(print 1)", "read-eval"),
    ("L-31", "`#,` is never evaluated", "#,(print 1)", "read-eval"),
    ("L-32", "what was printed unreadably is refused", "#<stream>", "unreadable"),
    ("L-33", "structures are refused", "#S(a :b 1)", "structure"),
    ("L-34", "structures of Emacs are refused", "#s(hash-table)", "structure"),
    ("L-35", "path names are refused", "#P\"/etc/passwd\"", "pathname"),
    ("L-36", "complex numbers are refused", "#C(1 2)", "complex"),
    ("L-37", "features are refused", "#+sbcl a", "feature"),
    ("L-38", "absent features are refused", "#-sbcl a", "feature"),
    ("L-39", "labels are refused", "#1=(a)", "label"),
    ("L-40", "circles are refused", "#1=(a . #1#)", "label"),
    ("L-41", "vectors with a length are refused", "#999999999(a)", "array"),
    ("L-42", "arrays are refused", "#2A((a))", "array"),
    ("L-43", "bit vectors are refused", "#*0101", "array"),
    ("L-44", "comments to the end of the line are refused", "a ;b\n", "comment"),
    ("L-45", "block comments are refused", "#|b|#", "comment"),
    ("L-46", "braces are refused", "{a}", "brace"),
    ("L-47", "control characters outside strings are refused", "a\u{7}b", "control"),
    ("L-48", "`::` without a package is refused", "::a", "package"),
    ("L-49", "two packages in a symbol are refused", "a:b:c", "package"),
    ("L-50", "a ratio over zero is refused", "1/0", "number"),
    ("L-51", "a comma outside backquote is refused", ",x", "comma"),
    ("L-52", "a list that does not end is refused", "(a", "incomplete"),
    ("L-53", "a string that does not end is refused", "\"a", "incomplete"),
];

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let taken = TAKEN.map(|(id, title, form)| {
        let why = "clients print what their Lisp prints";
        ConformanceCase::new(id, RequirementLevel::Must, "3", title, why, move |peer| {
            is_taken(peer, form)
        })
    });
    let refused = REFUSED.map(|(id, title, form, category)| {
        let why = "a reader that obeys its input runs other people's code, or reads another text";
        ConformanceCase::new(id, RequirementLevel::Must, "3", title, why, move |peer| {
            is_refused(peer, form, category)
        })
    });
    taken.into_iter().chain(refused).chain(bounds()).collect()
}

fn is_taken(peer: &mut DaemonUnderTest, form: &str) -> Checked {
    let mut link = peer.open()?;
    link.ask(&format!("(:type :health-check :x {form})"))?.is("health-response")
}

fn is_refused(peer: &mut DaemonUnderTest, form: &str, category: &str) -> Checked {
    let mut link = peer.open()?;
    let heard = link.ask(&format!("(:type :health-check :x {form})"))?;
    heard.is_error("syntax")?;
    let message = heard.payload("message").as_str().unwrap_or_default();
    let expected = format!("a message that begins with `{category}`");
    heard.has(message.starts_with(category), &expected)?;
    link.is_alive()
}

fn bounds() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let deep = |depth: usize| {
        format!("(:type :health-check :x {}{})", "(".repeat(depth), ")".repeat(depth))
    };
    let why = "a reader without bounds is stopped by one message";
    vec![
        ConformanceCase::new(
            "L-60",
            RequirementLevel::Must,
            "3",
            "two forms in one payload are refused",
            "the second would be lost without a word",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask("(:type :health-check) (:type :health-check)")?.is_error("syntax")?;
                link.is_quiet()?;
                link.is_alive()
            },
        ),
        ConformanceCase::new(
            "L-61",
            RequirementLevel::Must,
            "3",
            "a closing bracket too many is refused",
            "the rest would be lost without a word",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask("(:type :health-check))")?.is_error("syntax")?;
                link.is_alive()
            },
        ),
        ConformanceCase::new(
            "L-62",
            RequirementLevel::Must,
            "9",
            "lists inside lists are read up to the limit of the hello",
            "what the hello promises must hold",
            move |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let depth = link
                    .hello
                    .payload("limits")
                    .get("max-depth")
                    .and_then(bridle_sexp::Value::as_i64);
                // The message itself is one of them.
                let depth = depth.and_then(|depth| usize::try_from(depth - 1).ok()).unwrap_or(1);
                link.ask(&deep(depth))?.is("health-response")
            },
        ),
        ConformanceCase::new(
            "L-63",
            RequirementLevel::Must,
            "9",
            "100,000 lists inside lists are refused, not fatal",
            why,
            move |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask(&deep(100_000))?.is_error("syntax")?;
                link.is_alive()
            },
        ),
        ConformanceCase::new(
            "L-64",
            RequirementLevel::Must,
            "9",
            "an integer of 100,000 digits is refused, not fatal",
            why,
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask(&format!("(:type :health-check :x {})", "7".repeat(100_000)))?
                    .is_error("syntax")?;
                link.is_alive()
            },
        ),
        ConformanceCase::new(
            "L-65",
            RequirementLevel::Must,
            "10",
            "a syntax error has its place",
            "people look for it in kilobytes",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :health-check\n :x #<a>)")?;
                heard.is_error("syntax")?;
                let at = heard.payload("at");
                let part = |key| at.get(key).and_then(bridle_sexp::Value::as_i64);
                let place = (part("offset"), part("line"), part("column"));
                heard.has(place == (Some(25), Some(2), Some(5)), "offset 25, line 2, column 5")
            },
        ),
    ]
}
