//! The one writer of the record: a thread that owns the store and commits in groups.
//!
//! Sessions hand in an append and wait for its numbers. The thread takes everything that waits,
//! up to a bound, and makes one commit of it, so nobody waits for more than the commit that is
//! under way and the own one. When the record takes nothing (the disk is full), every waiting
//! append is refused and nothing of it is kept; the next one is tried again, and while there is
//! none, a probe is, so that health recovers by itself.

use bridle_loop::RecordKind;
use bridle_record::{
    AppendNumbers, NewRecord, RecordAppend, RecordStore, StoreError, WalCheckpointer, fault,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::{Semaphore, oneshot};

use crate::engine::clock::MonotonicClock;
use crate::engine::home::spending::RecordBudgetUse;

/// Jobs that may wait for the thread; over it their senders wait. A session has one at a time.
const QUEUED_APPENDS: usize = 1024;

/// Appends in one commit: bounds how long the first of them waits for the last. Where all that is asked is
/// in one commit, nothing is left to step through meanwhile: 200 connections that ask again at once are
/// answered some 4 in a hundred more often with 100 of them in a commit than with all.
const COMMIT_APPENDS: usize = 100;

/// Records after which the log of the store is copied into its file. The disk makes the next commit wait
/// while it takes the copied pages, so little and often: at a thousand prompts a second, p99 of an answer
/// is 62 ms when copied every 8,000 records, 5.0 ms every 1,000, 3.3 ms every 250. Fault tests write
/// little and want it more often still.
const COPY_AFTER: usize = if cfg!(feature = "faults") { 30 } else { 250 };

/// Time between two copies, so that many records at once are copied together: at twenty thousand prompts a
/// second there were 400 copies, each of which wrote the pages again that every commit changes, and copying
/// was a twentieth of all that the daemon did. With 25 ms it is a little less still, but what is copied at
/// once makes commits wait: p99 of 64 shells that ask again at once is 6.4 to 7.3 ms then, 5.0 to 5.6 so.
const COPY_PAUSE: Duration = Duration::from_millis(if cfg!(feature = "faults") { 0 } else { 10 });

/// Interval at which a record that takes nothing is tried, when nobody else tries.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Reason why an append is not kept. Nothing of it is.
#[derive(Clone, Debug, thiserror::Error)]
pub(in crate::engine) enum AppendError {
    /// The record takes nothing now.
    #[error("the record cannot be written: {0}")]
    Unavailable(Arc<str>),
    /// The append itself is at fault.
    #[error("the record does not take this: {0}")]
    Refused(Arc<str>),
    /// The daemon stops.
    #[error("the record is closed")]
    Closed,
}

/// Answer of a job.
type Reply<T> = oneshot::Sender<Result<T, AppendError>>;

/// An append that is durable: its numbers, and itself. It goes back to be dropped by the thread that made
/// it: memory that one thread takes and another gives back has to be passed between them by the allocator.
type Kept = (AppendNumbers, RecordAppend);

/// Work on the store itself.
pub(in crate::engine) type Task = Box<dyn FnOnce(&mut RecordStore) + Send>;

#[expect(clippy::large_enum_variant, reason = "nearly every job is an append")]
enum WriterJob {
    Append(RecordAppend, Reply<Kept>),
    /// Anything else; alone, between two commits.
    Task(Task),
    /// The end: nothing is taken after it.
    Close,
}

/// The way to the thread.
#[derive(Debug)]
pub(in crate::engine) struct RecordWriter {
    jobs: mpsc::Sender<WriterJob>,
    /// Places in the queue; it grows no further.
    room: Semaphore,
    healthy: Arc<AtomicBool>,
    /// Number of the latest record.
    head: AtomicU64,
}

impl RecordWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(in crate::engine) fn start(
        store: RecordStore,
        head: u64,
        state: &Path,
        clock: Arc<MonotonicClock>,
        commits: Histogram,
        spending: &Arc<RecordBudgetUse>,
    ) -> std::io::Result<(RecordWriter, thread::JoinHandle<()>)> {
        let (jobs, waiting) = mpsc::channel();
        let healthy = Arc::new(AtomicBool::new(true));
        let copying = WalCopyThread::start(state.to_owned())?;
        let (spending, healthy_too) = (Arc::clone(spending), Arc::clone(&healthy));
        let desk = WriterThread { store, clock, healthy: healthy_too, commits, copying, spending };
        let thread = thread::Builder::new();
        let thread = thread.name("record-writer".to_owned()).spawn(move || desk.run(&waiting))?;
        let head = AtomicU64::new(head);
        Ok((RecordWriter { jobs, room: Semaphore::new(QUEUED_APPENDS), healthy, head }, thread))
    }

    /// Number of the latest record.
    pub(in crate::engine) fn head(&self) -> u64 {
        self.head.load(Ordering::Relaxed)
    }

    /// Has an append kept; it is durable when this returns.
    ///
    /// # Errors
    /// Nothing of it is kept.
    pub(in crate::engine) async fn append(
        &self,
        append: RecordAppend,
    ) -> Result<AppendNumbers, AppendError> {
        let (reply, answer) = oneshot::channel();
        let _place = self.room.acquire().await.map_err(|_| AppendError::Closed)?;
        self.jobs.send(WriterJob::Append(append, reply)).map_err(|_| AppendError::Closed)?;
        let (numbers, _append) = answer.await.map_err(|_| AppendError::Closed)??;
        if let Some(last) = numbers.last() {
            self.head.fetch_max(last.0, Ordering::Relaxed);
        }
        Ok(numbers)
    }

    /// Does something with the store itself.
    ///
    /// # Errors
    /// The writer is closed.
    pub(in crate::engine) async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut RecordStore) -> T + Send + 'static,
    ) -> Result<T, AppendError> {
        let (reply, answer) = oneshot::channel();
        let task: Task = Box::new(move |store| {
            let _ = reply.send(work(store));
        });
        let _place = self.room.acquire().await.map_err(|_| AppendError::Closed)?;
        self.jobs.send(WriterJob::Task(task)).map_err(|_| AppendError::Closed)?;
        answer.await.map_err(|_| AppendError::Closed)
    }

    /// Ends the thread after what is waiting.
    pub(in crate::engine) fn close(&self) {
        // An error says that it has ended already.
        let _ = self.jobs.send(WriterJob::Close);
    }

    /// Returns the number of jobs that wait for the thread.
    pub(in crate::engine) fn waiting(&self) -> usize {
        QUEUED_APPENDS - self.room.available_permits()
    }

    /// Whether the last commit was taken.
    pub(in crate::engine) fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }
}

