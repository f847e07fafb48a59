//! Buffers that shells have not saved: their ASTs, kept exactly, and that they are modified.
//!
//! An AST that comes with a `:buffer-update` is cut out of the message (`cut`) before anything is made of
//! it: the record has its hash and its size, everything else sees no more. Its text is put beside the
//! record first, then the message is recorded, then the index says that it is there; so an AST is there
//! whenever its message is. It goes when the buffer is saved, closed or reverted, when a newer one comes,
//! when others need the room, and with its session. Called by the drive task; asked by `buffer_query`, and by
//! whoever wants to write a file that somebody is editing.
//!
//! Not here: what an AST says. Nothing looks into one.

pub(in crate::engine) mod cut;
pub(in crate::engine) mod disk;
pub(in crate::engine) mod index;
pub(in crate::engine) mod place;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridle_loop::{KeywordName, SensorClass, SessionId, SignalKind};
use bridle_memex::{BufferTextStore, NewBufferText};
use bridle_record::{RecordReader, StoreError};
use bridle_sexp::Value;

use crate::engine::error::{EngineError, EngineErrorCode};
pub(crate) use cut::{CUT_KEYS, SentAst};
use index::{BufferFact, BufferIndex, BufferState, ModifiedBuffer, Row};
use place::BufferPlace;

/// States of a `:buffer-update` after which the file says what the buffer does, or there is no buffer.
const SETTLED: [&str; 4] = ["saved", "reverted", "closed", "unmodified"];

/// States that say that the buffer says something else than the file.
const UNSETTLED: [&str; 2] = ["modified", "changed"];

/// Reason for an AST that could not be kept.
const NOT_KEPT: &str = "the AST cannot be kept now, so nothing was done; send it again later";

/// Report of one message about a buffer.
#[derive(Debug)]
pub(in crate::engine) struct BufferChange {
    /// The number of the message.
    seq: u64,
    fact: BufferFact,
    /// AST that it brings.
    ast: Option<SentAst>,
    /// The shell that has the buffer.
    holder: Box<str>,
}

/// A shell of a session, as messages name it.
pub(in crate::engine) fn holder(session: &SessionId, shell: Option<&KeywordName>) -> String {
    let shell = shell.map_or("a shell", KeywordName::as_str);
    format!("{shell} in session {session}")
}

/// Source of a report about a buffer.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct BufferReport<'a> {
    /// The number of the message.
    pub(in crate::engine) seq: u64,
    /// The principal that its session belongs to.
    pub(in crate::engine) owner: &'a str,
    /// The principal that says it.
    pub(in crate::engine) by: &'a str,
    /// Milliseconds since 1970.
    pub(in crate::engine) at: i64,
    /// The shell that says it, as [`holder`] names it.
    pub(in crate::engine) holder: &'a str,
}

impl BufferChange {
    /// Reads the report about a buffer from a message's payload, if there is one.
    pub(in crate::engine) fn of(
        kind: SignalKind,
        payload: &Value,
        ast: Option<SentAst>,
        saying: BufferReport<'_>,
    ) -> Option<BufferChange> {
        let sensor = payload.get("sensor").filter(|_| kind == SignalKind::Event)?;
        if SensorClass::matching(|name| sensor.is_keyword(name)) != SensorClass::Buffer {
            return None;
        }
        let place = BufferPlace::of(payload)?;
        let state = payload.get("state");
        let is = |names: &[&str]| {
            state.is_some_and(|state| names.iter().any(|name| state.is_keyword(name)))
        };
        let modified = payload.get("modified").map(|flag| !flag.is_nil());
        let brings_text = ["text", "changes"].iter().any(|key| payload.get(key).is_some());
        let (what, ast) = match ast {
            _ if is(&SETTLED) => (BufferState::Settled, None),
            Some(ast) => (BufferState::Ast(ast.about()), Some(ast)),
            None if modified == Some(false) => (BufferState::Settled, None),
            None if modified.is_some() || is(&UNSETTLED) => (BufferState::Modified, None),
            None if brings_text && state.is_none() => (BufferState::Modified, None),
            None => return None,
        };
        let BufferReport { seq, owner, by, at, holder } = saying;
        let fact = BufferFact { place, owner: owner.into(), by: by.into(), at, what };
        Some(BufferChange { seq, fact, ast, holder: holder.into() })
    }
}

