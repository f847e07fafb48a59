//! Lines and what they are read as.

use serde_json::json;

use super::{RpcErrorCode, RpcMessage, read, response};

fn check_fault(line: &str, code: RpcErrorCode, id: &serde_json::Value) {
    let fault = read(line.as_bytes()).expect_err(line);
    let answer = response(&fault.id, &Err(*fault.error));
    assert_eq!(answer["error"]["code"], code.number(), "{line}");
    assert_eq!(&answer["id"], id, "{line}");
}

#[test]
fn lines_that_are_no_messages_are_answered() {
    let null = json!(null);
    for line in ["{", "nonsense", "{\"a\":1} {}", "\u{1}", "{\"jsonrpc\":\"2.0\",\"id\":1"] {
        check_fault(line, RpcErrorCode::ParseError, &null);
    }
    for line in ["[]", "7", "null", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]", "{}"] {
        check_fault(line, RpcErrorCode::InvalidRequest, &null);
    }
    check_fault(
        r#"{"jsonrpc":"1.0","id":3,"method":"x"}"#,
        RpcErrorCode::InvalidRequest,
        &json!(3),
    );
    check_fault(r#"{"id":"a","method":"x"}"#, RpcErrorCode::InvalidRequest, &json!("a"));
    check_fault(r#"{"jsonrpc":"2.0","id":3,"method":7}"#, RpcErrorCode::InvalidRequest, &json!(3));
    check_fault(r#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#, RpcErrorCode::InvalidRequest, &null);
    check_fault(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, RpcErrorCode::InvalidRequest, &null);
    check_fault(r#"{"jsonrpc":"2.0","id":3}"#, RpcErrorCode::InvalidRequest, &json!(3));
    check_fault(
        r#"{"jsonrpc":"2.0","id":3,"method":"x","params":[1]}"#,
        RpcErrorCode::InvalidParams,
        &json!(3),
    );
}

#[test]
fn depth_is_bounded() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    check_fault(&deep, RpcErrorCode::ParseError, &json!(null));
}

#[test]
fn bytes_that_are_not_utf8_are_answered() {
    let fault = read(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}").unwrap_err();
    assert_eq!(fault.error.code, RpcErrorCode::ParseError);
}

#[test]
fn messages_are_told_apart() {
    let is = |line: &str| read(line.as_bytes()).unwrap();
    assert_eq!(is("  "), None);
    let request = is(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#);
    assert!(matches!(request, Some(RpcMessage::Request { .. })), "{request:?}");
    let notification = is(r#"{"jsonrpc":"2.0","method":"x","params":null}"#);
    assert!(matches!(notification, Some(RpcMessage::Notification { .. })), "{notification:?}");
    let answer = is(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#);
    let Some(RpcMessage::Response { outcome, .. }) = answer else { panic!("{answer:?}") };
    assert_eq!(outcome, Err("no".to_owned()));
}