/// State of the thread.
struct WriterThread {
    store: RecordStore,
    clock: Arc<MonotonicClock>,
    healthy: Arc<AtomicBool>,
    /// Counts commits by their records.
    commits: Histogram,
    copying: WalCopyThread,
    spending: Arc<RecordBudgetUse>,
}

/// A thread that copies the log of the store into its file, when it is told to.
struct WalCopyThread {
    wake: mpsc::SyncSender<()>,
    thread: thread::JoinHandle<()>,
    /// Records since it was told the last time.
    records: usize,
    /// Time of that.
    told: Instant,
}

impl WalCopyThread {
    fn start(state: PathBuf) -> std::io::Result<WalCopyThread> {
        let (wake, woken) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("copier".to_owned());
        let thread = thread.spawn(move || {
            let mut copier = None;
            while let Ok(()) = woken.recv() {
                if let Err(error) = copy(&mut copier, &state) {
                    // A commit copies by itself when the log has grown too long.
                    tracing::debug!(%error, "the log of the record is not copied");
                }
            }
        })?;
        Ok(WalCopyThread { wake, thread, records: 0, told: Instant::now() })
    }

    /// Counts records that were committed.
    fn add(&mut self, records: usize) {
        self.records += records;
        if self.records < COPY_AFTER || self.told.elapsed() < COPY_PAUSE {
            return;
        }
        // When it is still at it, the next commit tells it.
        if self.wake.try_send(()).is_ok() {
            (self.records, self.told) = (0, Instant::now());
        }
    }

    /// Waits for its end, so that the store is the last to close the file and leaves no log.
    fn end(self) {
        drop(self.wake);
        // A panic in there is in the log; there is nothing to undo.
        let _ = self.thread.join();
    }
}

/// Copies, with a connection that is opened the first time.
fn copy(copier: &mut Option<WalCheckpointer>, state: &Path) -> Result<(), StoreError> {
    let copier = match copier {
        Some(copier) => copier,
        None => copier.insert(WalCheckpointer::open(state)?),
    };
    fault::point("engine.copy");
    let (copied, all) = copier.copy()?;
    fault::point("engine.copied");
    tracing::trace!(copied, all, "pages of the log are copied");
    Ok(())
}

