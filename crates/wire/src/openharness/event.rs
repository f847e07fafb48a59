//! The events of a streamed answer, profile `dev.bridle.sse.1`: first `open`, last `final`, which holds
//! the complete answer; what is between them is for display. A shell that reads only `final` is a full
//! shell of version 1.

use std::sync::Arc;

use super::capability::{Capabilities, CapabilityDenial};
use super::directive::Directive;
use super::ids::{DirectiveId, Label, RequestId, RunId, StreamId};
use super::json::{Json, JsonNumber, JsonWriter};
use super::limits::MessageLimits;
use super::receive::{self, RefusedMessage};
use super::response::ResponseMessage;
use super::schema::SchemaBook;
use super::shape::{FlattenedShape as _, JsonShape as _, record};
use super::version::ProtocolVersion;

/// The profile over Server-Sent Events.
pub const SSE_PROFILE: &str = "dev.bridle.sse.1";

/// The profile over WebSocket.
pub const WEBSOCKET_PROFILE: &str = "dev.bridle.ws.1";

/// The profile on standard input and output, one line each.
pub const LINES_PROFILE: &str = "dev.bridle.lines.1";

/// Declares the enum of events from their names.
macro_rules! events {
    ($( $(#[doc = $doc:literal])+ $event:ident = $name:literal, )+) => {
        /// An event of a stream.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum OpenHarnessEvent {
            $( $(#[doc = $doc])+ $event($event), )+
        }

        impl OpenHarnessEvent {
            /// Returns the name of the event.
            pub fn name(&self) -> &'static str {
                match self {
                    $( OpenHarnessEvent::$event(_) => $name, )+
                }
            }

            /// Returns the number of the event in its stream.
            pub fn seq(&self) -> u64 {
                match self {
                    $( OpenHarnessEvent::$event(data) => data.seq, )+
                }
            }

            /// Returns the data on one line.
            pub fn data(&self) -> String {
                match self {
                    $( OpenHarnessEvent::$event(data) => data.to_text(), )+
                }
            }

            /// Reads the data of an event; `None` for a name that is not known, which is ignored.
            ///
            /// # Errors
            /// The data is broken, or not of the event's shape.
            pub fn read(
                name: &str,
                data: &[u8],
                limits: &MessageLimits,
            ) -> Result<Option<Self>, Box<RefusedMessage>> {
                match name {
                    $( $name => receive::read(data, limits).map(|data| Some(OpenHarnessEvent::$event(data))), )+
                    _ => Ok(None),
                }
            }

            /// Returns the id of the request that the event answers, if it has one.
            pub fn request_id(&self) -> Option<&RequestId> {
                match self {
                    $( OpenHarnessEvent::$event(data) => data.request_id.as_ref(), )+
                }
            }

            fn write_fields(&self, out: &mut JsonWriter) {
                match self {
                    $( OpenHarnessEvent::$event(data) => data.write_fields(out), )+
                }
            }
        }

        pub(super) fn schemas(book: &mut SchemaBook) {
            $( $event::schema(book); )+
        }
    };
}

events! {
    /// The stream begins.
    StreamOpen = "open",
    /// Report of work under way.
    StreamProgress = "progress",
    /// A directive begins.
    DirectiveStart = "directive.start",
    /// A directive grows.
    DirectiveDelta = "directive.delta",
    /// A directive is complete.
    DirectiveDone = "directive.done",
    /// Cost so far.
    RunUsage = "usage",
    /// The answer; the stream ends.
    StreamFinal = "final",
}

impl OpenHarnessEvent {
    /// Returns the event as a block of a Server-Sent Events stream.
    pub fn to_sse(&self) -> String {
        // The data is one line: a newline in a string is escaped.
        format!("id: {}\nevent: {}\ndata: {}\n\n", self.seq(), self.name(), self.data())
    }

    /// Returns the event as a text frame of the WebSocket profile.
    pub fn to_frame(&self) -> String {
        self.to_frame_of(None)
    }

    /// Returns the event as a text frame that names `request` if the event itself names none.
    pub fn to_frame_of(&self, request: Option<&RequestId>) -> String {
        let mut out = JsonWriter::compact();
        out.open('{');
        out.key("type");
        out.string(self.name());
        if let Some(request) = request.filter(|_| self.request_id().is_none()) {
            out.key("request_id");
            out.string(request.as_str());
        }
        self.write_fields(&mut out);
        out.close('}');
        out.finish()
    }
}

record! {
    /// The stream begins.
    pub struct StreamOpen as "eventOpen" {
        /// The stream.
        stream_id: StreamId = "stream_id",
        /// The number of the event, from 0 without gaps.
        seq: u64 = "seq",
        /// The id of the request, if it had one.
        request_id: Option<RequestId> = "request_id",
        /// The wire format of the answer.
        protocol_version: ProtocolVersion = "protocol_version",
        /// The run.
        run_id: RunId = "run_id",
        /// Capabilities that this engine offers.
        supported_capabilities: Option<Arc<Capabilities>> = "supported_capabilities",
        /// Capabilities that the shell asked for and does not get.
        capability_denials: Vec<CapabilityDenial> = "capability_denials",
        /// Terms for resuming the stream.
        resume: Option<StreamResume> = "resume",
    }
}

record! {
    /// Terms for resuming a stream.
    pub struct StreamResume as "resume" {
        /// Milliseconds for which its events are kept.
        ttl_ms: u64 = "ttl_ms",
    }
}

record! {
    /// Report of work under way. For display only.
    pub struct StreamProgress as "eventProgress" {
        /// The stream.
        stream_id: StreamId = "stream_id",
        /// The number of the event.
        seq: u64 = "seq",
        /// The id of the request, if it had one.
        request_id: Option<RequestId> = "request_id",
        /// Name of the work.
        label: String = "label",
        /// Share that is done, from 0 to 1.
        fraction: Option<JsonNumber> = "fraction",
        /// Names the step.
        step_id: Option<Label> = "step_id",
    }
}

record! {
    /// A directive begins. It must not be carried out yet.
    pub struct DirectiveStart as "eventDirectiveStart" {
        /// The stream.
        stream_id: StreamId = "stream_id",
        /// The number of the event.
        seq: u64 = "seq",
        /// The id of the request, if it had one.
        request_id: Option<RequestId> = "request_id",
        /// The place of the directive in the answer, from 0.
        index: u64 = "index",
        /// The directive.
        directive_id: DirectiveId = "directive_id",
        /// The directive without its payload.
        directive: Directive = "directive",
    }
}

record! {
    /// A directive grows. It must not be carried out yet.
    pub struct DirectiveDelta as "eventDirectiveDelta" {
        /// The stream.
        stream_id: StreamId = "stream_id",
        /// The number of the event.
        seq: u64 = "seq",
        /// The id of the request, if it had one.
        request_id: Option<RequestId> = "request_id",
        /// The directive.
        directive_id: DirectiveId = "directive_id",
        /// JSON Pointer of the place in the payload, under `/payload`.
        path: String = "path",
        /// Text to append to the string there.
        append: Option<String> = "append",
        /// Value to put there.
        value: Option<Json> = "value",
    }
}

record! {
    /// A directive is complete. What only shows something may be shown now.
    pub struct DirectiveDone as "eventDirectiveDone" {
        /// The stream.
        stream_id: StreamId = "stream_id",
        /// The number of the event.
        seq: u64 = "seq",
        /// The id of the request, if it had one.
        request_id: Option<RequestId> = "request_id",
        /// The directive.
        directive_id: DirectiveId = "directive_id",
        /// The directive, complete.
        directive: Directive = "directive",
    }
}

record! {
    /// Cost of the run so far.
    pub struct RunUsage as "eventUsage" {
        /// The stream.
        stream_id: StreamId = "stream_id",
        /// The number of the event.
        seq: u64 = "seq",
        /// The id of the request, if it had one.
        request_id: Option<RequestId> = "request_id",
        /// Tokens that models read.
        input_tokens: Option<u64> = "input_tokens",
        /// Tokens that models wrote.
        output_tokens: Option<u64> = "output_tokens",
    }
}

record! {
    /// The answer. The stream ends.
    pub struct StreamFinal as "eventFinal" {
        /// The stream.
        stream_id: StreamId = "stream_id",
        /// The number of the event.
        seq: u64 = "seq",
        /// The id of the request, if it had one.
        request_id: Option<RequestId> = "request_id",
        /// The complete answer.
        message: Box<ResponseMessage> = "message",
    }
}
