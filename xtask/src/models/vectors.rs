//! `--write-vectors`: `vectors/models/requests.jsonl` from the samples, and the events of `streams.jsonl` from its
//! inputs. What changed is seen in the diff, and judged by whoever reads it.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use bridle_models::{
    CallIdPrefix, CodecName, HttpHeaderValue, HttpRequest, StreamDecoder, StreamEvent,
    encode_request,
};
use serde_json::{Value, json};

use super::{event_text, samples};
use crate::console::{VerbConsole, root};

const REQUESTS: &str = "vectors/models/requests.jsonl";
const STREAMS: &str = "vectors/models/streams.jsonl";

pub(super) fn write(console: &VerbConsole) -> Result<()> {
    let (requests, streams) = (lines(REQUESTS)?, lines(STREAMS)?);
    let mut numbers = Numbers::of(requests.iter().chain(&streams));
    let mut text = String::new();
    for codec in CodecName::ALL {
        for sample in samples::requests(codec) {
            let note = format!("{}: {}", codec.as_str(), sample.note);
            let request = encode_request(codec, &sample.settings, &sample.request)
                .with_context(|| note.clone())?;
            text.push_str(&request_line(&numbers.id(&note), &note, &request)?);
        }
    }
    save(REQUESTS, &text)?;
    text.clear();
    for stream in &streams {
        let note = format!("{}: {}", string(stream, "codec")?, string(stream, "note")?);
        let (codec, input) = (string(stream, "codec")?, string(stream, "in")?);
        // Object keys of `json!` are sorted; these are not.
        text.push_str(&format!(
            "{{\"id\":{},\"note\":{},\"codec\":{},\"in\":{},\"events\":{}}}\n",
            json!(numbers.id(&note)),
            json!(string(stream, "note")?),
            json!(codec),
            json!(input),
            Value::from(events(codec, input)?)
        ));
    }
    save(STREAMS, &text)?;
    console.say("models: the vectors are written; read the diff");
    Ok(())
}

fn lines(path: &str) -> Result<Vec<Value>> {
    let text = fs::read_to_string(root().join(path)).unwrap_or_default();
    let parse = |line| serde_json::from_str(line).with_context(|| format!("a line of `{path}`"));
    text.lines().map(parse).collect()
}

fn save(path: &str, text: &str) -> Result<()> {
    fs::write(root().join(path), text).with_context(|| format!("cannot write `{path}`"))
}

fn string<'v>(value: &'v Value, key: &str) -> Result<&'v str> {
    value[key].as_str().with_context(|| format!("a vector without `{key}`"))
}

/// The body stands in its line byte by byte.
fn request_line(id: &str, note: &str, request: &HttpRequest) -> Result<String> {
    let headers = request.headers.iter().map(|header| match &header.value {
        HttpHeaderValue::Text(text) => format!("{}: {text}", header.name),
        HttpHeaderValue::Key { prefix } => format!("{}: {prefix}KEY", header.name),
    });
    let headers: Vec<String> = headers.collect();
    let body = std::str::from_utf8(&request.body).context("a body is not UTF-8")?;
    Ok(format!(
        "{{\"id\":{},\"note\":{},\"path\":{},\"headers\":{},\"body\":{body}}}\n",
        json!(id),
        json!(note),
        json!(request.path),
        json!(headers)
    ))
}

fn events(codec: &str, input: &str) -> Result<Vec<Value>> {
    let codec: CodecName = codec.parse().ok().with_context(|| format!("codec `{codec}`"))?;
    let mut decoder = StreamDecoder::new(codec, "m", CallIdPrefix("call".into()));
    let mut events: Vec<StreamEvent> = decoder.feed(input.as_bytes());
    events.extend(decoder.finish());
    Ok(events.iter().map(event_text::event).collect())
}

/// The numbers that vectors have, and the next free one.
struct Numbers {
    ids: BTreeMap<String, String>,
    last: usize,
}

impl Numbers {
    fn of<'v>(vectors: impl Iterator<Item = &'v Value>) -> Self {
        let mut numbers = Self { ids: BTreeMap::new(), last: 0 };
        for vector in vectors {
            let (Some(id), Some(note)) = (vector["id"].as_str(), vector["note"].as_str()) else {
                continue;
            };
            let number = id.strip_prefix("models-").and_then(|digits| digits.parse().ok());
            let Some(number) = number else { continue };
            let codec =
                vector["codec"].as_str().map_or(String::new(), |codec| format!("{codec}: "));
            numbers.ids.insert(format!("{codec}{note}"), id.to_owned());
            numbers.last = numbers.last.max(number);
        }
        numbers
    }

    fn id(&mut self, note: &str) -> String {
        if let Some(id) = self.ids.get(note) {
            return id.clone();
        }
        self.last += 1;
        format!("models-{:04}", self.last)
    }
}
