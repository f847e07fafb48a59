//! Properties: what is printed reads back, in both dialects and through JSON, whatever it is.
//! long: the scraps are one table.

use bridle_sexp::json::{from_json, to_json};
use bridle_sexp::{
    Comments, Dialect, Keyword, Kind, Node, Progress, Reader, Value, canonical, print, print_count,
    print_int, read_one,
};
use proptest::prelude::*;

const DIALECTS: [Dialect; 2] = [Dialect::Lisp, Dialect::Emacs];

fn printed(value: &Value, dialect: Dialect) -> String {
    let mut out = String::new();
    print(value, dialect, &mut out);
    out
}

fn json(value: &Value) -> String {
    let mut out = String::new();
    to_json(value, &mut out);
    out
}

/// Texts of one atom each, with everything that symbols, numbers and characters can have.
fn atom_text() -> impl Strategy<Value = String> {
    let name = "[a-zA-Z0-9+./:?#|\\\\ \"()\\[\\];,'`é日\u{a0}-]{0,6}";
    let in_bars = name
        .prop_map(|name: String| format!("|{}|", name.replace('\\', "\\\\").replace('|', "\\|")));
    prop_oneof![
        in_bars.clone(),
        in_bars.clone().prop_map(|bars| format!(":{bars}")),
        in_bars.clone().prop_map(|bars| format!("#:{bars}")),
        in_bars.prop_map(|bars| format!("pkg::a{bars}")),
        "[a-z]{1,3}:[a-z.0-9+]{1,3}",
        "[+-]?[0-9]{1,25}[.]?",
        "[+-]?[0-9]{1,4}/[0-9]{0,3}[1-9]",
        "[+-]?[0-9]{0,3}[.][0-9]{1,3}([edfslED][+-]?[0-9]{1,3})?",
        "[0-9]{1,2}[.][0-9]e[+](INF|NaN)",
        "#[xX][+-]?[0-9a-fA-F]{1,40}",
        "#[oO][0-7]{1,30}",
        "#b[01]{1,70}",
        "#\\\\[ -~é日]",
        "#\\\\(Space|newline|NUL|U[+]1F600|u0041|LATIN_SMALL_LETTER_A|CJK-1)",
        Just("nil".to_owned()),
        Just("t".to_owned()),
    ]
}

fn atom() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => atom_text().prop_map(|text| {
            read_one(&text).unwrap_or_else(|error| panic!("`{text}`: {error}")).root().to_value()
        }),
        2 => any::<String>().prop_map(Value::from),
        1 => "[#:]{0,3}(list|symbol|char|a|a b|1[.]5|1/2|x)".prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::float),
        1 => any::<String>().prop_map(|name| Value::symbol(&name)),
        1 => any::<String>().prop_map(|name| Value::keyword(&name)),
        1 => "[#:]{0,3}(list|false|null|object|symbol|float)".prop_map(|name| Value::keyword(&name)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    atom().prop_recursive(5, 40, 6, |inner| {
        let some = || prop::collection::vec(inner.clone(), 0..6);
        let key = prop_oneof![
            "[#:]{0,2}(list|dotted|symbol|keyword|char|ratio|float|propertized|a|b c)"
                .prop_map(Value::from),
            "[a-c]".prop_map(|name| Value::keyword(&name)),
        ];
        let run = (0..9_i64, 0..9_i64, some()).prop_map(|(start, end, properties)| {
            [Value::int(start), Value::int(end), Value::list(properties)]
        });
        let runs = prop::collection::vec(run, 1..3).prop_map(|runs| runs.concat());
        prop_oneof![
            some().prop_map(Value::list),
            some().prop_map(Value::vector),
            (some(), inner.clone()).prop_map(|(elements, tail)| Value::dotted(elements, tail)),
            prop::collection::vec((key, inner.clone()), 1..3)
                .prop_map(|pairs| Value::list(pairs.into_iter().flat_map(|(k, v)| [k, v]))),
            (any::<String>(), runs.clone())
                .prop_map(|(text, runs)| Value::Propertized { text: text.into(), runs }),
            (any::<String>(), runs).prop_map(|(text, runs)| {
                Value::vector(std::iter::once(Value::from(text)).chain(runs))
            }),
            Just(Value::list([Value::keyword("object")])),
        ]
    })
}

