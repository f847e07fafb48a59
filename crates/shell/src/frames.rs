//! Frames from a stream, with their places in it. The client, `frame decode` and `tap` read with
//! it; what a frame is, `bridle_wire::frame` knows.

use std::io::{self, Read};

use bridle_wire::frame::{DecodeStep, FrameDecoder, FrameError};

/// Bytes asked of the stream at a time; the buffer grows only by what came.
const CHUNK_BYTES: usize = 64 << 10;

/// Next item in a stream of frames.
#[derive(Debug)]
pub enum FrameItem {
    /// A frame.
    Frame {
        /// Payload text.
        text: String,
        /// Place of its header in the stream.
        offset: u64,
    },
    /// A frame that is no good; what follows can still be read.
    Refused {
        /// Fault of the frame.
        error: FrameError,
        /// Place of its header in the stream.
        offset: u64,
    },
}

/// Reason why nothing more can be read.
#[derive(Debug)]
pub enum StreamStop {
    /// Nobody knows where the next frame starts.
    Lost {
        /// Fault that ended the stream.
        error: FrameError,
        /// Place in the stream of what is no frame.
        offset: u64,
    },
    /// The system said no.
    Read(io::Error),
}

/// Frames of a stream.
#[derive(Debug)]
pub struct FrameStream<R> {
    source: R,
    decoder: FrameDecoder,
    /// Received bytes; done with up to `start`.
    buffer: Vec<u8>,
    start: usize,
    /// Place in the stream of `start`.
    offset: u64,
}

impl<R: Read> FrameStream<R> {
    /// Frames of `source` as `decoder` takes them.
    pub fn new(source: R, decoder: FrameDecoder) -> FrameStream<R> {
        FrameStream { source, decoder, buffer: Vec::new(), start: 0, offset: 0 }
    }

    /// The decoder, to tell it what a hello said.
    pub fn decoder_mut(&mut self) -> &mut FrameDecoder {
        &mut self.decoder
    }

    /// The stream itself.
    pub fn source_mut(&mut self) -> &mut R {
        &mut self.source
    }

    /// Whether bytes are at hand, so that the next frame may not need the stream.
    pub fn has_buffered(&self) -> bool {
        self.start < self.buffer.len()
    }

    /// The next frame; `None` at an orderly end.
    ///
    /// # Errors
    ///
    /// When nothing more can be read. After a failed read (a timeout) one may try again.
    pub fn next_frame(&mut self) -> Result<Option<FrameItem>, StreamStop> {
        loop {
            let input = &self.buffer[self.start..];
            let blanks = input.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let offset = self.offset + blanks as u64;
            match self.decoder.decode(input) {
                Err(lost) => return Err(StreamStop::Lost { error: lost.error, offset }),
                Ok(DecodeStep::Frame { payload, consumed }) => {
                    // The decoder has checked it; a replacement character can not come in.
                    let text = String::from_utf8_lossy(&input[payload]).into_owned();
                    self.drop_front(consumed);
                    return Ok(Some(FrameItem::Frame { text, offset }));
                }
                Ok(DecodeStep::Refused { consumed, error }) => {
                    self.drop_front(consumed);
                    return Ok(Some(FrameItem::Refused { error, offset }));
                }
                Ok(DecodeStep::Need { skip, .. }) => {
                    self.drop_front(skip);
                    if self.fill().map_err(StreamStop::Read)? == 0 {
                        let rest = &self.buffer[self.start..];
                        let error = self.decoder.finish(rest).err().map(|lost| lost.error);
                        return match error {
                            None => Ok(None),
                            Some(error) => Err(StreamStop::Lost { error, offset: self.offset }),
                        };
                    }
                }
            }
        }
    }

    fn drop_front(&mut self, n_bytes: usize) {
        self.start += n_bytes;
        self.offset += n_bytes as u64;
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        // What is done with goes when it is most of the buffer, so that a byte moves a bounded
        // number of times.
        if self.start > self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            match self.source.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(n_read) => {
                    self.buffer.extend_from_slice(&chunk[..n_read]);
                    return Ok(n_read);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bridle_wire::frame::{DecoderOptions, FrameDecoder};

    use super::{FrameItem, FrameStream, StreamStop};

    /// Everything that a stream holds, a line each.
    fn check(bytes: &[u8], expected: &[&str]) {
        let mut frames = FrameStream::new(bytes, FrameDecoder::new(DecoderOptions::default()));
        let mut seen = Vec::new();
        loop {
            seen.push(match frames.next_frame() {
                Ok(None) => break,
                Ok(Some(FrameItem::Frame { text, offset })) => format!("{offset} {text}"),
                Ok(Some(FrameItem::Refused { error, offset })) => {
                    format!("{offset} {}", error.code().as_str())
                }
                Err(StreamStop::Lost { error, offset }) => {
                    seen.push(format!("{offset} lost {}", error.code().as_str()));
                    break;
                }
                Err(StreamStop::Read(error)) => error.to_string(),
            });
        }
        assert_eq!(seen, expected);
    }

    #[test]
    fn frames_have_their_place() {
        check(b"", &[]);
        check(b"000003foo\n 000003bar \n", &["0 foo", "11 bar"]);
        check(b"000000000001x", &["0 empty-frame", "6 x"]);
        check(b"000001\xff000001x", &["0 invalid-utf8", "7 x"]);
        check(b"000001x zz", &["0 x", "8 lost bad-header"]);
        check(b"000001x 00", &["0 x", "8 lost incomplete-frame"]);
    }
}
