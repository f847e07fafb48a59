//! The body of a request, read within its limits.
//!
//! Called by `post`. Nothing is allocated because a header announced it.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Bytes, HttpBody};

/// A body as far as it was read.
#[derive(Debug)]
pub(super) enum Read {
    /// All of it.
    Whole(Vec<u8>),
    /// It is larger than it may be; this is its beginning.
    TooLarge(Vec<u8>),
    /// It broke off, or took too long; this is its beginning.
    Broken(Vec<u8>),
}

/// Reads a body of at most `most` bytes.
pub(super) async fn read<B>(body: B, most: usize, deadline: Duration) -> Read
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let mut bytes = Vec::new();
    let ended = tokio::time::timeout(deadline, fill(body, most, &mut bytes)).await;
    match ended {
        Ok(Ended::Whole) => Read::Whole(bytes),
        Ok(Ended::TooLarge) => Read::TooLarge(bytes),
        Ok(Ended::Broken) | Err(_) => Read::Broken(bytes),
    }
}

enum Ended {
    Whole,
    TooLarge,
    Broken,
}

async fn fill<B>(mut body: B, most: usize, bytes: &mut Vec<u8>) -> Ended
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    loop {
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        let data = match frame {
            None => return Ended::Whole,
            Some(Err(_)) => return Ended::Broken,
            Some(Ok(frame)) => frame.into_data(),
        };
        // Trailers say nothing here.
        let Ok(data) = data else { continue };
        let room = most - bytes.len();
        if data.len() > room {
            bytes.extend_from_slice(&data[..room]);
            return Ended::TooLarge;
        }
        bytes.extend_from_slice(&data);
    }
}
