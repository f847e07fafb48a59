//! Small documents of the endpoints beside the main one: cancel, upload, health.

use super::ids::{Label, Name, RefId, RequestId, Timestamp};
use super::json::JsonWriter;
use super::shape::{FlattenedShape as _, record};

record! {
    /// Calls a running request off.
    pub struct CancelRequest as "cancelRequest" {
        /// The request.
        request_id: RequestId = "request_id",
    }
}

record! {
    /// The cancellation was taken; it may come too late.
    pub struct CancelAccepted as "canceled" {
        /// The request.
        request_id: RequestId = "request_id",
        /// `accepted`.
        status: Name = "status",
    }
}

impl CancelAccepted {
    /// Returns the cancellation as a text frame of the WebSocket profile.
    pub fn to_frame(&self) -> String {
        let mut out = JsonWriter::compact();
        out.open('{');
        out.key("type");
        out.string("canceled");
        self.write_fields(&mut out);
        out.close('}');
        out.finish()
    }
}

record! {
    /// An upload that can be referred to.
    pub struct AttachmentStored as "attachmentStored" {
        /// Reference to put into `attachments`.
        ref_id: RefId = "ref_id",
        /// Bytes it has.
        size_bytes: u64 = "size_bytes",
        /// The SHA-256 of the bytes, in hex digits.
        sha256: Name = "sha256",
        /// The type of its content.
        mime_type: Label = "mime_type",
        /// Time of deletion.
        expires_at: Timestamp = "expires_at",
    }
}

record! {
    /// Health of the engine.
    pub struct EngineHealth as "health" {
        /// `ok`, while it serves.
        status: Name = "status",
        /// The program.
        service: Name = "service",
    }
}
