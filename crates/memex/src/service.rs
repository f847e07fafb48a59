//! The Memex service: the index thread, which owns the index and keeps it up to date, and answers to questions.
//!
//! Started by the daemon when a folder is set. Changes of other programs become versions. The thread has less priority
//! than all other threads and never waits for the record; questions are answered by readers of their own, so neither
//! waits for the other. A folder that is missing is waited for, and an index that is damaged is made anew: neither
//! keeps the daemon from serving.

mod answers;
mod index_thread;
mod offline;
mod questions;
mod refusal;
mod version_queue;
mod watch;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::MemoryStore;
use crate::{IndexProgress, MemexCatalog, MemexFolder, ReadRules};

pub use self::answers::{MemexAsker, success};
pub use self::index_thread::step_back;
pub use self::offline::OfflineMemex;
pub use self::questions::MemexQuestion;
pub use self::refusal::MemexRefusal;
use self::refusal::UNREADABLE;
use self::watch::StopBell;
pub use self::watch::WatchSettings;

/// Readers of the index that may be at work at the same time.
pub const MAX_IDLE_READERS: usize = 4;

/// Settings of the Memex besides its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemexSettings {
    /// Rules that say what is read and what is private.
    pub rules: ReadRules,
    /// Further folders that paths may be resolved in.
    pub roots: Vec<PathBuf>,
}

/// Service of one Memex: its index thread, and readers of the index.
pub struct MemexService {
    shared: Arc<MemexShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// State that the thread and those who ask share.
struct MemexShared {
    folder: PathBuf,
    config: MemexSettings,
    state: PathBuf,
    /// Store of versions that others write; shared with the editor.
    past: Option<Arc<MemoryStore>>,
    clock: Clock,
    watching: WatchSettings,
    bell: StopBell,
    now: Mutex<MemexStatus>,
}

/// Gives the present, in milliseconds since 1970.
pub type Clock = Box<dyn Fn() -> i64 + Send + Sync>;

/// Folder, settings and clock that a service is started with.
pub struct MemexSetup {
    /// The folder of the files.
    pub folder: PathBuf,
    /// Settings besides the folder.
    pub rules: MemexSettings,
    /// The state directory.
    pub state: PathBuf,
    /// Store of versions that others write.
    pub past: Option<Arc<MemoryStore>>,
    /// Clock of the daemon.
    pub clock: Clock,
    /// Settings of the watch on the folder.
    pub watching: WatchSettings,
}

/// Status of the index, and the readers that are lent out.
#[derive(Default)]
struct MemexStatus {
    activity: IndexActivity,
    /// The folder, once it was found.
    memex: Option<Arc<MemexFolder>>,
    /// Readers that are not in use. They go when the index is made anew.
    idle: Vec<MemexCatalog>,
    /// Number of times that the index was made anew.
    edition: u64,
    watched: WatchMethod,
}

/// Activity of the index thread.
#[derive(Clone, Debug, Default)]
enum IndexActivity {
    /// The thread begins.
    #[default]
    Starting,
    /// The thread reads files.
    Reading(IndexProgress),
    /// The thread waits for changes.
    Waiting,
    /// The thread cannot go on now, for this reason; it tries again.
    Stuck(Arc<str>),
}

/// Source of news about changed files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WatchMethod {
    /// The system tells.
    #[default]
    Notified,
    /// By looking again and again.
    Polled,
}

impl MemexService {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(setup: MemexSetup) -> std::io::Result<Arc<MemexService>> {
        let MemexSetup { folder, rules, state, past, clock, watching } = setup;
        let (bell, now) = (StopBell::new()?, Mutex::default());
        let shared = Arc::new(MemexShared {
            folder,
            config: rules,
            state,
            past,
            clock,
            watching,
            bell,
            now,
        });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("memex-index".to_owned())
            .spawn(move || index_thread::work(&own))?;
        Ok(Arc::new(MemexService { shared, thread: Mutex::new(Some(thread)) }))
    }

    /// Ends the thread, after the batch that it is writing. Waits for that.
    pub fn stop(&self) {
        self.shared.bell.ring();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the index thread of the memex panicked");
        }
    }

    /// Answers a question, on the caller's thread.
    ///
    /// # Errors
    /// The object that the question names is not there, or the index cannot be read.
    pub fn answer(
        &self,
        question: &MemexQuestion,
        asker: &MemexAsker,
    ) -> Result<bridle_sexp::Value, MemexRefusal> {
        self.shared.answer(question, asker)
    }
}

impl MemexShared {
    fn now(&self) -> MutexGuard<'_, MemexStatus> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, activity: IndexActivity) {
        self.now().activity = activity;
    }

    /// Lends a reader of the index.
    fn read<T>(
        &self,
        work: impl FnOnce(&MemexCatalog) -> Result<T, bridle_record::StoreError>,
    ) -> Result<T, MemexRefusal> {
        let (idle, memex, edition, activity) = {
            let mut now = self.now();
            (now.idle.pop(), now.memex.clone(), now.edition, now.activity.clone())
        };
        let catalog = match (idle, memex) {
            (Some(catalog), _) => catalog,
            (None, Some(memex)) => {
                MemexCatalog::open(&self.state, memex).map_err(|error| failed(&error))?
            }
            (None, None) => {
                let why = match activity {
                    IndexActivity::Stuck(why) => format!("the memex cannot be read: {why}"),
                    _ => "the memex is being opened; ask again in a moment".to_owned(),
                };
                return Err(MemexRefusal::Unavailable(why));
            }
        };
        let read = work(&catalog).map_err(|error| failed(&error))?;
        let mut now = self.now();
        if now.edition == edition && now.idle.len() < MAX_IDLE_READERS {
            now.idle.push(catalog);
        }
        Ok(read)
    }
}

/// Returns the refusal for an error of the index. Texts of the asker are not repeated.
fn failed(error: &bridle_record::StoreError) -> MemexRefusal {
    match error {
        bridle_record::StoreError::NoObject(_) => {
            MemexRefusal::NotFound("no such object in the memex")
        }
        bridle_record::StoreError::Search(why) => MemexRefusal::Invalid(why),
        error => {
            tracing::warn!(%error, "the index of the memex cannot be read");
            MemexRefusal::Unavailable(UNREADABLE.to_owned())
        }
    }
}
