//! Requests that use everything a codec can write. Included by path in `xtask` too, which writes the vectors from
//! them, sends some to real servers and has the vendors' own types check all.

use bridle_models::{
    CacheHint, CodecName, CodecSettings, DeliveryMode, ImageMediaType, ImagePart, JsonText,
    MessagePart, MessageRole, ModelMessage, ModelRequest, OpaqueLifetime, OpaquePlacement,
    OpaqueState, ReasoningControl, ReasoningEffort, ResultPart, SamplingOptions, SystemPart,
    ToolArguments, ToolCall, ToolChoice, ToolDefinition, ToolOutcome, ToolParallelism, ToolResult,
};

/// Request with a name, for every codec.
pub(crate) struct RequestSample {
    /// Feature that it shows.
    pub(crate) note: &'static str,
    /// Properties of the model.
    pub(crate) settings: CodecSettings,
    /// The request.
    pub(crate) request: ModelRequest,
}

/// A PNG of one dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Every sample, with the state that this codec returns.
pub(crate) fn requests(codec: CodecName) -> Vec<RequestSample> {
    let model = model(codec);
    let plain = CodecSettings::default();
    let budget = CodecSettings { reasoning: ReasoningControl::Budget, ..plain };
    let sample = |note, settings, request| RequestSample { note, settings, request };
    vec![
        sample(
            "one prompt",
            plain,
            ModelRequest::new(model, vec![ModelMessage::user("Say \"hi\"\n✓")]),
        ),
        sample("everything that is no message", plain, instructed(model)),
        sample("a forced tool, one at a time, much reasoning", plain, forced(model)),
        sample("tools that the model must not call", budget, forbidden(model)),
        sample(
            "two calls and their results, with an image and a failure",
            plain,
            tool_round(model),
        ),
        sample("images between texts", plain, pictured(model)),
        sample(
            "reasoning by budget, with state of this and another model",
            budget,
            with_state(codec),
        ),
    ]
}

/// A model of the vendor.
pub(crate) fn model(codec: CodecName) -> &'static str {
    match codec {
        CodecName::OpenAiChat | CodecName::OpenAiResponses => "gpt-5.4-mini",
        CodecName::AnthropicMessages => "claude-sonnet-5-5",
        CodecName::Gemini => "gemini-3-flash",
    }
}

/// The tool of the samples.
pub(crate) fn weather_tool() -> ToolDefinition {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string","description":"A city"}},"required":["city"]}"#;
    ToolDefinition {
        name: "get_weather".to_owned(),
        description: "Tells the weather of a city.".to_owned(),
        parameters: JsonText::object(schema).expect("the schema is an object"),
        cache: CacheHint::None,
    }
}

fn instructed(model: &str) -> ModelRequest {
    let mut messages = vec![
        ModelMessage::user("First."),
        ModelMessage::assistant("One."),
        ModelMessage::user("Second."),
        ModelMessage::assistant("Two."),
        ModelMessage::user("Third."),
    ];
    messages.iter_mut().for_each(|message| message.cache = CacheHint::Breakpoint);
    let mut request = ModelRequest::new(model, messages);
    let part = |text: &str, cache| SystemPart { text: text.to_owned(), cache };
    request.system =
        vec![part("Be brief.", CacheHint::None), part("Cite files.", CacheHint::Breakpoint)];
    request.sampling =
        SamplingOptions { temperature_milli: Some(700), top_p_milli: Some(950), seed: Some(7) };
    request.max_output_tokens = Some(300);
    request.stop = vec!["END".to_owned()];
    request.cache_key = Some("session-1".to_owned());
    request.delivery = DeliveryMode::Whole;
    request
}

fn forced(model: &str) -> ModelRequest {
    let mut request = ModelRequest::new(model, vec![ModelMessage::user("Weather in Paris?")]);
    request.tools = vec![weather_tool()];
    request.tool_choice = ToolChoice::Named("get_weather".to_owned());
    request.parallelism = ToolParallelism::One;
    request.reasoning = ReasoningEffort::High;
    request
}

fn forbidden(model: &str) -> ModelRequest {
    let mut tool = weather_tool();
    tool.cache = CacheHint::Breakpoint;
    let mut request = ModelRequest::new(model, vec![ModelMessage::user("Just talk.")]);
    request.tools = vec![tool];
    request.tool_choice = ToolChoice::Forbidden;
    request.reasoning = ReasoningEffort::Off;
    request
}

fn call(id: &str, arguments: &str) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "get_weather".to_owned(),
        arguments: ToolArguments::read(arguments),
    })
}

