//! Runs `vectors/record`: bytes of spans, and what they say.

use std::fs;
use std::path::Path;

use bridle_sexp::{Value, json};

use crate::compacted_span::CompactedSpan;
use crate::record::RecordHash;

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

#[test]
fn spans_are_what_the_vectors_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/record");
    let text = fs::read_to_string(folder.join("compacted.jsonl")).unwrap();
    let mut verdicts = [0, 0];
    for line in text.lines() {
        let vector = json::from_json(line).unwrap();
        let pairs = vector.elements().unwrap().as_chunks::<2>().0;
        let field =
            |key: &str| pairs.iter().find(|it| it[0].as_str() == Some(key)).map(|it| &it[1]);
        let text = |key: &str| field(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = text("id");
        let number = field("number").and_then(Value::as_i64).unwrap();
        let (hash, input) = (RecordHash::from_hex(&text("hash")).unwrap(), bytes(&text("in_hex")));
        let span = CompactedSpan::read(number, hash, &input);
        match &*text("verdict") {
            "accept" => {
                let span = span.unwrap_or_else(|| panic!("{id} is refused"));
                assert_eq!(span.text(|session| Some(format!("s{session}"))), text("text"), "{id}");
                assert_eq!(span.write(), input, "{id}");
                verdicts[0] += 1;
            }
            "refuse" => {
                assert_eq!(span, None, "{id}");
                verdicts[1] += 1;
            }
            other => panic!("{id}: {other}"),
        }
    }
    assert!(verdicts.iter().all(|count| *count > 2), "{verdicts:?}");
}
