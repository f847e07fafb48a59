//! Files as an act sees them: those of the turn's stage, or as they are.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use bridle_host::ActIo;
use bridle_jail::{Stage, read_plain_file};
use bridle_loop::FileRequest;

use crate::error::EffectError;
use crate::workspace::Workspace;

/// Files of a project on a stage, or of any folder.
pub(super) struct FileView {
    stage: Option<Stage>,
    /// The file or folder that was asked for, links followed.
    pub(super) path: PathBuf,
}

impl FileView {
    /// The view of a request: on the stage of the turn, if it has one and the path lies in its project.
    pub(super) fn of(
        workspace: &Workspace,
        request: &FileRequest,
        io: &ActIo,
    ) -> Result<Self, EffectError> {
        let real = request.facts.paths.first();
        let real = real.ok_or_else(|| EffectError::refused("nobody has looked at the path"))?;
        let path = PathBuf::from(&**real);
        let stage = match request.facts.inside && !workspace.is_output(&path) {
            true => workspace.turns().find(io.context.session.as_str(), io.context.turn.0)?,
            false => None,
        };
        let stage = stage.filter(|stage| path.starts_with(stage.project()));
        Ok(Self { stage, path })
    }

    /// Place of the bytes of a path; `None` if there is nothing.
    fn locate(&self, path: &Path) -> Option<PathBuf> {
        match &self.stage {
            None => fs::symlink_metadata(path).is_ok().then(|| path.to_owned()),
            Some(stage) => {
                let inside = path.strip_prefix(stage.project()).ok()?;
                match inside == Path::new("") {
                    true => Some(stage.project().to_owned()),
                    false => stage.locate(inside),
                }
            }
        }
    }

    /// Bytes of a plain file, at most so many, and its length.
    pub(super) fn read(&self, path: &Path, most: u64) -> Result<(Vec<u8>, u64), EffectError> {
        match self.locate(path) {
            Some(place) => Ok(read_plain_file(&place, most)?),
            None => Err(EffectError::refused(format!("`{}` is not there", path.display()))),
        }
    }

    /// Kind of what is at a path.
    pub(super) fn kind(&self, path: &Path) -> Option<fs::Metadata> {
        fs::symlink_metadata(self.locate(path)?).ok()
    }

    /// Names in a folder, in order.
    pub(super) fn names(&self, folder: &Path) -> Vec<OsString> {
        match &self.stage {
            Some(stage) => match folder.strip_prefix(stage.project()) {
                Ok(inside) => stage.names_in(inside),
                Err(_) => Vec::new(),
            },
            None => {
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                let mut names: Vec<OsString> = entries.map(|entry| entry.file_name()).collect();
                names.sort();
                names
            }
        }
    }
}
