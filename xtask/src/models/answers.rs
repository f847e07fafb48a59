//! Answers of real servers: each is asked for, read whole and cut at every byte, and compared with what the server
//! must have meant. The mock server's answers are known; those of llama.cpp are only known to be whole, to count
//! tokens, and to be the same by all roads.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bridle_models::{
    CallIdPrefix, CodecName, CodecSettings, DeliveryMode, FailureKind, MessagePart, MessageRole,
    ModelMessage, ModelRequest, ModelResponse, ResponseAssembler, ResultPart, SamplingOptions,
    StopReason, StreamDecoder, StreamEvent, ToolChoice, ToolOutcome, ToolResult, decode_error,
    decode_response, encode_request,
};

use super::http::{Answer, send};
use super::samples::weather_tool;
use super::servers::Server;
use crate::console::VerbConsole;

/// Words of the mock server and its counts, see `mock_server.mjs`.
const MOCK_TEXT: &str = "Grüße, ✓ and a text that is long enough to be cut into pieces.";
const MOCK_CALLS: [&str; 2] = [r#"{"city":"Köln"}"#, r#"{"city":"Rome"}"#];
const MOCK_TOKENS: (u64, u64) = (11, 7);

/// Words in a prompt for llama.cpp that do not fit into its context of 2,048 tokens.
const TOO_MANY_WORDS: usize = 4_000;

/// An answer that was read, for the comparison with the vendors' clients.
pub(super) struct ReadAnswer {
    pub(super) name: String,
    pub(super) codec: CodecName,
    pub(super) body: Vec<u8>,
    pub(super) response: ModelResponse,
}

pub(super) fn collect(console: &VerbConsole) -> Result<Vec<ReadAnswer>> {
    let mut answers = Vec::new();
    let mock = Server::mock().context("the mock server")?;
    for codec in CodecName::ALL {
        mock_answers(&mock, codec, &mut answers)?;
        mock_faults(&mock, codec)?;
    }
    drop(mock);
    console.say(format!("mock server: {} answers, and the faults of each codec", answers.len()));
    let llama = Server::llama().context("llama.cpp's server")?;
    let before = answers.len();
    for codec in CodecName::ALL.into_iter().filter(|codec| *codec != CodecName::Gemini) {
        llama_answers(&llama, codec, &mut answers)
            .with_context(|| format!("llama.cpp by {}", codec.as_str()))?;
    }
    console.say(format!("llama.cpp: {} answers", answers.len() - before));
    Ok(answers)
}

fn base(server: &Server, codec: CodecName) -> String {
    let version = if codec == CodecName::Gemini { "v1beta" } else { "v1" };
    format!("{}/{version}", server.address)
}

fn ask(server: &Server, codec: CodecName, request: &ModelRequest) -> Result<Answer> {
    let request = encode_request(codec, &CodecSettings::default(), request)?;
    send(&base(server, codec), &request)
}

/// Reads an answer by whatever its head says it is.
fn read(codec: CodecName, request: &ModelRequest, answer: &Answer) -> Result<ModelResponse> {
    let prefix = || CallIdPrefix("call".to_owned());
    if !answer.head.is_event_stream() {
        return Ok(decode_response(codec, &request.model, prefix(), &answer.head, &answer.body));
    }
    let events = |pieces: &[&[u8]]| {
        let mut decoder = StreamDecoder::new(codec, &request.model, prefix());
        let mut events: Vec<StreamEvent> =
            pieces.iter().flat_map(|piece| decoder.feed(piece)).collect();
        events.extend(decoder.finish());
        events
    };
    let body = answer.body.as_slice();
    let whole = events(&[body]);
    for at in 0..body.len() {
        ensure!(events(&[&body[..at], &body[at..]]) == whole, "cut at {at}, other events");
    }
    let single: Vec<&[u8]> = body.chunks(1).collect();
    ensure!(events(&single) == whole, "byte by byte, other events");
    whole.into_iter().collect::<ResponseAssembler>().finish().context("an answer without end")
}

fn prompt(text: &str) -> ModelRequest {
    let mut request = ModelRequest::new("small", vec![ModelMessage::user(text)]);
    request.max_output_tokens = Some(64);
    request
}

fn mock_answers(mock: &Server, codec: CodecName, answers: &mut Vec<ReadAnswer>) -> Result<()> {
    let cases = [
        ("plain", MOCK_TEXT, &[][..], StopReason::EndTurn),
        ("tools", "", &MOCK_CALLS[..], StopReason::ToolCalls),
        ("both", MOCK_TEXT, &MOCK_CALLS[..], StopReason::ToolCalls),
        ("reason", MOCK_TEXT, &[][..], StopReason::EndTurn),
        ("long", MOCK_TEXT, &[][..], StopReason::MaxTokens),
        ("slow", MOCK_TEXT, &[][..], StopReason::EndTurn),
    ];
    for (word, text, calls, stop) in cases {
        for delivery in [DeliveryMode::Stream, DeliveryMode::Whole] {
            let mut request = prompt(word);
            request.delivery = delivery;
            request.tools = vec![weather_tool()];
            let name = format!("mock {} {word} {delivery:?}", codec.as_str());
            let answer = ask(mock, codec, &request).with_context(|| name.clone())?;
            let response = read(codec, &request, &answer).with_context(|| name.clone())?;
            let found: Vec<&str> = response.message.tool_calls().map(arguments).collect();
            ensure!(response.message.text() == text, "{name}: text {:?}", response.message.text());
            ensure!(found == calls, "{name}: calls {found:?}");
            // This mock says `completed` of the Responses API whatever it was told.
            let is_known = codec == CodecName::OpenAiResponses && stop == StopReason::MaxTokens;
            ensure!(is_known || response.end == Ok(stop.clone()), "{name}: {:?}", response.end);
            let tokens = (response.usage.input_tokens, response.usage.output_tokens);
            ensure!(tokens == (Some(MOCK_TOKENS.0), Some(MOCK_TOKENS.1)), "{name}: {tokens:?}");
            if word == "reason" {
                ensure!(
                    response.reasoning.trim() == "First this, then that.",
                    "{name}: {response:?}"
                );
            }
            if delivery == DeliveryMode::Stream {
                answers.push(ReadAnswer { name, codec, body: answer.body, response });
            }
        }
    }
    Ok(())
}

fn arguments(call: &bridle_models::ToolCall) -> &str {
    call.arguments.json().map_or("invalid", bridle_models::JsonText::as_str)
}

fn mock_faults(mock: &Server, codec: CodecName) -> Result<()> {
    let failure = |word: &str| -> Result<_> {
        let request = prompt(word);
        let answer = ask(mock, codec, &request)
            .with_context(|| format!("`{word}` by {}", codec.as_str()))?;
        let response = read(codec, &request, &answer)?;
        response.end.err().with_context(|| format!("`{word}` by {} did not fail", codec.as_str()))
    };
    let limit = failure("limit")?;
    ensure!(limit.kind == FailureKind::RateLimit, "{limit:?}");
    ensure!(limit.retry_after == Some(Duration::from_secs(3)), "{limit:?}");
    for (word, kind) in [
        ("cut", FailureKind::Truncated),
        ("garble", FailureKind::Malformed),
        ("drop", FailureKind::ServerError),
    ] {
        let failure = failure(word)?;
        ensure!(failure.kind == kind, "`{word}` by {}: {failure:?}", codec.as_str());
    }
    // The server closes the connection without a word.
    if ask(mock, codec, &prompt("vanish")).is_ok() {
        bail!("`vanish` by {} was answered", codec.as_str());
    }
    Ok(())
}

fn llama_answers(llama: &Server, codec: CodecName, answers: &mut Vec<ReadAnswer>) -> Result<()> {
    let mut texts = Vec::new();
    for delivery in [DeliveryMode::Stream, DeliveryMode::Whole] {
        let mut request = prompt("Count from one to five.");
        request.delivery = delivery;
        request.max_output_tokens = Some(8);
        request.sampling =
            SamplingOptions { temperature_milli: Some(0), ..SamplingOptions::default() };
        let answer = ask(llama, codec, &request)?;
        let mut response = read(codec, &request, &answer)?;
        response.correct_stop(request.max_output_tokens);
        let text = response.message.text();
        let usage = response.usage;
        ensure!(!text.is_empty(), "no text: {response:?}");
        ensure!(response.end == Ok(StopReason::MaxTokens), "{response:?}");
        ensure!(usage.output_tokens.is_some_and(|count| (1..=8).contains(&count)), "{usage:?}");
        ensure!(usage.input_tokens.is_some_and(|count| count > 8), "{usage:?}");
        texts.push((text, usage.input_tokens));
        if delivery == DeliveryMode::Stream {
            let name = format!("llama.cpp {}", codec.as_str());
            answers.push(ReadAnswer { name, codec, body: answer.body, response });
        }
    }
    ensure!(texts[0] == texts[1], "another answer whole than in pieces: {texts:?}");
    answers.push(llama_call(llama, codec)?);
    let answer = ask(llama, codec, &prompt(&"word ".repeat(TOO_MANY_WORDS)))?;
    let failure = decode_error(&answer.head, &answer.body);
    match failure.kind {
        FailureKind::ContextTooLong { prompt_tokens: Some(prompt), limit_tokens: Some(limit) }
            if prompt > limit => {}
        _ => bail!("a prompt that is too long: {failure:?}"),
    }
    Ok(())
}

/// A call: the words are nothing, the shape is everything.
fn llama_call(llama: &Server, codec: CodecName) -> Result<ReadAnswer> {
    let mut request = prompt("What is the weather in Paris?");
    request.tools = vec![weather_tool()];
    request.tool_choice = ToolChoice::Required;
    request.max_output_tokens = Some(48);
    request.sampling = SamplingOptions { temperature_milli: Some(0), ..SamplingOptions::default() };
    let answer = ask(llama, codec, &request)?;
    let response = read(codec, &request, &answer)?;
    let calls: Vec<_> = response.message.tool_calls().collect();
    ensure!(!calls.is_empty(), "no call: {response:?}");
    for call in calls {
        ensure!(call.name == "get_weather", "{call:?}");
        ensure!(call.arguments.json().is_some(), "{call:?}");
    }
    follow_up(llama, codec, &request, &response)?;
    let name = format!("llama.cpp {} tools", codec.as_str());
    Ok(ReadAnswer { name, codec, body: answer.body, response })
}

/// The server takes its call back, with a result: history is written as it reads it.
fn follow_up(
    llama: &Server,
    codec: CodecName,
    first: &ModelRequest,
    response: &ModelResponse,
) -> Result<()> {
    let results = response.message.tool_calls().map(|call| {
        MessagePart::ToolResult(ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: vec![ResultPart::Text("18 degrees".to_owned())],
            outcome: ToolOutcome::Success,
        })
    });
    let mut request = first.clone();
    request.messages.push(response.message.clone());
    request.messages.push(ModelMessage::of(MessageRole::User, results.collect()));
    (request.tool_choice, request.max_output_tokens) = (ToolChoice::Automatic, Some(4));
    let answer = ask(llama, codec, &request)?;
    let end = read(codec, &request, &answer)?.end;
    ensure!(end.is_ok(), "a result: {end:?}");
    Ok(())
}
