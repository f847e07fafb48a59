//! The librarian: one thread that owns the index of the Memex and keeps it up to date, and the way for everybody
//! else to ask it.
//!
//! Started by the hub when a folder is set. What others write it shows to the past of the memory. It has less
//! priority than all other threads and never speaks to the keeper; questions are answered by readers of their own, so
//! neither waits for the other. A folder that is missing and an index that is damaged are no reason not to serve: the
//! one is waited for, the other is made anew.

mod ask;
mod desk;
mod notes;
pub mod survey;
mod tell;
mod watch;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bridle_store::memex::{Catalog, Memex, Progress, Rules};
use bridle_store::memory::Memory;
use bridle_wire::Code;
use bridle_wire::oacp::Failure;
use tokio::sync::Semaphore;

pub(crate) use self::ask::Ask;
pub use self::desk::step_back;
pub(crate) use self::tell::{Asked, success};
use self::watch::Bell;
pub(crate) use self::watch::Watching;

/// Readers of the index that may be at work at the same time.
const READERS: usize = 4;

/// What is told when no folder is set.
const NO_MEMEX: &str = "no memex is set; `bridle init DIR` chooses a folder of Org files";

/// What is told when the index cannot be read.
const UNREADABLE: &str = "the index of the memex cannot be read; the daemon's log has the reason";

/// What a daemon is told about the Memex, besides where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemexRules {
    /// What of it is read, and what is private.
    pub rules: Rules,
    /// Further folders that paths may be resolved in.
    pub roots: Vec<PathBuf>,
}

/// The librarian of one daemon.
pub(crate) struct Librarian {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Reads that may run at once.
    turns: Semaphore,
}

/// What the thread and those who ask have in common.
struct Shared {
    folder: PathBuf,
    config: MemexRules,
    state: PathBuf,
    /// Where versions that others write are kept; the editor has it, too.
    past: Option<Arc<Memory>>,
    clock: Clock,
    watching: Watching,
    bell: Bell,
    now: Mutex<Now>,
}

/// Gives the present, in milliseconds since 1970.
pub(crate) type Clock = Box<dyn Fn() -> i64 + Send + Sync>;

/// What a librarian needs.
pub(crate) struct Setup {
    /// The folder of the files.
    pub(crate) folder: PathBuf,
    pub(crate) rules: MemexRules,
    /// The state directory.
    pub(crate) state: PathBuf,
    /// Where versions that others write are kept.
    pub(crate) past: Option<Arc<Memory>>,
    pub(crate) clock: Clock,
    pub(crate) watching: Watching,
}

/// How it stands.
#[derive(Default)]
struct Now {
    doing: Doing,
    /// The folder, once it was found.
    memex: Option<Arc<Memex>>,
    /// Readers that are not in use. They go when the index is made anew.
    idle: Vec<Catalog>,
    /// How often it was made.
    edition: u64,
    watched: Watched,
}

/// What the thread does.
#[derive(Clone, Debug, Default)]
enum Doing {
    /// It begins.
    #[default]
    Starting,
    /// It reads files.
    Reading(Progress),
    /// It waits for changes.
    Waiting,
    /// It cannot go on now, for this reason; it tries again.
    Stuck(Arc<str>),
}

/// How changes are heard of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Watched {
    /// The system tells.
    #[default]
    Told,
    /// By looking again and again.
    Polled,
}

impl Librarian {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(setup: Setup) -> std::io::Result<Arc<Librarian>> {
        let Setup { folder, rules, state, past, clock, watching } = setup;
        let (bell, now) = (Bell::new()?, Mutex::default());
        let shared =
            Arc::new(Shared { folder, config: rules, state, past, clock, watching, bell, now });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("librarian".to_owned())
            .spawn(move || desk::work(&own))?;
        let (thread, turns) = (Mutex::new(Some(thread)), Semaphore::new(READERS));
        Ok(Arc::new(Librarian { shared, thread, turns }))
    }

    /// Ends the thread, after what it is about to write is written.
    pub(crate) async fn stop(&self) {
        self.shared.bell.ring();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return };
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::error!("the librarian broke off");
        }
    }

    /// Answers a question, on a thread for blocking work.
    ///
    /// # Errors
    /// What was asked for is not there, or the index cannot be read.
    pub(crate) async fn ask(&self, ask: Ask, asked: Asked) -> Result<bridle_sexp::Value, Failure> {
        // Never closed; if it were, reading at once would be right.
        let _turn = self.turns.acquire().await;
        let shared = Arc::clone(&self.shared);
        match tokio::task::spawn_blocking(move || shared.answer(&ask, &asked)).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::error!(%error, "a question to the librarian broke off");
                Err(Code::Internal.into())
            }
        }
    }
}

/// The refusal of a question when no folder is set.
pub(crate) fn no_memex() -> Failure {
    Failure::because(Code::UnknownTarget, NO_MEMEX)
}

impl Shared {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, doing: Doing) {
        self.now().doing = doing;
    }

    /// Lends a reader of the index.
    fn read<T>(
        &self,
        work: impl FnOnce(&Catalog) -> Result<T, bridle_store::Error>,
    ) -> Result<T, Failure> {
        let (idle, memex, edition, doing) = {
            let mut now = self.now();
            (now.idle.pop(), now.memex.clone(), now.edition, now.doing.clone())
        };
        let catalog = match (idle, memex) {
            (Some(catalog), _) => catalog,
            (None, Some(memex)) => {
                Catalog::open(&self.state, memex).map_err(|error| failed(&error))?
            }
            (None, None) => {
                let why = match doing {
                    Doing::Stuck(why) => format!("the memex cannot be read: {why}"),
                    _ => "the memex is being opened; ask again in a moment".to_owned(),
                };
                return Err(Failure::because(Code::StoreUnavailable, why));
            }
        };
        let read = work(&catalog).map_err(|error| failed(&error))?;
        let mut now = self.now();
        if now.edition == edition && now.idle.len() < READERS {
            now.idle.push(catalog);
        }
        Ok(read)
    }
}

/// What somebody is told whose question failed. What they said is not repeated.
fn failed(error: &bridle_store::Error) -> Failure {
    match error {
        bridle_store::Error::NoObject(_) => {
            Failure::because(Code::UnknownId, "no such object in the memex")
        }
        bridle_store::Error::Search(why) => Failure::because(Code::InvalidValue, *why),
        error => {
            tracing::warn!(%error, "the index of the memex cannot be read");
            Failure::because(Code::StoreUnavailable, UNREADABLE)
        }
    }
}