/// Changes that are on the disk and not in the index.
#[derive(Debug, Default)]
pub(in crate::engine) struct UnindexedChanges {
    session: Box<str>,
    facts: Vec<(u64, BufferFact)>,
    /// Holders of buffers: known to be there or not, it is theirs now.
    held: Vec<(BufferPlace, Box<str>)>,
}

/// All of a daemon. Lock order: the index, then the texts; neither across an await.
#[derive(Debug)]
pub(crate) struct UnsavedBuffers {
    index: Mutex<BufferIndex>,
    texts: Mutex<BufferTextStore>,
}

impl UnsavedBuffers {
    /// Opens what is kept in a directory. What belongs to a message that was never recorded, or to a
    /// session that is forgotten, is dropped.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub(in crate::engine) fn open(
        directory: &Path,
        record: &RecordReader,
    ) -> Result<UnsavedBuffers, StoreError> {
        let mut texts = BufferTextStore::open(directory)?;
        let mut index = BufferIndex::default();
        let mut gone = Vec::new();
        let mut recorded: Option<(Box<str>, u64)> = None;
        for row in texts.rows()? {
            // Rows come by session.
            let head = match &recorded {
                Some((session, head)) if *session == row.session => *head,
                _ => {
                    let known = record.session(&row.session)?.filter(|known| !known.forgotten);
                    known.map_or(0, |known| known.head_seq)
                }
            };
            recorded = Some((row.session.clone(), head));
            match BufferFact::read(&row.facts).filter(|_| row.seq <= head) {
                Some(fact) => gone.extend(index.apply(&row.session, row.seq, fact)),
                None => gone.push((row.session, row.seq)),
            }
        }
        if !gone.is_empty() {
            texts.remove(&gone)?;
        }
        Ok(UnsavedBuffers { index: Mutex::new(index), texts: Mutex::new(texts) })
    }

    /// Puts on the disk what the messages of a batch say, before they are recorded.
    ///
    /// # Errors
    /// Nothing was kept: `store-unavailable`.
    pub(in crate::engine) async fn note(
        self: &Arc<UnsavedBuffers>,
        session: &str,
        changes: Vec<BufferChange>,
    ) -> Result<UnindexedChanges, EngineError> {
        let is_held = |change: &&BufferChange| !matches!(change.fact.what, BufferState::Settled);
        let held = changes.iter().filter(is_held);
        let held = held.map(|change| (change.fact.place.clone(), change.holder.clone())).collect();
        let news = self.news(session, changes);
        if news.is_empty() {
            return Ok(UnindexedChanges { session: session.into(), facts: Vec::new(), held });
        }
        let (overlays, name) = (Arc::clone(self), Box::from(session));
        let work = move || overlays.put(name, news);
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(noted)) => Ok(UnindexedChanges { held, ..noted }),
            Ok(Err(error)) => {
                tracing::error!(%error, "an AST could not be kept");
                Err(EngineError::because(EngineErrorCode::StoreUnavailable, NOT_KEPT))
            }
            Err(error) => {
                tracing::error!(%error, "keeping an AST broke off");
                Err(EngineErrorCode::Internal.into())
            }
        }
    }

    /// The messages are recorded: what they say holds. Returns what is to be removed from the disk.
    #[must_use]
    pub(in crate::engine) fn settle(&self, noted: UnindexedChanges) -> Vec<Row> {
        let UnindexedChanges { session, facts, held } = noted;
        let mut index = self.index();
        let apply = |(seq, fact)| index.apply(&session, seq, fact);
        let gone = facts.into_iter().flat_map(apply).collect();
        held.into_iter().for_each(|(place, holder)| index.hold(&session, &place, holder));
        gone
    }

    /// The messages are not recorded: what they brought goes again.
    pub(in crate::engine) async fn take_back(self: &Arc<UnsavedBuffers>, noted: UnindexedChanges) {
        let UnindexedChanges { session, facts, .. } = noted;
        let gone: Vec<Row> = facts.iter().map(|(seq, _)| (session.clone(), *seq)).collect();
        let overlays = Arc::clone(self);
        // Should it fail, the next start drops it.
        let _ = tokio::task::spawn_blocking(move || overlays.remove(&gone)).await;
    }

    /// Removes texts from the disk; those that stay for a fault are not handed out all the same.
    pub(in crate::engine) fn remove(&self, gone: &[Row]) {
        if !gone.is_empty()
            && let Err(error) = self.texts().remove(gone)
        {
            tracing::warn!(%error, "an AST that was dropped is still on the disk");
        }
    }

    /// Drops what one message brought, or everything of a session, and leaves no trace of it.
    ///
    /// # Errors
    /// The text may still be on the disk.
    pub(in crate::engine) async fn forget(
        self: &Arc<UnsavedBuffers>,
        session: &str,
        seq: Option<u64>,
    ) -> Result<(), String> {
        let (overlays, session) = (Arc::clone(self), Box::<str>::from(session));
        let work = move || overlays.forget_here(session, seq);
        let done = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
        done.map_err(|error| error.to_string())
    }

    /// Finds the report that a buffer of this file is modified, in sessions that are this owner's business:
    /// its own and, for the owner of the daemon, all that are that owner's alone. A report counts for
    /// a day.
    pub(crate) fn modified(&self, owner: &str, path: &Path, now: i64) -> Option<ModifiedBuffer> {
        self.index().modified(owner, path, now)
    }

    /// The shell that has unsaved changes in this file, whoever runs it: what it says can only keep a file from
    /// being written. One that left has none.
    pub(crate) fn held_by(&self, path: &Path) -> Option<Box<str>> {
        self.index().held_by(path)
    }

    /// A shell left: what it has not saved is nobody's, until it says so again.
    pub(in crate::engine) fn left(&self, holder: impl FnOnce() -> String) {
        let mut index = self.index();
        // Mostly there are none, and nobody has to be named.
        if !index.is_empty() {
            index.left(&holder());
        }
    }

    /// Returns the changes that have to be kept: the end of a buffer that was not there is no news.
    fn news(&self, session: &str, changes: Vec<BufferChange>) -> Vec<BufferChange> {
        if changes.is_empty() {
            return changes;
        }
        let index = self.index();
        let mut news: Vec<BufferChange> = Vec::new();
        for change in changes {
            let place = &change.fact.place;
            let earlier = news.iter().rev().find(|earlier| earlier.fact.place == *place);
            let is_there = match earlier {
                Some(earlier) => !matches!(earlier.fact.what, BufferState::Settled),
                None => index.find(session, place).is_some(),
            };
            let is_news = match change.fact.what {
                BufferState::Ast(_) => true,
                BufferState::Modified => !is_there,
                BufferState::Settled => is_there,
            };
            if is_news {
                news.push(change);
            }
        }
        news
    }

    fn put(
        &self,
        session: Box<str>,
        news: Vec<BufferChange>,
    ) -> Result<UnindexedChanges, StoreError> {
        let facts: Vec<String> = news.iter().map(|change| change.fact.to_string()).collect();
        let new: Vec<NewBufferText<'_>> = news
            .iter()
            .zip(&facts)
            .map(|(BufferChange { seq, ast, .. }, facts)| NewBufferText {
                session: &session,
                seq: *seq,
                facts,
                content: ast.as_ref().map_or("", SentAst::text),
            })
            .collect();
        self.texts().put(&new)?;
        drop(new);
        let facts = news.into_iter().map(|change| (change.seq, change.fact)).collect();
        Ok(UnindexedChanges { session, facts, held: Vec::new() })
    }

    fn forget_here(&self, session: Box<str>, seq: Option<u64>) -> Result<(), StoreError> {
        self.index().forget(&session, seq);
        let mut texts = self.texts();
        match seq {
            None => texts.forget(&session),
            Some(seq) => {
                texts.remove(&[(session, seq)])?;
                texts.scrub()
            }
        }
    }

    pub(in crate::engine) fn index(&self) -> MutexGuard<'_, BufferIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::engine) fn texts(&self) -> MutexGuard<'_, BufferTextStore> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
