//! Requests against `vectors/models/requests.jsonl`, byte by byte: a changed request is a visible diff.

use bridle_models::{
    ChatDialect, CodecName, CodecSettings, DeliveryMode, ModelMessage, ModelRequest,
    ReasoningEffort, RequestError, encode_request,
};
use serde_json::Value;

use crate::samples;

const VECTORS: &str = include_str!("../../../../vectors/models/requests.jsonl");

#[test]
fn bodies_are_those_of_the_vectors() {
    let mut lines = VECTORS.lines();
    for codec in CodecName::ALL {
        for sample in samples::requests(codec) {
            let note = format!("{}: {}", codec.as_str(), sample.note);
            let line = lines.next().unwrap_or_else(|| panic!("no vector for {note}"));
            let vector: Value = serde_json::from_str(line).unwrap();
            let request = encode_request(codec, &sample.settings, &sample.request).unwrap();
            assert_eq!(vector["note"], note.as_str());
            assert_eq!(vector["path"], request.path.as_str(), "{note}");
            let body = String::from_utf8(request.body).unwrap();
            // The body stands in its line as it is.
            assert!(line.ends_with(&format!("\"body\":{body}}}")), "{note}\n{body}\n{line}");
        }
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn every_codec_has_a_place_for_the_key_and_never_the_key() {
    let request = ModelRequest::new("m", vec![ModelMessage::user("hi")]);
    let fields = CodecName::ALL.map(|codec| {
        let encoded = encode_request(codec, &CodecSettings::default(), &request).unwrap();
        let key = encoded.headers.iter().find_map(|header| match &header.value {
            bridle_models::HttpHeaderValue::Key { prefix } => Some((header.name, *prefix)),
            bridle_models::HttpHeaderValue::Text(_) => None,
        });
        key.expect("a place for the key")
    });
    let bearer = ("authorization", "Bearer ");
    assert_eq!(fields, [bearer, bearer, ("x-api-key", ""), ("x-goog-api-key", "")]);
}

#[test]
fn the_dialect_of_openai_is_for_openai_alone() {
    let mut request = ModelRequest::new("m", vec![ModelMessage::user("hi")]);
    (request.max_output_tokens, request.cache_key) = (Some(5), Some("k".into()));
    let body = |dialect| {
        let settings = CodecSettings { dialect, ..CodecSettings::default() };
        let encoded = encode_request(CodecName::OpenAiChat, &settings, &request).unwrap();
        serde_json::from_slice::<Value>(&encoded.body).unwrap()
    };
    let (own, other) = (body(ChatDialect::OpenAi), body(ChatDialect::Compatible));
    assert_eq!((&own["max_completion_tokens"], &own["prompt_cache_key"]), (&5.into(), &"k".into()));
    assert_eq!((&other["max_tokens"], &other["prompt_cache_key"]), (&5.into(), &Value::Null));
}

#[test]
fn a_model_name_stays_inside_its_path() {
    let path = |model: &str, delivery| {
        let mut request = ModelRequest::new(model, vec![ModelMessage::user("hi")]);
        request.delivery = delivery;
        encode_request(CodecName::Gemini, &CodecSettings::default(), &request).unwrap().path
    };
    assert_eq!(
        path("a?b#c%d:é", DeliveryMode::Whole),
        "/models/a%3Fb%23c%25d%3A%C3%A9:generateContent"
    );
    assert_eq!(
        path("tunedModels/x-1", DeliveryMode::Stream),
        "/tunedModels/x-1:streamGenerateContent?alt=sse"
    );
}

#[test]
fn what_a_model_does_not_take_is_refused_here() {
    for codec in CodecName::ALL {
        let samples = samples::requests(codec);
        let model = samples::model(codec);
        let blind = CodecSettings { takes_images: false, ..CodecSettings::default() };
        let refused = encode_request(codec, &blind, &samples[5].request);
        assert_eq!(refused, Err(RequestError::NoImages(model.into())));
        let refused = encode_request(codec, &blind, &samples[4].request);
        assert_eq!(refused, Err(RequestError::NoImages(model.into())));
        let handless = CodecSettings { takes_tools: false, ..CodecSettings::default() };
        let refused = encode_request(codec, &handless, &samples[2].request);
        assert_eq!(refused, Err(RequestError::NoTools(model.into())));
    }
}

#[test]
fn a_small_answer_leaves_no_room_for_a_thinking_budget() {
    let settings = CodecSettings {
        reasoning: bridle_models::ReasoningControl::Budget,
        ..CodecSettings::default()
    };
    let budget = |max_tokens| {
        let mut request = ModelRequest::new("m", vec![ModelMessage::user("hi")]);
        (request.max_output_tokens, request.reasoning) = (Some(max_tokens), ReasoningEffort::High);
        let body = encode_request(CodecName::AnthropicMessages, &settings, &request).unwrap().body;
        serde_json::from_slice::<Value>(&body).unwrap()["thinking"]["budget_tokens"].as_u64()
    };
    assert_eq!(
        [1024, 1025, 4096, 100_000].map(budget),
        [None, Some(1024), Some(2048), Some(24_576)]
    );
}
