//! The librarian: one thread that owns the index of the Memex and keeps it up to date, and the way for everybody
//! else to ask it.
//!
//! Started by the hub when a folder is set. What others write it shows to the past of the memory. It has less
//! priority than all other threads and never speaks to the keeper; questions are answered by readers of their own, so
//! neither waits for the other. A folder that is missing and an index that is damaged are no reason not to serve: the
//! one is waited for, the other is made anew.

mod answers;
mod index_thread;
mod questions;
mod version_queue;
mod watch;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::MemoryStore;
use crate::{IndexProgress, MemexCatalog, MemexFolder, ReadRules};
use bridle_wire::OacpCode;
use bridle_wire::oacp::ErrorReply;

pub use self::answers::{MemexAsker, success};
pub use self::index_thread::step_back;
pub use self::questions::MemexQuestion;
use self::watch::StopBell;
pub use self::watch::WatchState;

/// Readers of the index that may be at work at the same time.
pub const MAX_IDLE_READERS: usize = 4;

/// What is told when no folder is set.
const NO_MEMEX: &str = "no memex is set; `bridle init DIR` chooses a folder of Org files";

/// What is told when the index cannot be read.
const UNREADABLE: &str = "the index of the memex cannot be read; the daemon's log has the reason";

/// What a daemon is told about the Memex, besides where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemexRules {
    /// What of it is read, and what is private.
    pub rules: ReadRules,
    /// Further folders that paths may be resolved in.
    pub roots: Vec<PathBuf>,
}

/// The librarian of one daemon.
pub struct MemexService {
    shared: Arc<MemexShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread and those who ask have in common.
struct MemexShared {
    folder: PathBuf,
    config: MemexRules,
    state: PathBuf,
    /// Where versions that others write are kept; the editor has it, too.
    past: Option<Arc<MemoryStore>>,
    clock: Clock,
    watching: WatchState,
    bell: StopBell,
    now: Mutex<MemexStatus>,
}

/// Gives the present, in milliseconds since 1970.
pub type Clock = Box<dyn Fn() -> i64 + Send + Sync>;

/// What a librarian needs.
pub struct MemexSetup {
    /// The folder of the files.
    pub folder: PathBuf,
    pub rules: MemexRules,
    /// The state directory.
    pub state: PathBuf,
    /// Where versions that others write are kept.
    pub past: Option<Arc<MemoryStore>>,
    pub clock: Clock,
    pub watching: WatchState,
}

/// How it stands.
#[derive(Default)]
struct MemexStatus {
    doing: IndexActivity,
    /// The folder, once it was found.
    memex: Option<Arc<MemexFolder>>,
    /// Readers that are not in use. They go when the index is made anew.
    idle: Vec<MemexCatalog>,
    /// How often it was made.
    edition: u64,
    watched: WatchMethod,
}

/// What the thread does.
#[derive(Clone, Debug, Default)]
enum IndexActivity {
    /// It begins.
    #[default]
    Starting,
    /// It reads files.
    Reading(IndexProgress),
    /// It waits for changes.
    Waiting,
    /// It cannot go on now, for this reason; it tries again.
    Stuck(Arc<str>),
}

/// How changes are heard of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WatchMethod {
    /// The system tells.
    #[default]
    Told,
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
            .name("librarian".to_owned())
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
    ) -> Result<bridle_sexp::Value, ErrorReply> {
        self.shared.answer(question, asker)
    }
}

/// The refusal of a question when no folder is set.
pub fn no_memex() -> ErrorReply {
    ErrorReply::because(OacpCode::UnknownTarget, NO_MEMEX)
}

impl MemexShared {
    fn now(&self) -> MutexGuard<'_, MemexStatus> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, doing: IndexActivity) {
        self.now().doing = doing;
    }

    /// Lends a reader of the index.
    fn read<T>(
        &self,
        work: impl FnOnce(&MemexCatalog) -> Result<T, bridle_record::StoreError>,
    ) -> Result<T, ErrorReply> {
        let (idle, memex, edition, doing) = {
            let mut now = self.now();
            (now.idle.pop(), now.memex.clone(), now.edition, now.doing.clone())
        };
        let catalog = match (idle, memex) {
            (Some(catalog), _) => catalog,
            (None, Some(memex)) => {
                MemexCatalog::open(&self.state, memex).map_err(|error| failed(&error))?
            }
            (None, None) => {
                let why = match doing {
                    IndexActivity::Stuck(why) => format!("the memex cannot be read: {why}"),
                    _ => "the memex is being opened; ask again in a moment".to_owned(),
                };
                return Err(ErrorReply::because(OacpCode::StoreUnavailable, why));
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

/// What somebody is told whose question failed. What they said is not repeated.
fn failed(error: &bridle_record::StoreError) -> ErrorReply {
    match error {
        bridle_record::StoreError::NoObject(_) => {
            ErrorReply::because(OacpCode::UnknownId, "no such object in the memex")
        }
        bridle_record::StoreError::Search(why) => ErrorReply::because(OacpCode::InvalidValue, *why),
        error => {
            tracing::warn!(%error, "the index of the memex cannot be read");
            ErrorReply::because(OacpCode::StoreUnavailable, UNREADABLE)
        }
    }
}
