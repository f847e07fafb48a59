//! Projects: the folder in which a session works. Said by an owner, or the default of the settings; kept
//! in one file, so that a session has the same one after a restart.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bridle_sexp::{Value, read_one};

use crate::error::EffectError;

/// Most sessions whose project is kept; the first in the order of names goes.
const MAX_SESSIONS: usize = 10_000;

/// Largest file of projects, in bytes: more is not of this program.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Origin of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectOrigin {
    /// A git work tree around the folder that was named.
    Git,
    /// The very folder that was named.
    Named,
}

/// Project that a session was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionProject {
    /// Folder, links followed.
    pub folder: PathBuf,
    /// Reason for this folder.
    pub origin: ProjectOrigin,
}

/// Projects of all sessions.
#[derive(Debug)]
pub(crate) struct ProjectTable {
    file: PathBuf,
    /// Projects whose changes are committed on a ref of git, under the name of no session.
    stewards: Mutex<BTreeMap<String, PathBuf>>,
    default: Option<PathBuf>,
    chosen: Mutex<BTreeMap<String, PathBuf>>,
}

impl ProjectTable {
    /// Reads what was kept. A file that cannot be read is an error: without it sessions would work elsewhere.
    pub(crate) fn open(file: PathBuf, default: Option<&Path>) -> Result<Self, EffectError> {
        let chosen = read(&file)?;
        let stewards = Mutex::new(read(&stewards_file(&file))?);
        let default = default.and_then(|folder| fs::canonicalize(folder).ok());
        let default = default.map(|folder| recognise(&folder).folder);
        Ok(Self { file, stewards, default, chosen: Mutex::new(chosen) })
    }

    /// Folder of a session; `None` without one, or when it is gone.
    pub(crate) fn of(&self, session: &str) -> Option<PathBuf> {
        let chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = chosen.get(session).or(self.default.as_ref())?;
        folder.is_dir().then(|| folder.clone())
    }

    /// Whether changes of a project are committed on a ref of git.
    pub(crate) fn has_steward(&self, project: &Path) -> bool {
        let stewards = self.stewards.lock().unwrap_or_else(PoisonError::into_inner);
        stewards.values().any(|folder| folder == project)
    }

    /// Has changes of a project committed on a ref of git, or not.
    pub(crate) fn set_steward(&self, project: &Path, is_wanted: bool) -> Result<(), EffectError> {
        let mut stewards = self.stewards.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = stewards.clone();
        next.retain(|_, folder| folder != project);
        if is_wanted {
            if next.len() >= MAX_SESSIONS {
                return Err(EffectError::refused("too many projects are committed on refs of git"));
            }
            next.insert(project.to_string_lossy().into_owned(), project.to_owned());
        }
        write(&stewards_file(&self.file), &next)?;
        *stewards = next;
        Ok(())
    }

    /// Gives a session the project around a folder.
    pub(crate) fn choose(
        &self,
        session: &str,
        folder: &Path,
        forbidden: &[PathBuf],
    ) -> Result<SessionProject, EffectError> {
        let real = fs::canonicalize(folder).map_err(EffectError::io("find folder", folder))?;
        if !real.is_dir() {
            return Err(EffectError::refused(format!("`{}` is no folder", folder.display())));
        }
        let project = recognise(&real);
        let is_above = |path: &PathBuf| path.starts_with(&project.folder);
        if project.folder == Path::new("/") || forbidden.iter().any(is_above) {
            return Err(EffectError::refused(format!(
                "`{}` cannot be a project: the state of bridle lies in it; name a folder of your work",
                project.folder.display()
            )));
        }
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = chosen.clone();
        next.insert(session.to_owned(), project.folder.clone());
        while next.len() > MAX_SESSIONS {
            next.pop_first();
        }
        write(&self.file, &next)?;
        *chosen = next;
        Ok(project)
    }
}

fn stewards_file(file: &Path) -> PathBuf {
    file.with_file_name("stewards")
}

/// The git work tree around a folder, or the folder itself.
fn recognise(folder: &Path) -> SessionProject {
    let tree = folder.ancestors().find(|above| above.join(".git").exists());
    match tree.filter(|tree| *tree != Path::new("/")) {
        Some(tree) => SessionProject { folder: tree.to_owned(), origin: ProjectOrigin::Git },
        None => SessionProject { folder: folder.to_owned(), origin: ProjectOrigin::Named },
    }
}

fn read(file: &Path) -> Result<BTreeMap<String, PathBuf>, EffectError> {
    let metadata = match fs::symlink_metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        other => other.map_err(EffectError::io("look at", file))?,
    };
    let damaged = || EffectError::refused(format!("`{}` is damaged: remove it", file.display()));
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(damaged());
    }
    let text = fs::read_to_string(file).map_err(EffectError::io("read", file))?;
    let form = read_one(&text).map_err(|_| damaged())?;
    let rows = form.root().to_value();
    let row = |row: &Value| match row.elements() {
        Some([session, folder]) => {
            Some((session.as_str()?.to_owned(), PathBuf::from(folder.as_str()?)))
        }
        _ => None,
    };
    rows.elements().unwrap_or_default().iter().map(row).collect::<Option<_>>().ok_or_else(damaged)
}

fn write(file: &Path, rows: &BTreeMap<String, PathBuf>) -> Result<(), EffectError> {
    let row = |(session, folder): (&String, &PathBuf)| {
        Value::list([Value::str(session.as_str()), Value::str(folder.to_string_lossy())])
    };
    let text = Value::list(rows.iter().map(row)).to_string();
    let new = file.with_extension("new");
    let mut options = fs::OpenOptions::new();
    let made = options.write(true).create(true).truncate(true).mode(0o600).open(&new);
    let written = made.and_then(|mut out| {
        out.write_all(text.as_bytes())?;
        out.sync_all()
    });
    written.map_err(EffectError::io("write", &new))?;
    fs::rename(&new, file).map_err(EffectError::io("replace", file))
}

#[cfg(test)]
mod tests {
    use super::{ProjectOrigin, ProjectTable};

    #[test]
    fn a_session_keeps_its_project_and_git_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("p/.git")).unwrap();
        std::fs::create_dir_all(root.join("p/src")).unwrap();
        std::fs::create_dir_all(root.join("notes")).unwrap();
        let file = root.join("projects");
        let table = ProjectTable::open(file.clone(), None).unwrap();
        assert_eq!(table.of("work"), None);
        let chosen = table.choose("work", &root.join("p/src"), &[]).unwrap();
        assert_eq!((chosen.folder, chosen.origin), (root.join("p"), ProjectOrigin::Git));
        let chosen = table.choose("other", &root.join("notes"), &[]).unwrap();
        assert_eq!(chosen.origin, ProjectOrigin::Named);
        let again = ProjectTable::open(file, Some(&root.join("notes"))).unwrap();
        assert_eq!(again.of("work"), Some(root.join("p")));
        assert_eq!(again.of("new"), Some(root.join("notes")));
        let state = [root.join("p/state")];
        assert!(again.choose("work", &root.join("p"), &state).is_err(), "state inside");
        assert!(again.choose("work", std::path::Path::new("/"), &[]).is_err());
    }
}
