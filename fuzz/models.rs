//! What must hold for any bytes that a server of models sends, and for any file of providers: the fuzz target
//! `model_stream` panics when it does not. Included by path in the target and in `crates/models/tests/it`, which runs for
//! seconds in every test run. Not a place for examples: those are vectors.

use bridle_models::{
    CallIdPrefix, CodecName, CodecSettings, MessagePart, MessageRole, ModelMessage, ModelRequest,
    ModelResponse, ResponseAssembler, ResponseHead, ResultPart, StreamDecoder, StreamEvent,
    ToolArguments, ToolOutcome, ToolResult, decode_error, decode_response, encode_request,
    read_providers,
};

/// Largest number of places where a stream is cut: all of them for a short one.
const MAX_CUTS: usize = 64;

/// Every codec ends once, however the bytes are cut; what it read can be sent back.
pub(crate) fn model_stream(data: &[u8]) {
    for codec in CodecName::ALL {
        let whole = events(codec, &[data]);
        let step = data.len() / MAX_CUTS + 1;
        for at in (0..data.len()).step_by(step) {
            assert_eq!(events(codec, &[&data[..at], &data[at..]]), whole, "cut at {at}");
        }
        let response = whole.into_iter().collect::<ResponseAssembler>().finish().expect("an end");
        sendable(codec, response);
        let head = ResponseHead { status: 200, headers: Vec::new() };
        sendable(codec, decode_response(codec, "m", prefix(), &head, data));
    }
    let failure = decode_error(&ResponseHead { status: 500, headers: Vec::new() }, data);
    assert!(failure.message.chars().count() <= 403, "{failure}");
    let text = String::from_utf8_lossy(data);
    if let Some(json) = ToolArguments::read(&text).json() {
        assert!(matches!(ToolArguments::read(json.as_str()), ToolArguments::Valid(_)), "{json:?}");
    }
    for problem in read_providers(&text).problems {
        assert!(problem.line > 0 && !problem.instead.is_empty(), "{problem:?}");
    }
}

/// Events of pieces; exactly one end, and nothing behind it.
pub(crate) fn events(codec: CodecName, pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = StreamDecoder::new(codec, "m", prefix());
    let mut events: Vec<StreamEvent> =
        pieces.iter().flat_map(|piece| decoder.feed(piece)).collect();
    events.extend(decoder.finish());
    let is_end =
        |event: &StreamEvent| matches!(event, StreamEvent::Finish(_) | StreamEvent::Failure(_));
    assert_eq!(events.iter().position(is_end), events.len().checked_sub(1));
    assert_eq!(decoder.finish(), []);
    events
}

fn prefix() -> CallIdPrefix {
    CallIdPrefix("call".to_owned())
}

/// The next request, with a result for every call, can be written and is JSON. A failed answer calls nothing.
fn sendable(codec: CodecName, response: ModelResponse) {
    let results: Vec<MessagePart> = response
        .message
        .tool_calls()
        .map(|call| {
            MessagePart::ToolResult(ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                content: vec![ResultPart::Text("done".to_owned())],
                outcome: ToolOutcome::Success,
            })
        })
        .collect();
    assert!(response.end.is_ok() || results.is_empty());
    let next = ModelMessage::of(MessageRole::User, results);
    let request = ModelRequest::new("m", vec![ModelMessage::user("hi"), response.message, next]);
    let encoded = encode_request(codec, &CodecSettings::default(), &request).expect("a request");
    serde_json::from_slice::<serde_json::Value>(&encoded.body).expect("JSON");
}
