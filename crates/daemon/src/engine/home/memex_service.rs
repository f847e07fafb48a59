//! Questions to the Memex from async code: at most as many at once as the index has readers, each on a thread for
//! blocking work. A thin layer over [`bridle_memex::MemexService`], which knows no tokio.

use std::sync::Arc;

use bridle_memex::{
    MAX_IDLE_READERS, MemexAsker, MemexQuestion, MemexRefusal, MemexService, MemexSetup,
};
use bridle_sexp::Value;
use tokio::sync::Semaphore;

/// The service of one Memex, and the reads of it that may run at once.
pub(crate) struct AsyncMemexService {
    service: Arc<MemexService>,
    reads: Semaphore,
}

impl AsyncMemexService {
    /// Starts the index thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(setup: MemexSetup) -> std::io::Result<AsyncMemexService> {
        let service = MemexService::start(setup)?;
        Ok(AsyncMemexService { service, reads: Semaphore::new(MAX_IDLE_READERS) })
    }

    /// Ends the index thread and waits for it.
    pub(crate) async fn stop(&self) {
        let service = Arc::clone(&self.service);
        let stopped = tokio::task::spawn_blocking(move || service.stop()).await;
        if let Err(error) = stopped {
            tracing::error!(%error, "the index of the memex was not stopped");
        }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// The object that the question names is not there, or the index cannot be read.
    pub(crate) async fn answer(
        &self,
        question: MemexQuestion,
        asker: MemexAsker,
    ) -> Result<Value, MemexRefusal> {
        // Never closed; if it were, reading at once would be right.
        let _read = self.reads.acquire().await;
        let service = Arc::clone(&self.service);
        match tokio::task::spawn_blocking(move || service.answer(&question, &asker)).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::error!(%error, "a question to the memex panicked");
                Err(MemexRefusal::Internal)
            }
        }
    }
}