fn result(id: &str, content: Vec<ResultPart>, outcome: ToolOutcome) -> MessagePart {
    let name = "get_weather".to_owned();
    MessagePart::ToolResult(ToolResult { call_id: id.to_owned(), name, content, outcome })
}

fn image() -> ImagePart {
    ImagePart { media_type: ImageMediaType::Png, base64: DOT.to_owned() }
}

fn tool_round(model: &str) -> ModelRequest {
    let text = |text: &str| ResultPart::Text(text.to_owned());
    let calls = vec![
        MessagePart::Text("I look.".to_owned()),
        call("call_1", r#"{"city":"Paris"}"#),
        call("call_2", r#"{"city":"#),
    ];
    let results = vec![
        result("call_1", vec![text("18 °C"), ResultPart::Image(image())], ToolOutcome::Success),
        result("call_2", vec![text("the arguments are not JSON")], ToolOutcome::Failure),
    ];
    let messages = vec![
        ModelMessage::user("Weather in Paris and Rome?"),
        ModelMessage::of(MessageRole::Assistant, calls),
        ModelMessage::of(MessageRole::User, results),
    ];
    let mut request = ModelRequest::new(model, messages);
    request.tools = vec![weather_tool()];
    request
}

fn pictured(model: &str) -> ModelRequest {
    let parts = vec![
        MessagePart::Text("What is this?".to_owned()),
        MessagePart::Image(image()),
        MessagePart::Text("Be exact.".to_owned()),
    ];
    ModelRequest::new(model, vec![ModelMessage::of(MessageRole::User, parts)])
}

/// State that a codec received, of the model that is asked and of another one, in two turns.
fn with_state(codec: CodecName) -> ModelRequest {
    let model = model(codec);
    let answer = |id: &str| ModelMessage::of(MessageRole::Assistant, with_own_state(codec, id));
    let results = |id: &str| {
        let content = vec![ResultPart::Text("18 °C".to_owned())];
        ModelMessage::of(MessageRole::User, vec![result(id, content, ToolOutcome::Success)])
    };
    let conversation = OpaqueLifetime::Conversation;
    let previous = OpaquePlacement::PreviousPart;
    let foreign = vec![
        call("b", r#"{"city":"Nice"}"#),
        state(codec, previous, conversation, "another-model", "{\"x\":1}"),
    ];
    let mut request = ModelRequest::new(
        model,
        vec![
            ModelMessage::user("Weather in Paris?"),
            answer("a"),
            results("a"),
            ModelMessage::user("And in Nice?"),
            ModelMessage::of(MessageRole::Assistant, foreign),
            results("b"),
            answer("c"),
            results("c"),
        ],
    );
    request.tools = vec![weather_tool()];
    request.max_output_tokens = Some(8192);
    request.reasoning = ReasoningEffort::Medium;
    request
}

fn state(
    codec: CodecName,
    placement: OpaquePlacement,
    lifetime: OpaqueLifetime,
    model: &str,
    text: &str,
) -> MessagePart {
    let value = JsonText::object(text).expect("state is an object");
    MessagePart::Opaque(OpaqueState { codec, model: model.to_owned(), placement, lifetime, value })
}

/// A call with the state that a server of this codec would send with it.
fn with_own_state(codec: CodecName, id: &str) -> Vec<MessagePart> {
    use OpaqueLifetime::{Conversation, Turn};
    use OpaquePlacement::{Message, Part, PreviousPart};
    let own = |placement, lifetime, text| state(codec, placement, lifetime, model(codec), text);
    let call = call(id, r#"{"city":"Paris"}"#);
    match codec {
        CodecName::OpenAiChat => {
            vec![call, own(Message, Turn, r#"{"reasoning_content":"Paris it is."}"#)]
        }
        CodecName::OpenAiResponses => {
            let item =
                r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA=="}"#;
            vec![
                own(Part, Conversation, item),
                MessagePart::Text("I look.".to_owned()),
                own(PreviousPart, Conversation, r#"{"phase":"commentary"}"#),
                call,
            ]
        }
        CodecName::AnthropicMessages => {
            let block = r#"{"type":"thinking","thinking":"Paris it is.","signature":"EqQB=="}"#;
            vec![
                own(Part, Conversation, block),
                own(Part, Conversation, r#"{"type":"redacted_thinking","data":"Emw=="}"#),
                state(codec, Part, Conversation, "another-model", block),
                call,
            ]
        }
        CodecName::Gemini => {
            vec![call, own(PreviousPart, Conversation, r#"{"thoughtSignature":"CtEB"}"#)]
        }
    }
}
