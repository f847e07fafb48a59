//! JSON-RPC 2.0 on lines: from bytes to a message, or to the error that answers them. Called by the agent for
//! every line of the editor; knows no method of ACP.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Code of an error, as JSON-RPC and ACP number them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpcErrorCode {
    /// The line is no JSON.
    ParseError,
    /// The JSON is no message, or comes at the wrong time.
    InvalidRequest,
    /// No such method here.
    MethodNotFound,
    /// The parameters do not fit the method.
    InvalidParams,
    /// The daemon could not do it.
    InternalError,
    /// No such session.
    ResourceNotFound,
}

impl RpcErrorCode {
    /// Returns the number on the wire.
    pub const fn number(self) -> i64 {
        match self {
            RpcErrorCode::ParseError => -32700,
            RpcErrorCode::InvalidRequest => -32600,
            RpcErrorCode::MethodNotFound => -32601,
            RpcErrorCode::InvalidParams => -32602,
            RpcErrorCode::InternalError => -32603,
            RpcErrorCode::ResourceNotFound => -32002,
        }
    }
}

/// Error that answers a request.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// Kind of the error.
    pub code: RpcErrorCode,
    /// Sentence for people; never repeats what was sent.
    pub message: String,
    /// Details for programs.
    pub data: Option<Value>,
}

impl RpcError {
    /// Makes an error without details.
    pub fn new(code: RpcErrorCode, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    /// Makes an error about parameters.
    pub fn params(message: impl Into<String>) -> RpcError {
        RpcError::new(RpcErrorCode::InvalidParams, message)
    }

    /// Makes an error about the daemon.
    pub fn internal(message: impl Into<String>) -> RpcError {
        RpcError::new(RpcErrorCode::InternalError, message)
    }
}

/// Id of a request: null, an integer or a string, given back as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RequestId(Value);

impl RequestId {
    /// Id of an answer to something that could not be read.
    pub const NULL: RequestId = RequestId(Value::Null);

    /// Takes an id; `None` for a value that cannot be one.
    pub fn of(value: &Value) -> Option<RequestId> {
        let fits = match value {
            Value::Null | Value::String(_) => true,
            Value::Number(number) => number.is_i64(),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        };
        fits.then(|| RequestId(value.clone()))
    }

    /// Returns the number of an id that this side made.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.as_i64()
    }
}

/// Message of the other side.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcMessage {
    /// Wants an answer.
    Request {
        /// Id of the answer.
        id: RequestId,
        /// Name of the method.
        method: String,
        /// Parameters; an empty object when there are none.
        params: Value,
    },
    /// Wants none.
    Notification {
        /// Name of the method.
        method: String,
        /// Parameters; an empty object when there are none.
        params: Value,
    },
    /// Answer to a request of this side; `Err` has what the other side says.
    Response {
        /// Id of the request.
        id: RequestId,
        /// The result, or the error's message.
        outcome: Result<Value, String>,
    },
}

/// Line that is no message: the error, and the id to answer with.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcFault {
    /// Id of the message, if it has a good one.
    pub id: RequestId,
    /// The answer.
    pub error: Box<RpcError>,
}

fn fault(id: Option<RequestId>, code: RpcErrorCode, message: &str) -> RpcFault {
    RpcFault { id: id.unwrap_or(RequestId::NULL), error: Box::new(RpcError::new(code, message)) }
}

/// Reads a line; `None` for an empty one.
///
/// # Errors
///
/// The line is no message: the fault says with what to answer.
pub fn read(line: &[u8]) -> Result<Option<RpcMessage>, RpcFault> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(line).map_err(|_| {
        fault(None, RpcErrorCode::ParseError, "expected one JSON object on the line")
    })?;
    let Value::Object(mut message) = value else {
        let what = "expected a JSON object; batches are not part of the protocol";
        return Err(fault(None, RpcErrorCode::InvalidRequest, what));
    };
    let invalid = |id, what| Err(fault(id, RpcErrorCode::InvalidRequest, what));
    let id = match message.get("id") {
        None => None,
        Some(value) => match RequestId::of(value) {
            Some(id) => Some(id),
            None => return invalid(None, "expected `id` to be an integer, a string or null"),
        },
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(id, "expected `jsonrpc` to be \"2.0\"");
    }
    match message.remove("method") {
        Some(Value::String(method)) => called(id, method, message),
        Some(_) => invalid(id, "expected `method` to be a string"),
        None => answered(id, &mut message),
    }
}

fn called(
    id: Option<RequestId>,
    method: String,
    mut message: Map<String, Value>,
) -> Result<Option<RpcMessage>, RpcFault> {
    let params = match message.remove("params") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params @ Value::Object(_)) => params,
        Some(_) => {
            let what = "expected `params` to be an object";
            return Err(fault(id, RpcErrorCode::InvalidParams, what));
        }
    };
    Ok(Some(match id {
        Some(id) => RpcMessage::Request { id, method, params },
        None => RpcMessage::Notification { method, params },
    }))
}

fn answered(
    id: Option<RequestId>,
    message: &mut Map<String, Value>,
) -> Result<Option<RpcMessage>, RpcFault> {
    let outcome = match (message.remove("result"), message.remove("error")) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => {
            let said = error.get("message").and_then(Value::as_str);
            Err(said.unwrap_or("no reason given").to_owned())
        }
        _ => {
            let what = "expected a `method`, or one of `result` and `error`";
            return Err(fault(id, RpcErrorCode::InvalidRequest, what));
        }
    };
    match id {
        Some(id) => Ok(Some(RpcMessage::Response { id, outcome })),
        None => {
            Err(fault(None, RpcErrorCode::InvalidRequest, "expected an answer to have an `id`"))
        }
    }
}

/// Writes the answer to a request.
pub fn response(id: &RequestId, outcome: &Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => {
            let mut told = json!({"code": error.code.number(), "message": error.message});
            if let (Some(data), Some(fields)) = (&error.data, told.as_object_mut()) {
                fields.insert("data".to_owned(), data.clone());
            }
            json!({"jsonrpc": "2.0", "id": id, "error": told})
        }
    }
}

#[cfg(test)]
mod tests;
