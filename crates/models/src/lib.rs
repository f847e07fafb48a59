//! Language models: what is asked and answered, in words that belong to no vendor; four codecs between these words
//! and the bytes of HTTP; the file in which the user names providers; prices and token estimates.
//!
//! Called by the host, which owns sockets, secrets and the clock. No IO here: a request goes out as bytes with a
//! place for the key, an answer comes in as bytes cut anywhere.
//!
//! In reading order:
//! - `json`: JSON text that is kept as it came, and JSON in an order of our own
//! - `message`, `request`: what is asked; `usage`, `event`, `failure`: what comes back
//! - `arguments`: the arguments of a tool call, repaired where only one reading is possible
//! - `response`: events put together into one answer
//! - `sse`: bytes to server-sent events
//! - `request_value`: a request as skills that wrap a codec get it
//! - `codec`: the four wire formats; `model_list`: what a server says it has
//! - `provider`: `models.org`: reading, comparing, the default text
//! - `estimate`, `money`, `price`: how large a request is, and what it costs
#![forbid(unsafe_code)]

mod json;
mod key_text;

mod message;
mod request;

mod event;
mod failure;
mod usage;

mod arguments;
mod response;

mod sse;

mod codec;
mod model_list;
mod request_value;

mod provider;

mod estimate;
mod money;
mod price;

pub use arguments::{ArgumentRepair, ToolArguments};
pub use codec::{
    CallIdPrefix, ChatDialect, CodecName, CodecSettings, HttpHeader, HttpHeaderValue, HttpRequest,
    ReasoningControl, StreamDecoder, decode_error, decode_response, encode_request,
};
pub use estimate::{IMAGE_TOKENS, TokenEstimate, estimate_request, estimate_text};
pub use event::{StopReason, StreamEvent};
pub use failure::{FailureKind, ProviderFailure, ResponseHead};
pub use json::{JsonText, JsonTextError};
pub use message::{
    CacheHint, ImageMediaType, ImagePart, MessagePart, MessageRole, ModelMessage, OpaqueLifetime,
    OpaquePlacement, OpaqueState, ResultPart, ToolCall, ToolOutcome, ToolResult,
};
pub use model_list::{ServedModel, model_list_request, read_model_list};
pub use money::MicroDollars;
pub use price::{CatalogLookup, CatalogPrice, Price, PriceSchedule, PriceTier, look_up_price};
pub use provider::{
    AddressScheme, ApprovedSettings, DEFAULT_MODELS_FILE, KeySource, ModelTier, ParsedProviders,
    PriceSource, Provider, ProviderAddress, ProviderChange, ProviderDiff, ProviderField,
    ProviderModel, ProviderNotice, ProviderPatience, ProviderPrivacy, ProviderProblem, ProviderSet,
    read_providers,
};
pub use request::{
    DeliveryMode, ModelRequest, ReasoningEffort, RequestError, SamplingOptions, SystemPart,
    ToolChoice, ToolDefinition, ToolParallelism,
};
pub use request_value::request_value;
pub use response::{ModelResponse, ResponseAssembler};
pub use sse::{MAX_SSE_EVENT_BYTES, SseDecoder, SseError, SseEvent};
pub use usage::ModelUsage;
