//! Answers about buffers: `:get-ast` and `:modified` of `:target :context`.
//!
//! An AST is handed to who may see its session, and comes as the text that was sent; in the words of
//! another dialect only to who reads that.

use crate::engine::queries::memory_query::recall;
use std::path::Path;
use std::sync::Arc;

use bridle_loop::SessionId;
use bridle_sexp::{Dialect, Reader, Value, print};

use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::refusals::RefusedAttempt;
use crate::engine::home::unsaved_buffers::cut::MAX_AST_BYTES;
use crate::engine::home::unsaved_buffers::disk::{NodeShape, ast};
use crate::engine::home::unsaved_buffers::index::{BufferEntry, BufferState, ModifiedBuffer};
use crate::engine::home::unsaved_buffers::place::BufferPlace;
use crate::engine::hub::{Hub, SessionHandle};
use crate::engine::queries::context_query::{Answering, QueryAnswer, QueryAsker};
use crate::engine::stream::AttachRole;
use bridle_memex::MemexQuestion;

/// Reason for an AST that nobody sent.
const NO_AST: &str = "no AST of this buffer in this session; a shell sends one with \
                      `:buffer-update`, and it goes when the buffer is saved. Nor is it an Org file \
                      of the memex that may be seen";

/// Reason for a request that names no buffer.
const NO_PLACE: &str =
    "expected a string of at most 4,096 bytes: the name of a file, or a `:buffer`";

/// Reason for a request outside of a session.
const NO_SESSION: &str = "this connection has no session yet, so no AST; say hello to join one, or \
                          name a `:session`";

/// Answers `:get-ast`.
pub(in crate::engine) fn get_ast(hub: Arc<Hub>, from: QueryAsker, payload: Value) -> Answering {
    Box::pin(async move { find(&hub, &from, &payload).await })
}

/// Answers `:modified`.
pub(in crate::engine) fn modified(hub: Arc<Hub>, from: QueryAsker, payload: Value) -> Answering {
    Box::pin(async move {
        let file = payload.get("file").and_then(Value::as_str).map(str::to_owned);
        let file = file.ok_or_else(|| EngineError::invalid("file", NO_PLACE))?;
        if let Some(own) = &from.own {
            let held = hub.find(own).await?;
            hub.reached(held.as_ref()).await;
        }
        let owner = from.who.name();
        // Links are followed on the way.
        let asked = tokio::task::spawn_blocking(move || {
            let found = hub.home.buffers.modified(&owner, Path::new(&file), hub.home.now());
            QueryAnswer::from(report(&file, found))
        });
        asked.await.map_err(|_| EngineErrorCode::Internal.into())
    })
}

fn report(file: &str, found: Option<ModifiedBuffer>) -> Value {
    let mut pairs = vec![
        ("status", Value::keyword("success")),
        ("action", Value::keyword("modified")),
        ("file", Value::str(file)),
        ("modified", Value::bool(found.is_some())),
    ];
    if let Some(ModifiedBuffer { session, by, at }) = found {
        pairs.extend([
            ("session", Value::str(session)),
            ("by", Value::str(by)),
            ("at", Value::int(at)),
        ]);
    }
    Value::plist(pairs)
}

/// The AST of a buffer, or else of the file, if nobody edits it and it is one of the Memex.
async fn find(
    hub: &Arc<Hub>,
    from: &QueryAsker,
    payload: &Value,
) -> Result<QueryAnswer, EngineError> {
    let place = BufferPlace::of(payload).ok_or_else(|| EngineError::invalid("file", NO_PLACE))?;
    let absent = match unsaved(hub, from, payload, &place).await {
        Err(failure) if failure.code == EngineErrorCode::InvalidValue => failure,
        told => return told,
    };
    match place {
        BufferPlace::File(file) if payload.get("session").is_none() => {
            let shape = NodeShape::of(payload, from.dialect);
            let shape = shape.ok_or_else(|| {
                EngineError::invalid("shape", "expected `:org-element` or `:plist`")
            })?;
            on_disk(hub, from, &file, shape).await?.ok_or(absent)
        }
        _ => Err(absent),
    }
}

/// The AST of a file of the Memex, as far as whoever asks may see it; `None` if there is none for them.
async fn on_disk(
    hub: &Arc<Hub>,
    from: &QueryAsker,
    file: &str,
    shape: NodeShape,
) -> Result<Option<QueryAnswer>, EngineError> {
    let (ask, own) = (MemexQuestion::Source(file.to_owned()), from.own.clone());
    let Ok(found) = recall(hub, &from.who, ask, own).await else { return Ok(None) };
    let (file, dialect) = (file.to_owned(), from.dialect);
    let made = tokio::task::spawn_blocking(move || {
        let source = found.get("source").and_then(Value::as_str).unwrap_or_default();
        let ast = ast(source, shape, dialect, MAX_AST_BYTES)?;
        let head = Value::plist([
            ("status", Value::keyword("success")),
            ("action", Value::keyword("get-ast")),
            ("file", Value::str(file)),
            ("from", Value::keyword("disk")),
            ("shape", Value::keyword(shape.word())),
        ]);
        Some(with_ast(&head, &ast, dialect))
    });
    let made = made.await.map_err(|error| {
        tracing::error!(%error, "making an AST broke off");
        EngineError::from(EngineErrorCode::Internal)
    })?;
    let too_long =
        || EngineError::invalid("file", format!("its AST is longer than {MAX_AST_BYTES} bytes"));
    made.map(|text| Some(QueryAnswer::Text(text))).ok_or_else(too_long)
}

