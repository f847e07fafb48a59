//! What a shell sends: the envelope, who asks, and the context of the question.

use super::capability::Capabilities;
use super::feedback::DirectiveResult;
use super::ids::{
    Address, ContinuationToken, ConversationId, CorrelationId, CredentialRef, FileName, Label,
    LoginSessionId, RefId, RequestId, RunId, SessionId, ShellKind, SopId, StateText, TenantId,
    Timestamp, UserIntent,
};
use super::json::JsonObject;
use super::shape::{record, words};
use super::version::ProtocolVersion;

record! {
    /// A request of a shell.
    pub struct RequestMessage as "requestMessage" {
        /// The wire format of this message.
        protocol_version: ProtocolVersion = "protocol_version",
        /// Names this request: the answer repeats it, and so does a retry.
        request_id: Option<RequestId> = "request_id",
        /// Names the trace that this request belongs to; the answer repeats it.
        correlation_id: Option<CorrelationId> = "correlation_id",
        /// Capabilities that the shell has and asks for.
        capabilities: Option<Capabilities> = "capabilities",
        /// The question.
        request: RequestBody = "request",
    }
}

record! {
    /// The question of a request.
    pub struct RequestBody as "requestPayload" {
        /// References to an identity that the transport has established.
        auth: Option<IdentityRefs> = "auth",
        /// Question, asker and surroundings.
        context: Option<RequestContext> = "context",
        /// Data of vendors, by reverse domain name.
        extensions: Option<JsonObject> = "extensions",
    }
}

record! {
    /// References to an identity. Other fields, such as tokens, are dropped unread.
    pub struct IdentityRefs as "auth" {
        /// The tenant that the shell takes itself to belong to.
        tenant_id: Option<TenantId> = "tenant_id",
        /// A reference to a credential, never the credential.
        credential_ref: Option<CredentialRef> = "credential_ref",
        /// The session of the login.
        session_id: Option<LoginSessionId> = "session_id",
    }
}

record! {
    /// Question, asker and surroundings of a request.
    pub struct RequestContext as "context" {
        /// The conversation that this belongs to; without one, nothing is remembered.
        session_id: Option<SessionId> = "session_id",
        /// A thread within the session.
        conversation_id: Option<ConversationId> = "conversation_id",
        /// Wish of the user, in words.
        user_intent: Option<UserIntent> = "user_intent",
        /// Hints of the shell about the task.
        task_hint: Option<TaskHint> = "task_hint",
        /// The step of an earlier run that is to go on.
        continuation: Option<RunContinuation> = "continuation",
        /// The state of the device.
        environment_state: Option<EnvironmentState> = "environment_state",
        /// References to files; never their content.
        attachments: Vec<AttachmentRef> = "attachments",
        /// The program that asks.
        shell: Option<ShellIdentity> = "shell",
        /// Data of vendors, by reverse domain name.
        extensions: Option<ContextExtensions> = "extensions",
    }
}

record! {
    /// Hints of the shell about the task. Other fields are kept.
    pub struct TaskHint as "taskHint" {
        /// The procedure to follow.
        sop_id: Option<SopId> = "sop_id",
        /// The plugin to use.
        plugin_id: Option<Label> = "plugin_id",
        /// A key of the user's own business.
        business_key: Option<Label> = "business_key",
        ..rest
    }
}

record! {
    /// A step of a run that can go on: issued by the engine, returned by the shell as it is.
    pub struct RunContinuation as "continuation" {
        /// The run.
        run_id: Option<RunId> = "run_id",
        /// The procedure that it follows.
        sop_id: Option<SopId> = "sop_id",
        /// The token of the next step.
        continuation_token: Option<ContinuationToken> = "continuation_token",
        /// End of the token; set by the engine, ignored in a request.
        expires_at: Option<Timestamp> = "expires_at",
    }
}

