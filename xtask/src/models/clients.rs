//! The same bytes read by the vendors' own clients: text, calls and token counts must be ours.

use std::fs;

use anyhow::{Context, Result, ensure};
use bridle_sexp::byte_text::base64;
use serde_json::{Value, json};

use super::answers::ReadAnswer;
use super::folder;
use crate::console::{ProgramRun, VerbConsole};

/// Fewest answers that the clients must be able to read; what they refuse is not compared.
const AT_LEAST: usize = 24;

/// Compares the answers and returns their number.
pub(super) fn compare(answers: &[ReadAnswer], console: &VerbConsole) -> Result<usize> {
    let list: Vec<Value> = answers
        .iter()
        .map(|answer| json!({"name": answer.name, "codec": answer.codec.as_str(), "base64": base64(&answer.body)}))
        .collect();
    let folder = folder();
    let file = folder.join("answers.json");
    fs::write(&file, Value::from(list).to_string()).context("cannot write the answers")?;
    let script = folder.join("read_answers.mjs");
    let output = ProgramRun::new("node").args([script, file]).stdout()?;
    let mut compared = 0;
    for (line, answer) in output.lines().zip(answers) {
        let theirs: Value = serde_json::from_str(line).context("a line of the clients")?;
        ensure!(theirs["name"] == answer.name.as_str(), "the clients answered out of order");
        if let Some(error) = theirs["error"].as_str() {
            console.say(format!("{}: its vendor's client refuses it: {error}", answer.name));
            continue;
        }
        same(answer, &theirs)?;
        compared += 1;
    }
    ensure!(compared >= AT_LEAST, "{compared} answers compared, expected at least {AT_LEAST}");
    Ok(compared)
}

fn same(answer: &ReadAnswer, theirs: &Value) -> Result<()> {
    let ours = json!({
        "text": answer.response.message.text(),
        "input": answer.response.usage.input_tokens,
        "output": answer.response.usage.output_tokens,
    });
    for key in ["text", "input", "output"] {
        let (our, their) = (&ours[key], &theirs[key]);
        ensure!(our == their, "{}: {key} is {our} for us, {their} for its client", answer.name);
    }
    let our_calls: Vec<Value> = answer
        .response
        .message
        .tool_calls()
        .map(|call| {
            let arguments = call.arguments.json().map_or("", bridle_models::JsonText::as_str);
            json!([call.name, serde_json::from_str::<Value>(arguments).unwrap_or_default()])
        })
        .collect();
    let their_calls = theirs["calls"].as_array().context("calls of a client")?.iter().map(|call| {
        let arguments = call[1].as_str().unwrap_or_default();
        json!([call[0], serde_json::from_str::<Value>(arguments).unwrap_or_default()])
    });
    let their_calls: Vec<Value> = their_calls.collect();
    ensure!(
        our_calls == their_calls,
        "{}: calls {our_calls:?}, for its client {their_calls:?}",
        answer.name
    );
    Ok(())
}
