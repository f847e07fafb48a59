//! A bare tokio echo server, the floor that the daemon's round trips are compared with:
//! `bridle-bench serve-echo`. Started as a child process by `servers`; it knows nothing of frames.

use std::io::Write;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Read buffer of a connection, in bytes: the size that tokio's own examples take.
const BUFFER_BYTES: usize = 8 * 1024;

/// Serves until it is killed; says `ready ADDRESS` first.
pub fn serve(out: &mut dyn Write) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(out, "ready {}", listener.local_addr()?)?;
        out.flush()?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(echo(stream));
        }
    })
}

async fn echo(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..count]).await?;
    }
}
