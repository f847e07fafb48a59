//! What the engine answers: the envelope, the outcome, directives or an error.

use std::sync::Arc;

use super::capability::{Capabilities, CapabilityDenial};
use super::code::OpenHarnessCode;
use super::directive::Directive;
use super::echo::RequestEcho;
use super::ids::{CodeText, CorrelationId, RequestId};
use super::json::{Json, JsonObject};
use super::request::RunContinuation;
use super::shape::{AnswerLatency, record, words};
use super::version::ProtocolVersion;

record! {
    /// An answer of the engine.
    pub struct ResponseMessage as "responseMessage" {
        /// The wire format of this message.
        protocol_version: ProtocolVersion = "protocol_version",
        /// The id of the request, if it had one.
        request_id: Option<RequestId> = "request_id",
        /// The trace of the request, if it had one.
        correlation_id: Option<CorrelationId> = "correlation_id",
        /// Versions that this engine serves, one for each minor line.
        supported_protocol_versions: Vec<ProtocolVersion> = "supported_protocol_versions",
        /// Capabilities that this engine offers.
        supported_capabilities: Option<Arc<Capabilities>> = "supported_capabilities",
        /// Capabilities that the shell asked for and does not get.
        capability_denials: Vec<CapabilityDenial> = "capability_denials",
        /// The answer.
        response: ResponseBody = "response",
    }
}

words! {
    /// Whether the request was carried out.
    pub enum ResponseStatus as "status" {
        /// The request was carried out.
        Success = "success",
        /// The request was not carried out.
        Error = "error",
    } else Error
}

record! {
    /// The answer to a request.
    pub struct ResponseBody as "responsePayload" {
        /// Whether the request was carried out.
        status: ResponseStatus = "status",
        /// Milliseconds that the engine took.
        engine_latency_ms: Option<AnswerLatency> = "engine_latency_ms",
        /// Directives for the shell, in order.
        action_directives: Vec<Directive> = "action_directives",
        /// Reason why it was not carried out.
        error: Option<ErrorObject> = "error",
        /// The step that can go on from here.
        continuation: Option<RunContinuation> = "continuation",
        /// Data of vendors, by reverse domain name.
        extensions: Option<ResponseExtensions> = "extensions",
    }
}

record! {
    /// Reason why a request was not carried out.
    pub struct ErrorObject as "errorObject" {
        /// A code that programs compare.
        code: CodeText = "code",
        /// A sentence for people; holds nothing of the request.
        message: Option<String> = "message",
        /// Whether the same request may succeed later.
        retryable: Option<bool> = "retryable",
        /// More about it, safe to log.
        details: Option<JsonObject> = "details",
    }
}

record! {
    /// Extensions of an answer. Those of others are kept.
    pub struct ResponseExtensions as "responseExtensions" {
        /// Fields of bridle beyond version 1.
        bridle: Option<ResponseBridle> = "dev.bridle",
        ..rest
    }
}

record! {
    /// Fields of bridle in an answer, beyond version 1.
    pub struct ResponseBridle as "responseBridle" {
        /// The step that can go on from here, where every shell may look for it.
        continuation: Option<RunContinuation> = "continuation",
        ..rest
    }
}

impl ResponseMessage {
    /// Makes the answer to a request that was carried out.
    pub fn success(echo: &RequestEcho, directives: Vec<Directive>) -> Self {
        ResponseMessage::answer(
            echo,
            ResponseBody {
                status: ResponseStatus::Success,
                engine_latency_ms: None,
                action_directives: directives,
                error: None,
                continuation: None,
                extensions: None,
            },
        )
    }

    /// Makes the answer to a request that was not. It never has directives.
    pub fn error(echo: &RequestEcho, error: ErrorObject) -> Self {
        ResponseMessage::answer(
            echo,
            ResponseBody {
                status: ResponseStatus::Error,
                engine_latency_ms: None,
                action_directives: Vec::new(),
                error: Some(error),
                continuation: None,
                extensions: None,
            },
        )
    }

    /// Says how to go on, in both places where shells look.
    #[must_use]
    pub fn with_continuation(mut self, continuation: RunContinuation) -> Self {
        let bridle =
            ResponseBridle { continuation: Some(continuation.clone()), rest: JsonObject::new() };
        self.response.extensions =
            Some(ResponseExtensions { bridle: Some(bridle), rest: JsonObject::new() });
        self.response.continuation = Some(continuation);
        self
    }

    /// Says what the engine offers and what it denies.
    #[must_use]
    pub fn with_capabilities(
        mut self,
        supported: impl Into<Arc<Capabilities>>,
        denials: Vec<CapabilityDenial>,
    ) -> Self {
        self.supported_capabilities = Some(supported.into());
        self.capability_denials = denials;
        self
    }

    fn answer(echo: &RequestEcho, response: ResponseBody) -> Self {
        ResponseMessage {
            protocol_version: ProtocolVersion::ours(),
            request_id: echo.request_id.clone(),
            correlation_id: echo.correlation_id.clone(),
            supported_protocol_versions: ProtocolVersion::supported(),
            supported_capabilities: None,
            capability_denials: Vec::new(),
            response,
        }
    }
}

impl ResponseBody {
    /// Returns the step that can go on from here, wherever it was said.
    pub fn continuation(&self) -> Option<&RunContinuation> {
        let bridle = || self.extensions.as_ref()?.bridle.as_ref()?.continuation.as_ref();
        self.continuation.as_ref().or_else(bridle)
    }
}

impl ErrorObject {
    /// Makes an error of our list, with its sentence.
    pub fn of(code: OpenHarnessCode) -> Self {
        ErrorObject {
            code: CodeText::new(code.as_str()).expect("our codes are short"),
            message: Some(code.explanation().to_owned()),
            retryable: Some(code.retryable()),
            details: None,
        }
    }

    /// Replaces the sentence. It must hold nothing of the request.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Adds a detail. It must hold nothing of the request.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.details.get_or_insert_default().insert(key, value);
        self
    }

    /// Returns the code, if it is one of our list.
    pub fn known(&self) -> Option<OpenHarnessCode> {
        OpenHarnessCode::parse(self.code.as_str())
    }
}
