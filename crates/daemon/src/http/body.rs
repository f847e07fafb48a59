//! The body of a request, read within its limits.
//!
//! Handlers call it once the head has named the principal. Nothing is allocated because a
//! header announced it, and what has come counts among the bytes in flight.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Bytes, HttpBody};

use crate::byte_budget::{ConnectionBytes, RESERVE_BYTES};

/// A body as far as it was read.
#[derive(Debug)]
pub(super) enum BodyRead {
    /// All of it.
    Whole(Bytes),
    /// Beginning of a body that is too large.
    TooLarge(Vec<u8>),
    /// Beginning of a body that broke off or took too long.
    Broken(Bytes),
    /// There was no room for it among the bytes in flight.
    NoRoom,
}

/// Most bytes of a body that are read to repeat its ids in a refusal. A connection may hold as many
/// outside the common limit.
pub(super) const MAX_ECHOED_BYTES: usize = RESERVE_BYTES;

/// Longest time for the body of an unknown peer.
pub(super) const STRANGER_BODY_DEADLINE: Duration = Duration::from_secs(5);

/// Reads a body of at most `most` bytes, which `held` counts until it is dropped.
pub(super) async fn read<B>(
    body: B,
    most: usize,
    deadline: Duration,
    held: &mut ConnectionBytes,
) -> BodyRead
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let mut came = BodyBytes::default();
    let ended = tokio::time::timeout(deadline, fill(body, most, &mut came, held)).await;
    match ended {
        Err(_) if held.is_waiting() => BodyRead::NoRoom,
        Ok(BodyEnd::Whole) => BodyRead::Whole(came.bytes()),
        Ok(BodyEnd::TooLarge) => BodyRead::TooLarge(came.bytes().into()),
        Ok(BodyEnd::Broken) | Err(_) => BodyRead::Broken(came.bytes()),
    }
}

/// Bytes of a body that have come; a small body in one piece is not copied.
#[derive(Default)]
struct BodyBytes {
    first: Bytes,
    /// All, as soon as there is more than one piece.
    all: Vec<u8>,
}

impl BodyBytes {
    fn len(&self) -> usize {
        self.first.len().max(self.all.len())
    }

    fn add(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(&piece);
    }

    fn bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.into() }
    }
}

enum BodyEnd {
    Whole,
    TooLarge,
    Broken,
}

async fn fill<B>(
    mut body: B,
    most: usize,
    came: &mut BodyBytes,
    held: &mut ConnectionBytes,
) -> BodyEnd
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    loop {
        let next = poll_fn(|cx| match held.room(came.len(), cx) {
            0 => Poll::Pending,
            _ => Pin::new(&mut body).poll_frame(cx),
        });
        let frame = next.await;
        let data = match frame {
            None => return BodyEnd::Whole,
            Some(Err(_)) => return BodyEnd::Broken,
            Some(Ok(frame)) => frame.into_data(),
        };
        // Trailers say nothing here.
        let Ok(data) = data else { continue };
        let room = most - came.len();
        if data.len() > room {
            came.add(data.slice(..room));
            return BodyEnd::TooLarge;
        }
        came.add(data);
        held.set(came.len());
    }
}

#[cfg(test)]
mod tests {
    use super::{BodyBytes, Bytes};

    #[test]
    fn pieces_are_put_together_and_one_stays_where_it_is() {
        let check = |pieces: &[&'static str], whole: &str| {
            let mut came = BodyBytes::default();
            let mut len = 0;
            for piece in pieces {
                came.add(Bytes::from_static(piece.as_bytes()));
                len += piece.len();
                assert_eq!(came.len(), len, "{pieces:?}");
            }
            assert_eq!(came.bytes(), whole, "{pieces:?}");
        };
        check(&[], "");
        check(&["", ""], "");
        check(&["ab"], "ab");
        check(&["", "ab"], "ab");
        check(&["ab", ""], "ab");
        check(&["ab", "", "c", "def"], "abcdef");
        let only = Bytes::from_static(b"ab");
        let mut came = BodyBytes::default();
        came.add(only.clone());
        assert_eq!(came.bytes().as_ptr(), only.as_ptr());
    }
}