/// The AST of a buffer that a shell sent.
async fn unsaved(
    hub: &Arc<Hub>,
    from: &QueryAsker,
    payload: &Value,
    place: &BufferPlace,
) -> Result<QueryAnswer, EngineError> {
    let held = session(hub, from, payload).await?;
    // What was sent before this is to be seen by it.
    hub.reached(Some(&held)).await;
    let name = held.session.id.as_str().to_owned();
    let absent = || EngineError::invalid(place.pair().0, NO_AST);
    let entry = hub.home.buffers.index().find(&name, place).cloned().ok_or_else(absent)?;
    let BufferState::Ast(about) = entry.fact.what else { return Err(absent()) };
    let (overlays, dialect) = (Arc::clone(&hub.home.buffers), from.dialect);
    let work = move || {
        let text = overlays.texts().content(&name, entry.seq)?;
        Ok(text.map(|text| {
            let text = if about.dialect == dialect {
                text
            } else {
                translate(&text, about.dialect, dialect)
            };
            answer(&entry, &text, dialect)
        }))
    };
    let read: Result<Result<_, bridle_record::StoreError>, _> =
        tokio::task::spawn_blocking(work).await;
    match read {
        Ok(Ok(Some(text))) => Ok(QueryAnswer::Text(text)),
        // Dropped while this was on its way.
        Ok(Ok(None)) => Err(absent()),
        Ok(Err(error)) => {
            tracing::error!(%error, "an AST cannot be read");
            Err(EngineErrorCode::StoreUnavailable.into())
        }
        Err(error) => {
            tracing::error!(%error, "reading an AST broke off");
            Err(EngineErrorCode::Internal.into())
        }
    }
}

/// The session that is asked about: the one that is named, if it may be seen, else the own one.
async fn session(
    hub: &Arc<Hub>,
    from: &QueryAsker,
    payload: &Value,
) -> Result<SessionHandle, EngineError> {
    let named =
        match payload.get("session") {
            Some(name) => {
                let id = name.as_str().and_then(|name| SessionId::parse(name).ok());
                Some(id.ok_or_else(|| {
                    EngineError::invalid("session", "expected the name of a session")
                })?)
            }
            None => None,
        };
    let is_own = named.is_none() || named == from.own;
    let Some(id) = named.or_else(|| from.own.clone()) else {
        return Err(EngineError::invalid("session", NO_SESSION));
    };
    let forbidden =
        || hub.forbid(&from.who, RefusedAttempt::Attach(AttachRole::Observer, Some(&id)));
    match hub.find(&id).await? {
        Some(held) if is_own || held.session.is_visible_to(&hub.home, &from.who) => Ok(held),
        _ => Err(forbidden()),
    }
}

/// The payload of the answer.
fn answer(entry: &BufferEntry, ast: &str, dialect: Dialect) -> String {
    let fact = &entry.fact;
    let (key, name) = fact.place.pair();
    let BufferState::Ast(about) = fact.what else { return "nil".to_owned() };
    let head = Value::plist([
        ("status", Value::keyword("success")),
        ("action", Value::keyword("get-ast")),
        (key, Value::str(name)),
        ("by", Value::str(&*fact.by)),
        ("at", Value::int(fact.at)),
        ("hash", Value::str(about.hash.to_string())),
    ]);
    with_ast(&head, ast, dialect)
}

/// A payload with an AST at its end.
fn with_ast(head: &Value, ast: &str, dialect: Dialect) -> String {
    let mut text = String::with_capacity(ast.len() + 512);
    print(head, dialect, &mut text);
    // Inside the list that was just written.
    text.pop();
    text.push_str(" :ast ");
    text.push_str(ast);
    text.push(')');
    text
}

/// Translates data into another dialect.
fn translate(text: &str, from: Dialect, to: Dialect) -> String {
    let mut out = String::with_capacity(text.len());
    match Reader::new().dialect(from).read_one(text) {
        Ok(tree) => print(&tree.root().to_value(), to, &mut out),
        // It was read when it came; if it ever cannot be, nothing stands for it.
        Err(error) => {
            tracing::error!(%error, "an AST cannot be understood");
            out.push_str("nil");
        }
    }
    out
}
