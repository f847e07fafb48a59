//! Events of a response as frames: the blocks of a body, and what each becomes.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody};
use bridle_wire::openharness::Json;
use bridle_wire::openharness::ids::RequestId;

/// What ends a block of a stream.
const END: &[u8] = b"\n\n";

/// The blocks of a stream of events, as they come.
pub(super) struct EventBlocks {
    body: Body,
    /// What came and is no whole block yet.
    rest: Vec<u8>,
}

impl EventBlocks {
    /// Those of a body.
    pub(super) fn new(body: Body) -> EventBlocks {
        EventBlocks { body, rest: Vec::new() }
    }

    /// The next block; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.rest.windows(END.len()).position(|bytes| bytes == END) {
                let after = self.rest.split_off(at + END.len());
                let block = std::mem::replace(&mut self.rest, after);
                return String::from_utf8(block).ok();
            }
            let frame = poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}

/// The frame of a block; `None` for a sign of life.
pub(super) fn frame_of(block: &str, id: Option<&RequestId>) -> Option<String> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
    let (name, data) = (field("event: ")?, field("data: ")?);
    // An answer to results has no id of its own: it belongs to the request that they are of.
    let id = id.filter(|_| !data.contains("\"request_id\":"));
    Some(typed(name, id, data))
}

/// An object that says of what type it is, and to which request it belongs.
pub(super) fn typed(name: &str, id: Option<&RequestId>, object: &str) -> String {
    let id = id.map(|id| format!("\"request_id\":{},", Json::from(id.as_str()).to_text()));
    let fields = object.strip_prefix('{').unwrap_or("}");
    format!("{{\"type\":\"{name}\",{}{fields}", id.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use bridle_wire::openharness::ids::RequestId;

    use super::{EventBlocks, frame_of};

    #[tokio::test]
    async fn blocks_become_frames_and_signs_of_life_nothing() {
        let text =
            "id: 0\nevent: open\ndata: {\"seq\":0}\n\n: ka\n\nevent: final\ndata: {\"a\":1}\n\n";
        let mut blocks = EventBlocks::new(Body::from(text));
        let id = RequestId::new("r\"1").unwrap();
        let mut frames = Vec::new();
        while let Some(block) = blocks.next().await {
            frames.push(frame_of(&block, Some(&id)));
        }
        let open = r#"{"type":"open","request_id":"r\"1","seq":0}"#;
        let last = r#"{"type":"final","request_id":"r\"1","a":1}"#;
        assert_eq!(frames, [Some(open.to_owned()), None, Some(last.to_owned())]);
    }
}
