//! Stages of turns: which stage belongs to which turn, on disk, so that a turn finds its stage after a
//! crash.
//!
//! `TURNS/KEY` has the name of the stage; the key is a hash of session and turn. Written after the stage is
//! whole: one without a turn expires.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bridle_jail::{JailError, Stage, StageId, StageOptions};

use crate::error::EffectError;

/// Age from which a stage that nobody uses is thrown away.
const STAGE_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// Table of the stages of all turns.
#[derive(Debug)]
pub(crate) struct TurnStages {
    stages: PathBuf,
    turns: PathBuf,
    /// Held while a stage is begun: a turn has one.
    beginning: Mutex<()>,
}

impl TurnStages {
    /// Opens the table, and throws away what has expired.
    pub(crate) fn open(folder: &Path) -> Result<Self, EffectError> {
        let turns = folder.join("turns");
        fs::create_dir_all(&turns).map_err(EffectError::io("make", &turns))?;
        let stages = folder.join("stages");
        Stage::sweep(&stages, STAGE_LIFETIME)?;
        let table = Self { stages, turns, beginning: Mutex::new(()) };
        table.forget_ended()?;
        Ok(table)
    }

    /// Removes the names of stages that are gone.
    fn forget_ended(&self) -> Result<(), EffectError> {
        let entries = fs::read_dir(&self.turns).map_err(EffectError::io("list", &self.turns))?;
        for entry in entries.flatten() {
            let id = fs::read_to_string(entry.path()).ok();
            let is_there = id.is_some_and(|id| self.stages.join(id).is_dir());
            if !is_there {
                fs::remove_file(entry.path()).map_err(EffectError::io("remove", &entry.path()))?;
            }
        }
        Ok(())
    }

    /// Folder of all stages.
    pub(crate) fn folder(&self) -> &Path {
        &self.stages
    }

    /// The stage of a turn; `None` if it changed nothing so far.
    pub(crate) fn find(&self, session: &str, turn: u64) -> Result<Option<Stage>, EffectError> {
        match fs::read_to_string(self.key(session, turn)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(EffectError::io("read", &self.turns)(error)),
            Ok(id) => self.open_stage(&id).map(Some),
        }
    }

    /// The stage of a turn, begun unless it has one.
    pub(crate) fn find_or_begin(
        &self,
        session: &str,
        turn: u64,
        options: impl FnOnce() -> StageOptions,
    ) -> Result<Stage, EffectError> {
        let _beginning = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stage) = self.find(session, turn)? {
            return Ok(stage);
        }
        let stage = Stage::begin(&options())?;
        let key = self.key(session, turn);
        fs::write(&key, stage.id().to_string()).map_err(EffectError::io("write", &key))?;
        Ok(stage)
    }

    /// A stage by its name.
    pub(crate) fn open_stage(&self, id: &str) -> Result<Stage, EffectError> {
        let lost = || JailError::StageLost { id: id.to_owned(), reason: "no stage has it".into() };
        let name = StageId::parse(id).ok_or_else(lost)?;
        Ok(Stage::reopen(&self.stages, &name)?)
    }

    /// Forgets whose stage it was, once it is over: the turn may begin another.
    pub(crate) fn forget(&self, id: &str) -> Result<(), EffectError> {
        let entries = fs::read_dir(&self.turns).map_err(EffectError::io("list", &self.turns))?;
        for entry in entries.flatten() {
            if fs::read_to_string(entry.path()).is_ok_and(|name| name == id) {
                fs::remove_file(entry.path()).map_err(EffectError::io("remove", &entry.path()))?;
            }
        }
        Ok(())
    }

    fn key(&self, session: &str, turn: u64) -> PathBuf {
        let text = format!("{turn} {session}");
        self.turns.join(&blake3::hash(text.as_bytes()).to_hex()[..32])
    }
}
