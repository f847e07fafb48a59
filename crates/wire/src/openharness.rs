//! The OpenHarness Protocol (SynSwarm, version 1.0.0-draft): JSON between a shell and the engine.
//!
//! Called by the daemon for every transport, and by shells; pure: bytes in, messages out. Layout, in
//! reading order:
//!
//! - [`receive`](mod@receive): bytes to a request in two stages, and the answer when that fails
//! - [`echo`]: the ids that an answer repeats, found even in broken bytes
//! - [`request`], [`feedback`]: what a shell sends
//! - [`response`], [`directive`], [`payload`], [`event`], [`discovery`]: what the engine sends
//! - [`exchange`], [`pairing`], [`socket`]: documents of the extra endpoints
//! - [`capability`], [`version`], [`code`]: the rules that both sides share
//! - [`shape`]: how a message is declared; [`schema`](mod@schema): its JSON Schema
//! - [`json`], [`limits`], [`ids`], [`blob`]: what all of them stand on
//!
//! The prose for people is `docs/protocol.md`, section 15.

pub mod blob;
pub mod capability;
pub mod code;
pub mod directive;
pub mod discovery;
pub mod echo;
pub mod event;
pub mod exchange;
pub mod feedback;
pub mod ids;
pub mod json;
pub mod limits;
pub mod pairing;
pub mod payload;
pub mod receive;
pub mod request;
pub mod response;
pub mod schema;
pub mod shape;
pub mod socket;
pub mod version;

pub use capability::{Capabilities, CapabilityDenial};
pub use code::OpenHarnessCode;
pub use directive::Directive;
pub use echo::RequestEcho;
pub use event::OpenHarnessEvent;
pub use json::{Json, JsonObject};
pub use limits::MessageLimits;
pub use receive::{
    ReceivedRequest, RefusedMessage, RequestFingerprint, RequestRefusal, read, read_response,
    receive,
};
pub use request::RequestMessage;
pub use response::{ErrorObject, ResponseMessage};
pub use schema::{SchemaDirection, components, schema};
pub use shape::{FlattenedShape, JsonShape, ReadMode, ShapeError};
pub use version::{ProtocolVersion, VersionService};
