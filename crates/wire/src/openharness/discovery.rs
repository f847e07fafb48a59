//! What an engine says about itself before anybody asks it anything: served without credentials, so it
//! holds nothing that only a principal may know.

use super::capability::Capabilities;
use super::code::OpenHarnessCode;
use super::directive::RiskTier;
use super::ids::{ActionType, CodeText, Label, Name};
use super::json::Json;
use super::limits::MessageLimits;
use super::shape::{ApprovalGate, record};
use super::version::ProtocolVersion;

record! {
    /// Self-description of an engine.
    pub struct DiscoveryDocument as "discovery" {
        /// Versions that it serves, one for each minor line.
        protocol_versions: Vec<ProtocolVersion> = "protocol_versions",
        /// The program.
        engine: EngineInfo = "engine",
        /// Capabilities that it offers.
        capabilities: Capabilities = "capabilities",
        /// The types of directives that it sends.
        action_types: Vec<ActionInfo> = "action_types",
        /// The codes of its errors.
        error_codes: Vec<CodeText> = "error_codes",
        /// Profiles beyond version 1, such as `dev.bridle.sse.1`.
        profiles: Vec<Name> = "profiles",
        /// Limits of requests.
        limits: DiscoveryLimits = "limits",
        /// Ways of authentication.
        auth: AuthInfo = "auth",
    }
}

record! {
    /// The program that serves.
    pub struct EngineInfo as "engineInfo" {
        /// Name of the program.
        name: Name = "name",
        /// Version of the program.
        version: Label = "version",
    }
}

record! {
    /// A type of directives that an engine sends.
    pub struct ActionInfo as "actionInfo" {
        /// The type.
        action_type: ActionType = "type",
        /// Harm that it can do.
        risk_tier: RiskTier = "risk_tier",
        /// Whether the user must agree first.
        requires_user_approval: ApprovalGate = "requires_user_approval",
        /// The schema of its payload.
        payload_schema: Option<Json> = "payload_schema",
    }
}

record! {
    /// Limits of the requests that an engine takes.
    pub struct DiscoveryLimits as "discoveryLimits" {
        /// Bytes of a message.
        max_body_bytes: u64 = "max_body_bytes",
        /// Levels of what is understood or kept.
        max_depth: u64 = "max_depth",
        /// Bytes that one inline blob may decode to.
        max_inline_blob_bytes: u64 = "max_inline_blob_bytes",
        /// Bytes of a file that can be uploaded; none where none can.
        max_attachment_bytes: Option<u64> = "max_attachment_bytes",
        /// Requests a second that one principal may make in the long run; any number if it is not said.
        requests_per_second: Option<u64> = "requests_per_second",
        /// Requests that it may make at once after a pause.
        request_burst: Option<u64> = "request_burst",
    }
}

record! {
    /// Ways of authentication that an engine accepts.
    pub struct AuthInfo as "authInfo" {
        /// Schemes of the transport, such as `bearer`; none where none is needed.
        schemes: Vec<Name> = "schemes",
    }
}

impl DiscoveryLimits {
    /// Says the limits that messages are read with.
    pub fn of(limits: &MessageLimits) -> Self {
        let count = |bound: usize| u64::try_from(bound).unwrap_or(u64::MAX);
        DiscoveryLimits {
            max_body_bytes: count(limits.bytes),
            max_depth: count(limits.depth),
            max_inline_blob_bytes: count(limits.inline_blob),
            max_attachment_bytes: None,
            requests_per_second: None,
            request_burst: None,
        }
    }
}

/// Returns the codes of our errors, for the document.
pub fn error_codes() -> Vec<CodeText> {
    OpenHarnessCode::ALL.iter().filter_map(|code| CodeText::new(code.as_str()).ok()).collect()
}