/// JSON texts without blanks, rich in keys and strings that look like tags.
fn json_text() -> impl Strategy<Value = String> {
    let quoted = |text: String| serde_json::to_string(&text).expect("a string is JSON");
    let leaf = prop_oneof![
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just("null".to_owned()),
        Just("{}".to_owned()),
        Just("[]".to_owned()),
        "-?(0|[1-9][0-9]{0,30})([.][0-9]{1,3})?([eE][+-]?[0-9]{1,3})?"
            .prop_filter("comes back as -0.0", |text: &String| text != "-0"),
        any::<String>().prop_map(quoted),
        "(a|A b|1/2|2/4|1[.]5|1[.]5d0|[|][|]|nil|false|null|Space|[\\\\]a|x:y|:k|10)"
            .prop_map(quoted),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let key = prop_oneof![
            "[#]{0,3}(list|dotted|symbol|keyword|char|ratio|float|propertized)",
            "[:]{0,3}(a|b|[\\\\]a|a b|[|][|])",
            any::<String>(),
        ];
        let pair = (key.prop_map(quoted), inner.clone()).prop_map(|(k, v)| format!("{k}:{v}"));
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::vec(pair, 1..3).prop_map(|v| format!("{{{}}}", v.join(","))),
        ]
    })
}

/// Whether serde_json takes it for JSON; `None` for numbers beyond an `f64`, which it refuses.
fn serde_accepts(text: &str) -> Option<bool> {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(_) => Some(true),
        Err(error) if error.to_string().contains("out of range") => None,
        Err(_) => Some(false),
    }
}

/// Scraps of text that mean something to a reader, put together in any order.
fn scraps() -> impl Strategy<Value = String> {
    let scrap = prop::sample::select(vec![
        "(",
        "(",
        ")",
        ")",
        "[",
        "]",
        "#(",
        "\"",
        "\"a\\\"b\"",
        "\"\\n\\x41\\101\"",
        "\"s\"",
        " ",
        " ",
        " ",
        "\n",
        "'",
        "`",
        ",",
        ",@",
        ",.",
        "#'",
        ".",
        ". ",
        "..",
        "nil",
        "t",
        "NIL",
        "()",
        "a",
        "B",
        "|c d|",
        "\\",
        "|",
        ":k",
        ":",
        "::",
        "p:q",
        "p::q",
        "#:g",
        "#:",
        "##",
        "1",
        "-5",
        "007",
        "1/2",
        "1.5",
        "1e5",
        "#xFF",
        "#",
        "#\\a",
        "#\\Space",
        "?a",
        "?\\n",
        "?",
        "é",
        "\u{a0}",
        ";c\n",
        "#|x|#",
        "{",
        "\0",
        "#1=",
        "#.",
        "#<",
        "1+",
        "a#b",
        "\"s\" 0 1 (p v)",
        "日",
    ]);
    prop::collection::vec(scrap, 0..24).prop_map(|scraps| scraps.concat())
}

fn every_node<'t>(root: Node<'t>, mut visit: impl FnMut(Node<'t>)) {
    let mut waiting = vec![root];
    while let Some(node) = waiting.pop() {
        visit(node);
        waiting.extend(node.children());
    }
}

