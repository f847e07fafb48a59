//! Streams against `vectors/models/streams.jsonl`, whole, cut at every byte, and byte by byte: the events are the
//! same. Then streams that are cut off, and such that lie about their size.

use bridle_models::{
    CallIdPrefix, CodecName, CodecSettings, FailureKind, MessagePart, MessageRole, ModelMessage,
    ModelRequest, ModelResponse, OpaquePlacement, ResponseAssembler, ResultPart, StopReason,
    StreamDecoder, StreamEvent, ToolOutcome, ToolResult, encode_request,
};
use serde_json::Value;

use crate::event_text;

const VECTORS: &str = include_str!("../../../../vectors/models/streams.jsonl");

/// Stream of the vectors.
pub(crate) struct StreamVector {
    pub(crate) note: String,
    pub(crate) codec: CodecName,
    pub(crate) input: Vec<u8>,
    pub(crate) events: Value,
}

pub(crate) fn vectors() -> impl Iterator<Item = StreamVector> {
    VECTORS.lines().map(|line| {
        let vector: Value = serde_json::from_str(line).expect("a vector is JSON");
        let text = |key: &str| vector[key].as_str().expect("a vector has texts").to_owned();
        let codec = text("codec").parse().expect("a vector names its codec");
        let input = text("in").into_bytes();
        StreamVector { note: text("note"), codec, input, events: vector["events"].clone() }
    })
}

fn events(codec: CodecName, pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = StreamDecoder::new(codec, "m", CallIdPrefix("call".into()));
    let mut events: Vec<StreamEvent> =
        pieces.iter().flat_map(|piece| decoder.feed(piece)).collect();
    events.extend(decoder.finish());
    assert!(decoder.has_ended());
    assert_eq!(decoder.finish(), []);
    events
}

fn answer(codec: CodecName, input: &[u8]) -> ModelResponse {
    events(codec, &[input]).into_iter().collect::<ResponseAssembler>().finish().expect("an end")
}

#[test]
fn streams_give_the_events_of_the_vectors_however_they_are_cut() {
    for StreamVector { note, codec, input, events: expected } in vectors() {
        let whole = events(codec, &[&input]);
        let shown: Vec<Value> = whole.iter().map(event_text::event).collect();
        assert_eq!(Value::from(shown), expected, "{note}");
        for at in 0..=input.len() {
            assert_eq!(events(codec, &[&input[..at], &input[at..]]), whole, "{note}, cut at {at}");
        }
        let single: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(events(codec, &single), whole, "{note}, byte by byte");
    }
}

#[test]
fn every_beginning_of_a_stream_ends_once_and_acts_never() {
    for StreamVector { note, codec, input, .. } in vectors() {
        let complete = answer(codec, &input);
        for end in 0..input.len() {
            let events = events(codec, &[&input[..end]]);
            let ends = |event: &&StreamEvent| {
                matches!(event, StreamEvent::Finish(_) | StreamEvent::Failure(_))
            };
            assert_eq!(events.iter().filter(ends).count(), 1, "{note}, {end} bytes");
            assert!(events.last().as_ref().is_some_and(ends), "{note}, {end} bytes");
            let cut = events.into_iter().collect::<ResponseAssembler>().finish().unwrap();
            // A cut stream is no answer, or it is the whole one, for whose end no more bytes were needed.
            match cut.end {
                Err(_) => assert_eq!(cut.message.tool_calls().count(), 0, "{note}, {end} bytes"),
                Ok(_) => assert_eq!(cut.message, complete.message, "{note}, {end} bytes"),
            }
        }
    }
}

#[test]
fn what_comes_behind_the_end_is_not_read() {
    let mut decoder =
        StreamDecoder::new(CodecName::AnthropicMessages, "m", CallIdPrefix("call".into()));
    let events = decoder.feed(b"data: {\"type\":\"message_stop\"}\n\ndata: nonsense\n\n");
    assert_eq!(events, [StreamEvent::Finish(StopReason::Other(String::new()))]);
    assert_eq!(decoder.feed(b"data: nonsense\n\n"), []);
    assert_eq!(decoder.finish(), []);
}

