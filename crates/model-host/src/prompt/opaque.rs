//! An answer with state that its provider wants back, as the text that the turn keeps: all parts of the message in
//! their order. Read only for the codec and the model that made it.

use bridle_loop::OpaqueText;
use bridle_models::{
    CodecName, JsonText, MessagePart, MessageRole, ModelMessage, OpaqueLifetime, OpaquePlacement,
    OpaqueState, ToolArguments, ToolCall,
};
use serde_json::{Value as Json, json};

/// The text for a message; `None` for one that can be made from its text and its calls again.
pub(crate) fn opaque_text(
    codec: CodecName,
    model: &str,
    message: &ModelMessage,
) -> Option<OpaqueText> {
    let is_opaque = |part: &MessagePart| matches!(part, MessagePart::Opaque(_));
    if !message.parts.iter().any(is_opaque) {
        return None;
    }
    let parts: Vec<Json> = message.parts.iter().filter_map(part_to_json).collect();
    let text = json!({ "codec": codec.as_str(), "model": model, "parts": parts }).to_string();
    Some(OpaqueText(text.into()))
}

fn part_to_json(part: &MessagePart) -> Option<Json> {
    Some(match part {
        MessagePart::Text(text) => json!({ "text": text }),
        MessagePart::ToolCall(call) => {
            let arguments = match &call.arguments {
                ToolArguments::Valid(json) | ToolArguments::Repaired { json, .. } => json.as_str(),
                ToolArguments::Invalid { text, .. } => text,
            };
            json!({ "call": call.id, "name": call.name, "arguments": arguments })
        }
        MessagePart::Opaque(state) => json!({
            "opaque": state.value.as_str(),
            "placement": placement_word(state.placement),
            "lifetime": lifetime_word(state.lifetime),
        }),
        MessagePart::Image(_) | MessagePart::ToolResult(_) => return None,
    })
}

/// The message of a text; `None` if another codec or model made it, or it is none.
pub(super) fn message_of(codec: CodecName, model: &str, text: &OpaqueText) -> Option<ModelMessage> {
    let json: Json = serde_json::from_str(&text.0).ok()?;
    if json["codec"] != codec.as_str() || json["model"] != model {
        return None;
    }
    let read = |part: &Json| part_of_json(codec, model, part);
    let parts = json["parts"].as_array()?.iter().map(read).collect::<Option<Vec<_>>>()?;
    Some(ModelMessage::of(MessageRole::Assistant, parts))
}

fn part_of_json(codec: CodecName, model: &str, part: &Json) -> Option<MessagePart> {
    let text = |key: &str| part[key].as_str().map(str::to_owned);
    if let Some(text) = text("text") {
        return Some(MessagePart::Text(text));
    }
    if let Some(id) = text("call") {
        let arguments = ToolArguments::read(&text("arguments")?);
        return Some(MessagePart::ToolCall(ToolCall { id, name: text("name")?, arguments }));
    }
    let (placement, lifetime) = (text("placement")?, text("lifetime")?);
    let placements =
        [OpaquePlacement::Part, OpaquePlacement::PreviousPart, OpaquePlacement::Message];
    let lifetimes = [OpaqueLifetime::Turn, OpaqueLifetime::Conversation];
    Some(MessagePart::Opaque(OpaqueState {
        codec,
        model: model.to_owned(),
        placement: placements.into_iter().find(|it| placement_word(*it) == placement)?,
        lifetime: lifetimes.into_iter().find(|it| lifetime_word(*it) == lifetime)?,
        value: JsonText::parse(&text("opaque")?).ok()?,
    }))
}

fn placement_word(placement: OpaquePlacement) -> &'static str {
    match placement {
        OpaquePlacement::Part => "part",
        OpaquePlacement::PreviousPart => "previous-part",
        OpaquePlacement::Message => "message",
    }
}

fn lifetime_word(lifetime: OpaqueLifetime) -> &'static str {
    match lifetime {
        OpaqueLifetime::Turn => "turn",
        OpaqueLifetime::Conversation => "conversation",
    }
}

#[cfg(test)]
mod tests {
    use super::{message_of, opaque_text};
    use bridle_models::{
        CodecName, JsonText, MessagePart, MessageRole, ModelMessage, OpaqueLifetime,
        OpaquePlacement, OpaqueState, ToolArguments, ToolCall,
    };

    #[test]
    fn state_comes_back_to_its_maker_byte_by_byte_and_to_nobody_else() {
        let codec = CodecName::AnthropicMessages;
        let state = OpaqueState {
            codec,
            model: "m".into(),
            placement: OpaquePlacement::PreviousPart,
            lifetime: OpaqueLifetime::Conversation,
            value: JsonText::parse(r#"{"signature":"a  b","b":1}"#).unwrap(),
        };
        let arguments = ToolArguments::read(r#"{ "text": "x" }"#);
        let call = ToolCall { id: "c1".into(), name: "context_query".into(), arguments };
        let parts = vec![
            MessagePart::Text("t".into()),
            MessagePart::Opaque(state),
            MessagePart::ToolCall(call),
        ];
        let message = ModelMessage::of(MessageRole::Assistant, parts);
        let kept = opaque_text(codec, "m", &message).unwrap();
        assert_eq!(message_of(codec, "m", &kept), Some(message));
        assert_eq!(message_of(codec, "n", &kept), None);
        assert_eq!(message_of(CodecName::Gemini, "m", &kept), None);
        assert_eq!(opaque_text(codec, "m", &ModelMessage::assistant("x")), None);
    }
}
