//! The user's files: opened at the start if the settings name a folder, or later, once, when an owner chooses one.
//!
//! `bridle init` asks for it, so that a daemon need not be started again. A folder that is open stays: sessions have
//! what follows from it. Whoever may ask is judged by `query`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bridle_memex::{
    EditorSlot, MemexFolder, MemexSettings, MemexSetup, MemoryEditor, MemoryOptions, MemoryStore,
    RollbackChoice, WatchSettings, is_in_clear,
};
use bridle_model_host::{INSTRUCTIONS_FILE, MODELS_FILE};

use crate::config::DaemonConfig;
use crate::engine::clock::MonotonicClock;
use crate::engine::home::Home;
use crate::engine::home::guard::protected;
use crate::engine::home::memex_service::AsyncMemexService;
use crate::engine::home::unsaved_buffers::UnsavedBuffers;
use crate::error::DaemonError;

/// Folder of skills in the folder of the memory.
pub(in crate::engine) const SKILL_FOLDER: &str = "skills";

/// The files, and what is needed to open them.
pub(in crate::engine) struct EngineFiles {
    state: PathBuf,
    protected: Vec<PathBuf>,
    rules: MemexSettings,
    rollback: RollbackChoice,
    clock: Arc<MonotonicClock>,
    editor: Arc<OnceLock<MemoryEditor>>,
    open: OnceLock<OpenedStores>,
    /// One opens them at a time.
    pub(in crate::engine) opening: tokio::sync::Mutex<()>,
}

struct OpenedStores {
    memory: Arc<MemoryStore>,
    memex_service: AsyncMemexService,
}

impl EngineFiles {
    pub(in crate::engine) fn of(config: &DaemonConfig, clock: &Arc<MonotonicClock>) -> EngineFiles {
        EngineFiles {
            state: config.state.clone(),
            protected: protected(config).iter().map(|path| PathBuf::from(&**path)).collect(),
            rules: config.memex_rules.clone(),
            rollback: config.rollback,
            clock: Arc::clone(clock),
            editor: Arc::default(),
            open: OnceLock::new(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    /// The actuator that edits them, for the host.
    pub(in crate::engine) fn seat(&self) -> EditorSlot {
        EditorSlot(Arc::clone(&self.editor))
    }

    pub(in crate::engine) fn memory(&self) -> Option<&Arc<MemoryStore>> {
        self.open.get().map(|open| &open.memory)
    }

    pub(in crate::engine) fn memex_service(&self) -> Option<&AsyncMemexService> {
        self.open.get().map(|open| &open.memex_service)
    }

    /// Opens the files of the folder that the settings name, for edits; nobody looks after them yet.
    ///
    /// # Errors
    /// The folder or its past cannot be used.
    pub(in crate::engine) fn begin(
        &self,
        root: Option<&Path>,
    ) -> Result<Option<Arc<MemoryStore>>, DaemonError> {
        let memory = root.map(|root| self.open(root)).transpose()?;
        memory.iter().for_each(|memory| self.admit(memory));
        Ok(memory)
    }

    /// Opens the files of a folder.
    ///
    /// # Errors
    /// The folder or its past cannot be used.
    fn open(&self, root: &Path) -> Result<Arc<MemoryStore>, DaemonError> {
        // Skills, models and instructions: the owner alone decides about them, in an editor.
        let own = [SKILL_FOLDER, MODELS_FILE, INSTRUCTIONS_FILE].map(|name| root.join(name));
        let protected = self.protected.iter().cloned().chain(own).collect();
        let options = MemoryOptions { root: root.to_owned(), protected };
        let memory = MemoryStore::open(&self.state, &options).map_err(DaemonError::Memory)?;
        let (root, rules) = (memory.root().to_owned(), self.rules.rules.clone());
        memory.set_keep_rule(Box::new(move |path, bytes| {
            // Opened each time: whoever holds the folder would not hear that it went. What cannot be judged is not kept.
            let memex = MemexFolder::open(&root, rules.clone());
            memex.is_ok_and(|memex| !is_in_clear(&memex, path.as_str(), bytes))
        }));
        Ok(Arc::new(memory))
    }

    /// Lets them be edited.
    fn admit(&self, memory: &Arc<MemoryStore>) {
        let clock = Arc::clone(&self.clock);
        let now = Box::new(move || clock.now());
        // Once: at the start, or while nothing is open.
        let org = self.rules.rules.org.clone();
        let _ = self.editor.set(MemoryEditor::new(Arc::clone(memory), now, self.rollback, org));
    }

    /// Ends all work on them.
    pub(in crate::engine) async fn stop(&self) {
        if let Some(memex_service) = self.memex_service() {
            memex_service.stop().await;
        }
        let editor = Arc::clone(&self.editor);
        let stopped =
            tokio::task::spawn_blocking(move || editor.get().map(MemoryEditor::stop)).await;
        if let Err(error) = stopped {
            tracing::error!(%error, "the memory could not be looked at for the last time");
        }
    }

    /// Has the files that the settings name looked after.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(in crate::engine) fn attend(
        &self,
        root: Option<&Path>,
        memory: Option<Arc<MemoryStore>>,
        overlays: &Arc<UnsavedBuffers>,
    ) -> Result<(), DaemonError> {
        match (root, memory) {
            (Some(root), Some(memory)) => self.look_after(root, memory, overlays),
            _ => Ok(()),
        }
    }

    /// Starts who keeps the index of them.
    ///
    /// # Errors
    /// The system gives no thread.
    fn look_after(
        &self,
        root: &Path,
        memory: Arc<MemoryStore>,
        overlays: &Arc<UnsavedBuffers>,
    ) -> Result<(), DaemonError> {
        let (unsaved, below) = (Arc::clone(overlays), memory.root().to_owned());
        memory.set_buffer_owners(Box::new(move |path| {
            // Shells name a file whole, or from the folder.
            let short = || unsaved.held_by(path.strip_prefix(&below).ok()?);
            unsaved.held_by(path).or_else(short)
        }));
        let clock = Arc::clone(&self.clock);
        let setup = MemexSetup {
            folder: root.to_owned(),
            rules: self.rules.clone(),
            state: self.state.clone(),
            past: Some(Arc::clone(&memory)),
            clock: Box::new(move || clock.now()),
            watching: WatchSettings::default(),
        };
        let memex_service = AsyncMemexService::start(setup).map_err(DaemonError::Thread)?;
        let _ = self.open.set(OpenedStores { memory, memex_service });
        Ok(())
    }

    /// Opens the files of a folder while the daemon runs, and has them looked after.
    pub(in crate::engine) fn open_later(
        &self,
        root: &Path,
        home: &Home,
    ) -> Result<(), DaemonError> {
        let memory = self.open(root)?;
        self.look_after(root, Arc::clone(&memory), &home.buffers)?;
        self.admit(&memory);
        home.abilities.host.refresh_actuators();
        Ok(())
    }
}
