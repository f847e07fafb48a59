//! A stage: the copy-on-write view of a project that the writes and runs of one turn share. On disk
//! until it is committed, refused or expired; after a crash it is opened again by its name.
//!
//! ```text
//! STAGES/ID/stage.json   project, layer, boot
//!           base.json    stamps of the project when the stage began
//!           store/       upper and work folders of the overlay (full)
//!           tree/        copy of the project (copy, root), copied.json its stamps
//!           private/     HOME and TMPDIR of the turn
//!           lock         held by the run that uses it
//! ```

mod view;

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::change::{ChangeSet, compute};
use crate::error::JailError;
use crate::layer::JailLayer;
use crate::tree::{self, EntryStamp, TreeStamps, path_text};

pub use view::read_plain_file;

/// Name of a stage: sixteen hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StageId(String);

impl StageId {
    /// Reads a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<StageId> {
        let is_name = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| StageId(text.to_owned()))
    }

    fn fresh(project: &Path) -> StageId {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let mut seed = [0_u8; 16];
        // Without randomness the time and the process still make it unique; it is no secret.
        let _ = getrandom::fill(&mut seed);
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let text = format!("{seed:?} {count} {} {}", std::process::id(), project.display());
        StageId(blake3::hash(text.as_bytes()).to_hex()[..16].to_owned())
    }
}

impl std::fmt::Display for StageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Request for a new stage.
#[derive(Debug, Clone)]
pub struct StageOptions {
    /// Folder of the project; links on the way are resolved.
    pub project: PathBuf,
    /// Folder of all stages; must not lie in the project.
    pub stages: PathBuf,
    /// Layer in force.
    pub layer: JailLayer,
    /// Uid and gid of the programs when the daemon is root.
    pub identity: Option<(u32, u32)>,
    /// Paths of the project that programs must not see: absolute.
    pub hidden: Vec<PathBuf>,
}

/// Facts of a stage as they are on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StageRecord {
    #[serde(with = "path_text")]
    project: PathBuf,
    layer: JailLayer,
    identity: Option<(u32, u32)>,
    hidden: Vec<String>,
    /// Start of the system in which the overlay was written: after another one it may be torn.
    boot: String,
}

/// View of a project that can be changed without changing the project.
#[derive(Debug)]
pub struct Stage {
    id: StageId,
    folder: PathBuf,
    record: StageRecord,
    /// Stamps of the project when the stage began.
    base: TreeStamps,
    /// Stamps of the copy when it was made; empty in *full*.
    copied: TreeStamps,
}

/// Claim on a stage: one run, diff or commit at a time.
#[derive(Debug)]
pub struct StageLock {
    _file: File,
}

impl Stage {
    /// Begins a stage.
    ///
    /// # Errors
    ///
    /// A project that is no folder, holds the folder of stages, or is above its limits is refused; so
    /// is anything that cannot be read or copied.
    pub fn begin(options: &StageOptions) -> Result<Stage, JailError> {
        let project = fs::canonicalize(&options.project)
            .map_err(JailError::io("find project", &options.project))?;
        make_private_folder(&options.stages)?;
        let stages = fs::canonicalize(&options.stages)
            .map_err(JailError::io("find folder of stages", &options.stages))?;
        if !project.is_dir() || stages.starts_with(&project) || project == Path::new("/") {
            let what = format!("`{}` cannot be a project here", project.display());
            return Err(JailError::InvalidSpec(what));
        }
        let id = StageId::fresh(&project);
        let folder = stages.join(&id.0);
        let hidden = relative_hidden(&project, &options.hidden);
        let base = tree::stamp_tree(&project, &[])?;
        let record = StageRecord {
            project,
            layer: options.layer,
            identity: options.identity,
            hidden: hidden.iter().map(|path| path_text::escape(path)).collect(),
            boot: boot_id(),
        };
        let mut stage = Stage { id, folder, record, base, copied: TreeStamps::new() };
        if let Err(error) = stage.make(&hidden) {
            // What could not be made is not left behind; the first error is the one to tell.
            let _ = tree::remove_tree(&stage.folder);
            return Err(error);
        }
        Ok(stage)
    }