#[test]
fn streams_are_bounded() {
    let failure = |events: Vec<StreamEvent>| match events.last() {
        Some(StreamEvent::Failure(failure)) => failure.kind,
        other => panic!("{other:?}"),
    };
    let mut line = b"data: {\"choices\":[{\"delta\":{\"content\":\"".to_vec();
    line.extend(vec![b'x'; 1024 * 1024]);
    line.extend(b"\"}}]}\n\n");
    let pieces: Vec<&[u8]> = (0..70).map(|_| line.as_slice()).collect();
    assert_eq!(failure(events(CodecName::OpenAiChat, &pieces)), FailureKind::TooLarge);
    let calls: String = (0..300)
        .map(|index| {
            format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{index},\"function\":{{\"name\":\"f\"}}}}]}}}}]}}\n\n")
        })
        .collect();
    assert_eq!(failure(events(CodecName::OpenAiChat, &[calls.as_bytes()])), FailureKind::TooLarge);
    let deep = format!("data: {}\n\n", "[".repeat(100_000));
    assert_eq!(failure(events(CodecName::Gemini, &[deep.as_bytes()])), FailureKind::Malformed);
}

/// The body of the next request of this model, with a result for every call of the answer.
fn next_body(codec: CodecName, model: &str, response: &ModelResponse) -> String {
    let results = response.message.tool_calls().map(|call| {
        MessagePart::ToolResult(ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: vec![ResultPart::Text("done".to_owned())],
            outcome: ToolOutcome::Success,
        })
    });
    let results = ModelMessage::of(MessageRole::User, results.collect());
    let messages = vec![ModelMessage::user("hi"), response.message.clone(), results];
    let request = ModelRequest::new(model, messages);
    let encoded = encode_request(codec, &CodecSettings::default(), &request).expect("a request");
    String::from_utf8(encoded.body).expect("UTF-8")
}

#[test]
fn opaque_state_goes_back_as_it_came_and_to_its_own_model_alone() {
    let mut returned = Vec::new();
    for StreamVector { note, codec, input, .. } in vectors() {
        let response = answer(codec, &input);
        if response.end.is_err() {
            continue;
        }
        let (own, other) = (next_body(codec, "m", &response), next_body(codec, "n", &response));
        for part in &response.message.parts {
            let MessagePart::Opaque(state) = part else { continue };
            // Members are put among others; a part of its own stands as it is.
            let text = match state.placement {
                OpaquePlacement::Part => state.value.as_str(),
                OpaquePlacement::PreviousPart | OpaquePlacement::Message => {
                    state.value.as_str().trim_matches(['{', '}'])
                }
            };
            // An answer without text and calls is no message of `openai-chat`.
            let is_message = codec != CodecName::OpenAiChat || own.contains("\"assistant\"");
            assert_eq!(own.contains(text), is_message, "{note}\n{text}\n{own}");
            assert!(!other.contains(text), "{note}\n{other}");
            returned.push(codec);
        }
    }
    returned.dedup();
    assert_eq!(returned, CodecName::ALL);
}

#[test]
fn an_answer_as_long_as_allowed_is_cut_whatever_the_server_says() {
    let note = "as llama.cpp answered: text, cut for its length and called complete";
    let vector = vectors().find(|vector| vector.note == note).expect("the vector");
    let stop = |max_output_tokens| {
        let mut response = answer(vector.codec, &vector.input);
        response.correct_stop(max_output_tokens);
        response.end.expect("an answer")
    };
    assert_eq!(stop(None), StopReason::EndTurn);
    assert_eq!(stop(Some(9)), StopReason::EndTurn);
    assert_eq!(stop(Some(8)), StopReason::MaxTokens);
}