words! {
    /// Care with which a state is to be handled.
    pub enum PrivacyTier as "privacyTier" {
        /// Safe to log.
        Public = "public",
        /// May hold personal things: keep little.
        Restricted = "restricted",
        /// Neither logged nor sent to anybody.
        Secret = "secret",
    } else Secret
}

record! {
    /// The state of the device. Other fields are kept, under the same tier.
    pub struct EnvironmentState as "environmentState" {
        /// Care with which all of it is to be handled.
        privacy_tier: Option<PrivacyTier> = "privacy_tier",
        /// The operating system.
        os: Option<StateText> = "os",
        /// The window in front.
        active_window: Option<StateText> = "active_window",
        /// A fingerprint of the screen.
        screen_hash: Option<StateText> = "screen_hash",
        ..rest
    }
}

impl EnvironmentState {
    /// Returns how carefully to handle it: without a tier, as restricted.
    pub fn tier(&self) -> PrivacyTier {
        self.privacy_tier.unwrap_or(PrivacyTier::Restricted)
    }
}

record! {
    /// A reference to a file.
    pub struct AttachmentRef as "attachmentRef" {
        /// Reference to an earlier upload.
        ref_id: Option<RefId> = "ref_id",
        /// Address to fetch the file from.
        uri: Option<Address> = "uri",
        /// Name that both sides know.
        asset_id: Option<RefId> = "asset_id",
        /// The type of its content.
        mime_type: Option<Label> = "mime_type",
        /// The name that people gave it.
        filename: Option<FileName> = "filename",
        /// Bytes it has.
        size_bytes: Option<u64> = "size_bytes",
        /// The SHA-256 that it must have, in hex digits.
        sha256: Option<Label> = "sha256",
    }
}

record! {
    /// The program that asks.
    pub struct ShellIdentity as "shellIdentity" {
        /// Family of the shell, such as `im_bot`.
        shell_kind: Option<ShellKind> = "shell_kind",
        /// Version of the shell.
        shell_version: Option<Label> = "shell_version",
        /// The language of its user, such as `zh-CN`.
        locale: Option<Label> = "locale",
        /// The time zone of its user, such as `Asia/Shanghai`.
        timezone: Option<Label> = "timezone",
    }
}

record! {
    /// Extensions of a context. Those of others are kept.
    pub struct ContextExtensions as "contextExtensions" {
        /// Fields for bridle beyond version 1.
        bridle: Option<ContextBridle> = "dev.bridle",
        ..rest
    }
}

record! {
    /// Fields for bridle in a context, beyond version 1.
    pub struct ContextBridle as "contextBridle" {
        /// Results of the directives of the last answer.
        directive_results: Vec<DirectiveResult> = "directive_results",
        /// Milliseconds after which the shell no longer waits.
        timeout_ms: Option<u64> = "timeout_ms",
    }
}

impl RequestMessage {
    /// Returns the context, if there is one.
    pub fn context(&self) -> Option<&RequestContext> {
        self.request.context.as_ref()
    }

    /// Tells whether there is anything to do: words, a step to go on with, a task, files or results.
    pub fn has_work(&self) -> bool {
        self.context().is_some_and(|context| {
            let says = context
                .user_intent
                .as_ref()
                .is_some_and(|intent| !intent.as_str().trim().is_empty());
            says || context.continuation.is_some()
                || context.task_hint.is_some()
                || !context.attachments.is_empty()
                || !context.directive_results().is_empty()
        })
    }
}

impl RequestContext {
    /// Returns what became of the directives of the last answer.
    pub fn directive_results(&self) -> &[DirectiveResult] {
        self.bridle().map_or(&[], |bridle| &bridle.directive_results)
    }

    /// Returns how many milliseconds the shell waits, if it says.
    pub fn timeout_ms(&self) -> Option<u64> {
        self.bridle().and_then(|bridle| bridle.timeout_ms)
    }

    fn bridle(&self) -> Option<&ContextBridle> {
        self.extensions.as_ref().and_then(|extensions| extensions.bridle.as_ref())
    }
}