    fn make(&mut self, hidden: &[PathBuf]) -> Result<(), JailError> {
        make_private_folder(&self.folder)?;
        for name in ["private", "private/home", "private/tmp"] {
            self.make_shared_folder(name)?;
        }
        if self.record.layer == JailLayer::Full {
            // `store/work` is made anew by each lock.
            for name in ["store", "store/upper"] {
                make_private_folder(&self.folder.join(name))?;
            }
            let mode = fs::metadata(&self.record.project)
                .map_err(JailError::io("look at", &self.record.project))?;
            let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
            tree::set_mode(&self.folder.join("store/upper"), mode & 0o7777)?;
        } else {
            self.make_shared_folder("tree")?;
            let tree = self.folder.join("tree");
            tree::copy_tree(&self.record.project, &tree, hidden, self.record.identity)?;
            self.copied = tree::stamp_tree(&tree, &[])?;
            if self.record.identity.is_some() {
                // Only this folder and its upper ones are passed through by the other user.
                tree::set_mode(&self.folder, 0o711)?;
            }
            write_stamps(&self.folder.join("copied.json"), &self.copied)?;
        }
        write_stamps(&self.folder.join("base.json"), &self.base)?;
        let text = serde_json::to_vec(&self.record).expect("strings and numbers become JSON");
        let path = self.folder.join("stage.json");
        // Last: a stage without it never existed.
        fs::write(&path, text).map_err(JailError::io("write", path))
    }

    fn make_shared_folder(&self, name: &str) -> Result<(), JailError> {
        let path = self.folder.join(name);
        make_private_folder(&path)?;
        if let Some((uid, gid)) = self.record.identity {
            std::os::unix::fs::chown(&path, Some(uid), Some(gid))
                .map_err(JailError::io("give away", &path))?;
        }
        Ok(())
    }

    /// Opens a stage of an earlier daemon.
    ///
    /// # Errors
    ///
    /// A stage that is gone, damaged, or whose changes may be torn by a crash of the whole system is
    /// reported as lost.
    pub fn reopen(stages: &Path, id: &StageId) -> Result<Stage, JailError> {
        let folder = stages.join(&id.0);
        let lost = |reason: String| JailError::StageLost { id: id.0.clone(), reason };
        let text = fs::read(folder.join("stage.json")).map_err(|_| lost("it is gone".into()))?;
        let record: StageRecord =
            serde_json::from_slice(&text).map_err(|error| lost(error.to_string()))?;
        if record.layer == JailLayer::Full && record.boot != boot_id() {
            return Err(lost("the system was started anew since".into()));
        }
        let base = read_stamps(&folder.join("base.json")).map_err(lost)?;
        let copied = match record.layer {
            JailLayer::Full => TreeStamps::new(),
            _ => read_stamps(&folder.join("copied.json")).map_err(lost)?,
        };
        Ok(Stage { id: id.clone(), folder, record, base, copied })
    }

