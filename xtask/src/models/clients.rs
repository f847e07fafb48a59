//! The same bytes read by the vendors' own clients: text, calls and token counts must be ours.

use std::fs;

use anyhow::{Context, Result, ensure};
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

/// Base64 with padding, for a file that a script reads.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let number = number << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (number >> (18 - 6 * place)) & 63;
            let is_padding = place > chunk.len();
            text.push(if is_padding { '=' } else { char::from(DIGITS[digit as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_has_its_padding() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}
