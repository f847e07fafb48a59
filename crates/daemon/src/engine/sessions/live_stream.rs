//! Texts in the making: what a thought or an act has shown so far, kept for all shells of a session.
//!
//! Written by workers, read by feeds, each at its own pace: a shell that joins in the middle gets what was shown
//! before, and a slow one loses nothing until the text is said for good. Gone when its effect is over.

use crate::engine::stream::{PieceChannel, ShownPiece};

/// Bytes of one channel that are kept; of a longer text the front goes.
const MAX_CHANNEL_BYTES: usize = 1 << 20;

/// Bytes of one piece: what a shell is given at once.
const MAX_PIECE_BYTES: usize = 64 << 10;

/// Text that an effect has shown.
#[derive(Debug)]
pub(in crate::engine) struct LiveStream {
    /// The thought or the act, by its effect.
    pub(in crate::engine) effect: u64,
    pub(in crate::engine) turn: u64,
    channels: [ChannelText; PieceChannel::ALL.len()],
}

/// Text of one channel.
#[derive(Debug, Default)]
struct ChannelText {
    /// Bytes that are gone from the front.
    gone: usize,
    text: String,
}

/// Part of a stream that a shell has.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct StreamCursor {
    pub(in crate::engine) effect: u64,
    /// Bytes, by channel.
    offsets: [usize; PieceChannel::ALL.len()],
}

impl LiveStream {
    pub(in crate::engine) fn new(effect: u64, turn: u64) -> LiveStream {
        LiveStream { effect, turn, channels: Default::default() }
    }

    /// Adds text to a channel; returns how many bytes went from its front.
    pub(in crate::engine) fn push(&mut self, channel: PieceChannel, text: &str) -> usize {
        let ChannelText { gone, text: kept } = &mut self.channels[channel.place()];
        kept.push_str(text);
        if kept.len() <= MAX_CHANNEL_BYTES {
            return 0;
        }
        let cut = kept.ceil_char_boundary(kept.len() - MAX_CHANNEL_BYTES);
        kept.drain(..cut);
        *gone += cut;
        cut
    }

    /// The next piece behind a cursor, which moves over it.
    pub(in crate::engine) fn next(&self, cursor: &mut StreamCursor) -> Option<ShownPiece> {
        PieceChannel::ALL.into_iter().find_map(|channel| {
            let ChannelText { gone, text } = &self.channels[channel.place()];
            let seen = &mut cursor.offsets[channel.place()];
            let offset = (*seen).max(*gone);
            let rest = text.get(offset - gone..).filter(|rest| !rest.is_empty())?;
            let text = rest[..rest.floor_char_boundary(MAX_PIECE_BYTES)].to_owned();
            *seen = offset + text.len();
            Some(ShownPiece { turn: self.turn, thought: self.effect, channel, offset, text })
        })
    }

    /// Whether a shell with this cursor lacks something.
    pub(in crate::engine) fn has_more(&self, cursor: &StreamCursor) -> bool {
        let ends = self.channels.iter().map(|channel| channel.gone + channel.text.len());
        ends.zip(cursor.offsets).any(|(end, seen)| seen < end)
    }
}

impl StreamCursor {
    /// Nothing of a stream.
    pub(in crate::engine) fn start(effect: u64) -> StreamCursor {
        StreamCursor { effect, offsets: Default::default() }
    }

    /// Whether some text of an answer was shown.
    pub(in crate::engine) fn has_text(&self) -> bool {
        self.offsets[PieceChannel::Text.place()] > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_reads_the_whole_text_at_its_own_pace() {
        let mut stream = LiveStream::new(7, 1);
        let (mut quick, mut slow) = (StreamCursor::start(7), StreamCursor::start(7));
        let mut read = [String::new(), String::new()];
        for piece in ["ä", "b", "日"].into_iter().cycle().take(50_000) {
            stream.push(PieceChannel::Text, piece);
            if let Some(piece) = stream.next(&mut quick) {
                assert_eq!(piece.offset, read[0].len());
                read[0].push_str(&piece.text);
            }
        }
        stream.push(PieceChannel::Reasoning, "why");
        assert!(stream.has_more(&slow));
        while let Some(piece) = stream.next(&mut slow) {
            assert!(piece.text.len() <= MAX_PIECE_BYTES);
            if piece.channel == PieceChannel::Text {
                assert_eq!(piece.offset, read[1].len());
                read[1].push_str(&piece.text);
            }
        }
        assert!(!stream.has_more(&slow) && stream.has_more(&quick));
        assert_eq!(read[0], read[1]);
        assert!(slow.has_text() && !StreamCursor::start(7).has_text());
    }

    #[test]
    fn of_a_text_without_end_the_front_goes_and_the_offset_says_so() {
        let mut stream = LiveStream::new(7, 1);
        let text = "ü".repeat(MAX_CHANNEL_BYTES / 2);
        assert_eq!(stream.push(PieceChannel::Output, &text), 0);
        assert_eq!(stream.push(PieceChannel::Output, "xyz"), 4);
        let piece = stream.next(&mut StreamCursor::start(7)).expect("a piece");
        assert_eq!((piece.offset, piece.channel), (4, PieceChannel::Output));
    }
}