    /// Names of all stages on disk, with their age since the last use.
    ///
    /// # Errors
    ///
    /// A folder that cannot be listed is an error; one that is not there has no stages.
    pub fn list(stages: &Path) -> Result<Vec<(StageId, Duration)>, JailError> {
        let entries = match fs::read_dir(stages) {
            Ok(entries) => entries,
            Err(error) if tree::is_absent(&error) => return Ok(Vec::new()),
            Err(error) => return Err(JailError::io("list", stages)(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(JailError::io("list", stages))?;
            let Some(id) = entry.file_name().to_str().and_then(StageId::parse) else { continue };
            let used = entry.path().join("lock").metadata().and_then(|it| it.modified());
            let used = used.or_else(|_| entry.metadata().and_then(|it| it.modified()));
            let age = used.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
            found.push((id, age.unwrap_or_default()));
        }
        found.sort();
        Ok(found)
    }

    /// Removes stages that were begun and never finished being made, and those unused for longer
    /// than `expiry`; returns their names. A stage in use stays.
    ///
    /// # Errors
    ///
    /// A stage that cannot be removed is an error.
    pub fn sweep(stages: &Path, expiry: Duration) -> Result<Vec<StageId>, JailError> {
        let mut removed = Vec::new();
        for (id, age) in Stage::list(stages)? {
            let folder = stages.join(&id.0);
            let is_whole = folder.join("stage.json").exists();
            if (is_whole && age < expiry) || lock_folder(&folder, &id).is_err() {
                continue;
            }
            tree::remove_tree(&folder)?;
            removed.push(id);
        }
        Ok(removed)
    }

    /// Name of the stage.
    #[must_use]
    pub fn id(&self) -> &StageId {
        &self.id
    }

    /// Folder of the project, links resolved.
    #[must_use]
    pub fn project(&self) -> &Path {
        &self.record.project
    }

    /// Layer that it was made for.
    #[must_use]
    pub fn layer(&self) -> JailLayer {
        self.record.layer
    }

    pub(crate) fn identity(&self) -> Option<(u32, u32)> {
        self.record.identity
    }

    pub(crate) fn base(&self) -> &TreeStamps {
        &self.base
    }

    pub(crate) fn copied(&self) -> &TreeStamps {
        &self.copied
    }

    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        self.record.hidden.iter().filter_map(|text| path_text::unescape(text)).collect()
    }

    /// Folder with what programs wrote: a whole copy, or the upper layer.
    #[must_use]
    pub fn contents(&self) -> PathBuf {
        self.folder.join(if self.record.layer == JailLayer::Full { "store/upper" } else { "tree" })
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    pub(crate) fn private(&self) -> PathBuf {
        self.folder.join("private")
    }

    /// Claims the stage.
    ///
    /// # Errors
    ///
    /// A stage in use by another run is busy.
    pub fn lock(&self) -> Result<StageLock, JailError> {
        let lock = lock_folder(&self.folder, &self.id)?;
        if self.record.layer == JailLayer::Full {
            // What the last mount left: the kernel wants it fresh.
            let work = self.store().join("work");
            tree::remove_tree(&work)?;
            make_private_folder(&work)?;
        }
        Ok(lock)
    }

    /// Computes what the stage would change.
    ///
    /// # Errors
    ///
    /// A stage in use is busy; files that cannot be read are errors.
    pub fn changes(&self) -> Result<ChangeSet, JailError> {
        let _lock = lock_folder(&self.folder, &self.id)?;
        compute(self)
    }

    /// Removes the stage with all that is in it: the project is as if it had never been.
    ///
    /// # Errors
    ///
    /// A stage in use is busy.
    pub fn discard(self) -> Result<(), JailError> {
        let _lock = lock_folder(&self.folder, &self.id)?;
        tree::remove_tree(&self.folder)
    }
}

fn lock_folder(folder: &Path, id: &StageId) -> Result<StageLock, JailError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(JailError::io("open", &path))?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| JailError::StageBusy(id.0.clone()))?;
    Ok(StageLock { _file: file })
}

/// Makes a folder for this user alone, with its parents.
pub(crate) fn make_private_folder(path: &Path) -> Result<(), JailError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(JailError::io("make folder", path))
}

/// Hidden paths in the project, relative to it.
fn relative_hidden(project: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |path: &PathBuf| {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        real.strip_prefix(project).ok().map(Path::to_owned)
    };
    hidden.iter().filter_map(inside).filter(|path| tree::is_inside(path)).collect()
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn write_stamps(path: &Path, stamps: &TreeStamps) -> Result<(), JailError> {
    let file = File::create(path).map_err(JailError::io("make", path))?;
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    let rows: Vec<(String, &EntryStamp)> =
        stamps.iter().map(|(name, stamp)| (path_text::escape(name), stamp)).collect();
    serde_json::to_writer(&mut writer, &rows)
        .map_err(std::io::Error::from)
        .and_then(|()| writer.flush())
        .map_err(JailError::io("write", path))
}

fn read_stamps(path: &Path) -> Result<TreeStamps, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let rows: Vec<(String, EntryStamp)> =
        serde_json::from_reader(BufReader::new(file)).map_err(|error| error.to_string())?;
    let unescape = |(name, stamp): (String, EntryStamp)| Some((path_text::unescape(&name)?, stamp));
    rows.into_iter().map(unescape).collect::<Option<_>>().ok_or_else(|| "a damaged name".to_owned())
}
