//! Calls of models that cannot call tools: a line that begins with `(:tool`, read as data and never evaluated. What is
//! before it is the answer; what begins with it is held back while the answer streams.

use bridle_models::{ToolArguments, ToolCall};
use bridle_sexp::{Value, read_one};

use super::value_json::to_json;

/// Beginning of a call.
const MARK: &str = "(:tool";

/// Longest text of calls that is read.
const MAX_CALL_BYTES: usize = 64 << 10;

/// Calls of one answer.
const MAX_CALLS: usize = 16;

/// Name of a call that cannot be read.
const UNREADABLE: &str = "unreadable";

/// Divider of an answer into its text and its calls.
#[derive(Debug, Default)]
pub(crate) struct TextCalls {
    /// An unfinished line that may be a call, or all of the calls.
    held: String,
    is_calling: bool,
    is_inside_line: bool,
}

impl TextCalls {
    /// Takes a piece; returns what belongs to the text.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for character in piece.chars() {
            self.take(character, &mut shown);
        }
        shown
    }

    fn take(&mut self, character: char, shown: &mut String) {
        if self.is_calling {
            if self.held.len() < MAX_CALL_BYTES {
                self.held.push(character);
            }
            return;
        }
        if self.is_inside_line {
            self.is_inside_line = character != '\n';
            return shown.push(character);
        }
        self.held.push(character);
        if self.held == MARK {
            self.is_calling = true;
        } else if !MARK.starts_with(&self.held) {
            self.is_inside_line = character != '\n';
            shown.push_str(&std::mem::take(&mut self.held));
        }
    }

    /// Ends the answer: the rest of its text, and its calls, numbered behind a prefix.
    pub(crate) fn finish(self, prefix: &str) -> (String, Vec<ToolCall>) {
        if !self.is_calling {
            return (self.held, Vec::new());
        }
        let forms = self.held.split("\n(:tool");
        let call = |(place, form): (usize, &str)| {
            let form = if place == 0 { form.to_owned() } else { format!("{MARK}{form}") };
            read_call(&form, format!("{prefix}-{place}"))
        };
        (String::new(), forms.enumerate().take(MAX_CALLS).map(call).collect())
    }
}

fn read_call(form: &str, id: String) -> ToolCall {
    let form = form.trim().trim_end_matches("```").trim();
    let flaw = |reason: String| ToolCall {
        id: id.clone(),
        name: UNREADABLE.to_owned(),
        arguments: ToolArguments::Invalid { text: form.to_owned(), reason },
    };
    let value = match read_one(form) {
        Ok(tree) => tree.root().to_value(),
        Err(error) => return flaw(format!("the call is no form: {error}")),
    };
    if value.pairs().is_none() {
        return flaw("expected a list of keywords, each with its value".to_owned());
    }
    let name = match value.get("tool") {
        Some(Value::Keyword(name)) => name.name().to_ascii_lowercase(),
        Some(Value::Symbol(name)) => name.name().to_ascii_lowercase(),
        Some(Value::Str(name)) => name.to_string(),
        _ => return flaw("`:tool` names no tool".to_owned()),
    };
    let pairs = value.elements().unwrap_or_default().chunks_exact(2);
    let rest = pairs.filter(|pair| !pair[0].is_keyword("tool")).flatten().cloned();
    let arguments = match Value::list(rest) {
        Value::Nil => "{}".to_owned(),
        arguments => to_json(&arguments),
    };
    ToolCall { id, name, arguments: ToolArguments::read(&arguments) }
}

#[cfg(test)]
mod tests {
    use super::TextCalls;
    use bridle_models::ToolArguments;

    #[test]
    fn lines_that_begin_with_the_mark_are_calls_however_they_are_cut() {
        let answer = "I look (it up).\n(:tool :context_query :text \"race\" :limit 3)\n(:tool :context_agenda)";
        for cut in 0..=answer.len() {
            let mut calls = TextCalls::default();
            let mut shown = calls.push(&answer[..cut]);
            shown.push_str(&calls.push(&answer[cut..]));
            let (rest, calls) = calls.finish("t1");
            assert_eq!(shown + &rest, "I look (it up).\n");
            let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            assert_eq!(names, ["context_query", "context_agenda"]);
            let json = calls[0].arguments.json().unwrap().as_str();
            assert_eq!(json, r#"{"text":"race","limit":3}"#);
            assert_eq!(calls[1].id, "t1-1");
        }
    }

    #[test]
    fn text_stays_text_and_bad_calls_say_why() {
        let mut plain = TextCalls::default();
        assert_eq!(plain.push("a\n(:to"), "a\n");
        assert_eq!(plain.finish("t").0, "(:to");
        let mut bad = TextCalls::default();
        bad.push("(:tool :x #.(delete-file \"a\"))");
        let (_, calls) = bad.finish("t");
        assert!(matches!(calls[0].arguments, ToolArguments::Invalid { .. }));
    }
}
