//! Faults that no vendor takes, each found before anything is sent.

use super::{ModelRequest, RequestError, ToolChoice, ToolDefinition};
use crate::arguments::ToolArguments;
use crate::json::JsonText;
use crate::message::{
    CacheHint, ImageMediaType, ImagePart, MessagePart, MessageRole, ModelMessage, ResultPart,
    ToolCall, ToolOutcome, ToolResult,
};

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        parameters: JsonText::empty_object(),
        cache: CacheHint::None,
    }
}

fn call(id: &str) -> ModelMessage {
    let arguments = ToolArguments::read("{}");
    let call = ToolCall { id: id.to_owned(), name: "look".to_owned(), arguments };
    ModelMessage::of(MessageRole::Assistant, vec![MessagePart::ToolCall(call)])
}

fn result(id: &str) -> ModelMessage {
    let result = ToolResult {
        call_id: id.to_owned(),
        name: "look".to_owned(),
        content: vec![ResultPart::Text("seen".to_owned())],
        outcome: ToolOutcome::Success,
    };
    ModelMessage::of(MessageRole::User, vec![MessagePart::ToolResult(result)])
}

#[track_caller]
fn check(messages: Vec<ModelMessage>, expect: Result<(), RequestError>) {
    let found = ModelRequest::new("m", messages).check();
    match (found, expect) {
        (Ok(()), Ok(())) => {}
        (found, expect) => assert_eq!(found, expect),
    }
}

#[test]
fn every_call_has_its_result_right_behind_it() {
    let user = || ModelMessage::user("hello");
    check(vec![user()], Ok(()));
    check(vec![user(), call("a"), result("a")], Ok(()));
    check(vec![user(), call("a")], Err(RequestError::MissingResult("a".into())));
    check(vec![user(), call("a"), user()], Err(RequestError::MissingResult("a".into())));
    check(vec![user(), result("a")], Err(RequestError::StrayResult("a".into())));
    check(
        vec![user(), call("a"), result("a"), result("a")],
        Err(RequestError::StrayResult("a".into())),
    );
}

#[test]
fn authors_have_their_own_parts() {
    check(vec![], Err(RequestError::NoMessages));
    check(vec![ModelMessage::assistant("hi")], Err(RequestError::NoMessages));
    let mut wrong = call("a");
    wrong.role = MessageRole::User;
    check(vec![wrong], Err(RequestError::WrongAuthor(0)));
    let image = ImagePart { media_type: ImageMediaType::Png, base64: "a\"b".into() };
    let image = ModelMessage::of(MessageRole::User, vec![MessagePart::Image(image)]);
    check(vec![image], Err(RequestError::ImageEncoding(0)));
}

#[test]
fn tools_have_names_that_every_vendor_takes() {
    let with = |tools: Vec<ToolDefinition>, choice| {
        let mut request = ModelRequest::new("m", vec![ModelMessage::user("hello")]);
        (request.tools, request.tool_choice) = (tools, choice);
        request.check()
    };
    assert_eq!(with(vec![tool("read_file-2")], ToolChoice::Required), Ok(()));
    for name in ["", "a.b", "a b", &"x".repeat(65)] {
        assert_eq!(
            with(vec![tool(name)], ToolChoice::Automatic),
            Err(RequestError::ToolName(name.into()))
        );
    }
    let twice = with(vec![tool("a"), tool("a")], ToolChoice::Automatic);
    assert_eq!(twice, Err(RequestError::DuplicateTool("a".into())));
    let unknown = with(vec![tool("a")], ToolChoice::Named("b".into()));
    assert_eq!(unknown, Err(RequestError::UnknownTool("b".into())));
    let mut list = tool("a");
    list.parameters = JsonText::parse("[]").unwrap();
    let unknown = with(vec![list], ToolChoice::Automatic);
    assert_eq!(unknown, Err(RequestError::ToolParameters("a".into())));
}

#[test]
fn a_model_name_can_stand_in_an_address() {
    for name in ["", "a b", "a\nb", "models/../files", "a//b"] {
        let request = ModelRequest::new(name, vec![ModelMessage::user("hello")]);
        assert_eq!(request.check(), Err(RequestError::ModelName(name.into())));
    }
}
