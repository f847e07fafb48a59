//! Reads of the record, on threads for blocking work, a few at a time.
//!
//! Connections are kept open and lent; one is opened when all are out. The writer is never
//! waited for: readers see what is committed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bridle_record::{RecordReader, StoreError};
use tokio::sync::Semaphore;

use crate::engine::error::{EngineError, EngineErrorCode};

/// Reason for a question that the record cannot be read for.
const UNREADABLE: &str = "the record cannot be read; the daemon's log has the reason";

/// The readers of one record.
#[derive(Clone)]
pub(in crate::engine) struct ReaderPool {
    pool: Arc<IdleReaders>,
    /// Reads that may run at once.
    turns: Arc<Semaphore>,
}

struct IdleReaders {
    directory: PathBuf,
    idle: Mutex<Vec<RecordReader>>,
}

impl ReaderPool {
    /// Readers of the record in a directory, `most` at once.
    pub(in crate::engine) fn new(directory: PathBuf, most: usize) -> ReaderPool {
        let pool = Arc::new(IdleReaders { directory, idle: Mutex::default() });
        ReaderPool { pool, turns: Arc::new(Semaphore::new(most)) }
    }

    /// Reads on another thread.
    ///
    /// # Errors
    /// The record cannot be read: `store-unavailable`.
    pub(in crate::engine) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&RecordReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, EngineError> {
        // Never closed; if it were, reading at once would be right.
        let _turn = self.turns.acquire().await;
        let pool = Arc::clone(&self.pool);
        match tokio::task::spawn_blocking(move || pool.lend(work)).await {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(error)) => Err(failure(&error)),
            Err(error) => {
                tracing::error!(%error, "a read of the record broke off");
                Err(EngineErrorCode::Internal.into())
            }
        }
    }

    /// Reads on this thread; for what takes microseconds.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(in crate::engine) fn read_here<T>(
        &self,
        work: impl FnOnce(&RecordReader) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        self.pool.lend(work).map_err(|error| failure(&error))
    }
}

impl IdleReaders {
    fn lend<T>(
        &self,
        work: impl FnOnce(&RecordReader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reader = match idle {
            Some(reader) => reader,
            None => RecordReader::open(&self.directory)?,
        };
        let read = work(&reader)?;
        // One that failed is not used again.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        Ok(read)
    }
}

fn failure(error: &StoreError) -> EngineError {
    let source = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, source, "the record cannot be read");
    // What is damaged is still damaged when it is tried again.
    let is_lasting = matches!(error, StoreError::Damaged(_) | StoreError::Broken(_));
    let code =
        if is_lasting { EngineErrorCode::Internal } else { EngineErrorCode::StoreUnavailable };
    EngineError::because(code, UNREADABLE)
}
