//! A State that quotes nothing of a record that is to be forgotten.
//!
//! The State remembers what was asked and said, and where the user was. Called by the drive task
//! of a session at rest: what is under way is not touched, because what was judged is what is
//! carried out.

use bridle_sexp::Value;

/// Parts of a State that only remember.
const MEMORIES: [&str; 4] = ["focus", "history", "decisions", "parked"];

/// Shorter texts are in everything; hiding them would hide the rest and not them.
const LEAST_BYTES: usize = 4;

/// Text in the place of a text that is gone.
const GONE: &str = "(forgotten)";

/// Replaces every text in the memories of a State that quotes the record, or is quoted by it.
pub(in crate::engine) fn redact(state: &mut Value, record: &Value) {
    let secrets = texts(record);
    let Value::List(items) = state else { return };
    for pair in items.as_chunks_mut::<2>().0 {
        let [key, value] = pair;
        if MEMORIES.iter().any(|name| key.is_keyword(name)) {
            hide(value, &secrets);
        }
    }
}

/// All strings of a value that are long enough to tell something.
fn texts(value: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Str(text) => found.push(&**text),
            Value::List(items) | Value::Vector(items) => open.extend(items),
            Value::Dotted(items, tail) => {
                open.extend(items);
                open.push(tail);
            }
            Value::Propertized { text, runs } => {
                found.push(text);
                open.extend(runs);
            }
            _ => {}
        }
    }
    found.retain(|text| text.len() >= LEAST_BYTES);
    found
}

fn hide(value: &mut Value, secrets: &[&str]) {
    let tells = |text: &str| {
        let quotes = |secret: &&str| text.contains(secret) || secret.contains(text);
        text.len() >= LEAST_BYTES && secrets.iter().any(quotes)
    };
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Str(text) if tells(text) => *text = GONE.into(),
            Value::Propertized { text, .. } if tells(text) => *value = Value::str(GONE),
            Value::List(items) | Value::Vector(items) => open.extend(items),
            Value::Dotted(items, tail) => {
                open.extend(items);
                open.push(tail);
            }
            Value::Propertized { runs, .. } => open.extend(runs),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::redact;
    use bridle_sexp::read_one;

    fn check(state: &str, record: &str, expect: &str) {
        let value = |text| read_one(text).expect("a form").root().to_value();
        let mut state = value(state);
        redact(&mut state, &value(record));
        assert_eq!(state, value(expect));
    }

    #[test]
    fn memories_lose_what_the_record_said_and_nothing_else_does() {
        let record = "(:from (:principal \"uid:1000\") :payload (:text \"my secret plan\"))";
        check(
            "(:owner \"uid:1000\" :history ((:asked \"my secret plan\" :said \"a plan?\")) \
             :turn (:text \"my secret plan\"))",
            record,
            "(:owner \"uid:1000\" :history ((:asked \"(forgotten)\" :said \"a plan?\")) \
             :turn (:text \"my secret plan\"))",
        );
    }

    #[test]
    fn a_quotation_in_either_direction_goes() {
        let record = "(:payload (:text \"a long secret text\"))";
        check(
            "(:history ((:asked \"a long secr\" :said \"you said: a long secret text!\")))",
            record,
            "(:history ((:asked \"(forgotten)\" :said \"(forgotten)\")))",
        );
        check("(:focus #(\"of\" \"other\"))", record, "(:focus #(\"of\" \"other\"))");
    }
}