/// What must hold of any text that a reader accepts.
fn check_accepted(reader: Reader, dialect: Dialect, text: &str) -> Result<(), TestCaseError> {
    let Ok(tree) = reader.read_one(text) else { return Ok(()) };
    let value = tree.root().to_value();
    let mut text = String::new();
    canonical(tree.root(), &mut text);
    prop_assert_eq!(&text, &printed(&value, Dialect::Lisp));
    for dialect in DIALECTS {
        let text = printed(&value, dialect);
        let again = Reader::new().dialect(dialect).read_one(&text);
        let again = again.map_err(|error| TestCaseError::fail(format!("`{text}`: {error}")))?;
        prop_assert_eq!(again.root().to_value(), value.clone(), "{:?}: {}", dialect, text);
    }
    prop_assert_eq!(from_json(&json(&value)), Ok(value));
    let has_comma = tree.source().contains(',');
    let alone = Reader::new().dialect(dialect).comments(Comments::Skip);
    let mut wrong = None;
    every_node(tree.root(), |node| {
        let is_mark = matches!(node.source(), "'" | "#'" | "`") && node.kind() == Kind::Symbol;
        if is_mark || has_comma {
            return;
        }
        match alone.read_one(node.source()) {
            Ok(own) if own.root().to_value() == node.to_value() => {}
            _ => wrong = Some(node.source().to_owned()),
        }
    });
    prop_assert_eq!(wrong, None);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_values_read_back(value in value()) {
        for dialect in DIALECTS {
            let text = printed(&value, dialect);
            let tree = Reader::new().dialect(dialect).read_one(&text);
            let tree = tree.map_err(|error| TestCaseError::fail(format!("`{text}`: {error}")))?;
            prop_assert_eq!(tree.root().to_value(), value.clone(), "{:?}: {}", dialect, text);
            check_accepted(Reader::new().dialect(dialect), dialect, &text)?;
        }
    }

    #[test]
    fn values_survive_json(value in value()) {
        let text = json(&value);
        prop_assert!(serde_accepts(&text) != Some(false), "not JSON: {}", text);
        let again = from_json(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert_eq!(again, value, "{}", text);
    }

    #[test]
    fn json_survives_values(text in json_text()) {
        let value = from_json(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert_eq!(json(&value), text, "{}", value);
    }

    #[test]
    fn json_reader_agrees_with_serde(text in "[-0-9.eE+\\[\\]{}:,\"\\\\utrefalsn d8D]{0,12}") {
        if let Some(theirs) = serde_accepts(&text) {
            prop_assert_eq!(from_json(&text).is_ok(), theirs, "{}", text);
        }
    }

    #[test]
    fn a_prefix_is_never_wrong(value in value(), cut in any::<prop::sample::Index>()) {
        for dialect in DIALECTS {
            let text = printed(&value, dialect);
            let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let cut = boundaries[cut.index(boundaries.len())];
            let read = Reader::new().dialect(dialect).read(&text[..cut]);
            prop_assert!(read.is_ok(), "{:?} of `{}` in {:?}", read, &text[..cut], text);
        }
    }

    #[test]
    fn whatever_is_accepted_is_consistent(text in scraps()) {
        for dialect in DIALECTS {
            for comments in [Comments::Refuse, Comments::Skip] {
                let reader = Reader::new().dialect(dialect).comments(comments);
                check_accepted(reader, dialect, &text)?;
                if let Ok(Progress::Done(tree)) = reader.read(&text) {
                    prop_assert_eq!(tree.consumed(), tree.root().span().end);
                }
            }
        }
    }

    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        for dialect in DIALECTS {
            check_accepted(Reader::new().dialect(dialect), dialect, &text)?;
        }
        let _ = from_json(&text);
    }

    #[test]
    fn integers_are_printed_as_everywhere(number in any::<i64>()) {
        for number in [number, number >> 32, number >> 56, i64::MIN, i64::MAX, 0] {
            let mut out = String::new();
            print_int(number, &mut out);
            prop_assert_eq!(out, number.to_string());
            let (count, mut out) = (number.cast_unsigned(), String::new());
            print_count(count, &mut out);
            prop_assert_eq!(out, count.to_string());
        }
    }

    #[test]
    fn keywords_are_compared_by_their_characters(
        name in "[a-cA-C|\\\\ :\u{e9}-]{0,3}",
        other in "[a-cA-C|\\\\ :\u{e9}-]{0,3}",
    ) {
        let keyword = Keyword::from_name(&name);
        prop_assert_eq!(keyword.is(&other), keyword.name().eq_ignore_ascii_case(&other));
        prop_assert!(keyword.is(&name) && keyword.is(&name.to_ascii_uppercase()));
        // The name of no characters has a spelling of two, which is a name as well.
        prop_assert!(!Keyword::from_name("").is("||") && Keyword::from_name("||").is("||"));
    }
}