impl WriterThread {
    fn run(mut self, waiting: &mpsc::Receiver<WriterJob>) {
        let mut jobs = Vec::new();
        loop {
            match self.next(waiting) {
                Ok(job) => jobs.push(job),
                Err(mpsc::RecvTimeoutError::Timeout) => self.probe(),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            jobs.extend(waiting.try_iter().take(COMMIT_APPENDS));
            if self.work_off(&mut jobs) {
                break;
            }
        }
        self.copying.end();
    }

    fn next(
        &self,
        waiting: &mpsc::Receiver<WriterJob>,
    ) -> Result<WriterJob, mpsc::RecvTimeoutError> {
        match self.healthy.load(Ordering::Relaxed) {
            true => waiting.recv().map_err(Into::into),
            false => waiting.recv_timeout(PROBE_INTERVAL),
        }
    }

    /// Works off the jobs in their order, neighbors in one commit; tells whether to end.
    fn work_off(&mut self, jobs: &mut Vec<WriterJob>) -> bool {
        let (mut appends, mut replies) = (Vec::new(), Vec::new());
        for job in jobs.drain(..) {
            match job {
                WriterJob::Append(append, reply) => {
                    appends.push(append);
                    replies.push(reply);
                }
                WriterJob::Task(task) => {
                    self.commit(std::mem::take(&mut appends), std::mem::take(&mut replies));
                    task(&mut self.store);
                }
                WriterJob::Close => {
                    self.commit(appends, replies);
                    return true;
                }
            }
        }
        self.commit(appends, replies);
        false
    }

    /// One commit for all; without those that the store finds at fault.
    fn commit(&mut self, mut appends: Vec<RecordAppend>, mut replies: Vec<Reply<Kept>>) {
        let mut costs: Vec<_> =
            appends.iter_mut().map(|append| append.spent.take().map(|it| *it)).collect();
        while !appends.is_empty() {
            for (append, spent) in appends.iter_mut().zip(self.spending.bill(&costs)) {
                append.spent = spent.map(Box::new);
            }
            fault::point("engine.commit");
            let done = self.store.commit(&appends);
            fault::point("engine.committed");
            match done {
                Ok(numbers) => {
                    self.set_healthy(None);
                    self.spending.charge(&appends);
                    let records: usize = appends.iter().map(|append| append.drafts.len()).sum();
                    self.commits.observe(f64::from(u32::try_from(records).unwrap_or(u32::MAX)));
                    for ((reply, numbers), append) in replies.into_iter().zip(numbers).zip(appends)
                    {
                        // Whoever waited may have gone.
                        let _ = reply.send(Ok((numbers, append)));
                    }
                    fault::point("engine.told");
                    self.copying.add(records);
                    return;
                }
                Err(StoreError::Refused { append, reason }) if append < appends.len() => {
                    tracing::error!(%reason, "the record does not take an append");
                    appends.remove(append);
                    costs.remove(append);
                    let _ = replies.remove(append).send(Err(AppendError::Refused(text(&reason))));
                }
                Err(error) => {
                    self.set_healthy(Some(&error));
                    let why = AppendError::Unavailable(text(&error));
                    for reply in replies {
                        let _ = reply.send(Err(why.clone()));
                    }
                    return;
                }
            }
        }
    }

    /// Tries whether the record takes something again.
    fn probe(&mut self) {
        let body = "(:text \"the record can be written again\")";
        let draft = NewRecord::new("", RecordKind::Log.word(), self.clock.now(), "daemon", body);
        let append = RecordAppend { drafts: vec![draft], ..RecordAppend::default() };
        match self.store.commit(&[append]) {
            Ok(_) => self.set_healthy(None),
            Err(error) => self.set_healthy(Some(&error)),
        }
    }

    fn set_healthy(&self, fault: Option<&StoreError>) {
        let was = self.healthy.swap(fault.is_none(), Ordering::Relaxed);
        match fault {
            Some(error) if was => {
                let source = std::error::Error::source(error).map(ToString::to_string);
                tracing::error!(%error, source, "the record takes nothing; new work is refused");
            }
            None if !was => tracing::info!("the record can be written again"),
            _ => {}
        }
    }
}

fn text(error: &impl ToString) -> Arc<str> {
    error.to_string().into()
}
