//! The skill language's answer to a form, in the words of `peers/sbcl/lisp-forms.lisp`.

use bridle_lisp::{Instance, InstanceLimits, LispErrorKind};

/// Output and values, or the category of the condition.
///
/// # Errors
/// The name of what the subset does not have.
pub(super) fn bridle_answer(form: &str) -> Result<String, String> {
    let mut instance =
        Instance::new(InstanceLimits { fuel: 50_000_000, ..InstanceLimits::default() });
    let mut shown = Vec::new();
    let text = match instance.evaluate(form, "form", |values| shown = values.to_vec()) {
        Ok(()) => shown.join(" ; "),
        Err(error) => match error.kind {
            LispErrorKind::Condition(name) => format!("!{}", category(&name)),
            LispErrorKind::Outside => return Err(error.message),
            LispErrorKind::Limit(limit) => format!("!LIMIT {}", limit.name()),
            LispErrorKind::Syntax | LispErrorKind::Incomplete => "!READER-ERROR".to_owned(),
        },
    };
    let escape = |text: &str| text.replace('\\', "\\\\").replace('\n', "\\n");
    Ok(without_addresses(&format!("{}|{}", escape(&instance.take_output()), escape(&text))))
}

/// An answer in which everything between `#<` and `>` is left out: there are addresses in it.
pub(super) fn without_addresses(answer: &str) -> String {
    let mut parts = answer.split("#<");
    let mut text = parts.next().unwrap_or("").to_owned();
    for part in parts {
        text.push_str("#<");
        text.push_str(part.find('>').map_or("", |end| &part[end..]));
    }
    text
}

/// The class that `peers/sbcl/lisp-forms.lisp` names.
fn category(name: &str) -> &str {
    match name {
        "SIMPLE-TYPE-ERROR" | "INDEX-ERROR" | "CASE-FAILURE" => "TYPE-ERROR",
        "SIMPLE-PROGRAM-ERROR" => "PROGRAM-ERROR",
        "SIMPLE-CONTROL-ERROR" => "CONTROL-ERROR",
        "SIMPLE-PARSE-ERROR" => "PARSE-ERROR",
        "SIMPLE-READER-ERROR" => "READER-ERROR",
        "SIMPLE-ERROR" | "FORMAT-ERROR" | "CELL-ERROR" => "ERROR",
        name if name.starts_with("FLOATING-POINT") => "ARITHMETIC-ERROR",
        name if is_standard(name) => name,
        _ => "ERROR",
    }
}

fn is_standard(name: &str) -> bool {
    matches!(
        name,
        "DIVISION-BY-ZERO"
            | "ARITHMETIC-ERROR"
            | "UNBOUND-VARIABLE"
            | "UNDEFINED-FUNCTION"
            | "END-OF-FILE"
            | "READER-ERROR"
            | "PARSE-ERROR"
            | "TYPE-ERROR"
            | "PROGRAM-ERROR"
            | "CONTROL-ERROR"
            | "PACKAGE-ERROR"
            | "STORAGE-CONDITION"
    )
}
