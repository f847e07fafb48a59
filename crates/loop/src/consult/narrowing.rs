//! Narrowing of a proposal: some of its bounds made smaller, and nothing else.
//!
//! A consultant may take away and never add, so only values count of which it is known that a smaller one allows less.

use bridle_sexp::Value;

/// Keys whose number is an upper bound.
const NUMBERS: [&str; 8] =
    ["amount", "depth", "length", "limit", "lines", "max-bytes", "seconds", "times"];

/// Keys whose list says what may be reached.
const LISTS: [&str; 1] = ["network"];

/// The payload with these bounds.
///
/// # Errors
/// A value that is no smaller bound than the one before, for this reason.
pub(super) fn narrow(payload: &Value, bounds: &Value) -> Result<Value, String> {
    let (Some(before), Some(wanted)) = (payload.pairs(), bounds.pairs()) else {
        return Err("a narrowing of something that is no property list".to_owned());
    };
    for (key, value) in wanted {
        let name = key.as_keyword().unwrap_or_default();
        let old = payload.get(name);
        if old != Some(value) && !old.is_some_and(|old| is_smaller(name, old, value)) {
            return Err(format!("`:{name}` is no smaller bound than the one that was proposed"));
        }
    }
    let kept = before.flat_map(|(key, value)| {
        let name = key.as_keyword().unwrap_or_default();
        [key.clone(), bounds.get(name).unwrap_or(value).clone()]
    });
    Ok(Value::list(kept))
}

fn is_smaller(name: &str, old: &Value, new: &Value) -> bool {
    if NUMBERS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        let numbers = (old.as_i64(), new.as_i64());
        return matches!(numbers, (Some(old), Some(new)) if (1..=old).contains(&new));
    }
    if !LISTS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return false;
    }
    match (old.elements(), new.elements()) {
        (Some(old), Some(new)) => new.iter().all(|element| old.contains(element)),
        // An empty list is nil.
        (Some(_), None) => new.is_nil(),
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use bridle_sexp::Value;

    use super::narrow;

    fn value(text: &str) -> Value {
        bridle_sexp::read_one(text).unwrap().root().to_value()
    }

    #[test]
    fn smaller_bounds_and_nothing_else() {
        let payload = value(
            "(:action :exec :argv (\"a\" \"-n\") :seconds 60 :network (\"x\" \"y\") :all nil)",
        );
        let narrowed = |bounds: &str| narrow(&payload, &value(bounds)).map(|it| it.to_string());
        assert_eq!(narrowed("(:seconds 60)").unwrap(), payload.to_string());
        let smaller = narrowed("(:seconds 5 :network (\"y\"))").unwrap();
        assert_eq!(smaller, payload.to_string().replace("60", "5").replace("\"x\" ", ""));
        assert!(narrowed("(:network nil)").unwrap().contains(":network nil"));
        for wider in [
            "(:seconds 61)",
            "(:seconds 0)",
            "(:seconds -1)",
            "(:seconds \"5\")",
            "(:network (\"z\"))",
            "(:argv (\"a\"))",
            "(:all t)",
            "(:action :read)",
            "(:limit 1)",
            "(5 6)",
        ] {
            assert!(narrowed(wider).is_err(), "{wider}");
        }
    }
}
