//! Standard input and output as lines: one JSON message each way, for a shell that starts its own
//! engine.
//!
//! `run` calls [`serve`] when it was told so. A line is a message, or a frame as a
//! WebSocket has them; what it asks for is carried out by `frame_peer`, like what is posted, for the
//! principal `stdio`. The end of the input ends it, once everything is answered.

use std::sync::Arc;

use axum::http::HeaderMap;
use bridle_wire::openharness::socket::ShellFrame;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc};

use super::HttpService;
use super::auth::HttpPeer;
use super::frame_peer::{
    FramePeer, MAX_RUNNING_REQUESTS, MAX_UNWRITTEN_TEXTS, MessageStyle, TextSender,
};

/// Serves lines until the input ends or the daemon stops.
pub(crate) async fn serve(http: Arc<HttpService>, stream: UnixStream) {
    let (reader, writer) = stream.into_split();
    let peer = Arc::new(HttpPeer::stdio());
    let headers = HeaderMap::new();
    let frames = FramePeer::new(Arc::clone(&http), peer, &headers, MessageStyle::Messages);
    let (out, answers) = mpsc::channel(MAX_UNWRITTEN_TEXTS);
    let write = write(&http, writer, answers);
    let read = async {
        let taken = out.clone();
        tokio::select! {
            () = read(&http, Arc::new(frames), reader, out) => {}
            () = taken.closed() => {}
            () = http.shared.stop.cancelled() => {}
        }
    };
    // What runs holds the way out: writing ends when the last answer is written.
    tokio::join!(read, write);
}

async fn read(
    http: &Arc<HttpService>,
    frames: Arc<FramePeer>,
    reader: impl AsyncRead + Unpin,
    out: TextSender,
) {
    let running = Arc::new(Semaphore::new(MAX_RUNNING_REQUESTS));
    let mut reader = BufReader::new(reader);
    loop {
        let line = match line(&mut reader, frames.max_frame_bytes()).await {
            Ok(Some(line)) => line,
            Ok(None) => return,
            Err(error) => return tracing::debug!(%error, "standard input broke off"),
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let sent = frames.read(line).await;
        // What calls something off must not wait for it; never closed, so there is always a turn.
        let turn = match &sent {
            Some(Ok(ShellFrame::Cancel(_))) => None,
            _ => Arc::clone(&running).acquire_owned().await.ok(),
        };
        let (frames, out) = (Arc::clone(&frames), out.clone());
        http.shared.tasks.spawn(async move {
            frames.carry_out(sent, &out).await;
            drop(turn);
        });
    }
}

/// Reads a line without its end; of one that is too long as much as shows that it is.
async fn line(
    reader: &mut BufReader<impl AsyncRead + Unpin>,
    most: usize,
) -> std::io::Result<Option<Vec<u8>>> {
    let (mut line, mut is_any) = (Vec::new(), false);
    loop {
        let bytes = reader.fill_buf().await?;
        if bytes.is_empty() {
            return Ok(is_any.then_some(line));
        }
        is_any = true;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        // One byte more than is taken, so that the reader says so itself.
        let room = (most + 1).saturating_sub(line.len());
        line.extend_from_slice(&piece[..piece.len().min(room)]);
        let taken = end.map_or(bytes.len(), |end| end + 1);
        reader.consume(taken);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

/// Writes answers as they come, each within its time.
async fn write(
    http: &HttpService,
    mut writer: impl AsyncWrite + Unpin,
    mut answers: mpsc::Receiver<String>,
) {
    let deadline = http.shared.config.limits.write_deadline;
    while let Some(mut text) = answers.recv().await {
        text.push('\n');
        match tokio::time::timeout(deadline, writer.write_all(text.as_bytes())).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return tracing::debug!(%error, "standard output broke off"),
            Err(_) => return tracing::debug!("standard output took no answer in time"),
        }
    }
}
