//! A bare axum handler, the floor that the daemon's requests over HTTP are compared with:
//! `bridle-bench serve-http FILE`. Started as a child process by `servers`.
//!
//! It reads a request with `serde_json`, looks up what it was asked, and answers the message in FILE
//! under the id of the request. No session, no policy, no record: what HTTP and JSON cost by themselves.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;

/// Serves until it is killed; says `ready ADDRESS` first.
pub fn serve(answer: &Path, out: &mut dyn Write) -> Result<()> {
    let answer = std::fs::read(answer).context("no answer to give")?;
    let answer: Arc<Value> = Arc::new(serde_json::from_slice(&answer)?);
    // As `bridle up` makes its own.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(out, "ready {}", listener.local_addr()?)?;
        out.flush()?;
        let listener = listener.tap_io(|stream| {
            // Without it the comparison would be about the kernel's patience.
            let _set = stream.set_nodelay(true);
        });
        let router = Router::new().route("/v1/openharness", post(exchange)).with_state(answer);
        Ok(axum::serve(listener, router).await?)
    })
}

async fn exchange(
    State(answer): State<Arc<Value>>,
    body: Bytes,
) -> Result<Json<Value>, StatusCode> {
    let request: Value = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let intent = request.pointer("/request/context/user_intent").and_then(Value::as_str);
    if intent.is_none_or(str::is_empty) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let mut answer = Value::clone(&answer);
    answer["request_id"] = request["request_id"].clone();
    Ok(Json(answer))
}
